//! The token ring: which node owns which part of the data.

use std::{fmt, str::FromStr, sync::Arc};

/// A token of the Murmur3 partitioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub i64);

/// The place of a node in a [`Snapshot`](super::Snapshot); of no use in another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub u32);

impl NodeIndex {
    /// As an index into [`Snapshot::nodes`](super::Snapshot::nodes).
    #[must_use]
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Token {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.trim().parse().map(Self)
    }
}

/// Every token with its owner, in order.
///
/// ```
/// use messina::topology::{NodeIndex, Token, TokenRing};
///
/// let ring = TokenRing::new(vec![(Token(10), NodeIndex(0)), (Token(20), NodeIndex(1))]);
/// assert_eq!(ring.owner(Token(15)), Some(NodeIndex(1)));
/// assert_eq!(ring.owner(Token(21)), Some(NodeIndex(0)), "around the end");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenRing {
    tokens: Arc<[Token]>,
    owners: Vec<NodeIndex>,
}

impl TokenRing {
    /// A ring of these tokens and owners, in any order; of several owners of one token the lowest place stays.
    #[must_use]
    pub fn new(mut owned: Vec<(Token, NodeIndex)>) -> Self {
        owned.sort_unstable();
        owned.dedup_by_key(|(token, _)| *token);
        let tokens = owned.iter().map(|(token, _)| *token).collect();
        let owners = owned.iter().map(|(_, owner)| *owner).collect();
        Self { tokens, owners }
    }

    /// How many tokens there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The tokens, in order.
    #[must_use]
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    pub(super) fn shared_tokens(&self) -> Arc<[Token]> {
        Arc::clone(&self.tokens)
    }

    /// The place of the first token that is not below this one, around the end of the ring.
    pub(super) fn place(&self, token: Token) -> usize {
        let place = self.tokens.partition_point(|own| *own < token);
        if place == self.tokens.len() { 0 } else { place }
    }

    /// The owner of a token: the first node from there on, clockwise.
    #[must_use]
    pub fn owner(&self, token: Token) -> Option<NodeIndex> {
        self.owners.get(self.place(token)).copied()
    }

    /// The owners from this token on, clockwise, once around; a node comes as often as it has tokens.
    pub fn clockwise(&self, token: Token) -> impl Iterator<Item = NodeIndex> {
        self.from(self.place(token))
    }

    /// The owners from this place on, clockwise, once around.
    pub(super) fn from(&self, place: usize) -> impl Iterator<Item = NodeIndex> {
        let (before, after) = self.owners.split_at(place.min(self.owners.len()));
        after.iter().chain(before).copied()
    }
}
