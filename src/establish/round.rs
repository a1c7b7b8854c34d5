//! What failed in one walk over a plan, so that no address is dialled twice in it without a reason.
//!
//! Two contact points may lead to the same address, and a contact point to a node that has just failed. An address
//! is left out if it failed in this round for a reason that does not depend on who was expected there; a host id
//! that did not match, and a version that an identified node refused, leave nothing out.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use messina_layers::{
    Accept, Candidates, ConnectError, Dial, Established, FailedAttempt, GivenUp, Name, Scope, ServerIdentity,
    error::AttemptError,
};
use thiserror::Error;
use tower::{Layer, Service};

use super::{
    Open,
    error::{NotWanted, WrongHost},
};
use crate::error::stage;

/// The memory of one round; a clone is the same memory.
#[derive(Clone, Default)]
pub(crate) struct Round {
    failed: Arc<Mutex<HashMap<Key, AttemptError>>>,
}

/// The same server: at this address, under these names.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    addr: SocketAddr,
    sni: Option<Name>,
    accept: Vec<Name>,
}

impl Key {
    fn new(target: &Open, addr: SocketAddr) -> Self {
        let identity = target.tls().unwrap_or_default();
        let accept = match identity.accept {
            Accept::Dialled => Vec::new(),
            Accept::Names(names) => names,
        };
        Self { addr, sni: identity.sni, accept }
    }
}

/// The address is left out, for what it did before.
#[derive(Clone, Debug, Error)]
#[error("not dialled again: it failed in this round")]
pub(crate) struct FailedBefore(#[source] AttemptError);

impl Round {
    /// Leaves this address out for the rest of the round, whatever was wrong with it.
    pub(crate) fn exclude(&self, target: &Open, addr: SocketAddr, error: AttemptError) {
        self.lock().insert(Key::new(target, addr), error);
    }

    fn note(&self, target: &Open, attempts: &[FailedAttempt]) {
        for attempt in attempts.iter().filter(|attempt| holds_for_all(&attempt.error)) {
            self.exclude(target, attempt.addr, attempt.error.clone());
        }
    }

    fn before(&self, target: &Open, addr: SocketAddr) -> Option<FailedAttempt> {
        let error = self.lock().get(&Key::new(target, addr))?.clone();
        let (stage, scope, forces_down) = (error.stage(), error.scope(), error.forces_down());
        let told = AttemptError::new(stage, FailedBefore(error)).with_scope(scope);
        let told = if forces_down { told.forcing_down() } else { told };
        Some(FailedAttempt::new(addr, told, Duration::ZERO))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, AttemptError>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An address of which it is known that a node is there that is not wanted.
fn unwanted(target: &Open, addr: SocketAddr) -> Option<FailedAttempt> {
    let (host_id, reason) = target.admission()?.address(addr)?;
    Some(FailedAttempt::new(addr, NotWanted::at(stage::ADOPTION, host_id, reason), Duration::ZERO))
}

/// Whether the next plan entry would fail there too, whoever it expects.
fn holds_for_all(error: &AttemptError) -> bool {
    let expected_another = error.find::<WrongHost>().is_some_and(|wrong| matches!(wrong, WrongHost::Other { .. }));
    // Who is not wanted now may be wanted by the next entry's time.
    let not_wanted = error.find::<NotWanted>().is_some();
    // An attempt that was cut off by the winner did not fail.
    let cut_off = error.find::<GivenUp>().is_some();
    error.scope() != Scope::Endpoint && !expected_another && !not_wanted && !cut_off
}

impl fmt::Debug for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Round").field("failed", &self.lock().len()).finish()
    }
}

/// Layers [`Remember`].
#[derive(Clone, Copy, Debug)]
pub(super) struct RememberLayer;

impl<S> Layer<S> for RememberLayer {
    type Service = Remember<S>;

    fn layer(&self, inner: S) -> Remember<S> {
        Remember { inner }
    }
}

/// Leaves out what failed before in the target's round, and notes what fails now.
#[derive(Clone, Debug)]
pub(super) struct Remember<S> {
    inner: S,
}

type Connected<C> = Result<Established<Open, C>, ConnectError>;

impl<S, C> Service<Candidates<Open>> for Remember<S>
where
    S: Service<Candidates<Open>, Response = Established<Open, C>, Error = ConnectError>,
    S::Future: Send + 'static,
    C: Send + 'static,
{
    type Response = Established<Open, C>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Connected<C>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, candidates: Candidates<Open>) -> Self::Future {
        let target = candidates.target().clone();
        let Some(round) = target.round().cloned() else { return Box::pin(self.inner.call(candidates)) };
        let mut before = Vec::new();
        let left =
            candidates.filtered(|addr| match unwanted(&target, *addr).or_else(|| round.before(&target, *addr)) {
                Some(failed) => {
                    before.push(failed);
                    false
                }
                None => true,
            });
        let Ok(candidates) = left else {
            let error = ConnectError::Exhausted { target: target.address(), failed: before };
            return Box::pin(std::future::ready(Err(error)));
        };
        let connect = self.inner.call(candidates);
        Box::pin(async move {
            let result = connect.await;
            match result {
                Ok(established) => {
                    round.note(&target, &established.failed);
                    Ok(established)
                }
                Err(error) => {
                    round.note(&target, error.failed());
                    Err(with(error, before))
                }
            }
        })
    }
}

/// The error with what was left out behind what was tried.
fn with(mut error: ConnectError, before: Vec<FailedAttempt>) -> ConnectError {
    if let ConnectError::Rejected { failed, .. }
    | ConnectError::Exhausted { failed, .. }
    | ConnectError::OutOfTime { failed, .. }
    | ConnectError::NotReady { failed, .. } = &mut error
    {
        failed.extend(before);
    }
    error
}
