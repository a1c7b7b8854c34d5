//! Many nodes, seeded faults, a load of requests: the product's own control, pool and connect code, in paused time.
//!
//! Each run prints its seed when it fails; `MESSINA_SIMULATION_SEED=7 cargo test --all-features --test simulation` runs
//! that one again, `MESSINA_SIMULATION_NODES=300` says how many nodes there are, and `MESSINA_SIMULATION_SEEDS=20` how many
//! runs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod chaos;
mod idle;
mod load;
mod random;
mod world;

use std::time::Duration;

use self::{random::Random, world::World};

/// How long faults go on.
const FAULTS: Duration = Duration::from_secs(40);

async fn simulate(nodes: usize, seed: u64) {
    let mut random = Random::new(seed);
    let world = World::start(nodes, &mut random).await;
    let story = match run(&world, &mut random).await {
        Ok(()) => return,
        Err(why) => why,
    };
    panic!(
        "{story}\nseed {seed}, {nodes} nodes: MESSINA_SIMULATION_SEED={seed} MESSINA_SIMULATION_NODES={nodes}\n{}",
        world.story()
    );
}

async fn run(world: &World, random: &mut Random) -> Result<(), String> {
    let load = load::start(world, random);
    world.full_within(Duration::from_secs(20)).await?;
    world.torment(FAULTS, random).await?;
    world.heal().await;
    world.full_within(world::WHOLE).await?;
    let (during, slowest) = load.restart()?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (after, _) = load.stop().await?;
    println!("{during:?}, the slowest took {slowest:?}; then {after:?}");
    if during.served == 0 || after.failed > 0 || after.served == 0 {
        return Err(format!("requests: {during:?} under faults, {after:?} after them"));
    }
    // A minute of a thousand idle nodes takes long to run, and tells nothing more.
    if world.cluster.nodes().len() <= 200 {
        world.lets_go().await?;
    }
    world.close().await
}

/// Some seeds from this one on, or the one that is asked for.
async fn each(nodes: usize, first: u64, seeds: u64) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let nodes = number("MESSINA_SIMULATION_NODES").map_or(nodes, |nodes| usize::try_from(nodes).unwrap());
    match number("MESSINA_SIMULATION_SEED") {
        Some(seed) => simulate(nodes, seed).await,
        None => {
            for seed in 0..number("MESSINA_SIMULATION_SEEDS").unwrap_or(seeds) {
                simulate(nodes, first + seed).await;
            }
        }
    }
}

/// report 57: random kills, and then every pool is full again.
/// report 22: where nodes were before they moved nobody dials any more.
/// reviewer 48: one control connection at a time, whoever it leads to.
#[tokio::test(start_paused = true)]
async fn fifty_nodes() {
    each(50, 0, 2).await;
}

/// report 14: all records of the name change again and again.
#[tokio::test(start_paused = true)]
async fn two_hundred_nodes() {
    each(200, 100, 1).await;
}

/// report 20: the same with a thousand nodes, some of them coming back with other addresses.
#[tokio::test(start_paused = true)]
async fn a_thousand_nodes() {
    each(1000, 200, 1).await;
}
