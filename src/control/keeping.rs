//! Keeps a control connection: refreshes the node list on events, and finds a new way in when it is lost.

use std::{sync::Arc, time::Duration};

use messina_layers::{Backoff, Class, TimedOut, error::BoxError};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};
use tower::ServiceExt;

use super::{
    First, Follower, View, Way,
    first::{Opened, connect},
};
use crate::{
    connection::Events,
    establish::{Accepted, Open, Opener, Round},
    topology::{NodeInfo, NodesRequest, Skipped, Snapshot, Told, Topology, TopologyMonitor, read_local},
};

/// How long events are gathered before the node list is read again.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// While there is no control connection, rounds over the plan repeat about this often.
const ROUND: Duration = Duration::from_secs(1);

/// The control connection with its task; dropping it ends both.
#[derive(Debug)]
pub(crate) struct Control {
    task: JoinHandle<()>,
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Control {
    /// Tells the nodes of the first connection, and goes on from there in a task.
    pub(crate) fn start(first: First, opener: Opener, mut follower: impl Follower, shared: Shared) -> Self {
        let First { live, snapshot } = first;
        live.publish(snapshot, &shared, &mut follower);
        Self { task: tokio::spawn(run(live, opener, follower, shared)) }
    }
}

/// What a control connection reads with, and where it publishes.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) monitor: Arc<dyn TopologyMonitor>,
    pub(crate) topology: Topology,
}

/// A control connection that told who it leads to and whom that node knows.
pub(super) struct Live {
    pub(super) accepted: Accepted,
    events: Events,
    way: Way,
    local: NodeInfo,
}

impl Live {
    /// Reads whom the node at the other end knows, and who it is where that is not known yet.
    pub(super) async fn adopt(
        accepted: Accepted,
        events: Events,
        way: Way,
        limit: Duration,
        shared: &Shared,
    ) -> Result<(Self, Arc<Snapshot>), BoxError> {
        let mut local = match &accepted.node {
            Some(node) => node.clone(),
            // A connection to an identified node, or a stack of the application's that returns no identity.
            None => {
                let read = timeout(limit, read_local(&accepted.connection)).await;
                read.map_err(|_elapsed| TimedOut::new(limit))??
            }
        };
        // The address by which the node was reached stands in only where it advertises none.
        local.address = local.address.or(Some(way.addr));
        let live = Self { accepted, events, way, local };
        let snapshot = live.read(limit, shared).await?;
        Ok((live, snapshot))
    }

    async fn read(&self, limit: Duration, shared: &Shared) -> Result<Arc<Snapshot>, BoxError> {
        let known = shared.topology.snapshot();
        let connection = self.accepted.connection.clone();
        let request = NodesRequest::new(connection, self.local.clone(), Arc::clone(&known));
        let read = timeout(limit, shared.monitor.nodes().oneshot(request)).await;
        let mut list = read.map_err(|_elapsed| TimedOut::new(limit))??;
        for node in &mut list.nodes {
            node.endpoint = shared.monitor.endpoint(node);
        }
        let snapshot = Snapshot::new(list, Some(Told::now(self.local.host_id, self.way.addr)));
        for skipped in snapshot.skipped().iter().filter(|skipped| !known.skipped().contains(skipped)) {
            let Skipped { table, .. } = skipped;
            let server = self.accepted.connection.peer();
            tracing::warn!(%server, table, "a row of the node list is skipped: {skipped}");
        }
        Ok(Arc::new(snapshot))
    }

    fn publish(&self, snapshot: Arc<Snapshot>, shared: &Shared, follower: &mut impl Follower) {
        shared.topology.publish(Arc::clone(&snapshot));
        follower.update(&View { snapshot, local: self.local.host_id, way: self.way.clone() });
    }

    /// Serves events until the connection is lost.
    async fn serve(&mut self, opener: &Opener, follower: &mut impl Follower, shared: &Shared) {
        let connection = self.accepted.connection.clone();
        let config = opener.config();
        let mut closed = std::pin::pin!(connection.heartbeat(config.heartbeat_interval, config.heartbeat_timeout));
        loop {
            tokio::select! {
                error = &mut closed => {
                    tracing::debug!(%error, "control connection lost");
                    return;
                }
                event = self.events.next() => {
                    if event.is_none() {
                        return;
                    }
                }
            }
            // Events come in swarms: what arrives while we wait is answered by the same refresh.
            tokio::select! {
                error = &mut closed => {
                    tracing::debug!(%error, "control connection lost");
                    return;
                }
                () = drain(&mut self.events) => return,
                () = sleep(DEBOUNCE) => {}
            }
            match self.read(opener.config().init_timeout, shared).await {
                Ok(snapshot) => self.publish(snapshot, shared, follower),
                Err(error) => {
                    tracing::warn!(error = %messina_layers::error::chain(&*error), "the node list could not be read");
                    return;
                }
            }
        }
    }
}

/// Takes events until there will be no more.
async fn drain(events: &mut Events) {
    while events.next().await.is_some() {}
}

async fn run(mut live: Live, opener: Opener, mut follower: impl Follower, shared: Shared) {
    loop {
        live.serve(&opener, &mut follower, &shared).await;
        live = reconnect(&opener, &mut follower, &shared).await;
    }
}

/// Goes over the plan, known nodes first and the contact points after them, until one lets us in.
async fn reconnect(opener: &Opener, follower: &mut impl Follower, shared: &Shared) -> Live {
    let mut delays = Backoff::new(ROUND, ROUND * 2);
    let mut warned = false;
    loop {
        let limit = opener.config().init_timeout;
        let round = Round::default();
        let mut logins_refused = true;
        for target in plan(opener, follower) {
            let error = match connect(target.in_round(&round), &opener.stack()).await {
                Ok(Opened { accepted, events, way, .. }) => {
                    match Live::adopt(accepted, events, way, limit, shared).await {
                        Ok((live, snapshot)) => {
                            live.publish(snapshot, shared, follower);
                            return live;
                        }
                        Err(error) => {
                            logins_refused = false;
                            messina_layers::error::chain(&*error).to_string()
                        }
                    }
                }
                Err(error) => {
                    logins_refused &= error.class() == Class::Auth;
                    error.to_string()
                }
            };
            tracing::debug!(%error, "no control connection there");
        }
        if logins_refused && !warned {
            warned = true;
            tracing::warn!("every node and contact point refused the login; check the credentials");
        }
        delays.reset();
        sleep(delays.next_delay()).await;
    }
}

fn plan(opener: &Opener, follower: &impl Follower) -> Vec<Open> {
    let known = follower.known().into_iter().map(|known| opener.target(known.endpoint).expecting_host(known.host_id));
    let config = opener.config();
    let contact_points = config.contact_points.iter();
    known.chain(contact_points.map(|point| opener.target(point.endpoint().clone().into()))).collect()
}
