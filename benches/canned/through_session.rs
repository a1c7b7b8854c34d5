//! The client's side of a request through a session: bind, choose, send, receive, decode.

use std::net::SocketAddr;
use std::time::Duration;

use messina::config::Draft;
use messina::connection::{Limits, Opening};
use messina::protocol::ProtocolVersion;
use messina::protocol::request::{Options, Startup};
use messina::topology::{NodeInfo, NodeList, Snapshot, Strategy, Token};
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
        let host_id = Uuid::from_u128(1);
        let session = Session::over_connections(config, [(host_id, opening.accept())]);
        session.route_by(&cluster(host_id, peer), "ks", Strategy::Simple { replicas: 3 });
        let prepared = session.prepare("SELECT v FROM ks.t WHERE pk = ?").await.expect("prepared");
        Self { session, prepared }
    }

    /// One request, routed by the token of its key, its row borrowed from the answer.
    pub(crate) async fn request(&self, key: i32) {
        let result = self.session.execute(&self.prepared, (key,)).await.expect("an answer");
        for row in result.page().rows::<(&str,)>().expect("text") {
            let (value,) = row.expect("a row");
            assert_eq!(value.as_bytes(), VALUE);
        }
    }
}

/// A cluster of one node that has as many tokens as is usual.
fn cluster(host_id: Uuid, addr: SocketAddr) -> Snapshot {
    let mut node = NodeInfo::new(host_id);
    node.address = Some(addr);
    node.tokens = (0..256).map(|token| Token(token << 55)).collect();
    Snapshot::new(NodeList::new(vec![node]), None)
}
