//! Layers that hold requests back: how many at a time, and how many per second.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use messina_layers::error::BoxError;
use thiserror::Error as ThisError;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};
use tower::{Layer, Service, ServiceExt};

/// A request was refused, since too many wait already.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("{waiting} requests wait already, and no more may: {what}")]
pub struct Throttled {
    waiting: usize,
    what: String,
}

/// Lets a number of requests run at a time; others wait in line, up to a limit. For
/// [`request_layer`](super::SessionBuilder::request_layer).
///
/// A request that waits counts against its own timeout, and leaves the line when it is dropped.
#[derive(Clone, Debug)]
pub struct ConcurrencyThrottle {
    permits: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    most: usize,
    queue: usize,
}

impl ConcurrencyThrottle {
    /// At most `most` requests at a time, and at most `queue` that wait. At least one runs.
    #[must_use]
    pub fn new(most: usize, queue: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self { permits: Arc::new(Semaphore::new(most)), waiting: Arc::default(), most, queue }
    }

    /// How many wait now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    async fn admit(&self) -> Result<tokio::sync::OwnedSemaphorePermit, BoxError> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let _place = Place::take(&self.waiting, self.queue)
            .map_err(|waiting| Throttled { waiting, what: format!("at most {} run at a time", self.most) })?;
        Ok(Arc::clone(&self.permits).acquire_owned().await?)
    }
}

/// Starts a number of requests per second, evenly; others wait in line, up to a limit. For
/// [`request_layer`](super::SessionBuilder::request_layer).
///
/// A request that is dropped while it waits has used its start.
#[derive(Clone, Debug)]
pub struct RateThrottle {
    next: Arc<Mutex<Option<Instant>>>,
    waiting: Arc<AtomicUsize>,
    gap: Duration,
    queue: usize,
}

impl RateThrottle {
    /// At most `per_second` requests a second, at least one, and at most `queue` that wait.
    #[must_use]
    pub fn new(per_second: u32, queue: usize) -> Self {
        let gap = Duration::from_secs(1) / per_second.max(1);
        Self { next: Arc::default(), waiting: Arc::default(), gap, queue }
    }

    async fn admit(&self) -> Result<(), BoxError> {
        let (start, _place) = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let start = next.filter(|next| *next > now).unwrap_or(now);
            let place = if start > now {
                let place = Place::take(&self.waiting, self.queue);
                let what = || format!("one starts each {:?}", self.gap);
                Some(place.map_err(|waiting| Throttled { waiting, what: what() })?)
            } else {
                None
            };
            *next = Some(start + self.gap);
            (start, place)
        };
        sleep_until(start).await;
        Ok(())
    }
}

/// A place in a line, given back when dropped.
struct Place {
    waiting: Arc<AtomicUsize>,
}

impl Place {
    fn take(waiting: &Arc<AtomicUsize>, most: usize) -> Result<Self, usize> {
        let more = |now: usize| (now < most).then_some(now + 1);
        waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, more)?;
        Ok(Self { waiting: Arc::clone(waiting) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A service whose calls are held back.
#[derive(Clone, Debug)]
pub struct Throttle<S, T> {
    inner: S,
    throttle: T,
}

macro_rules! throttle {
    ($throttle:ty) => {
        impl<S> Layer<S> for $throttle {
            type Service = Throttle<S, $throttle>;

            fn layer(&self, inner: S) -> Self::Service {
                Throttle { inner, throttle: self.clone() }
            }
        }

        /// Always ready: a call waits inside its future.
        impl<S, R> Service<R> for Throttle<S, $throttle>
        where
            S: Service<R> + Clone + Send + 'static,
            S::Future: Send,
            S::Error: Into<BoxError>,
            R: Send + 'static,
        {
            type Response = S::Response;
            type Error = BoxError;
            type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

            fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, request: R) -> Self::Future {
                let (inner, throttle) = (self.inner.clone(), self.throttle.clone());
                Box::pin(async move {
                    let _permit = throttle.admit().await?;
                    inner.oneshot(request).await.map_err(Into::into)
                })
            }
        }
    };
}

throttle!(ConcurrencyThrottle);
throttle!(RateThrottle);
