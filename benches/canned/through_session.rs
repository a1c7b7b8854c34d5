//! The client's side of a request through a session: bind, choose, send, receive, decode.

use std::net::SocketAddr;
use std::time::Duration;

use messina::config::Draft;
use messina::connection::{Limits, Opening};
use messina::protocol::ProtocolVersion;
use messina::protocol::request::{Options, Startup};
use messina::{Prepared, Session};
use tokio::io::{AsyncRead, AsyncWrite};
use uuid::Uuid;

use super::server::VALUE;

const LIMIT: Duration = Duration::from_secs(10);

/// A session of one connection, and a statement that it prepared.
#[derive(Debug)]
pub(crate) struct ThroughSession {
    session: Session,
    prepared: Prepared,
}

impl ThroughSession {
    /// Opens a connection and prepares the statement.
    pub(crate) async fn open<IO>(io: IO, version: ProtocolVersion) -> Self
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let peer = SocketAddr::from(([127, 0, 0, 1], 9042));
        let mut opening = Opening::new(io, peer, ProtocolVersion::V4, Limits::default());
        opening.request(&Options, LIMIT).await.expect("supported");
        opening.negotiate(version, None);
        opening.request(&Startup::new(), LIMIT).await.expect("ready");
        let mut draft = Draft::default();
        draft.endpoints.push(peer.into());
        let config = draft.check().expect("a contact point");
        let session = Session::over_connections(config, [(Uuid::from_u128(1), opening.accept())]);
        let prepared = session.prepare("SELECT v FROM ks.t WHERE pk = ?").await.expect("prepared");
        Self { session, prepared }
    }

    /// One request, its row borrowed from the answer.
    pub(crate) async fn request(&self, key: i32) {
        let result = self.session.execute(&self.prepared, (key,)).await.expect("an answer");
        for row in result.page().rows::<(&str,)>().expect("text") {
            let (value,) = row.expect("a row");
            assert_eq!(value.as_bytes(), VALUE);
        }
    }
}
