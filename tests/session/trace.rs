//! Traces: fetched once the server has written them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use messina::error::Kind;
use messina::testkit::{Prime, Rows, rows};
use uuid::Uuid;

use crate::support::{error, start};

const SESSION: &str =
    "SELECT coordinator, client, request, started_at, duration FROM system_traces.sessions WHERE session_id = ?";
const EVENTS: &str = "SELECT activity, source, source_elapsed, thread FROM system_traces.events WHERE session_id = ?";
const COLUMNS: &str = "coordinator inet, client inet, request text, started_at timestamp, duration int";

/// driver 2.1: a trace is asked for again until it is complete, then comes with its steps.
#[tokio::test(start_paused = true)]
async fn a_trace_that_comes_late() {
    let (cluster, session) = start(1).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let session_rows = Prime::new(SESSION).params("session_id uuid").columns(COLUMNS);
    cluster.prime_with(session_rows, move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Rows::new(COLUMNS).into(),
        1 => rows![COLUMNS; (None::<std::net::IpAddr>, None::<std::net::IpAddr>, "Execute", None::<i64>, None::<i32>)]
            .into(),
        _ => rows![COLUMNS; (None::<std::net::IpAddr>, None::<std::net::IpAddr>, "Execute", None::<i64>, 1234)].into(),
    });
    let events = "activity text, source inet, source_elapsed int, thread text";
    cluster.prime(
        Prime::new(EVENTS).params("session_id uuid"),
        rows![events; ("Parsing", None::<std::net::IpAddr>, 5, "t-1"), ("Reading", None::<std::net::IpAddr>, 900, "t-2")],
    );
    let trace = session.trace(Uuid::from_u128(7)).await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    assert_eq!((trace.duration, trace.request.as_deref()), (Duration::from_micros(1234), Some("Execute")));
    let steps: Vec<_> = trace.events.iter().map(|event| (event.activity.as_str(), event.elapsed)).collect();
    assert_eq!(steps, [("Parsing", Some(Duration::from_micros(5))), ("Reading", Some(Duration::from_micros(900)))]);
}

/// driver 2.1: a trace that never becomes complete is an error after a bounded time.
#[tokio::test(start_paused = true)]
async fn a_trace_that_never_comes() {
    let (cluster, session) = start(1).await;
    cluster.prime(Prime::new(SESSION).params("session_id uuid"), Rows::new(COLUMNS));
    let begun = tokio::time::Instant::now();
    let wrong = error(session.trace(Uuid::from_u128(7)).await);
    assert_eq!(wrong.kind(), Kind::Timeout);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}
