//! From checked settings to a connected session.

use std::{sync::Arc, time::Duration};

use messina_layers::{Backoff, BoxConnect};

use super::Session;
use crate::{
    config::{Config, LiveConfig},
    control::{Control, First, Shared},
    error::Error,
    establish::{self, Accepted, Open, Opener, Seams},
    metrics::SessionMetrics,
    pool::{Keeper, Node, Nodes},
};

/// Rounds over the contact points repeat about this often, where the first connect is waited for.
const ROUND: Duration = Duration::from_secs(1);

pub(super) async fn connect(config: Arc<Config>, seams: Seams, shared: Shared) -> Result<Session, Error> {
    let metrics = SessionMetrics::new(&config.metrics);
    let stack = establish::connect(&config, seams.clone());
    let first = first(&config, &stack, &shared).await?;
    let latched = (first.cluster_name().into(), first.version());
    let opener = Opener::new(stack, seams, LiveConfig::new(config), metrics, latched);
    let topology = shared.topology.clone();
    let nodes = Nodes::new(topology.clone());
    let keeper = Keeper::new(opener.clone(), nodes.clone());
    let control = Control::start(first, opener.clone(), keeper, shared);
    // Bounded by the limits of one connect to each node, and its back-off is not waited for.
    if !nodes.wait_for_connection().await {
        return Err(no_connection(&nodes.all()));
    }
    Ok(Session::assemble(opener, nodes, topology, control))
}

/// The first control connection; if it is to be waited for, rounds go on about every second.
async fn first(config: &Arc<Config>, stack: &BoxConnect<Open, Accepted>, shared: &Shared) -> Result<First, Error> {
    let mut delays = Backoff::new(ROUND, ROUND * 2);
    let mut told = false;
    loop {
        match First::connect(config, stack, shared).await {
            Err(error) if config.reconnect_on_init => {
                // What is new in later rounds is told by contact point.
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!("{error}; trying again until one lets us in");
                }
                delays.reset();
                tokio::time::sleep(delays.next_delay()).await;
            }
            result => return result,
        }
    }
}

fn no_connection(nodes: &[Arc<Node>]) -> Error {
    let failed = nodes.iter().filter_map(|node| {
        let error = node.last_error()?;
        let name = format!("node {} at {}", node.host_id(), node.endpoint());
        Some(crate::error::ContactPointFailed::new(name, (*error).clone()))
    });
    Error::no_connection(failed.collect())
}
