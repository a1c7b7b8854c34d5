//! A probe in code: what bounds it, what it leaves, what it shows of hostile servers.

use std::time::Duration;

use messina::{
    config::HostIdCheck,
    error::Kind,
    layers::{Order, Resolved},
    probe::{LookupFailed, Probe, READY},
    testkit::{Fault, NameAnswer, Stage},
};
use tokio::time::{Instant, timeout};

use crate::support::{SOON, World};

async fn all_closed(world: &World) {
    world.network.log().wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
}

/// driver 7.9: what bounds and orders a connect of a session has no say: every address is tried, once, and told in the order of
/// the answer.
#[tokio::test(start_paused = true)]
async fn no_cap_no_order_no_budget() {
    let world = World::new(|cluster| cluster.nodes(9)).await;
    let mut addrs = world.cluster.addrs();
    addrs.insert(2, world.network.refused());
    let twice = addrs.iter().chain(&addrs).copied().map(Resolved::from);
    world.names.set("db.test", twice);
    let settings = world
        .builder()
        .max_candidate_addresses(1)
        .candidate_order(Order::Shuffle)
        .connect_budget(Duration::from_millis(1))
        .max_auth_failures(1)
        .host_id_check(HostIdCheck::Reject);

    let report = Probe::new(settings).run().await.unwrap();

    assert!(report.works());
    let point = &report.contact_points[0];
    assert_eq!(point.addresses.iter().map(|address| address.addr).collect::<Vec<_>>(), addrs);
    assert_eq!(point.addresses.iter().filter(|address| address.stage == READY).count(), 9);
    assert_eq!(world.names.asked("db.test"), 1, "one lookup");
    assert!(addrs.iter().all(|addr| world.network.dials(*addr) == 1), "one dial each");
    all_closed(&world).await;
}

/// driver 7.9: at most so many addresses at the same time.
#[tokio::test(start_paused = true)]
async fn concurrency() {
    let world = World::new(|cluster| cluster.nodes(6)).await;
    world.names.set("db.test", world.cluster.addrs());
    world.cluster.fault(Stage::Startup, Fault::Delay(Duration::from_millis(100)));

    let started = Instant::now();
    Probe::new(world.builder()).with_concurrency(1).run().await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(600), "{:?}", started.elapsed());
    assert_eq!(world.network.log().now().most_open_at_once(), 1);
    assert_eq!(world.network.log().now().most_logins_at_once(), 1);

    let started = Instant::now();
    Probe::new(world.builder()).with_concurrency(3).run().await.unwrap();
    assert!(started.elapsed() < Duration::from_millis(300), "{:?}", started.elapsed());
    all_closed(&world).await;
}

/// driver 7.9: a probe that is dropped leaves nothing open and goes on with nothing.
#[tokio::test(start_paused = true)]
async fn dropped() {
    let world = World::new(|cluster| cluster.nodes(3)).await;
    world.names.set("db.test", world.cluster.addrs());
    world.cluster.fault(Stage::Identity, Fault::Silence);
    let probe = Probe::new(world.builder()).run();
    assert!(timeout(Duration::from_secs(1), probe).await.is_err());
    all_closed(&world).await;
    let dialled = world.network.dialled().len();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((world.network.dialled().len(), world.network.dialling()), (dialled, 0));
}

/// driver 7.2: a lookup that hangs, fails, panics or is empty is told for its contact point, within the limit of a lookup; the
/// other contact points are probed.
#[tokio::test(start_paused = true)]
async fn lookups_that_fail() {
    let world = World::new(|cluster| cluster).await;
    world.names.answer("mute.test", NameAnswer::Silence);
    world.names.answer("wrong.test", NameAnswer::Error("no such name".into()));
    world.names.answer("panics.test", NameAnswer::PanicAtOnce);
    world.names.answer("later.test", NameAnswer::Panic);
    world.names.answer("empty.test", NameAnswer::Addresses(Vec::new()));
    let names = ["mute.test", "wrong.test", "panics.test", "later.test", "empty.test"];
    let settings = world.builder().contact_points(names).resolve_timeout(Duration::from_secs(3));

    let started = Instant::now();
    let report = Probe::new(settings).run().await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    assert!(!report.works() && report.contact_points[0].works());
    for (point, name) in report.contact_points[1..].iter().zip(names) {
        assert_eq!(point.name, format!("{name}:9042"));
        let empty = matches!(point.error, Some(LookupFailed::NoAddress));
        assert_eq!((point.addresses.len(), empty), (0, name == "empty.test"), "{report}");
        assert!(!point.advice.is_empty() && point.verdict.starts_with("does not work"), "{report}");
    }
    let text = report.to_string();
    assert!(text.contains("no answer within 3s") && text.contains("no such name"), "{text}");
    all_closed(&world).await;
}

/// driver 7.1: the time of a step is its own, and the last of a failed address is the step that failed.
#[tokio::test(start_paused = true)]
async fn times_of_steps() {
    let world = World::new(|cluster| cluster.nodes(2)).await;
    world.names.set("db.test", world.cluster.addrs());
    world.cluster.fault(Stage::Options, Fault::Delay(Duration::from_millis(70)));
    world.cluster.fault(Stage::Cluster, Fault::Delay(Duration::from_millis(30)));
    world.cluster.node(1).fault(Stage::Identity, Fault::Silence);
    let report = Probe::new(world.builder().init_timeout(Duration::from_secs(2))).run().await.unwrap();
    let [good, bad] = &report.contact_points[0].addresses[..] else { panic!("{report}") };
    let millis = |address: &messina::probe::ProbedAddress| {
        address.times.iter().map(|(step, took)| (step.as_str(), took.as_millis())).collect::<Vec<_>>()
    };
    let rest = [("startup", 0), ("cluster", 30), ("identity", 0), ("register", 0)];
    assert_eq!(millis(good)[..2], [("tcp", 0), ("options", 70)]);
    assert_eq!(millis(good)[2..], rest);
    assert_eq!(millis(bad).last(), Some(&("identity", 2000)));
    assert_eq!((bad.stage.as_str(), good.elapsed.as_millis(), bad.elapsed.as_millis()), ("identity", 100, 2100));
    all_closed(&world).await;
}

/// What a server says cannot move the cursor of a terminal or begin a line of its own.
#[tokio::test(start_paused = true)]
async fn hostile_texts() {
    let world = World::new(|cluster| {
        cluster.nodes(2).name("evil\u{1b}[2J\ncluster").node(0, |facts| facts.rack = Some("r\u{1b}[31m\r\n".into()))
    })
    .await;
    world.names.set("db.test", world.cluster.addrs());
    world.cluster.node(1).fault(Stage::Startup, Fault::error(0, "oops\u{1b}[1A\r\nworks"));
    let report = Probe::new(world.builder()).run().await.unwrap();
    let text = report.to_string();
    let harmless = |c: char| c == '\n' || !c.is_control();
    assert!(text.chars().all(harmless), "{text:?}");
    // Heading, two addresses, an empty line, the verdict.
    assert_eq!(text.lines().count(), 5, "{text}");
}

/// A setting that is not allowed is an error, and nothing is looked up or dialled.
#[tokio::test(start_paused = true)]
async fn settings_are_checked() {
    let world = World::new(|cluster| cluster).await;
    let error = Probe::new(world.builder().max_candidate_addresses(0)).run().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Config);
    assert_eq!((world.names.total(), world.network.dialled().len()), (0, 0));
}
