//! Dial and handshake: stages, limits, bytes.

use std::{future::pending, io, time::Duration};

use messina_layers::{
    Address, AttemptError, Candidate, FallbackLayer, HandshakeLayer, Pinned, Scope, Stage, TimedOut, Transport, Turn,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::Instant,
};
use tower::{Layer, ServiceExt, service_fn};

use crate::support::{addr, candidates, millis, number, secs, target};

type Target = Pinned<Address>;

fn candidate() -> Candidate<Target> {
    Candidate::new(target(), addr(1))
}

fn connector<IO>(
    mut io: impl FnMut() -> IO + Clone,
) -> impl tower::Service<
    Candidate<Target>,
    Response = Transport<Target, IO>,
    Error = io::Error,
    Future = std::future::Ready<io::Result<Transport<Target, IO>>>,
> + Clone {
    service_fn(move |candidate| std::future::ready(Ok(Transport::new(candidate, io()))))
}

/// The handshake gets the target, the address and the bytes.
#[tokio::test(start_paused = true)]
async fn a_handshake_speaks_over_what_was_dialled() {
    let io = || tokio_test::io::Builder::new().write(b"hello\n").read(b"welcome\n").build();
    let handshake = service_fn(async |mut transport: Transport<Target, tokio_test::io::Mock>| {
        assert_eq!((transport.target, transport.peer), (target(), addr(1)));
        transport.io.write_all(b"hello\n").await?;
        let mut line = [0; 8];
        transport.io.read_exact(&mut line).await?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&line).into_owned())
    });
    let connection = HandshakeLayer::new(handshake).layer(connector(io)).oneshot(candidate()).await.unwrap();
    assert_eq!(connection, "welcome\n");
}

/// connect 52: an early close is a failure of this address.
#[tokio::test(start_paused = true)]
async fn an_early_close_is_a_failure_of_the_handshake() {
    let io = || tokio_test::io::Builder::new().read(b"wel").build();
    let handshake = service_fn(async |mut transport: Transport<Target, tokio_test::io::Mock>| {
        transport.io.read_exact(&mut [0; 8]).await
    });
    let error = HandshakeLayer::new(handshake).layer(connector(io)).oneshot(candidate()).await.unwrap_err();
    assert_eq!((error.stage(), error.scope()), (Stage::HANDSHAKE, Scope::Candidate));
    assert_eq!(error.find::<io::Error>().unwrap().kind(), io::ErrorKind::UnexpectedEof);
}

/// connect 52: a handshake that takes too long is a failure of this address.
#[tokio::test(start_paused = true)]
async fn a_handshake_has_a_limit() {
    let mute = service_fn(|_: Transport<Target, ()>| pending::<io::Result<()>>());
    for (layer, limit) in
        [(HandshakeLayer::new(mute), secs(10)), (HandshakeLayer::new(mute).with_timeout(millis(50)), millis(50))]
    {
        let started = Instant::now();
        let error = layer.layer(connector(|| ())).oneshot(candidate()).await.unwrap_err();
        assert_eq!((error.stage(), error.scope(), started.elapsed()), (Stage::HANDSHAKE, Scope::Candidate, limit));
        assert_eq!(error.find(), Some(&TimedOut::new(limit)));
    }
    let unlimited = HandshakeLayer::new(mute).without_timeout().layer(connector(|| ()));
    assert!(tokio::time::timeout(secs(3600), unlimited.oneshot(candidate())).await.is_err());
}

/// The limit of a handshake does not run while another attempt of the connect logs in.
#[tokio::test(start_paused = true)]
async fn waiting_for_the_turn_does_not_count() {
    let handshake = |first: Duration, second: Duration| {
        service_fn(move |transport: Transport<Target, ()>| async move {
            let turn = transport.turn.take().await;
            // The first address is slow to refuse, the second takes its time to accept.
            let slow = if number(transport.peer) == 1 { first } else { second };
            tokio::time::sleep(slow).await;
            drop(turn);
            if number(transport.peer) == 1 { Err(io::Error::other("refused")) } else { Ok(()) }
        })
    };
    let fallback = FallbackLayer::new().with_attempt_delay(millis(250));
    let connect = |first, second| {
        let layer = HandshakeLayer::new(handshake(first, second)).with_timeout(secs(10));
        fallback.layer(layer.layer(connector(|| ()))).oneshot(candidates([1, 2]))
    };
    // It waits 9 s, then needs 3: more than 10 since it began, less than 10 of its own.
    let established = connect(secs(9), secs(3)).await.unwrap();
    assert_eq!((established.addr, established.failed.len()), (addr(2), 1));
    // Its own time is limited as ever.
    let started = Instant::now();
    let error = connect(secs(9), secs(11)).await.unwrap_err();
    assert_eq!((started.elapsed(), error.failed()[1].error.find()), (secs(19), Some(&TimedOut::new(secs(10)))));
    // And the first one's too, which is what bounds the wait.
    let started = Instant::now();
    let established = connect(secs(60), secs(3)).await.unwrap();
    assert_eq!((established.addr, started.elapsed()), (addr(2), secs(13)));
}

/// A second try of the same attempt is not credited with the wait of the first.
#[tokio::test(start_paused = true)]
async fn the_wait_of_an_earlier_try_does_not_count_twice() {
    let turn = Turn::shared();
    let held = turn.take().await;
    let candidate = Candidate::new(target(), addr(1)).with_turn(turn.sibling());
    let waits = service_fn(async |transport: Transport<Target, ()>| {
        let _turn = transport.turn.take().await;
        pending::<io::Result<()>>().await
    });
    let service = HandshakeLayer::new(waits).with_timeout(secs(10)).layer(connector(|| ()));
    let release = async {
        tokio::time::sleep(secs(9)).await;
        drop(held);
    };
    let started = Instant::now();
    let (first, ()) = tokio::join!(service.clone().oneshot(candidate.clone()), release);
    assert_eq!((first.unwrap_err().find(), started.elapsed()), (Some(&TimedOut::new(secs(10))), secs(19)));
    let started = Instant::now();
    let second = service.oneshot(candidate).await.unwrap_err();
    assert_eq!((second.find(), started.elapsed()), (Some(&TimedOut::new(secs(10))), secs(10)));
}

/// connect D24: whatever breaks in the connector is a failed dial, whatever in the handshake a failed handshake.
#[tokio::test(start_paused = true)]
async fn each_failure_tells_its_stage() {
    let fine = service_fn(async |_: Transport<Target, ()>| Ok::<_, io::Error>(()));
    let refused = service_fn(async |_: Candidate<Target>| {
        Err::<Transport<Target, ()>, _>(io::Error::from(io::ErrorKind::ConnectionRefused))
    });
    let error = HandshakeLayer::new(fine).layer(refused).oneshot(candidate()).await.unwrap_err();
    assert_eq!((error.stage(), error.cause().to_string().as_str()), (Stage::TCP, "connection refused"));

    let torn = service_fn(async |_: Candidate<Target>| -> io::Result<Transport<Target, ()>> { panic!("torn dial") });
    let error = HandshakeLayer::new(fine).layer(torn).oneshot(candidate()).await.unwrap_err();
    assert_eq!((error.stage(), error.cause().to_string().as_str()), (Stage::TCP, "panicked: torn dial"));

    let torn = service_fn(async |_: Transport<Target, ()>| -> io::Result<()> { panic!("torn handshake") });
    let error = HandshakeLayer::new(torn).layer(connector(|| ())).oneshot(candidate()).await.unwrap_err();
    assert_eq!((error.stage(), error.cause().to_string().as_str()), (Stage::HANDSHAKE, "panicked: torn handshake"));

    let own = Stage::new("startup");
    let knows = service_fn(move |_: Transport<Target, ()>| async move {
        Err::<(), _>(AttemptError::new(own, "overloaded").with_scope(Scope::Endpoint))
    });
    let error = HandshakeLayer::new(knows).layer(connector(|| ())).oneshot(candidate()).await.unwrap_err();
    assert_eq!((error.stage(), error.scope()), (own, Scope::Endpoint));
}

/// A handshake without capacity waits inside the attempt, under its limit.
#[tokio::test(start_paused = true)]
async fn a_handshake_without_capacity_waits_under_its_limit() {
    let (handshake, mut handle) = tower_test::mock::pair::<Transport<Target, ()>, ()>();
    handle.allow(0);
    let layer = HandshakeLayer::new(handshake).with_timeout(secs(1));
    let error = layer.layer(connector(|| ())).oneshot(candidate()).await.unwrap_err();
    assert_eq!((error.stage(), error.find()), (Stage::HANDSHAKE, Some(&TimedOut::new(secs(1)))));
}
