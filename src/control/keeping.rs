//! Keeps a control connection: refreshes the node list on events, and finds a new way in when it is lost.

use std::time::Duration;

use messina_layers::{Backoff, Class, TimedOut, error::BoxError};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{
    First, Follower, Way,
    first::{Opened, connect},
    peers::read_nodes,
};
use crate::{
    connection::Events,
    endpoint::Endpoint,
    establish::{Accepted, Open, Opener, Round, read_local},
    topology::NodeInfo,
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
    pub(crate) fn start(first: First, opener: Opener, mut follower: impl Follower) -> Self {
        let First { live, nodes } = first;
        live.tell(&nodes, &mut follower);
        Self { task: tokio::spawn(run(live, opener, follower)) }
    }
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
    ) -> Result<(Self, Vec<NodeInfo>), BoxError> {
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
        let nodes = live.read(limit).await?;
        Ok((live, nodes))
    }

    async fn read(&self, limit: Duration) -> Result<Vec<NodeInfo>, BoxError> {
        read_nodes(&self.accepted.connection, &self.local, limit).await
    }

    fn tell(&self, nodes: &[NodeInfo], follower: &mut impl Follower) {
        follower.update(nodes, self.local.host_id, &self.way);
    }

    /// Serves events until the connection is lost.
    async fn serve(&mut self, opener: &Opener, follower: &mut impl Follower) {
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
            match self.read(opener.config().init_timeout).await {
                Ok(nodes) => self.tell(&nodes, follower),
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

async fn run(mut live: Live, opener: Opener, mut follower: impl Follower) {
    loop {
        live.serve(&opener, &mut follower).await;
        live = reconnect(&opener, &mut follower).await;
    }
}

/// Goes over the plan, known nodes first and the contact points after them, until one lets us in.
async fn reconnect(opener: &Opener, follower: &mut impl Follower) -> Live {
    let mut delays = Backoff::new(ROUND, ROUND * 2);
    let mut warned = false;
    loop {
        let limit = opener.config().init_timeout;
        let round = Round::default();
        let mut logins_refused = true;
        for target in plan(opener, follower) {
            let error = match connect(target.in_round(&round), &opener.stack()).await {
                Ok(Opened { accepted, events, way, .. }) => match Live::adopt(accepted, events, way, limit).await {
                    Ok((live, nodes)) => {
                        live.tell(&nodes, follower);
                        return live;
                    }
                    Err(error) => {
                        logins_refused = false;
                        messina_layers::error::chain(&*error).to_string()
                    }
                },
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
    let known = follower
        .known()
        .into_iter()
        .map(|(host_id, address)| opener.target(Endpoint::from(address).into()).expecting_host(host_id));
    let config = opener.config();
    let contact_points = config.contact_points.iter();
    known.chain(contact_points.map(|point| opener.target(point.endpoint().clone().into()))).collect()
}
