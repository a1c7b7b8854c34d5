//! How a failed connect is classed: by what its attempts are, not by their order.

use std::net::SocketAddr;

use messina::{
    layers::{Class, ConnectError},
    testkit::{Cluster, Fault, Network, Stage},
};

use crate::support::{LIMIT, Mode, TestStack, named, stages, timed};

/// Addresses that fail in the ways that classes are made of.
struct Failing {
    network: Network,
    clusters: Vec<Cluster>,
    terminal: SocketAddr,
    auth: SocketAddr,
    version: SocketAddr,
    foreign: SocketAddr,
    refused: SocketAddr,
    silent: SocketAddr,
}

impl Failing {
    async fn new() -> Self {
        let network = Network::new();
        let with_login = Cluster::builder().network(&network).user("someone", "else").start().await.unwrap();
        let plain = Cluster::builder().network(&network).nodes(2);
        let refuses = Fault::error(0x000A, "Invalid or unsupported protocol version");
        let plain = plain.fault(0, Stage::Options, refuses).fault(1, Stage::Startup, Fault::Silence);
        let plain = plain.start().await.unwrap();
        let foreign = Cluster::builder().network(&network).name("theirs").start().await.unwrap();
        Self {
            terminal: plain.node(0).addr(),
            auth: with_login.node(0).addr(),
            version: plain.node(0).addr(),
            foreign: foreign.node(0).addr(),
            refused: network.refused(),
            silent: plain.node(1).addr(),
            clusters: vec![with_login, plain, foreign],
            network,
        }
    }

    /// Connects to these addresses, expecting our cluster and, if `identified`, a certain node.
    async fn connect(&self, addrs: &[SocketAddr], identified: bool, mode: Mode) -> ConnectError {
        let stack = TestStack::new(&self.network, addrs.to_vec(), |builder| {
            mode.of(builder.credentials("ada", "wrong").init_timeout(LIMIT))
        });
        let mut open = stack.open().expecting_cluster("testkit".into());
        if identified {
            open = open.expecting_host(self.clusters[1].node(0).host_id().unwrap());
        }
        stack.connect(open).await.unwrap_err()
    }
}

fn permutations(addrs: &[SocketAddr]) -> Vec<Vec<SocketAddr>> {
    if addrs.len() <= 1 {
        return vec![addrs.to_vec()];
    }
    let mut all = Vec::new();
    for (index, first) in addrs.iter().enumerate() {
        let mut rest = addrs.to_vec();
        rest.remove(index);
        all.extend(permutations(&rest).into_iter().map(|rest| [&[*first], &rest[..]].concat()));
    }
    all
}

/// connect 57: terminal, else auth, else ordinary; what forces down surfaces only if every address failed that way.
/// connect 37: the surfaced failure is picked by class, not by order.
/// connect 36: one error, with every address's failure in it.
/// connect D11: over failures as servers cause them.
/// scenario S14: auth then timeout is classed by the list.
/// reviewer 34: the telling failure, not the last one.
#[tokio::test(start_paused = true)]
async fn mixtures() {
    let f = Failing::new().await;
    let rows: [(&[SocketAddr], Class); 9] = [
        (&[f.refused], Class::Ordinary),
        (&[f.auth], Class::Auth),
        (&[f.version], Class::ForcesDown),
        (&[f.foreign, f.version], Class::ForcesDown),
        (&[f.version, f.refused], Class::Ordinary),
        (&[f.auth, f.version], Class::Auth),
        (&[f.auth, f.silent], Class::Auth),
        (&[f.auth, f.foreign, f.refused], Class::Auth),
        (&[f.refused, f.silent, f.foreign], Class::Ordinary),
    ];
    for (addrs, class) in rows {
        for mode in Mode::BOTH {
            let mut surfaced = Vec::new();
            for order in permutations(addrs) {
                let error = f.connect(&order, false, mode).await;
                assert_eq!(error.class(), class, "{mode:?} {}", error.report());
                let dialled: Vec<_> = error.failed().iter().map(|failed| failed.addr).collect();
                assert_eq!(dialled, order, "in dial order");
                surfaced.push(error.surfaced().unwrap().error.stage().as_str());
            }
            if class == Class::Auth {
                assert!(surfaced.iter().all(|stage| *stage == "auth"), "{surfaced:?}");
            }
        }
    }
}

/// connect 57: a terminal failure wins over everything before it.
/// connect 55: and still carries what came before.
#[tokio::test(start_paused = true)]
async fn terminal_wins() {
    let f = Failing::new().await;
    for before in permutations(&[f.auth, f.foreign, f.refused]) {
        let order = [&before[..], &[f.terminal, f.silent]].concat();
        let error = f.connect(&order, true, Mode::Sequential).await;
        assert_eq!(error.class(), Class::Terminal, "{}", error.report());
        assert_eq!((error.failed().len(), error.untried()), (4, 1));
        assert_eq!(error.surfaced().unwrap().addr, f.terminal);
    }
}

/// connect 38: with a single address the error is that failure, with nothing attached.
#[tokio::test(start_paused = true)]
async fn a_single_address() {
    let f = Failing::new().await;
    let error = f.connect(&[f.refused], false, Mode::Sequential).await;
    assert_eq!((error.failed().len(), error.untried()), (1, 0));
    assert!(error.to_string().contains("only address"), "{error}");
}

/// reviewer 33: an error is owned by its connect: a second one adds nothing to the first.
#[tokio::test(start_paused = true)]
async fn errors_do_not_grow() {
    let f = Failing::new().await;
    let builder = named(&f.network, [f.refused, f.silent]);
    let (first, _) = timed(builder.clone()).await;
    let first = first.unwrap_err();
    let before = first.report().to_string();
    let (second, _) = timed(builder).await;
    assert_eq!(first.report().to_string(), before);
    assert_eq!(stages(&second.unwrap_err()), stages(&first));
}
