//! Sessions through a proxy that finds nodes by the server name of the TLS hello.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use messina::{
    Session,
    config::{AuthContext, AuthError, Authenticator, AuthenticatorSession, PlainText, TlsSettings},
    endpoint::SniProxy,
    establish::Open,
    layers::{Name, Order, ServerIdentity},
    session::SessionBuilder,
    testkit::{self, Cluster, ClusterBuilder, Hello, TestCa, rows},
};

use crate::support::{Names, SOON, connected, host, serves};

/// A cluster whose nodes advertise addresses where nobody is, behind a proxy with so many addresses.
struct World {
    ca: TestCa,
    cluster: Cluster,
    proxy: testkit::SniProxy,
    names: Names,
}

impl World {
    async fn new(nodes: usize, addresses: usize) -> Self {
        Self::of(nodes, addresses, |builder| builder).await
    }

    async fn of(nodes: usize, addresses: usize, change: impl FnOnce(ClusterBuilder) -> ClusterBuilder) -> Self {
        let ca = TestCa::new();
        let mut builder = Cluster::builder().nodes(nodes).tls(ca.server(["cluster.test", "*.cluster.test"]));
        for index in 0..nodes {
            // TEST-NET-1: dialling one of these would take until the limit.
            let nowhere = SocketAddr::from(([192, 0, 2, u8::try_from(index + 1).unwrap()], 9042));
            builder = builder.node(index, move |facts| facts.address = Some(nowhere));
        }
        let cluster = change(builder).start().await.unwrap();
        let proxy = testkit::SniProxy::start(addresses).unwrap();
        proxy.serve(&cluster, "cluster.test");
        let names = Names::default();
        names.set("proxy.test", proxy.addrs().into_iter().map(host));
        Self { ca, cluster, proxy, names }
    }

    fn sni(&self) -> SniProxy {
        SniProxy::parse(&format!("proxy.test:{}", self.proxy.addrs()[0].port()), "cluster.test").unwrap()
    }

    fn builder(&self) -> SessionBuilder {
        Session::builder()
            .sni_proxy(self.sni())
            .tls(TlsSettings::new(self.ca.client()))
            .resolver(self.names.clone())
            .candidate_order(Order::AsGiven)
    }

    fn all(&self) -> std::ops::Range<usize> {
        0..self.cluster.nodes().len()
    }

    /// Every connection of every node came through the proxy.
    fn nobody_was_dialled_directly(&self) {
        let at_nodes: usize = self.cluster.nodes().iter().map(|node| node.connections().len()).sum();
        assert_eq!(self.proxy.hellos().len(), at_nodes);
    }
}

fn sent(hello: &Hello) -> &str {
    hello.server_name.as_deref().unwrap()
}

/// connect 105: nodes are reached through the proxy alone; its name is resolved by the stack, once per connect.
/// connect 106: each connection sends its node's name.
/// report 44: the bootstrap name is used for bootstrap only.
/// connect 10: the resolver of the session serves the proxy's name.
/// reviewer 66: nodes that share one proxy address are told apart by host id.
#[tokio::test]
async fn every_node_by_its_name() {
    let world = World::new(3, 1).await;
    world.cluster.prime("SELECT now", rows!["now text"; ("noon",)]);
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, world.all(), SOON).await;
    let (now,): (String,) = session.execute("SELECT now", ()).await.unwrap().one().await.unwrap();
    assert_eq!(now, "noon");

    let hellos = world.proxy.hellos();
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    hellos.iter().for_each(|hello| *names.entry(sent(hello)).or_default() += 1);
    let hosts = world.cluster.nodes().iter().map(|node| format!("{}.cluster.test", node.host_id().unwrap()));
    let expected: BTreeSet<String> = hosts.chain(["cluster.test".to_owned()]).collect();
    assert_eq!(names.keys().map(ToString::to_string).collect::<BTreeSet<_>>(), expected);
    assert_eq!(names["cluster.test"], 1, "for the first connection");
    world.nobody_was_dialled_directly();
    let asked = world.names.asked();
    assert_eq!(asked.len(), hellos.len(), "one lookup per connect: {asked:?}");
    assert!(asked.iter().all(|name| name.starts_with("proxy.test:")), "{asked:?}");

    let snapshot = session.topology();
    let endpoints: BTreeSet<String> =
        snapshot.nodes().iter().map(|node| node.endpoint().unwrap().to_string()).collect();
    assert_eq!(endpoints.len(), 3, "{endpoints:?}");
    assert!(snapshot.nodes().iter().all(|node| node.endpoint().unwrap().host() == "proxy.test"));
}

/// scenario S11: the proxy's first record is dead: pool connections to identified nodes open all the same.
/// report 45: the next record is tried.
/// connect 105: all records are tried in one connect.
#[tokio::test]
async fn a_dead_record_of_the_proxy() {
    let world = World::new(2, 2).await;
    world.proxy.close(0);
    let session = world.builder().sequential().build().await.unwrap();
    connected(&world.cluster, world.all(), SOON).await;
    let second = world.proxy.addrs()[1];
    assert!(world.proxy.hellos().iter().all(|hello| hello.at == second));
    drop(session);
}

/// scenario S10: a proxy with three records, identified nodes: connections land on all of them.
/// reviewer 18: not all connections go to one address of the proxy.
/// reviewer 19: and no counter makes two records alternate in lockstep: each connect chooses anew.
/// connect D23: what one connect reached is not what the next one dials.
#[tokio::test]
async fn connections_spread_over_the_records() {
    let world = World::new(3, 3).await;
    let builder = world.builder().candidate_order(Order::Shuffle).candidate_seed(7).sequential();
    let builder = builder.connections_per_node(20, 20);
    let session = builder.build().await.unwrap();
    for node in world.cluster.nodes() {
        let seen = node.wait_for(SOON * 2, |all| all.iter().filter(|one| serves(one)).count() == 20).await;
        seen.unwrap_or_else(|seen| panic!("{seen}"));
    }
    let hellos = world.proxy.hellos();
    for node in world.cluster.nodes() {
        let name = format!("{}.cluster.test", node.host_id().unwrap());
        let at: Vec<SocketAddr> = hellos.iter().filter(|hello| sent(hello) == name).map(|hello| hello.at).collect();
        assert!(at.len() >= 20);
        for record in world.proxy.addrs() {
            let here = at.iter().filter(|at| **at == record).count();
            let share = 100 * here / at.len();
            assert!((10..=70).contains(&share), "{here} of {} at {record}", at.len());
        }
    }
    drop(session);
}

/// connect 104: the proxy's name follows DNS: the connects after a change go where it leads then.
/// reviewer 27: no address of the proxy is kept.
/// connect D23: neither by nodes whose host id is known.
#[tokio::test]
async fn the_proxy_moves() {
    let world = World::new(2, 1).await;
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, world.all(), SOON).await;

    let addrs = world.proxy.addrs();
    let port = addrs[0].port();
    let moved = testkit::SniProxy::start_at(&[(testkit::fresh_loopback_ip(), port).into()]).unwrap();
    moved.serve(&world.cluster, "cluster.test");
    world.names.set("proxy.test", moved.addrs().into_iter().map(host));
    // Dropping it ends its connections.
    let World { cluster, proxy, .. } = world;
    drop(proxy);
    let names = |hellos: &[Hello]| hellos.iter().map(|hello| sent(hello).to_owned()).collect::<BTreeSet<_>>();
    let hosts: BTreeSet<_> =
        cluster.nodes().iter().map(|node| format!("{}.cluster.test", node.host_id().unwrap())).collect();
    let seen = moved.wait_for(SOON * 2, |hellos| names(hellos).is_superset(&hosts)).await;
    seen.unwrap_or_else(|hellos| panic!("{hellos:?}"));
    drop(session);
}

/// The certificate may be the proxy's own, where it is told so; the name that is sent is the node's still.
/// report 44: the proxy is named for what it is.
#[tokio::test]
async fn verifying_something_else() {
    let ca = TestCa::new();
    let world = World::of(1, 1, |builder| builder.tls(ca.server(["proxy.test"]))).await;
    let builder = world.builder().tls(TlsSettings::new(ca.client()));
    let error = builder.build().await.unwrap_err();
    let line = error.to_string();
    assert!(line.contains("not valid for name"), "{line}");
    let before = world.proxy.hellos().len();

    let with = |sni: SniProxy| {
        Session::builder().sni_proxy(sni).tls(TlsSettings::new(ca.client())).resolver(world.names.clone())
    };
    for sni in [world.sni().verifying_the_proxy(), world.sni().verifying(Name::new("proxy.test").unwrap())] {
        let session = with(sni).build().await.unwrap();
        drop(session);
    }
    let hellos = world.proxy.hellos();
    assert!(hellos.len() > before && hellos.iter().all(|hello| sent(hello).ends_with("cluster.test")));
}

/// A proxy per data centre: nodes go through that of their own, others through the one for all.
#[tokio::test]
async fn a_proxy_for_each_data_centre() {
    let world = World::of(2, 2, |builder| builder.node(1, |facts| facts.data_center = Some("west".into()))).await;
    let [east, west] = world.proxy.addrs()[..] else { panic!("two addresses") };
    world.names.set("east.test", [host(east)]);
    world.names.set("west.test", [host(west)]);
    let port = east.port();
    let proxy = |name: &str| SniProxy::parse(&format!("{name}.test:{port}"), "cluster.test").unwrap();
    let session = Session::builder()
        .sni_proxy(proxy("east"))
        .sni_proxy(proxy("west").for_datacenter("west"))
        .tls(TlsSettings::new(world.ca.client()))
        .resolver(world.names.clone())
        .build()
        .await
        .unwrap();
    connected(&world.cluster, world.all(), SOON).await;
    for hello in world.proxy.hellos() {
        let id = world.cluster.node(1).host_id().unwrap().to_string();
        assert_eq!(hello.at == west, sent(&hello).starts_with(&id), "{hello:?}");
    }
    drop(session);
}

/// Who logs in, and what it was told of the server.
#[derive(Debug, Default)]
struct Watching {
    told: Arc<Mutex<Vec<(String, SocketAddr)>>>,
}

impl Authenticator for Watching {
    fn start(&self, context: &AuthContext<'_>) -> Result<Box<dyn AuthenticatorSession>, AuthError> {
        self.told.lock().unwrap().push((context.host.to_owned(), context.peer));
        PlainText::new("ada", "secret").start(context)
    }
}

/// scenario S40: a Kerberos-style consumer gets the host as it was configured and the address of the connection, without
/// a lookup; a name-only target yields no null address.
/// connect 111: the host's text stands in where there is no IP, which is the normal case for proxies and routes.
/// connect D31: no lookup, forward or reverse, is made for it.
/// reviewer 65: canonicalising is the authenticator's own business, off the I/O tasks: it has both name and address.
#[tokio::test]
async fn an_authenticator_behind_a_proxy() {
    let world = World::of(1, 1, |builder| builder.user("ada", "secret")).await;
    let watching = Watching::default();
    let told = Arc::clone(&watching.told);
    let session = world.builder().authenticator(watching).build().await.unwrap();
    let told = told.lock().unwrap().clone();
    assert!(told.len() >= 2, "control and pool");
    assert!(told.iter().all(|(host, peer)| host == "proxy.test" && *peer == world.proxy.addrs()[0]), "{told:?}");
    assert_eq!(world.names.asked().len(), world.proxy.hellos().len(), "the lookups of the connects, and no other");
    drop(session);
}

/// design 3.1: distinct servers behind one proxy share no TLS session: each node's are its own.
#[test]
fn sessions_are_the_nodes_own() {
    let config = Session::builder()
        .sni_proxy(SniProxy::parse("proxy.test", "cluster.test").unwrap())
        .tls(TlsSettings::new(TestCa::new().client()))
        .tls_accepted_name("fixed.test")
        .check()
        .unwrap();
    let config = Arc::new(config);
    let proxy = SniProxy::parse("proxy.test", "cluster.test").unwrap();
    let scope = |open: Open| open.tls().unwrap().session_scope.unwrap();
    let ids = [uuid::Uuid::from_u128(1), uuid::Uuid::from_u128(2)];
    let [one, two] = ids.map(|id| scope(Open::new(proxy.node(id), Arc::clone(&config)).expecting_host(id)));
    let first = scope(Open::new(proxy.bootstrap().remove(0), Arc::clone(&config)));
    assert!(one != two && one != first && two != first, "{one} {two} {first}");
}

/// An unknown server name is a node that cannot be reached, told as that, and costs no other node.
#[tokio::test]
async fn a_node_that_the_proxy_does_not_know() {
    let world = World::new(2, 1).await;
    let id = world.cluster.node(1).host_id().unwrap();
    world.proxy.forget(&format!("{id}.cluster.test"));
    let session = world.builder().build().await.unwrap();
    connected(&world.cluster, [0], SOON).await;
    let known =
        world.proxy.wait_for(SOON, |hellos| hellos.iter().any(|hello| sent(hello).starts_with(&id.to_string())));
    known.await.unwrap();
    tokio::time::timeout(Duration::from_millis(50), std::future::pending::<()>()).await.unwrap_err();
    assert!(!world.cluster.node(1).connections().iter().any(serves));
    drop(session);
}
