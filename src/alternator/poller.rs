//! The task that polls: discovery at the pace of requests, probes of nodes that have to prove themselves.

mod lookup;
mod probing;
mod questions;

use std::{
    future::{pending, poll_fn},
    sync::{Arc, atomic::Ordering},
    task::Poll,
    time::Duration,
};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::{Instant, sleep_until};

use self::{
    lookup::Lookup,
    probing::Probed,
    questions::{Answered, Questions},
};
use super::{
    ask::{AskError, Asker},
    discovery::{Cycle, CycleLimits, Finding, Reply, ResolvedSeed, Step, Verdict, candidates},
    events::Event,
    health::Outcome,
    http::AddressResolver,
    live_nodes::{Basis, LiveNodes},
    node::Node,
    nodes::NodeList,
    pace::Pace,
    routes::{Shared, View},
    scope::ScopeChain,
};

/// How often it is looked whether a node is to be probed.
const PROBE_TICK: Duration = Duration::from_secs(1);

/// A chain of scopes and what is known of its nodes.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) chain: ScopeChain,
    pub(super) live: LiveNodes,
}

#[derive(Debug)]
struct Running {
    track: usize,
    cycle: Cycle,
    questions: Questions,
}

pub(super) struct Poller {
    pub(super) shared: Arc<Shared>,
    pub(super) asker: Asker,
    pub(super) resolver: AddressResolver,
    pub(super) seeds: Vec<Node>,
    /// Where requests go, and, if that is wider, where key affinity is decided.
    pub(super) tracks: Vec<Track>,
    pub(super) pace: Pace,
    pub(super) limits: CycleLimits,
    pub(super) filters: questions::FilterBook,
    pub(super) failures: Vec<(Node, Arc<str>)>,
}

impl Poller {
    /// Polls until the client is closed. Dropping the future ends everything that is under way.
    pub(super) async fn run(mut self) {
        let mut closed = self.shared.closed.subscribe();
        let mut lookup: Option<Lookup> = None;
        let mut running: Vec<Running> = Vec::new();
        let mut probes: FuturesUnordered<BoxFuture<'static, Probed>> = FuturesUnordered::new();
        // None while a poll is under way.
        let mut next_poll = Some(Instant::now());
        let mut sequence = 0;
        loop {
            let now = Instant::now();
            let deadline = self.step(&mut running, now);
            if running.is_empty() && lookup.is_none() {
                let due = *next_poll.get_or_insert_with(|| self.plan(now));
                if self.shared.poll_wanted.swap(false, Ordering::Relaxed) || now >= due {
                    self.shared.last_poll.store(self.shared.at(now), Ordering::Relaxed);
                    lookup = Some(self.look_up());
                    next_poll = None;
                }
            }
            self.start_probes(&mut probes, now);
            let look_again = [deadline, next_poll, Some(now + PROBE_TICK)].into_iter().flatten().min();
            tokio::select! {
                biased;
                _ = closed.wait_for(|closed| *closed) => return,
                seeds = async { match &mut lookup { Some(lookup) => lookup.await, None => pending().await } } => {
                    lookup = None;
                    sequence += 1;
                    running = self.begin(&seeds, sequence);
                }
                (place, answered) = answer(&mut running) => self.take(&mut running[place], answered),
                Some((node, generation, alive)) = probes.next(), if !probes.is_empty() => {
                    self.shared.guarded().probes.finished(&node);
                    let outcome = if alive { Outcome::ProbeAnswered } else { Outcome::ProbeFailed };
                    self.shared.record_probe(&node, outcome, generation);
                }
                () = self.shared.wake.notified() => {}
                () = sleep_until(look_again.unwrap_or(now + PROBE_TICK)) => {}
            }
        }
    }

    fn plan(&mut self, now: Instant) -> Instant {
        if let Some(last) = self.shared.last_request() {
            self.pace.request(last);
        }
        self.pace.next(now, self.shared.randomness.draw())
    }

    fn begin(&mut self, seeds: &[ResolvedSeed], sequence: u64) -> Vec<Running> {
        self.failures.clear();
        for seed in seeds.iter().filter(|seed| seed.addresses.is_empty()) {
            self.failures.push((seed.node.clone(), "its name could not be looked up".into()));
        }
        let now = Instant::now();
        let begin = |(place, track): (usize, &Track)| {
            let book = self.shared.guarded();
            let standing = |node: &Node| book.book.standing(node, now);
            let candidates = candidates(&track.live, seeds, standing, &self.shared.randomness);
            drop(book);
            let cycle = Cycle::new(sequence, track.chain.clone(), candidates, self.limits, now);
            Running { track: place, cycle, questions: Questions::new() }
        };
        self.tracks.iter().enumerate().map(begin).collect()
    }

    /// Sends what is to be sent and ends the cycles that are done; gives when to look again.
    fn step(&mut self, running: &mut Vec<Running>, now: Instant) -> Option<Instant> {
        let mut deadline: Option<Instant> = None;
        let mut done = Vec::new();
        running.retain_mut(|running| {
            loop {
                match running.cycle.step(now) {
                    Step::Ask(question) => running.questions.ask(&self.asker, &self.filters, question),
                    Step::Wait(until) => {
                        deadline = Some(deadline.map_or(until, |other| other.min(until)));
                        return true;
                    }
                    Step::Done(verdict) => {
                        done.push((running.track, verdict));
                        return false;
                    }
                }
            }
        });
        for (track, verdict) in done {
            if track == 0 {
                self.shared.metrics.refreshed(verdict.finding.as_str());
            }
            self.apply(track, &verdict, true);
        }
        deadline
    }

    fn take(&mut self, running: &mut Running, answered: Answered) {
        let Answered { ticket, host, result } = answered;
        if let Err(error) = &result {
            tracing::debug!(%host, %error, "no list of nodes");
            if matches!(error, AskError::FiltersIgnored) {
                tracing::warn!(%host, "the node ignores the filters of data centres and racks; its list is not used");
                self.shared.tell(Event::FiltersIgnored(host.clone()));
            }
            self.failures.push((host, error.to_string().into()));
        }
        if let Ok(listed) = &result
            && listed.invalid + listed.other_port > 0
        {
            tracing::warn!(invalid = listed.invalid, other_port = listed.other_port, "entries of a list passed over");
        }
        let reply = match result {
            Ok(listed) => Reply::from(Ok(listed)),
            Err(_) => Reply::Failed,
        };
        running.cycle.reply(ticket, reply);
        // A host that hangs does not keep back what the others list. What is missing so far may still come.
        if let Some(verdict) = running.cycle.so_far()
            && self.has_news(running.track, &verdict)
        {
            self.apply(running.track, &verdict, false);
        }
    }

    fn has_news(&self, place: usize, verdict: &Verdict) -> bool {
        let live = &self.tracks[place].live;
        let Finding::Nodes { nodes, .. } = &verdict.finding else { return false };
        !matches!(live.basis(), Basis::Scope(_)) || nodes.iter().any(|node| !live.routing().contains(node))
    }

    fn apply(&mut self, place: usize, verdict: &Verdict, whole: bool) {
        let now = Instant::now();
        let Some((live, change)) = self.tracks[place].live.apply(verdict) else { return };
        self.tracks[place].live = live;
        let live = &self.tracks[place].live;
        let mut guarded = self.shared.guarded();
        for node in guarded.book.listed(live.routing(), now) {
            guarded.probes.request(&node);
        }
        let quarantined: NodeList = change.quarantined.iter().cloned().collect();
        guarded.book.quarantine(&quarantined, now);
        drop(guarded);
        if whole {
            self.record(verdict);
        }
        if place == 0 {
            for node in change.added {
                self.shared.tell(Event::Added(node));
            }
            for node in change.removed {
                self.shared.tell(Event::Removed(node));
            }
            if change.rebased {
                tracing::info!(basis = ?live.basis(), nodes = live.routing().len(), "the nodes have another basis");
                self.shared.tell(Event::Rebased(live.basis().clone()));
            }
            if whole && verdict.finding == Finding::Silence {
                tracing::warn!(failed = verdict.failed.len(), "nobody answers that is known");
                self.shared.tell(Event::Silence);
            }
        }
        self.publish();
    }

    /// An answer proves life as a probe does.
    fn record(&self, verdict: &Verdict) {
        let outcomes = [(&verdict.answered, Outcome::ProbeAnswered), (&verdict.failed, Outcome::ProbeFailed)];
        for (nodes, outcome) in outcomes {
            for node in nodes {
                let generation = self.shared.guarded().book.generation(node);
                self.shared.record_probe(node, outcome, generation);
            }
        }
    }

    pub(super) fn publish(&self) {
        let main = &self.tracks[0].live;
        let wide = self.tracks.get(1).map(|track| Arc::new(self.shared.routes(track.live.routing())));
        let routes = Arc::new(self.shared.routes(main.routing()));
        self.shared.publish(View { live: main.clone(), routes, wide, failures: self.failures.clone() });
    }

    pub(super) fn prepare(&self) {
        let now = Instant::now();
        let mut guarded = self.shared.guarded();
        for track in &self.tracks {
            guarded.book.listed(track.live.routing(), now);
        }
        drop(guarded);
        self.publish();
    }
}

/// The next answer of any cycle.
async fn answer(running: &mut [Running]) -> (usize, Answered) {
    poll_fn(|cx| {
        for (place, running) in running.iter_mut().enumerate() {
            if let Poll::Ready(answered) = running.questions.poll_next(cx) {
                return Poll::Ready((place, answered));
            }
        }
        Poll::Pending
    })
    .await
}
