//! Takes a target, gives what the stack below gives; whatever goes wrong there is a [`ConnectError`].
//!
//! It belongs outside of a user's own layers around a whole stack: those may answer errors of any type (tower's
//! `Timeout`, a mock) and may panic. Each ends the connect with an error instead of a task that dies or hangs.

use std::{
    any::Any,
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower::util::Oneshot;
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    address::Address,
    error::{BoxError, ConnectError, Panicked},
    target::Dial,
};

/// Layers [`Guard`] around a stack with a user's layers.
#[derive(Clone, Copy, Debug, Default)]
pub struct GuardLayer(());

impl GuardLayer {
    /// The layer; it has no options.
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }
}

impl<S> Layer<S> for GuardLayer {
    type Service = Guard<S>;

    fn layer(&self, inner: S) -> Guard<S> {
        Guard { inner }
    }
}

/// Turns any error and any panic of a whole connect into a [`ConnectError`].
///
/// Always ready: a clone of the inner service is driven inside the future. A `ConnectError` passes untouched,
/// also from inside another error.
#[derive(Clone, Debug)]
pub struct Guard<S> {
    inner: S,
}

impl<S> Guard<S> {
    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Gives the service below back.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, T> Service<T> for Guard<S>
where
    S: Service<T> + Clone,
    S::Error: Into<BoxError>,
    T: Dial,
{
    type Response = S::Response;
    type Error = ConnectError;
    type Future = GuardFuture<S, T>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: T) -> GuardFuture<S, T> {
        let address = target.address();
        GuardFuture { inner: Guarded::new(Oneshot::new(self.inner.clone(), target)), address }
    }
}

pin_project! {
    /// The connect in progress; dropping it drops everything below.
    pub struct GuardFuture<S: Service<T>, T> {
        #[pin]
        inner: Guarded<Oneshot<S, T>>,
        address: Address,
    }
}

impl<S: Service<T>, T> fmt::Debug for GuardFuture<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardFuture").field("target", &self.address).finish_non_exhaustive()
    }
}

impl<S, T> Future for GuardFuture<S, T>
where
    S: Service<T>,
    S::Error: Into<BoxError>,
{
    type Output = Result<S::Response, ConnectError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let result = ready!(this.inner.poll(cx));
        Poll::Ready(result.map_err(|e| ConnectError::from_box(e, || this.address.clone())))
    }
}

/// Runs `f`; a panic becomes an error.
#[doc(hidden)]
// A value that was torn by the panic is dropped by the caller, never used again.
pub fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| Panicked(text_of(&*panic)))
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&'static str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "no message".to_owned()
    }
}

pin_project! {
    /// A future whose panic is its error.
    #[doc(hidden)]
    #[derive(Debug)]
    pub struct Guarded<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[derive(Debug)]
    #[project = StateProj]
    enum State<F> {
        Running { #[pin] inner: F },
        // The call that should have made the future panicked.
        Torn { panicked: Option<Panicked> },
    }
}

impl<F> Guarded<F> {
    /// Wraps a future.
    pub const fn new(inner: F) -> Self {
        Self { state: State::Running { inner } }
    }

    /// The future that `call` returns; a panic before it returns is the future's error.
    pub fn call(call: impl FnOnce() -> F) -> Self {
        match guarded(call) {
            Ok(inner) => Self::new(inner),
            Err(panicked) => Self { state: State::Torn { panicked: Some(panicked) } },
        }
    }
}

impl<F, T, E> Future for Guarded<F>
where
    F: Future<Output = Result<T, E>>,
    E: Into<BoxError>,
{
    type Output = Result<T, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Running { inner } => match guarded(|| inner.poll(cx)) {
                Ok(poll) => poll.map_err(Into::into),
                Err(panicked) => Poll::Ready(Err(panicked.into())),
            },
            StateProj::Torn { panicked } => match panicked.take() {
                Some(panicked) => Poll::Ready(Err(panicked.into())),
                None => panic!("polled after completion"),
            },
        }
    }
}
