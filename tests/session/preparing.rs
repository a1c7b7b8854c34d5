//! Statements that nodes are told of before they are asked to execute them.

use messina::session::SessionBuilder;
use messina::testkit::{ConnectionLog, Fault, Prime, Stage, rows};
use messina::{Prepared, Session};
use tokio::time::Instant;

use crate::support::{Nodes, SECOND, settle, start_with};

const BY_ID: &str = "SELECT name FROM ks.users WHERE id = ?";

async fn name(session: &Session, prepared: &Prepared) -> String {
    session.execute(prepared, (7,)).await.unwrap().one::<(String,)>().await.unwrap().0
}

fn count(cluster: &Nodes) -> usize {
    cluster.nodes().iter().map(|node| node.count(Stage::Prepare)).sum()
}

/// driver 3: `prepare-on-all-nodes`: what was prepared on one node is prepared on the others, each once, before they are
/// asked; nobody waits for a node that does not answer.
#[tokio::test(start_paused = true)]
async fn all_nodes_are_told_ahead() {
    let (cluster, session) = start_with(|cluster| cluster.nodes(3), |session| session).await;
    cluster.prime(Prime::new(BY_ID).params("id int").partition_key([0]), rows!["name text"; ("Ada",)]);
    cluster.node(2).fault(Stage::Prepare, Fault::Silence);
    let started = Instant::now();
    let prepared = match session.prepare(BY_ID).await {
        Ok(prepared) if started.elapsed() < SECOND => prepared,
        // The mute one was asked first.
        _ => session.prepare(BY_ID).await.unwrap(),
    };
    settle().await;
    let asked: Vec<_> = cluster.nodes().iter().map(|node| node.count(Stage::Prepare)).collect();
    assert!(asked.iter().all(|count| *count >= 1), "{asked:?}");
    let before = count(&cluster);
    cluster.node(2).clear_faults();
    for _ in 0..12 {
        assert_eq!(name(&session, &prepared).await, "Ada");
    }
    assert!(count(&cluster) <= before + 1, "the mute one alone had to be told again");
}

/// driver 3: `reprepare-on-up`: a node that comes back is told of what the session keeps, at most so many statements, those
/// used last, and so many at a time.
#[tokio::test(start_paused = true)]
async fn a_node_that_comes_up_is_told() {
    const AT_A_TIME: usize = 2;
    let settings = |session: SessionBuilder| {
        session
            .set("advanced.prepared-statements.reprepare-on-up.max-parallelism", "2")
            .set("advanced.prepared-statements.reprepare-on-up.max-statements", "5")
    };
    let (cluster, session) = start_with(|cluster| cluster.nodes(2), settings).await;
    let text = |n: usize| format!("SELECT name FROM ks.users{n} WHERE id = ?");
    for n in 0..8 {
        cluster.prime(Prime::new(text(n)).params("id int").partition_key([0]), rows!["name text"; ("Ada",)]);
        session.execute(text(n), (7,)).await.unwrap();
    }
    settle().await;
    let node = cluster.node(1);
    node.kill().await;
    settle().await;
    node.forget_prepared();
    let told = |connections: &[&ConnectionLog]| -> Vec<String> {
        let open = connections.iter().filter(|one| one.is_open());
        let prepared = open.flat_map(|one| one.requests().filter(|(stage, _)| *stage == Stage::Prepare));
        prepared.map(|(_, text)| text.to_owned()).collect()
    };
    let now = || {
        let connections = node.connections();
        told(&connections.iter().collect::<Vec<_>>())
    };
    node.fault(Stage::Prepare, Fault::Delay(SECOND));
    node.start();
    node.wait_for(10 * SECOND, |connections| told(connections).len() >= AT_A_TIME).await.unwrap();
    settle().await;
    assert_eq!(now().len(), AT_A_TIME);
    tokio::time::sleep(10 * SECOND).await;
    let mut all = now();
    all.sort();
    assert_eq!(all, (3..8).map(text).collect::<Vec<_>>(), "those used last");
    let before = node.count(Stage::Prepare);
    for n in 3..8 {
        session.execute(text(n), (7,)).await.unwrap();
        session.execute(text(n), (7,)).await.unwrap();
    }
    assert_eq!(node.count(Stage::Prepare), before, "no request had to prepare");
}
