//! What an event of the server means. Events are hints; connections are the truth.

use crate::{
    connection::{Connection, Event as Arrived},
    protocol::response::{
        self, Event, Response,
        event::{StatusChange, TopologyChange},
    },
    topology::{Reaction, TopologyMonitor},
};

use super::{Hint, Known};

/// What an event leads to.
#[derive(Debug)]
pub(super) enum Meaning {
    /// Nothing.
    Nothing,
    /// A word to whoever follows, no query.
    Hint(Hint),
    /// The nodes are to be read again.
    Refresh,
    /// The same, after a word to whoever follows.
    HintAndRefresh(Hint),
    /// A node was removed, says the server: the nodes are to be read again.
    Removed(std::net::SocketAddr),
    /// Something in this keyspace changed.
    Schema(String),
    /// Nobody knows what changed: everything is to be read again.
    Everything,
    /// The topology monitor wants to read at once what this event concerns.
    Read(Event),
}

/// Reads an event.
pub(super) fn meaning(
    arrived: Arrived,
    connection: &Connection,
    monitor: &dyn TopologyMonitor,
    known: impl FnOnce() -> Vec<Known>,
) -> Meaning {
    let envelope = match arrived {
        Arrived::Envelope(envelope) => envelope,
        // Nobody knows what they told.
        Arrived::Missed(events) => {
            tracing::debug!(events, "events were missed");
            return Meaning::Everything;
        }
    };
    let event = match response::parse(envelope, connection.dialect(), None) {
        Ok(answer) => match answer.response {
            Response::Event(event) => event,
            _ => return Meaning::Nothing,
        },
        Err(error) => {
            tracing::debug!(%error, "an event that cannot be read");
            return Meaning::Everything;
        }
    };
    match event {
        Event::Topology { change: TopologyChange::Removed, address } => Meaning::Removed(address),
        Event::Topology { .. } => Meaning::Refresh,
        Event::Status { change, address } => {
            let node = known().into_iter().find(|node| node.is_at(address));
            match (change, node) {
                (StatusChange::Up, Some(node)) if node.connected => Meaning::Hint(Hint::Up(address)),
                // Who comes back may have changed meanwhile.
                (StatusChange::Up, Some(_)) => Meaning::HintAndRefresh(Hint::Up(address)),
                (StatusChange::Up, None) => Meaning::Refresh,
                (StatusChange::Down, Some(_)) => Meaning::Hint(Hint::Down(address)),
                (change, _) => {
                    tracing::debug!(?change, %address, "a status event about nobody that is known");
                    Meaning::Nothing
                }
            }
        }
        Event::Schema(change) => Meaning::Schema(change.target.keyspace().to_owned()),
        Event::Unknown { event_type } if !monitor.events().contains(&event_type.as_str()) => {
            tracing::debug!(%event_type, "an event of a type that is not known is skipped");
            Meaning::Nothing
        }
        event => match monitor.on_event(&event) {
            Reaction::Ignore => Meaning::Nothing,
            Reaction::Refresh => Meaning::Refresh,
            Reaction::Read => Meaning::Read(event),
        },
    }
}
