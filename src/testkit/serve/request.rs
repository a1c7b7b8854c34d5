//! From an envelope to the right reply.

use super::reply::{Flow, PROTOCOL_ERROR, Reply, To};
use super::{Connection, Phase, system};
use crate::protocol::envelope::flags;
use crate::protocol::{DEFAULT_MAX_BODY, Dialect, Envelope, Opcode, ProtocolVersion};
use crate::testkit::Stage;
use crate::testkit::log::EventKind;
use crate::testkit::wire::ClientRequest;
use crate::testkit::wire::request::Reading;
use crate::testkit::wire::response::Written;

impl Connection {
    /// Answers one request.
    pub(super) fn handle(&mut self, envelope: Envelope) -> Flow {
        let header = envelope.header;
        let known = ProtocolVersion::ALL.into_iter().find(|one| one.as_u8() == header.version);
        let Some(version) = known.filter(|_| self.node.with(|facts| facts.versions.contains(&header.version))) else {
            self.recorder.note(EventKind::Refused(format!("version {}", header.version)));
            // Versions 1 and 2 are not even answered.
            if !(1..=2).contains(&header.version) {
                let own = self.node.with(|facts| facts.versions.iter().copied().max()).unwrap_or(4);
                let bytes = self.version_error(header.version, own);
                self.stream.send(&bytes);
            }
            return Flow::Go;
        };
        let request = match self.read(envelope, version) {
            Ok(request) => request,
            Err(text) => {
                self.recorder.note(EventKind::Refused(text.clone()));
                return self.send_error(header.version, header.stream, &text);
            }
        };
        if let Some((stream, text)) = self.out_of_turn(&request, header.stream) {
            self.recorder.note(EventKind::Refused(text.clone()));
            return self.send_error(header.version, stream, &text);
        }

        let (stage, text) = self.describe(&request);
        self.recorder.note(EventKind::Request(stage, text));
        self.asked(stage);
        let to = To { version: header.version, stream: header.stream, stage };
        let fault = self.node.strike(stage);
        let dialect = self.dialect.unwrap_or(Dialect::new(version));
        let reply = match request {
            ClientRequest::Options => self.options(),
            ClientRequest::Startup(options) => self.startup(version, &options),
            ClientRequest::AuthResponse(token) => self.authenticate(token.as_deref()),
            ClientRequest::Register(kinds) => self.register(kinds),
            ClientRequest::Query { text, params } => self.query(&text, params, dialect, None),
            ClientRequest::Prepare { text } => self.prepare(&text, dialect),
            ClientRequest::Execute { id, metadata_id, params } => self.execute(&id, params, dialect, metadata_id),
            ClientRequest::Batch { statements, params } => self.batch(statements, &params, dialect),
        };
        self.reply(to, reply, fault)
    }

    /// Reads a request; a text says what is wrong with it.
    fn read(&self, envelope: Envelope, version: ProtocolVersion) -> Result<ClientRequest, String> {
        let Envelope { header, mut body } = envelope;
        if let Some(dialect) = self.dialect.filter(|dialect| dialect.version != version) {
            let (got, had) = (version.as_u8(), dialect.version.as_u8());
            return Err(format!(
                "Invalid message version. Got {got}/v{got} but previous messages on this \
                 connection had version {had}/v{had}"
            ));
        }
        let Some(opcode) = header.opcode().filter(|_| !header.response) else {
            return Err(format!("Unknown opcode {}", header.opcode));
        };
        if header.has(flags::COMPRESSED) && version.has_body_compression() {
            let compression = self.compression.ok_or("a compressed body, but no compression was agreed on")?;
            body = compression.decompress(&body, DEFAULT_MAX_BODY).map_err(|error| error.to_string())?;
        }
        let how = Reading {
            v5: version.has_wide_flags(),
            metadata_id: self.dialect.unwrap_or(Dialect::new(version)).has_metadata_id(),
            payload: header.has(flags::CUSTOM_PAYLOAD) && version.has_payload(),
        };
        let request = ClientRequest::read(opcode, body, how)?;
        request.ok_or_else(|| format!("Wrong protocol direction (expected REQUEST): {opcode}"))
    }

    /// What is said to a request that may not come now, and on which stream.
    fn out_of_turn(&self, request: &ClientRequest, stream: i16) -> Option<(i16, String)> {
        let name = match request {
            ClientRequest::Options => return None,
            ClientRequest::Startup(_) => Opcode::Startup,
            ClientRequest::AuthResponse(_) => Opcode::AuthResponse,
            ClientRequest::Register(_) => Opcode::Register,
            ClientRequest::Query { .. } => Opcode::Query,
            ClientRequest::Prepare { .. } => Opcode::Prepare,
            ClientRequest::Execute { .. } => Opcode::Execute,
            ClientRequest::Batch { .. } => Opcode::Batch,
        };
        match (self.phase, name) {
            (Phase::New, Opcode::Startup) | (Phase::Authenticating, Opcode::AuthResponse) => None,
            (Phase::New, _) => Some((0, format!("Unexpected message {name}, expecting STARTUP or OPTIONS"))),
            (Phase::Authenticating, _) => Some((stream, format!("Unexpected message {name}, expecting AUTH_RESPONSE"))),
            (Phase::Ready, Opcode::Startup | Opcode::AuthResponse) => {
                let text = format!("Unexpected message {name}, the connection is ready");
                Some((stream, text))
            }
            (Phase::Ready, _) => None,
        }
    }

    /// The stage at which a request stands, and what the log shows of it.
    fn describe(&self, request: &ClientRequest) -> (Stage, String) {
        match request {
            ClientRequest::Options if self.phase == Phase::Ready => (Stage::Heartbeat, String::new()),
            ClientRequest::Options => (Stage::Options, String::new()),
            ClientRequest::Startup(options) => {
                let options: Vec<_> = options.iter().map(|(key, value)| format!("{key}={value}")).collect();
                (Stage::Startup, options.join(", "))
            }
            ClientRequest::AuthResponse(token) => {
                let user = super::init::credentials(token.as_deref()).map(|(user, _)| user);
                (Stage::Auth, user.unwrap_or_default())
            }
            ClientRequest::Register(kinds) => (Stage::Register, kinds.join(", ")),
            ClientRequest::Query { text, .. } => (system::stage(text), text.clone()),
            ClientRequest::Prepare { text } => (Stage::Prepare, text.clone()),
            ClientRequest::Execute { id, .. } => {
                let text = self.node.prepared().get(id.as_ref()).cloned().unwrap_or_default();
                (system::stage(&text), text)
            }
            ClientRequest::Batch { statements, .. } => (Stage::Query, format!("BATCH of {}", statements.len())),
        }
    }

    /// Keeps the count of overlapping logins: a request came.
    fn asked(&mut self, stage: Stage) {
        match stage {
            Stage::Startup => self.recorder.logging_in(true),
            Stage::Auth | Stage::Cluster | Stage::Keyspace | Stage::Identity | Stage::Register if !self.settled => {
                self.recorder.logging_in(true);
            }
            Stage::Options => {}
            _ => {
                self.settled = true;
                self.recorder.logging_in(false);
            }
        }
    }

    /// Keeps the count of overlapping logins: an answer was sent.
    pub(super) fn answered(&mut self, stage: Stage) {
        match stage {
            Stage::Cluster | Stage::Keyspace | Stage::Identity => self.recorder.logging_in(false),
            Stage::Register => {
                self.settled = true;
                self.recorder.logging_in(false);
            }
            _ => {}
        }
    }

    fn send_error(&mut self, version: u8, stream: i16, text: &str) -> Flow {
        let Written { opcode, flags, body } = Written::error(PROTOCOL_ERROR, text);
        let bytes = self.seal(version, flags, stream, opcode, body);
        self.stream.send(&bytes);
        Flow::Go
    }
}

impl Reply {
    pub(super) fn protocol_error(text: &str) -> Self {
        Written::error(PROTOCOL_ERROR, text).into()
    }
}
