//! The keyspace of a session: that of all its connections, those to come too.

use std::sync::Arc;
use std::time::Duration;

use messina_layers::TimedOut;
use messina_layers::error::{BoxError, chain};
use scylla_cql_core::frame::types::Consistency;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tower::ServiceExt;

use super::{Inner, Session};
use crate::config::checked_keyspace;
use crate::connection::Connection;
use crate::error::{Error, Kind, Try};
use crate::establish::use_keyspace;
use crate::protocol::request::{Query, QueryParams};
use crate::protocol::response::{Response, ResultResponse, ServerError, parse};

/// The keyspace of unqualified names.
impl Session {
    /// Makes this the keyspace of unqualified table names, on every connection and on those to come.
    ///
    /// The name is case-sensitive and stands without quotes, as at the builder's
    /// [`keyspace`](crate::SessionBuilder::keyspace). Requests that run meanwhile may meet the keyspace before or this one;
    /// those that begin afterwards meet this one. Statements that were prepared before stay in the keyspace that they were
    /// prepared in; before protocol v5 a node that has forgotten one cannot be told of it again. A connection that cannot be told is replaced. Dropping the future does not stop the change.
    ///
    /// # Errors
    /// `Kind::Server` if the keyspace does not exist, with nothing changed; `Kind::Config` for what can be no name,
    /// `Kind::NoConnection`, `Kind::Connection`, `Kind::Timeout` and `Kind::Closed` where nobody could be asked.
    pub async fn use_keyspace(&self, name: impl Into<String>) -> Result<(), Error> {
        let name = checked_keyspace(name.into())?;
        let inner = Arc::clone(&self.inner);
        // In a task, since half of the connections must not stay behind.
        let change = tokio::spawn(async move { inner.change_keyspace(&name).await });
        change.await.unwrap_or_else(|_ended| Err(Error::new(Kind::Closed, "the runtime of the session ended")))
    }

    /// The keyspace of unqualified table names, if there is one.
    #[must_use]
    pub fn keyspace(&self) -> Option<Arc<str>> {
        self.inner.keyspace()
    }
}

/// Why a connection is not in the keyspace.
enum Refused {
    /// The server says no.
    Server(ServerError),
    /// Nobody knows in which keyspace it is now.
    Lost(Kind, BoxError),
}

impl Inner {
    pub(super) fn keyspace(&self) -> Option<Arc<str>> {
        self.opener.as_ref()?.keyspace().name
    }

    async fn change_keyspace(&self, name: &Arc<str>) -> Result<(), Error> {
        let _one_at_a_time = self.keyspace_turn.lock().await;
        let limit = self.config.load().keyspace_timeout;
        self.try_keyspace(name, limit).await?;
        // From here on connections are opened in it; those that are there already are told.
        if let Some(opener) = &self.opener {
            opener.change_keyspace(Arc::clone(name));
        }
        let mut told = JoinSet::new();
        for connection in self.nodes.all().iter().flat_map(|node| node.settled_connections()) {
            let name = Arc::clone(name);
            told.spawn(async move {
                if tell(&connection, &name, limit).await.is_err() {
                    retire(&connection, limit);
                }
            });
        }
        while told.join_next().await.is_some() {}
        // Text that was prepared in the keyspace before means something else now.
        self.cache.clear();
        Ok(())
    }

    /// Asks one node after the other until one says whether there is such a keyspace.
    async fn try_keyspace(&self, name: &Arc<str>, limit: Duration) -> Result<(), Error> {
        let mut tries: Vec<Try> = Vec::new();
        let mut kind = Kind::NoConnection;
        loop {
            let tried: Vec<_> = tries.iter().map(|tried| tried.host_id).collect();
            let since = Instant::now();
            let Some((node, connection)) = self.nodes.pick(&tried, since, || None) else {
                let error = if tries.is_empty() {
                    self.no_connection()
                } else {
                    Error::new(kind, format!("nobody could be asked to use the keyspace {name:?}"))
                };
                return Err(error.with_tries(tries));
            };
            let failed = match tell(&connection, name, limit).await {
                Ok(()) => return Ok(()),
                Err(failed) => failed,
            };
            let as_try = |cause: BoxError| Try::new(node.host_id(), connection.peer(), since.elapsed(), cause);
            match failed {
                Refused::Server(error) => {
                    tries.push(as_try(error.into()));
                    return Err(
                        Error::new(Kind::Server, format!("the keyspace {name:?} cannot be used")).with_tries(tries)
                    );
                }
                Refused::Lost(why, cause) => {
                    retire(&connection, limit);
                    kind = why;
                    tries.push(as_try(cause));
                }
            }
        }
    }
}

/// The connection takes no more requests and makes room for another: nobody knows in which keyspace it is.
fn retire(connection: &Connection, limit: Duration) {
    drop(connection.close(limit));
}

/// Puts a connection into the keyspace.
async fn tell(connection: &Connection, name: &str, limit: Duration) -> Result<(), Refused> {
    let told = match timeout(limit, ask(connection, name)).await {
        Ok(told) => told,
        Err(_elapsed) => Err(Refused::Lost(Kind::Timeout, TimedOut::new(limit).into())),
    };
    if let Err(refused) = &told {
        let cause = match refused {
            Refused::Server(error) => error.to_string(),
            Refused::Lost(_, cause) => chain(&**cause).to_string(),
        };
        tracing::debug!(peer = %connection.peer(), name, cause, "not in the keyspace");
    }
    told
}

async fn ask(connection: &Connection, name: &str) -> Result<(), Refused> {
    let lost = |error: BoxError| Refused::Lost(Kind::Connection, error);
    let text = use_keyspace(name);
    let params = QueryParams { consistency: Consistency::One, ..QueryParams::default() };
    let envelope = connection.clone().oneshot(Query::new(&text, params)).await.map_err(|error| lost(error.into()))?;
    match parse(envelope, connection.dialect(), None).map_err(|error| lost(error.into()))?.response {
        Response::Result(ResultResponse::SetKeyspace(_)) => Ok(()),
        Response::Error(error) => Err(Refused::Server(error)),
        _ => Err(lost("the answer to USE is something else".into())),
    }
}
