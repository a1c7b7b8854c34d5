//! How often a request through a session allocates; a binary of its own, since the allocator counts the whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../../benches/canned/server.rs"]
mod server;
#[path = "../../benches/canned/through_session.rs"]
mod through_session;

use std::alloc::System;

use futures_util::future::join_all;
use messina::protocol::ProtocolVersion;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use server::Canned;
use through_session::ThroughSession;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const ROUNDS: usize = 50;
const CONCURRENCY: usize = 64;

/// Answers in the same thread, without allocating once its buffers have grown.
async fn serve(mut io: DuplexStream) {
    let mut canned = Canned::default();
    while io.read_buf(canned.input()).await.unwrap() > 0 {
        io.write_all(canned.answers()).await.unwrap();
    }
}

/// Rounds of `CONCURRENCY` requests each, driven by one future that was made before.
async fn rounds(client: &ThroughSession, rounds: usize) {
    let worker = || async {
        for key in 0..rounds {
            client.request(key as i32).await;
        }
    };
    join_all((0..CONCURRENCY).map(|_| worker())).await;
}

/// design 4.1: through a session a request allocates no more than on its connection, though the answers repeat their
/// columns: the values, and the answer's body.
#[tokio::test(start_paused = true)]
async fn at_most_two_per_request() {
    let (near, far) = tokio::io::duplex(1 << 20);
    tokio::spawn(serve(far));
    let client = ThroughSession::open(near, ProtocolVersion::V4).await;
    rounds(&client, ROUNDS).await;

    let count = async |count| {
        let region = Region::new(ALLOCATOR);
        rounds(&client, count).await;
        let change = region.change();
        change.allocations + change.reallocations
    };
    // What the rounds cost beside their requests is the same in both.
    let short = count(ROUNDS).await;
    let long = count(2 * ROUNDS).await;
    let requests = ROUNDS * CONCURRENCY;
    let per_request = (long - short) as f64 / requests as f64;
    assert!((1.0..=2.0).contains(&per_request), "{per_request} allocations per request");
}
