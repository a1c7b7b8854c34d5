//! From the bytes of the peer to envelopes.

use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

use crate::protocol::envelope::{COPY_BELOW, decode_response};
use crate::protocol::{Envelope, FrameError, HEADER_LEN, Header, SegmentDecoder};

/// How much is read at once where much comes.
const READ: usize = 16 * 1024;

/// How much is read at once until a read fills it, or an answer takes part of the buffer along.
const READ_LITTLE: usize = READ / 4;

/// How much more is read at once while a long answer comes in.
const READ_LONG: usize = 256 * 1024;

/// The read buffer and what it is cut by.
#[derive(Debug)]
pub(super) struct Reader {
    input: BytesMut,
    /// How much room the buffer is given.
    wanted: usize,
    max_body: u32,
    /// Set from the moment envelopes travel in segments.
    segments: Option<SegmentDecoder>,
}

impl Reader {
    pub(super) fn new(max_body: u32) -> Self {
        Self { input: BytesMut::new(), wanted: READ_LITTLE, max_body, segments: None }
    }

    /// From here on envelopes travel in segments.
    pub(super) fn start_segments(&mut self, lz4: bool) {
        self.segments = Some(SegmentDecoder::new(lz4, self.max_body));
    }

    pub(super) fn in_segments(&self) -> bool {
        self.segments.is_some()
    }

    /// Whether the stream may end here: nothing has come in part.
    pub(super) fn is_idle(&self) -> bool {
        self.input.is_empty() && self.segments.as_ref().is_none_or(SegmentDecoder::is_idle)
    }

    /// Reads what there is; 0 at the end.
    pub(super) fn poll_fill<IO: AsyncRead + Unpin>(
        &mut self,
        io: &mut IO,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.input.capacity() == 0 {
            return self.poll_first(io, cx);
        }
        let room = self.room();
        if self.input.capacity() - self.input.len() < room {
            self.input.reserve(room.max(self.wanted.saturating_sub(self.input.len())));
        }
        let read = pin!(io.read_buf(&mut self.input)).poll(cx);
        if self.input.len() == self.input.capacity() {
            self.wanted = READ;
        }
        read
    }

    /// Reads while there is no buffer: an idle connection has none.
    fn poll_first<IO: AsyncRead + Unpin>(&mut self, io: &mut IO, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut first = [MaybeUninit::uninit(); READ_LITTLE];
        let mut first = ReadBuf::uninit(&mut first);
        ready!(Pin::new(io).poll_read(cx, &mut first))?;
        let read = first.filled();
        if !read.is_empty() {
            self.input.reserve(READ_LITTLE);
            self.input.extend_from_slice(read);
        }
        Poll::Ready(Ok(read.len()))
    }

    /// Nothing is expected for a while: the buffer is given back, unless something stands in it.
    pub(super) fn rest(&mut self) {
        if self.input.is_empty() {
            self.input = BytesMut::new();
            self.wanted = READ_LITTLE;
        }
    }

    /// How much room the next read must have. What an answer announces is believed only as far as it has come.
    fn room(&self) -> usize {
        let received = self.input.len();
        if received < READ {
            return READ_LITTLE;
        }
        let missing = match (&self.segments, Header::peek(&self.input, self.max_body)) {
            (None, Ok(Some(header))) => (HEADER_LEN + header.length as usize).saturating_sub(received),
            _ => received,
        };
        missing.min(received).clamp(READ_LITTLE, READ_LONG)
    }

    /// The next envelope; `None` when more bytes are needed.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<Envelope>, FrameError> {
        let next = match &mut self.segments {
            None => decode_response(&mut self.input, self.max_body),
            Some(segments) => segments.decode(&mut self.input),
        }?;
        if next.as_ref().is_some_and(|envelope| envelope.body.len() >= COPY_BELOW) {
            self.wanted = READ;
        }
        if next.as_ref().is_some_and(|envelope| envelope.body.len() > READ_LONG) {
            // A buffer that grew for one long answer is that answer's alone.
            self.input = BytesMut::from(&self.input[..]);
        }
        Ok(next)
    }
}
