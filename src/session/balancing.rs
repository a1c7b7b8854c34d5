//! The node for a try, where the application's policy chooses it.

use std::borrow::Cow;

use tokio::time::Instant;
use uuid::Uuid;

use super::Inner;
use super::request::Bound;
use super::routing::{Picked, with_replicas};
use crate::policy::{BalancingPolicy, NodeChoice, Target};
use crate::pool::View;

impl Inner {
    /// The node that the policy chooses, with a connection.
    #[cold]
    pub(super) fn pick_by(
        &self,
        policy: &dyn BalancingPolicy,
        bound: &Bound,
        tried: &[Uuid],
        now: Instant,
    ) -> Option<Picked> {
        let (snapshot, nodes, routing) = (self.topology.snapshot(), self.nodes.all(), self.nodes.routing());
        let prepared = bound.routed_by();
        let table = prepared.and_then(|prepared| Some(prepared.markers().first()?.table_spec()));
        let target = Target {
            token: bound.token(),
            table: table.map(|table| (table.ks_name(), table.table_name())),
            conditional: prepared.is_some_and(super::Prepared::is_lwt),
        };
        let turn = self.nodes.turn();
        with_replicas(bound, &routing, |wanted| {
            let mut tried = Cow::Borrowed(tried);
            loop {
                let built_in = || Some(self.pick_built_in(bound, &tried, now)?.0.host_id());
                let view = View {
                    snapshot: &snapshot,
                    nodes: &nodes,
                    routing: &routing,
                    wanted,
                    token: target.token,
                    in_order: target.conditional,
                    tried: &tried,
                    now,
                    turn,
                    built_in: &built_in,
                };
                let index = policy.pick(&NodeChoice::among(&snapshot, target, &tried, turn, &view))?;
                let host_id = snapshot.at(index).map(|info| info.host_id);
                let Some(host_id) = host_id.filter(|host_id| !tried.contains(host_id)) else {
                    tracing::debug!(?policy, ?index, "the policy chose a node that was tried, or none of the snapshot");
                    return None;
                };
                if let Some(picked) = view.take(index) {
                    return Some(picked);
                }
                tried.to_mut().push(host_id);
            }
        })
    }
}
