//! Where the next page of a result begins.

use bytes::Bytes;

use crate::protocol::ProtocolVersion;

/// Where the next page of a result begins: opaque bytes, good for the same statement with the same values.
///
/// It may be kept and sent by another session, as long as that speaks the same version of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagingState {
    bytes: Bytes,
    version: Option<ProtocolVersion>,
}

impl PagingState {
    /// A paging state that was kept as bytes.
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), version: None }
    }

    pub(super) fn new(bytes: Bytes, version: ProtocolVersion) -> Self {
        Self { bytes, version: Some(version) }
    }

    /// The bytes, to be kept.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether a connection of this version can go on from here, as far as known.
    pub(super) fn is_for(&self, version: ProtocolVersion) -> bool {
        self.version.is_none_or(|own| own == version)
    }
}
