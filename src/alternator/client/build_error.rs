//! Why there is no client.

use std::fmt;

use crate::alternator::{
    affinity::EmptyName,
    node::{Node, NodeError},
};

/// Why there is no client.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// No seed is given.
    NoSeed,
    /// A seed is no URL of a node, or more than that.
    Seed(NodeError),
    /// Two seeds differ in scheme or port.
    Mixed(Box<(Node, Node)>),
    /// A seed speaks TLS, and there are no settings for it.
    NoTls(Node),
    /// A table or its partition key has no name.
    Key(EmptyName),
    /// The text of the user agent cannot be a header.
    UserAgent(String),
    /// There is no tokio runtime here.
    NoRuntime,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSeed => f.write_str("no seed is given; name at least one host as `http://host:port`"),
            Self::Seed(error) => error.fmt(f),
            Self::Mixed(seeds) => {
                let (one, other) = &**seeds;
                write!(f, "the seeds {one} and {other} differ in scheme or port; all nodes listen at the same")
            }
            Self::NoTls(seed) => write!(f, "the seed {seed} speaks TLS, but no TLS settings are given"),
            Self::Key(_) => f.write_str("a partition key cannot be used"),
            Self::UserAgent(text) => write!(f, "the user agent {text:?} has characters that no header may have"),
            Self::NoRuntime => f.write_str("there is no tokio runtime here to poll in; build the client inside of one"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Seed(error) => error.source(),
            Self::Key(error) => Some(error),
            _ => None,
        }
    }
}
