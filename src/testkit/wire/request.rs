//! What clients ask.

use bytes::Bytes;

use super::read::{Malformed, Reader};
use crate::protocol::Opcode;

/// A request, read.
#[derive(Debug)]
pub(in crate::testkit) enum ClientRequest {
    Options,
    Startup(Vec<(String, String)>),
    AuthResponse(Option<Bytes>),
    Register(Vec<String>),
    Query { text: String, params: Params },
    Prepare { text: String },
    Execute { id: Bytes, metadata_id: Option<Bytes>, params: Params },
    Batch { statements: Vec<BatchStatement>, params: Params },
}

/// One statement of a batch.
#[derive(Debug)]
pub(in crate::testkit) struct BatchStatement {
    pub(in crate::testkit) what: TextOrId,
    pub(in crate::testkit) values: Vec<Option<Bytes>>,
}

#[derive(Debug)]
pub(in crate::testkit) enum TextOrId {
    Text(String),
    Id(Bytes),
}

/// What stands around a statement.
#[derive(Debug, Default)]
pub(in crate::testkit) struct Params {
    pub(in crate::testkit) consistency: u16,
    pub(in crate::testkit) values: Vec<Option<Bytes>>,
    pub(in crate::testkit) skip_metadata: bool,
    pub(in crate::testkit) page_size: Option<usize>,
    pub(in crate::testkit) paging_state: Option<Bytes>,
    pub(in crate::testkit) timestamp: Option<i64>,
    pub(in crate::testkit) now_in_seconds: Option<i32>,
    pub(in crate::testkit) payload: Vec<(String, Bytes)>,
}

/// How a request is to be read.
#[derive(Clone, Copy, Debug)]
pub(in crate::testkit) struct Reading {
    /// Whether flags take four bytes, as from v5 on.
    pub(in crate::testkit) v5: bool,
    /// Whether EXECUTE carries the id of the result metadata.
    pub(in crate::testkit) metadata_id: bool,
    /// Whether the body begins with a custom payload.
    pub(in crate::testkit) payload: bool,
}

impl ClientRequest {
    /// Reads a body; `None` for an opcode that is no request.
    pub(in crate::testkit) fn read(opcode: Opcode, body: Bytes, how: Reading) -> Result<Option<Self>, Malformed> {
        let mut body = Reader::new(body);
        let payload = if how.payload {
            body.list(|body| Ok((body.string()?, body.bytes()?.unwrap_or_default())))?
        } else {
            Vec::new()
        };
        Ok(Some(match opcode {
            Opcode::Options => Self::Options,
            Opcode::Startup => Self::Startup(body.list(|body| Ok((body.string()?, body.string()?)))?),
            Opcode::AuthResponse => Self::AuthResponse(body.bytes()?),
            Opcode::Register => Self::Register(body.list(Reader::string)?),
            Opcode::Query => {
                let text = body.long_string()?;
                Self::Query { text, params: Params::read(&mut body, how, payload)? }
            }
            Opcode::Prepare => Self::Prepare { text: body.long_string()? },
            Opcode::Execute => {
                let id = body.short_bytes()?;
                let metadata_id = how.metadata_id.then(|| body.short_bytes()).transpose()?;
                Self::Execute { id, metadata_id, params: Params::read(&mut body, how, payload)? }
            }
            Opcode::Batch => {
                let _kind = body.byte()?;
                let statements = body.list(|body| {
                    let what = match body.byte()? {
                        0 => TextOrId::Text(body.long_string()?),
                        _ => TextOrId::Id(body.short_bytes()?),
                    };
                    Ok(BatchStatement { what, values: body.list(Reader::bytes)? })
                })?;
                let consistency = body.short()?;
                let params = Params { consistency, payload, ..Params::default() };
                Self::Batch { statements, params: params.batch(&mut body, how)? }
            }
            _ => return Ok(None),
        }))
    }
}

const VALUES: u32 = 0x01;
const SKIP_METADATA: u32 = 0x02;
const PAGE_SIZE: u32 = 0x04;
const PAGING_STATE: u32 = 0x08;
const SERIAL_CONSISTENCY: u32 = 0x10;
const TIMESTAMP: u32 = 0x20;
const NAMED_VALUES: u32 = 0x40;
const KEYSPACE: u32 = 0x80;
const NOW_IN_SECONDS: u32 = 0x100;

fn flags(body: &mut Reader, how: Reading) -> Result<u32, Malformed> {
    if how.v5 { body.int().map(i32::cast_unsigned) } else { body.byte().map(u32::from) }
}

impl Params {
    fn read(body: &mut Reader, how: Reading, payload: Vec<(String, Bytes)>) -> Result<Self, Malformed> {
        let consistency = body.short()?;
        let flags = flags(body, how)?;
        let mut params = Self { consistency, payload, ..Self::default() };
        if flags & VALUES != 0 {
            params.values = body.list(|body| {
                if flags & NAMED_VALUES != 0 {
                    body.string()?;
                }
                body.bytes()
            })?;
        }
        params.skip_metadata = flags & SKIP_METADATA != 0;
        if flags & PAGE_SIZE != 0 {
            // Zero and less mean no paging.
            params.page_size = usize::try_from(body.int()?).ok().filter(|size| *size > 0);
        }
        if flags & PAGING_STATE != 0 {
            params.paging_state = body.bytes()?;
        }
        params.read_tail(flags, body)?;
        Ok(params)
    }

    fn batch(mut self, body: &mut Reader, how: Reading) -> Result<Self, Malformed> {
        let flags = flags(body, how)?;
        self.read_tail(flags, body)?;
        Ok(self)
    }

    /// What comes last, in a batch as in others.
    fn read_tail(&mut self, flags: u32, body: &mut Reader) -> Result<(), Malformed> {
        if flags & SERIAL_CONSISTENCY != 0 {
            body.short()?;
        }
        if flags & TIMESTAMP != 0 {
            self.timestamp = Some(body.long()?);
        }
        if flags & KEYSPACE != 0 {
            body.string()?;
        }
        if flags & NOW_IN_SECONDS != 0 {
            self.now_in_seconds = Some(body.int()?);
        }
        Ok(())
    }
}
