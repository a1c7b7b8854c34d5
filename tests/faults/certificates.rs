//! Every wrong certificate, on the way of the first connect and of a pool.

use std::time::Duration;

use messina::{
    Session,
    config::TlsSettings,
    layers::Order,
    testkit::{Cluster, Fault, Names, Network, ServerTls, Stage, TestCa, rows},
};

use crate::{
    scene::{Place, QUERY, controls, until},
    support::{Events, Mode},
    world::{Before, check},
};

/// What the faulty server shows, the stage at which that is seen, and what the cause must say.
fn servers(ca: &TestCa) -> Vec<(&'static str, Option<ServerTls>, &'static [&'static str], &'static str)> {
    let names = ["db.test", "10.0.0.1", "10.0.0.2", "10.0.0.3"];
    vec![
        ("speaks no TLS", None, &["tls"], "corrupt message"),
        ("another name", Some(ca.server(["other.test"])), &["tls"], "not valid for name"),
        ("an unknown authority", Some(TestCa::new().server(names)), &["tls"], "UnknownIssuer"),
        ("expired", Some(ca.server(names).expired()), &["tls"], "expired"),
        // With TLS 1.3 the client is done before the server has looked: the refusal is the first thing it reads.
        (
            "demands a certificate",
            Some(ca.server(names).with_client_auth()),
            &["tls", "options"],
            "CertificateRequired",
        ),
    ]
}

/// connect 52: whatever is wrong with a certificate is one address's; the error says what, and where.
/// connect 39: at the first connect and when a pool is filled.
#[tokio::test(start_paused = true)]
async fn wrong() {
    let ca = TestCa::new();
    let mut wrong = Vec::new();
    for (what, tls, stages, says) in servers(&ca) {
        for place in Place::ALL {
            for mode in place.modes() {
                for pool in [false, true] {
                    if let Err(why) = one(&ca, tls.clone(), stages, says, place, mode, pool).await {
                        wrong.push(format!("{what} {place:?} {mode:?} pool {pool}: {why}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

async fn one(
    ca: &TestCa,
    tls: Option<ServerTls>,
    stages: &[&str],
    says: &str,
    place: Place,
    mode: Mode,
    pool: bool,
) -> Result<(), String> {
    let right = ca.server(["db.test", "10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    let network = Network::new();
    let builder = Cluster::builder().network(&network).nodes(3).tls(right.clone());
    let cluster = builder.node(2, |facts| facts.listed = false).start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    // The first connect goes by a name, the pool's by the address of the second node, which leads to several.
    let good = cluster.node(usize::from(pool)).clone();
    let faulty = if place == Place::Only { good.clone() } else { cluster.node(2).clone() };
    faulty.set(|facts| facts.tls = tls);
    let dead = network.refused();
    let addrs = place.addrs(dead, faulty.addr(), good.addr());
    let names = Names::new();
    names.set("db.test", [cluster.node(0).addr()]);
    names.set(if pool { "10.0.0.2" } else { "db.test" }, addrs.clone());
    let before = Before::session();
    let events = Events::watch();
    let builder = Session::builder()
        .contact_point("db.test")
        .resolver(names.clone())
        .connector(network.connector())
        .candidate_order(Order::AsGiven)
        .tls(TlsSettings::new(ca.client()));
    let result = mode.of(builder.clone()).build().await;
    let lost = place == Place::Only;
    check("connected", &result.is_ok(), &(pool || !lost))?;
    tokio::time::sleep(Duration::from_millis(20)).await;

    let dialled: Vec<_> = network.dialled().into_iter().filter(|addr| addrs.contains(addr)).collect();
    let walked = if pool { &dialled[..] } else { &dialled[..dialled.len().min(addrs.len())] };
    check("dialled", &walked, &&addrs[..])?;
    // One line tells of it: the next address is tried, or none is left.
    let word = if lost { "could not connect" } else { "trying next address" };
    let told = events.with(word);
    let told = told.iter().find(|event| event.field("failed") == faulty.addr().to_string() || lost);
    let told = told.ok_or(format!("nothing is told: {:?}", events.with("")))?;
    let line = format!("{} {} {}", told.message, told.field("stage"), told.field("cause"));
    check(&format!("stage in {line}"), &stages.iter().any(|stage| line.contains(stage)), &true)?;
    check(&format!("{says:?} in {line}"), &line.contains(says), &true)?;
    if let Err(error) = &result {
        let report = error.report().to_string();
        check(&format!("{says:?} in {report}"), &report.contains(says), &true)?;
        check("names the address", &report.contains(&faulty.addr().to_string()), &true)?;
    }

    // It shows the right one: the session, or another build, gets there.
    faulty.set(|facts| facts.tls = Some(right));
    let session = match result {
        Ok(session) => session,
        Err(_) => mode.of(builder).build().await.map_err(|error| format!("did not recover: {error}"))?,
    };
    let all = until(Duration::from_secs(5), || network.held().len() >= 3).await;
    all.map_err(|why| format!("recovery: {why}, {:?}", network.held()))?;
    check("control", &controls(&network, &cluster).len(), &1)?;
    session.execute(QUERY, ()).await.map_err(|error| format!("does not serve: {error}"))?;
    drop(session);
    before.check(&network).await
}

/// reviewer 41: a certificate that rotates while connections live disturbs none of them; the next one is verified anew.
#[tokio::test(start_paused = true)]
async fn rotated() {
    let (ca, other) = (TestCa::new(), TestCa::new());
    let network = Network::new();
    let tls = ca.server(["db.test", "10.0.0.1", "10.0.0.2"]);
    let cluster = Cluster::builder().network(&network).nodes(2).tls(tls).start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    let names = Names::new();
    names.set("db.test", [cluster.node(0).addr()]);
    let before = Before::session();
    let builder = Session::builder().contact_point("db.test").resolver(names).connector(network.connector());
    let session = builder.tls(TlsSettings::new(ca.client())).build().await.unwrap();
    until(Duration::from_secs(1), || network.held().len() == 3).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;

    // Of the same authority: nobody notices, then or at the next connect.
    let held = network.held();
    cluster.node(1).set(|facts| facts.tls = Some(ca.server(["10.0.0.2"])));
    for _ in 0..10 {
        session.execute(QUERY, ()).await.unwrap();
    }
    assert_eq!(network.held(), held);
    cluster.node(1).reset_connections();
    until(Duration::from_secs(1), || network.held() != held).await.unwrap();
    until(Duration::from_secs(1), || network.held().len() == 3).await.unwrap();

    // Of one that nobody trusts: what lives goes on, the next connect is refused, and the others serve.
    tokio::time::sleep(Duration::from_secs(5)).await;
    cluster.node(1).set(|facts| facts.tls = Some(other.server(["10.0.0.2"])));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(network.held().len(), 3);
    let events = Events::watch();
    cluster.node(1).reset_connections();
    until(Duration::from_secs(2), || network.held().len() == 2).await.unwrap();
    until(Duration::from_secs(5), || events.warned("UnknownIssuer") > 0).await.unwrap();
    for _ in 0..10 {
        session.execute(QUERY, ()).await.unwrap();
    }

    // And back.
    cluster.node(1).set(|facts| facts.tls = Some(ca.server(["10.0.0.2"])));
    cluster.node(1).fault(Stage::Tls, Fault::Delay(Duration::from_millis(1)).times(1));
    until(Duration::from_secs(70), || network.held().len() == 3).await.unwrap();
    drop(session);
    before.check(&network).await.unwrap();
}
