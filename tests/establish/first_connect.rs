//! From a name with dead addresses to a session.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use messina::{
    Session,
    error::Kind,
    layers::{Address, Class, HickoryResolver, Order, error::BoxError},
    testkit::{BareAddress, Cluster, DnsServer, Fault, Network, Stage},
};
use tower::service_fn;

use crate::support::{DELAY, Events, LIMIT, Mode, SOON, TestStack, all_closed, attempts, named, stages, timed};

/// connect 117: a name with one dead and one live record gives a working session.
/// scenario S1: the dead record comes first.
/// report 9: all records of a name are used.
/// reviewer 1: the others are tried.
#[tokio::test]
async fn a_dead_record_is_passed_over() {
    let events = Events::watch();
    let cluster = Cluster::builder().nodes(2).own_addresses().start().await.unwrap();
    let dead = BareAddress::refused().unwrap().on_port(cluster.node(0).addr().port()).unwrap();
    let dns = DnsServer::start().await.unwrap();
    dns.set("db.test", [dead.addr().ip(), cluster.node(0).addr().ip()]);

    let session = Session::builder()
        .contact_point(format!("db.test:{}", cluster.node(0).addr().port()))
        .resolver(HickoryResolver::with_server(dns.addr()))
        .candidate_order(Order::AsGiven)
        .sequential()
        .build()
        .await
        .unwrap();
    cluster.wait_for(SOON, |log| log.open() == 3).await.unwrap();
    let told = events.with("trying next address");
    assert_eq!(told[0].field("failed"), dead.addr().to_string(), "the log names the dead address");
    drop(session);
    cluster.wait_for(SOON, |log| log.open() == 0).await.unwrap();
}

/// scenario S2: all dead: one entry per distinct address, with stage and cause, in dial order.
/// report 3: a repeated record is tried once.
/// connect 36: one error, as many causes as addresses.
#[tokio::test(start_paused = true)]
async fn all_dead() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let (a, b, c) = (network.refused(), network.closes(), network.mute());
        let (result, took) = timed(mode.of(named(&network, [a, b, a, c, b]))).await;
        let error = result.unwrap_err();
        let failed: Vec<_> = attempts(&error).iter().map(|failed| failed.addr).collect();
        assert_eq!((failed, network.dialled()), (vec![a, b, c], vec![a, b, c]));
        assert_eq!(stages(&error), ["tcp", "options", "options"]);
        assert_eq!(took, LIMIT);
        let causes: Vec<_> = attempts(&error).iter().map(|failed| failed.error.cause().to_string()).collect();
        let words = ["refused", "the peer closed it", "no answer within 5s"];
        assert!(causes.iter().zip(words).all(|(cause, word)| cause.contains(word)), "{causes:?}");
        assert_eq!(attempts(&error)[2].elapsed, LIMIT);
    }
}

/// connect 113: a name with three records is one contact point, whose addresses are found at each connect.
/// connect 139: two names with three addresses each: two entries, three causes each.
/// connect 84: all failed addresses of a name stand under its one entry.
/// connect 140: a failed first connect says that no contact point was reachable.
#[tokio::test(start_paused = true)]
async fn one_entry_per_contact_point() {
    let network = Network::new();
    let mut all: Vec<_> = (0..6).map(|_| network.refused()).collect();
    let second = all.split_off(3);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (seen, table) = (Arc::clone(&asked), HashMap::from([("one.test", all.clone()), ("two.test", second.clone())]));
    let resolver = service_fn(move |address: Address| {
        let host = address.host();
        let answer = table[&*host].clone();
        seen.lock().unwrap().push(host);
        async move { Ok::<_, BoxError>(answer) }
    });
    let builder = Session::builder().contact_points(["one.test", "two.test"]).resolver(resolver);
    let error = builder.connector(network.connector()).build().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable);
    assert!(error.to_string().starts_with("no contact point was reachable"), "{error}");
    let [one, two] = error.contact_points() else { panic!("{error}") };
    assert_eq!((&*one.name, &*two.name), ("one.test:9042", "two.test:9042"));
    for (contact_point, addrs) in [(one, all), (two, second)] {
        let mut failed: Vec<_> = contact_point.error.failed().iter().map(|failed| failed.addr).collect();
        failed.sort();
        assert_eq!(failed, addrs);
        assert_eq!(contact_point.error.class(), Class::Ordinary);
    }
    assert_eq!(*asked.lock().unwrap(), ["one.test", "two.test"], "one lookup for each");
}

/// connect 29: a fixed answer order whose first record cannot identify itself: twenty sessions, all connect.
/// reviewer 29: the live address is not out of reach.
#[tokio::test(start_paused = true)]
async fn twenty_sessions() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).node(0, |facts| facts.host_id = None);
    let cluster = cluster.start().await.unwrap();
    let mut first = HashMap::<SocketAddr, usize>::new();
    for _ in 0..20 {
        let before = network.dialled().len();
        let builder = named(&network, cluster.addrs()).candidate_order(Order::Shuffle);
        let session = builder.build().await.unwrap();
        *first.entry(network.dialled()[before]).or_default() += 1;
        drop(session);
        all_closed(cluster.log()).await;
    }
    assert_eq!(first.len(), 2, "never the same bad address each time: {first:?}");
}

/// connect 30: two sessions in one process do not influence each other's order.
#[tokio::test(start_paused = true)]
async fn sessions_do_not_influence_each_other() {
    let network = Network::new();
    let addrs: Vec<_> = (0..5).map(|_| network.refused()).collect();
    let order = async |seed: u64| {
        let builder = named(&network, addrs.clone()).candidate_order(Order::Shuffle).candidate_seed(seed);
        let error = builder.build().await.unwrap_err();
        attempts(&error).iter().map(|failed| failed.addr).collect::<Vec<_>>()
    };
    let alone = order(7).await;
    let mut others = Vec::new();
    for seed in 0..10 {
        others.push(order(seed).await);
        assert_eq!(order(7).await, alone);
    }
    others.dedup();
    assert!(others.len() > 5, "the seed decides the order: {others:?}");
}

/// connect 34: each address runs through everything: transport, TLS, handshake, identity, REGISTER.
#[tokio::test(start_paused = true)]
async fn each_address_runs_through_everything() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(4);
    let faults = [Stage::Startup, Stage::Cluster, Stage::Identity, Stage::Register];
    let busy = || Fault::error(0x1001, "busy");
    let cluster = faults.iter().enumerate().fold(cluster, |builder, (node, stage)| builder.fault(node, *stage, busy()));
    let cluster = cluster.start().await.unwrap();
    let error = named(&network, cluster.addrs()).build().await.unwrap_err();
    assert_eq!(stages(&error), ["startup", "cluster", "identity", "register"]);
    for (node, last) in cluster.nodes().iter().zip(faults) {
        let order = [Stage::Options, Stage::Startup, Stage::Cluster, Stage::Identity, Stage::Register];
        let through = order.iter().position(|stage| *stage == last).unwrap();
        assert_eq!(node.connections()[0].stages(), order[..=through]);
    }
}

/// connect 39: the walk serves the first control connect and the connect to a node alike.
#[tokio::test(start_paused = true)]
async fn both_kinds_of_connect() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let addrs = [network.refused(), cluster.node(0).addr()];
    let session = named(&network, addrs).build().await.unwrap();
    assert_eq!(network.dialled()[..2], addrs);
    drop(session);

    let stack = TestStack::new(&network, addrs, |builder| builder);
    let node = stack.open().expecting_host(cluster.node(0).host_id().unwrap());
    let established = stack.connect(node).await.unwrap();
    assert_eq!((established.addr, established.failed.len()), (addrs[1], 1));
}

/// scenario H9: six silent records and a budget: it ends by the budget plus one attempt, and counts the untried.
/// reviewer 28: a total budget, looked at between attempts.
/// connect D10: an optional budget over the whole connect.
#[tokio::test(start_paused = true)]
async fn a_budget() {
    let network = Network::new();
    let silent: Vec<_> = (0..6).map(|_| network.mute()).collect();
    let builder = named(&network, silent).sequential().max_candidate_addresses(6);
    let (result, took) = timed(builder.connect_budget(Duration::from_secs(12))).await;
    let error = result.unwrap_err();
    assert_eq!((attempts(&error).len(), error.contact_points()[0].error.untried()), (3, 3));
    assert_eq!(took, 3 * LIMIT);
    assert!(error.to_string().contains("3 more not tried"), "{error}");
}

/// scenario H9: a handshake in progress at the deadline may finish and win.
#[tokio::test(start_paused = true)]
async fn a_budget_does_not_cut() {
    let network = Network::new();
    let slow = Fault::Delay(Duration::from_secs(4)).times(1);
    let cluster = Cluster::builder().network(&network).fault(0, Stage::Startup, slow).start().await.unwrap();
    let addrs = [network.mute(), cluster.node(0).addr()];
    let (result, took) =
        timed(named(&network, addrs).sequential().connect_budget(LIMIT + Duration::from_secs(1))).await;
    result.unwrap();
    assert_eq!(took, LIMIT + Duration::from_secs(4));
}

/// report 26: peers that advertise black holes: the session opens as soon as one node is connected.
#[tokio::test(start_paused = true)]
async fn black_holes_among_the_nodes() {
    let network = Network::new();
    let mut cluster = Cluster::builder().network(&network).nodes(5);
    for index in 1..5 {
        let hole = network.black_hole();
        cluster = cluster.node(index, move |facts| facts.address = Some(hole));
    }
    let cluster = cluster.start().await.unwrap();
    let (result, took) = timed(named(&network, [cluster.node(0).addr()])).await;
    let session = result.unwrap();
    assert_eq!(took, Duration::ZERO);
    drop(session);
}

/// report 34: one contact point of nine is a black hole: it costs one connect limit, which is a limit of its own.
#[tokio::test(start_paused = true)]
async fn a_black_hole_among_contact_points() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(8).start().await.unwrap();
    let limit = Duration::from_millis(400);
    let builder = Session::builder().contact_point(network.black_hole().to_string());
    let builder = builder.contact_points(cluster.addrs().iter().map(SocketAddr::to_string));
    let builder = builder.connector(network.connector()).init_timeout(Duration::from_secs(60)).connect_timeout(limit);
    let (result, took) = timed(builder).await;
    result.unwrap();
    assert_eq!(took, limit);

    // Behind one name it costs the delay.
    let all: Vec<_> = [network.black_hole()].into_iter().chain(cluster.addrs()).collect();
    let (result, took) = timed(named(&network, all)).await;
    result.unwrap();
    assert_eq!(took, DELAY);
}
