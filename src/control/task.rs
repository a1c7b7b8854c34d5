//! The task of a control connection: serve, reconnect, serve.

use std::{sync::Arc, time::Duration};

use messina_layers::{Backoff, Class};
use tokio::{sync::mpsc, time::sleep};
use uuid::Uuid;

use super::{
    First, Follower, Hint, Shared,
    enter::{Adopted, Attempts, OUTAGE},
    handle::{Command, Reply},
    live::{Gone, Live, Read},
    plan::Plan,
    schema::SchemaFollower,
    serve::{End, Work},
};
use crate::{
    error::{ContactPointFailed, Error},
    establish::Opener,
    metrics::ControlMetrics,
    topology::{Admission, Refusal, SessionEvent, Verdict},
};

/// While there is no control connection, rounds over the plan repeat about this often.
const ROUND: Duration = Duration::from_secs(1);
/// What is said of a node list that is not believed.
const KEPT: &str = "node list: kept";

/// What the task works with.
pub(super) struct Task<F> {
    pub(super) opener: Opener,
    pub(super) follower: F,
    pub(super) shared: Shared,
    pub(super) commands: mpsc::Receiver<Command>,
    /// Whoever waits for the next list of nodes.
    pub(super) waiting: Vec<Reply>,
    /// Whether the list of the last control node was not believed.
    pub(super) kept: bool,
    /// What waits to be done on the connection in force.
    pub(super) work: Work,
    /// Follows the schema on the control connection in force, where that is wanted.
    pub(super) schema: Option<SchemaFollower>,
    metrics: ControlMetrics,
    /// Whether the last round found nobody.
    exhausted: bool,
    warned: bool,
}

impl<F: Follower> Task<F> {
    pub(super) fn new(opener: Opener, follower: F, shared: Shared, commands: mpsc::Receiver<Command>) -> Self {
        let metrics = opener.metrics().control();
        Self {
            opener,
            follower,
            shared,
            commands,
            waiting: Vec::new(),
            kept: false,
            work: Work::default(),
            schema: None,
            metrics,
            exhausted: false,
            warned: false,
        }
    }

    /// Tells the nodes of the first connection.
    pub(super) fn begin(&mut self, first: First) -> Live {
        self.take(first.adopted)
    }

    pub(super) async fn run(mut self, mut live: Live) {
        loop {
            match self.serve(&mut live).await {
                End::Lost => {
                    self.forget(live);
                    live = self.reconnect().await;
                }
                End::Removed => {
                    let removed = live.host_id();
                    // Without another one, a node on its way out is better than none: it closes when it is gone.
                    if let Ok(adopted) = self.round(Some(removed)).await {
                        live = self.replace(live, adopted);
                    }
                }
                End::Asked(reply) => match self.round(None).await {
                    Ok(adopted) => {
                        live = self.replace(live, adopted);
                        let _ = reply.send(Ok(self.shared.topology.snapshot()));
                    }
                    Err(failed) => {
                        let _ = reply.send(Err(Error::unreachable(failed)));
                    }
                },
                End::Over => return,
            }
        }
    }

    /// The connection is forgotten first and closed second, so that nobody takes it for the one in force.
    fn forget(&mut self, live: Live) {
        self.shared.set_current(None);
        self.schema = None;
        self.metrics.lost();
        self.shared.topology.tell(SessionEvent::ControlLost { host_id: live.host_id() });
        drop(live.connection().close(Duration::ZERO));
    }

    /// Puts a new connection in the place of the old one, which is closed only now.
    fn replace(&mut self, old: Live, adopted: Adopted) -> Live {
        let live = self.take(adopted);
        drop(old.connection().close(Duration::ZERO));
        self.follower.hint(Hint::AnyUp);
        live
    }

    /// Accepts a connection: from here on it is the control connection, and what it told is published.
    fn take(&mut self, adopted: Adopted) -> Live {
        let Adopted { live, read } = adopted;
        self.metrics.connected();
        self.opener.config().said.forget_all(OUTAGE);
        live.connection().observe(self.opener.metrics().control_connection());
        self.exhausted = false;
        self.work = Work::default();
        live.announce(&self.shared);
        // The one of the connection before ends here.
        self.schema = self.opener.config().schema.then(|| {
            let Shared { topology, schema, .. } = self.shared.clone();
            SchemaFollower::start(live.connection().clone(), topology, self.opener.clone(), schema)
        });
        self.kept = self.publish(&live, read, &Gone::default()) == Verdict::Keep;
        self.answer_waiting();
        live
    }

    /// Publishes what was read, unless what was known before is believed instead; that is said once.
    pub(super) fn publish(&mut self, live: &Live, read: Read, gone: &Gone) -> Verdict {
        let verdict = live.publish(read, &self.shared, &mut self.follower, gone);
        let config = self.opener.config();
        let said = &config.said;
        match verdict {
            Verdict::Use => said.forget_all(KEPT),
            Verdict::Keep if said.first(KEPT) => {
                tracing::warn!(server = %live.connection().peer(), "the node list is empty; the nodes known before stay");
            }
            Verdict::Keep => {}
        }
        verdict
    }

    /// Those who wait get the snapshot in force.
    pub(super) fn answer_waiting(&mut self) {
        for reply in self.waiting.drain(..) {
            let _ = reply.send(Ok(self.shared.topology.snapshot()));
        }
    }

    /// Goes over the plan again and again, about every second, until somebody is adopted.
    async fn reconnect(&mut self) -> Live {
        let mut delays = Backoff::new(ROUND, ROUND * 2);
        loop {
            if let Ok(adopted) = self.round(None).await {
                let live = self.take(adopted);
                self.follower.hint(Hint::AnyUp);
                return live;
            }
            delays.reset();
            let delay = delays.next_delay();
            self.metrics.exhausted(delay);
            let mut pause = std::pin::pin!(sleep(delay));
            loop {
                tokio::select! {
                    () = &mut pause => break,
                    command = self.commands.recv() => match command {
                        Some(Command::Refresh(reply)) => self.waiting.push(reply),
                        Some(Command::Reconnect(reply)) => {
                            self.waiting.push(reply);
                            break;
                        }
                        // The owner is gone, and so is this task soon.
                        None => pause.as_mut().await,
                    }
                }
            }
        }
    }

    /// Walks one plan; `removed` is on its way out and not asked.
    async fn round(&mut self, removed: Option<Uuid>) -> Result<Adopted, Vec<ContactPointFailed>> {
        let (opener, shared) = (self.opener.clone(), self.shared.clone());
        let mut known = self.follower.known();
        known.retain(|node| Some(node.host_id) != removed);
        let refuses = |host_id| match removed {
            Some(removed) if removed == host_id => Some(Refusal::Removed),
            _ => self.follower.refuses(host_id),
        };
        // An address says less than its server: after a round in vain every address is asked who it is.
        let admission = Admission::new(&shared.topology, shared.filter.clone(), refuses, !self.exhausted);
        let reresolves = shared.monitor.reresolves_node_addresses(&shared.topology.load());
        let mut plan = Plan::new(known.into_iter(), &opener, reresolves, self.exhausted);
        let mut attempts = Attempts::new(opener.stack(), opener.config(), &shared, admission);
        while let Some(adopted) = attempts.walk(&mut plan).await {
            let host_id = adopted.live.host_id();
            match self.follower.refuses(host_id) {
                None => {
                    if plan.fell_back() {
                        self.metrics.fell_back();
                    }
                    return Ok(adopted);
                }
                Some(reason) => shared.topology.tell(SessionEvent::CandidateRefused { host_id, reason }),
            }
        }
        if plan.fell_back() {
            self.metrics.fell_back();
        }
        self.exhausted = true;
        self.warn_of_logins(&attempts.failed);
        Err(attempts.failed)
    }

    fn warn_of_logins(&mut self, failed: &[ContactPointFailed]) {
        let refused = !failed.is_empty() && failed.iter().all(|failed| failed.error.class() == Class::Auth);
        if refused && !std::mem::replace(&mut self.warned, true) {
            tracing::warn!("every node and contact point refused the login; check the credentials");
        }
    }

    /// Those who wait are told that the nodes could not be read.
    pub(super) fn fail_waiting(&mut self, error: &Arc<dyn std::error::Error + Send + Sync>) {
        for reply in self.waiting.drain(..) {
            let failed = Error::new(crate::error::Kind::Connection, "the nodes could not be read");
            let _ = reply.send(Err(failed.with_source(Arc::clone(error))));
        }
    }
}
