//! Instructions and allocations per request, counted by valgrind.
//!
//! `cargo bench --bench instructions` starts a canned server in a process of its own, runs a client under callgrind and
//! memcheck for two numbers of requests, and prints the differences divided by the difference of the numbers, so that
//! neither start-up nor the server count.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement")]

#[path = "../canned/client.rs"]
mod client;
#[path = "../canned/listen.rs"]
mod listen;
#[path = "../canned/server.rs"]
mod server;
#[path = "../canned/through_session.rs"]
mod through_session;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use messina::protocol::ProtocolVersion;
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::net::TcpStream;

use client::Client;
use listen::listen;
use through_session::ThroughSession;

/// Both numbers of requests.
const LENGTHS: [u64; 2] = [20_000, 60_000];

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve"] => serve(),
        ["client", layer, address, version, concurrency, requests] => {
            if layer == "recorded" {
                // Counted as a service counts that is scraped.
                PrometheusBuilder::new().install_recorder().unwrap();
            }
            let address: SocketAddr = address.parse().unwrap();
            let version = version.parse().unwrap();
            let (concurrency, requests) = (concurrency.parse().unwrap(), requests.parse().unwrap());
            match layer {
                "session" | "recorded" => run::<ThroughSession>(address, version, concurrency, requests),
                _ => run::<Client>(address, version, concurrency, requests),
            }
        }
        _ => measure(),
    }
}

/// Serves until its input ends; the first line of its output is its address.
fn serve() {
    println!("{}", listen());
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// What requests go through.
trait Layer: Send + Sync + Sized + 'static {
    fn open(stream: TcpStream, version: ProtocolVersion) -> impl Future<Output = Self>;
    fn request(&self, key: i32) -> impl Future<Output = ()> + Send;
}

impl Layer for Client {
    fn open(stream: TcpStream, version: ProtocolVersion) -> impl Future<Output = Self> {
        Self::open(stream, version)
    }

    fn request(&self, key: i32) -> impl Future<Output = ()> + Send {
        self.request(key)
    }
}

impl Layer for ThroughSession {
    fn open(stream: TcpStream, version: ProtocolVersion) -> impl Future<Output = Self> {
        Self::open(stream, version)
    }

    fn request(&self, key: i32) -> impl Future<Output = ()> + Send {
        self.request(key)
    }
}

/// Runs `requests` requests, `concurrency` at a time.
fn run<L: Layer>(address: SocketAddr, version: ProtocolVersion, concurrency: u64, requests: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let client = Arc::new(L::open(stream, version).await);
        let tasks: Vec<_> = (0..concurrency)
            .map(|_| {
                let client = Arc::clone(&client);
                tokio::task::spawn(async move {
                    for key in 0..requests / concurrency {
                        client.request(key as i32).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

fn measure() {
    let server = Server::start();
    println!("through     protocol  concurrency  instructions  allocations  bytes   (per request)");
    for layer in ["connection", "session", "recorded"] {
        for version in ["v4", "v5"] {
            for concurrency in ["64", "1"] {
                let how = [layer, &server.address, version, concurrency];
                let [instructions, ..] = per_request(how, CALLGRIND);
                let [allocations, bytes] = per_request(how, MEMCHECK);
                println!(
                    "{layer:<10}  {version:<8}  {concurrency:>11}  {instructions:>12.0}  {allocations:>11.2}  {bytes:>5.0}"
                );
            }
        }
    }
}

/// A tool of valgrind: its options, and the two numbers in the last line that holds its mark.
type Tool = (&'static [&'static str], &'static str, [usize; 2]);

const CALLGRIND: Tool = (&["--tool=callgrind", "--callgrind-out-file=/dev/null"], "Collected :", [0, 0]);
const MEMCHECK: Tool =
    (&["--tool=memcheck", "--leak-check=no", "--undef-value-errors=no"], "total heap usage:", [0, 2]);

/// The tool's two numbers per request.
fn per_request(how: [&str; 4], tool: Tool) -> [f64; 2] {
    let [short, long] = LENGTHS.map(|requests| counted(how, requests, tool));
    let requests = (LENGTHS[1] - LENGTHS[0]) as f64;
    [0, 1].map(|number| (long[number] - short[number]) / requests)
}

/// The tool's two numbers for a whole run.
fn counted(how: [&str; 4], requests: u64, (options, mark, places): Tool) -> [f64; 2] {
    let run = Command::new("valgrind")
        .args(options)
        .arg(std::env::current_exe().unwrap())
        .arg("client")
        .args(how)
        .arg(requests.to_string())
        .output()
        .expect("valgrind is installed");
    let report = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{report}");
    let line = report.lines().rfind(|line| line.contains(mark));
    let (_, line) = line.expect("the tool's line").split_once(mark).unwrap();
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok()).collect();
    places.map(|place| numbers[place])
}

/// The server's process, which ends with this.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut serve = Command::new(std::env::current_exe().unwrap());
        serve.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = serve.spawn().unwrap();
        let mut address = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        Self { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
