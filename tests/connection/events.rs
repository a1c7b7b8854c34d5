//! Events on their way to the owner.

use messina::connection::{Event, Events, Limits, event_channel};
use messina::protocol::{Opcode, ProtocolVersion};

use crate::support::{PIPE, Server, open, query, response};

/// A connection with room for two events, its handle kept in a task.
fn connect(room: usize) -> (messina::connection::Connection, Events, Server) {
    let (mut opening, server) = open(ProtocolVersion::V4, Limits::default(), PIPE);
    let (sink, events) = event_channel(room);
    opening.set_events(sink);
    (opening.accept(), events, server)
}

async fn send(server: &mut Server, names: &[&str]) {
    for name in names {
        server.send(&response(4, -1, Opcode::Event, name.as_bytes())).await;
    }
}

async fn next(events: &mut Events) -> Result<String, usize> {
    match events.next().await.unwrap() {
        Event::Envelope(envelope) => Ok(String::from_utf8(envelope.body.to_vec()).unwrap()),
        Event::Missed(missed) => Err(missed),
    }
}

/// cql 5: events come on stream -1, in order, beside answers.
#[tokio::test(start_paused = true)]
async fn in_order_beside_answers() {
    let (connection, mut events, mut server) = connect(10);
    let reply = connection.try_send(&query("a")).unwrap();
    let request = server.next().await;
    send(&mut server, &["1", "2"]).await;
    server.echo(&request).await;
    assert_eq!(reply.await.unwrap().body, "a");
    assert_eq!(next(&mut events).await, Ok("1".into()));
    assert_eq!(next(&mut events).await, Ok("2".into()));
    drop(server);
    assert!(events.next().await.is_none(), "the end of the connection is told");
}

/// design 4.1: a full queue never blocks the reader; what found no room is counted, and the owner is told first.
#[tokio::test(start_paused = true)]
async fn a_full_queue_is_told() {
    let (connection, mut events, mut server) = connect(2);
    send(&mut server, &["1", "2", "3", "4", "5"]).await;
    let reply = connection.try_send(&query("a")).unwrap();
    let request = server.next().await;
    server.echo(&request).await;
    assert_eq!(reply.await.unwrap().body, "a", "the reader goes on");
    assert_eq!(next(&mut events).await, Err(3));
    assert_eq!(next(&mut events).await, Ok("1".into()));
    assert_eq!(next(&mut events).await, Ok("2".into()));
    send(&mut server, &["6"]).await;
    assert_eq!(next(&mut events).await, Ok("6".into()));
}

/// design 4.1: an owner that is gone stops nothing.
#[tokio::test(start_paused = true)]
async fn an_owner_that_is_gone() {
    let (connection, events, mut server) = connect(2);
    drop(events);
    send(&mut server, &["1", "2", "3"]).await;
    let reply = connection.try_send(&query("a")).unwrap();
    let request = server.next().await;
    server.echo(&request).await;
    assert_eq!(reply.await.unwrap().body, "a");
}
