//! What happens to the nodes of a client, as it happens.

use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{health::State, live_nodes::Basis, node::Node};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Requests go to this node from now on.
    Added(Node),
    /// Requests no longer go to this node.
    Removed(Node),
    /// A node answers again, or does not any more.
    Moved {
        /// The node.
        node: Node,
        /// The state it left.
        from: State,
        /// The state it is in.
        to: State,
    },
    /// The nodes come from elsewhere: another scope of the chain, or the last resort.
    Rebased(Basis),
    /// A node does not know the filters of data centres and racks; what it lists is not used.
    FiltersIgnored(Node),
    /// A whole cycle of discovery got no answer from anybody.
    Silence,
    /// So many events were dropped, because they were not fetched in time.
    Missed(u64),
}

/// The events from the moment on when this was made; at most 256 are kept for it.
#[derive(Debug)]
pub struct Events(pub(super) Receiver<Event>);

impl Events {
    /// The next event; `None` once the client is gone. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Event> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(RecvError::Lagged(count)) => Some(Event::Missed(count)),
            Err(RecvError::Closed) => None,
        }
    }
}
