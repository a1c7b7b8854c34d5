//! The client: its handle, how it is made, what it shows.

mod build_error;
mod builder;
mod status;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};

pub(super) use self::builder::{USER_AGENT, exchange};
pub use self::{
    build_error::BuildError,
    builder::AlternatorBuilder,
    status::{NodeStatus, NotReady, Status},
};
use super::{
    balance::{AlternatorBalance, AlternatorLayer, BalanceOptions},
    events::{Event, Events},
    health::State,
    http::HttpClient,
    live_nodes::Basis,
    node::Node,
    pace::after,
    prepare::{Prepare, PrepareLayer, RequestOptions},
    routes::Shared,
};

/// The built-in HTTP client with everything over it.
pub type AlternatorClient = Prepare<AlternatorBalance<HttpClient>>;

/// How long closing waits for the poller.
const CLOSE: Duration = Duration::from_secs(5);

/// The live nodes of a cluster, followed in the background; cheap to clone.
///
/// The background task ends when the last clone and the last service made of it are dropped, or with [`close`](Self::close).
///
/// ```no_run
/// use std::time::Duration;
/// use messina::alternator::{Alternator, operation};
/// use tower::ServiceExt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let alternator = Alternator::builder().seed("http://db.example.com:8000").build()?;
/// alternator.ready(Duration::from_secs(5)).await?;
/// let answer = alternator.service().oneshot(operation("ListTables", "{}")?).await?;
/// println!("{}", answer.status());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Alternator {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) shared: Arc<Shared>,
    http: HttpClient,
    /// The first seed.
    endpoint: String,
    pub(super) balance: BalanceOptions,
    pub(super) keys: Option<super::keys::Keys>,
    /// What it was built of.
    settings: AlternatorBuilder,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.closed.send_replace(true);
        if let Some(task) = self.task.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl Alternator {
    /// A client to be: at least a seed has to be given.
    #[must_use]
    pub fn builder() -> AlternatorBuilder {
        AlternatorBuilder::new()
    }

    /// What this client was built of, for another one that differs a little: with another scope, say. The two share
    /// nothing, but for an HTTP client or a resolver that was given.
    #[must_use]
    pub fn to_builder(&self) -> AlternatorBuilder {
        self.inner.settings.clone()
    }

    /// Waits until a node has told the nodes of a scope, at most for `limit`.
    ///
    /// # Errors
    /// After the limit, or once the client is closed: what is wrong with each host that was asked.
    pub async fn ready(&self, limit: Duration) -> Result<(), NotReady> {
        let by = after(Instant::now(), limit);
        let mut version = self.inner.shared.version.subscribe();
        let mut closed = self.inner.shared.closed.subscribe();
        loop {
            version.mark_unchanged();
            if *closed.borrow_and_update() {
                return Err(self.not_ready(limit));
            }
            if let Basis::Scope(_) = self.inner.shared.view.load().live.basis() {
                return Ok(());
            }
            tokio::select! {
                changed = timeout_at(by, version.changed()) => match changed {
                    Ok(Ok(())) => {}
                    _ => return Err(self.not_ready(limit)),
                },
                _ = closed.wait_for(|closed| *closed) => return Err(self.not_ready(limit)),
            }
        }
    }

    fn not_ready(&self, waited: Duration) -> NotReady {
        let view = self.inner.shared.view.load();
        NotReady::new(waited, self.inner.shared.is_closed(), view.live.no_route(), view.failures.clone())
    }

    /// What is known of the nodes at this moment.
    #[must_use]
    pub fn status(&self) -> Status {
        let shared = &self.inner.shared;
        let view = shared.view.load_full();
        let now = Instant::now();
        let guarded = shared.guarded();
        let node = |mark: &Arc<super::mark::Mark>| {
            let health = guarded.book.health(&mark.node);
            let failure = view.failures.iter().rev().find(|(node, _)| *node == mark.node);
            NodeStatus {
                node: mark.node.clone(),
                state: health.map_or(State::Quarantined, |health| health.state()),
                since: health.map_or(Duration::ZERO, |health| now.duration_since(health.since())),
                answers: mark.requests.load(std::sync::atomic::Ordering::Relaxed),
                failures: mark.failures.load(std::sync::atomic::Ordering::Relaxed),
                last_error: failure.map(|(_, error)| error.to_string()),
            }
        };
        Status { basis: view.live.basis().clone(), nodes: view.routes.marks.iter().map(node).collect() }
    }

    /// The nodes that requests may go to at this moment.
    #[must_use]
    pub fn nodes(&self) -> Vec<Node> {
        self.inner.shared.view.load().routes.nodes.iter().cloned().collect()
    }

    /// The first seed: what a client is told that has to have one endpoint. No request goes there because of that.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.inner.endpoint
    }

    /// What happens from now on.
    #[must_use]
    pub fn events(&self) -> Events {
        Events(self.inner.shared.events.subscribe())
    }

    /// Polls now, in place of the next time.
    pub fn poll_now(&self) {
        self.inner.shared.want_poll();
    }

    /// Probes a node now, whatever its state.
    pub fn probe_now(&self, node: &Node) {
        self.inner.shared.guarded().probes.request(node);
        self.inner.shared.wake.notify_one();
    }

    /// The layer that sends each request to a live node, for any HTTP client.
    #[must_use]
    pub fn layer(&self) -> AlternatorLayer {
        AlternatorLayer::new(Arc::clone(&self.inner))
    }

    /// The HTTP client that is built in, without the balancing.
    #[must_use]
    pub fn http(&self) -> HttpClient {
        self.inner.http.clone()
    }

    /// The built-in HTTP client with the balancing over it.
    #[must_use]
    pub fn service(&self) -> AlternatorBalance<HttpClient> {
        tower_layer::Layer::layer(&self.layer(), self.http())
    }

    /// The whole client for requests of [`operation`](super::operation): the built-in HTTP client, the balancing over it, and
    /// what `options` say over that.
    #[must_use]
    pub fn client(&self, options: RequestOptions) -> AlternatorClient {
        tower_layer::Layer::layer(&self.prepare(options), self.service())
    }

    /// The layer that prepares requests, to stand over [`layer`](Self::layer) and any HTTP client.
    #[must_use]
    pub fn prepare(&self, options: RequestOptions) -> PrepareLayer {
        PrepareLayer::new(Arc::clone(&self.inner), options)
    }

    /// Forgets the partition key's name of a table, which was created anew with another key.
    pub fn forget_key(&self, table: &str) {
        if let Some(keys) = &self.inner.keys {
            keys.forget(table);
        }
    }

    #[cfg(feature = "aws-sdk")]
    pub(super) const fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Ends the background task and refuses requests from now on, in every clone; those under way go on. Closing twice is
    /// harmless.
    pub async fn close(&self) {
        self.inner.shared.closed.send_replace(true);
        if let Some(keys) = &self.inner.keys {
            keys.close();
        }
        let task = self.inner.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut task) = task
            && timeout(CLOSE, &mut task).await.is_err()
        {
            task.abort();
        }
    }
}

impl Event {
    /// The node it is about, if it is about one.
    #[must_use]
    pub const fn node(&self) -> Option<&Node> {
        match self {
            Self::Added(node) | Self::Removed(node) | Self::FiltersIgnored(node) | Self::Moved { node, .. } => {
                Some(node)
            }
            Self::Rebased(_) | Self::Silence | Self::Missed(_) => None,
        }
    }
}
