//! How a request gets onto a connection: one encode, the values serialized before.

use tokio::time::Instant;

use super::error::TrySendError;
use super::outgoing::CHUNK;
use super::shared::Shared;
use crate::protocol::envelope::flags;
use crate::protocol::request::{self, Request};
use crate::protocol::{Dialect, HEADER_LEN, Opcode};

impl Shared {
    /// Queues a request and takes a stream for it. `permit` says that room is reserved, and is used up in any case; `now`
    /// spares a look at the clock, and says that whoever waits counts on being woken after [`PATIENCE`](super::PATIENCE).
    pub(super) fn send<R: Request + ?Sized>(
        &self,
        request: &R,
        permit: bool,
        now: Option<Instant>,
    ) -> Result<u16, TrySendError> {
        let dialect = self.dialect();
        let body = match request.body_len(dialect) {
            Ok(body) => body,
            Err(error) => {
                self.lock().reserved -= usize::from(permit);
                return Err(TrySendError::Invalid(error));
            }
        };
        let built = if body > CHUNK || self.compresses(request.opcode()) {
            Some(self.build(request, dialect, body))
        } else {
            None
        };

        let mut state = self.lock();
        state.reserved -= usize::from(permit);
        if let Some(error) = state.refusal() {
            return Err(TrySendError::Closed(error.clone()));
        }
        // Who stands in line goes first.
        if !permit && self.room(&state) <= state.line.len() {
            return Err(TrySendError::Full);
        }
        let stream = state.slots.next();
        let length = match built {
            Some(mut envelope) => {
                envelope[2..4].copy_from_slice(&stream.to_be_bytes());
                let length = envelope.len();
                state.out.push(envelope);
                length
            }
            None => {
                let out = state.out.start();
                let start = out.len();
                write(request, dialect, body, stream as i16, out);
                out.len() - start
            }
        };
        state.queued += length as u64;
        let end = state.queued;
        if state.slots.due() == 0 {
            self.waits_from(now.unwrap_or_else(Instant::now));
        }
        state.counted_on |= now.is_some();
        state.slots.take(end);
        self.publish(&state);
        let driver = state.wake_idle_driver();
        drop(state);
        if let Some(driver) = driver {
            driver.wake();
        }
        Ok(stream)
    }

    /// Whether the body of such a request travels compressed; what negotiates compression does not.
    fn compresses(&self, opcode: Opcode) -> bool {
        self.negotiated().is_some_and(|both| {
            both.compression.is_some()
                && both.dialect.version.has_body_compression()
                && !matches!(opcode, Opcode::Startup | Opcode::Options)
        })
    }

    /// Builds an envelope for stream 0, compressed when that was agreed on and makes it shorter.
    fn build<R: Request + ?Sized>(&self, request: &R, dialect: Dialect, body: usize) -> Vec<u8> {
        let mut envelope = Vec::with_capacity(HEADER_LEN + body);
        write(request, dialect, body, 0, &mut envelope);
        let compression = self.compression().filter(|_| self.compresses(request.opcode()));
        let Some(compression) = compression else {
            return envelope;
        };
        let (header, body) = envelope.split_at(HEADER_LEN);
        let mut packed = header.to_vec();
        compression.compress(body, &mut packed);
        if packed.len() >= envelope.len() {
            return envelope;
        }
        packed[1] |= flags::COMPRESSED;
        set_length(&mut packed);
        packed
    }
}

/// Appends one envelope; what follows it stays readable even if the body is not as long as announced.
fn write<R: Request + ?Sized>(request: &R, dialect: Dialect, body: usize, stream: i16, out: &mut Vec<u8>) {
    out.reserve(HEADER_LEN + body);
    let start = out.len();
    request::header(request, dialect, stream, body).write(out);
    request.write_body(dialect, out);
    debug_assert_eq!(out.len() - start, HEADER_LEN + body, "announced length");
    set_length(&mut out[start..]);
}

fn set_length(envelope: &mut [u8]) {
    let length = (envelope.len() - HEADER_LEN) as u32;
    envelope[5..HEADER_LEN].copy_from_slice(&length.to_be_bytes());
}
