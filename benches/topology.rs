//! What a snapshot of 1,000 nodes with 256 tokens each costs to make and to ask, counted by valgrind.
//!
//! `cargo bench --bench topology` runs each part under callgrind twice, with a few and with more repetitions, and
//! prints the difference per repetition; then how long each took in this process, beside sorting the tokens alone.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement")]

use std::{hint::black_box, process::Command};

use messina::topology::{NodeInfo, NodeList, ReplicaSets, Snapshot, Strategy, Token};
use tokio::time::Instant;
use uuid::Uuid;

const NODES: u32 = 1_000;
const TOKENS: usize = 256;
const PARTS: [&str; 5] = ["sort", "snapshot", "replicas", "owner", "look-up"];

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match &arguments[..] {
        [part, repetitions] => {
            run(part, repetitions.parse().unwrap());
        }
        _ => measure(),
    }
}

/// A generator of tokens that is the same in every run.
struct Tokens(u64);

impl Tokens {
    fn next(&mut self) -> Token {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Token((z ^ (z >> 31)).cast_signed())
    }
}

/// Two data centres of three racks.
fn nodes() -> Vec<NodeInfo> {
    let mut tokens = Tokens(1);
    (0..NODES)
        .map(|i| {
            let mut node = NodeInfo::new(Uuid::from_u128(u128::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            node.address = Some(([10, 0, (i / 250) as u8, (i % 250) as u8], 9042).into());
            node.datacenter = Some(if i % 2 == 0 { "a" } else { "b" }.into());
            node.rack = Some(format!("r{}", i % 3));
            node.tokens = (0..TOKENS).map(|_| tokens.next()).collect();
            node
        })
        .collect()
}

fn sets(snapshot: &Snapshot) -> ReplicaSets {
    let datacenters = [("a".to_owned(), 3), ("b".to_owned(), 3)].into();
    snapshot.replica_sets(&Strategy::NetworkTopology { datacenters })
}

/// Runs one part so many times; answers the seconds that one took.
fn run(part: &str, repetitions: u32) -> f64 {
    let nodes = nodes();
    let snapshot = Snapshot::new(NodeList::new(nodes.clone()), None);
    let sets_of_all = sets(&snapshot);
    let mut tokens = Tokens(2);
    let started = Instant::now();
    for _ in 0..repetitions {
        match part {
            "sort" => {
                let mut all: Vec<_> = nodes.iter().flat_map(|node| node.tokens.iter().copied()).collect();
                all.sort_unstable();
                black_box(all.len());
            }
            "snapshot" => {
                black_box(Snapshot::new(NodeList::new(nodes.clone()), None));
            }
            "replicas" => {
                black_box(sets(&snapshot));
            }
            "owner" => {
                black_box(snapshot.ring().owner(tokens.next()));
            }
            _ => {
                black_box(sets_of_all.of(tokens.next()));
            }
        }
    }
    started.elapsed().as_secs_f64() / f64::from(repetitions)
}

fn measure() {
    println!("part       instructions      seconds");
    for part in PARTS {
        let lengths = if ["owner", "look-up"].contains(&part) { [1_000, 101_000] } else { [1, 4] };
        let [few, more] = lengths.map(|repetitions| counted(part, repetitions));
        let seconds = run(part, lengths[1]);
        println!("{part:<9}  {:>12.0}  {seconds:>11.9}", (more - few) / f64::from(lengths[1] - lengths[0]));
    }
}

/// The instructions of a whole run.
fn counted(part: &str, repetitions: u32) -> f64 {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args([part, &repetitions.to_string()])
        .output()
        .expect("valgrind is installed");
    let report = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{report}");
    let line = report.lines().rfind(|line| line.contains("Collected :")).expect("the tool's line");
    line.rsplit(' ').next().unwrap().parse().unwrap()
}
