//! Why a connection ended, and what that means for a request that was on it.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::protocol::FrameError;
use crate::protocol::request::RequestError;

/// Why a connection ended or takes no more requests; cheap to clone.
///
/// One value is made when the connection ends, and every request that was waiting on it gets a
/// clone. `Display` is one sentence with the peer's address; the cause is in `source()`.
#[derive(Clone)]
pub struct ConnectionError {
    inner: Arc<Inner>,
}

struct Inner {
    peer: SocketAddr,
    reason: Reason,
}

/// What ended a connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The peer closed the connection.
    #[error("the peer closed it{}", if *.unfinished { " in the middle of an answer" } else { "" })]
    ClosedByPeer {
        /// Whether an answer had arrived in part.
        unfinished: bool,
    },
    /// Reading or writing failed.
    #[error("reading or writing failed")]
    Io(#[source] io::Error),
    /// The bytes of the peer are not the protocol.
    #[error("the peer's bytes are damaged")]
    Damaged(#[source] FrameError),
    /// An answer has another protocol version than this connection.
    #[error("an answer has protocol version {found}, the connection speaks {expected}")]
    Version {
        /// The version this connection speaks.
        expected: u8,
        /// The version in the header of the answer.
        found: u8,
    },
    /// An answer came for a stream on which nothing was asked.
    #[error("an answer came on stream {stream}, where nothing was asked")]
    Unasked {
        /// The stream of that answer.
        stream: i16,
    },
    /// Nothing could be written for this long while bytes were waiting.
    #[error("nothing could be written for {0:?}")]
    WriteTimeout(Duration),
    /// A heartbeat was not answered, nor anything else, in this time.
    #[error("nothing was answered, and a heartbeat not within {0:?}")]
    Heartbeat(Duration),
    /// Too many requests were given up while their answers were still due.
    #[error("{orphans} requests were given up and never answered")]
    TooManyOrphans {
        /// How many when the connection was retired.
        orphans: usize,
    },
    /// The owner closed it, or dropped the last handle.
    #[error("it was closed")]
    Closed,
    /// The task or the opening that drove it was dropped.
    #[error("its driver was dropped")]
    DriverDropped,
}

/// Whether a request can have reached the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Proved: the server cannot have received it whole, so it was not executed.
    NotSent,
    /// All of its bytes were written; whether it was executed is unknown.
    Sent,
}

/// Why a request got no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The connection ended before the answer came.
    #[error("the request was {}, then the connection ended", match .delivery { Delivery::NotSent => "not sent", Delivery::Sent => "sent" })]
    Connection {
        /// Whether the request can have reached the server.
        delivery: Delivery,
        /// Why the connection ended.
        #[source]
        error: ConnectionError,
    },
    /// The connection has no room for one more request.
    #[error("the connection has no room for one more request")]
    Full,
    /// The request cannot be written in the dialect of this connection.
    #[error("the request cannot be written")]
    Invalid(#[source] Arc<RequestError>),
    /// The answer came, and its body could not be decompressed.
    #[error("the answer could not be decompressed")]
    Body(#[source] Arc<FrameError>),
}

/// Why a request could not be put on a connection. It was not sent.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrySendError {
    /// Every slot is taken, or too many bytes wait to be written.
    #[error("the connection has no room for one more request")]
    Full,
    /// The connection ended or takes no new requests.
    #[error("the connection takes no new requests")]
    Closed(#[source] ConnectionError),
    /// The request cannot be written in the dialect of this connection.
    #[error("the request cannot be written")]
    Invalid(#[source] RequestError),
}

// ===== impl ConnectionError =====

impl ConnectionError {
    pub(crate) fn new(peer: SocketAddr, reason: Reason) -> Self {
        Self { inner: Arc::new(Inner { peer, reason }) }
    }

    /// What ended the connection.
    pub fn reason(&self) -> &Reason {
        &self.inner.reason
    }

    /// The address of the peer.
    pub fn peer(&self) -> SocketAddr {
        self.inner.peer
    }
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection to {} ended: {}", self.inner.peer, self.inner.reason)
    }
}

impl fmt::Debug for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionError").field("peer", &self.inner.peer).field("reason", &self.inner.reason).finish()
    }
}

impl Error for ConnectionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner.reason.source()
    }
}

// ===== impl ReplyError =====

impl ReplyError {
    /// Whether the request can have reached the server.
    pub fn delivery(&self) -> Delivery {
        match self {
            Self::Connection { delivery, .. } => *delivery,
            Self::Full | Self::Invalid(_) => Delivery::NotSent,
            Self::Body(_) => Delivery::Sent,
        }
    }

    /// Why the connection ended, if that is what went wrong.
    pub fn connection(&self) -> Option<&ConnectionError> {
        match self {
            Self::Connection { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<TrySendError> for ReplyError {
    fn from(error: TrySendError) -> Self {
        match error {
            TrySendError::Full => Self::Full,
            TrySendError::Invalid(error) => Self::Invalid(Arc::new(error)),
            TrySendError::Closed(error) => Self::Connection { delivery: Delivery::NotSent, error },
        }
    }
}
