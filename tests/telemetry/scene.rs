//! A cluster over pipes under load, and what is done to it.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use messina::{
    Session, Statement,
    endpoint::Advertised,
    layers::{Address, Name, Order, Resolved},
    session::SessionBuilder,
    testkit::{Answer, Cluster, Names, Network, Push},
};
use tokio::{task::JoinSet, time::sleep};
use uuid::Uuid;

/// What is written.
pub(crate) const WRITE: &str = "INSERT INTO ks.t (a) VALUES (1)";
/// How many write at a time.
pub(crate) const WRITERS: u64 = 8;

/// Three nodes, two of them on one address with different ports, reached by names as long as `named` is set.
pub(crate) struct Scene {
    pub(crate) network: Network,
    pub(crate) cluster: Cluster,
    pub(crate) names: Names,
    named: Arc<AtomicBool>,
}

impl Scene {
    pub(crate) async fn start() -> Self {
        let network = Network::new();
        let addrs: [SocketAddr; 3] =
            [([10, 9, 0, 1], 9042).into(), ([10, 9, 0, 1], 9043).into(), ([10, 9, 0, 3], 9042).into()];
        let cluster = Cluster::builder().network_at(&network, addrs).start().await.unwrap();
        cluster.prime(WRITE, Answer::void());
        let names = Names::new();
        // The first record of the contact point answers nobody.
        names.set("db.test", [network.refused(), addrs[0]]);
        for (node, addr) in addrs.iter().enumerate() {
            names.set(&format!("node{node}.test"), [Resolved::from(addr.ip())]);
        }
        Self { network, cluster, names, named: Arc::new(AtomicBool::new(true)) }
    }

    pub(crate) fn host_id(&self, node: usize) -> Uuid {
        self.cluster.node(node).host_id().unwrap()
    }

    pub(crate) fn session(&self) -> SessionBuilder {
        let addr = |node: usize| self.cluster.node(node).addr();
        let named = Arc::clone(&self.named);
        let places: Vec<_> = (0..3).map(|node| (self.host_id(node), addr(node).port())).collect();
        Session::builder()
            .contact_point("db.test")
            .resolver(self.names.clone())
            .connector(self.network.connector())
            .candidate_order(Order::AsGiven)
            .address_translator(move |node: &Advertised<'_>| {
                let place = places.iter().position(|(host_id, _)| *host_id == node.host_id);
                match place.filter(|_| named.load(Ordering::Relaxed)) {
                    Some(place) => {
                        let name = format!("node{place}.test").parse::<Name>().unwrap();
                        Address::Name(name, places[place].1)
                    }
                    None => Address::Socket(node.address),
                }
            })
    }

    /// From the next refresh on nodes are dialled by what they list.
    pub(crate) fn unname(&self) {
        self.named.store(false, Ordering::Relaxed);
    }

    /// Has the node list read again.
    pub(crate) async fn refresh(&self, session: &Session) {
        let before = session.topology();
        let one = self.cluster.node(2).addr();
        assert!(self.cluster.push(&Push::topology("NEW_NODE", one)) > 0);
        for _ in 0..1000 {
            if !Arc::ptr_eq(&before, &session.topology()) {
                // What follows from it happens at once.
                return sleep(Duration::from_millis(50)).await;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("the node list was not read again");
    }
}

/// Those who write until they are dropped.
pub(crate) struct Load {
    written: Arc<AtomicU64>,
    _tasks: JoinSet<()>,
}

impl Load {
    pub(crate) fn on(session: &Session) -> Self {
        let written = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..WRITERS {
            let (session, written) = (session.clone(), Arc::clone(&written));
            tasks.spawn(async move {
                loop {
                    // What a connection takes with it may be written again.
                    session.execute(Statement::new(WRITE).with_idempotence(true), ()).await.unwrap();
                    written.fetch_add(1, Ordering::Relaxed);
                    sleep(Duration::from_millis(5)).await;
                }
            });
        }
        Self { written, _tasks: tasks }
    }

    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}
