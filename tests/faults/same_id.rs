//! An address where the host id of another known node is told.

use std::{net::SocketAddr, time::Duration};

use messina::testkit::{Fault, Scylla, Stage, TestCa};

use crate::{
    given::Given,
    scene::{Place, QUERY, Scene, controls, until},
    support::{Events, Mode},
    world::check,
};

const LOOK: Duration = Duration::from_millis(10);
const SECOND: Duration = Duration::from_secs(1);

/// What leads to an address where another node answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    Fill,
    Reconnect,
    Control,
}

/// Three nodes that tell their host ids at once; the third is in no list, and says that it is the first.
async fn one(purpose: For, place: Place, mode: Mode, ca: &TestCa) -> Result<(), String> {
    let scene = Scene::new(Stage::Tcp, Given::Login, ca, |builder| {
        builder.nodes(3).scylla(Scylla::new(1)).node(2, |facts| facts.listed = false)
    })
    .await;
    let [first, good, other] = scene.cluster.addrs()[..] else { panic!("three nodes") };
    let ids = [0, 1].map(|index| scene.cluster.node(index).host_id().unwrap());
    scene.cluster.node(2).set(|facts| facts.host_id = Some(ids[0]));
    let addrs = place.addrs(scene.dead, other, good);
    let among = [scene.dead, other, good];
    let events = Events::watch();
    let misled = || scene.names.set("10.0.0.2", addrs.clone());
    let (session, from) = match purpose {
        For::Fill => {
            misled();
            (scene.builder(mode).build().await.map_err(|error| error.to_string())?, 0)
        }
        For::Reconnect | For::Control => {
            let session = scene.builder(mode).build().await.map_err(|error| error.to_string())?;
            until(LOOK, || scene.network.held().len() == 3).await?;
            tokio::time::sleep(5 * SECOND).await;
            misled();
            let from = scene.network.dialled().len();
            match purpose {
                For::Control => scene.cluster.node(0).kill().await,
                _ => scene.cluster.node(1).reset_connections(),
            }
            (session, from)
        }
    };
    tokio::time::sleep(2 * LOOK).await;

    let lost = place == Place::Only;
    let seen: Vec<SocketAddr> = scene.dialled(from, &among);
    check("dialled", &&seen[..addrs.len().min(seen.len())], &&addrs[..])?;
    let expected = if lost { vec![] } else { vec![good] };
    match purpose {
        For::Control => check("control connections", &scene.controls(), &expected)?,
        _ => check("connections", &scene.pooled(good), &expected.len())?,
    }
    check("told apart before anything costs", &scene.cluster.node(2).count(Stage::Startup), &0)?;
    check("nothing is kept there", &scene.network.held().iter().any(|(_, server)| *server == other), &false)?;
    let says = format!("node {} answers, expected {}", ids[0], ids[1]);
    let told: Vec<_> =
        events.with("").iter().map(|event| format!("{} {}", event.message, event.field("cause"))).collect();
    check("who answered is told", &told.iter().any(|line| line.contains(&says)), &true)?;
    let known: Vec<_> = session.topology().nodes().iter().map(|node| node.host_id).collect();
    check("nodes", &known.len(), &2)?;

    // It leads where it should again.
    scene.names.set("10.0.0.2", [good]);
    if purpose != For::Control {
        session.execute(QUERY, ()).await.map_err(|error| format!("the session does not serve: {error}"))?;
    }
    until(70 * SECOND, || scene.pooled(good) == 1).await.map_err(|why| format!("recovery: {why}"))?;
    let control = if purpose == For::Control { good } else { first };
    until(70 * SECOND, || scene.controls() == [control]).await.map_err(|why| format!("recovery: {why}"))?;
    session.execute(QUERY, ()).await.map_err(|error| format!("the session does not serve again: {error}"))?;
    drop(session);
    scene.before.check(&scene.network).await
}

/// reviewer 42: a pool connection, or a control connection to a known node, that leads to another known node is found out
/// by the host id that SUPPORTED tells, at every place among the addresses.
/// scenario S29: before it is used.
/// connect D20: by default it is refused, and the next address is tried.
#[tokio::test(start_paused = true)]
async fn at_an_identified_node() {
    let ca = TestCa::new();
    let mut wrong = Vec::new();
    for purpose in [For::Fill, For::Reconnect, For::Control] {
        for place in Place::ALL {
            for mode in Mode::BOTH {
                if let Err(what) = one(purpose, place, mode, &ca).await {
                    wrong.push(format!("{purpose:?} {place:?} {mode:?}: {what}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// connect D15: at a contact point, of which nothing is expected, a host id that is known at another address is that node
/// at a new address: there is one node of that id and one control connection, and its pool goes where it is now.
/// report 18: no second node comes of it.
#[tokio::test(start_paused = true)]
async fn at_a_contact_point() {
    let ca = TestCa::new();
    let scene =
        Scene::new(Stage::Tcp, Given::Login, &ca, |builder| builder.nodes(3).node(2, |facts| facts.listed = false))
            .await;
    let session = scene.builder(Mode::Beside).build().await.unwrap();
    until(LOOK, || scene.network.held().len() == 3).await.unwrap();
    tokio::time::sleep(5 * SECOND).await;
    // The second node serves requests and no control connection; the name leads to the third, which has its id.
    let id = scene.cluster.node(1).host_id();
    scene.cluster.node(2).set(|facts| facts.host_id = id);
    scene.cluster.node(1).fault(Stage::Register, Fault::error(0, "not here"));
    let third = scene.cluster.node(2).addr();
    scene.names.set("db.test", [third]);
    scene.cluster.node(0).kill().await;

    until(5 * SECOND, || scene.controls() == [third]).await.unwrap();
    until(5 * SECOND, || scene.pooled(third) == 1).await.unwrap();
    let topology = session.topology();
    let of_id: Vec<_> = topology.nodes().iter().filter(|node| Some(node.host_id) == id).collect();
    assert_eq!((of_id.len(), of_id[0].address), (1, Some(third)));
    // What was in use where the node was goes, and nothing leads there any more.
    let second = scene.cluster.node(1).addr();
    until(60 * SECOND, || scene.pooled(second) == 0).await.unwrap();
    let dials = scene.network.dials(second);
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(scene.network.dials(second), dials);
    assert_eq!(controls(&scene.network, &scene.cluster), [third]);
    session.execute(QUERY, ()).await.unwrap();
    drop(session);
    scene.before.check(&scene.network).await.unwrap();
}
