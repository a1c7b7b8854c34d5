//! The limit of a step, as a future owns it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};

use crate::error::TimedOut;

pin_project! {
    /// Counts from the first time the step has to wait, so one that answers at once makes no timer.
    pub(crate) struct Limit {
        #[pin]
        sleep: Option<Sleep>,
        limit: Option<Duration>,
        // By how much the deadline was moved.
        excused: Duration,
    }
}

impl Limit {
    /// `None` is no limit.
    pub(crate) const fn new(limit: Option<Duration>) -> Self {
        Self { sleep: None, limit, excused: Duration::ZERO }
    }

    /// Ready when the step, which is waiting, has taken too long.
    pub(crate) fn poll_over(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<TimedOut> {
        self.poll_over_but(cx, || Duration::ZERO)
    }

    /// The same, where some of the time (all in all, as told by `excused`) does not count.
    pub(crate) fn poll_over_but(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        excused: impl Fn() -> Duration,
    ) -> Poll<TimedOut> {
        let mut this = self.project();
        let Some(limit) = *this.limit else { return Poll::Pending };
        if this.sleep.is_none() {
            this.sleep.set(Some(sleep(limit)));
        }
        while let Some(mut sleep) = this.sleep.as_mut().as_pin_mut() {
            ready!(sleep.as_mut().poll(cx));
            let excused = excused();
            if excused <= *this.excused {
                break;
            }
            let deadline = sleep.deadline() + (excused - *this.excused);
            *this.excused = excused;
            sleep.reset(deadline);
        }
        Poll::Ready(TimedOut::new(limit))
    }
}
