//! A request's round trip over loopback against a canned server in this process: bind, send, receive, decode.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a benchmark")]

#[path = "canned/client.rs"]
mod client;
#[path = "canned/listen.rs"]
mod listen;
#[path = "canned/server.rs"]
mod server;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures_util::future::join_all;
use messina::protocol::ProtocolVersion;
use tokio::net::TcpStream;

use client::Client;
use listen::listen;

fn round_trip(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let address = listen();
    let mut group = criterion.benchmark_group("round_trip");
    for version in [ProtocolVersion::V4, ProtocolVersion::V5] {
        let client = runtime.block_on(async {
            let stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            Client::open(stream, version).await
        });
        for concurrency in [1, 64] {
            group.throughput(Throughput::Elements(concurrency));
            group.bench_function(format!("{version}/{concurrency}"), |bencher| {
                bencher.to_async(&runtime).iter(async || {
                    join_all((0..concurrency).map(|key| client.request(key as i32))).await;
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, round_trip);
criterion_main!(benches);
