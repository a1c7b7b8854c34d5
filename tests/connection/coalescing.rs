//! When the driver writes, how often, and what it copies.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use messina::connection::{Connection, Driver, Limits, Opening, Reply};
use messina::protocol::{Opcode, ProtocolVersion};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use crate::support::{PIPE, Server, connect, peer, query, response};

/// A stream that counts its writes.
struct Counted {
    io: DuplexStream,
    writes: Arc<AtomicUsize>,
}

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// A waker that counts.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A driver polled by hand.
struct Bench {
    connection: Connection,
    driver: Driver<Counted>,
    server: Server,
    writes: Arc<AtomicUsize>,
    wakes: Arc<Wakes>,
}

impl Bench {
    fn new() -> Self {
        let (near, far) = tokio::io::duplex(PIPE);
        let writes = Arc::default();
        let io = Counted { io: near, writes: Arc::clone(&writes) };
        let opening = Opening::new(io, peer(), ProtocolVersion::V4, Limits::default());
        let (connection, driver) = opening.into_parts();
        Self { connection, driver, server: Server::new(far), writes, wakes: Arc::default() }
    }

    fn send(&self, text: &str) -> Reply {
        self.connection.try_send(&query(text)).unwrap()
    }

    fn poll(&mut self) {
        let waker = Waker::from(Arc::clone(&self.wakes));
        let driver = Pin::new(&mut self.driver);
        assert!(driver.poll(&mut Context::from_waker(&waker)).is_pending());
    }

    fn wakes(&self) -> usize {
        self.wakes.0.swap(0, Ordering::Relaxed)
    }

    fn writes(&self) -> usize {
        self.writes.swap(0, Ordering::Relaxed)
    }
}

/// design 4.1: a request that is alone is written at once.
#[tokio::test(start_paused = true)]
async fn alone_it_is_written_at_once() {
    let mut bench = Bench::new();
    bench.poll();
    let _reply = bench.send("a");
    assert_eq!(bench.wakes(), 1);
    bench.poll();
    assert_eq!((bench.writes(), bench.wakes()), (1, 0));
}

/// design 4.1: with others in flight the driver yields once before it takes the queue, and writes it in one go.
#[tokio::test(start_paused = true)]
async fn with_others_it_yields_once() {
    let mut bench = Bench::new();
    let _first = bench.send("a");
    bench.poll();
    assert_eq!(bench.writes(), 1);

    let _second = bench.send("b");
    bench.wakes();
    bench.poll();
    assert_eq!((bench.writes(), bench.wakes()), (0, 1), "it comes again by itself");
    let _third = bench.send("c");
    bench.poll();
    assert_eq!(bench.writes(), 1, "both in one write");
    let _fourth = bench.send("d");
    bench.poll();
    assert_eq!((bench.writes(), bench.wakes()), (0, 2), "it yields again for the next batch");
}

/// design 4.1: requests that were given up do not count as in flight.
#[tokio::test(start_paused = true)]
async fn orphans_hold_nothing_back() {
    let mut bench = Bench::new();
    drop(bench.send("a"));
    bench.poll();
    bench.writes();
    let _second = bench.send("b");
    bench.poll();
    assert_eq!(bench.writes(), 1);
}

/// design 4.1: a sender wakes the driver only when the queue was empty.
#[tokio::test(start_paused = true)]
async fn one_wake_for_a_batch() {
    let mut bench = Bench::new();
    bench.poll();
    bench.wakes();
    let _replies = ["a", "b", "c"].map(|text| bench.send(text));
    assert_eq!(bench.wakes(), 1);
    bench.poll();
    assert_eq!(bench.writes(), 1);
    for _ in 0..3 {
        bench.server.next().await;
    }
}

/// design 4.1: bodies of 1 KiB and more are cut from the read buffer without a copy, shorter ones are copied.
#[tokio::test(start_paused = true)]
async fn bodies_are_cut_or_copied() {
    for (length, cut) in [(1024, true), (1023, false)] {
        let (connection, mut server) = connect();
        let replies = [0, 1].map(|_| connection.try_send(&query("a")).unwrap());
        let mut both = Vec::new();
        for stream in [0, 1] {
            both.extend(response(4, stream, Opcode::Result, &vec![0; length]));
        }
        server.write(&both).await;
        let [first, second] = replies;
        let (first, second) = (first.await.unwrap().body, second.await.unwrap().body);
        let distance = second.as_ptr().addr().wrapping_sub(first.as_ptr().addr());
        assert_eq!(distance == length + 9, cut, "{length}");
    }
}
