//! What these tests share: a name over a network of pipes, both ways of trying, and the events that were logged.

#[path = "support/events.rs"]
pub(crate) mod events;
#[path = "support/files.rs"]
mod files;
#[path = "support/stack.rs"]
mod stack;

use std::{net::SocketAddr, time::Duration};

use messina::{
    Error, Session,
    layers::{FailedAttempt, FixedResolver, Name, Order, Resolved},
    session::SessionBuilder,
    testkit::{Log, Network},
};
use tokio::time::Instant;

pub(crate) use self::{events::Events, files::Files, stack::TestStack};

/// The default limit of each step.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);
/// The default delay before the next address is tried beside a slow one.
pub(crate) const DELAY: Duration = Duration::from_millis(250);
/// How long a test waits for what must come; the clock is paused or the event is due at once.
pub(crate) const SOON: Duration = Duration::from_secs(5);

/// How addresses are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One after the other.
    Sequential,
    /// The next one beside one that does not answer.
    Beside,
}

impl Mode {
    pub(crate) const BOTH: [Self; 2] = [Self::Sequential, Self::Beside];

    pub(crate) fn of(self, builder: SessionBuilder) -> SessionBuilder {
        match self {
            Self::Sequential => builder.sequential(),
            Self::Beside => builder.attempt_delay(DELAY),
        }
    }
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// Answers `db.test` with these addresses.
pub(crate) fn resolver(addrs: impl IntoIterator<Item = SocketAddr>) -> FixedResolver {
    FixedResolver::new().with(name("db.test"), addrs.into_iter().map(Resolved::from))
}

/// A session to `db.test`, which has these addresses in this order, over pipes.
pub(crate) fn named(network: &Network, addrs: impl IntoIterator<Item = SocketAddr>) -> SessionBuilder {
    Session::builder()
        .contact_point("db.test")
        .resolver(resolver(addrs))
        .connector(network.connector())
        .candidate_order(Order::AsGiven)
}

/// Builds a session and says how long that took.
pub(crate) async fn timed(builder: SessionBuilder) -> (Result<Session, Error>, Duration) {
    let started = Instant::now();
    let result = builder.build().await;
    (result, started.elapsed())
}

/// Every connection is closed.
pub(crate) async fn all_closed(log: &Log) {
    log.wait_for(SOON, |seen| seen.open() == 0).await.unwrap();
}

/// The attempts at the only contact point of a failed build.
pub(crate) fn attempts(error: &Error) -> &[FailedAttempt] {
    let [contact_point] = error.contact_points() else { panic!("not one contact point: {error}") };
    contact_point.error.failed()
}

/// The names of the stages at which they failed.
pub(crate) fn stages(error: &Error) -> Vec<&'static str> {
    attempts(error).iter().map(|attempt| attempt.error.stage().as_str()).collect()
}
