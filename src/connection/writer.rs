//! From queued envelopes to written bytes, with an account of what is out.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

use super::outgoing::{Batch, Cursor, Piece};
use crate::protocol::segment::MAX_PAYLOAD;
use crate::protocol::{HEADER_LEN, Header, SegmentEncoder};

/// Segments are cut until this much is ready to be written.
const AHEAD: usize = 64 * 1024;

/// A wire buffer that grew past this is not kept.
const KEEP: usize = 256 * 1024;

/// The batch being written.
///
/// What was queued and what is written are counted in the same bytes, those of the envelopes. An envelope in segments
/// counts as written only when the last byte of its last segment is.
#[derive(Debug, Default)]
pub(super) struct Writer {
    batch: Batch,
    cursor: Cursor,
    /// Bytes of envelopes that were taken from batches.
    taken: u64,
    /// Bytes of envelopes that are written.
    written: u64,
    /// Bytes that were given to the stream.
    sent: u64,
    segments: Option<Segments>,
    unflushed: bool,
}

/// Segments ready to be written.
#[derive(Debug)]
struct Segments {
    encoder: SegmentEncoder,
    wire: Vec<u8>,
    /// How much of `wire` is written.
    written: usize,
    /// Once so much of `wire` is written, so much of what was queued is.
    marks: VecDeque<(usize, u64)>,
}

impl Writer {
    /// From the next batch on envelopes travel in segments.
    pub(super) fn start_segments(&mut self, lz4: bool) {
        self.segments =
            Some(Segments { encoder: SegmentEncoder::new(lz4), wire: Vec::new(), written: 0, marks: VecDeque::new() });
    }

    /// Whether something waits to get out.
    pub(super) fn is_pending(&self) -> bool {
        !self.batch.is_empty() || self.unflushed
    }

    /// Bytes of envelopes written so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Bytes given to the stream so far, those around envelopes included.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Swaps the queue against the emptied batch.
    pub(super) fn take(&mut self, queue: &mut Batch) {
        std::mem::swap(&mut self.batch, queue);
    }

    /// Writes until the batch is out, as much as the stream takes. Gives whether anything was written.
    pub(super) fn poll_write<IO: AsyncWrite + Unpin>(
        &mut self,
        io: &mut IO,
        cx: &mut Context<'_>,
    ) -> (bool, Poll<io::Result<()>>) {
        let mut progress = false;
        while !self.batch.is_empty() {
            let bytes = match &mut self.segments {
                Some(segments) => {
                    segments.cut(&self.batch, &mut self.cursor, &mut self.taken);
                    segments.ready()
                }
                None => self.batch.piece(&self.cursor).map_or(&[][..], Piece::bytes),
            };
            if bytes.is_empty() {
                self.batch.clear();
                self.cursor = Cursor::default();
                break;
            }
            match Pin::new(&mut *io).poll_write(cx, bytes) {
                Poll::Pending => return (progress, Poll::Pending),
                Poll::Ready(Err(error)) => return (progress, Poll::Ready(Err(error))),
                Poll::Ready(Ok(0)) => {
                    let error = io::Error::from(io::ErrorKind::WriteZero);
                    return (progress, Poll::Ready(Err(error)));
                }
                Poll::Ready(Ok(n)) => self.wrote(n),
            }
            progress = true;
        }
        if !self.unflushed {
            return (progress, Poll::Ready(Ok(())));
        }
        let flushed = Pin::new(io).poll_flush(cx);
        self.unflushed = flushed.is_pending();
        (progress, flushed)
    }

    fn wrote(&mut self, n: usize) {
        self.unflushed = true;
        self.sent += n as u64;
        match &mut self.segments {
            Some(segments) => segments.wrote(n, &mut self.written),
            None => {
                self.batch.advance(&mut self.cursor, n);
                self.taken += n as u64;
                self.written = self.taken;
            }
        }
    }
}

impl Segments {
    /// Cuts segments from the batch, unless some are ready.
    fn cut(&mut self, batch: &Batch, cursor: &mut Cursor, taken: &mut u64) {
        if self.written < self.wire.len() {
            return;
        }
        self.written = 0;
        self.wire.clear();
        if self.wire.capacity() > KEEP {
            self.wire = Vec::new();
        }
        while self.wire.len() < AHEAD {
            let Some(piece) = batch.piece(cursor) else {
                return;
            };
            let envelopes = match piece {
                Piece::Run(run) => whole(run),
                Piece::Chunk(chunk) => chunk,
            };
            let encoded = self.encoder.encode(envelopes, &mut self.wire);
            debug_assert!(encoded.is_ok(), "a batch holds whole envelopes");
            batch.advance(cursor, envelopes.len());
            *taken += envelopes.len() as u64;
            self.marks.push_back((self.wire.len(), *taken));
        }
    }

    fn ready(&self) -> &[u8] {
        &self.wire[self.written..]
    }

    fn wrote(&mut self, n: usize, written: &mut u64) {
        self.written += n;
        while let Some((wire, end)) = self.marks.front() {
            if *wire > self.written {
                break;
            }
            *written = *end;
            self.marks.pop_front();
        }
    }
}

/// The envelopes at the front of a run that share one segment; small ones, so at least one fits.
fn whole(run: &[u8]) -> &[u8] {
    if run.len() <= MAX_PAYLOAD {
        return run;
    }
    let mut end = 0;
    while let Some(header) = run[end..].first_chunk::<HEADER_LEN>() {
        let next = end + HEADER_LEN + Header::parse(header).length as usize;
        if next > MAX_PAYLOAD {
            break;
        }
        end = next;
    }
    &run[..end]
}
