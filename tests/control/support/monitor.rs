//! A topology monitor whose answers a test chooses.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use messina::topology::{
    BoxIdentity, BoxNodes, IdentityRequest, NodesRequest, Snapshot, SystemLocal, SystemTables, TopologyMonitor,
};
use tower::{ServiceExt, service_fn};

/// What the monitor says, and how often it was asked.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) reresolves: AtomicBool,
    /// How many plans asked it.
    pub(crate) plans: AtomicUsize,
    pub(crate) identities: AtomicUsize,
    /// Whether each read came because of events.
    pub(crate) reads: Mutex<Vec<usize>>,
}

/// Reads the tables, and says what the test wants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Monitor {
    tables: SystemTables,
    pub(crate) answers: Arc<Answers>,
}

impl TopologyMonitor for Monitor {
    fn nodes(&self) -> BoxNodes {
        let (tables, answers) = (self.tables.clone(), Arc::clone(&self.answers));
        BoxNodes::new(service_fn(move |request: NodesRequest| {
            let events = match &request.cause {
                messina::topology::Cause::Events(events) => events.len(),
                _ => 0,
            };
            answers.reads.lock().unwrap().push(events);
            let tables = tables.clone();
            async move { tables.read(&request).await }
        }))
    }

    fn identity(&self) -> BoxIdentity {
        let answers = Arc::clone(&self.answers);
        BoxIdentity::new(service_fn(move |request: IdentityRequest| {
            answers.identities.fetch_add(1, Ordering::Relaxed);
            SystemLocal::new().oneshot(request)
        }))
    }

    fn events(&self) -> &[&'static str] {
        &["CLIENT_ROUTES_CHANGE"]
    }

    fn on_event(&self, _event: &messina::protocol::response::Event) -> messina::topology::Reaction {
        messina::topology::Reaction::Read
    }

    fn reresolves_node_addresses(&self, _snapshot: &Snapshot) -> bool {
        self.answers.plans.fetch_add(1, Ordering::Relaxed);
        self.answers.reresolves.load(Ordering::Relaxed)
    }
}
