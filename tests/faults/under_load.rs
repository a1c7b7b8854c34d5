//! What users reported, while requests go on all the time: who is served, and who waits.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use messina::{
    Session, Statement,
    policy::ConstantSpeculation,
    testkit::{Fault, Network, Push, Stage},
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    scenarios::{SECOND, cluster, session},
    scene::{QUERY, until},
};

/// How requests ended, by clients that ask all the time.
#[derive(Debug, Default)]
struct Seen {
    served: usize,
    errors: Vec<String>,
    slow: usize,
}

/// `rate` requests a second until the set is dropped; slow is more than a second.
fn load(session: &Session, rate: u64, seen: &Arc<Mutex<Seen>>) -> JoinSet<()> {
    let (session, seen) = (session.clone(), Arc::clone(seen));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut requests = JoinSet::new();
        loop {
            let (session, seen) = (session.clone(), Arc::clone(&seen));
            requests.spawn(async move {
                let started = Instant::now();
                let result = session.execute(Statement::new(QUERY).with_idempotence(true), ()).await;
                let mut seen = seen.lock().unwrap();
                match result {
                    Ok(_) => seen.served += 1,
                    Err(error) => seen.errors.push(error.to_string()),
                }
                seen.slow += usize::from(started.elapsed() > SECOND);
            });
            while requests.try_join_next().is_some() {}
            sleep(Duration::from_millis(1000 / rate)).await;
        }
    });
    tasks
}

/// report 22: a node is removed while it is tried again and again, under load: the tries end, and no request notices.
#[tokio::test(start_paused = true)]
async fn removed_while_it_is_tried_again() {
    let network = Network::new();
    let cluster = cluster(&network, 3).await;
    let session = session(&network, &cluster).await;
    let seen = Arc::default();
    let load = load(&session, 50, &seen);
    sleep(5 * SECOND).await;
    let gone = cluster.node(2).addr();
    cluster.node(2).kill().await;
    sleep(10 * SECOND).await;
    assert!(network.dials(gone) > 2, "it is tried again");
    cluster.node(2).set(|facts| facts.listed = false);
    cluster.push(&Push::topology("REMOVED_NODE", gone));
    sleep(3 * SECOND).await;
    let dials = network.dials(gone);
    sleep(300 * SECOND).await;
    assert_eq!(network.dials(gone), dials, "it is gone");
    drop(load);
    let seen = seen.lock().unwrap();
    assert!(seen.errors.is_empty() && seen.slow == 0 && seen.served > 10_000, "{seen:?}");
    assert_eq!(session.topology().nodes().len(), 2);
}

/// report 35: up by gossip, and unreachable: connects to one node never end. Requests go to the others, at once.
#[tokio::test(start_paused = true)]
async fn up_and_unreachable() {
    let network = Network::new();
    let cluster = cluster(&network, 3).await;
    cluster.node(1).fault(Stage::Tcp, Fault::Silence);
    let builder = Session::builder().contact_addr(cluster.node(0).addr()).connector(network.connector());
    let session = builder.build().await.unwrap();
    let seen = Arc::default();
    let load = load(&session, 100, &seen);
    for _ in 0..6 {
        sleep(10 * SECOND).await;
        cluster.node(0).push(&Push::status("UP", cluster.node(1).addr()));
    }
    drop(load);
    let seen = seen.lock().unwrap();
    assert!(seen.errors.is_empty() && seen.slow == 0 && seen.served > 5_000, "{seen:?}");
    assert_eq!(cluster.node(1).connections().len(), 0);
}

/// report 35: it was connected, and from now on nothing that it is asked is answered: one or two requests wait for it, the
/// rest is answered elsewhere; where a second node may be asked, these are too.
#[tokio::test(start_paused = true)]
async fn connected_and_frozen() {
    for speculates in [false, true] {
        let network = Network::new();
        let cluster = cluster(&network, 3).await;
        let mut builder = Session::builder().contact_addr(cluster.node(0).addr()).connector(network.connector());
        if speculates {
            builder = builder.speculation(ConstantSpeculation::new(1, Duration::from_millis(200)));
        }
        let session = builder.build().await.unwrap();
        until(5 * SECOND, || network.held().len() == 4).await.unwrap();
        let seen = Arc::default();
        let load = load(&session, 200, &seen);
        sleep(5 * SECOND).await;
        assert_eq!(seen.lock().unwrap().slow, 0);
        cluster.node(1).freeze();
        sleep(20 * SECOND).await;
        cluster.node(1).start();
        sleep(15 * SECOND).await;
        drop(load);
        let seen = seen.lock().unwrap();
        let most = if speculates { 0 } else { 2 };
        assert!(seen.slow <= most && seen.served > 7_000, "{} slow, {} served", seen.slow, seen.served);
        assert!(seen.errors.len() <= most, "{:?}", &seen.errors[..seen.errors.len().min(3)]);
    }
}
