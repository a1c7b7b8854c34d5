//! Diagnosing: every address of every contact point, through every step, with the time of each.
//!
//! A session stops at the first address that works and caps what it tries; a probe does neither. It takes the
//! settings and parts of a [`SessionBuilder`], looks each contact point up through the same resolver and tries every
//! address through the same layers as a control connection would be opened, one [`AttemptLayer`] and all below it per
//! address. Nothing stays open. The command `messina probe` is this with flags.
//!
//! ```no_run
//! # async fn example() -> Result<(), messina::Error> {
//! use messina::{Session, probe::Probe};
//!
//! let settings = Session::builder().contact_point("db.example.com:9042").credentials("ada", "secret");
//! let report = Probe::new(settings).run().await?;
//! println!("{report}"); // a table, then a line of verdict and advice per contact point
//! for address in report.contact_points[0].addresses.iter().filter(|address| !address.works()) {
//!     println!("{} got as far as {}", address.addr, address.stage);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A wrong password is refused once at every address; with [`with_concurrency(1)`](Probe::with_concurrency) one after
//! the other.
//!
//! [`AttemptLayer`]: messina_layers::AttemptLayer

mod address;
mod advice;
#[cfg(feature = "serde")]
mod json;
mod lookup;
mod query;
mod report;

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use messina_layers::{Dial, Stage};
use tokio::{
    sync::Semaphore,
    task::{JoinError, JoinSet},
};

pub use self::report::{LookupFailed, ProbedAddress, ProbedContactPoint, ProbedQuery, Report};
use crate::{
    config::Config,
    endpoint::ContactPoint,
    error::Error,
    establish::{BoxAttempt, BoxResolver, attempts},
    session::SessionBuilder,
};

/// What a [`ProbedAddress`] that works is past: every step.
pub const READY: Stage = Stage::new("ready");

/// How many addresses are tried at the same time unless told otherwise.
pub const DEFAULT_CONCURRENCY: usize = 8;

/// Tries every address of every contact point; see the [module](self).
#[derive(Clone)]
#[must_use = "a probe does nothing until `run` is called and awaited"]
pub struct Probe {
    settings: SessionBuilder,
    concurrency: usize,
    query: Option<String>,
    progress: Option<Watcher>,
}

type Watcher = Arc<dyn Fn(Progress) + Send + Sync>;

/// How far a probe is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Addresses found so far; more may come while names are looked up.
    pub found: usize,
    /// Addresses that were tried to the end.
    pub done: usize,
}

impl Probe {
    /// Probes the contact points of these settings, with everything else that is set there.
    ///
    /// What bounds or orders a connect has no say: the cap, the order, the budget, the limit on refused logins. Layers of
    /// the application around a candidate or a transport are kept; one around the whole connect is not, since each
    /// address is tried by itself.
    pub fn new(settings: SessionBuilder) -> Self {
        Self { settings, concurrency: DEFAULT_CONCURRENCY, query: None, progress: None }
    }

    /// Tries at most so many addresses at the same time; 8 by default, at least 1.
    pub fn with_concurrency(mut self, addresses: usize) -> Self {
        self.concurrency = addresses.clamp(1, Semaphore::MAX_PERMITS);
        self
    }

    /// Executes this statement on the first address that works.
    pub fn with_query(mut self, cql: impl Into<String>) -> Self {
        self.query = Some(cql.into());
        self
    }

    /// Is told of every address that is found or done; called from the tasks of the probe, so it should not block.
    pub fn with_progress(mut self, progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(progress));
        self
    }

    /// Looks up, dials, logs in, asks who is there, closes; bounded by the limits of each step.
    ///
    /// What does not work is in the report, not an error. Dropping the future ends everything it began.
    ///
    /// # Errors
    /// `Kind::Config` for the first setting that is not allowed.
    pub async fn run(self) -> Result<Report, Error> {
        let started = tokio::time::Instant::now();
        let (config, seams, _) = self.settings.into_parts()?;
        let run = Arc::new(Run {
            attempt: attempts(&config, &seams),
            resolver: seams.resolver,
            config: Arc::new(config),
            permits: Semaphore::new(self.concurrency),
            query: Mutex::new(self.query.clone()),
            progress: self.progress,
            found: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
        });
        let mut tasks = JoinSet::new();
        for (place, contact_point) in run.config.contact_points.iter().cloned().enumerate() {
            let run = Arc::clone(&run);
            tasks.spawn(async move { (place, probe_contact_point(run, contact_point).await) });
        }
        let mut contact_points = Vec::new();
        let mut answer = None;
        for (probed, query) in in_order(tasks).await {
            contact_points.push(probed);
            answer = answer.or(query);
        }
        let query = self.query.map(|cql| answer.unwrap_or_else(|| ProbedQuery::not_run(cql)));
        let mut report = Report { contact_points, query, elapsed: started.elapsed() };
        advice::advise(&mut report, &run.config);
        Ok(report)
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe")
            .field("settings", &self.settings)
            .field("concurrency", &self.concurrency)
            .field("query", &self.query)
            .finish_non_exhaustive()
    }
}

/// What the tasks of one probe share.
struct Run {
    config: Arc<Config>,
    resolver: BoxResolver,
    attempt: BoxAttempt,
    permits: Semaphore,
    // Taken by the first address that works.
    query: Mutex<Option<String>>,
    progress: Option<Watcher>,
    found: AtomicUsize,
    done: AtomicUsize,
}

impl Run {
    fn found(&self, addresses: usize) {
        self.found.fetch_add(addresses, Ordering::AcqRel);
        self.tell();
    }

    fn done(&self) {
        self.done.fetch_add(1, Ordering::AcqRel);
        self.tell();
    }

    fn tell(&self) {
        if let Some(progress) = &self.progress {
            let (found, done) = (self.found.load(Ordering::Acquire), self.done.load(Ordering::Acquire));
            progress(Progress { found, done });
        }
    }

    fn take_query(&self) -> Option<String> {
        self.query.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

async fn probe_contact_point(run: Arc<Run>, contact_point: ContactPoint) -> (ProbedContactPoint, Option<ProbedQuery>) {
    let (found, lookup) = lookup::look_up(&run, contact_point.endpoint().address()).await;
    let mut probed = ProbedContactPoint::new(contact_point.to_string(), lookup);
    let addresses = match found {
        Ok(addresses) => addresses,
        Err(error) => {
            probed.error = Some(error);
            return (probed, None);
        }
    };
    run.found(addresses.len());
    let mut tasks = JoinSet::new();
    for (place, addr) in addresses.into_iter().enumerate() {
        let (run, endpoint) = (Arc::clone(&run), contact_point.endpoint().clone());
        tasks.spawn(async move { (place, address::probe(&run, endpoint, addr).await) });
    }
    let mut answer = None;
    for (address, query) in in_order(tasks).await {
        probed.addresses.push(address);
        answer = answer.or(query);
    }
    if let Some(query) = &mut answer {
        query.contact_point = Some(probed.name.clone());
    }
    (probed, answer)
}

/// The results of all tasks, by their places.
async fn in_order<T: 'static>(mut tasks: JoinSet<(usize, T)>) -> impl Iterator<Item = T> {
    let mut results = Vec::new();
    while let Some(joined) = tasks.join_next().await {
        results.push(joined.unwrap_or_else(resume));
    }
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result)
}

/// Only what an application brought can panic there: its panic goes on here.
fn resume<T>(error: JoinError) -> T {
    match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(error) => panic!("a task that nobody aborts was aborted: {error}"),
    }
}

/// How long a connection that was probed may take to close.
const CLOSE: Duration = Duration::from_secs(1);
