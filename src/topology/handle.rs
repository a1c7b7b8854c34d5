//! The newest snapshot, for everybody.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::{ArcSwap, Guard};
use tokio::sync::watch;
use uuid::Uuid;

use super::{EventBus, SessionEvent, Snapshot, schema::Schema};

/// As many removed nodes are remembered; a cluster has forgotten those before long ago.
const REMEMBERED: usize = 4096;

/// Gives the newest [`Snapshot`]; readers never wait. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    current: ArcSwap<Snapshot>,
    schema: ArcSwap<Schema>,
    changed: watch::Sender<()>,
    removed: Mutex<Removed>,
    bus: EventBus,
}

/// Nodes that were part of the cluster and are not any more, the oldest first.
#[derive(Debug, Default)]
struct Removed {
    order: VecDeque<Uuid>,
    all: HashSet<Uuid>,
}

impl Topology {
    /// Nothing is known yet; what happens is told on this bus.
    pub(crate) fn new(bus: EventBus) -> Self {
        Self { shared: Arc::new(Shared { bus, ..Shared::default() }) }
    }

    /// The newest snapshot.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.current.load_full()
    }

    /// The newest snapshot, for a short look: nothing is counted.
    pub(crate) fn load(&self) -> Guard<Arc<Snapshot>> {
        self.shared.current.load()
    }

    /// The newest schema; empty until one was read.
    #[must_use]
    pub fn schema(&self) -> Arc<Schema> {
        self.shared.schema.load_full()
    }

    /// Puts a schema in place.
    pub(crate) fn publish_schema(&self, schema: Arc<Schema>) {
        self.shared.schema.store(schema);
        self.touch();
    }

    /// Tells those who watch that nodes or schema may have changed.
    pub(crate) fn touch(&self) {
        self.shared.changed.send_replace(());
    }

    /// Changes with the nodes and the schema.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.shared.changed.subscribe()
    }

    /// The bus of the session's events.
    pub(crate) fn bus(&self) -> &EventBus {
        &self.shared.bus
    }

    /// Whether the cluster dropped this node, and did not list it again since.
    pub(crate) fn was_removed(&self, host_id: Uuid) -> bool {
        self.removed().all.contains(&host_id)
    }

    /// Puts a snapshot in place, and tells which nodes came, went and moved.
    pub(crate) fn publish(&self, snapshot: Arc<Snapshot>) {
        let before = self.shared.current.swap(Arc::clone(&snapshot));
        let changes = snapshot.changes_since(&before);
        let mut removed = self.removed();
        for change in &changes {
            match change {
                SessionEvent::NodeAdded { host_id, .. } => removed.forget(*host_id),
                SessionEvent::NodeRemoved { host_id, .. } => removed.remember(*host_id),
                _ => {}
            }
        }
        drop(removed);
        for event in changes {
            self.tell(event);
        }
    }

    /// Tells all who listen.
    pub(crate) fn tell(&self, event: SessionEvent) {
        tracing::debug!("{event}");
        self.shared.bus.tell(event);
    }

    fn removed(&self) -> MutexGuard<'_, Removed> {
        self.shared.removed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Removed {
    fn remember(&mut self, host_id: Uuid) {
        if self.all.insert(host_id) {
            self.order.push_back(host_id);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.all.remove(&oldest);
        }
    }

    fn forget(&mut self, host_id: Uuid) {
        if self.all.remove(&host_id) {
            self.order.retain(|known| *known != host_id);
        }
    }
}
