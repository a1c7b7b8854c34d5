//! Keeps a control connection: refreshes the node list on events, and finds a new way in when it is lost.

use std::time::Duration;

use messina_layers::{Backoff, error::BoxError};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{First, Follower, Way, first::connect, peers::read_nodes};
use crate::{
    connection::Events,
    endpoint::Endpoint,
    establish::{Accepted, Open, Opener, read_local},
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
    /// Reads the node list once, opens a connection to each node, and goes on from there in a task.
    pub(crate) async fn start(first: First, opener: Opener, mut follower: impl Follower) -> Result<Self, BoxError> {
        let First { accepted, events, way } = first;
        let live = Live::adopt(accepted, events, way, &opener, &mut follower).await?;
        Ok(Self { task: tokio::spawn(run(live, opener, follower)) })
    }
}

/// A control connection that told who it leads to and whom that node knows.
struct Live {
    accepted: Accepted,
    events: Events,
    way: Way,
    local: NodeInfo,
}

impl Live {
    async fn adopt(
        accepted: Accepted,
        events: Events,
        way: Way,
        opener: &Opener,
        follower: &mut impl Follower,
    ) -> Result<Self, BoxError> {
        let limit = opener.config.init_timeout;
        let mut local = match &accepted.node {
            Some(node) => node.clone(),
            // A connection to an identified node, or a stack of the application's that returns no identity.
            None => timeout(limit, read_local(&accepted.connection)).await??,
        };
        // The address by which the node was reached stands in only where it advertises none.
        local.address = local.address.or(Some(way.addr));
        let mut live = Self { accepted, events, way, local };
        live.refresh(opener, follower).await?;
        Ok(live)
    }

    async fn refresh(&mut self, opener: &Opener, follower: &mut impl Follower) -> Result<(), BoxError> {
        let limit = opener.config.init_timeout;
        let nodes = read_nodes(&self.accepted.connection, &self.local, limit).await?;
        follower.update(&nodes, self.local.host_id, &self.way);
        Ok(())
    }

    /// Serves events until the connection is lost.
    async fn serve(&mut self, opener: &Opener, follower: &mut impl Follower) {
        let mut closed = std::pin::pin!(self.accepted.connection.closed());
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
            if let Err(error) = self.refresh(opener, follower).await {
                tracing::warn!(error = %messina_layers::error::chain(&*error), "the node list could not be read");
                return;
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
    loop {
        for target in plan(opener, follower) {
            match connect(target, &opener.stack).await {
                Ok((accepted, events, way)) => match Live::adopt(accepted, events, way, opener, follower).await {
                    Ok(live) => return live,
                    Err(error) => tracing::debug!(error = %messina_layers::error::chain(&*error), "not adopted"),
                },
                Err(error) => tracing::debug!(%error, "no control connection there"),
            }
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
    let contact_points = opener.config.contact_points.iter();
    known.chain(contact_points.map(|point| opener.target(point.endpoint().clone().into()))).collect()
}
