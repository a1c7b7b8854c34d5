//! Keeps a panic of a user's service inside the connect: an error instead of a task that dies or hangs.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use crate::error::{BoxError, Panicked};

/// Runs `f`; a panic becomes an error.
// A value that was torn by the panic is dropped by the caller, never used again.
pub(crate) fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, Panicked> {
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
    #[derive(Debug)]
    pub struct Guarded<F> {
        #[pin]
        inner: F,
    }
}

impl<F> Guarded<F> {
    /// Wraps a future.
    pub const fn new(inner: F) -> Self {
        Self { inner }
    }
}

impl<F, T, E> Future for Guarded<F>
where
    F: Future<Output = Result<T, E>>,
    E: Into<BoxError>,
{
    type Output = Result<T, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let inner = self.project().inner;
        match guarded(|| inner.poll(cx)) {
            Ok(poll) => poll.map_err(Into::into),
            Err(panicked) => Poll::Ready(Err(panicked.into())),
        }
    }
}
