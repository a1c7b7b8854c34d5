//! Connections out of service, until what is in flight on them is answered.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::task::JoinSet;
use uuid::Uuid;

use crate::connection::{Closed, Connection};

/// Those that are still there; dropping it gives up waiting for them, and they end when nobody waits on them.
#[derive(Debug, Default)]
pub(super) struct Draining {
    list: Arc<Mutex<List>>,
}

#[derive(Debug, Default)]
struct List {
    connections: Vec<Arc<Connection>>,
    tasks: JoinSet<()>,
}

fn lock(list: &Mutex<List>) -> MutexGuard<'_, List> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Draining {
    /// Waits for the end of a connection, which comes at the limit at the latest; without one, when nobody waits.
    pub(super) fn add(&self, host_id: Uuid, connection: &Arc<Connection>, limit: Option<Duration>) {
        let closing = limit.map(|limit| connection.close(limit));
        if connection.in_flight() == 0 {
            return;
        }
        let weak = Arc::downgrade(&self.list);
        let watched = Arc::downgrade(connection);
        let ended = connection.closed();
        let mut list = lock(&self.list);
        while list.tasks.try_join_next().is_some() {}
        list.connections.push(Arc::clone(connection));
        list.tasks.spawn(async move {
            match closing {
                Some(closing) => tell(host_id, &closing.await),
                None => drop(ended.await),
            }
            forget(&weak, &watched);
        });
    }

    /// Gives all of them, to be closed by somebody else.
    pub(super) fn take(&self) -> Vec<Arc<Connection>> {
        let mut list = lock(&self.list);
        list.tasks.abort_all();
        std::mem::take(&mut list.connections)
    }
}

fn forget(list: &Weak<Mutex<List>>, connection: &Weak<Connection>) {
    if let Some(list) = list.upgrade() {
        lock(&list).connections.retain(|one| Arc::as_ptr(one) != connection.as_ptr());
    }
}

fn tell(host_id: Uuid, closed: &Closed) {
    if closed.cut > 0 {
        tracing::warn!(
            %host_id, peer.addr = %closed.error.peer(), cut = closed.cut,
            "a connection was closed with requests in flight, whose time was up"
        );
    }
}
