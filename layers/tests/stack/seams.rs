//! The three places for a user's own layers: connect, candidate, transport.

use std::{
    collections::HashMap,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use messina_layers::{
    Address, AttemptError, AttemptLayer, BoxConnect, BoxError, Candidate, ConnectError, Established, GuardLayer,
    HandshakeLayer, Pinned, Scope, Stage, Transport, connect_stack,
};
use tokio::io::DuplexStream;
use tower::{
    Layer, Service, ServiceBuilder, ServiceExt, layer::layer_fn, retry, service_fn, util::BoxCloneSyncService,
};

use crate::support::{addr, as_given, db, secs, table, target};

/// What a user's layer does when called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Pass,
    Error,
    PanicInCall,
    PanicInFuture,
    PanicInReady,
}

const BREAKING: [Mode; 4] = [Mode::Error, Mode::PanicInCall, Mode::PanicInFuture, Mode::PanicInReady];

/// How often each seam's layer was built and called.
type Counts = Arc<Mutex<HashMap<&'static str, (u32, u32)>>>;

/// A user's layer at a seam; it answers errors of its own type.
#[derive(Clone)]
struct Seam {
    name: &'static str,
    mode: Mode,
    counts: Counts,
}

#[derive(Clone)]
struct Inside<S>(S, Seam);

impl<S> Layer<S> for Seam {
    type Service = Inside<S>;

    fn layer(&self, inner: S) -> Inside<S> {
        self.counts.lock().unwrap().entry(self.name).or_default().0 += 1;
        Inside(inner, self.clone())
    }
}

impl<S, R> Service<R> for Inside<S>
where
    S: Service<R, Error: Into<BoxError>, Future: Send + 'static>,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        assert!(self.1.mode != Mode::PanicInReady, "{} seam", self.1.name);
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let Seam { name, mode, counts } = self.1.clone();
        counts.lock().unwrap().entry(name).or_default().1 += 1;
        assert!(mode != Mode::PanicInCall, "{name} seam");
        let inner = self.0.call(request);
        Box::pin(async move {
            match mode {
                Mode::Error => Err(format!("{name} seam").into()),
                Mode::PanicInFuture => panic!("{name} seam"),
                _ => inner.await.map_err(Into::into),
            }
        })
    }
}

/// Tries a second protocol version on the same address, on a connection of its own.
#[derive(Clone)]
struct SecondVersion(bool);

impl<T: Clone, R> retry::Policy<Candidate<T>, R, AttemptError> for SecondVersion {
    type Future = std::future::Ready<()>;

    fn retry(&mut self, _: &mut Candidate<T>, result: &mut Result<R, AttemptError>) -> Option<Self::Future> {
        (result.is_err() && !std::mem::replace(&mut self.0, true)).then(|| std::future::ready(()))
    }

    fn clone_request(&mut self, candidate: &Candidate<T>) -> Option<Candidate<T>> {
        Some(candidate.clone())
    }
}

#[derive(Debug)]
struct Refused(&'static str);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Refused {}

/// A whole stack with a layer at each seam; every handshake is refused, or all but those of the last address.
fn stack(modes: [Mode; 3], accept_last: bool) -> (BoxConnect<Pinned<Address>, ()>, Counts) {
    let counts = Counts::default();
    let seam = |name, mode| Seam { name, mode, counts: counts.clone() };
    let connector = service_fn(async |candidate: Candidate<Pinned<Address>>| {
        Ok::<_, std::io::Error>(Transport::new(candidate, tokio::io::duplex(1).0))
    });
    let handshake = service_fn(move |transport: Transport<Pinned<Address>, DuplexStream>| async move {
        if accept_last && transport.peer == addr(3) { Ok(()) } else { Err(Refused("version refused")) }
    });
    let attempt = ServiceBuilder::new()
        .layer(seam("candidate", modes[1]))
        .layer(AttemptLayer::new())
        .layer(layer_fn(|inner| retry::Retry::new(SecondVersion(false), inner)))
        .layer(HandshakeLayer::new(handshake))
        .layer(seam("transport", modes[2]))
        .service(connector);
    let connect = ServiceBuilder::new()
        .layer(GuardLayer::new())
        .layer(seam("connect", modes[0]))
        .service(connect_stack(attempt, table(1..=3), as_given()));
    (BoxCloneSyncService::new(connect), counts)
}

fn counts(counts: &Counts) -> [(u32, u32); 3] {
    let counts = counts.lock().unwrap();
    ["connect", "candidate", "transport"].map(|name| counts.get(name).copied().unwrap_or_default())
}

/// connect 65: 3 addresses with 2 versions each: the connect seam is called once.
/// connect 66: a layer at a seam stands outside of what the stack puts in, and replaces nothing of it.
/// connect D24: connect once per connect, candidate once per address, transport once per dial.
/// connect 34: each candidate runs the whole inner stack, its retries included.
/// reviewer 35: each address starts its ladder anew: as many tries at the third as at the first.
#[tokio::test(start_paused = true)]
async fn how_often_each_seam_is_called() {
    let (stack, counted) = stack([Mode::Pass; 3], false);
    let error = stack.oneshot(target()).await.unwrap_err();
    assert_eq!(error.failed().len(), 3);
    assert!(error.failed().iter().all(|attempt| attempt.error.stage() == Stage::HANDSHAKE));
    assert_eq!(counts(&counted), [(1, 1), (1, 3), (1, 6)]);
}

/// scenario H13: 64 connects at once: each user layer is built once.
/// connect 69: what is cloned per connect is a handle to the one that was built.
#[tokio::test(start_paused = true)]
async fn user_layers_are_built_once() {
    let (stack, counted) = stack([Mode::Pass; 3], true);
    let connects: Vec<_> = (0..64).map(|_| tokio::spawn(stack.clone().oneshot(target()))).collect();
    for connect in connects {
        let established: Established<_, ()> = connect.await.unwrap().unwrap();
        assert_eq!((established.addr, established.target.pin()), (addr(3), Some(addr(3).into())));
    }
    let [connect, candidate, transport] = counts(&counted);
    assert_eq!((connect, candidate, transport.0), ((1, 64), (1, 64 * 3), 1));
}

/// connect 68: if the layer at the connect seam fails or panics, the connect fails; it does not hang.
/// connect D24: an error or panic there ends the connect.
#[tokio::test(start_paused = true)]
async fn a_broken_connect_seam_ends_the_connect() {
    for mode in BREAKING {
        let (stack, counted) = stack([mode, Mode::Pass, Mode::Pass], true);
        let error = stack.oneshot(target()).await.unwrap_err();
        let ConnectError::NotReady { source, target, failed } = &error else { panic!("{mode:?}: {error:?}") };
        assert!(source.to_string().ends_with("connect seam"), "{mode:?}: {source}");
        assert_eq!((target, failed.len(), counts(&counted)[1].1), (&db(), 0, 0));
    }
}

/// connect D24: an error or panic at the candidate seam ends the candidate.
#[tokio::test(start_paused = true)]
async fn a_broken_candidate_seam_ends_the_candidate() {
    for mode in [Mode::Error, Mode::PanicInCall, Mode::PanicInFuture] {
        let (stack, counted) = stack([Mode::Pass, mode, Mode::Pass], true);
        let error = stack.oneshot(target()).await.unwrap_err();
        assert!(matches!(error, ConnectError::Exhausted { .. }), "{mode:?}");
        assert_eq!((error.failed().len(), counts(&counted)[1].1), (3, 3), "{mode:?}");
        for attempt in error.failed() {
            assert!(attempt.error.cause().to_string().ends_with("candidate seam"), "{}", error.report());
            assert_eq!((attempt.error.stage(), attempt.error.scope()), (Stage::ATTEMPT, Scope::Candidate));
        }
    }
    // One that is never ready again cannot serve another candidate either.
    let (stack, _) = stack([Mode::Pass, Mode::PanicInReady, Mode::Pass], true);
    assert!(matches!(stack.oneshot(target()).await.unwrap_err(), ConnectError::NotReady { .. }));
}

/// connect D24: an error or panic at the transport seam ends the dial, and is told as such.
#[tokio::test(start_paused = true)]
async fn a_broken_transport_seam_ends_the_dial() {
    for mode in [Mode::Error, Mode::PanicInCall, Mode::PanicInFuture] {
        let (stack, counted) = stack([Mode::Pass, Mode::Pass, mode], true);
        let error = stack.oneshot(target()).await.unwrap_err();
        // The second version dialled again, at each of three addresses.
        assert_eq!((error.failed().len(), counts(&counted)[2].1), (3, 6), "{mode:?}");
        for attempt in error.failed() {
            assert!(attempt.error.cause().to_string().ends_with("transport seam"), "{}", error.report());
            assert_eq!((attempt.error.stage(), attempt.error.scope()), (Stage::TCP, Scope::Candidate), "{mode:?}");
        }
    }
}

/// tower's own timeout at the connect seam: its error type comes back through the one door.
#[tokio::test(start_paused = true)]
async fn a_timeout_of_tower_around_the_whole_stack() {
    let silent = service_fn(|_: Candidate<Pinned<Address>>| std::future::pending::<Result<(), std::io::Error>>());
    let connect = ServiceBuilder::new().layer(GuardLayer::new()).timeout(secs(3)).service(connect_stack(
        silent,
        table(1..=3),
        as_given(),
    ));
    let started = tokio::time::Instant::now();
    let error = connect.oneshot(target()).await.unwrap_err();
    assert_eq!((started.elapsed(), error.target()), (secs(3), &db()));
    // An error of the stack itself passes such a layer untouched.
    let refused = service_fn(async |_: Candidate<Pinned<Address>>| Err::<(), _>(Refused("no")));
    let connect = ServiceBuilder::new().layer(GuardLayer::new()).timeout(secs(3)).service(connect_stack(
        refused,
        table(1..=3),
        as_given(),
    ));
    assert_eq!(connect.oneshot(target()).await.unwrap_err().failed().len(), 3);
}
