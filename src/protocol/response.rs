//! Responses: what an envelope says.
//!
//! Nothing is believed: counts are bounded by the bytes left, types by a depth, and what is not known is a value
//! rather than an error wherever the rest can be read without it. Rows stay bytes until they are asked for.

pub mod supported;
pub mod server_error;
mod error_detail;
pub mod event;
mod prepared;
mod rows;
mod metadata;
mod column_type;
mod class_name;

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

pub use super::parse_error::{ParseError, Problem};
pub use column_type::MAX_DEPTH;
pub use error_detail::{ErrorDetail, Failures};
pub use event::{Event, SchemaChange};
pub use metadata::{OpaqueType, ResultMetadata};
pub use prepared::Prepared;
pub use rows::Rows;
pub use server_error::ServerError;
pub use supported::Supported;

use super::envelope::flags;
use super::reader::{Reader, capacity};
use super::{Dialect, Envelope, Header, Opcode, Payload, ProtocolVersion};
use rows::RowsHead;

/// A response, and what may stand before it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Under which id the server traced the request, when it was asked to.
    pub tracing_id: Option<Uuid>,
    /// What the server warns of.
    pub warnings: Vec<String>,
    /// Bytes of the server's query handler; ScyllaDB's tablets come here.
    pub payload: Payload,
    /// The response.
    pub response: Response,
}

/// What the server says.
#[derive(Clone, Debug)]
pub enum Response {
    /// The request failed.
    Error(ServerError),
    /// The connection is ready, or events are registered.
    Ready,
    /// A login is needed.
    Authenticate {
        /// The class name of the server's authenticator.
        authenticator: String,
    },
    /// What the server supports.
    Supported(Supported),
    /// What a statement gave.
    Result(ResultResponse),
    /// Something happened in the cluster.
    Event(Event),
    /// The login needs another step.
    AuthChallenge {
        /// The server's token.
        token: Option<Bytes>,
    },
    /// The login succeeded.
    AuthSuccess {
        /// The server's last token.
        token: Option<Bytes>,
    },
}

/// What a statement gave.
#[derive(Clone, Debug)]
pub enum ResultResponse {
    /// Nothing.
    Void,
    /// Rows.
    Rows(Rows),
    /// The keyspace of the connection is another now.
    SetKeyspace(String),
    /// The statement is prepared.
    Prepared(Box<Prepared>),
    /// The schema is another now.
    SchemaChange(SchemaChange),
}

/// Reads an answer. `known` is result metadata that stands in where the server left it out.
///
/// An ERROR may come in another version than the connection's, since a server answers a version it does not speak
/// in its own. Everything else must come in the connection's.
///
/// # Errors
/// When the envelope is no answer, is in another version, or does not hold what it should.
pub fn parse(envelope: Envelope, dialect: Dialect, known: Option<&Arc<ResultMetadata>>) -> Result<Answer, ParseError> {
    let Envelope { header, body } = envelope;
    let mut reader = Reader::new(&body);
    let opcode = check_header(&reader, header, dialect)?;
    let tracing_id = if header.has(flags::TRACING) { Some(reader.uuid("a tracing id")?) } else { None };
    let warnings = if header.has(flags::WARNINGS) { reader.string_list("warnings")? } else { Vec::new() };
    let payload = if header.has(flags::CUSTOM_PAYLOAD) { read_payload(&mut reader)? } else { Payload::new() };
    let response = match read(&mut reader, opcode, header.version, dialect, known)? {
        Parsed::Whole(response) => response,
        Parsed::Rows(head) => Response::Result(ResultResponse::Rows(head.with_body(body))),
    };
    Ok(Answer { tracing_id, warnings, payload, response })
}

/// A response, or the beginning of one that goes on with the body itself.
enum Parsed {
    Whole(Response),
    Rows(RowsHead),
}

fn read(
    reader: &mut Reader<'_>,
    opcode: Opcode,
    version: u8,
    dialect: Dialect,
    known: Option<&Arc<ResultMetadata>>,
) -> Result<Parsed, ParseError> {
    let response = match opcode {
        Opcode::Result => return read_result(reader, dialect, known),
        Opcode::Error => Response::Error(ServerError::read(reader, version, dialect)?),
        Opcode::Ready => Response::Ready,
        Opcode::Authenticate => {
            Response::Authenticate { authenticator: reader.string("the class of an authenticator")?.to_owned() }
        }
        Opcode::Supported => Response::Supported(Supported::read(reader)?),
        Opcode::Event => Response::Event(Event::read(reader)?),
        Opcode::AuthChallenge => Response::AuthChallenge { token: read_token(reader)? },
        Opcode::AuthSuccess => Response::AuthSuccess { token: read_token(reader)? },
        Opcode::Startup
        | Opcode::Options
        | Opcode::Query
        | Opcode::Prepare
        | Opcode::Execute
        | Opcode::Register
        | Opcode::Batch
        | Opcode::AuthResponse => return Err(reader.error("an answer", Problem::Request)),
    };
    Ok(Parsed::Whole(response))
}

fn read_result(
    reader: &mut Reader<'_>,
    dialect: Dialect,
    known: Option<&Arc<ResultMetadata>>,
) -> Result<Parsed, ParseError> {
    let before = *reader;
    let result = match reader.int("the kind of a result")? {
        1 => ResultResponse::Void,
        2 => return RowsHead::read(reader, dialect, known).map(Parsed::Rows),
        3 => ResultResponse::SetKeyspace(reader.string("the name of a keyspace")?.to_owned()),
        4 => ResultResponse::Prepared(Box::new(Prepared::read(reader, dialect)?)),
        5 => ResultResponse::SchemaChange(SchemaChange::read(reader)?),
        other => {
            let problem = Problem::Unknown(i64::from(other));
            return Err(before.error("the kind of a result", problem));
        }
    };
    Ok(Parsed::Whole(Response::Result(result)))
}

/// Whether an answer of this header can be read at all.
fn check_header(reader: &Reader<'_>, header: Header, dialect: Dialect) -> Result<Opcode, ParseError> {
    let what = "the header of an answer";
    if !header.response {
        return Err(reader.error(what, Problem::Request));
    }
    let Some(opcode) = header.opcode() else {
        let problem = Problem::Unknown(i64::from(header.opcode));
        return Err(reader.error("the opcode of an answer", problem));
    };
    let spoken = dialect.version.as_u8();
    if header.version != spoken && opcode != Opcode::Error {
        let came = header.version;
        return Err(reader.error(what, Problem::OtherVersion { came, spoken }));
    }
    let version = ProtocolVersion::try_from(header.version).unwrap_or(dialect.version);
    if header.has(flags::COMPRESSED) && version.has_body_compression() {
        return Err(reader.error(what, Problem::Compressed));
    }
    Ok(opcode)
}

fn read_payload(reader: &mut Reader<'_>) -> Result<Payload, ParseError> {
    // A key's length and a value's.
    let count = reader.short_count("a custom payload", 6)?;
    let mut entries = Vec::with_capacity(capacity(count));
    for _ in 0..count {
        let key = reader.string("a key of a custom payload")?.to_owned();
        let value = reader.bytes("a value of a custom payload")?;
        entries.push((key, value.map(Bytes::copy_from_slice)));
    }
    Ok(entries.into_iter().collect())
}

fn read_token(reader: &mut Reader<'_>) -> Result<Option<Bytes>, ParseError> {
    let token = reader.bytes("a token of the login")?;
    Ok(token.map(Bytes::copy_from_slice))
}
