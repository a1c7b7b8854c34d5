//! Names: every one of them is in the list, described, and told apart where that is asked for.

use std::collections::BTreeSet;

use messina::{
    layers::metrics as layers,
    metrics::{ALL, ALTERNATOR, MetricKind},
};

use crate::{
    scene::{Scene, WRITE},
    scraped::{Scraped, recorder},
};

/// driver 7.8: every metric has a unit, a kind and a description, once, and names that end in what they count.
#[test]
fn the_list() {
    let names: BTreeSet<_> = ALL.iter().chain(ALTERNATOR).map(|metric| metric.name).collect();
    assert_eq!(names.len(), ALL.len() + ALTERNATOR.len(), "none is listed twice");
    for metric in ALL.iter().chain(ALTERNATOR) {
        assert!(metric.name.starts_with("messina_"), "{}", metric.name);
        assert!(metric.help.ends_with('.'), "{}", metric.help);
        assert_eq!(metric.kind == MetricKind::Counter, metric.name.ends_with("_total"), "{}", metric.name);
        let seconds = metric.name.ends_with("_seconds");
        assert_eq!(seconds, metric.unit == ::metrics::Unit::Seconds, "{}", metric.name);
        let of_a_node = metric.name.starts_with("messina_node_");
        assert_eq!(of_a_node, metric.labels.contains(&"host_id"), "{}", metric.name);
    }
    let address = |metric: &&messina::metrics::Metric| {
        ["endpoint", "node", "address"].iter().any(|label| metric.labels.contains(label))
    };
    assert_eq!(
        ALL.iter().chain(ALTERNATOR).filter(address).count(),
        1,
        "no series carries an address except the info series"
    );
}

/// Everything that is scraped is described, under names that may be told apart by a prefix and a session's name.
#[tokio::test(start_paused = true)]
async fn prefix_and_session() {
    let (recorder, handle) = recorder();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    let scene = Scene::start().await;
    let builder = scene.session().set("advanced.metrics.prefix", "shop").set("basic.session-name", "web");
    let session = builder.build().await.unwrap();
    session.execute(WRITE, ()).await.unwrap();
    let text = handle.render();
    let scraped = Scraped::read(&text);
    assert_eq!(scraped.get("shop_messina_requests_total{session=\"web\"}"), 1.0);
    for series in scraped.series() {
        let own = series.starts_with("shop_messina_") && series.contains("session=\"web\"");
        assert!(own || series.starts_with("messina_layers_"), "{series}");
        let name = series.split(['{', ' ']).next().unwrap();
        let name = ["_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(text.contains(&format!("# HELP {name} ")), "{name} is not described");
    }
}

/// The page of the guide lists every metric as the code has it, and those of the layers.
#[test]
fn the_page() {
    let page = include_str!("../../src/guide/metrics.md");
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| `messina_")).collect();
    let own: Vec<_> = rows.iter().filter(|row| !row.contains("`messina_layers_")).collect();
    assert_eq!(own.len(), ALL.len() + ALTERNATOR.len());
    for (row, metric) in own.iter().zip(ALL.iter().chain(ALTERNATOR)) {
        let labels: Vec<_> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let kind = format!("{:?}", metric.kind).to_lowercase();
        assert_eq!(**row, format!("| `{}` | {kind} | {} | {} |", metric.name, labels.join(", "), metric.help));
    }
    for name in [
        layers::ATTEMPTS,
        layers::ATTEMPT_DURATION,
        layers::STAGE_DURATION,
        layers::CANDIDATES,
        layers::FALLBACKS,
        layers::LOOKUPS,
        layers::LOOKUP_DURATION,
    ] {
        assert!(rows.iter().any(|row| row.contains(&format!("`{name}`"))), "{name}");
    }
}
