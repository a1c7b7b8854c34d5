//! Turning a contact point into addresses, as the resolve layer does: one lookup, under its limit.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use messina_layers::{Address, Candidates, TimedOut, error::BoxError, guard::Guarded};
use tokio::time::{Instant, timeout};
use tower::ServiceExt;

use super::{LookupFailed, Run};

/// Every address, none twice; and how long that took.
pub(super) async fn look_up(run: &Run, address: Address) -> (Result<Vec<SocketAddr>, LookupFailed>, Duration) {
    let started = Instant::now();
    let Ok(_permit) = run.permits.acquire().await else {
        return (Err(LookupFailed::NoAddress), started.elapsed());
    };
    let started = Instant::now();
    let port = address.port();
    let lookup = Guarded::new(run.resolver.clone().oneshot(address));
    let answer = match run.config.connect.resolve_timeout {
        None => lookup.await,
        Some(limit) => match timeout(limit, lookup).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err(BoxError::from(TimedOut::new(limit))),
        },
    };
    let elapsed = started.elapsed();
    let found = match answer {
        Err(error) => Err(LookupFailed::Failed(Arc::from(error))),
        Ok(answer) => match Candidates::new((), answer.into_iter().map(|resolved| resolved.socket(port))) {
            Ok(candidates) => Ok(candidates.into_parts().1),
            Err(()) => Err(LookupFailed::NoAddress),
        },
    };
    (found, elapsed)
}
