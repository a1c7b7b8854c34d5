//! The log of one connection.

use std::fmt;
use std::net::SocketAddr;

use tokio::time::Instant;

use crate::testkit::Stage;

/// How many bytes of a connection are kept.
const KEPT_BYTES: usize = 64 * 1024;

/// How many events of a connection are kept.
const KEPT_EVENTS: usize = 4096;

/// Something that happened on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The place among all events of the log.
    pub order: u64,
    /// When it was seen.
    pub at: Instant,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// The connection was accepted.
    Opened,
    /// The TLS handshake is done; the name the client asked for.
    Tls {
        /// The server name of the client's hello.
        sni: Option<String>,
    },
    /// A request came that stands at this stage, with its text: the statement, the options of
    /// STARTUP, the types of REGISTER, the user name.
    Request(Stage, String),
    /// A request came that is no request, or in a version that is not spoken.
    Refused(String),
    /// A fault struck.
    Fault(Stage),
    /// READY or AUTH_SUCCESS was sent.
    LoggedIn,
    /// The password was wrong.
    LoginRejected,
    /// The connection is closed.
    Closed(Ended),
}

/// Who closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The client closed it or reset it.
    ByClient,
    /// The server closed it, or the server ended.
    ByServer,
    /// The server reset it.
    Reset,
}

/// Everything that happened on one connection.
#[derive(Clone, Debug)]
pub struct ConnectionLog {
    index: usize,
    server: SocketAddr,
    client: SocketAddr,
    events: Vec<Event>,
    received: Vec<u8>,
    received_total: u64,
    counts: Vec<(Stage, usize)>,
    closed: Option<Ended>,
}

impl ConnectionLog {
    pub(super) fn new(index: usize, server: SocketAddr, client: SocketAddr) -> Self {
        Self {
            index,
            server,
            client,
            events: Vec::new(),
            received: Vec::new(),
            received_total: 0,
            counts: Vec::new(),
            closed: None,
        }
    }

    /// The place of the connection among all connections of the log.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The address that accepted.
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// The address that dialled.
    pub fn client(&self) -> SocketAddr {
        self.client
    }

    /// What happened, in order; the first 4096 events.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The stages of the requests that came, in wire order; of the first 4096 events.
    pub fn stages(&self) -> Vec<Stage> {
        self.requests().map(|(stage, _)| stage).collect()
    }

    /// The requests that came with their texts, in wire order; of the first 4096 events.
    pub fn requests(&self) -> impl Iterator<Item = (Stage, &str)> {
        self.events.iter().filter_map(|event| match &event.kind {
            EventKind::Request(stage, text) => Some((*stage, text.as_str())),
            _ => None,
        })
    }

    /// How many requests of a stage came.
    pub fn count(&self, stage: Stage) -> usize {
        self.counts.iter().find(|(known, _)| *known == stage).map_or(0, |(_, count)| *count)
    }

    /// The bytes that came, after decryption; the first 64 KiB.
    pub fn received_bytes(&self) -> &[u8] {
        &self.received
    }

    /// How many bytes came.
    pub fn received_total(&self) -> u64 {
        self.received_total
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    /// Who closed it.
    pub fn closed(&self) -> Option<Ended> {
        self.closed
    }

    pub(super) fn push(&mut self, event: Event) {
        match &event.kind {
            EventKind::Request(stage, _) => match self.counts.iter_mut().find(|(known, _)| known == stage) {
                Some((_, count)) => *count += 1,
                None => self.counts.push((*stage, 1)),
            },
            EventKind::Closed(ended) => self.closed = Some(*ended),
            _ => {}
        }
        if self.events.len() < KEPT_EVENTS {
            self.events.push(event);
        }
    }

    pub(super) fn receive(&mut self, bytes: &[u8]) {
        let room = KEPT_BYTES - self.received.len().min(KEPT_BYTES);
        self.received.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.received_total += bytes.len() as u64;
    }
}

impl fmt::Display for ConnectionLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}:", self.client, self.server)?;
        for event in &self.events {
            match &event.kind {
                EventKind::Request(stage, text) if text.is_empty() => write!(f, " {stage:?}")?,
                EventKind::Request(stage, text) => write!(f, " {stage:?}({text})")?,
                other => write!(f, " {other:?}")?,
            }
        }
        Ok(())
    }
}
