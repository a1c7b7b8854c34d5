//! Which nodes a request may go to, and in which order.

use std::sync::Arc;

use super::Affinity;
use crate::alternator::{
    affinity::Votes,
    plan::QueryPlan,
    routes::{Routes, Shared},
};

/// The nodes of a request and their order.
pub(super) fn planned(shared: &Shared, affinity: Option<Affinity>) -> (Arc<Routes>, QueryPlan) {
    let view = shared.view.load();
    let wide = || Arc::clone(view.wide.as_ref().filter(|wide| !wide.marks.is_empty()).unwrap_or(&view.routes));
    let any = || (Arc::clone(&view.routes), QueryPlan::random(shared.randomness.draw()));
    match affinity {
        None => any(),
        Some(Affinity::Key(hash)) => (wide(), QueryPlan::seeded(hash)),
        Some(Affinity::Batch(hashes)) => {
            let routes = wide();
            let mut votes = Votes::new(&routes.nodes);
            hashes.iter().for_each(|hash| votes.add_hash(*hash));
            match votes.plan() {
                Some(plan) => (Arc::clone(&routes), plan),
                None => any(),
            }
        }
    }
}
