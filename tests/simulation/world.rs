//! The cluster, the session, and what must hold of both.

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    sync::Mutex,
    time::Duration,
};

use messina::{
    Session,
    session::SessionBuilder,
    testkit::{Cluster, ConnectionLog, Names, Network, Stage, rows},
};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep},
};

use crate::random::Random;

pub(crate) const QUERY: &str = "SELECT id FROM ks.t";
/// How soon after the last fault every node is connected.
pub(crate) const WHOLE: Duration = Duration::from_millis(1500);
/// How often it is looked.
const LOOK: Duration = Duration::from_millis(50);

pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) cluster: Cluster,
    pub(crate) names: Names,
    pub(crate) session: Session,
    tasks: usize,
    started: Instant,
    story: Mutex<Vec<String>>,
}

impl World {
    /// A cluster of so many nodes, and a session that knows a name of three of them.
    pub(crate) async fn start(nodes: usize, random: &mut Random) -> Self {
        let heartbeat = |builder: SessionBuilder| builder.heartbeat(Duration::from_secs(5), Duration::from_secs(1));
        Self::start_with(nodes, random, heartbeat).await
    }

    /// The same, with changes to the session.
    pub(crate) async fn start_with(
        nodes: usize,
        random: &mut Random,
        change: impl FnOnce(SessionBuilder) -> SessionBuilder,
    ) -> Self {
        let network = Network::new();
        let cluster = Cluster::builder().network(&network).nodes(nodes).start().await.unwrap();
        cluster.prime(QUERY, rows!["id int"; (1,)]);
        let names = Names::new();
        names.set("db.test", (0..3).map(|_| cluster.node(random.below(nodes)).addr()));
        let tasks = alive();
        let builder = Session::builder()
            .contact_point("db.test")
            .resolver(names.clone())
            .connector(network.connector())
            .candidate_seed(random.next())
            .connect_timeout(Duration::from_secs(2))
            .init_timeout(Duration::from_secs(2));
        let session = change(builder).build().await.unwrap();
        let (started, story) = (Instant::now(), Mutex::default());
        Self { network, cluster, names, session, tasks, started, story }
    }

    // ===== The story =====

    pub(crate) fn note(&self, what: impl std::fmt::Display) {
        let at = self.started.elapsed();
        self.story.lock().unwrap().push(format!("{at:.3?} {what}"));
    }

    /// What was done to the cluster, the last of it.
    pub(crate) fn story(&self) -> String {
        let story = self.story.lock().unwrap();
        story[story.len().saturating_sub(60)..].join("\n")
    }

    // ===== What must hold =====

    /// The servers of control connections that the client holds.
    pub(crate) fn controls(&self) -> Vec<SocketAddr> {
        // The list of nodes is read on it when it is taken over, and not before.
        let is_control = |one: &&ConnectionLog| one.count(Stage::Register) > 0 && one.count(Stage::Peers) > 0;
        let ends = |one: &ConnectionLog| (one.client(), one.server());
        let registered: HashSet<_> =
            self.cluster.log().look(|seen| seen.connections().iter().filter(is_control).map(ends).collect());
        let held = self.network.held().into_iter();
        held.filter(|held| registered.contains(held)).map(|(_, server)| server).collect()
    }

    /// At any time.
    pub(crate) fn check(&self) -> Result<(), String> {
        let controls = self.controls();
        match controls.len() {
            0 | 1 => Ok(()),
            _ => Err(format!("{} control connections at a time: {controls:?}", controls.len())),
        }
    }

    /// The nodes that lack a connection, and connections to where no node is.
    fn missing(&self) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
        let mut wanted: HashMap<SocketAddr, usize> = self.cluster.nodes().iter().map(|node| (node.addr(), 1)).collect();
        for control in self.controls() {
            *wanted.entry(control).or_default() += 1;
        }
        let mut stray = Vec::new();
        for (_, server) in self.network.held() {
            match wanted.get_mut(&server) {
                Some(left) if *left > 0 => *left -= 1,
                _ => stray.push(server),
            }
        }
        (wanted.into_iter().filter(|(_, left)| *left > 0).map(|(addr, _)| addr).collect(), stray)
    }

    /// Waits until there is a control connection and one to each node, and nothing else.
    pub(crate) async fn full_within(&self, limit: Duration) -> Result<(), String> {
        let since = Instant::now();
        loop {
            self.check()?;
            let ((missing, stray), controls) = (self.missing(), self.controls());
            if missing.is_empty() && stray.is_empty() && controls.len() == 1 && self.network.dialling() == 0 {
                self.note(format_args!("whole after {:?}", since.elapsed()));
                return Ok(());
            }
            if since.elapsed() > limit {
                for node in self.session.nodes() {
                    let addr: SocketAddr = node.endpoint.to_string().parse().unwrap();
                    if missing.contains(&addr) {
                        let (error, next) =
                            (node.last_error.map(|error| error.report().to_string()), node.next_attempt_in);
                        self.note(format_args!(
                            "{addr}: {:?}, {} opening, next in {next:?}, {error:?}",
                            node.standing, node.opening
                        ));
                    }
                }
                let known = self.session.topology().nodes().len();
                self.note(format_args!("{known} nodes are known"));
                return Err(format!(
                    "not whole after {limit:?}: control {controls:?}, {} nodes without connection {:?}, {} strays {:?}",
                    missing.len(),
                    &missing[..missing.len().min(10)],
                    stray.len(),
                    &stray[..stray.len().min(10)],
                ));
            }
            sleep(LOOK).await;
        }
    }

    /// Waits for longer than any pause between two tries: nobody dials where no node is.
    pub(crate) async fn lets_go(&self) -> Result<(), String> {
        let nodes: HashSet<_> = self.cluster.addrs().into_iter().collect();
        let astray = || self.network.dialled().into_iter().filter(|addr| !nodes.contains(addr)).collect::<Vec<_>>();
        let before = astray().len();
        sleep(Duration::from_secs(70)).await;
        match &astray()[before..] {
            [] => Ok(()),
            more => Err(format!("{} dials to where no node is: {:?}", more.len(), &more[..more.len().min(10)])),
        }
    }

    /// Closes the session: nothing of it is left.
    pub(crate) async fn close(&self) -> Result<(), String> {
        let closing = Instant::now();
        self.session.close().await;
        let took = closing.elapsed();
        if took > Duration::from_secs(1) {
            return Err(format!("closing an idle session took {took:?}"));
        }
        for _ in 0..20 {
            sleep(Duration::from_millis(1)).await;
            if self.network.held().is_empty() && self.network.dialling() == 0 && alive() <= self.tasks {
                return Ok(());
            }
        }
        let (held, dialling) = (self.network.held().len(), self.network.dialling());
        let tasks = alive() - self.tasks.min(alive());
        Err(format!("left open after close: {held} connections, {dialling} dials, {tasks} tasks"))
    }
}

fn alive() -> usize {
    Handle::current().metrics().num_alive_tasks()
}
