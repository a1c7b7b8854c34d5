//! Storm control: how many connections a session opens at a time, and how close to each other they begin.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

/// So many connects may begin at the same moment; of more, each waits a little.
const CALM: usize = 8;
/// For each connect under way the next may wait so much longer, up to the longest wait.
const SPREAD: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(250);

/// Lets connects in; a clone is the same gate.
#[derive(Clone, Debug, Default)]
pub(super) struct Gate {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Waiting or let in.
    here: AtomicUsize,
    inside: AtomicUsize,
    left: Notify,
}

/// Lets the next one in when it is dropped: when the connect is over, not when the connection is.
#[derive(Debug)]
pub(super) struct Pass(Arc<Shared>);

/// Someone who waits or was let in.
#[derive(Debug)]
struct Here<'a>(&'a Shared);

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.0.here.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.here.fetch_sub(1, Ordering::Relaxed);
        self.0.inside.fetch_sub(1, Ordering::Release);
        self.0.left.notify_one();
    }
}

impl Gate {
    /// Waits until fewer than `limit()` are inside; the limit may change while one waits. Cancel safe.
    pub(super) async fn enter(&self, limit: impl Fn() -> usize) -> Pass {
        let shared = &*self.shared;
        let here = shared.here.fetch_add(1, Ordering::Relaxed);
        let guard = Here(shared);
        if here >= CALM {
            let longest = LONGEST.min(SPREAD * u32::try_from(here).unwrap_or(u32::MAX));
            tokio::time::sleep(longest.mul_f64(random_share())).await;
        }
        loop {
            let left = shared.left.notified();
            let taken = shared.inside.fetch_update(Ordering::Acquire, Ordering::Relaxed, |inside| {
                (inside < limit().max(1)).then_some(inside + 1)
            });
            if taken.is_ok() {
                std::mem::forget(guard);
                return Pass(Arc::clone(&self.shared));
            }
            left.await;
        }
    }

    /// The limit changed: those who wait look again.
    pub(super) fn look_again(&self) {
        self.shared.left.notify_waiters();
    }
}

/// From 0 up to, but without, 1.
fn random_share() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
