//! The protocol versions spoken here, and what a server says about the versions it speaks.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A version of the CQL native protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ProtocolVersion {
    /// Version 3: Cassandra 2.1.
    V3 = 3,
    /// Version 4: Cassandra 2.2 and later, and ScyllaDB.
    V4 = 4,
    /// Version 5: Cassandra 4.0 and later; checksummed segments.
    V5 = 5,
}

impl ProtocolVersion {
    /// Every version spoken here, oldest first.
    pub const ALL: [Self; 3] = [Self::V3, Self::V4, Self::V5];

    /// The newest version spoken here.
    pub const NEWEST: Self = Self::V5;

    /// The version as it stands in an envelope's header, without the response bit.
    #[must_use]
    pub const fn as_u8(self) -> u8 {
        self as u8
    }

    /// Whether envelopes travel in checksummed segments after the startup answer.
    #[must_use]
    pub const fn has_segments(self) -> bool {
        self as u8 >= 5
    }

    /// Whether the flags of QUERY, EXECUTE and BATCH take four bytes instead of one.
    #[must_use]
    pub const fn has_wide_flags(self) -> bool {
        self as u8 >= 5
    }

    /// Whether a request may name its keyspace and its "now".
    #[must_use]
    pub const fn has_keyspace_option(self) -> bool {
        self as u8 >= 5
    }

    /// Whether an envelope may be compressed by itself; from v5 on segments are.
    #[must_use]
    pub const fn has_body_compression(self) -> bool {
        (self as u8) < 5
    }

    /// Whether Snappy may be agreed on.
    #[must_use]
    pub const fn has_snappy(self) -> bool {
        self.has_body_compression()
    }

    /// Whether a value may be "unset" instead of null.
    #[must_use]
    pub const fn has_unset(self) -> bool {
        self as u8 >= 4
    }

    /// Whether requests and responses may carry a custom payload, and responses warnings.
    #[must_use]
    pub const fn has_payload(self) -> bool {
        self as u8 >= 4
    }

    /// Whether PREPARED names the bind markers of the partition key.
    #[must_use]
    pub const fn has_partition_key_indexes(self) -> bool {
        self as u8 >= 4
    }

    /// Whether read and write failures tell a reason per replica instead of a number.
    #[must_use]
    pub const fn has_failure_reasons(self) -> bool {
        self as u8 >= 5
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.as_u8())
    }
}

impl TryFrom<u8> for ProtocolVersion {
    type Error = UnknownVersion;

    fn try_from(number: u8) -> Result<Self, UnknownVersion> {
        match number {
            3 => Ok(Self::V3),
            4 => Ok(Self::V4),
            5 => Ok(Self::V5),
            _ => Err(UnknownVersion(number.to_string())),
        }
    }
}

impl FromStr for ProtocolVersion {
    type Err = UnknownVersion;

    /// Reads `v4` or `4`.
    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let number = text.strip_prefix(['v', 'V']).unwrap_or(text);
        number
            .parse::<u8>()
            .ok()
            .and_then(|number| Self::try_from(number).ok())
            .ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}

/// A protocol version that is not spoken here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("protocol version {0} is not known; v3, v4 and v5 are")]
pub struct UnknownVersion(String);

/// The highest version in a server's list that is spoken here and not above `limit`.
///
/// The entries are those of `PROTOCOL_VERSIONS` in SUPPORTED: `3/v3`, `5/v5`, `6/v6-beta`. Beta versions do not
/// count, since they need a flag of their own. `None` when nothing is in common.
///
/// ```
/// use messina::protocol::version::{ProtocolVersion, highest_common};
/// let listed = ["3/v3", "4/v4", "5/v5", "6/v6-beta"];
/// assert_eq!(highest_common(&listed, ProtocolVersion::V5), Some(ProtocolVersion::V5));
/// assert_eq!(highest_common(&listed, ProtocolVersion::V4), Some(ProtocolVersion::V4));
/// ```
#[must_use]
pub fn highest_common<S: AsRef<str>>(listed: &[S], limit: ProtocolVersion) -> Option<ProtocolVersion> {
    listed.iter().filter_map(|entry| parse_entry(entry.as_ref())).filter(|version| *version <= limit).max()
}

/// One entry such as `4/v4`; `None` for a beta, and for a version that is not spoken here.
fn parse_entry(entry: &str) -> Option<ProtocolVersion> {
    let (number, description) = entry.trim().split_once('/').unwrap_or((entry.trim(), ""));
    if description.contains("beta") {
        return None;
    }
    number.trim().parse().ok()
}

/// Whether an error's text says that the server does not speak the version it was asked in.
///
/// To be asked of errors with the code "protocol error", or "server error" on old servers.
#[must_use]
pub fn is_version_error(text: &str) -> bool {
    [
        "Invalid or unsupported protocol version",
        "Beta version of the protocol used",
        // A server that could speak the version, but is told not to.
        "Rejecting Protocol Version",
    ]
    .iter()
    .any(|beginning| text.contains(beginning))
}

/// The versions spoken here that a version error's text names as supported, oldest first.
///
/// Three texts are read: `supported versions are (3/v3, 4/v4, 6/v6-beta)`, the older
/// `the lowest supported version is 3 and the greatest is 4`, and `Rejecting Protocol Version 4/v4 < 5/v5.`, which names
/// the lowest one alone. `None` when the text names no versions; an empty list when none of them is spoken here.
///
/// ```
/// use messina::protocol::version::{ProtocolVersion, versions_in_error};
/// let text = "Invalid or unsupported protocol version (5); \
///             the lowest supported version is 3 and the greatest is 4";
/// assert_eq!(versions_in_error(text), Some(vec![ProtocolVersion::V3, ProtocolVersion::V4]));
/// ```
#[must_use]
pub fn versions_in_error(text: &str) -> Option<Vec<ProtocolVersion>> {
    listed_in_error(text).or_else(|| range_in_error(text)).or_else(|| lowest_in_error(text))
}

fn listed_in_error(text: &str) -> Option<Vec<ProtocolVersion>> {
    let (_, rest) = text.split_once("supported versions are")?;
    let (_, rest) = rest.split_once('(')?;
    let (list, _) = rest.split_once(')')?;
    let mut versions: Vec<_> = list.split(',').filter_map(parse_entry).collect();
    versions.sort_unstable();
    versions.dedup();
    Some(versions)
}

fn range_in_error(text: &str) -> Option<Vec<ProtocolVersion>> {
    let lowest = number_after(text, "lowest supported version is")?;
    let greatest = number_after(text, "greatest is")?;
    let spoken = ProtocolVersion::ALL.into_iter();
    Some(spoken.filter(|version| (lowest..=greatest).contains(&u32::from(version.as_u8()))).collect())
}

fn lowest_in_error(text: &str) -> Option<Vec<ProtocolVersion>> {
    let (_, rest) = text.split_once("Rejecting Protocol Version")?;
    let lowest = number_after(rest, "<")?;
    let spoken = ProtocolVersion::ALL.into_iter();
    Some(spoken.filter(|version| u32::from(version.as_u8()) >= lowest).collect())
}

/// The number that follows `words`; what is too long for a version number is none.
fn number_after(text: &str, words: &str) -> Option<u32> {
    let (_, rest) = text.split_once(words)?;
    let rest = rest.trim_start();
    let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
