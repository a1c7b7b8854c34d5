//! Workers, and what they see.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout_at};

use crate::clients::Call;

/// How long a request may take after its round is over; then it counts as failed.
const LATE: Duration = Duration::from_secs(5);

/// Time that this process has spent on a processor, in microseconds.
fn processor_time() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux");
    let spent = |thread: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    threads.filter_map(spent).sum::<f64>() / 1000.0
}

pub struct Round {
    pub done: usize,
    pub failed: usize,
    pub seconds: f64,
    /// Microseconds by the request.
    pub processor: f64,
    latencies: Vec<u32>,
}

impl Round {
    pub fn rate(&self) -> f64 {
        self.done as f64 / self.seconds
    }

    /// The latency that this part of the requests did not exceed, in milliseconds.
    pub fn at(&self, part: f64) -> f64 {
        let place = ((self.latencies.len() as f64 * part) as usize).min(self.latencies.len().saturating_sub(1));
        f64::from(self.latencies.get(place).copied().unwrap_or(0)) / 1000.0
    }
}

/// So many workers, each with one request after the other, for a while.
pub async fn run(call: &Call, workers: usize, time: Duration) -> Round {
    let (from, processor) = (Instant::now(), processor_time());
    let until = from + time;
    let work = |call: Call| async move {
        let (mut latencies, mut failed) = (Vec::new(), 0);
        while Instant::now() < until {
            let from = Instant::now();
            match timeout_at(until + LATE, call()).await {
                Ok(Ok(())) => latencies.push(from.elapsed().as_micros() as u32),
                _ => failed += 1,
            }
        }
        (latencies, failed)
    };
    let tasks: Vec<_> = (0..workers).map(|_| tokio::spawn(work(Arc::clone(call)))).collect();
    let mut round = Round { done: 0, failed: 0, seconds: time.as_secs_f64(), processor: 0.0, latencies: Vec::new() };
    for task in tasks {
        let (latencies, failed) = task.await.expect("a worker");
        round.latencies.extend(latencies);
        round.failed += failed;
    }
    round.latencies.sort_unstable();
    round.done = round.latencies.len();
    round.processor = (processor_time() - processor) / round.done.max(1) as f64;
    round
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What a quarter of the rounds did not exceed: those in which the machine had the least else to do.
pub fn quiet(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 4]
}
