//! The newest snapshot, for everybody.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use super::{EventBus, SessionEvent, Snapshot};

/// Gives the newest [`Snapshot`]; readers never wait. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    current: ArcSwap<Snapshot>,
    bus: EventBus,
}

impl Topology {
    /// Nothing is known yet; what happens is told on this bus.
    pub(crate) fn new(bus: EventBus) -> Self {
        Self { shared: Arc::new(Shared { current: ArcSwap::default(), bus }) }
    }

    /// The newest snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.current.load_full()
    }

    /// The newest snapshot, for a short look: nothing is counted.
    #[expect(dead_code, reason = "for the routing of requests")]
    pub(crate) fn load(&self) -> Guard<Arc<Snapshot>> {
        self.shared.current.load()
    }

    /// The bus of the session's events.
    pub(crate) fn bus(&self) -> &EventBus {
        &self.shared.bus
    }

    /// Puts a snapshot in place, and tells which nodes came, went and moved.
    pub(crate) fn publish(&self, snapshot: Arc<Snapshot>) {
        let before = self.shared.current.swap(Arc::clone(&snapshot));
        for event in snapshot.changes_since(&before) {
            self.tell(event);
        }
    }

    /// Tells all who listen.
    pub(crate) fn tell(&self, event: SessionEvent) {
        tracing::debug!("{event}");
        self.shared.bus.tell(event);
    }
}
