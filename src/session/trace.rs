//! What the server noted while it executed a request.

use std::net::IpAddr;
use std::time::Duration;

use scylla_cql_core::frame::types::Consistency;
use scylla_cql_core::value::CqlTimestamp;
use tokio::time::sleep;
use uuid::Uuid;

use super::{Session, Statement};
use crate::error::{Error, Kind};

/// A trace of one request; asked for with [`with_tracing`](Statement::with_tracing).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Trace {
    /// Under which id the server keeps it.
    pub id: Uuid,
    /// The node that coordinated the request.
    pub coordinator: Option<IpAddr>,
    /// The client's address, as the server saw it.
    pub client: Option<IpAddr>,
    /// What kind of request it was.
    pub request: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started_at: Option<i64>,
    /// How long it took at the server.
    pub duration: Duration,
    /// The steps, in order.
    pub events: Vec<TraceEvent>,
}

/// One step of a traced request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TraceEvent {
    /// What was done.
    pub activity: String,
    /// By which node.
    pub source: Option<IpAddr>,
    /// How long after that node took part.
    pub elapsed: Option<Duration>,
    /// In which of its threads.
    pub thread: Option<String>,
}

const SESSION: &str = "SELECT coordinator, client, request, started_at, duration FROM system_traces.sessions \
                       WHERE session_id = ?";
const EVENTS: &str = "SELECT activity, source, source_elapsed, thread FROM system_traces.events WHERE session_id = ?";

/// Servers write a trace after they have answered: it is asked for again after this time, then twice that, and so on.
const FIRST_WAIT: Duration = Duration::from_millis(3);
const ATTEMPTS: u32 = 10;

type Begun = (Option<IpAddr>, Option<IpAddr>, Option<String>, Option<CqlTimestamp>, Option<i32>);

impl Session {
    /// The trace with this id, which [`tracing_id`](super::ResultSet::tracing_id) told.
    ///
    /// Asks again until the server has written all of it, for about three seconds.
    ///
    /// # Errors
    /// [`Kind::Timeout`] if it is not complete by then; as [`execute`](Self::execute) otherwise.
    pub async fn trace(&self, id: Uuid) -> Result<Trace, Error> {
        let ask = |text: &str| Statement::new(text).with_consistency(Consistency::One).with_idempotence(true);
        let mut wait = FIRST_WAIT;
        for attempt in 1..=ATTEMPTS {
            let found = self.execute(ask(SESSION), (id,)).await?.first::<Begun>().await?;
            // The duration is written last.
            if let Some((coordinator, client, request, started_at, Some(duration))) = found {
                let duration = micros(duration);
                let started_at = started_at.map(|at| at.0);
                let events = self.trace_events(ask(EVENTS), id).await?;
                return Ok(Trace { id, coordinator, client, request, started_at, duration, events });
            }
            if attempt < ATTEMPTS {
                sleep(wait).await;
                wait *= 2;
            }
        }
        Err(Error::new(
            Kind::Timeout,
            format!("the trace {id} is not complete after it was asked for {ATTEMPTS} times"),
        ))
    }

    async fn trace_events(&self, ask: Statement, id: Uuid) -> Result<Vec<TraceEvent>, Error> {
        type Row = (Option<String>, Option<IpAddr>, Option<i32>, Option<String>);
        let rows = self.execute(ask, (id,)).await?.all::<Row>().await?;
        let event = |(activity, source, elapsed, thread): Row| TraceEvent {
            activity: activity.unwrap_or_default(),
            source,
            elapsed: elapsed.map(micros),
            thread,
        };
        Ok(rows.into_iter().map(event).collect())
    }
}

fn micros(micros: i32) -> Duration {
    Duration::from_micros(micros.unsigned_abs().into())
}
