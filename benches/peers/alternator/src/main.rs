//! Clients of DynamoDB's API side by side: the floor (hyper and a signature), the plain SDK, the crate
//! `alternator-client`, and Messina's, all in one run against the same nodes in another process.
//!
//! `cargo run --release` measures; `-- cpu`, `-- faults` or `-- start` a part. The client has one thread, so that it is what
//! limits the throughput.

mod clients;
mod serve;

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

use crate::clients::{Call, KINDS, Nodes};

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mode = std::env::args().nth(1).unwrap_or_default();
    if mode == "serve" {
        return runtime.block_on(serve::serve());
    }
    runtime.block_on(async {
        if mode.is_empty() || mode == "plan" {
            plan();
        }
        if mode.is_empty() || mode == "cpu" {
            cpu().await;
        }
        if mode.is_empty() || mode == "faults" {
            faults().await;
        }
        if mode.is_empty() || mode == "start" {
            start().await;
        }
    });
}

/// The nodes, in a process of their own.
struct Server {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
    nodes: Nodes,
}

impl Server {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the nodes start");
        let mut answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        answers.read_line(&mut line).expect("the nodes tell their addresses");
        let mut words = line.split_whitespace();
        let port = words.next().and_then(|port| port.parse().ok()).expect("a port");
        let ips = words.map(str::to_owned).collect();
        Self { child, answers, nodes: Nodes { ips, port } }
    }

    /// Tells the nodes something and waits until it is so.
    fn tell(&mut self, text: &str) -> String {
        let stdin = self.child.stdin.as_mut().expect("piped");
        writeln!(stdin, "{text}").and_then(|()| stdin.flush()).expect("the nodes listen");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the nodes answer");
        line.trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Time that this process has spent on a processor, in microseconds.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |field: usize| fields[field].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) * 10_000.0
}

struct Result {
    done: usize,
    failed: usize,
    seconds: f64,
    processor: f64,
    latencies: Vec<u32>,
}

impl Result {
    fn rate(&self) -> f64 {
        self.done as f64 / self.seconds
    }

    fn at(&self, part: f64) -> f64 {
        let place = ((self.latencies.len() as f64 * part) as usize).min(self.latencies.len().saturating_sub(1));
        f64::from(self.latencies.get(place).copied().unwrap_or(0)) / 1000.0
    }
}

/// So many workers, each with one request after the other, for a while. A request that has not ended half a minute later
/// counts as failed.
async fn run(call: &Call, workers: usize, time: Duration) -> Result {
    let (from, processor) = (Instant::now(), processor_time());
    let until = from + time;
    let work = |call: Call| async move {
        let (mut latencies, mut failed) = (Vec::new(), 0);
        while Instant::now() < until {
            let from = Instant::now();
            match tokio::time::timeout_at(until + Duration::from_secs(5), call()).await {
                Ok(Ok(())) => latencies.push(from.elapsed().as_micros() as u32),
                _ => failed += 1,
            }
        }
        (latencies, failed)
    };
    let tasks: Vec<_> = (0..workers).map(|_| tokio::spawn(work(Arc::clone(call)))).collect();
    let mut result = Result { done: 0, failed: 0, seconds: 0.0, processor: 0.0, latencies: Vec::new() };
    for task in tasks {
        let (latencies, failed) = task.await.expect("a worker");
        result.latencies.extend(latencies);
        result.failed += failed;
    }
    result.latencies.sort_unstable();
    result.done = result.latencies.len();
    result.seconds = time.as_secs_f64().max(0.001);
    result.processor = (processor_time() - processor) / result.done.max(1) as f64;
    result
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The first pick of a plan over 100 nodes.
fn plan() {
    use messina::alternator::plan::{QueryPlan, Standing};
    let nodes: Vec<_> = (1..=100).map(|i| format!("http://10.0.0.{i}:8000").parse().expect("a node")).collect();
    let nodes: Arc<messina::alternator::nodes::NodeList> = Arc::new(nodes.into_iter().collect());
    let best = |plan: &dyn Fn(u64) -> QueryPlan| {
        let round = |start: u64| {
            let from = Instant::now();
            for seed in start..start + 1000 {
                let pick = plan(seed).pick_place(|| Arc::clone(&nodes), |_| Standing::Active);
                std::hint::black_box(pick);
            }
            from.elapsed().as_nanos() as f64 / 1000.0
        };
        median((0..101).map(|i| round(i * 1000)).collect())
    };
    let (random, seeded) = (best(&QueryPlan::random), best(&|seed| QueryPlan::seeded(seed as i64)));
    println!("first pick over 100 nodes: random {random:.0} ns, seeded {seeded:.0} ns");
}

async fn cpu() {
    let mut server = Server::start();
    let mut calls = Vec::new();
    for kind in KINDS {
        calls.push((kind, clients::make(kind, &server.nodes).await));
    }
    println!("client processor time per signed GetItem, as a ratio to the floor (median of 5 rounds side by side)");
    for workers in [1, 64] {
        let mut rounds = vec![Vec::new(); calls.len()];
        for (_, call) in &calls {
            run(call, workers, Duration::from_millis(300)).await;
        }
        for _ in 0..5 {
            for (place, (_, call)) in calls.iter().enumerate() {
                rounds[place].push(run(call, workers, Duration::from_secs(2)).await.processor);
            }
        }
        let floor = median(rounds[0].clone());
        for ((kind, call), times) in calls.iter().zip(rounds) {
            let time = median(times);
            server.tell("forget");
            let _ = call().await;
            let head = server.tell("head");
            println!("  {workers:>3} workers  {kind:<16} {:.2} x  ({time:.1} us)  request head {head} bytes", time / floor);
        }
    }
}

async fn faults() {
    println!("three nodes, one bad: throughput against that of the same client with all nodes healthy");
    for workers in [16, 256] {
        for kind in ["peer", "messina-sdk", "messina-raw"] {
            let mut server = Server::start();
            let call = clients::make(kind, &server.nodes).await;
            run(&call, workers, Duration::from_secs(1)).await;
            let healthy = run(&call, workers, Duration::from_secs(3)).await;
            for fault in ["refuse", "503", "hang"] {
                server.tell(&format!("{fault} 1"));
                let faulty = run(&call, workers, Duration::from_secs(5)).await;
                server.tell("heal");
                tokio::time::sleep(Duration::from_secs(2)).await;
                println!(
                    "  {workers:>3} workers  {kind:<12} {fault:<7} {:>4.0} %  {} errors  p99.9 {:.0} ms  longest {:.0} ms",
                    100.0 * faulty.rate() / healthy.rate(),
                    faulty.failed,
                    faulty.at(0.999),
                    faulty.at(1.0),
                );
            }
        }
    }
}

async fn start() {
    println!("the first answer of a new client whose first seed hangs");
    for kind in ["peer", "messina-sdk", "messina-raw"] {
        let mut times = Vec::new();
        for _ in 0..5 {
            let mut server = Server::start();
            server.tell("hang 0");
            let from = Instant::now();
            let call = clients::make(kind, &server.nodes).await;
            let answered = tokio::time::timeout(Duration::from_secs(10), call()).await;
            let answered = matches!(answered, Ok(Ok(())));
            times.push(if answered { from.elapsed().as_secs_f64() * 1000.0 } else { f64::INFINITY });
        }
        let longest = times.iter().copied().fold(0.0, f64::max);
        println!("  {kind:<12} median {:.0} ms, longest {longest:.0} ms", median(times));
    }
}
