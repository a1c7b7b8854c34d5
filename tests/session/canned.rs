//! What only a server written by hand can answer with.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::BytesMut;
use messina::config::Draft;
use messina::connection::{Limits, Opening};
use messina::protocol::envelope::{Header, decode, flags};
use messina::protocol::{DEFAULT_MAX_BODY, Opcode, ProtocolVersion};
use messina::session::SessionBuilder;
use messina::{Session, Statement};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use uuid::Uuid;

/// A session over one v4 connection, and the other end of it.
fn session() -> (Session, DuplexStream) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let peer = SocketAddr::from(([192, 0, 2, 1], 9042));
    let connection = Opening::new(near, peer, ProtocolVersion::V4, Limits::default()).accept();
    let mut draft = Draft::default();
    draft.contact_points.push("192.0.2.1".into());
    (Session::over_connections(draft.check().unwrap(), [(Uuid::from_u128(1), connection)]), far)
}

/// surface 1: a request that asks to be traced says so, and its result has the id of the trace.
#[tokio::test(start_paused = true)]
async fn tracing() {
    let (session, mut server) = session();
    let id = Uuid::from_u128(7);
    let served = tokio::spawn(async move {
        let mut input = BytesMut::new();
        let mut asked = Vec::new();
        for traced in [true, false] {
            let request = loop {
                if let Some(request) = decode(&mut input, DEFAULT_MAX_BODY).unwrap() {
                    break request.header;
                }
                server.read_buf(&mut input).await.unwrap();
            };
            asked.push(request.flags & flags::TRACING != 0);
            let mut body = if traced { id.as_bytes().to_vec() } else { Vec::new() };
            body.extend_from_slice(&[0, 0, 0, 1]);
            let mut answer = Vec::new();
            let flags = if traced { flags::TRACING } else { 0 };
            let opcode = Opcode::Result.as_u8();
            Header { response: true, flags, opcode, length: body.len() as u32, ..request }.write(&mut answer);
            answer.extend_from_slice(&body);
            server.write_all(&answer).await.unwrap();
        }
        asked
    });
    let statement = Statement::new("INSERT").with_tracing(true);
    assert_eq!(session.execute(&statement, ()).await.unwrap().tracing_id(), Some(id));
    assert_eq!(session.execute(statement.with_tracing(false), ()).await.unwrap().tracing_id(), None);
    assert_eq!(served.await.unwrap(), [true, false]);
}

/// driver 3: the defaults that a migrating user must know.
#[test]
fn defaults() {
    let config = SessionBuilder::default().contact_point("db.example.com").check().unwrap();
    assert_eq!(config.request_timeout, Duration::from_secs(10));
    assert_eq!(config.consistency, messina::Consistency::LocalQuorum);
    assert_eq!(config.serial_consistency, messina::SerialConsistency::LocalSerial);
    assert_eq!(config.page_size, 5000);
    assert!(!config.default_idempotence);
}
