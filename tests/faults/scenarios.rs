//! What users reported, end to end through a session.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use messina::{
    Session, Statement,
    endpoint::{ContactPoint, Endpoint},
    establish::{BoxConnector, Open},
    layers::{Candidate, error::BoxError},
    testkit::{Answer, Cluster, Fault, NameAnswer, Names, Network, Prime, Scylla, Stage, rows},
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};
use tower::{ServiceExt, layer::layer_fn, service_fn};

use crate::{
    scene::{QUERY, controls, until},
    support::{Events, timed},
    world::Before,
};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn cluster(network: &Network, nodes: usize) -> Cluster {
    let cluster = Cluster::builder().network(network).nodes(nodes).start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    cluster
}

/// A session to the first node of it.
pub(crate) async fn session(network: &Network, cluster: &Cluster) -> Session {
    let builder = Session::builder().contact_addr(cluster.node(0).addr()).connector(network.connector());
    let session = builder.build().await.unwrap();
    until(5 * SECOND, || network.held().len() == cluster.nodes().len() + 1).await.unwrap();
    session
}

/// report 4: equality and hashes of endpoints are those of values: names go into maps while a lookup would panic.
/// reviewer 49: nor does a name equal the address it leads to.
/// connect 1: nothing but connecting looks a name up.
#[tokio::test(start_paused = true)]
#[expect(clippy::mutable_key_type, reason = "an endpoint of a kind of its own may hold what it likes; these do not")]
async fn names_in_maps() {
    let names = Names::new();
    for name in ["db.test", "localhost", "10.0.0.1"] {
        names.answer(name, NameAnswer::PanicAtOnce);
    }
    let texts = ["db.test", "DB.Test", "localhost", "127.0.0.1", "[::1]", "10.0.0.1", "10.0.0.1:9043", "db.test:9042"];
    let endpoints: Vec<Endpoint> =
        texts.iter().map(|text| ContactPoint::parse(text).unwrap().endpoint().clone()).collect();
    let mut counted: HashMap<Endpoint, usize> = HashMap::new();
    for endpoint in &endpoints {
        *counted.entry(endpoint.clone()).or_default() += 1;
    }
    let distinct: HashSet<String> = endpoints.iter().map(ToString::to_string).map(|text| text.to_lowercase()).collect();
    assert_eq!((counted.len(), distinct.len()), (6, 6), "{counted:?}");
    assert_eq!(counted[&endpoints[0]], 3, "case and the default port make no difference");
    let builder = Session::builder().resolver(names.clone()).contact_points(texts);
    let config = builder.check().unwrap();
    let _ = format!("{config:?}");
    assert_eq!(names.total(), 0);
}

/// Sheds some of the dials, as told by the bits of a number.
fn shedding(
    session: &messina::session::SessionBuilder,
    seed: u64,
    on: Arc<AtomicBool>,
) -> messina::session::SessionBuilder {
    let dials = Arc::new(AtomicUsize::new(0));
    session.clone().transport_layer(layer_fn(move |inner: BoxConnector| {
        let (dials, on) = (Arc::clone(&dials), Arc::clone(&on));
        service_fn(move |candidate: Candidate<Open>| {
            let n = dials.fetch_add(1, Ordering::Relaxed) as u64;
            // Four of five.
            let mixed =
                (seed ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let shed = on.load(Ordering::Relaxed) && !(mixed >> 33).is_multiple_of(5);
            let inner = inner.clone();
            async move {
                match shed {
                    true => Err(BoxError::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset))),
                    false => inner.oneshot(candidate).await,
                }
            }
        })
    }))
}

/// report 32: servers shed four of five connects: building ends either way, and soon; what was built becomes whole.
#[tokio::test(start_paused = true)]
async fn four_of_five_connects_are_shed() {
    let mut built = 0;
    for seed in 0..12 {
        let network = Network::new();
        let cluster = cluster(&network, 6).await;
        let names = Names::new();
        names.set("db.test", cluster.addrs());
        let before = Before::session();
        let on = Arc::new(AtomicBool::new(true));
        let builder = Session::builder().contact_point("db.test").resolver(names).connector(network.connector());
        let (result, took) = timed(shedding(&builder, seed, Arc::clone(&on))).await;
        assert!(took < 10 * SECOND, "seed {seed}: {took:?}");
        if let Ok(session) = result {
            built += 1;
            session.execute(QUERY, ()).await.unwrap();
            sleep(30 * SECOND).await;
            // The longest delay between two tries, with what chance adds to it.
            on.store(false, Ordering::Relaxed);
            let whole = until(70 * SECOND, || network.held().len() == 7).await;
            whole.unwrap_or_else(|why| panic!("seed {seed}: {why}, {:?}", network.held()));
            session.execute(QUERY, ()).await.unwrap();
        }
        before.check(&network).await.unwrap();
    }
    assert!(built >= 3, "{built} of 12");
}

/// report 40: four sessions and three shards on a server that answers one OPTIONS after the other: connects are paced, so
/// that none runs into its limit, and every pool fills.
#[tokio::test(start_paused = true)]
async fn several_sessions_on_a_slow_server() {
    let events = Events::watch();
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(3).scylla(Scylla::new(3)).start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    cluster.fault(Stage::Options, Fault::InLine(Duration::from_millis(400)));
    let mut building = JoinSet::new();
    for _ in 0..4 {
        let builder = Session::builder().contact_addr(cluster.node(0).addr()).connector(network.connector());
        building.spawn(builder.build());
    }
    let sessions: Vec<_> = building.join_all().await.into_iter().map(Result::unwrap).collect();
    // Each a control connection, and three shards on each of three nodes.
    until(60 * SECOND, || network.held().len() == 4 * 10)
        .await
        .unwrap_or_else(|why| panic!("{why}: {:?}", network.held().len()));
    let failed = events.with("no answer within");
    assert!(failed.is_empty(), "{failed:?}");
    for session in &sessions {
        session.execute(QUERY, ()).await.unwrap();
    }
}

/// report 56: one node does not answer PREPARE: preparing has a limit, and what the others prepared works.
#[tokio::test(start_paused = true)]
async fn one_node_stalls_prepare() {
    let network = Network::new();
    let cluster = cluster(&network, 3).await;
    let insert = "INSERT INTO ks.t (id) VALUES (?)";
    cluster.prime(Prime::new(insert).params("id int"), Answer::void());
    let session = session(&network, &cluster).await;
    cluster.node(1).fault(Stage::Prepare, Fault::Silence);
    let limit = 2 * SECOND;
    let statement = Statement::new(insert).with_timeout(limit).with_idempotence(true);
    let mut prepared = Vec::new();
    for _ in 0..6 {
        let started = Instant::now();
        let result = session.prepare(statement.clone()).await;
        assert!(started.elapsed() <= limit, "{:?}", started.elapsed());
        prepared.extend(result.ok());
    }
    let prepared = prepared.pop().expect("two of three nodes answer");
    for _ in 0..30 {
        let started = Instant::now();
        let result = session.execute(&prepared, (7,)).await;
        assert!(started.elapsed() <= limit, "{:?}", started.elapsed());
        assert!(result.is_ok() || started.elapsed() == limit, "{result:?}");
    }
    // Again and again on the same connections: nothing piles up, and when it answers everything works.
    cluster.clear_faults();
    sleep(SECOND).await;
    for _ in 0..30 {
        session.execute(&prepared, (7,)).await.unwrap();
    }
}

/// reviewer 57: one path builds both: a control connection opened again at the contact point asks the same in the same
/// order as the first one did.
#[tokio::test(start_paused = true)]
async fn first_and_later_connects_are_alike() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).user("ada", "pass").start().await.unwrap();
    cluster.node(1).set(|facts| facts.listed = false);
    let names = Names::new();
    names.set("db.test", [cluster.node(0).addr()]);
    let builder = Session::builder().contact_point("db.test").resolver(names.clone()).credentials("ada", "pass");
    let session = builder.connector(network.connector()).keyspace("ks").build().await.unwrap();
    sleep(5 * SECOND).await;
    names.set("db.test", [cluster.node(1).addr()]);
    cluster.node(0).kill().await;
    until(5 * SECOND, || controls(&network, &cluster) == [cluster.node(1).addr()]).await.unwrap();
    sleep(5 * SECOND).await;
    let asked = |node: usize| -> Vec<(Stage, String)> {
        let connections = cluster.node(node).connections();
        let control = connections.iter().find(|one| one.count(Stage::Register) > 0).unwrap();
        let requests = control.requests().filter(|(stage, _)| *stage != Stage::Heartbeat);
        requests.map(|(stage, text)| (stage, text.to_owned())).collect()
    };
    let (first, later) = (asked(0), asked(1));
    // What is read of the schema depends on what is known already; who answered and whom it knows does not.
    let upto = |asked: &[(Stage, String)]| {
        let end = asked.iter().position(|(stage, _)| *stage == Stage::Peers).unwrap();
        asked[..=end].to_vec()
    };
    assert_eq!(upto(&first), upto(&later));
    let stages: Vec<_> = upto(&first).into_iter().map(|(stage, _)| stage).collect();
    assert_eq!(
        stages[..7],
        [
            Stage::Options,
            Stage::Startup,
            Stage::Auth,
            Stage::Cluster,
            Stage::Keyspace,
            Stage::Identity,
            Stage::Register
        ]
    );
    drop(session);
}
