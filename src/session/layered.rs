//! Layers of the application's around requests.

use std::sync::{Arc, Weak};
use std::time::Duration;

use messina_layers::error::BoxError;
use tokio::time::{Instant, timeout_at};
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt, service_fn};

use super::deadline::Deadline;
use super::run::{Boxed, Owned, Running};
use super::{Inner, Request, ResultSet};
use crate::connection::after;
use crate::error::{Error, Kind};

/// What a layer around requests wraps: any number of clones may run at once.
pub type BoxRequests = BoxCloneSyncService<Request, ResultSet, BoxError>;

/// The innermost service ends a request at its deadline, with its tries; the whole only a moment later.
const GRACE: Duration = Duration::from_millis(20);

/// Puts any service behind one type.
pub(super) fn boxed<S>(service: S) -> BoxRequests
where
    S: Service<Request, Response = ResultSet> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    BoxRequests::new(service.map_err(Into::into))
}

impl Inner {
    /// From now on every request goes through the layers that `wrap` puts around the session's own execution.
    pub(super) fn put_around(self: &Arc<Self>, wrap: &dyn Fn(BoxRequests) -> BoxRequests) {
        // The stack belongs to the session, so it must not keep the session alive.
        let session = Arc::downgrade(self);
        let innermost = BoxRequests::new(service_fn(move |request: Request| bare(session.clone(), request)));
        let _ = self.layers.set(wrap(innermost));
    }

    /// A request through the layers; its time counts from before the first of them.
    pub(super) fn layered<'a>(&'a self, layers: &BoxRequests, request: Request, deadline: Deadline) -> Boxed<'a> {
        let layers = layers.clone();
        Box::pin(async move {
            let request = request.begun(deadline);
            match timeout_at(after(deadline.at(), GRACE), layers.oneshot(request)).await {
                Ok(result) => result.map_err(from_box),
                Err(_elapsed) => Err(too_late(deadline)),
            }
        })
    }
}

async fn bare(session: Weak<Inner>, request: Request) -> Result<ResultSet, BoxError> {
    let Some(session) = session.upgrade() else {
        return Err(Error::new(Kind::Closed, "the session is closed").into());
    };
    let deadline = request.deadline();
    if let Some(deadline) = deadline.filter(|deadline| deadline.at() <= Instant::now()) {
        // Held back for all of its time: nobody waits for it any more.
        return Err(too_late(deadline).into());
    }
    Ok(Running::bare(&session, Owned::Shared(Arc::clone(request.bound())), deadline).await?)
}

fn too_late(deadline: Deadline) -> Error {
    Error::new(Kind::Timeout, format!("a layer around requests held it for {:?}", deadline.limit()))
}

/// The session's own error comes through as it was; any other is that of a layer.
fn from_box(error: BoxError) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => *error,
        Err(error) => Error::new(Kind::Layer, "a layer around requests refused")
            .with_source(Arc::<dyn std::error::Error + Send + Sync>::from(error)),
    }
}
