//! The values of a statement, serialized once.

use scylla_cql_core::frame::response::result::{ColumnSpec, ColumnType};
use scylla_cql_core::frame::types::RawValue;
use scylla_cql_core::serialize::row::{RowSerializationContext, SerializeRow};
use scylla_cql_core::serialize::value::SerializeValue;
use scylla_cql_core::serialize::{CellWriter, RowWriter, SerializationError};
use thiserror::Error;

use super::MAX_BODY;

/// How much room values are given at first: growing costs more than a little room, and up to here an allocation is of the
/// kind that glibc gives and takes back fastest.
const ROOM: usize = 120;

/// Serialized values: what follows the count in a request.
///
/// They are made before a connection is chosen, and serve the token, every try and every page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    bytes: Vec<u8>,
    count: u16,
    named: bool,
    unset: bool,
}

impl Values {
    /// No values.
    pub const EMPTY: &'static Self = &Self { bytes: Vec::new(), count: 0, named: false, unset: false };

    /// Serializes a row of values for these columns or bind markers.
    ///
    /// # Errors
    /// When the row does not fit the columns, has more than 65535 values, is longer than a request may be, or
    /// counts its values wrongly.
    pub fn serialize<R: SerializeRow + ?Sized>(columns: &[ColumnSpec<'_>], row: &R) -> Result<Self, ValuesError> {
        let mut bytes = Vec::with_capacity(ROOM.max(16 * columns.len()));
        let mut writer = RowWriter::new(&mut bytes);
        row.serialize(&RowSerializationContext::from_specs(columns), &mut writer)?;
        let written = writer.value_count();
        let count = u16::try_from(written).map_err(|_| ValuesError::TooMany(written))?;
        let mut values = Self { bytes, count, named: false, unset: false };
        values.check()?;
        Ok(values)
    }

    /// Adds a value for the bind marker `:name`. A statement has either named values or others.
    ///
    /// # Errors
    /// Those of [`Values::serialize`], and when the values so far have no names; nothing is added then.
    pub fn push_named<V: SerializeValue + ?Sized>(
        &mut self,
        name: &str,
        value: &V,
        column_type: &ColumnType<'_>,
    ) -> Result<(), ValuesError> {
        if self.count > 0 && !self.named {
            return Err(ValuesError::Mixed);
        }
        let count = self.count.checked_add(1).ok_or(ValuesError::TooMany(1 << 16))?;
        let length = u16::try_from(name.len()).map_err(|_| ValuesError::Name(name.len()))?;
        let mut bytes = Vec::with_capacity(32);
        value.serialize(column_type, CellWriter::new(&mut bytes))?;
        let mut cell = Self { bytes, count: 1, ..Self::default() };
        cell.check()?;
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(&cell.bytes);
        self.count = count;
        self.named = true;
        self.unset |= cell.unset;
        Ok(())
    }

    /// How many values there are.
    #[must_use]
    pub const fn count(&self) -> u16 {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether each value has its name before it.
    #[must_use]
    pub const fn is_named(&self) -> bool {
        self.named
    }

    /// Whether a value is "unset", which v3 cannot say.
    #[must_use]
    pub const fn has_unset(&self) -> bool {
        self.unset
    }

    /// The values as they are sent, without their count.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The values one by one.
    #[must_use]
    pub fn iter(&self) -> ValuesIter<'_> {
        ValuesIter { rest: &self.bytes, named: self.named }
    }

    /// Compares the cells with their count, since user code wrote them; notes whether one is unset.
    fn check(&mut self) -> Result<(), ValuesError> {
        if self.bytes.len() > MAX_BODY {
            return Err(ValuesError::TooLong(self.bytes.len()));
        }
        let mut rest = self.bytes.as_slice();
        let mut found = 0_usize;
        while !rest.is_empty() {
            match take_cell(&mut rest) {
                Some(RawValue::Unset) => self.unset = true,
                Some(_) => {}
                None => return Err(ValuesError::Miscounted(self.count)),
            }
            found += 1;
        }
        if found != usize::from(self.count) {
            return Err(ValuesError::Miscounted(self.count));
        }
        Ok(())
    }
}

impl<'a> IntoIterator for &'a Values {
    type Item = RawValue<'a>;
    type IntoIter = ValuesIter<'a>;

    fn into_iter(self) -> ValuesIter<'a> {
        self.iter()
    }
}

/// An iterator over serialized values.
#[derive(Clone, Debug)]
pub struct ValuesIter<'a> {
    rest: &'a [u8],
    named: bool,
}

impl<'a> Iterator for ValuesIter<'a> {
    type Item = RawValue<'a>;

    fn next(&mut self) -> Option<RawValue<'a>> {
        if self.named {
            let (length, rest) = self.rest.split_first_chunk::<2>()?;
            self.rest = rest.get(usize::from(u16::from_be_bytes(*length))..)?;
        }
        take_cell(&mut self.rest)
    }
}

/// Takes a `[value]`; `None` when none stands there.
fn take_cell<'a>(rest: &mut &'a [u8]) -> Option<RawValue<'a>> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    match i32::from_be_bytes(*length) {
        -1 => {
            *rest = after;
            Some(RawValue::Null)
        }
        -2 => {
            *rest = after;
            Some(RawValue::Unset)
        }
        length => {
            let (value, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
            *rest = after;
            Some(RawValue::Value(value))
        }
    }
}

/// Values that cannot be sent.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum ValuesError {
    /// The values do not fit the columns, or one cannot be serialized.
    #[error("the values do not fit the statement")]
    Serialize(#[from] SerializationError),
    /// There are more values than the protocol can count.
    #[error("there are {0} values; the protocol allows 65535")]
    TooMany(usize),
    /// The values are longer than a request may be.
    #[error("the values take {0} bytes; the protocol allows {MAX_BODY}")]
    TooLong(usize),
    /// A name is longer than the protocol can say.
    #[error("the name of a value is {0} bytes long; the protocol allows 65535")]
    Name(usize),
    /// Named values were added to values without names.
    #[error("a statement has either named values or values by position, not both")]
    Mixed,
    /// A hand-written serialization announced another number of values than it wrote.
    #[error("the serialization of the row announced {0} values and wrote others")]
    Miscounted(u16),
}
