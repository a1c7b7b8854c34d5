//! What comes with an error's code and words.

use std::fmt;
use std::net::IpAddr;

use bytes::Bytes;
use scylla_cql_core::frame::response::error::{OperationType, WriteType};
use scylla_cql_core::frame::types::Consistency;

use super::server_error::code;
use crate::protocol::Dialect;
use crate::protocol::parse_error::{ParseError, Problem};
use crate::protocol::reader::{Reader, capacity};

/// What comes with an error's code and words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorDetail {
    /// Nothing.
    None,
    /// Too few replicas are alive.
    Unavailable {
        /// The consistency of the request.
        consistency: Consistency,
        /// How many replicas it needs.
        required: i32,
        /// How many are alive.
        alive: i32,
    },
    /// Too few replicas acknowledged a write in time.
    WriteTimeout {
        /// The consistency of the request.
        consistency: Consistency,
        /// How many replicas acknowledged.
        received: i32,
        /// How many it needs.
        required: i32,
        /// What kind of write it was.
        write_type: WriteType,
        /// How many other proposals a conditional write met; v5 and later.
        contentions: Option<u16>,
    },
    /// Too few replicas answered a read in time.
    ReadTimeout {
        /// The consistency of the request.
        consistency: Consistency,
        /// How many replicas answered.
        received: i32,
        /// How many it needs.
        required: i32,
        /// Whether the replica that was asked for the data answered.
        data_present: bool,
    },
    /// Replicas failed at a read.
    ReadFailure {
        /// The consistency of the request.
        consistency: Consistency,
        /// How many replicas answered.
        received: i32,
        /// How many it needs.
        required: i32,
        /// Who failed.
        failures: Failures,
        /// Whether the replica that was asked for the data answered.
        data_present: bool,
    },
    /// Replicas failed at a write.
    WriteFailure {
        /// The consistency of the request.
        consistency: Consistency,
        /// How many replicas acknowledged.
        received: i32,
        /// How many it needs.
        required: i32,
        /// Who failed.
        failures: Failures,
        /// What kind of write it was.
        write_type: WriteType,
    },
    /// A user-defined function failed.
    FunctionFailure {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        function: String,
        /// The types of its arguments.
        arguments: Vec<String>,
    },
    /// Whether a conditional write took effect is not known.
    CasWriteUnknown {
        /// The consistency of the request.
        consistency: Consistency,
        /// How many replicas acknowledged.
        received: i32,
        /// How many it needs.
        required: i32,
    },
    /// What should be created exists.
    AlreadyExists {
        /// The keyspace.
        keyspace: String,
        /// The table; empty when it is the keyspace that exists.
        table: String,
    },
    /// The server does not know the prepared statement.
    Unprepared {
        /// The id that it was asked for.
        id: Bytes,
    },
    /// A partition is asked for too often (ScyllaDB).
    RateLimit {
        /// Whether reads or writes are too many.
        operation: OperationType,
        /// Whether no replica has seen the request.
        rejected_by_coordinator: bool,
    },
    /// What came cannot be read; code and words stand nevertheless.
    Unreadable(ParseError),
}

/// The replicas that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failures {
    /// How many they are; up to v4.
    Count(i32),
    /// Each with the code of its reason; v5 and later.
    Reasons(Vec<(IpAddr, u16)>),
}

impl Failures {
    /// How many replicas failed.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Count(count) => usize::try_from(*count).unwrap_or(0),
            Self::Reasons(reasons) => reasons.len(),
        }
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count} replicas"),
            Self::Reasons(reasons) => {
                let mut separator = "";
                for (address, reason) in reasons {
                    write!(f, "{separator}{address} (reason {reason:#06x})")?;
                    separator = ", ";
                }
                Ok(())
            }
        }
    }
}

/// Reads what follows an error's words.
pub(super) fn read_detail(
    reader: &mut Reader<'_>,
    code: i32,
    version: u8,
    dialect: Dialect,
) -> Result<ErrorDetail, ParseError> {
    // The three numbers that most of the details begin with.
    let acknowledged = |reader: &mut Reader<'_>| {
        let consistency = read_consistency(reader)?;
        let received = reader.int("how many replicas answered")?;
        let required = reader.int("how many replicas are needed")?;
        Ok((consistency, received, required))
    };
    Ok(match code {
        code::UNAVAILABLE => ErrorDetail::Unavailable {
            consistency: read_consistency(reader)?,
            required: reader.int("how many replicas are needed")?,
            alive: reader.int("how many replicas are alive")?,
        },
        code::WRITE_TIMEOUT => {
            let (consistency, received, required) = acknowledged(reader)?;
            let write_type = read_write_type(reader)?;
            let told = version >= 5 && write_type == WriteType::Cas && reader.left() > 0;
            let contentions = told.then(|| reader.short("the contentions of a write"));
            ErrorDetail::WriteTimeout {
                consistency,
                received,
                required,
                write_type,
                contentions: contentions.transpose()?,
            }
        }
        code::READ_TIMEOUT => {
            let (consistency, received, required) = acknowledged(reader)?;
            ErrorDetail::ReadTimeout { consistency, received, required, data_present: read_data_present(reader)? }
        }
        code::READ_FAILURE => {
            let (consistency, received, required) = acknowledged(reader)?;
            ErrorDetail::ReadFailure {
                consistency,
                received,
                required,
                failures: read_failures(reader, version)?,
                data_present: read_data_present(reader)?,
            }
        }
        code::WRITE_FAILURE => {
            let (consistency, received, required) = acknowledged(reader)?;
            ErrorDetail::WriteFailure {
                consistency,
                received,
                required,
                failures: read_failures(reader, version)?,
                write_type: read_write_type(reader)?,
            }
        }
        code::FUNCTION_FAILURE => ErrorDetail::FunctionFailure {
            keyspace: reader.string("the keyspace of a function")?.to_owned(),
            function: reader.string("the name of a function")?.to_owned(),
            arguments: reader.string_list("the argument types of a function")?,
        },
        code::CAS_WRITE_UNKNOWN => {
            let (consistency, received, required) = acknowledged(reader)?;
            ErrorDetail::CasWriteUnknown { consistency, received, required }
        }
        code::ALREADY_EXISTS => ErrorDetail::AlreadyExists {
            keyspace: reader.string("the keyspace that exists")?.to_owned(),
            table: reader.string("the table that exists")?.to_owned(),
        },
        code::UNPREPARED => {
            let id = reader.short_bytes("the id of a statement that is not prepared")?;
            ErrorDetail::Unprepared { id: Bytes::copy_from_slice(id) }
        }
        code if Some(code) == dialect.rate_limit_code => ErrorDetail::RateLimit {
            operation: OperationType::from(reader.byte("which operations are too many")?),
            rejected_by_coordinator: reader.byte("who rejected the request")? != 0,
        },
        _ => ErrorDetail::None,
    })
}

fn read_consistency(reader: &mut Reader<'_>) -> Result<Consistency, ParseError> {
    let before = *reader;
    let number = reader.short("a consistency")?;
    Consistency::try_from(number).map_err(|_| before.error("a consistency", Problem::Unknown(i64::from(number))))
}

fn read_write_type(reader: &mut Reader<'_>) -> Result<WriteType, ParseError> {
    reader.string("the type of a write").map(WriteType::from)
}

fn read_data_present(reader: &mut Reader<'_>) -> Result<bool, ParseError> {
    Ok(reader.byte("whether data is present")? != 0)
}

fn read_failures(reader: &mut Reader<'_>, version: u8) -> Result<Failures, ParseError> {
    if version < 5 {
        return reader.int("how many replicas failed").map(Failures::Count);
    }
    // A length, at least four bytes of address, and a code.
    let count = reader.count("the replicas that failed", 7)?;
    let mut reasons = Vec::with_capacity(capacity(count));
    for _ in 0..count {
        let address = reader.address("the address of a replica that failed")?;
        let reason = reader.short("the reason why a replica failed")?;
        reasons.push((address, reason));
    }
    Ok(Failures::Reasons(reasons))
}
