//! From an answer to bytes, through the faults.

use std::time::Duration;

use super::{Connection, GARBAGE, Phase};
use crate::protocol::envelope::flags;
use crate::protocol::{Compression, Dialect, FrameError, Opcode, ProtocolVersion};
use crate::testkit::Stage;
use crate::testkit::answer::Body;
use crate::testkit::fault::{Fault, Wrong};
use crate::testkit::log::EventKind;
use crate::testkit::types::put_bytes;
use crate::testkit::wire::Params;
use crate::testkit::wire::framing::{header, wrong_opcode};
use crate::testkit::wire::response::Written;

/// What becomes of the connection after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Go,
    Close,
    Reset,
}

/// The right answer to a request, and what it changes when it is sent.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) written: Written,
    pub(super) delay: Duration,
    pub(super) phase: Option<Phase>,
    pub(super) switch: Option<(ProtocolVersion, Option<Compression>)>,
    pub(super) note: Option<EventKind>,
}

impl From<Written> for Reply {
    fn from(written: Written) -> Self {
        Self { written, delay: Duration::ZERO, phase: None, switch: None, note: None }
    }
}

/// Where an answer goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct To {
    pub(super) version: u8,
    pub(super) stream: i16,
    pub(super) stage: Stage,
}

impl Connection {
    /// Sends the reply, as far as the fault lets it be sent.
    pub(super) fn reply(&mut self, to: To, mut reply: Reply, fault: Option<Fault>) -> Flow {
        if fault.is_some() {
            self.recorder.note(EventKind::Fault(to.stage));
        }
        let bytes = match fault {
            None => self.seal_reply(to, &mut reply),
            Some(Fault::Refuse | Fault::Fail(_) | Fault::Reset) => return Flow::Reset,
            Some(Fault::Close) => return Flow::Close,
            Some(Fault::Silence) => return Flow::Go,
            Some(Fault::Delay(delay)) => {
                reply.delay += delay;
                self.seal_reply(to, &mut reply)
            }
            Some(Fault::InLine(each)) => {
                reply.delay += self.node.stand_in_line(to.stage, each);
                self.seal_reply(to, &mut reply)
            }
            Some(Fault::Half) => {
                let bytes = self.seal_reply(to, &mut reply);
                self.stream.send(&bytes[..bytes.len() / 2]);
                self.stream.mute();
                return Flow::Go;
            }
            Some(Fault::Cut(length)) => {
                let bytes = self.seal_reply(to, &mut reply);
                self.stream.send(&bytes[..length.min(bytes.len())]);
                return Flow::Close;
            }
            Some(Fault::ThenClose) => {
                let bytes = self.seal_reply(to, &mut reply);
                self.stream.send(&bytes);
                return Flow::Close;
            }
            Some(Fault::EventFirst(event)) => {
                let mut bytes = self.seal(to.version, 0, -1, Opcode::Event.as_u8(), event.body());
                bytes.extend(self.seal_reply(to, &mut reply));
                bytes
            }
            Some(Fault::Wrong(wrong)) => self.wrong(to, &mut reply, wrong),
            Some(Fault::Answer(answer)) => {
                reply.delay += answer.delay;
                let dialect = self.dialect.unwrap_or(Dialect::new(ProtocolVersion::V4));
                reply.written = Written::answer(&answer, dialect, &Params::default(), None);
                match &answer.body {
                    Body::Error { .. } => (reply.phase, reply.switch) = (None, None),
                    Body::Raw { opcode, .. } if *opcode == Opcode::Authenticate.as_u8() => {
                        reply.phase = Some(Phase::Authenticating);
                    }
                    // A server that asks nobody for a password lets in who has one.
                    Body::Raw { opcode, .. } if *opcode == Opcode::Ready.as_u8() && to.stage == Stage::Startup => {
                        reply.phase = Some(Phase::Ready);
                    }
                    _ => {}
                }
                reply.note = None;
                self.seal_reply(to, &mut reply)
            }
        };
        self.send_after(reply.delay, bytes);
        self.answered(to.stage);
        Flow::Go
    }

    fn send_after(&mut self, delay: Duration, bytes: Vec<u8>) {
        if delay.is_zero() {
            self.stream.send(&bytes);
        } else {
            self.late.spawn(async move {
                tokio::time::sleep(delay).await;
                bytes
            });
        }
    }

    /// The bytes of the right reply; what it changes is changed.
    fn seal_reply(&mut self, to: To, reply: &mut Reply) -> Vec<u8> {
        let body = std::mem::take(&mut reply.written.body);
        let Written { flags, opcode, .. } = reply.written;
        let bytes = self.seal(to.version, flags, to.stream, opcode, body);
        if let Some(phase) = reply.phase {
            self.phase = phase;
        }
        match reply.switch {
            Some((version, compression)) if version.has_segments() => {
                self.framing.use_segments(compression == Some(Compression::Lz4));
            }
            Some((_, compression)) => self.compression = compression,
            None => {}
        }
        if let Some(note) = reply.note.take() {
            self.recorder.note(note);
        }
        bytes
    }

    /// The bytes of an envelope as this connection sends them.
    pub(super) fn seal(&mut self, version: u8, mut flags: u8, stream: i16, opcode: u8, mut body: Vec<u8>) -> Vec<u8> {
        if let Some(compression) = self.compression {
            let plain = std::mem::take(&mut body);
            compression.compress(&plain, &mut body);
            flags |= flags::COMPRESSED;
        }
        self.framing.seal(header(version, flags, stream, opcode, &body), &body)
    }

    /// The bytes of a wrong answer.
    fn wrong(&mut self, to: To, reply: &mut Reply, wrong: Wrong) -> Vec<u8> {
        match wrong {
            Wrong::Garbage => GARBAGE.to_vec(),
            Wrong::Opcode => {
                reply.written.opcode = wrong_opcode(reply.written.opcode);
                self.seal_reply(to, reply)
            }
            Wrong::Stream => self.seal_reply(To { stream: to.stream ^ 0x0155, ..to }, reply),
            Wrong::Crc => {
                let mut bytes = self.seal_reply(to, reply);
                if let Some(last) = bytes.last_mut() {
                    *last ^= 1;
                }
                bytes
            }
            Wrong::Version(version) => self.version_error(to.version, version),
            Wrong::Length(length) => {
                let Written { flags, opcode, ref body } = reply.written;
                let mut header = header(to.version, flags, to.stream, opcode, body);
                header.length = length;
                self.framing.seal(header, body)
            }
            Wrong::Framing => {
                let Written { flags, opcode, ref body } = reply.written;
                let header = header(to.version, flags, to.stream, opcode, body);
                self.framing.seal_wrongly(header, body)
            }
            Wrong::Challenge => {
                let mut body = Vec::new();
                put_bytes(&mut body, Some(b"more"));
                reply.written = Written::new(Opcode::AuthChallenge, body);
                (reply.phase, reply.note) = (None, None);
                self.seal_reply(to, reply)
            }
        }
    }

    /// The error that an unknown version gets: on stream 0, in a version of the server's own.
    pub(super) fn version_error(&mut self, asked: u8, own: u8) -> Vec<u8> {
        let spoken = self.node.facts().version_list().join(", ");
        let text = format!("Invalid or unsupported protocol version ({asked}); supported versions are ({spoken})");
        let written = Written::error(PROTOCOL_ERROR, &text);
        self.seal(own, 0, 0, written.opcode, written.body)
    }

    /// Bytes that no request can be cut out of: told on stream 0, before the connection is closed.
    pub(super) fn damaged(&mut self, error: &FrameError) {
        self.recorder.note(EventKind::Refused(error.to_string()));
        let text = match error {
            FrameError::HeaderChecksum { .. } => "invalid, unrecoverable CRC mismatch detected in frame header".into(),
            FrameError::PayloadChecksum { .. } => "invalid, unrecoverable CRC mismatch detected in frame body".into(),
            other => other.to_string(),
        };
        let version = self.dialect.map_or(4, |dialect| dialect.version.as_u8());
        let written = Written::error(PROTOCOL_ERROR, &text);
        let bytes = self.seal(version, 0, 0, written.opcode, written.body);
        self.stream.send(&bytes);
    }
}

pub(super) const PROTOCOL_ERROR: i32 = 0x000A;
