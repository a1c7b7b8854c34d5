//! What a node answers to `GET /localnodes`, read as it arrives.

mod json;

use std::{collections::HashSet, fmt};

use messina_layers::Address;

use self::json::{Item, Json};
use super::node::{Node, Scheme};

/// What a body may hold; more of it makes the answer a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    bytes: usize,
    nodes: usize,
}

impl Default for Limits {
    /// 1 MiB of body and 10,000 nodes.
    fn default() -> Self {
        Self { bytes: 1 << 20, nodes: 10_000 }
    }
}

impl Limits {
    /// The longest body (1 MiB), in bytes.
    #[must_use]
    pub const fn with_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// The most nodes of one answer (10,000).
    #[must_use]
    pub const fn with_nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes;
        self
    }
}

/// The nodes of a well-formed answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The nodes in the order of the answer, none twice. None at all means that the node says so.
    pub nodes: Vec<Node>,
    /// Entries passed over because they are no host that could be dialled.
    pub invalid: usize,
    /// Entries passed over because they name another port than the configured one.
    pub other_port: usize,
}

/// Reads the body of an answer piece by piece, holding no more of it than one entry.
///
/// Every node is assumed to listen at the scheme and port that are configured, since the answer names hosts only.
///
/// ```
/// use messina::alternator::{localnodes::Parser, node::Scheme};
///
/// let mut parser = Parser::new(Scheme::Http, 8000);
/// parser.push(br#"["10.0.0.1", "10.0"#)?;
/// parser.push(br#".0.2"]"#)?;
/// let listed = parser.finish()?;
/// assert_eq!(listed.nodes[1].canonical(), "http://10.0.0.2:8000");
/// # Ok::<(), messina::alternator::localnodes::BodyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Parser {
    scheme: Scheme,
    port: u16,
    limits: Limits,
    bytes: usize,
    json: Json,
    listed: Listed,
    seen: HashSet<Node>,
    failed: Option<BodyError>,
}

impl Parser {
    /// A parser for nodes that listen at this scheme and port.
    #[must_use]
    pub fn new(scheme: Scheme, port: u16) -> Self {
        Self {
            scheme,
            port,
            limits: Limits::default(),
            bytes: 0,
            json: Json::default(),
            listed: Listed::default(),
            seen: HashSet::new(),
            failed: None,
        }
    }

    /// Other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Takes in the next bytes of the body.
    ///
    /// # Errors
    /// The first thing that makes the body a failure; the rest of it need not be read, and every later call fails too.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), BodyError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.read(bytes).inspect_err(|error| self.failed = Some(*error))
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), BodyError> {
        for byte in bytes {
            if self.bytes == self.limits.bytes {
                return Err(BodyError::TooLong);
            }
            self.bytes += 1;
            if let Some(entry) = self.json.push(*byte).map_err(|item| self.malformed(item))? {
                self.entry(&entry)?;
            }
        }
        Ok(())
    }

    fn malformed(&self, item: Item) -> BodyError {
        match item {
            Item::Syntax => BodyError::Malformed { at: self.bytes - 1 },
            Item::NotAString => BodyError::NotAString { at: self.bytes - 1 },
            Item::Text => BodyError::NotText { at: self.bytes - 1 },
        }
    }

    fn entry(&mut self, text: &str) -> Result<(), BodyError> {
        match host(text, self.port) {
            Host::Valid(address) => {
                let node = Node::new(self.scheme, address);
                if self.seen.insert(node.clone()) {
                    if self.listed.nodes.len() == self.limits.nodes {
                        return Err(BodyError::TooMany);
                    }
                    self.listed.nodes.push(node);
                }
            }
            Host::OtherPort => self.listed.other_port += 1,
            Host::Invalid => self.listed.invalid += 1,
        }
        Ok(())
    }

    /// The nodes, once the body has ended.
    ///
    /// # Errors
    /// What [`push`](Self::push) failed with, a body that ended too early, or one of whose entries none is a host.
    pub fn finish(self) -> Result<Listed, BodyError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if !self.json.is_complete() {
            return Err(BodyError::Malformed { at: self.bytes });
        }
        if self.listed.nodes.is_empty() && self.listed.invalid + self.listed.other_port > 0 {
            return Err(BodyError::NoneValid);
        }
        Ok(self.listed)
    }
}

enum Host {
    Valid(Address),
    OtherPort,
    Invalid,
}

/// Longer than any host with a port; an entry that is longer is not looked at.
const MAX_HOST: usize = 300;

fn host(text: &str, port: u16) -> Host {
    if text.len() > MAX_HOST {
        return Host::Invalid;
    }
    match Address::parse(text, port) {
        Ok(address) if address.ip().is_some_and(|ip| ip.to_canonical().is_unspecified()) => Host::Invalid,
        Ok(address) if address.port() != port => Host::OtherPort,
        Ok(address) => Host::Valid(address),
        Err(_) => Host::Invalid,
    }
}

/// Why a body says nothing; this is never the same as an empty list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyError {
    /// It is no JSON array, or goes on after it, or ends too early.
    Malformed {
        /// The byte that does not fit, or the length of a body that ended.
        at: usize,
    },
    /// An entry of the array is no string.
    NotAString {
        /// The first byte of that entry.
        at: usize,
    },
    /// A string is no Unicode text.
    NotText {
        /// The byte where that was seen.
        at: usize,
    },
    /// There are entries, and none of them is a host that could be dialled.
    NoneValid,
    /// The body is longer than allowed.
    TooLong,
    /// The body names more nodes than allowed.
    TooMany,
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { at } => write!(f, "the list of nodes is not a JSON array of strings (byte {at})"),
            Self::NotAString { at } => write!(f, "the list of nodes has an entry that is no string (byte {at})"),
            Self::NotText { at } => write!(f, "the list of nodes has an entry that is no Unicode text (byte {at})"),
            Self::NoneValid => f.write_str("no entry of the list of nodes is a host"),
            Self::TooLong => f.write_str("the list of nodes is longer than allowed"),
            Self::TooMany => f.write_str("the list of nodes names more nodes than allowed"),
        }
    }
}

impl std::error::Error for BodyError {}
