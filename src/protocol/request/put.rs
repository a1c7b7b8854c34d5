//! Writing the protocol's notations; lengths were measured and checked before.

use super::Values;

pub(super) fn short(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_be_bytes());
}

pub(super) fn int(out: &mut Vec<u8>, number: i32) {
    out.extend_from_slice(&number.to_be_bytes());
}

pub(super) fn long(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(&number.to_be_bytes());
}

/// The count of a list.
pub(super) fn count(out: &mut Vec<u8>, count: usize) {
    debug_assert!(count <= usize::from(u16::MAX), "the count was checked");
    short(out, count as u16);
}

pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    short_bytes(out, text.as_bytes());
}

pub(super) fn short_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    count(out, bytes.len());
    out.extend_from_slice(bytes);
}

pub(super) fn long_string(out: &mut Vec<u8>, text: &str) {
    bytes(out, Some(text.as_bytes()));
}

pub(super) fn bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    let Some(bytes) = bytes else {
        return int(out, -1);
    };
    debug_assert!(bytes.len() <= super::MAX_BODY, "the length was checked");
    int(out, bytes.len() as i32);
    out.extend_from_slice(bytes);
}

/// A count and values.
pub(super) fn values(out: &mut Vec<u8>, values: &Values) {
    short(out, values.count());
    out.extend_from_slice(values.as_bytes());
}
