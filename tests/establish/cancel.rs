//! A connect that is dropped, and a session that is closed, in the middle of things.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use messina::{
    layers::{Address, Resolved},
    testkit::{Cluster, Fault, Network, Stage, TestCa},
};
use tower::service_fn;

use crate::support::{LIMIT, Mode, SOON, all_closed, named};

const REQUESTS: [Stage; 7] =
    [Stage::Options, Stage::Startup, Stage::Auth, Stage::Cluster, Stage::Keyspace, Stage::Identity, Stage::Register];

/// The first address is silent at `stage`, the second is good.
async fn silent_at(network: &Network, stage: Stage) -> Cluster {
    Cluster::builder()
        .network(network)
        .nodes(2)
        .user("ada", "pass")
        .fault(0, stage, Fault::Silence)
        .start()
        .await
        .unwrap()
}

/// connect 45: dropped at each stage: nothing stays open, and nothing is dialled afterwards.
/// scenario H2: closed during the first address's handshake: the good one is never dialled.
/// reviewer 38: dropping aborts the round.
#[tokio::test(start_paused = true)]
async fn dropped_at_each_stage() {
    for mode in Mode::BOTH {
        for stage in REQUESTS {
            let network = Network::new();
            let cluster = silent_at(&network, stage).await;
            let builder = mode.of(named(&network, cluster.addrs()).credentials("ada", "pass").keyspace("ks"));
            let build = tokio::spawn(builder.build());
            let node = cluster.node(0);
            node.wait_for(SOON, |seen| seen.iter().any(|one| one.count(stage) == 1)).await.unwrap();
            assert_eq!(cluster.log().now().open(), 1);
            build.abort();
            assert!(build.await.unwrap_err().is_cancelled());
            all_closed(cluster.log()).await;
            tokio::time::sleep(4 * LIMIT).await;
            assert_eq!(network.dialled(), [node.addr()], "{mode:?} {stage:?}");
        }
    }
}

/// connect 45: dropped while a dial never ends, and during the TLS handshake.
#[tokio::test(start_paused = true)]
async fn dropped_below_the_protocol() {
    let network = Network::new();
    let cluster = silent_at(&network, Stage::Tcp).await;
    let build = tokio::time::timeout(LIMIT / 2, named(&network, cluster.addrs()).sequential().build());
    assert!(build.await.is_err());
    tokio::time::sleep(4 * LIMIT).await;
    assert_eq!((network.dialled(), cluster.log().now().opened()), (vec![cluster.node(0).addr()], 0));

    let ca = TestCa::new();
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).tls(ca.server(["db.test"])).fault(0, Stage::Tls, Fault::Silence);
    let cluster = cluster.start().await.unwrap();
    let builder = named(&network, cluster.addrs()).tls(messina::config::TlsSettings::new(ca.client()));
    assert!(tokio::time::timeout(LIMIT / 2, builder.build()).await.is_err());
    all_closed(cluster.log()).await;
    assert_eq!(network.dialled().len(), 1);
}

/// connect 45: dropped while several attempts run side by side, one of them past OPTIONS.
#[tokio::test(start_paused = true)]
async fn dropped_side_by_side() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(4);
    let cluster = (0..4).fold(cluster, |builder, index| builder.fault(index, Stage::Startup, Fault::Silence));
    let cluster = cluster.start().await.unwrap();
    let build = tokio::time::timeout(Duration::from_secs(2), named(&network, cluster.addrs()).build());
    assert!(build.await.is_err());
    assert_eq!(cluster.log().now().most_open_at_once(), 4);
    all_closed(cluster.log()).await;
    tokio::time::sleep(4 * LIMIT).await;
    assert_eq!(network.dialled().len(), 4);
}

/// connect 45: dropped during the lookup: it is aborted, and nothing is dialled.
/// scenario H2: closed during the lookup.
#[tokio::test(start_paused = true)]
async fn dropped_during_the_lookup() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let running = Arc::new(AtomicUsize::new(0));
    let lookups = Arc::clone(&running);
    let resolver = service_fn(move |_: Address| {
        lookups.fetch_add(1, Ordering::SeqCst);
        let counted = Counted(Arc::clone(&lookups));
        async move {
            let _counted = counted;
            pending::<Result<Vec<Resolved>, std::io::Error>>().await
        }
    });
    let network = Network::new();
    let builder = named(&network, [network.mute()]).resolver(resolver);
    assert!(tokio::time::timeout(LIMIT / 2, builder.build()).await.is_err());
    assert_eq!(running.load(Ordering::SeqCst), 0);
    tokio::time::sleep(4 * LIMIT).await;
    assert!(network.dialled().is_empty());
}

/// connect 45: a session dropped while connections to nodes are being opened closes whatever opens afterwards.
#[tokio::test(start_paused = true)]
async fn closed_while_nodes_are_opened() {
    for stage in [Stage::Tcp, Stage::Options, Stage::Startup, Stage::Cluster] {
        let network = Network::new();
        let cluster = Cluster::builder().network(&network).nodes(3);
        let cluster = cluster.fault(1, stage, Fault::Silence).fault(2, stage, Fault::Delay(Duration::from_secs(1)));
        let cluster = cluster.start().await.unwrap();
        let session = named(&network, [cluster.node(0).addr()]).build().await.unwrap();
        cluster.wait_for(SOON, |_| network.dialled().len() == 4).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        drop(session);
        tokio::time::sleep(Duration::from_secs(2)).await;
        all_closed(cluster.log()).await;
        assert_eq!(cluster.log().now().count(Stage::Query), 0);
        tokio::time::sleep(4 * LIMIT).await;
        assert_eq!(network.dialled().len(), 4, "{stage:?}");
    }
}

/// connect 45: a build dropped after its control connection is up: the list of nodes is silent.
#[tokio::test(start_paused = true)]
async fn dropped_while_the_nodes_are_read() {
    let network = Network::new();
    let cluster = silent_at(&network, Stage::Peers).await;
    let build = named(&network, cluster.addrs()).credentials("ada", "pass").build();
    assert!(tokio::time::timeout(LIMIT / 2, build).await.is_err());
    assert_eq!(cluster.node(0).count(Stage::Peers), 1);
    all_closed(cluster.log()).await;
    tokio::time::sleep(4 * LIMIT).await;
    assert_eq!(network.dialled().len(), 1);
}
