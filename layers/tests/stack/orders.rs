//! Order, cap and coverage.

use std::net::{IpAddr, Ipv6Addr};

use messina_layers::{Candidates, ConnectOptions, FixedResolver, Order, ShuffleCapLayer, connect_stack};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::support::{Servers, Step, candidates, ip, name, number, secs, stack, target};

fn with(order: Order, cap: usize, seed: Option<u64>) -> ConnectOptions {
    let mut options = ConnectOptions::default();
    (options.order, options.cap, options.seed) = (order, cap, seed);
    options
}

/// The orders that a layer gives to the same candidates, connect after connect.
fn orders(layer: &ShuffleCapLayer, numbers: &[u8], connects: usize) -> Vec<Vec<u8>> {
    let echo = service_fn(async |candidates: Candidates<_>| Ok::<_, std::convert::Infallible>(candidates));
    let mut shuffle = layer.layer(echo);
    let call = |_| {
        let answer = tokio_test::block_on(shuffle.call(candidates(numbers.iter().copied()))).unwrap();
        answer.addrs().iter().copied().map(number).collect()
    };
    (0..connects).map(call).collect()
}

/// connect 24: across 1000 connects every address is first about as often.
/// connect D1: shuffled afresh at each connect.
#[test]
fn first_places_are_level() {
    let orders = orders(&ShuffleCapLayer::new().with_seed(1), &[1, 2, 3, 4, 5], 1000);
    for n in 1..=5 {
        for place in 0..5 {
            let count = orders.iter().filter(|order| order[place] == n).count();
            assert!((150..250).contains(&count), "{n} stood at place {place} {count} times of 1000");
        }
    }
}

/// connect D1: seedable; the same seed gives the same orders.
/// connect 30: two stacks do not influence each other's order.
#[test]
fn a_seed_repeats_and_no_seed_does_not() {
    let numbers: Vec<u8> = (1..=20).collect();
    let seeded = ShuffleCapLayer::new().with_cap(20).with_seed(7);
    assert_eq!(
        orders(&seeded.clone(), &numbers, 5),
        orders(&ShuffleCapLayer::new().with_cap(20).with_seed(7), &numbers, 5)
    );
    let system = ShuffleCapLayer::new().with_cap(20);
    assert_ne!(orders(&system, &numbers, 5), orders(&system, &numbers, 5), "two services of one layer draw apart");
}

/// connect 30: connects of one stack leave the orders of another alone.
#[test]
fn two_stacks_interleaved_give_what_each_gives_alone() {
    let numbers: Vec<u8> = (1..=20).collect();
    let layer = |seed| ShuffleCapLayer::new().with_cap(20).with_seed(seed);
    let alone = orders(&layer(1), &numbers, 4);
    let echo = service_fn(async |c: Candidates<_>| Ok::<_, std::convert::Infallible>(c));
    let (mut one, mut other) = (layer(1).layer(echo), layer(2).layer(echo));
    for expected in alone {
        tokio_test::block_on(other.call(candidates(numbers.iter().copied()))).unwrap();
        let answer = tokio_test::block_on(one.call(candidates(numbers.iter().copied()))).unwrap();
        assert_eq!(answer.addrs().iter().copied().map(number).collect::<Vec<_>>(), expected);
    }
}

/// connect 29: a rebuilt stack does not start at the same address every time.
/// reviewer 20: a rebuilt session does not fail the same way each time.
#[test]
fn rebuilt_stacks_start_differently() {
    let firsts: Vec<u8> = (0..40).map(|_| orders(&ShuffleCapLayer::new(), &[1, 2, 3], 1)[0][0]).collect();
    for n in 1..=3 {
        assert!(firsts.contains(&n), "{n} was never first in 40 rebuilds");
    }
}

/// connect 29: a fixed answer whose first record is bad: twenty stacks built anew all connect.
#[tokio::test(start_paused = true)]
async fn twenty_rebuilt_stacks_connect_past_a_bad_first_record() {
    for _ in 0..20 {
        let servers = Servers::new([(2, Step::Accept)]);
        stack(&servers, [1, 2], ConnectOptions::default()).oneshot(target()).await.unwrap();
    }
}

/// connect 25: 12 addresses, 5 attempts.
/// connect D3: the cap is 5 unless told otherwise.
/// connect 28: the cap bounds the cost of one connect.
/// connect 31: it holds for one connect.
#[tokio::test(start_paused = true)]
async fn at_most_five_are_tried() {
    let servers = Servers::default();
    let stack = stack(&servers, 1..=12, ConnectOptions::default());
    for connect in 1..=3 {
        let error = stack.clone().oneshot(target()).await.unwrap_err();
        assert_eq!((error.failed().len(), servers.dialled().len()), (5, 5 * connect));
    }
}

/// connect 31: a cap of 0 is an error.
#[test]
#[should_panic(expected = "the cap on candidate addresses is 0; allowed is 1 or more")]
fn a_cap_of_zero_is_refused() {
    let _ = ShuffleCapLayer::new().with_cap(0);
}

/// connect 26: 12 addresses of which one lives: reached within a bounded number of connects.
/// reviewer 29: the capped set is a new one in each round.
#[tokio::test(start_paused = true)]
async fn no_address_is_out_of_reach_for_good() {
    for seed in 0..20 {
        let servers = Servers::new([(11, Step::Accept)]);
        let stack = stack(&servers, 1..=12, with(Order::Shuffle, 5, Some(seed)));
        let mut connects = 1;
        while stack.clone().oneshot(target()).await.is_err() {
            connects += 1;
            assert!(connects <= 20, "seed {seed}");
        }
    }
}

/// scenario H6: 7 records, one alive, cap 3: no round dials more, the live one is reached.
#[tokio::test(start_paused = true)]
async fn cap_and_coverage() {
    for order in [Order::Shuffle, Order::PreferredFirst] {
        let servers = Servers::new([(6, Step::Accept)]);
        let stack = stack(&servers, 1..=7, with(order, 3, Some(42)));
        let mut rounds = 0;
        loop {
            servers.forget();
            rounds += 1;
            let result = stack.clone().oneshot(target()).await;
            assert!(servers.dialled().len() <= 3);
            if result.is_ok() {
                break;
            }
            assert!(rounds <= 25, "{order}");
        }
    }
}

/// scenario H7: cap 1 and `PreferredFirst`: the resolver's first answer is dialled, always.
/// reviewer 14: the resolver's own choice is kept before the cap.
#[tokio::test(start_paused = true)]
async fn the_preferred_answer_survives_the_cap() {
    let servers = Servers::default();
    let stack = stack(&servers, [4, 1, 2, 3], with(Order::PreferredFirst, 1, None));
    for _ in 0..30 {
        stack.clone().oneshot(target()).await.unwrap_err();
    }
    assert_eq!(servers.dialled(), [4; 30]);
}

/// connect D1: the four orders.
#[test]
fn the_other_orders() {
    let layer = |order| ShuffleCapLayer::new().with_order(order).with_seed(3);
    assert_eq!(orders(&layer(Order::AsGiven), &[3, 1, 2], 3), [[3, 1, 2]; 3]);

    let preferred = orders(&layer(Order::PreferredFirst), &[3, 1, 2], 50);
    assert!(preferred.iter().all(|order| order[0] == 3));
    assert!(preferred.contains(&vec![3, 1, 2]) && preferred.contains(&vec![3, 2, 1]), "the rest is shuffled");
    assert_eq!(orders(&layer(Order::PreferredFirst), &[3], 1), [[3]]);
}

/// connect D1: families in turn, beginning with that of the first answer, shuffled within each.
#[tokio::test(start_paused = true)]
async fn families_take_turns() {
    let v6 = |n| IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n));
    for (answer, families) in [
        (vec![v6(1), v6(2), v6(3), ip(4), ip(5)], "64646"),
        (vec![ip(4), v6(1), v6(2), v6(3)], "4666"),
        (vec![v6(1), ip(4), ip(5), ip(6)], "6444"),
        (vec![ip(4), ip(5)], "44"),
    ] {
        let mut seen = Vec::new();
        for seed in 0..20 {
            let servers = Servers::default();
            let resolver = FixedResolver::new().with(name(), answer.clone());
            let stack = connect_stack(servers.clone(), resolver, with(Order::InterleaveFamilies, 9, Some(seed)));
            let failed = stack.oneshot(target()).await.unwrap_err().failed().to_vec();
            let order: String = failed.iter().map(|a| if a.addr.is_ipv6() { '6' } else { '4' }).collect();
            assert_eq!(order, families, "{answer:?}");
            seen.push(failed.iter().map(|a| number(a.addr)).collect::<Vec<_>>());
        }
        seen.sort();
        seen.dedup();
        assert!(seen.len() > 1, "shuffled within a family: {seen:?}");
    }
}

/// connect 40: five black holes cost the cap times the limit of one attempt.
#[tokio::test(start_paused = true)]
async fn the_worst_case_is_the_cap_times_one_limit() {
    let black_hole = || Step::FailAfter(secs(5), crate::support::refused());
    let servers = Servers::new((1..=12).map(|n| (n, black_hole())));
    let started = tokio::time::Instant::now();
    stack(&servers, 1..=12, ConnectOptions::default()).oneshot(target()).await.unwrap_err();
    assert_eq!(started.elapsed(), secs(25));
}

/// The names used in settings.
#[test]
fn orders_print_their_names() {
    let names = [Order::Shuffle, Order::PreferredFirst, Order::AsGiven, Order::InterleaveFamilies];
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["shuffle", "first-then-shuffle", "as-given", "interleave-families"]);
}
