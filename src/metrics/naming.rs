//! From a name in the list to a series of the recorder in force.

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata};

use super::names::{Metric, MetricKind};

static METADATA: Metadata<'static> = Metadata::new("messina", Level::INFO, Some("messina"));

/// What tells a session's series from those of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Naming {
    /// Stands in front of every name, with an underscore between: none by default.
    pub prefix: Option<String>,
    /// The value of the label `session` of every series: no such label by default.
    pub session: Option<String>,
}

impl Naming {
    /// The full name of a metric.
    #[must_use]
    pub fn name(&self, name: &str) -> String {
        match &self.prefix {
            Some(prefix) => format!("{prefix}_{name}"),
            None => name.to_owned(),
        }
    }

    /// Tells the recorder in force about these metrics.
    pub(super) fn describe(&self, list: &[Metric]) {
        metrics::with_recorder(|recorder| {
            for Metric { name, kind, unit, help, .. } in list {
                let (name, unit, help) = (self.name(name).into(), Some(*unit), (*help).into());
                match kind {
                    MetricKind::Counter => recorder.describe_counter(name, unit, help),
                    MetricKind::Gauge => recorder.describe_gauge(name, unit, help),
                    MetricKind::Histogram => recorder.describe_histogram(name, unit, help),
                }
            }
        });
    }

    pub(super) fn counter(&self, name: &str, labels: &[(&'static str, &str)]) -> Counter {
        let key = self.key(name, labels);
        metrics::with_recorder(|recorder| recorder.register_counter(&key, &METADATA))
    }

    pub(super) fn gauge(&self, name: &str, labels: &[(&'static str, &str)]) -> Gauge {
        let key = self.key(name, labels);
        metrics::with_recorder(|recorder| recorder.register_gauge(&key, &METADATA))
    }

    pub(super) fn histogram(&self, name: &str, labels: &[(&'static str, &str)]) -> Histogram {
        let key = self.key(name, labels);
        metrics::with_recorder(|recorder| recorder.register_histogram(&key, &METADATA))
    }

    fn key(&self, name: &str, labels: &[(&'static str, &str)]) -> Key {
        let session = self.session.iter().map(|session| Label::new("session", session.clone()));
        let labels = labels.iter().map(|(name, value)| Label::new(*name, (*value).to_owned()));
        Key::from_parts(self.name(name), session.chain(labels).collect::<Vec<_>>())
    }
}
