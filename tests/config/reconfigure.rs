//! Other settings for a session that runs.

use std::time::Duration;

use messina::{
    Session,
    config::{Config, OPTIONS},
    error::{ConfigError, Kind},
    layers::{FixedResolver, Name, Order, Resolved},
    session::SessionBuilder,
    testkit::{Answer, Cluster, Fault, Network, Stage},
};
use tokio::time::{Instant, sleep};

const SOON: Duration = Duration::from_secs(5);

fn over(network: &Network, cluster: &Cluster) -> SessionBuilder {
    let name = "db.test".parse::<Name>().unwrap();
    let resolver = FixedResolver::new().with(name, cluster.addrs().into_iter().map(Resolved::from));
    Session::builder().contact_point("db.test").resolver(resolver).connector(network.connector())
}

/// The settings that another builder would have.
fn with(builder: &SessionBuilder, option: &str, value: &str) -> Config {
    builder.clone().set(option, value).check().unwrap()
}

/// Requests that begin after a change follow it; what is fixed is refused by name, and then nothing changes.
#[tokio::test(start_paused = true)]
async fn requests_follow() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    cluster.prime("SELECT slow", Answer::void().delayed(Duration::from_secs(60)));
    let builder = over(&network, &cluster);
    let session = builder.clone().build().await.unwrap();
    session.reconfigure(with(&builder, "basic.request.timeout", "2 s")).unwrap();
    let start = Instant::now();
    assert!(session.execute("SELECT slow", ()).await.unwrap_err().is_timeout());
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(session.config().request_timeout, Duration::from_secs(2));

    let both = builder.clone().set("basic.request.timeout", "3 s").set("basic.session-keyspace", "other");
    let error = session.reconfigure(both.check().unwrap()).unwrap_err();
    assert_eq!(error.kind(), Kind::Config);
    let refused = error.find::<ConfigError>().unwrap();
    assert_eq!(refused.option(), "basic.session-keyspace");
    assert!(refused.value().contains("other") && refused.allowed().contains("fixed"), "{refused}");
    assert_eq!(session.config().request_timeout, Duration::from_secs(2));
}

/// Each option that the table calls fixed is refused, each of the others is taken.
#[tokio::test(start_paused = true)]
async fn as_the_table_says() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let builder = over(&network, &cluster);
    let session = builder.clone().build().await.unwrap();
    let others = [
        "a.test",
        "7",
        "3",
        "20 s",
        "false",
        "true",
        "ONE",
        "SERIAL",
        "as-given",
        "warn",
        "lz4",
        "verified",
        "64 KiB",
        "300",
        "65000",
        "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
    ];
    let by_others = [".tls.", ".sni.", ".client-routes."];
    for option in OPTIONS.iter().filter(|option| !by_others.iter().any(|part| option.name.contains(part))) {
        let changed = others.iter().filter_map(|value| builder.clone().set(option.name, value).check().ok());
        let mut tried = 0;
        for config in changed {
            tried += 1;
            let result = session.reconfigure(config);
            if option.runtime || option.name == "advanced.resolve-contact-points" {
                result.unwrap_or_else(|error| panic!("{}: {error}", option.name));
            } else if let Err(error) = result {
                assert_eq!(error.find::<ConfigError>().unwrap().option(), option.name);
            } else {
                // What it was before is no change.
                continue;
            }
        }
        assert!(tried > 0, "no value for {}", option.name);
    }
}

/// Connects that begin after a change follow it, through a stack that was built anew.
#[tokio::test(start_paused = true)]
async fn connects_follow() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let builder = over(&network, &cluster);
    let session = builder.clone().build().await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 2).await.unwrap();
    let mut config = builder.clone().init_timeout(Duration::from_secs(1));
    config = config.set("advanced.connection.pool.local.size", "3");
    session.reconfigure(config.check().unwrap()).unwrap();
    // The pool gets its size at once.
    cluster.wait_for(SOON, |seen| seen.open() == 4).await.unwrap();

    // A silent step costs what it may cost now.
    cluster.fault(Stage::Startup, Fault::Silence);
    let start = Instant::now();
    cluster.node(0).reset_connections();
    cluster.wait_for(SOON, |seen| seen.open() > 0).await.unwrap();
    cluster.wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    cluster.clear_faults();
    cluster.wait_for(SOON * 10, |seen| seen.open() == 4).await.unwrap();
    drop(session);
}

/// connect 132: the switch to fall back to the original contact points is read per plan.
#[tokio::test(start_paused = true)]
async fn the_fallback_is_read_per_plan() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let node = cluster.node(0);
    let (old, new) = (node.addr(), ([10, 77, 0, 1], 9042).into());
    // The name leads to where the node will be, after where it is.
    let name = "db.test".parse::<Name>().unwrap();
    let resolver = FixedResolver::new().with(name, [old, new].map(Resolved::from));
    let builder = Session::builder()
        .contact_point("db.test")
        .resolver(resolver)
        .connector(network.connector())
        .candidate_order(Order::AsGiven);
    let session = builder.clone().build().await.unwrap();
    sleep(SOON).await;
    let option = "advanced.control-connection.reconnection.fallback-to-original-contact-points";
    session.reconfigure(with(&builder, option, "false")).unwrap();

    network.move_node(node, new).unwrap();
    node.reset_connections();
    sleep(SOON * 6).await;
    assert_eq!(network.dials(new), 0, "no plan comes to the contact points");
    session.reconfigure(with(&builder, option, "true")).unwrap();
    sleep(SOON * 2).await;
    assert!(network.dials(new) > 0, "the next one does");
}
