//! What a server supports, as it answers OPTIONS.

use crate::protocol::Dialect;
use crate::protocol::parse_error::ParseError;
use crate::protocol::reader::{Reader, capacity};
use crate::protocol::version::{ProtocolVersion, highest_common};

/// The key under which servers list the versions they speak.
pub const PROTOCOL_VERSIONS: &str = "PROTOCOL_VERSIONS";
/// The key of the compressions.
pub const COMPRESSION: &str = "COMPRESSION";
/// ScyllaDB's key of rate limit errors; its field is `ERROR_CODE`.
pub const RATE_LIMIT_ERROR: &str = "SCYLLA_RATE_LIMIT_ERROR";
/// ScyllaDB's key of the mark of conditional statements; its field is `LWT_OPTIMIZATION_META_BIT_MASK`.
pub const LWT_MARK: &str = "SCYLLA_LWT_ADD_METADATA_MARK";
/// ScyllaDB's key of result-metadata ids before v5.
pub const USE_METADATA_ID: &str = "SCYLLA_USE_METADATA_ID";
/// ScyllaDB's key of tablets in payloads.
pub const TABLETS_ROUTING: &str = "TABLETS_ROUTING_V1";

/// Names with lists of values, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supported(Vec<(String, Vec<String>)>);

impl Supported {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        // A key's length and a list's count.
        let count = reader.short_count("the supported options", 4)?;
        let mut options = Vec::with_capacity(capacity(count));
        for _ in 0..count {
            let key = reader.string("the name of a supported option")?.to_owned();
            let values = reader.string_list("the values of a supported option")?;
            options.push((key, values));
        }
        Ok(Self(options))
    }

    /// The values under a name; `None` when the server does not name it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&[String]> {
        let (_, values) = self.0.iter().find(|(name, _)| name == key)?;
        Some(values)
    }

    /// The first value under a name.
    #[must_use]
    pub fn first(&self, key: &str) -> Option<&str> {
        self.get(key)?.first().map(String::as_str)
    }

    /// Whether the server names it.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// What stands behind `field=` in a value under a name, as ScyllaDB writes its extensions.
    #[must_use]
    pub fn field(&self, key: &str, field: &str) -> Option<&str> {
        let mut values = self.get(key)?.iter();
        values.find_map(|value| value.strip_prefix(field)?.strip_prefix('='))
    }

    /// Every name with its values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.0.iter().map(|(key, values)| (key.as_str(), values.as_slice()))
    }

    /// Whether the server lists the versions it speaks.
    #[must_use]
    pub fn lists_versions(&self) -> bool {
        self.contains(PROTOCOL_VERSIONS)
    }

    /// The highest listed version that is spoken here and not above `limit`.
    #[must_use]
    pub fn highest_common_version(&self, limit: ProtocolVersion) -> Option<ProtocolVersion> {
        highest_common(self.get(PROTOCOL_VERSIONS)?, limit)
    }

    /// The dialect that a connection of this version may agree on, with every extension that concerns the bytes.
    ///
    /// The same extensions have to stand in STARTUP: see [`Supported::startup_options`].
    #[must_use]
    pub fn dialect(&self, version: ProtocolVersion) -> Dialect {
        let code = self.field(RATE_LIMIT_ERROR, "ERROR_CODE");
        let mask = self.field(LWT_MARK, "LWT_OPTIMIZATION_META_BIT_MASK");
        Dialect::new(version)
            .with_metadata_id_extension(self.contains(USE_METADATA_ID) && version < ProtocolVersion::V5)
            .with_rate_limit_code(code.and_then(|code| code.parse().ok()))
            .with_lwt_mask(mask.and_then(|mask| mask.parse().ok()))
            .with_tablets(self.contains(TABLETS_ROUTING) && version > ProtocolVersion::V3)
    }

    /// What STARTUP must say to agree on the extensions of a dialect.
    #[must_use]
    pub fn startup_options(dialect: Dialect) -> Vec<(&'static str, String)> {
        let mut options = Vec::new();
        if dialect.metadata_id_extension {
            options.push((USE_METADATA_ID, String::new()));
        }
        if dialect.rate_limit_code.is_some() {
            options.push((RATE_LIMIT_ERROR, String::new()));
        }
        if let Some(mask) = dialect.lwt_mask {
            options.push((LWT_MARK, format!("LWT_OPTIMIZATION_META_BIT_MASK={mask}")));
        }
        if dialect.tablets {
            options.push((TABLETS_ROUTING, String::new()));
        }
        options
    }
}

impl FromIterator<(String, Vec<String>)> for Supported {
    fn from_iter<I: IntoIterator<Item = (String, Vec<String>)>>(options: I) -> Self {
        Self(options.into_iter().collect())
    }
}
