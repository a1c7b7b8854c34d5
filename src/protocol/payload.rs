//! Custom payloads, which requests and responses may carry.

use bytes::Bytes;

/// Named bytes, in the order in which they travel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload(Vec<(String, Option<Bytes>)>);

impl Payload {
    /// An empty payload.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds an entry; `None` is a null.
    pub fn push(&mut self, key: impl Into<String>, value: Option<Bytes>) {
        self.0.push((key.into(), value));
    }

    /// The bytes under a key; `None` when there are none, or null.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Bytes> {
        let (_, value) = self.0.iter().find(|(name, _)| name == key)?;
        value.as_ref()
    }

    /// Whether a key is there, be its value null.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.0.iter().any(|(name, _)| name == key)
    }

    /// How many entries there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&[u8]>)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_deref()))
    }
}

impl Extend<(String, Option<Bytes>)> for Payload {
    fn extend<I: IntoIterator<Item = (String, Option<Bytes>)>>(&mut self, entries: I) {
        self.0.extend(entries);
    }
}

impl FromIterator<(String, Option<Bytes>)> for Payload {
    fn from_iter<I: IntoIterator<Item = (String, Option<Bytes>)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}
