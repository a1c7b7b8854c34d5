//! One run of one driver in a process of its own, on one thread, so that the client is what is measured.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use nix::sys::resource::{UsageWho, getrusage};
use tokio::{task::yield_now, time::sleep};

use crate::drivers::{Cdrs, Driver, Messina, Scylla, open};

/// What a run does, as its arguments say.
#[derive(Clone, Copy)]
pub enum Load {
    Point,
    Insert,
    Scan,
    ScanBorrowed,
}

impl Load {
    pub fn parse(text: &str) -> Self {
        match text {
            "point" => Self::Point,
            "insert" => Self::Insert,
            "scan" => Self::Scan,
            "borrowed" => Self::ScanBorrowed,
            _ => panic!("no load {text:?}"),
        }
    }
}

/// Runs `client DRIVER ADDRESS MODE ..`, and prints its numbers on one line.
pub async fn client(arguments: &[&str]) {
    let [driver, at, rest @ ..] = arguments else { panic!("client DRIVER ADDRESS MODE") };
    let at = at.parse().expect("an address");
    match *driver {
        "messina" => run::<Messina>(at, rest).await,
        "scylla" => run::<Scylla>(at, rest).await,
        "cdrs" => run::<Cdrs>(at, rest).await,
        _ => panic!("no driver {driver:?}"),
    }
}

async fn run<D: Driver>(at: SocketAddr, arguments: &[&str]) {
    let number = |text: &str| text.parse::<u64>().expect("a number");
    match arguments {
        // Nothing else, so that two lengths differ by requests alone.
        ["count", load, workers, requests] => {
            let driver = open::<D>(at, 1).await;
            counted(&driver, Load::parse(load), number(workers), number(requests)).await;
        }
        ["closed", load, workers, requests] => {
            let (load, workers, requests) = (Load::parse(load), number(workers), number(requests));
            let driver = open::<D>(at, 1).await;
            closed(&driver, load, workers, requests / 10).await;
            let (processor, since) = (processor_time(), Instant::now());
            let latencies = closed(&driver, load, workers, requests).await;
            let (processor, elapsed) = (processor_time() - processor, since.elapsed());
            let each = |time: Duration| time.as_nanos() as f64 / 1000.0 / requests as f64;
            println!("{} {} {}", each(processor), 1e6 / each(elapsed), percentiles(latencies));
        }
        ["offered", rate, seconds] => {
            let driver = open::<D>(at, 1).await;
            offered(&driver, number(rate), 1).await;
            println!("{}", percentiles(offered(&driver, number(rate), number(seconds)).await));
        }
        ["idle", connections] => {
            let connections = number(connections);
            let driver = open::<D>(at, connections as usize).await;
            sleep(Duration::from_secs(2)).await;
            // Every connection has been used.
            closed(&driver, Load::Point, 512, 200 * connections.max(50)).await;
            sleep(Duration::from_secs(IDLE)).await;
            println!("{}", anonymous());
        }
        _ => panic!("{arguments:?}"),
    }
}

/// Seconds until a connection counts as idle: longer than the heartbeat of each of the drivers.
const IDLE: u64 = 65;

/// So many requests by so many workers, each with one after the other, and nothing else.
async fn counted<D: Driver>(driver: &Arc<D>, load: Load, workers: u64, requests: u64) {
    let work = |driver: Arc<D>| async move {
        for key in 0..requests / workers {
            one(&*driver, load, (key % 100_000) as i32).await;
        }
    };
    let tasks: Vec<_> = (0..workers).map(|_| tokio::spawn(work(Arc::clone(driver)))).collect();
    for task in tasks {
        task.await.expect("a worker");
    }
}

/// The same, with the time that each took.
async fn closed<D: Driver>(driver: &Arc<D>, load: Load, workers: u64, requests: u64) -> Vec<u32> {
    let each = requests / workers;
    let work = |driver: Arc<D>| async move {
        let mut latencies = Vec::with_capacity(each as usize);
        for key in 0..each {
            let since = Instant::now();
            one(&*driver, load, (key % 100_000) as i32).await;
            latencies.push(since.elapsed().as_nanos().min(u32::MAX.into()) as u32);
        }
        latencies
    };
    let tasks: Vec<_> = (0..workers).map(|_| tokio::spawn(work(Arc::clone(driver)))).collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.expect("a worker"));
    }
    latencies
}

/// Evenly spaced requests that come whether the ones before are answered or not; times count from when each was due.
async fn offered<D: Driver>(driver: &Arc<D>, rate: u64, seconds: u64) -> Vec<u32> {
    let (mut tasks, start) = (Vec::new(), Instant::now());
    for number in 0..rate * seconds {
        let due = start + Duration::from_nanos(1_000_000_000 * number / rate);
        // A timer would be late by up to a millisecond.
        while Instant::now() < due {
            yield_now().await;
        }
        let driver = Arc::clone(driver);
        tasks.push(tokio::spawn(async move {
            one(&*driver, Load::Point, 7).await;
            due.elapsed().as_nanos().min(u32::MAX.into()) as u32
        }));
    }
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.push(task.await.expect("a request"));
    }
    latencies
}

async fn one<D: Driver>(driver: &D, load: Load, key: i32) {
    match load {
        Load::Point => driver.point(key).await,
        Load::Insert => driver.insert(key).await,
        Load::Scan => assert_eq!(driver.scan().await, 100_000),
        Load::ScanBorrowed => assert_eq!(driver.scan_borrowed().await, 100_000),
    }
}

/// The median, the 99th and the 99.9th percentile in microseconds.
fn percentiles(mut latencies: Vec<u32>) -> String {
    latencies.sort_unstable();
    let at = |part: f64| {
        let place = ((latencies.len() as f64 * part) as usize).min(latencies.len().saturating_sub(1));
        f64::from(latencies[place]) / 1000.0
    };
    format!("{:.1} {:.1} {:.1}", at(0.5), at(0.99), at(0.999))
}

/// Time that this process has spent on a processor.
fn processor_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("always there");
    [usage.user_time(), usage.system_time()]
        .map(|time| Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1000))
        .into_iter()
        .sum()
}

/// Resident memory that no file stands behind, in KiB.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
