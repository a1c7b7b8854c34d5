//! Delays between tries.

use std::time::Duration;

use messina_layers::Backoff;
use proptest::prelude::*;

use crate::support::{millis, secs};

/// The seconds of the first delays.
fn exact(mut backoff: Backoff, count: usize) -> Vec<u64> {
    (0..count).map(|_| backoff.next_delay().as_secs()).collect()
}

#[test]
fn delays_double_up_to_the_longest() {
    let backoff = Backoff::new(secs(1), secs(60)).without_jitter();
    assert_eq!(exact(backoff, 9), [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(exact(Backoff::new(secs(7), secs(3)).without_jitter(), 3), [7, 7, 7], "never below the first");
}

#[test]
fn many_tries_do_not_overflow() {
    let mut backoff = Backoff::new(secs(u64::MAX / 2), Duration::MAX).with_jitter_percent(100);
    for _ in 0..100 {
        assert!(backoff.next_delay() >= secs(u64::MAX / 2));
    }
    assert_eq!(exact(Backoff::new(Duration::ZERO, secs(60)), 40), [0; 40]);
}

#[test]
fn a_seed_repeats_and_a_reset_starts_again() {
    let delays = |mut backoff: Backoff| (0..10).map(|_| backoff.next_delay()).collect::<Vec<_>>();
    let seeded = || Backoff::new(secs(1), secs(60)).with_seed(7);
    assert_eq!(delays(seeded()), delays(seeded()));
    assert_ne!(delays(seeded()), delays(Backoff::new(secs(1), secs(60)).with_seed(8)));
    let mut backoff = Backoff::new(secs(1), secs(60));
    for _ in 0..10 {
        backoff.next_delay();
    }
    backoff.reset();
    assert!(backoff.next_delay() <= millis(1150));
}

#[test]
fn a_delay_is_varied_both_ways() {
    let fourth = |seed| {
        let mut backoff = Backoff::new(secs(1), secs(60)).with_jitter_percent(50).with_seed(seed);
        (0..4).map(|_| backoff.next_delay()).last().unwrap()
    };
    let fourth: Vec<Duration> = (0..100).map(fourth).collect();
    assert!(fourth.iter().any(|delay| *delay < secs(6)) && fourth.iter().any(|delay| *delay > secs(10)), "{fourth:?}");
}

/// report 39: clients that lost their server together do not come back together, also at the longest delay.
#[test]
fn the_longest_delay_is_varied_as_well() {
    let mut last: Vec<Duration> = (0..100)
        .map(|seed| {
            let mut backoff = Backoff::new(secs(1), secs(60)).with_seed(seed);
            for _ in 0..9 {
                backoff.next_delay();
            }
            backoff.next_delay()
        })
        .collect();
    last.sort();
    last.dedup();
    assert!(last.len() > 90, "{} different delays of 100", last.len());
    assert!(last[0] < secs(54) && *last.last().unwrap() > secs(57), "{:?}..{:?}", last[0], last.last());
}

proptest! {
    #[test]
    fn delays_stay_within_their_bounds(
        base in 0_u64..100_000, more in 0_u64..100_000, percent in 0_u32..200, seed in any::<u64>(), tries in 1..40_usize,
    ) {
        let (base, max) = (millis(base), millis(base + more));
        let mut backoff = Backoff::new(base, max).with_jitter_percent(percent).with_seed(seed);
        let mut exact = Backoff::new(base, max).without_jitter();
        for _ in 0..tries {
            let (delay, exact) = (backoff.next_delay(), exact.next_delay());
            prop_assert!(delay >= base && delay <= max);
            let share = exact * percent.min(100) / 100;
            prop_assert!(delay + share >= exact && delay <= exact + share);
        }
    }
}
