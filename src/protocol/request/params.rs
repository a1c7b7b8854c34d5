//! The parameters that QUERY and EXECUTE share.

use scylla_cql_core::frame::types::{Consistency, SerialConsistency};

use super::length::{Length, needs};
use super::{RequestError, Values, put};
use crate::protocol::{Dialect, ProtocolVersion};

pub(super) const VALUES: u32 = 0x01;
pub(super) const SKIP_METADATA: u32 = 0x02;
pub(super) const PAGE_SIZE: u32 = 0x04;
pub(super) const PAGING_STATE: u32 = 0x08;
pub(super) const SERIAL_CONSISTENCY: u32 = 0x10;
pub(super) const TIMESTAMP: u32 = 0x20;
pub(super) const NAMED_VALUES: u32 = 0x40;
pub(super) const KEYSPACE: u32 = 0x80;
pub(super) const NOW_IN_SECONDS: u32 = 0x100;

/// How a statement is to be run.
#[derive(Clone, Copy, Debug)]
pub struct QueryParams<'a> {
    /// How many replicas must take part; `LOCAL_QUORUM` by default.
    pub consistency: Consistency,
    /// The same for the Paxos phase of a conditional write; the server's default is `SERIAL`.
    pub serial_consistency: Option<SerialConsistency>,
    /// How many rows a page may have; without it everything comes at once.
    pub page_size: Option<i32>,
    /// Where the next page begins, as the last one said.
    pub paging_state: Option<&'a [u8]>,
    /// The write timestamp, in microseconds since 1970; without it the server takes its own.
    pub timestamp: Option<i64>,
    /// Whether the result may come without metadata, because it is known.
    pub skip_metadata: bool,
    /// What "now" is for the server, in seconds since 1970; v5 and later.
    pub now_in_seconds: Option<i32>,
    /// The values of the bind markers.
    pub values: &'a Values,
}

impl Default for QueryParams<'_> {
    fn default() -> Self {
        Self {
            consistency: Consistency::LocalQuorum,
            serial_consistency: None,
            page_size: None,
            paging_state: None,
            timestamp: None,
            skip_metadata: false,
            now_in_seconds: None,
            values: Values::EMPTY,
        }
    }
}

impl<'a> QueryParams<'a> {
    /// Default parameters with these values.
    #[must_use]
    pub fn with_values(values: &'a Values) -> Self {
        Self { values, ..Self::default() }
    }

    fn flags(&self, keyspace: Option<&str>) -> u32 {
        flag(!self.values.is_empty(), VALUES)
            | flag(self.values.is_named(), NAMED_VALUES)
            | flag(self.skip_metadata, SKIP_METADATA)
            | flag(self.page_size.is_some(), PAGE_SIZE)
            | flag(self.paging_state.is_some(), PAGING_STATE)
            | flag(self.serial_consistency.is_some(), SERIAL_CONSISTENCY)
            | flag(self.timestamp.is_some(), TIMESTAMP)
            | flag(keyspace.is_some(), KEYSPACE)
            | flag(self.now_in_seconds.is_some(), NOW_IN_SECONDS)
    }

    /// Adds the parameters, and the keyspace that QUERY may name among them.
    pub(super) fn measure(
        &self,
        mut length: Length,
        keyspace: Option<&str>,
        dialect: Dialect,
    ) -> Result<Length, RequestError> {
        length = length.plus(2 + flags_len(dialect));
        if !self.values.is_empty() {
            length = length.values(self.values, dialect)?;
        }
        if let Some(page_size) = self.page_size {
            if page_size < 1 {
                return Err(RequestError::PageSize(page_size));
            }
            length = length.plus(4);
        }
        if let Some(state) = self.paging_state {
            length = length.bytes(state);
        }
        length.plus(self.serial_consistency.map_or(0, |_| 2)).plus(self.timestamp.map_or(0, |_| 8)).v5_options(
            keyspace,
            self.now_in_seconds,
            dialect,
        )
    }

    /// Appends the parameters.
    #[inline]
    pub(super) fn write(&self, keyspace: Option<&str>, dialect: Dialect, out: &mut Vec<u8>) {
        put::short(out, self.consistency as u16);
        write_flags(self.flags(keyspace), dialect, out);
        if !self.values.is_empty() {
            put::values(out, self.values);
        }
        if let Some(page_size) = self.page_size {
            put::int(out, page_size);
        }
        if self.paging_state.is_some() {
            put::bytes(out, self.paging_state);
        }
        write_tail(self.serial_consistency, self.timestamp, keyspace, self.now_in_seconds, out);
    }
}

impl Length {
    /// Adds what only v5 can say.
    pub(super) fn v5_options(
        mut self,
        keyspace: Option<&str>,
        now_in_seconds: Option<i32>,
        dialect: Dialect,
    ) -> Result<Self, RequestError> {
        if let Some(keyspace) = keyspace {
            if !dialect.version.has_keyspace_option() {
                let what = "a keyspace beside the statement";
                return Err(needs(what, ProtocolVersion::V5, dialect));
            }
            self = self.string("the name of the keyspace", keyspace)?;
        }
        if now_in_seconds.is_some() {
            if !dialect.version.has_keyspace_option() {
                return Err(needs("\"now in seconds\"", ProtocolVersion::V5, dialect));
            }
            self = self.plus(4);
        }
        Ok(self)
    }
}

/// The length of the flags of QUERY, EXECUTE and BATCH.
pub(super) const fn flags_len(dialect: Dialect) -> usize {
    if dialect.version.has_wide_flags() { 4 } else { 1 }
}

pub(super) fn write_flags(flags: u32, dialect: Dialect, out: &mut Vec<u8>) {
    if dialect.version.has_wide_flags() {
        out.extend_from_slice(&flags.to_be_bytes());
    } else {
        // What needs a higher bit was refused when the request was measured.
        out.push(flags as u8);
    }
}

/// What QUERY, EXECUTE and BATCH end with.
pub(super) fn write_tail(
    serial_consistency: Option<SerialConsistency>,
    timestamp: Option<i64>,
    keyspace: Option<&str>,
    now_in_seconds: Option<i32>,
    out: &mut Vec<u8>,
) {
    if let Some(serial) = serial_consistency {
        put::short(out, serial as u16);
    }
    if let Some(timestamp) = timestamp {
        put::long(out, timestamp);
    }
    if let Some(keyspace) = keyspace {
        put::string(out, keyspace);
    }
    if let Some(now) = now_in_seconds {
        put::int(out, now);
    }
}

pub(super) const fn flag(on: bool, bit: u32) -> u32 {
    if on { bit } else { 0 }
}
