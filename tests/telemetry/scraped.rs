//! One scrape, as numbers by series.

use std::collections::{BTreeMap, BTreeSet};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use uuid::Uuid;

/// Each series with its value.
#[derive(Clone, Debug)]
pub(crate) struct Scraped(BTreeMap<String, f64>);

/// A recorder of a test's own, and what reads it.
pub(crate) fn recorder() -> (PrometheusRecorder, PrometheusHandle) {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    (recorder, handle)
}

impl Scraped {
    pub(crate) fn read(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let series = lines.map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (series.to_owned(), value.parse().unwrap())
        });
        Self(series.collect())
    }

    pub(crate) fn now(handle: &PrometheusHandle) -> Self {
        Self::read(&handle.render())
    }

    /// The value of a series that is there.
    pub(crate) fn get(&self, series: &str) -> f64 {
        *self.0.get(series).unwrap_or_else(|| panic!("no series {series} in {:#?}", self.0))
    }

    pub(crate) fn find(&self, series: &str) -> Option<f64> {
        self.0.get(series).copied()
    }

    /// A node's value of a metric that is labelled by nothing else.
    pub(crate) fn of(&self, name: &str, host_id: Uuid) -> f64 {
        self.get(&format!("{name}{{host_id=\"{host_id}\"}}"))
    }

    /// The series of nodes, but for what they are called.
    pub(crate) fn of_nodes(&self) -> BTreeSet<&str> {
        let own = |series: &&String| series.starts_with("messina_node_") && !series.starts_with("messina_node_info");
        self.0.keys().filter(own).map(String::as_str).collect()
    }

    /// What nodes are called, where that is still so, and where it is not.
    pub(crate) fn infos(&self, value: f64) -> BTreeSet<&str> {
        let named = self.0.iter().filter(|(series, now)| series.starts_with("messina_node_info") && **now == value);
        named.map(|(series, _)| series.as_str()).collect()
    }

    pub(crate) fn series(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Every counter that was there before is there, and has not gone back.
    pub(crate) fn continues(&self, before: &Self) {
        for (series, was) in before.0.iter().filter(|(series, _)| series.contains("_total")) {
            let now = self.get(series);
            assert!(now >= *was, "{series} went from {was} to {now}");
        }
    }
}
