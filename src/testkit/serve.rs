//! One connection, from the server's side.

use std::pin::pin;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Push;
use super::bare::GARBAGE;
use super::fault::Fault;
use super::log::{Ended, EventKind, Recorder};
use super::node::{Arrival, Live, State};
use super::wire::Framing;
use crate::protocol::{Compression, Dialect, Opcode};
use reply::Flow;
use stream::Stream;

mod handshake;
mod init;
mod link;
mod reply;
mod request;
mod schema;
mod statement;
mod stream;
mod system;

/// A connection and what it agreed on.
struct Connection {
    node: Live,
    stream: Stream,
    recorder: Recorder,
    framing: Framing,
    /// How bodies are compressed, in v3 and v4.
    compression: Option<Compression>,
    phase: Phase,
    /// What STARTUP agreed on.
    dialect: Option<Dialect>,
    shard: u16,
    /// Whether initialisation is over for the count of overlapping logins.
    settled: bool,
    events: mpsc::UnboundedSender<Push>,
    /// Answers that wait for their time.
    late: JoinSet<Vec<u8>>,
}

/// How far the login is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Authenticating,
    Ready,
}

/// Serves a connection until it ends, or the node's life does.
pub(super) async fn serve(node: Live, arrival: Arrival) {
    let Ok(client) = arrival.io.peer_addr() else { return };
    let mut life = node.life.subscribe();
    let epoch = life.borrow().epoch;
    let (events, pushed) = mpsc::unbounded_channel();
    let mut connection = Connection {
        stream: Stream::new(arrival.io),
        recorder: node.cluster.log.opened(node.addr(), client),
        framing: Framing::default(),
        compression: None,
        phase: Phase::New,
        dialect: None,
        shard: arrival.shard,
        settled: false,
        events,
        late: JoinSet::new(),
        node,
    };
    let ended = {
        let mut run = pin!(connection.run(arrival.fault, pushed));
        loop {
            let now = *life.borrow_and_update();
            if now.epoch != epoch || now.state == State::Killed {
                break Ended::Reset;
            }
            // A frozen node is one whose connections are not polled.
            tokio::select! {
                changed = life.changed() => if changed.is_err() { break Ended::ByServer },
                ended = &mut run, if now.state == State::Running => break ended,
            }
        }
    };
    let Connection { node, stream, mut recorder, .. } = connection;
    if ended == Ended::Reset {
        stream.reset_on_drop();
    }
    drop(stream);
    recorder.end(ended);
    drop(node);
}

impl Connection {
    async fn run(&mut self, fault: Option<Fault>, mut pushed: mpsc::UnboundedReceiver<Push>) -> Ended {
        if let Some(fault) = fault
            && let Some(ended) = self.tcp_fault(fault).await
        {
            return ended;
        }
        if let Some(tls) = self.node.facts().tls
            && let Some(ended) = self.tls(&tls).await
        {
            return ended;
        }
        loop {
            if self.framing.is_hello(&self.stream.received) {
                self.recorder.note(EventKind::Refused("a TLS hello".into()));
                let bytes = self.version_error(self.stream.received[0], 5);
                self.stream.send(&bytes);
                return self.close().await;
            }
            loop {
                match self.framing.next(&mut self.stream.received) {
                    Ok(None) => break,
                    Ok(Some(envelope)) => match self.handle(envelope) {
                        Flow::Go => {}
                        Flow::Close => return self.close().await,
                        Flow::Reset => return Ended::Reset,
                    },
                    Err(error) => {
                        self.damaged(&error);
                        return self.close().await;
                    }
                }
            }
            tokio::select! {
                transferred = self.stream.transfer() => match transferred {
                    Ok(new) if new > 0 => self.record(new),
                    Ok(_) | Err(_) => return Ended::ByClient,
                },
                Some(push) = pushed.recv() => self.push(&push),
                Some(Ok(bytes)) = self.late.join_next() => self.stream.send(&bytes),
            }
        }
    }

    /// Notes the bytes that came last.
    fn record(&self, new: usize) {
        let start = self.stream.received.len() - new;
        self.recorder.received(&self.stream.received[start..]);
    }

    /// Sends what waits, then closes in good order.
    async fn close(&mut self) -> Ended {
        // The client may be gone already.
        let _ = self.stream.finish().await;
        Ended::ByServer
    }

    fn push(&mut self, push: &Push) {
        let body = push.body();
        let version = self.dialect.map_or(4, |dialect| dialect.version.as_u8());
        let bytes = self.seal(version, 0, -1, Opcode::Event.as_u8(), body);
        self.stream.send(&bytes);
    }
}
