//! What a session costs that does nothing: memory by the connection, and none by the name.
//!
//! `cargo test --release --all-features --test idle -- --nocapture` prints the numbers; allocations are counted on the
//! client's thread alone, where everything of a session happens.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod names;

use std::{future::Future, net::SocketAddr, sync::mpsc, time::Duration};

use messina::{Session, testkit::Cluster};
use tokio::time::{Instant, sleep};

/// What a connection may take at most, in an unoptimised build.
const PER_CONNECTION: i64 = 8 * 1024;
const FEW: usize = 50;
const MANY: usize = 550;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A cluster on a thread of its own, until the sender is dropped.
fn cluster(nodes: usize) -> (SocketAddr, tokio::sync::oneshot::Sender<()>) {
    let (told, tell) = mpsc::channel();
    let (end, ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        block_on(async {
            let cluster = Cluster::builder().nodes(nodes).own_addresses().start().await.unwrap();
            told.send(cluster.node(0).addr()).unwrap();
            // Dropped is as good as sent.
            let _ = ended.await;
        });
    });
    (tell.recv().unwrap(), end)
}

/// The resident memory of this process.
fn resident() -> i64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<i64>().ok()).unwrap_or(0) * 4096
}

/// Bytes that a session with a connection to each of so many nodes holds, and connections.
fn session(nodes: usize) -> (i64, usize) {
    let (contact, _end) = cluster(nodes);
    let mut kept = None;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let measured = allocation_counter::measure(|| {
        kept = Some(runtime.block_on(async {
            let session = Session::builder().contact_addr(contact).build().await.unwrap();
            let since = Instant::now();
            while session.nodes().iter().any(|node| node.connections.is_empty()) {
                assert!(since.elapsed() < Duration::from_secs(120), "not every node is connected");
                sleep(Duration::from_millis(50)).await;
            }
            // What is read once at the beginning is read.
            sleep(Duration::from_millis(300)).await;
            session
        }));
    });
    println!("{nodes} nodes: {} bytes in {} allocations", measured.bytes_current, measured.count_current);
    drop((kept, runtime));
    (measured.bytes_current, nodes + 1)
}

/// cql 4: an idle connection holds little: the difference between many nodes and a few, by the connection.
#[test]
fn memory_of_an_idle_connection() {
    let before = resident();
    let (few, a) = session(FEW);
    let (many, b) = session(MANY);
    let each = (many - few) / i64::try_from(b - a).unwrap();
    println!("{each} bytes by the connection; resident grew by {} KiB, servers and all", (resident() - before) / 1024);
    assert!(each > 500, "{each} bytes cannot be all");
    assert!(each < PER_CONNECTION, "{each} bytes by the connection");
}
