//! Waking those who have waited for long.
//!
//! Nearly every request is answered long before its deadline. A timer for each would cost more than anything else that
//! is done for it, so a request sets none at first: the driver has one for all, and wakes each that has waited for
//! [`PATIENCE`] once. From then on that looks at its own deadline.
//!
//! Only a request that waits in the driver's runtime counts on it, and only if that has one thread: elsewhere the driver may
//! stand still while the request does not ([`Shared::runs_here`]), and each has its timer from the beginning.

use std::{
    pin::Pin,
    task::{Context, Waker},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::connection::{closing::after, shared::Shared};

/// Who has waited for so long is woken, before it has waited for twice as long.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);

/// When somebody is to be woken. Places are those in all bytes ever queued.
#[derive(Debug, Default)]
pub(super) struct Patience {
    timer: Option<Pin<Box<Sleep>>>,
    /// Whom the timer wakes.
    driver: Option<Waker>,
    /// Whether anybody counts on it.
    counts: bool,
    /// What was queued up to here will have waited for long when the timer is up.
    marked: u64,
    /// Who was queued up to here has been woken.
    woken: u64,
}

impl Patience {
    /// Sees to it that the timer runs, and wakes whom it is about when it is up. Called whenever the driver waits while
    /// answers are due.
    #[inline]
    pub(super) fn poll(&mut self, shared: &Shared, wakers: &mut Vec<Waker>, cx: &mut Context<'_>) {
        // It need not be asked while it runs, and is to wake the same task.
        let knows = self.driver.as_ref().is_some_and(|driver| driver.will_wake(cx.waker()));
        if !knows || (self.counts && self.is_over()) {
            self.ask(shared, wakers, cx);
        }
    }

    #[cold]
    fn ask(&mut self, shared: &Shared, wakers: &mut Vec<Waker>, cx: &mut Context<'_>) {
        if self.timer.is_none() {
            self.set(shared.queued());
        }
        while let Some(timer) = &mut self.timer
            && timer.as_mut().poll(cx).is_ready()
        {
            self.wake(shared, wakers);
            self.set(shared.queued());
        }
        self.driver = Some(cx.waker().clone());
        self.counts = shared.is_driven_here();
    }

    /// Whether the timer is up or was never set, while nobody waits.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.timer.as_ref().is_none_or(|timer| timer.is_elapsed())
    }

    fn set(&mut self, queued: u64) {
        let at = after(Instant::now(), PATIENCE);
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(at),
            None => self.timer = Some(Box::pin(sleep_until(at))),
        }
        self.marked = queued;
    }

    fn wake(&mut self, shared: &Shared, wakers: &mut Vec<Waker>) {
        shared.lock().slots.take_wakers(self.woken, self.marked, wakers);
        self.woken = self.marked;
        for waker in wakers.drain(..) {
            waker.wake();
        }
    }
}
