//! How often a request allocates; a binary of its own, since the counting allocator counts the whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../../benches/canned/client.rs"]
mod client;
#[path = "../../benches/canned/server.rs"]
mod server;

use std::{alloc::System, time::Duration};

use futures_util::future::join_all;
use messina::protocol::ProtocolVersion;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use client::Client;
use server::Canned;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The allocator counts for everybody.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

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
async fn rounds(client: &Client, rounds: usize) {
    let worker = || async {
        for key in 0..rounds {
            client.request(key as i32).await;
        }
    };
    join_all((0..CONCURRENCY).map(|_| worker())).await;
}

/// design 4.1: at most two allocations per request at concurrency 64, from binding to the decoded row: the values and
/// the answer's body.
#[tokio::test(start_paused = true)]
async fn at_most_two_per_request() {
    let _alone = ALONE.lock().await;
    let (near, far) = tokio::io::duplex(1 << 20);
    tokio::spawn(serve(far));
    let client = Client::open(near, ProtocolVersion::V4).await;
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

/// cql 4: a connection that was busy gives its read buffer back at the first answer after a second without any, which is
/// that of a heartbeat at the latest; one that was just opened has none, and one with little to read a small one.
#[tokio::test(start_paused = true)]
async fn an_idle_connection_has_no_read_buffer() {
    let _alone = ALONE.lock().await;
    let (near, far) = tokio::io::duplex(1 << 20);
    tokio::spawn(serve(far));
    let client = Client::open(near, ProtocolVersion::V4).await;
    let held = |region: &Region<'_, System>| {
        let change = region.change();
        change.bytes_allocated as i64 - change.bytes_deallocated as i64 + change.bytes_reallocated as i64
    };
    // Until the driver has seen that there is nothing.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let region = Region::new(ALLOCATOR);
    for key in 0..3 {
        client.request(key).await;
    }
    let busy = held(&region);
    // Others in this process may allocate a little meanwhile.
    assert!((4 * 1024..12 * 1024).contains(&busy), "{busy} bytes for reading little");
    rounds(&client, 3).await;
    let busy = held(&region);
    assert!(busy >= 16 * 1024, "{busy} bytes for reading much");
    tokio::time::sleep(Duration::from_millis(1_001)).await;
    client.request(0).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let idle = busy - held(&region);
    assert!(idle >= 16 * 1024, "{idle} of {busy} bytes were given back");
}
