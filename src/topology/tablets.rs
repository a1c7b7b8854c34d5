//! Tablets: ranges of tokens, and the nodes and shards that hold them (ScyllaDB).
//!
//! The server tells of a tablet when a request met a node or shard that does not hold it: protocol extension
//! `TABLETS_ROUTING_V1`.

use std::sync::Arc;

use thiserror::Error;
use uuid::Uuid;

use super::Token;

/// The key of a custom payload that tells of a tablet.
pub(crate) const TABLET_PAYLOAD: &str = "tablets-routing-v1";

/// More tablets than any table has; beyond it a server is not believed, and all are forgotten.
const MOST: usize = 1 << 17;

/// A range of tokens with the nodes and shards that hold its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tablet {
    first: Token,
    last: Token,
    replicas: Box<[(Uuid, u16)]>,
}

/// Why bytes are no tablet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a tablet with {0}")]
pub struct TabletError(&'static str);

impl Tablet {
    /// The tokens after `first`, up to and including `last`, on these nodes and shards.
    ///
    /// # Errors
    /// If there are no tokens between the two.
    pub fn new(
        first: Token,
        last: Token,
        replicas: impl IntoIterator<Item = (Uuid, u16)>,
    ) -> Result<Self, TabletError> {
        if first >= last {
            return Err(TabletError("no tokens between the first and the last"));
        }
        Ok(Self { first, last, replicas: replicas.into_iter().collect() })
    }

    /// Reads what the server sends: a CQL value of type `tuple<bigint, bigint, list<tuple<uuid, int>>>`.
    ///
    /// # Errors
    /// If the bytes are no such value, a shard is none, or there are no tokens.
    pub fn read(mut bytes: &[u8]) -> Result<Self, TabletError> {
        let token = |bytes: Option<&[u8]>| Some(Token(i64::from_be_bytes(bytes?.try_into().ok()?)));
        let first = token(value(&mut bytes)).ok_or(TabletError("no first token"))?;
        let last = token(value(&mut bytes)).ok_or(TabletError("no last token"))?;
        let mut list = value(&mut bytes).ok_or(TabletError("no replicas"))?;
        let count = int(&mut list).ok_or(TabletError("no count of replicas"))?;
        let mut replicas = Vec::new();
        // Each takes bytes, so that a count that is a lie ends with them.
        for _ in 0..count {
            let mut replica = value(&mut list).ok_or(TabletError("a replica that is not there"))?;
            let host_id = value(&mut replica).and_then(|bytes| Uuid::from_slice(bytes).ok());
            let shard = value(&mut replica).and_then(|mut bytes| int(&mut bytes)?.try_into().ok());
            replicas.push((
                host_id.ok_or(TabletError("a replica without a host id"))?,
                shard.ok_or(TabletError("a shard that is none"))?,
            ));
        }
        Self::new(first, last, replicas)
    }

    /// The token before its first.
    #[must_use]
    pub fn first(&self) -> Token {
        self.first
    }

    /// Its last token.
    #[must_use]
    pub fn last(&self) -> Token {
        self.last
    }

    /// The nodes that hold it, and the shards there, in the server's order.
    #[must_use]
    pub fn replicas(&self) -> &[(Uuid, u16)] {
        &self.replicas
    }
}

/// The next value of a tuple or list; `None` if it is null or not there.
fn value<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(int(bytes)?).ok()?;
    let (value, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(value)
}

fn int(bytes: &mut &[u8]) -> Option<i32> {
    let (int, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(i32::from_be_bytes(*int))
}

/// The tablets of a table, as far as they are known; none overlaps another. It never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tablets {
    /// Sorted by their tokens.
    sorted: Vec<Arc<Tablet>>,
}

impl Tablets {
    /// The tablet that holds this token, if it is known. Allocates nothing.
    #[must_use]
    pub fn of(&self, token: Token) -> Option<&Tablet> {
        let place = self.sorted.partition_point(|tablet| tablet.last < token);
        self.sorted.get(place).map(|tablet| &**tablet).filter(|tablet| tablet.first < token)
    }

    /// The same with one more, in place of all that it overlaps: the server moved, split or merged those.
    #[must_use]
    pub fn with(&self, tablet: Tablet) -> Self {
        let from = self.sorted.partition_point(|old| old.last <= tablet.first);
        let to = from + self.sorted[from..].partition_point(|old| old.first < tablet.last);
        let (before, after) = (&self.sorted[..from], &self.sorted[to..]);
        if before.len() + after.len() >= MOST {
            return Self { sorted: vec![Arc::new(tablet)] };
        }
        let mut sorted = Vec::with_capacity(before.len() + 1 + after.len());
        sorted.extend_from_slice(before);
        sorted.push(Arc::new(tablet));
        sorted.extend_from_slice(after);
        Self { sorted }
    }

    /// The same without those that a node holds that is not `known`; where the server put them is to be learned anew.
    #[must_use]
    pub fn known(&self, known: impl Fn(Uuid) -> bool) -> Self {
        let keeps = |tablet: &&Arc<Tablet>| tablet.replicas.iter().all(|(host_id, _)| known(*host_id));
        Self { sorted: self.sorted.iter().filter(keeps).cloned().collect() }
    }

    /// The tablets in the order of their tokens.
    pub fn iter(&self) -> impl Iterator<Item = &Tablet> {
        self.sorted.iter().map(|tablet| &**tablet)
    }

    /// How many are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether none is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }
}
