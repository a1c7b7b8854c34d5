//! What the application brings to tell of nodes may panic: that costs what it was asked for, and nothing else.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use messina_layers::guard::{Guarded, guarded};
use tower::{ServiceExt, service_fn};

use crate::{
    endpoint::Endpoint,
    protocol::response::Event,
    topology::{BoxIdentity, BoxNodes, NodeFilter, NodeInfo, NodesRequest, Reaction, Snapshot, TopologyMonitor},
};

/// A topology monitor whose panics end here.
#[derive(Debug)]
struct Careful {
    monitor: Arc<dyn TopologyMonitor>,
    broke: Broke,
}

/// Told as a warning once, and at debug from then on: it may come again for every node and refresh.
#[derive(Debug, Default)]
struct Broke(AtomicBool);

impl Broke {
    fn tell<T>(&self, what: &str, node: Option<&NodeInfo>, ask: impl FnOnce() -> T, otherwise: T) -> T {
        let panicked = match guarded(ask) {
            Ok(answer) => return answer,
            Err(panicked) => panicked,
        };
        let host_id = node.map(|node| node.host_id);
        if self.0.swap(true, Ordering::Relaxed) {
            tracing::debug!(error = %panicked, host_id = ?host_id, "{what}");
        } else {
            tracing::warn!(error = %panicked, host_id = ?host_id, "{what}; further ones are told at debug");
        }
        otherwise
    }
}

/// The same monitor; where it panics a node is skipped, and nothing else changes.
pub(crate) fn careful(monitor: Arc<dyn TopologyMonitor>) -> Arc<dyn TopologyMonitor> {
    Arc::new(Careful { monitor, broke: Broke::default() })
}

/// The same filter; a node for which it panics is left out.
pub(crate) fn careful_filter(filter: NodeFilter) -> NodeFilter {
    let broke = Broke::default();
    Arc::new(move |node| broke.tell("the node filter broke; the node is left out", Some(node), || filter(node), false))
}

const MONITOR: &str = "the topology monitor broke";

impl TopologyMonitor for Careful {
    fn nodes(&self) -> BoxNodes {
        let monitor = Arc::clone(&self.monitor);
        BoxNodes::new(service_fn(move |request: NodesRequest| {
            let monitor = Arc::clone(&monitor);
            Guarded::call(move || monitor.nodes().oneshot(request))
        }))
    }

    fn identity(&self) -> BoxIdentity {
        let monitor = Arc::clone(&self.monitor);
        BoxIdentity::new(service_fn(move |request| {
            let monitor = Arc::clone(&monitor);
            Guarded::call(move || monitor.identity().oneshot(request))
        }))
    }

    fn endpoint(&self, node: &NodeInfo) -> Option<Endpoint> {
        let what = "what tells how nodes are dialled broke; the node is skipped";
        self.broke.tell(what, Some(node), || self.monitor.endpoint(node), None)
    }

    fn events(&self) -> &[&'static str] {
        self.broke.tell(MONITOR, None, || self.monitor.events(), &[])
    }

    fn on_event(&self, event: &Event) -> Reaction {
        self.broke.tell(MONITOR, None, || self.monitor.on_event(event), Reaction::Refresh)
    }

    fn reread_after(&self, registered: &[&'static str]) -> Option<Duration> {
        self.broke.tell(MONITOR, None, || self.monitor.reread_after(registered), None)
    }

    fn reresolves_node_addresses(&self, snapshot: &Snapshot) -> bool {
        self.broke.tell(MONITOR, None, || self.monitor.reresolves_node_addresses(snapshot), false)
    }
}
