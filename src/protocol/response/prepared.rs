//! A prepared statement, as the server describes it.

use std::sync::Arc;

use bytes::Bytes;
use scylla_cql_core::frame::response::result::PreparedMetadata;

use super::metadata::{self, OpaqueType, ResultMetadata};
use crate::protocol::Dialect;
use crate::protocol::parse_error::ParseError;
use crate::protocol::reader::Reader;

/// The answer to PREPARE.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What EXECUTE names the statement by.
    pub id: Bytes,
    /// What EXECUTE names the known result metadata by, in dialects that do.
    pub result_metadata_id: Option<Bytes>,
    /// The bind markers; its flags are as they came.
    pub metadata: PreparedMetadata,
    /// The types of bind markers that are blobs here because their classes are not known.
    pub opaque_markers: Vec<OpaqueType>,
    /// Whether the server marked the statement as conditional (ScyllaDB).
    pub is_lwt: bool,
    /// The columns of the results; none for what gives no rows.
    pub result_metadata: Arc<ResultMetadata>,
}

impl Prepared {
    pub(super) fn read(reader: &mut Reader<'_>, dialect: Dialect) -> Result<Self, ParseError> {
        let id = reader.short_bytes("the id of a prepared statement")?;
        let id = Bytes::copy_from_slice(id);
        let mut result_metadata_id = None;
        if dialect.has_metadata_id() {
            let id = reader.short_bytes("a result-metadata id")?;
            result_metadata_id = Some(Bytes::copy_from_slice(id));
        }
        let markers = metadata::read_markers(reader, dialect)?;
        let mask = dialect.lwt_mask.unwrap_or(0);
        let result = metadata::read(reader, dialect, None)?;
        Ok(Self {
            id,
            result_metadata_id,
            is_lwt: mask != 0 && markers.metadata.flags as u32 & mask == mask,
            metadata: markers.metadata,
            opaque_markers: markers.opaque,
            result_metadata: result.metadata,
        })
    }
}
