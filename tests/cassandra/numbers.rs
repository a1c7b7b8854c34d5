//! The tables of a frozen node, a name that moves, and an idle session, for `BENCHMARKS.md`: ignored in a test run.
//!
//! `cargo test --release --all-features --test cassandra -- --ignored numbers --test-threads 1`

use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use messina::testkit::DnsKind;
use tokio::time::sleep;

use crate::support::case::{Case, Clusters, case};
use crate::support::load::{self, Load, Sent};
use crate::support::relay::Relay;
use crate::support::spec::Spec;
use crate::support::tools;
use crate::support::way::{Mode, NAME, Way, contact_point};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

pub(crate) fn cases() -> Vec<Case> {
    let cases = vec![
        case("numbers::frozen_node", [Spec::three()], frozen_node).alone(),
        case("numbers::moved_name", [Spec::three_fronted()], moved_name).alone(),
        case("numbers::idle_session", [Spec::three()], idle_session),
    ];
    cases.into_iter().map(|case| case.ignored().limit(MINUTE * 4)).collect()
}

/// cassandra: one of three nodes is frozen for 20 seconds under 200 point reads a second: how many of the 4,000 take
/// longer than a second or fail, with default settings.
async fn frozen_node(clusters: Clusters) {
    clusters[0].beside(load::table).await.unwrap();
    let nodes: Vec<SocketAddr> = clusters[0].nodes.iter().map(|node| node.native()).collect();
    let way = Way::through(Mode::Delay, &nodes).await;
    println!("\n| frozen | slower than 1 s | errors | slowest | median |\n|---|---|---|---|---|");
    for (frozen, name) in [(0, "the node with the control connection"), (2, "another node")] {
        let session = way.builder().build().await.unwrap();
        let read = session.prepare("SELECT v FROM load.kv WHERE k = ?").await.unwrap().with_idempotence(true);
        let load = Load::of(&session, 200, read, None);
        load.until_served_by(&nodes, Duration::ZERO, SECOND * 10).await;
        // The server compiles what it runs often.
        load.run(SECOND * 5).await;
        clusters[0].beside(move |cluster| cluster.nodes[frozen].freeze()).await.unwrap();
        let from = load.run(SECOND * 20).await;
        let to = load.now();
        clusters[0].beside(move |cluster| cluster.nodes[frozen].thaw()).await.unwrap();
        load.run(SECOND).await;
        let record = load.stop().await;
        // Those on the way at that moment too.
        let during: Vec<Sent> = record.all().into_iter().filter(|sent| sent.end() >= from && sent.at < to).collect();
        let slow = during.iter().filter(|sent| sent.took > SECOND).count();
        let errors: Vec<_> = during.iter().filter_map(|sent| sent.result.as_ref().err()).collect();
        let (slowest, median) = slowest_and_median(&during);
        println!("| {name} | {slow} of {} | {} | {slowest:.0} ms | {median:.1} ms |", during.len(), errors.len());
        errors.first().into_iter().for_each(|error| println!("\n    {error}\n"));
        session.close().await;
    }
    clusters.whole();
}

/// cassandra: every address that the nodes advertise refuses for 40 seconds, and the name leads to a new one, which
/// passes on to a node: when it is asked for, what is served meanwhile, and when every node is used again.
async fn moved_name(clusters: Clusters) {
    clusters[0].beside(load::table).await.unwrap();
    let (mut fronts, mut nodes) = (Vec::new(), Vec::new());
    for node in &clusters[0].nodes {
        nodes.push(node.advertised());
        fronts.push(Relay::start(node.advertised(), node.native()).await);
    }
    let way = Way::through(Mode::Delay, &nodes).await;
    let session = way.builder().build().await.unwrap();
    let read = session.prepare("SELECT v FROM load.kv WHERE k = ?").await.unwrap().with_idempotence(true);
    let load = Load::of(&session, 20, read, None);
    load.until_served_by(&nodes, Duration::ZERO, SECOND * 10).await;
    load.run(SECOND * 5).await;

    let other = Relay::start(clusters[0].spare(), clusters[0].nodes[0].native()).await;
    way.dns.set(NAME, [other.address.ip()]);
    let before = way.dns.queries(NAME, DnsKind::A);
    drop(fronts);
    let gone = load.now();
    let mut asked = Vec::new();
    while load.now() < gone + SECOND * 40 {
        let queries = way.dns.queries(NAME, DnsKind::A) - before;
        if queries > asked.len() {
            asked.push(load.now() - gone);
        }
        sleep(Duration::from_millis(5)).await;
    }
    let mut fronts = Vec::new();
    for node in &clusters[0].nodes {
        fronts.push(Relay::start(node.advertised(), node.native()).await);
    }
    let back = load.now();
    way.dns.set(NAME, nodes.iter().map(|node| -> IpAddr { node.ip() }));
    let whole = load.until_served_by(&nodes, back, MINUTE).await;
    load.run(SECOND * 2).await;
    let record = load.stop().await;
    let share = |sent: &[Sent]| (sent.iter().filter(|sent| sent.result.is_ok()).count(), sent.len());
    let dead = record.sent_in(gone..back);
    let (all, sent) = share(&dead);
    let (late, of) = share(&record.sent_in(gone + SECOND * 2..back));
    let first = dead.iter().filter(|sent| sent.result.is_ok()).map(Sent::end).min().map(|end| end - gone);
    println!(
        "\n| asks DNS again after | served while old are dead | from two seconds on | first | back after the nodes are |"
    );
    println!("|---|---|---|---|---|");
    println!("| {:.1?} | {all} of {sent} | {late} of {of} | {first:.1?} | {whole:.1?} |", asked.first());
    println!("\nasked {} times: {asked:.1?}\n\n    {}", asked.len(), record.summary());
    session.close().await;
    clusters.whole();
}

/// cassandra: what an idle session of three nodes costs, in a process of its own with default features.
async fn idle_session(clusters: Clusters) {
    let nodes: Vec<SocketAddr> = clusters[0].nodes.iter().map(|node| node.native()).collect();
    let way = Way::through(Mode::Delay, &nodes).await;
    let program = std::env::current_exe().unwrap();
    let program = program.ancestors().nth(2).unwrap().join("examples").join("idle");
    assert!(program.is_file(), "no {}: cargo build --release --example idle", program.display());
    let mut command = Command::new(program);
    // By address: the program asks the system's name server.
    command.arg(nodes[0].to_string());
    let output = clusters[0].beside(move |_| tools::run(command, MINUTE * 3)).await.unwrap();
    drop(way);
    println!("\n{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{} for {}", output.status, contact_point());
}

/// In milliseconds.
fn slowest_and_median(sent: &[Sent]) -> (f64, f64) {
    let mut took: Vec<f64> = sent.iter().map(|sent| sent.took.as_secs_f64() * 1_000.0).collect();
    took.sort_by(f64::total_cmp);
    (took[took.len() - 1], took[took.len() / 2])
}
