//! The client's side of a request: bind, send, receive, decode.

use std::time::Duration;

use messina::connection::{Connection, Limits, Opening};
use messina::protocol::request::{Execute, Options, Prepare, QueryParams, Startup};
use messina::protocol::response::{Prepared, Response, ResultResponse, parse};
use messina::protocol::{ProtocolVersion, Values};
use tokio::io::{AsyncRead, AsyncWrite};

use super::server::VALUE;

const LIMIT: Duration = Duration::from_secs(10);

/// A connection and a statement prepared on it.
#[derive(Debug)]
pub(crate) struct Client {
    connection: Connection,
    prepared: Box<Prepared>,
}

impl Client {
    /// Opens a connection and prepares the statement.
    pub(crate) async fn open<IO>(io: IO, version: ProtocolVersion) -> Self
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let peer = std::net::SocketAddr::from(([127, 0, 0, 1], 9042));
        let mut opening = Opening::new(io, peer, ProtocolVersion::V4, Limits::default());
        opening.request(&Options, LIMIT).await.expect("supported");
        opening.negotiate(version, None);
        let startup = Startup::new();
        opening.request(&startup, LIMIT).await.expect("ready");
        let prepare = Prepare::new("SELECT v FROM ks.t WHERE pk = ?");
        let answer = opening.request(&prepare, LIMIT).await.expect("prepared");
        let answer = parse(answer, version.into(), None).expect("an answer");
        let Response::Result(ResultResponse::Prepared(prepared)) = answer.response else {
            panic!("{answer:?}");
        };
        Self { connection: opening.accept(), prepared }
    }

    /// One request: bind, send, receive, decode.
    pub(crate) async fn request(&self, key: i32) {
        let prepared = &*self.prepared;
        let values = Values::serialize(&prepared.metadata.col_specs, &(key,)).expect("values");
        let mut params = QueryParams::with_values(&values);
        params.skip_metadata = true;
        let execute = Execute { id: &prepared.id, result_metadata_id: prepared.result_metadata_id.as_deref(), params };
        let reply = self.connection.try_send(&execute).expect("room");
        let answer = reply.await.expect("an answer");
        let dialect = self.connection.dialect();
        let answer = parse(answer, dialect, Some(&prepared.result_metadata)).expect("rows");
        let Response::Result(ResultResponse::Rows(rows)) = answer.response else {
            panic!("{answer:?}");
        };
        for row in rows.typed::<(&str,)>().expect("text") {
            let (value,) = row.expect("a row");
            assert_eq!(value.as_bytes(), VALUE);
        }
    }
}
