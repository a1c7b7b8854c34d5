//! Where the partition of a request lies.

use scylla_cql_core::frame::types::RawValue;

use super::Prepared;
use crate::protocol::Values;
use crate::topology::{Murmur3, Token};

/// The token of the bound partition key; `None` if it is not bound as a whole, or part of it is null.
///
/// A key of several columns is each one's length in two bytes, the value, and a zero byte: the layout of Apache
/// Cassandra's `CompositeType`.
#[inline]
pub(super) fn token(prepared: &Prepared, values: &Values) -> Option<Token> {
    match prepared.partition_key() {
        [] => None,
        [one] => match values.iter().nth(usize::from(one.index))? {
            RawValue::Value(value) => Some(Murmur3::token(value)),
            RawValue::Null | RawValue::Unset => None,
        },
        several => {
            let mut hasher = Murmur3::new();
            for part in several {
                let RawValue::Value(value) = values.iter().nth(usize::from(part.index))? else { return None };
                // A longer part is no valid key; the server will say so.
                let length = u16::try_from(value.len()).ok()?;
                hasher.write(&length.to_be_bytes());
                hasher.write(value);
                hasher.write(&[0]);
            }
            Some(hasher.finish())
        }
    }
}
