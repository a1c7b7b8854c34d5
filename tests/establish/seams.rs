//! Layers of the application's own: around the connect, around each address, around each dial.

mod wrapped;

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use messina::{
    establish::{Accepted, BoxAttempt, BoxConnector, Open},
    layers::{BoxConnect, Candidate, Dial, Established, Panicked, TimedOut, error::BoxError},
    testkit::{Cluster, Fault, Network, Stage},
};
use tower::{
    Service, ServiceExt,
    layer::{Layer, layer_fn},
    service_fn,
};

use crate::support::{Events, LIMIT, Mode, all_closed, named, stages, timed};

/// Counts how often it was made and called.
#[derive(Clone, Default)]
struct Count {
    made: Arc<AtomicUsize>,
    called: Arc<AtomicUsize>,
}

impl Count {
    fn numbers(&self) -> (usize, usize) {
        (self.made.load(Ordering::SeqCst), self.called.load(Ordering::SeqCst))
    }
}

impl<S> Layer<S> for Count {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        self.made.fetch_add(1, Ordering::SeqCst);
        Counted { inner, called: Arc::clone(&self.called) }
    }
}

#[derive(Clone)]
struct Counted<S> {
    inner: S,
    called: Arc<AtomicUsize>,
}

impl<S: Service<T>, T> Service<T> for Counted<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, target: T) -> S::Future {
        self.called.fetch_add(1, Ordering::SeqCst);
        self.inner.call(target)
    }
}

/// Two servers that refuse v4 in words that name no version, so that each is dialled three times, and a good one.
async fn two_versions(network: &Network) -> Cluster {
    let fault = || Fault::error(0x000A, "Invalid or unsupported protocol version");
    let builder = Cluster::builder().network(network).nodes(3).node(0, |facts| facts.listed = false);
    let builder = builder.node(1, |facts| facts.listed = false);
    builder.fault(0, Stage::Options, fault()).fault(1, Stage::Options, fault()).start().await.unwrap()
}

/// connect 65: once per connect, whatever the number of addresses and versions.
/// connect 69: made once per session, cloned for each attempt.
/// connect D24: connect once per connect, candidate once per address, transport once per dial.
#[tokio::test(start_paused = true)]
async fn how_often() {
    for mode in Mode::BOTH {
        let network = Network::new();
        let cluster = two_versions(&network).await;
        let (connect, candidate, transport) = (Count::default(), Count::default(), Count::default());
        let builder = mode
            .of(named(&network, cluster.addrs()))
            .connect_layer(connect.clone())
            .candidate_layer(candidate.clone())
            .transport_layer(transport.clone());
        let session = builder.build().await.unwrap();
        // The control connection, and the one to its node.
        assert_eq!(connect.numbers(), (1, 2));
        assert_eq!(candidate.numbers(), (1, 3 + 1));
        assert_eq!(transport.numbers(), (1, 3 + 3 + 1 + 1));
        assert_eq!(network.dialled().len(), 8);
        drop(session);
    }
}

/// connect D24: several layers at one seam: the last one added is the outermost.
#[tokio::test(start_paused = true)]
async fn several_layers() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let order = Arc::clone(&order);
        layer_fn(move |inner: BoxConnect<Open, Accepted>| {
            let order = Arc::clone(&order);
            inner.map_request(move |open: Open| {
                order.lock().unwrap().push(what);
                open
            })
        })
    };
    let builder = named(&network, cluster.addrs());
    let builder = builder.connect_layer(note("inner")).connect_layer(note("outer"));
    let session = builder.build().await.unwrap();
    assert_eq!(order.lock().unwrap()[..2], ["outer", "inner"]);
    drop(session);
}

/// connect 67: the resolver that is set is the one that expands, for each connect.
#[tokio::test(start_paused = true)]
async fn the_resolver_is_the_one_used() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).nodes(2).start().await.unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (addrs, seen) = (cluster.addrs(), Arc::clone(&asked));
    let resolver = service_fn(move |address: messina::layers::Address| {
        seen.lock().unwrap().push(address.to_string());
        let answer = match address.ip() {
            None => vec![addrs[0]],
            Some(ip) => vec![SocketAddr::new(ip, address.port())],
        };
        async move { Ok::<_, BoxError>(answer) }
    });
    let session = named(&network, []).resolver(resolver).build().await.unwrap();
    cluster.wait_for(LIMIT, |seen| seen.open() == 3).await.unwrap();
    let mut asked = asked.lock().unwrap().clone();
    asked[1..].sort();
    assert_eq!(asked, ["db.test:9042", "10.0.0.1:9042", "10.0.0.2:9042"]);
    drop(session);
}

/// connect 68: a layer around the connect that fails or panics: the connect fails, it does not hang.
/// connect D24: an error or panic at this seam ends the connect.
#[tokio::test(start_paused = true)]
async fn the_connect_seam_breaks() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let builder = || named(&network, cluster.addrs());
    let fails = layer_fn(|_: BoxConnect<Open, Accepted>| {
        service_fn(|_: Open| async { Err::<Established<Open, Accepted>, BoxError>("not today".into()) })
    });
    let error = builder().connect_layer(fails).build().await.unwrap_err();
    let line = error.to_string();
    assert!(line.contains("db.test:9042") && line.contains("not today"), "{line}");

    let panics_at_once = layer_fn(|inner: BoxConnect<Open, Accepted>| {
        inner.map_request(|open: Open| -> Open { panic!("no {}", open.address()) })
    });
    let error = builder().connect_layer(panics_at_once).build().await.unwrap_err();
    assert!(error.to_string().contains("panicked: no db.test:9042"), "{error}");

    let panics_later = layer_fn(|inner: BoxConnect<Open, Accepted>| {
        inner.map_response(|established: Established<Open, Accepted>| -> Established<Open, Accepted> {
            panic!("no {}", established.addr)
        })
    });
    let error = builder().connect_layer(panics_later).build().await.unwrap_err();
    assert!(error.to_string().contains("panicked: no 10.0.0.1:9042"), "{error}");
    all_closed(cluster.log()).await;
}

/// connect D24: tower's own timeout around the connect: every address is dropped, nothing stays open.
#[tokio::test(start_paused = true)]
async fn a_timeout_around_the_connect() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).fault(0, Stage::Startup, Fault::Silence).start().await.unwrap();
    let limit = tower::timeout::TimeoutLayer::new(Duration::from_secs(1));
    let (result, took) = timed(named(&network, cluster.addrs()).connect_layer(limit)).await;
    assert!(result.unwrap_err().to_string().contains("timed out"));
    assert_eq!(took, Duration::from_secs(1));
    all_closed(cluster.log()).await;
}

/// connect D24: an error or panic around one address ends that address.
/// connect 68: it does not end more.
#[tokio::test(start_paused = true)]
async fn the_candidate_seam_breaks() {
    for mode in Mode::BOTH {
        for how in ["error", "panic", "late panic"] {
            let events = Events::watch();
            let network = Network::new();
            let cluster = Cluster::builder().network(&network).nodes(2).node(0, |facts| facts.listed = false);
            let cluster = cluster.start().await.unwrap();
            let bad = cluster.node(0).addr();
            let breaks = layer_fn(move |inner: BoxAttempt| {
                service_fn(move |candidate: Candidate<Open>| {
                    let (inner, hit) = (inner.clone(), candidate.addr() == bad);
                    assert!(!(hit && how == "panic"), "not there");
                    async move {
                        assert!(!(hit && how == "late panic"), "not there");
                        if hit { Err("not there".into()) } else { Ok::<_, BoxError>(inner.oneshot(candidate).await?) }
                    }
                })
            });
            let session = mode.of(named(&network, cluster.addrs())).candidate_layer(breaks).build().await.unwrap();
            assert_eq!(network.dialled()[0], cluster.node(1).addr());
            let told = events.with("trying next address");
            assert!(told[0].field("cause").ends_with("not there"), "{told:?}");
            drop(session);
        }
    }
}

/// connect D24: an error or panic around a dial ends that dial, and is told as one of the tcp step.
/// connect 68: it does not end more, and does not hang.
#[tokio::test(start_paused = true)]
async fn the_transport_seam_breaks() {
    for how in ["error", "panic", "late panic", "hang"] {
        let network = Network::new();
        let cluster = Cluster::builder().network(&network).nodes(2).node(0, |facts| facts.listed = false);
        let cluster = cluster.start().await.unwrap();
        let bad = cluster.node(0).addr();
        let breaks = move |inner: BoxConnector| {
            service_fn(move |candidate: Candidate<Open>| {
                let (inner, hit) = (inner.clone(), candidate.addr() == bad);
                assert!(!(hit && how == "panic"), "no way");
                async move {
                    match how {
                        _ if !hit => inner.oneshot(candidate).await,
                        "error" => Err("no way".into()),
                        "hang" => std::future::pending().await,
                        _ => panic!("no way"),
                    }
                }
            })
        };
        let builder = named(&network, cluster.addrs()).sequential().transport_layer(layer_fn(breaks));
        let (result, took) = timed(builder).await;
        result.unwrap();
        assert_eq!(network.dialled()[0], cluster.node(1).addr());
        assert_eq!(took, if how == "hang" { LIMIT } else { Duration::ZERO });

        let only = named(&network, [bad]).transport_layer(layer_fn(breaks)).build().await.unwrap_err();
        assert_eq!(stages(&only), ["tcp"], "{how}");
        let cause = &crate::support::attempts(&only)[0].error;
        match how {
            "hang" => assert_eq!(cause.find::<TimedOut>().unwrap().limit(), LIMIT),
            "error" => assert_eq!(cause.cause().to_string(), "no way"),
            _ => assert!(cause.find::<Panicked>().is_some(), "{how}"),
        }
    }
}

/// connect 61: an own connector that never answers is held to the connect limit.
#[tokio::test(start_paused = true)]
async fn an_own_connector_is_limited() {
    let network = Network::new();
    let limit = Duration::from_millis(700);
    let (result, took) = timed(named(&network, [network.black_hole()]).connect_timeout(limit)).await;
    assert_eq!((stages(&result.unwrap_err()), took), (vec!["tcp"], limit));
}

/// connect D24: an own connector without capacity costs no address: its readiness is waited for.
#[tokio::test(start_paused = true)]
async fn readiness_of_an_own_connector() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    let one_at_a_time = tower::limit::ConcurrencyLimitLayer::new(1);
    let builder = named(&network, [network.black_hole(), network.black_hole(), cluster.node(0).addr()]);
    let (result, took) = timed(builder.transport_layer(one_at_a_time)).await;
    result.unwrap();
    assert_eq!(took, 2 * LIMIT, "no two dials at once, though the delay has passed");
}
