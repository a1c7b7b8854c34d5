//! Every fault of a lookup, at the first connect and when a lost control connection is opened again.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use messina::{
    Session,
    layers::Resolved,
    testkit::{Cluster, NameAnswer, Names, Network, rows},
};

use crate::{
    scene::{QUERY, controls, until},
    support::{LIMIT, Mode, timed},
    world::{Before, check},
};

/// What a lookup does, and what the error must say; `None` where it does not fail.
fn lookups(good: SocketAddr, dead: SocketAddr) -> Vec<(NameAnswer, Option<&'static str>, Duration)> {
    let addresses = |addrs: &[SocketAddr]| addrs.iter().copied().map(Resolved::from).collect::<Vec<_>>();
    let thousand: Vec<_> =
        (0..1000_u32).map(|n| SocketAddr::from(([10, 77, (n / 250) as u8, (n % 250) as u8], 9042))).collect();
    let now = Duration::ZERO;
    vec![
        (NameAnswer::Error("the zone is on fire".into()), Some("the zone is on fire"), now),
        (NameAnswer::PanicAtOnce, Some("panic"), now),
        (NameAnswer::Panic, Some("panic"), now),
        (NameAnswer::Addresses(vec![]), Some("no address"), now),
        (NameAnswer::Silence, Some("no answer within 5s"), LIMIT),
        (NameAnswer::Late(LIMIT * 2, addresses(&[good])), Some("no answer within 5s"), LIMIT),
        (NameAnswer::Addresses(addresses(&thousand)), Some("10.77."), now),
        (NameAnswer::Addresses(addresses(&[dead])), Some("refused"), now),
        (NameAnswer::Late(Duration::from_millis(100), addresses(&[good])), None, Duration::from_millis(100)),
        (NameAnswer::Addresses(addresses(&[dead, dead, good, dead, good])), None, now),
    ]
}

struct Scene {
    network: Network,
    cluster: Cluster,
    names: Names,
    dead: SocketAddr,
    before: Before,
}

async fn scene() -> Scene {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).start().await.unwrap();
    cluster.prime(QUERY, rows!["id int"; (1,)]);
    // Nobody tells of the second, so that only a name leads there.
    cluster.node(1).set(|facts| facts.listed = false);
    let (names, dead) = (Names::new(), network.refused());
    let before = Before::session();
    Scene { network, cluster, names, dead, before }
}

/// scenario S4: every fault of a lookup, at a contact point that stands first, in the middle, and alone: an error that
/// names the host, and the plan continues.
/// connect 16: nothing hangs.
/// connect 15: nor where the resolver panics.
#[tokio::test(start_paused = true)]
async fn at_the_first_connect() {
    let mut wrong = Vec::new();
    for mode in Mode::BOTH {
        for index in 0..lookups(([0, 0, 0, 0], 0).into(), ([0, 0, 0, 0], 0).into()).len() {
            for points in [&["bad.test", "good.test"][..], &["dead.test", "bad.test", "good.test"], &["bad.test"]] {
                if let Err(why) = first(mode, index, points).await {
                    wrong.push(format!("lookup {index} {points:?} {mode:?}: {why}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

async fn first(mode: Mode, index: usize, points: &[&str]) -> Result<(), String> {
    let scene = scene().await;
    let good = scene.cluster.node(0).addr();
    let (answer, says, after) = lookups(good, scene.dead).swap_remove(index);
    scene.names.answer("bad.test", answer);
    scene.names.set("good.test", [good]);
    scene.names.set("dead.test", [scene.network.refused()]);
    let builder = mode.of(Session::builder()
        .contact_points(points.iter().copied())
        .resolver(scene.names.clone())
        .connector(scene.network.connector()));
    let (result, took) = timed(builder.clone()).await;
    check("time", &took, &after)?;
    let alone = points == ["bad.test"];
    check("connected", &result.is_ok(), &(says.is_none() || !alone))?;
    check("one lookup", &scene.names.asked("bad.test"), &1)?;
    check("the next is asked", &scene.names.asked("good.test"), &usize::from(says.is_some() && !alone))?;
    if let (Err(error), Some(says)) = (&result, says) {
        let report = error.report().to_string();
        check("names the host", &report.contains("bad.test"), &true)?;
        check(&format!("{says:?} in {report}"), &report.contains(says), &true)?;
    }
    drop(result);
    scene.before.check(&scene.network).await?;
    // The lookup is well again.
    scene.names.set("bad.test", [good]);
    drop(builder.build().await.map_err(|error| format!("did not recover: {error}"))?);
    scene.before.check(&scene.network).await
}

/// connect 130: the same when every node is gone and only the name leads on: back within a round of its being well.
/// connect 12: nothing waits for a lookup but the connect that asked.
/// reviewer 9: a reconnect is bounded as the first connect is.
#[tokio::test(start_paused = true)]
async fn at_a_reconnect() {
    let mut wrong = Vec::new();
    for index in 0..lookups(([0, 0, 0, 0], 0).into(), ([0, 0, 0, 0], 0).into()).len() {
        if let Err(why) = again(index).await {
            wrong.push(format!("lookup {index}: {why}"));
        }
    }
    assert!(wrong.is_empty(), "{} cases went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

async fn again(index: usize) -> Result<(), String> {
    let scene = scene().await;
    let next = scene.cluster.node(1).addr();
    let (answer, says, after) = lookups(next, scene.dead).swap_remove(index);
    scene.names.set("db.test", [scene.cluster.node(0).addr()]);
    let builder = Session::builder().contact_point("db.test").resolver(scene.names.clone());
    let session = builder.connector(scene.network.connector()).build().await.map_err(|error| error.to_string())?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    scene.names.answer("db.test", answer);
    scene.cluster.node(0).kill().await;
    let lookups = scene.names.asked("db.test");
    tokio::time::sleep(after + Duration::from_millis(50)).await;
    match says {
        None => check("control", &controls(&scene.network, &scene.cluster), &vec![next])?,
        Some(_) => check("control", &controls(&scene.network, &scene.cluster), &vec![])?,
    }
    check("looked up at once", &(scene.names.asked("db.test") >= 1.max(lookups)), &true)?;
    // A minute of it: rounds go on, about one a second where the lookup does not hold them up.
    if says.is_some() {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let rounds = scene.names.asked("db.test") - lookups;
        let least = if after > Duration::ZERO { 7 } else { 25 };
        check(&format!("{rounds} lookups in a minute"), &(rounds >= least && rounds <= 90), &true)?;
    }
    scene.names.set("db.test", [next]);
    let back = until(LIMIT + Duration::from_secs(3), || controls(&scene.network, &scene.cluster) == [next]).await;
    back.map_err(|why| format!("recovery: {why}"))?;
    until(Duration::from_secs(2), || scene.network.held().len() == 2).await?;
    session.execute(QUERY, ()).await.map_err(|error| format!("does not serve again: {error}"))?;
    drop(session);
    scene.before.check(&scene.network).await
}

/// reviewer 26: a link-local address keeps its zone, which is part of what is dialled.
/// connect 20: and the zone stays a number.
/// report 10: both families of a name are used, whichever is dead.
#[tokio::test(start_paused = true)]
async fn families_and_zones() {
    let scoped = |zone| SocketAddr::from(std::net::SocketAddrV6::new("fe80::1".parse().unwrap(), 9042, 0, zone));
    let plain = |text: &str| SocketAddr::new(text.parse::<IpAddr>().unwrap(), 9042);
    for (alive, addrs) in [
        (scoped(7), vec![scoped(8), scoped(7)]),
        (plain("2001:db8::1"), vec![plain("10.9.9.9"), plain("2001:db8::1")]),
        (plain("10.9.9.9"), vec![plain("2001:db8::1"), plain("10.9.9.9")]),
    ] {
        let network = Network::new();
        let cluster = Cluster::builder().network_at(&network, [alive]).start().await.unwrap();
        let before = Before::session();
        let names = Names::new();
        names.set("db.test", addrs.clone());
        let builder = Session::builder().contact_point("db.test").resolver(names).connector(network.connector());
        let session = builder.candidate_order(messina::layers::Order::AsGiven).build().await.unwrap();
        assert_eq!(network.dialled()[..2], addrs);
        until(Duration::from_secs(1), || network.held().len() == 2).await.unwrap();
        assert!(network.held().iter().all(|(_, server)| *server == alive), "{:?}", network.held());
        drop((session, cluster));
        before.check(&network).await.unwrap();
    }
}
