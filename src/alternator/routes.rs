//! What requests read without a lock: the nodes, with the mark of each.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use tokio::{
    sync::{Notify, broadcast, watch},
    time::Instant,
};

use super::{
    events::Event,
    health::{Book, Moved, Outcome, Probes, State},
    live_nodes::LiveNodes,
    mark::Mark,
    node::Node,
    nodes::NodeList,
    plan::Randomness,
};
use crate::metrics::AlternatorMetrics;

/// How long after the last poll a failed request may ask for the next one.
const HURRY: Duration = Duration::from_millis(200);

/// A list of nodes with the mark of each, by its place.
#[derive(Debug, Default)]
pub(super) struct Routes {
    pub(super) nodes: Arc<NodeList>,
    pub(super) marks: Box<[Arc<Mark>]>,
}

/// What is published after each change.
#[derive(Debug)]
pub(super) struct View {
    pub(super) live: LiveNodes,
    pub(super) routes: Arc<Routes>,
    /// Where key affinity is decided, if that is wider than where other requests go.
    pub(super) wide: Option<Arc<Routes>>,
    /// Why hosts did not answer in the last cycle.
    pub(super) failures: Vec<(Node, Arc<str>)>,
}

#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) book: Book,
    pub(super) probes: Probes,
    marks: HashMap<Node, Arc<Mark>>,
}

/// What the handle, the requests and the poller share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) view: ArcSwap<View>,
    pub(super) guarded: Mutex<Guarded>,
    pub(super) randomness: Randomness,
    pub(super) metrics: AlternatorMetrics,
    pub(super) events: broadcast::Sender<Event>,
    /// Grows with each view.
    pub(super) version: watch::Sender<u64>,
    pub(super) closed: watch::Sender<bool>,
    /// A poll, or a probe, is wanted now.
    pub(super) wake: Notify,
    pub(super) poll_wanted: AtomicBool,
    start: Instant,
    idle: Duration,
    last_request: AtomicU64,
    pub(super) last_poll: AtomicU64,
}

impl Shared {
    pub(super) fn new(
        live: LiveNodes,
        book: Book,
        probes: Probes,
        randomness: Randomness,
        metrics: AlternatorMetrics,
        idle: Duration,
    ) -> Self {
        let guarded = Guarded { book, probes, marks: HashMap::new() };
        let view = View { live, routes: Arc::default(), wide: None, failures: Vec::new() };
        Self {
            view: ArcSwap::from_pointee(view),
            guarded: Mutex::new(guarded),
            randomness,
            metrics,
            events: broadcast::Sender::new(256),
            version: watch::Sender::new(0),
            closed: watch::Sender::new(false),
            wake: Notify::new(),
            poll_wanted: AtomicBool::new(false),
            start: Instant::now(),
            idle,
            last_request: AtomicU64::new(0),
            last_poll: AtomicU64::new(0),
        }
    }

    pub(super) fn guarded(&self) -> MutexGuard<'_, Guarded> {
        self.guarded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nanoseconds since the start; never 0.
    pub(super) fn at(&self, now: Instant) -> u64 {
        u64::try_from(now.duration_since(self.start).as_nanos()).unwrap_or(u64::MAX).max(1)
    }

    /// When the last request was made.
    pub(super) fn last_request(&self) -> Option<Instant> {
        let last = self.last_request.load(Relaxed);
        (last > 0).then(|| self.start + Duration::from_nanos(last))
    }

    /// A request is made: the first one, and the first after a quiet time, wakes the poller.
    pub(super) fn request(&self, now: u64) {
        let last = self.last_request.swap(now, Relaxed);
        if last == 0 || u128::from(now.saturating_sub(last)) >= self.idle.as_nanos() {
            self.want_poll();
        }
    }

    pub(super) fn want_poll(&self) {
        self.poll_wanted.store(true, Relaxed);
        self.wake.notify_one();
    }

    /// Something failed: a poll now may tell more, unless there was one just now.
    pub(super) fn hurry(&self, now: Instant) {
        let last = self.last_poll.load(Relaxed);
        if u128::from(self.at(now).saturating_sub(last)) >= HURRY.as_nanos() {
            self.want_poll();
        }
    }

    /// Takes in how an attempt ended.
    pub(super) fn record(&self, mark: &Mark, outcome: Outcome, generation: u64) {
        match outcome {
            Outcome::Answered(_) => mark.requests.fetch_add(1, Relaxed),
            Outcome::Refused | Outcome::Silent | Outcome::Broken => mark.failures.fetch_add(1, Relaxed),
            _ => 0,
        };
        let quiet = match outcome {
            Outcome::Answered(503) => false,
            Outcome::Answered(500 | 502 | 504) | Outcome::Cancelled => true,
            Outcome::Answered(_) => mark.is_clean() && generation == mark.generation(),
            _ => false,
        };
        if quiet {
            return;
        }
        let now = Instant::now();
        let mut guarded = self.guarded();
        let back = mark.is_down() && outcome.is_success();
        if let Outcome::Answered(_) = outcome {
            guarded.probes.answered(&mark.node);
        }
        if back {
            // Only probes bring a node back: there is no need to wait for the next one in the background.
            guarded.probes.request(&mark.node);
        }
        let moved = guarded.book.record(&mark.node, outcome, generation, now);
        self.copy(&guarded, mark);
        drop(guarded);
        if back {
            self.wake.notify_one();
        }
        if let Outcome::Refused | Outcome::Broken | Outcome::Silent = outcome {
            self.hurry(now);
        }
        self.tell_moved(moved);
    }

    /// Takes in how a probe, or a question of discovery, ended.
    pub(super) fn record_probe(&self, node: &Node, outcome: Outcome, generation: u64) {
        let mut guarded = self.guarded();
        let moved = guarded.book.record(node, outcome, generation, Instant::now());
        if let Some(mark) = guarded.marks.get(node) {
            self.copy(&guarded, mark);
        }
        drop(guarded);
        self.tell_moved(moved);
    }

    fn tell_moved(&self, moved: Option<Moved>) {
        if let Some(Moved { node, from, to }) = moved {
            tracing::info!(%node, ?from, ?to, "node changed its state");
            self.metrics.moved(from.as_str(), to.as_str());
            self.tell(Event::Moved { node, from, to });
        }
    }

    /// Nobody may be listening.
    pub(super) fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    fn copy(&self, guarded: &Guarded, mark: &Mark) {
        let Some(health) = guarded.book.health(&mark.node) else { return };
        let enabled = guarded.book.is_enabled();
        let state = if enabled { health.state() } else { State::Active };
        let avoid = health.avoided_until().filter(|_| enabled).map_or(0, |until| self.at(until));
        mark.set(state, avoid, health.generation(), health.failures() != 0);
    }

    /// The marks of a list; nodes that no request can be addressed to are left out.
    pub(super) fn routes(&self, nodes: &NodeList) -> Routes {
        let mut guarded = self.guarded();
        let mut marks = Vec::with_capacity(nodes.len());
        for node in nodes {
            let mark = match guarded.marks.get(node) {
                Some(mark) => Arc::clone(mark),
                None => {
                    let Some(mark) = Mark::new(node.clone()).map(Arc::new) else { continue };
                    guarded.marks.insert(node.clone(), Arc::clone(&mark));
                    mark
                }
            };
            self.copy(&guarded, &mark);
            marks.push(mark);
        }
        let nodes = marks.iter().map(|mark| mark.node.clone()).collect();
        Routes { nodes: Arc::new(nodes), marks: marks.into() }
    }

    /// Publishes a view; marks of nodes that are in no list any more are forgotten.
    pub(super) fn publish(&self, view: View) {
        let mut guarded = self.guarded();
        let wide = view.wide.as_ref();
        guarded.marks.retain(|node, _| {
            view.routes.nodes.contains(node) || wide.is_some_and(|routes| routes.nodes.contains(node))
        });
        drop(guarded);
        self.metrics.nodes(view.routes.marks.len());
        self.view.store(Arc::new(view));
        self.version.send_modify(|version| *version += 1);
    }

    pub(super) fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }
}
