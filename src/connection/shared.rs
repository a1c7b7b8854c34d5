//! What handles, replies and the driver share: one mutex, and counters that are read without it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tokio::runtime::{self, Handle, RuntimeFlavor};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::error::{ConnectionError, Reason};
use super::limits::Limits;
use super::state::State;
use crate::metrics::ConnectionMetrics;
use crate::protocol::{Compression, Dialect};

#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) limits: Limits,
    pub(super) peer: SocketAddr,
    opening: Dialect,
    negotiated: OnceLock<Negotiated>,
    /// All bytes ever written, in terms of what was queued; only the driver writes it.
    written: AtomicU64,
    in_flight: AtomicUsize,
    due: AtomicUsize,
    orphans: AtomicUsize,
    queued: AtomicU64,
    opened: Instant,
    last_answer: AtomicU64,
    /// Since when something waits, in nanoseconds after `opened`.
    waiting_since: AtomicU64,
    /// New requests are taken; in step with what stands under the lock.
    pub(super) open: AtomicBool,
    /// Set once it is known whose connection it is.
    metrics: OnceLock<ConnectionMetrics>,
    /// Where the driver runs, once it is known, if that has one thread only; and whether that was elsewhere later.
    runtime: OnceLock<runtime::Id>,
    moved: AtomicBool,
    pub(super) ended: Notify,
    /// Told when the connection begins to close, and when it ends.
    pub(super) retired: Notify,
}

/// What both sides agreed on before STARTUP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Negotiated {
    pub(super) dialect: Dialect,
    pub(super) compression: Option<Compression>,
}

impl Shared {
    pub(super) fn new(peer: SocketAddr, opening: Dialect, limits: Limits) -> Self {
        Self {
            state: Mutex::default(),
            limits,
            peer,
            opening,
            negotiated: OnceLock::new(),
            written: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            due: AtomicUsize::new(0),
            orphans: AtomicUsize::new(0),
            queued: AtomicU64::new(0),
            opened: Instant::now(),
            last_answer: AtomicU64::new(0),
            waiting_since: AtomicU64::new(0),
            open: AtomicBool::new(true),
            metrics: OnceLock::new(),
            runtime: OnceLock::new(),
            moved: AtomicBool::new(false),
            ended: Notify::new(),
            retired: Notify::new(),
        }
    }

    /// Takes the lock. A panic under it cannot leave a half-made state that matters, so poison is ignored.
    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(super) fn dialect(&self) -> Dialect {
        match self.negotiated.get() {
            Some(negotiated) => negotiated.dialect,
            None => self.opening,
        }
    }

    #[inline]
    pub(super) fn compression(&self) -> Option<Compression> {
        self.negotiated.get().and_then(|both| both.compression)
    }

    pub(super) fn negotiated(&self) -> Option<&Negotiated> {
        self.negotiated.get()
    }

    /// Settles what both sides agreed on; false when it was settled before.
    pub(super) fn negotiate(&self, negotiated: Negotiated) -> bool {
        self.negotiated.set(negotiated).is_ok()
    }

    #[inline]
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(super) fn set_written(&self, written: u64) {
        self.written.store(written, Ordering::Relaxed);
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(super) fn orphans(&self) -> usize {
        self.orphans.load(Ordering::Relaxed)
    }

    /// Requests whose answer is due.
    #[inline]
    pub(super) fn due(&self) -> usize {
        self.due.load(Ordering::Relaxed)
    }

    /// The driver, which wakes those who have waited for long, runs in the runtime of this thread; gives whether anybody may
    /// count on it.
    #[cold]
    pub(super) fn is_driven_here(&self) -> bool {
        // Where there are several threads, it may be left behind one that computes for long.
        let single = |handle: &Handle| handle.runtime_flavor() == RuntimeFlavor::CurrentThread;
        let here = Handle::try_current().ok().filter(single).map(|handle| handle.id());
        if here.is_none_or(|here| *self.runtime.get_or_init(|| here) != here) {
            self.moved.store(true, Ordering::Relaxed);
        }
        !self.moved.load(Ordering::Relaxed)
    }

    /// Whether the driver runs on this thread, the only one of its runtime: then it runs as long as whoever waits here does.
    #[inline]
    pub(super) fn runs_here(&self) -> bool {
        let Some(runtime) = self.runtime.get() else { return false };
        !self.moved.load(Ordering::Relaxed) && Handle::try_current().is_ok_and(|handle| handle.id() == *runtime)
    }

    /// Where its numbers are told, if it is known by now whose connection it is.
    pub(super) fn metrics(&self) -> Option<&ConnectionMetrics> {
        self.metrics.get()
    }

    /// Has the numbers told from now on; those of before as well.
    pub(super) fn observe(&self, metrics: ConnectionMetrics) {
        if let Err(second) = self.metrics.set(metrics) {
            drop(second);
            return;
        }
        let mut state = self.lock();
        let ended = state.ended.is_some();
        let driver = state.wake_driver();
        drop(state);
        if let (true, Some(metrics)) = (ended, self.metrics()) {
            metrics.ended();
        }
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// Something was answered now; gives how long after the answer before.
    pub(super) fn answered_now(&self) -> Duration {
        let now = self.nanos(Instant::now());
        // Only the driver writes it.
        let before = self.last_answer.load(Ordering::Relaxed);
        self.last_answer.store(now, Ordering::Relaxed);
        Duration::from_nanos(now.saturating_sub(before))
    }

    pub(super) fn last_answer(&self) -> Instant {
        self.opened + Duration::from_nanos(self.last_answer.load(Ordering::Relaxed))
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// A request that is the only one waits from then on.
    #[inline]
    pub(super) fn waits_from(&self, now: Instant) {
        self.waiting_since.store(self.nanos(now), Ordering::Relaxed);
    }

    /// How long, at `now`, nothing has been answered while something waited.
    #[inline]
    pub(super) fn silent_nanos(&self, now: Instant) -> u64 {
        if self.due() == 0 {
            return 0;
        }
        let since = self.last_answer.load(Ordering::Relaxed).max(self.waiting_since.load(Ordering::Relaxed));
        self.nanos(now).saturating_sub(since)
    }

    /// Nanoseconds since it was opened: enough for five hundred years.
    #[inline]
    fn nanos(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.opened);
        since.as_secs().wrapping_mul(1_000_000_000).wrapping_add(since.subsec_nanos().into())
    }

    pub(super) fn error(&self, reason: Reason) -> ConnectionError {
        ConnectionError::new(self.peer, reason)
    }

    /// Puts the numbers that are read without the lock in step with the table.
    #[inline]
    pub(super) fn publish(&self, state: &State) {
        self.in_flight.store(state.slots.used(), Ordering::Relaxed);
        self.due.store(state.slots.due(), Ordering::Relaxed);
        self.orphans.store(state.slots.orphans(), Ordering::Relaxed);
        self.queued.store(state.queued, Ordering::Relaxed);
    }

    /// All bytes ever queued.
    pub(super) fn queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed)
    }

    /// Bytes queued and not written yet.
    pub(super) fn pending(&self) -> u64 {
        let queued = self.queued.load(Ordering::Relaxed);
        queued.saturating_sub(self.written())
    }

    /// How many more requests may be taken now.
    #[inline]
    pub(super) fn room(&self, state: &State) -> usize {
        if state.queued.saturating_sub(self.written()) > self.limits.max_queued() as u64 {
            return 0;
        }
        let taken = state.slots.used() + state.reserved;
        self.limits.max_requests().saturating_sub(taken)
    }

    /// The waker of the handle that one freed slot lets go.
    #[inline]
    pub(super) fn next_in_line(&self, state: &mut State) -> Option<Waker> {
        if state.line.is_empty() {
            return None;
        }
        let room = self.room(state);
        state.line.waker(room.checked_sub(1)?)
    }

    /// The wakers of every handle that may go.
    #[inline]
    pub(super) fn all_in_line(&self, state: &mut State, into: &mut Vec<Waker>) {
        if state.line.is_empty() {
            return;
        }
        for place in 0..self.room(state).min(state.line.len()) {
            into.extend(state.line.waker(place));
        }
    }
}
