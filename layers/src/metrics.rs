//! Metric names. No series carries an address.

use std::time::Duration;

use crate::error::Stage;

/// Counter: attempts that ended, by `stage` (the failed one, or `connected`) and `outcome`: `ok`, `error`,
/// or `dropped` (at stage `attempt`: overtaken by another address, or its connect was dropped).
pub const ATTEMPTS: &str = "messina_layers_connect_attempts_total";
/// Histogram, seconds: how long attempts took, by `outcome`.
pub const ATTEMPT_DURATION: &str = "messina_layers_connect_attempt_duration_seconds";
/// Histogram, seconds: how long single stages of attempts took, by `stage` and `outcome` (`ok`, `error`).
///
/// [`TlsLayer`](crate::TlsLayer) records `tcp`, around whatever dials, and `tls`; handshakes record their own stages
/// with [`stage_ended`].
pub const STAGE_DURATION: &str = "messina_layers_connect_stage_duration_seconds";
/// Histogram: how many candidates a connect had after the cap.
pub const CANDIDATES: &str = "messina_layers_connect_candidates";
/// Counter: lookups that ended, by `outcome` (`ok`, `empty`, `error`, `timeout`).
pub const LOOKUPS: &str = "messina_layers_lookups_total";
/// Histogram, seconds: how long lookups took.
pub const LOOKUP_DURATION: &str = "messina_layers_lookup_duration_seconds";
/// Counter: connects that succeeded only after another address had failed or been overtaken.
pub const FALLBACKS: &str = "messina_layers_connect_fallbacks_total";

/// Describes every metric of this crate to the recorder in force.
pub fn describe() {
    metrics::describe_counter!(ATTEMPTS, "Attempts that ended, by stage and outcome");
    metrics::describe_histogram!(ATTEMPT_DURATION, metrics::Unit::Seconds, "How long attempts took");
    metrics::describe_histogram!(STAGE_DURATION, metrics::Unit::Seconds, "How long single stages of attempts took");
    metrics::describe_histogram!(CANDIDATES, metrics::Unit::Count, "Candidates of a connect, after the cap");
    metrics::describe_counter!(LOOKUPS, "Lookups that ended, by outcome");
    metrics::describe_histogram!(LOOKUP_DURATION, metrics::Unit::Seconds, "How long lookups took");
    metrics::describe_counter!(FALLBACKS, "Connects that succeeded after another address had failed or been overtaken");
}

/// Records how long a stage took; for handshakes, which know their own.
pub fn stage_ended(stage: Stage, ok: bool, elapsed: Duration) {
    let outcome = if ok { "ok" } else { "error" };
    metrics::histogram!(STAGE_DURATION, "stage" => stage.as_str(), "outcome" => outcome).record(elapsed);
}

// The names are written out again below, since only a literal makes a static key, which costs neither an
// allocation nor a hash; a test holds both together.

pub(crate) fn attempt_ended(failed_at: Option<Stage>, elapsed: Duration) {
    match failed_at {
        None => {
            metrics::counter!("messina_layers_connect_attempts_total", "stage" => "connected", "outcome" => "ok")
                .increment(1);
            metrics::histogram!("messina_layers_connect_attempt_duration_seconds", "outcome" => "ok").record(elapsed);
        }
        Some(stage) => {
            metrics::counter!(ATTEMPTS, "stage" => stage.as_str(), "outcome" => "error").increment(1);
            metrics::histogram!(ATTEMPT_DURATION, "outcome" => "error").record(elapsed);
        }
    }
}

pub(crate) fn attempt_dropped(elapsed: Duration) {
    metrics::counter!(ATTEMPTS, "stage" => "attempt", "outcome" => "dropped").increment(1);
    metrics::histogram!(ATTEMPT_DURATION, "outcome" => "dropped").record(elapsed);
}

pub(crate) fn candidates(count: usize) {
    metrics::histogram!("messina_layers_connect_candidates").record(count as f64);
}

pub(crate) fn fell_back() {
    metrics::counter!(FALLBACKS).increment(1);
}

/// How a lookup ended.
#[derive(Clone, Copy)]
pub(crate) enum Lookup {
    Ok,
    Empty,
    Error,
    Timeout,
}

pub(crate) fn lookup_ended(outcome: Lookup, elapsed: Duration) {
    match outcome {
        Lookup::Ok => metrics::counter!("messina_layers_lookups_total", "outcome" => "ok"),
        Lookup::Empty => metrics::counter!(LOOKUPS, "outcome" => "empty"),
        Lookup::Error => metrics::counter!(LOOKUPS, "outcome" => "error"),
        Lookup::Timeout => metrics::counter!(LOOKUPS, "outcome" => "timeout"),
    }
    .increment(1);
    metrics::histogram!("messina_layers_lookup_duration_seconds").record(elapsed);
}
