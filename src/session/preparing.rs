//! Telling nodes of statements before they are asked to execute them.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use messina_layers::error::chain;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use uuid::Uuid;

use super::prepared::Shared;
use super::{Inner, Prepared};
use crate::connection::Reply;
use crate::protocol::Dialect;
use crate::protocol::response::{Response, ResultResponse, parse};
use crate::topology::SessionEvent;

/// Tells nodes that come up what is prepared; ends with the session.
#[derive(Debug, Default)]
pub(super) struct Ups {
    task: OnceLock<JoinHandle<()>>,
}

impl Ups {
    /// Nodes that come up are told nothing any more.
    pub(super) fn end(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

impl Drop for Ups {
    fn drop(&mut self) {
        self.end();
    }
}

impl Inner {
    /// From now on nodes that come up are told of the statements that are kept.
    pub(super) fn follow_ups(self: &Arc<Self>) {
        let (mut events, session) = (self.topology.bus().subscribe(), Arc::downgrade(self));
        let follow = async move {
            while let Some(event) = events.next().await {
                let SessionEvent::NodeUp { host_id } = event else { continue };
                let Some(session) = session.upgrade() else { return };
                session.prepare_all_on(host_id);
            }
        };
        let _ = self.ups.task.set(tokio::spawn(follow));
    }

    /// Prepares on one node what the session keeps, beside requests.
    fn prepare_all_on(self: &Arc<Self>, host_id: Uuid) {
        let options = self.config.load().prepare;
        if options.on_up {
            let kept = self.cache.newest(options.max_statements);
            self.tell(kept.iter().map(|prepared| (host_id, Arc::clone(prepared.shared()))).collect());
        }
    }

    /// Prepares a statement on all nodes but this one, which knows it; beside requests.
    pub(super) fn prepare_elsewhere(self: &Arc<Self>, prepared: &Prepared, known_by: Uuid) {
        if self.config.load().prepare.on_all_nodes {
            let nodes = self.nodes.all();
            let others = nodes.iter().map(|node| node.host_id()).filter(|host_id| *host_id != known_by);
            self.tell(others.map(|host_id| (host_id, Arc::clone(prepared.shared()))).collect());
        }
    }

    fn tell(self: &Arc<Self>, work: Vec<(Uuid, Arc<Shared>)>) {
        if !work.is_empty() {
            tokio::spawn(tell(Arc::downgrade(self), work));
        }
    }

    /// Sends a statement to a node; `None` where that is not connected, or has no room.
    fn send_prepare(&self, host_id: Uuid, statement: &Shared) -> Option<(Reply, Dialect)> {
        let nodes = self.nodes.all();
        let place = nodes.binary_search_by_key(&host_id, |node| node.host_id()).ok()?;
        let connection = nodes[place].connection()?;
        let request = statement.prepare(self.keyspace().as_deref(), connection.dialect());
        Some((connection.try_send(&request).ok()?, connection.dialect()))
    }
}

/// Nobody waits for this: a node that was not told says so when it is asked to execute the statement.
async fn tell(session: Weak<Inner>, work: Vec<(Uuid, Arc<Shared>)>) {
    let mut running = JoinSet::new();
    for (host_id, statement) in work {
        // The session is held while something is sent, and not while an answer is waited for.
        let Some(session) = session.upgrade() else { return };
        let config = session.config.get();
        let sent = session.send_prepare(host_id, &statement);
        drop(session);
        if let Some((reply, dialect)) = sent {
            running.spawn(answered(host_id, statement, reply, dialect, config.prepare_timeout));
        }
        while running.len() >= config.prepare.max_parallelism {
            running.join_next().await;
        }
    }
    while running.join_next().await.is_some() {}
}

async fn answered(host_id: Uuid, statement: Arc<Shared>, reply: Reply, dialect: Dialect, limit: Duration) {
    let cause = match timeout(limit, reply).await {
        Ok(Ok(envelope)) => match parse(envelope, dialect, None).map(|answer| answer.response) {
            Ok(Response::Result(ResultResponse::Prepared(answer))) if answer.id == statement.id => return,
            Ok(Response::Error(error)) => error.to_string(),
            Ok(_) => "the answer is something else".to_owned(),
            Err(error) => error.to_string(),
        },
        Ok(Err(error)) => chain(&error).to_string(),
        Err(_elapsed) => format!("no answer within {limit:?}"),
    };
    tracing::debug!(%host_id, text = &*statement.text, cause, "not prepared beforehand");
}
