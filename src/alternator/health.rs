//! Whether a node answers: three states, moved by what attempts and probes end with.

mod book;
mod probes;

use std::time::Duration;

use tokio::time::Instant;

pub use self::{
    book::{Book, Moved},
    probes::{Probe, ProbeOptions, ProbePriority, Probes},
};
use super::plan::Standing;

/// How long a node is picked last after a refusal, a 503 or a passed header limit.
const AVOID: Duration = Duration::from_secs(1);

/// How many events move a node from one state to another; all of them are at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    active_failures: u32,
    down_recovery: u32,
    promotion: u32,
    quarantine_failures: u32,
}

impl Default for Thresholds {
    /// 10 failures take an active node down, 3 probes bring it into quarantine, 10 requests or one probe out of it,
    /// 3 failures down again.
    fn default() -> Self {
        Self { active_failures: 10, down_recovery: 3, promotion: 10, quarantine_failures: 3 }
    }
}

impl Thresholds {
    /// Consecutive failed requests that take an active node down (10); 0 counts as 1.
    #[must_use]
    pub const fn with_active_failures(mut self, failures: u32) -> Self {
        self.active_failures = at_least_one(failures);
        self
    }

    /// Consecutive answered probes that bring a node that is down into quarantine (3); 0 counts as 1.
    #[must_use]
    pub const fn with_down_recovery(mut self, probes: u32) -> Self {
        self.down_recovery = at_least_one(probes);
        self
    }

    /// Consecutive answered requests that make a quarantined node active (10); 0 counts as 1.
    #[must_use]
    pub const fn with_promotion(mut self, successes: u32) -> Self {
        self.promotion = at_least_one(successes);
        self
    }

    /// Consecutive failed requests that take a quarantined node down (3); 0 counts as 1.
    #[must_use]
    pub const fn with_quarantine_failures(mut self, failures: u32) -> Self {
        self.quarantine_failures = at_least_one(failures);
        self
    }
}

const fn at_least_one(count: u32) -> u32 {
    if count == 0 { 1 } else { count }
}

/// What a node's recent past says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It answers, and takes requests.
    Active,
    /// It has yet to prove itself: picked only after those that are active.
    Quarantined,
    /// It does not answer: never picked, only probed.
    Down,
}

impl State {
    /// Its word in the metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Quarantined => "quarantined",
            Self::Down => "down",
        }
    }
}

/// How an attempt or a probe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Final response headers with this status arrived.
    Answered(u16),
    /// No connection was made.
    Refused,
    /// No header arrived within the limit.
    Silent,
    /// The connection broke before the final response headers.
    Broken,
    /// Whoever asked gave up: this tells nothing of the node.
    Cancelled,
    /// A probe was answered.
    ProbeAnswered,
    /// A probe was not answered, or not well.
    ProbeFailed,
}

enum Effect {
    Success,
    Failure,
    Nothing,
}

impl Outcome {
    /// Whether an attempt that ended so proves that the node serves.
    pub(super) const fn is_success(self) -> bool {
        matches!(self.of_traffic(), Effect::Success)
    }

    /// An answer proves life, be it a refusal of credentials, of the rate or of the request; a gateway's word or an
    /// internal error proves nothing.
    const fn of_traffic(self) -> Effect {
        match self {
            Self::Answered(500 | 502 | 503 | 504) | Self::Cancelled => Effect::Nothing,
            Self::Answered(_) => Effect::Success,
            Self::Refused | Self::Silent | Self::Broken => Effect::Failure,
            Self::ProbeAnswered | Self::ProbeFailed => Effect::Nothing,
        }
    }
}

/// The health of one node.
///
/// ```
/// use messina::alternator::health::{Health, Outcome, State, Thresholds};
/// use tokio::time::Instant;
///
/// let (now, limits) = (Instant::now(), Thresholds::default());
/// let mut health = Health::quarantined(now);
/// let attempt = health.generation();
/// health.record(Outcome::ProbeAnswered, attempt, &limits, now);
/// assert_eq!(health.state(), State::Active);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    state: State,
    failures: u32,
    successes: u32,
    generation: u64,
    since: Instant,
    avoid_until: Option<Instant>,
}

impl Health {
    /// A node that has yet to prove itself: every node starts so.
    #[must_use]
    pub const fn quarantined(now: Instant) -> Self {
        Self { state: State::Quarantined, failures: 0, successes: 0, generation: 0, since: now, avoid_until: None }
    }

    /// A node that has proved itself.
    #[must_use]
    pub const fn active(thresholds: &Thresholds, now: Instant) -> Self {
        let successes = thresholds.promotion;
        Self { state: State::Active, failures: 0, successes, generation: 0, since: now, avoid_until: None }
    }

    /// The state the node is in.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Since when it is in this state.
    #[must_use]
    pub const fn since(&self) -> Instant {
        self.since
    }

    /// Consecutive failures that count in this state.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Consecutive successes that count in this state.
    #[must_use]
    pub const fn successes(&self) -> u32 {
        self.successes
    }

    /// How often the node went down. An attempt notes it at its start, see [`record`](Self::record).
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Until when it is picked last, if it failed a moment ago.
    #[must_use]
    pub const fn avoided_until(&self) -> Option<Instant> {
        self.avoid_until
    }

    /// How the node ranks in a query plan at this moment.
    #[must_use]
    pub fn standing(&self, now: Instant) -> Standing {
        match self.state {
            State::Down => Standing::Down,
            _ if self.avoid_until.is_some_and(|until| now < until) => Standing::Avoided,
            State::Active => Standing::Active,
            State::Quarantined => Standing::Quarantined,
        }
    }

    /// Takes in how an attempt or probe ended that began in `generation`; gives the state it left, if it left one.
    ///
    /// What began before the node last went down is too old to say anything, and is dropped.
    pub fn record(
        &mut self,
        outcome: Outcome,
        generation: u64,
        thresholds: &Thresholds,
        now: Instant,
    ) -> Option<State> {
        if generation < self.generation {
            return None;
        }
        let before = self.state;
        match outcome {
            Outcome::ProbeAnswered => self.probe_answered(thresholds, now),
            // Only where it holds a recovery back does a failed probe count.
            Outcome::ProbeFailed if self.state == State::Down => self.successes = 0,
            Outcome::ProbeFailed => {}
            // Requests that end while the node is down say nothing: probes bring it back.
            _ if self.state == State::Down => {}
            traffic => self.traffic(traffic, thresholds, now),
        }
        (self.state != before).then_some(before)
    }

    fn traffic(&mut self, outcome: Outcome, thresholds: &Thresholds, now: Instant) {
        if matches!(outcome, Outcome::Refused | Outcome::Silent | Outcome::Answered(503)) {
            self.avoid_until = Some(now + AVOID);
        }
        match outcome.of_traffic() {
            Effect::Nothing => {}
            Effect::Success => {
                self.failures = 0;
                self.avoid_until = None;
                self.successes = self.successes.saturating_add(1).min(thresholds.promotion);
                if self.state == State::Active || self.successes == thresholds.promotion {
                    self.activate(thresholds, now);
                }
            }
            Effect::Failure => {
                self.successes = 0;
                self.failures = self.failures.saturating_add(1);
                let limit = match self.state {
                    State::Active => thresholds.active_failures,
                    _ => thresholds.quarantine_failures,
                };
                if self.failures >= limit {
                    self.generation += 1;
                    self.enter(State::Down, now);
                }
            }
        }
    }

    fn probe_answered(&mut self, thresholds: &Thresholds, now: Instant) {
        match self.state {
            State::Active | State::Quarantined => self.activate(thresholds, now),
            State::Down => {
                self.successes = self.successes.saturating_add(1);
                if self.successes >= thresholds.down_recovery {
                    self.failures = 0;
                    self.successes = 0;
                    self.enter(State::Quarantined, now);
                }
            }
        }
    }

    fn activate(&mut self, thresholds: &Thresholds, now: Instant) {
        self.failures = 0;
        self.successes = thresholds.promotion;
        self.enter(State::Active, now);
    }

    fn enter(&mut self, state: State, now: Instant) {
        if self.state != state {
            self.state = state;
            self.since = now;
            self.avoid_until = None;
        }
    }

    /// Puts a node that is not down into quarantine, such as a seed that is a last resort.
    pub fn quarantine(&mut self, now: Instant) {
        if self.state == State::Active {
            self.failures = 0;
            self.successes = 0;
            self.enter(State::Quarantined, now);
        }
    }
}
