//! A test: its name, the clusters it needs, and what it does with them.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use libtest_mimic::{Completion, Failed, Trial};

use super::registry::{Lease, Registry};
use super::spec::Spec;
use super::tools;
use super::trace;

type Body = Box<dyn FnOnce(Clusters) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// One test before it is known whether it can run.
pub(crate) struct Case {
    name: String,
    specs: Vec<Spec>,
    limit: Duration,
    ignored: bool,
    alone: bool,
    body: Body,
}

/// What a test gets: its clusters in the order asked for, and the registry.
#[derive(Debug)]
pub(crate) struct Clusters {
    leases: Vec<Lease>,
    pub(crate) registry: Arc<Registry>,
}

impl Clusters {
    /// They are left as they were found, for the next test.
    pub(crate) fn whole(mut self) {
        self.leases.iter_mut().for_each(Lease::whole);
    }
}

impl std::ops::Index<usize> for Clusters {
    type Output = Lease;

    fn index(&self, index: usize) -> &Lease {
        &self.leases[index]
    }
}

/// A test that runs in a runtime of its own, on one thread, for a minute at most.
pub(crate) fn case<F, Fut>(name: &str, specs: impl Into<Vec<Spec>>, body: F) -> Case
where
    F: FnOnce(Clusters) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + 'static,
{
    Case {
        name: name.to_owned(),
        specs: specs.into(),
        limit: Duration::from_secs(60),
        ignored: false,
        alone: false,
        body: Box::new(|clusters| Box::pin(body(clusters))),
    }
}

impl Case {
    /// Another limit than a minute.
    pub(crate) fn limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Has its clusters for itself, and has to say whether they are whole afterwards.
    pub(crate) fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// Not in an ordinary run.
    pub(crate) fn ignored(self) -> Self {
        Self { ignored: true, ..self }
    }

    /// The case as the test runner takes it. `registry` says why nothing can run, if so.
    pub(crate) fn trial(self, registry: &Shared) -> Trial {
        let registry = registry.clone();
        let trial = Trial::ignorable_test(self.name, move || match registry.get() {
            Ok(registry) => {
                let leases = registry.lease(&self.specs, self.alone)?;
                run(Clusters { leases, registry }, self.limit, self.body)
            }
            Err(why) if tools::required() => Err(Failed::from(why)),
            Err(why) => Ok(Completion::ignored_with(why)),
        });
        trial.with_ignored_flag(self.ignored)
    }
}

/// Puts tests of the same clusters together, and next to those that share some, so that few are started twice.
pub(crate) fn by_clusters(mut cases: Vec<Case>) -> Vec<Case> {
    let mut ordered: Vec<Case> = Vec::with_capacity(cases.len());
    while !cases.is_empty() {
        let running: &[Spec] = ordered.last().map_or(&[], |last| &last.specs);
        let fits = |case: &Case| {
            let shared = case.specs.iter().filter(|spec| running.contains(spec)).count();
            let new = case.specs.len() - shared;
            // Of those that fit equally well the first.
            (new, running.len() - shared)
        };
        let next = (0..cases.len()).min_by_key(|&index| fits(&cases[index])).unwrap_or_default();
        ordered.push(cases.remove(next));
    }
    ordered
}

fn run(clusters: Clusters, limit: Duration, body: Body) -> Result<Completion, Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    trace::clear();
    let _told = trace::OnFailure;
    let result = runtime.block_on(async { tokio::time::timeout(limit, body(clusters)).await });
    runtime.shutdown_background();
    result.map(|()| Completion::Completed).map_err(|_| Failed::from(format!("not done after {limit:?}")))
}

/// The registry, made when the first test runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<OnceLock<Result<Arc<Registry>, String>>>);

impl Shared {
    fn get(&self) -> Result<Arc<Registry>, String> {
        self.0.get_or_init(|| Registry::create().map(Arc::new)).clone()
    }

    /// Ends what was started.
    pub(crate) fn end(&self) {
        if let Some(Ok(registry)) = self.0.get() {
            registry.end();
        }
    }
}
