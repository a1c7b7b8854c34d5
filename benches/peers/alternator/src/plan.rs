//! The first pick of a plan over 100 nodes.

use std::{hint::black_box, process::Command, sync::Arc};

use messina::alternator::{
    nodes::NodeList,
    plan::{QueryPlan, Standing},
};
use tokio::time::Instant;

use crate::measure::median;

fn nodes() -> Arc<NodeList> {
    let nodes: Vec<_> = (1..=100).map(|i| format!("http://10.0.0.{i}:8000").parse().expect("a node")).collect();
    Arc::new(nodes.into_iter().collect())
}

fn plan(kind: &str, seed: u64) -> QueryPlan {
    if kind == "random" { QueryPlan::random(seed) } else { QueryPlan::seeded(seed as i64) }
}

fn first(kind: &str, seed: u64, nodes: &Arc<NodeList>) {
    black_box(plan(kind, seed).pick_place(|| Arc::clone(nodes), |_| Standing::Active));
}

/// Picks so often; what valgrind looks at.
pub fn pick(kind: &str, count: u64) {
    let nodes = nodes();
    (0..count).for_each(|seed| first(kind, seed, &nodes));
}

pub fn measure() {
    let nodes = nodes();
    let time = |what: &dyn Fn(u64)| {
        let round = |start: u64| {
            let from = Instant::now();
            (start..start + 1000).for_each(what);
            from.elapsed().as_nanos() as f64 / 1000.0
        };
        median((0..201).map(|i| round(i * 1000)).collect())
    };
    let clock = time(&|_| {
        black_box(Instant::now());
    });
    println!("| first pick over 100 nodes | goal | time | reading the clock = 1 | instructions |");
    println!("|---|---|---|---|---|");
    for (kind, goal) in [("random", "100 ns"), ("seeded", "1 us")] {
        let pick = time(&|seed| first(kind, seed, &nodes));
        let instructions =
            instructions(kind).map_or_else(|| "no valgrind here".to_owned(), |count| format!("{count:.0}"));
        println!("| {kind} | {goal} | {pick:.0} ns | {:.1} | {instructions} |", pick / clock);
    }
    println!();
}

/// Instructions of one pick: the difference of two runs.
fn instructions(kind: &str) -> Option<f64> {
    let (few, many) = (10_000, 110_000);
    let run = |count: u64| {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(std::env::current_exe().ok()?)
            .args(["pick", kind, &count.to_string()])
            .output()
            .ok()?;
        let text = String::from_utf8(output.stderr).ok()?;
        let line = text.lines().find(|line| line.contains("Collected"))?;
        line.rsplit(' ').next()?.parse::<f64>().ok()
    };
    Some((run(many)? - run(few)?) / (many - few) as f64)
}
