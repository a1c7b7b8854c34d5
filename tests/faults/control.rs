//! Every fault on the way of a new control connection, to a node that is known and to a name.

use std::time::Duration;

use messina::testkit::{Stage, TestCa};

use crate::{
    cases::{self, Case},
    scene::{Place, QUERY, Scene, held_up, to_a_known_node, until},
    support::{LIMIT, Mode},
    world::check,
};

/// Where the way leads that is left when the first node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To the second node, by its address.
    Node,
    /// Back to the contact point, whose name now has other addresses.
    Name,
}

/// How long a look takes, and how much later than due something may be seen.
const LOOK: Duration = Duration::from_millis(10);

async fn one(way: Way, stage: Stage, case: &Case, place: Place, mode: Mode, ca: &TestCa) -> Result<(), String> {
    let scene = Scene::new(stage, case.given, ca, |builder| {
        let builder = builder.nodes(3).node(2, |facts| facts.listed = false);
        // By name: nobody knows the second either, so that only the name leads there.
        builder.node(1, move |facts| facts.listed = way == Way::Node)
    })
    .await;
    let [first, good, other] = scene.cluster.addrs()[..] else { panic!("three nodes") };
    if way == Way::Node {
        let as_good = scene.cluster.node(1).host_id();
        scene.cluster.node(2).set(|facts| (facts.host_id, facts.address) = (as_good, Some(good)));
    }
    let faulty = if place == Place::Only { good } else { other };
    let node = scene.cluster.nodes().iter().find(|node| node.addr() == faulty).unwrap();
    let addrs = place.addrs(scene.dead, faulty, good);

    let session = scene.builder(mode).build().await.map_err(|error| error.to_string())?;
    let pools = if way == Way::Node { 2 } else { 1 };
    until(LOOK, || scene.network.held().len() == pools + 1).await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    match way {
        Way::Node => scene.names.set("10.0.0.2", addrs.clone()),
        Way::Name => scene.names.set("db.test", addrs.clone()),
    }
    node.fault(stage, case.rule.clone());
    let from = scene.network.dialled().len();
    scene.cluster.node(0).kill().await;

    // To a node that is known the version is, so its refusal is final; otherwise the latched one is the only one tried.
    let for_good = case.refuses_version() && way == Way::Node;
    let among = [scene.dead, faulty, good];
    let (ends_at, expected) = match case.failure() {
        None => (Some(faulty), addrs[..addrs.len() - usize::from(place != Place::Only)].to_vec()),
        Some(_) if place == Place::Only || for_good => (None, addrs[..=usize::from(place == Place::Middle)].to_vec()),
        Some(_) => (Some(good), addrs.clone()),
    };
    let after = case.failure().map_or(case.delay(), |(at, after)| match place {
        Place::Only => after,
        _ => held_up(mode, at, after),
    });
    match ends_at {
        Some(addr) => {
            let took = until(after + LOOK, || scene.controls() == [addr]).await?;
            check("not before its time", &(took + LOOK >= after), &true)?;
        }
        None => {
            tokio::time::sleep(after + LOOK).await;
            check("control connections", &scene.controls(), &vec![])?;
        }
    }
    let seen: Vec<_> = scene.dialled(from, &among).into_iter().take(expected.len()).collect();
    check("dialled", &seen, &expected)?;
    if way == Way::Node && ends_at.is_some() {
        session.execute(QUERY, ()).await.map_err(|error| format!("the session does not serve: {error}"))?;
    }

    // Gone: the next round, about a second after the one that may still run, leads back.
    scene.cluster.clear_faults();
    let back = until(LIMIT + Duration::from_secs(3), || scene.controls().len() == 1).await;
    back.map_err(|why| format!("recovery: {why}"))?;
    check("the first is not asked", &(scene.controls() != [first]), &true)?;
    until(Duration::from_secs(3), || scene.pooled(good) + scene.pooled(other) > 0).await?;
    session.execute(QUERY, ()).await.map_err(|error| format!("the session does not serve again: {error}"))?;
    drop(session);
    scene.before.check(&scene.network).await
}

async fn run(way: Way, stages: Vec<(Stage, Vec<Case>)>) {
    let ca = TestCa::new();
    let mut wrong = Vec::new();
    for (stage, cases) in stages {
        for case in cases {
            for place in Place::ALL {
                for mode in place.modes() {
                    if let Err(what) = one(way, stage, &case, place, mode, &ca).await {
                        wrong.push(format!("{stage:?} {:?} {place:?} {mode:?}: {what}", case.rule));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// connect 39: the walk over addresses serves a new control connection to a known node.
/// connect 88: there REGISTER follows at once, and its failure is one address's.
#[tokio::test(start_paused = true)]
async fn to_a_node() {
    let mut stages = to_a_known_node();
    stages.push((Stage::Register, cases::register()));
    run(Way::Node, stages).await;
}

/// connect 39: and the one to a contact point.
/// connect 130: every known address is dead and the name leads elsewhere: back within one round.
/// scenario H10: live nodes that all vanish, DNS moved to a new set: recovered by the original name.
#[tokio::test(start_paused = true)]
async fn to_a_name() {
    let mut stages = to_a_known_node();
    stages.push((Stage::Identity, cases::identity()));
    stages.push((Stage::Register, cases::register()));
    run(Way::Name, stages).await;
}
