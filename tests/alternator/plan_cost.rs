//! What a pick costs.

use std::{hint::black_box, sync::Arc};

use messina::alternator::plan::{QueryPlan, Standing};
use tokio::time::Instant;

use crate::support::numbered;

/// alternator 5.2: the first two picks allocate nothing, of both kinds of plan.
#[test]
fn first_picks_allocate_nothing() {
    let nodes = numbered(100, 8000);
    for seed in 0..1_000 {
        for mut plan in [QueryPlan::random(seed), QueryPlan::seeded(seed as i64)] {
            let measured = allocation_counter::measure(|| {
                for _ in 0..2 {
                    black_box(plan.pick(|| Arc::clone(&nodes), |_| Standing::Active));
                }
            });
            assert_eq!(measured.count_total, 0, "seed {seed}");
            let measured = allocation_counter::measure(|| {
                for _ in 0..98 {
                    black_box(plan.pick(|| Arc::clone(&nodes), |_| Standing::Active));
                }
            });
            assert!((1..=4).contains(&measured.count_total), "the rest: {}", measured.count_total);
        }
    }
}

/// alternator 5.5: a first pick costs nowhere near a whole seeding. The limits leave room for a build without
/// optimization on a busy machine; `--nocapture` prints the numbers.
#[test]
fn first_pick_is_quick() {
    let nodes = numbered(100, 8000);
    let rounds = 20_000;
    let best = |plan: &dyn Fn(u64) -> QueryPlan| {
        let round = |start: u64| {
            let from = Instant::now();
            for seed in start..start + rounds / 20 {
                black_box(plan(seed).pick(|| Arc::clone(&nodes), |_| Standing::Active));
            }
            from.elapsed() / (rounds / 20) as u32
        };
        (0..20).map(|i| round(i * rounds)).min().unwrap()
    };
    let (random, seeded) = (best(&QueryPlan::random), best(&|seed| QueryPlan::seeded(seed as i64)));
    println!("first pick over 100 nodes: random {random:?}, seeded {seeded:?}");
    assert!(random.as_micros() < 20 && seeded.as_micros() < 20, "random {random:?}, seeded {seeded:?}");
}
