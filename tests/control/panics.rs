//! What the application brings may panic: that costs what it was asked for, and neither the session nor its connections.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use futures_util::FutureExt;
use messina::{
    error::Kind,
    layers::error::BoxError,
    session::SessionBuilder,
    testkit::{Answer, Cluster, Push, rows},
    topology::{BoxNodes, NodeInfo, NodeList, NodesRequest, SystemTables, TopologyMonitor},
};
use tower::{Service, service_fn};

use crate::support::{SECOND, World, settle, settled};

const QUERY: &str = "SELECT id FROM ks.t";

/// Panics where it is told to, and counts that.
#[derive(Clone, Debug, Default)]
struct Armed {
    armed: Arc<AtomicBool>,
    times: Arc<AtomicUsize>,
}

impl Armed {
    fn set(&self, armed: bool) {
        self.armed.store(armed, Ordering::Relaxed);
    }

    fn go_off(&self) {
        if self.armed.load(Ordering::Relaxed) {
            self.times.fetch_add(1, Ordering::Relaxed);
            panic!("as it was told to");
        }
    }
}

#[derive(Debug)]
struct Monitor {
    armed: Armed,
    tables: SystemTables,
}

impl TopologyMonitor for Monitor {
    fn nodes(&self) -> BoxNodes {
        let (armed, tables) = (self.armed.clone(), self.tables.nodes());
        BoxNodes::new(service_fn(move |request: NodesRequest| {
            let (armed, mut tables) = (armed.clone(), tables.clone());
            async move {
                armed.go_off();
                let list: Result<NodeList, BoxError> = tables.call(request).await;
                list
            }
        }))
    }
}

/// Requests are answered while the hook panics at every look at the nodes, and everything goes on after.
async fn survives(what: &str, hook: impl FnOnce(SessionBuilder, Armed) -> SessionBuilder) {
    let world = World::new();
    let armed = Armed::default();
    let cluster: Cluster = world.cluster().nodes(3).start().await.unwrap();
    cluster.prime(QUERY, Answer::from(rows!["id int"; (1,)]));
    world.lead([cluster.node(0).addr()]);
    let session = hook(world.builder(), armed.clone()).build().await.unwrap();
    settled(&cluster).await;
    armed.set(true);
    cluster.push(&Push::topology("NEW_NODE", cluster.node(1).addr()));
    tokio::time::sleep(2 * SECOND).await;
    let _ = session.refresh_topology().await;
    assert!(armed.times.load(Ordering::Relaxed) >= 2, "{what}: asked after the event, and when it was refreshed");
    assert!(!session.is_closed(), "{what}");
    armed.set(false);
    session.refresh_topology().await.unwrap_or_else(|error| panic!("{what}: {error}"));
    settle().await;
    settled(&cluster).await;
    for _ in 0..6 {
        session.execute(QUERY, ()).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

/// connect 13: what of the application's panics is contained: here the node filter, the translator of addresses and the
/// topology monitor, which are asked in the task of the control connection.
#[tokio::test(start_paused = true)]
async fn cost_what_was_asked_for() {
    survives("node filter", |builder, armed| {
        builder.node_filter(move |_: &NodeInfo| {
            armed.go_off();
            true
        })
    })
    .await;
    survives("translator", |builder, armed| {
        builder.address_translator(move |node| {
            armed.go_off();
            node.address.into()
        })
    })
    .await;
    survives("monitor", |builder, armed| builder.topology_monitor(Monitor { armed, tables: SystemTables::new() }))
        .await;
}

/// surface 2: a session whose runtime has ended says so, to requests of another runtime too.
#[test]
fn a_runtime_that_ended() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let first = runtime();
    let session = first.block_on(async {
        let world = World::new();
        let cluster = world.cluster().nodes(1).start().await.unwrap();
        world.session(&cluster).await
    });
    drop(first);
    assert!(session.is_closed());
    let error = runtime().block_on(session.execute(QUERY, ())).unwrap_err();
    assert!(matches!(error.kind(), Kind::Closed), "{error:?}");
    assert!(error.to_string().contains("runtime that it was built in"), "{error}");
}

/// surface 2: there is no session without a runtime, and the error says so.
#[test]
fn no_runtime() {
    let builder = World::new().builder();
    // Polled once, outside of any runtime.
    let error = builder.build().now_or_never().unwrap().unwrap_err();
    assert!(matches!(error.kind(), Kind::Config), "{error:?}");
    assert_eq!(error.to_string(), "there is no tokio runtime here; a session is built inside of one");
}
