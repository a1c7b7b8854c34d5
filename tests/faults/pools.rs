//! Every fault on the way of a node's own connection: when it is first filled, and when it is opened again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use messina::{
    layers::Address,
    testkit::{Scylla, Stage, TestCa},
};
use tower::{ServiceExt, service_fn};

use crate::{
    cases::Case,
    given::Given,
    scene::{Place, QUERY, Scene, held_up, to_a_known_node, until},
    support::{Events, Mode},
    world::check,
};

/// What the connection is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// The node is new to the session.
    Fill,
    /// The connection that there was is lost.
    Reconnect,
}

/// How long a look takes, and how much later than due something may be seen.
const LOOK: Duration = Duration::from_millis(10);

async fn one(purpose: For, stage: Stage, case: &Case, place: Place, mode: Mode, ca: &TestCa) -> Result<(), String> {
    // The control connection is on the first node. The second is known by its address, which a resolver leads to
    // several places; the third answers at one of them, as the second.
    let scene =
        Scene::new(stage, case.given, ca, |builder| builder.nodes(3).node(2, |facts| facts.listed = false)).await;
    let [_, good, other] = scene.cluster.addrs()[..] else { panic!("three nodes") };
    let as_good = scene.cluster.node(1).host_id();
    scene.cluster.node(2).set(|facts| (facts.host_id, facts.address) = (as_good, Some(good)));
    let faulty = if place == Place::Only { good } else { other };
    let node = scene.cluster.nodes().iter().find(|node| node.addr() == faulty).unwrap();
    let addrs = place.addrs(scene.dead, faulty, good);
    let events = Events::watch();

    let builder = scene.builder(mode);
    let befall = || {
        scene.names.set("10.0.0.2", addrs.clone());
        node.fault(stage, case.rule.clone());
        scene.network.dialled().len()
    };
    let (session, from) = match purpose {
        For::Fill => {
            let from = befall();
            (builder.build().await.map_err(|error| error.to_string())?, from)
        }
        For::Reconnect => {
            let session = builder.build().await.map_err(|error| error.to_string())?;
            until(LOOK, || scene.pooled(good) == 1).await?;
            // One that served for a while is opened again at once.
            tokio::time::sleep(Duration::from_secs(5)).await;
            let from = befall();
            let lost = scene.pool(good);
            scene.cluster.node(1).reset_connections();
            until(LOOK, || !scene.pool(good).contains(&lost[0])).await?;
            (session, from)
        }
    };

    // An identified node's version is the same wherever it answers, so its refusal ends the walk.
    let for_good = case.refuses_version();
    let among = [scene.dead, faulty, good];
    let (ends_at, expected) = match case.failure() {
        None => (Some(faulty), addrs[..addrs.len() - usize::from(place != Place::Only)].to_vec()),
        Some(_) if place == Place::Only || for_good => (None, addrs[..=usize::from(place == Place::Middle)].to_vec()),
        Some(_) => (Some(good), addrs.clone()),
    };
    let fails = case.failure();
    let after = fails.map_or(case.delay(), |(at, after)| match place {
        Place::Only => after,
        _ => held_up(mode, at, after),
    });
    match ends_at {
        Some(addr) => {
            let took = until(after + LOOK, || scene.pooled(addr) == 1).await?;
            // The last step is seen when it is asked for.
            let in_time = took + 2 * LOOK >= after || stage == Stage::Keyspace;
            check("not before its time", &in_time, &true)?;
        }
        None => {
            tokio::time::sleep(after + LOOK).await;
            check("no connection", &(scene.pooled(good) + scene.pooled(other)), &0)?;
            let (at, _) = fails.ok_or("it fails")?;
            let told = events.warnings();
            let id = as_good.unwrap_or_default().to_string();
            let told = told.iter().find(|event| event.field("host_id") == id).ok_or("no warning")?;
            check("the warning names the address", &told.message.contains(&faulty.to_string()), &true)?;
            check("the warning names the stage", &told.message.contains(at), &true)?;
            case.told(at, &told.message)?;
        }
    }
    check("dialled", &scene.dialled(from, &among), &expected)?;

    // The others are not disturbed.
    session.execute(QUERY, ()).await.map_err(|error| format!("the session does not serve: {error}"))?;
    check("control connections", &scene.controls(), &vec![scene.cluster.node(0).addr()])?;

    scene.cluster.clear_faults();
    let within = Duration::from_secs(if ends_at.is_some() { 1 } else { 70 });
    until(within, || scene.pooled(good) + scene.pooled(other) == 1).await.map_err(|why| format!("recovery: {why}"))?;
    drop(session);
    scene.before.check(&scene.network).await
}

async fn run(purpose: For) {
    let ca = TestCa::new();
    let mut wrong = Vec::new();
    for (stage, cases) in to_a_known_node() {
        for case in cases {
            for place in Place::ALL {
                for mode in place.modes() {
                    if let Err(what) = one(purpose, stage, &case, place, mode, &ca).await {
                        wrong.push(format!("{stage:?} {:?} {place:?} {mode:?}: {what}", case.rule));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// connect 39: the walk over addresses serves the filling of a pool, with a dead or faulty one at every place.
/// connect 46: a version that an identified node refuses ends the walk.
/// connect 49: a refused login does not, identified or not.
#[tokio::test(start_paused = true)]
async fn filled() {
    run(For::Fill).await;
}

/// connect 39: the same when the connection of a pool is opened again.
/// connect 9: a redirecting resolver's second and third answer are reachable.
#[tokio::test(start_paused = true)]
async fn opened_again() {
    run(For::Reconnect).await;
}

/// connect 39: and when a pool grows: the node told two shards on its first connection, and by the second its address
/// leads to a dead one as well.
#[tokio::test(start_paused = true)]
async fn grown() {
    for mode in Mode::BOTH {
        let ca = TestCa::new();
        let scene = Scene::new(Stage::Tcp, Given::Login, &ca, |builder| builder.nodes(2).scylla(Scylla::new(2))).await;
        let good = scene.cluster.node(1).addr();
        let (names, dead) = (scene.names.clone(), scene.dead);
        let lookups = Arc::new(AtomicUsize::new(0));
        let resolver = service_fn(move |address: Address| {
            let grows = address.ip() == Some(good.ip()) && lookups.fetch_add(1, Ordering::Relaxed) > 0;
            let names = names.clone();
            async move { if grows { Ok(vec![dead.into(), good.into()]) } else { names.oneshot(address).await } }
        });
        let session = scene.builder(mode).resolver(resolver).build().await.unwrap();
        until(Duration::from_secs(1), || scene.pooled(good) == 2).await.unwrap();
        assert_eq!(scene.dialled(0, &[scene.dead, good]), [good, scene.dead, good]);
        session.execute(QUERY, ()).await.unwrap();
        drop(session);
        scene.before.check(&scene.network).await.unwrap();
    }
}
