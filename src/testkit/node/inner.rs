//! A node, as its connections see it.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::testkit::cluster::Shared;
use crate::testkit::door::{Door, Mode};
use crate::testkit::fault::{Fault, Rule, Script, Stage};
use crate::testkit::pipe::Io;
use crate::testkit::{NodeFacts, Push, serve};

/// A node, as its connections see it.
#[derive(Debug)]
pub(in crate::testkit) struct Inner {
    pub(in crate::testkit) index: usize,
    addr: Mutex<SocketAddr>,
    pub(in crate::testkit) cluster: Arc<Shared>,
    facts: Arc<Mutex<NodeFacts>>,
    script: Mutex<Script>,
    pub(in crate::testkit) life: watch::Sender<Life>,
    pub(super) live: watch::Sender<usize>,
    /// The ordinary port, then the shard-aware one; none in a network of pipes.
    doors: Vec<Door>,
    subscribers: Mutex<Vec<Subscriber>>,
    prepared: Mutex<HashMap<Vec<u8>, String>>,
    shards_given: Mutex<u16>,
    fixed_shard: Mutex<Option<u16>>,
    /// Until when the line of a stage is busy.
    lines: Mutex<BTreeMap<Stage, Instant>>,
}

/// Whether a node works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::testkit) struct Life {
    pub(in crate::testkit) state: State,
    /// Grows with each kill: connections of an earlier life end.
    pub(in crate::testkit) epoch: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::testkit) enum State {
    Running,
    Frozen,
    Killed,
}

#[derive(Debug)]
struct Subscriber {
    kinds: Vec<String>,
    sender: mpsc::UnboundedSender<Push>,
}

/// A connection that reached a node, with what the TCP stage does to it.
#[derive(Debug)]
pub(in crate::testkit) struct Arrival {
    pub(in crate::testkit) io: Io,
    pub(in crate::testkit) fault: Option<Fault>,
    pub(in crate::testkit) shard: u16,
}

/// Where connections come from.
#[derive(Debug)]
pub(in crate::testkit) enum Entrance {
    /// One of the node's doors.
    Port(usize),
    Pipes(mpsc::UnboundedReceiver<Arrival>),
}

/// A mutex whose holder never panics.
pub(in crate::testkit) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    pub(in crate::testkit) fn new(
        index: usize,
        addr: SocketAddr,
        doors: Vec<Door>,
        cluster: Arc<Shared>,
        script: Script,
    ) -> Self {
        let facts = cluster.members[index].clone();
        Self {
            index,
            addr: Mutex::new(addr),
            cluster,
            facts,
            script: Mutex::new(script),
            life: watch::Sender::new(Life { state: State::Running, epoch: 0 }),
            live: watch::Sender::new(0),
            doors,
            subscribers: Mutex::default(),
            prepared: Mutex::default(),
            shards_given: Mutex::default(),
            fixed_shard: Mutex::default(),
            lines: Mutex::default(),
        }
    }

    pub(in crate::testkit) fn addr(&self) -> SocketAddr {
        *lock(&self.addr)
    }

    /// The node is elsewhere, and says so unless it said something else before.
    pub(in crate::testkit) fn moved(&self, to: SocketAddr) {
        let from = std::mem::replace(&mut *lock(&self.addr), to);
        let mut facts = self.facts_mut();
        if facts.address == Some(from) {
            facts.address = Some(to);
        }
    }

    pub(in crate::testkit) fn facts(&self) -> NodeFacts {
        lock(&self.facts).clone()
    }

    /// Looks at the facts without a copy.
    pub(in crate::testkit) fn with<R>(&self, look: impl FnOnce(&NodeFacts) -> R) -> R {
        look(&lock(&self.facts))
    }

    pub(super) fn facts_mut(&self) -> MutexGuard<'_, NodeFacts> {
        lock(&self.facts)
    }

    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        lock(&self.script)
    }

    pub(in crate::testkit) fn strike(&self, stage: Stage) -> Option<Fault> {
        self.script().strike(stage)
    }

    pub(in crate::testkit) fn prepared(&self) -> MutexGuard<'_, HashMap<Vec<u8>, String>> {
        lock(&self.prepared)
    }

    pub(in crate::testkit) fn subscribe(&self, kinds: Vec<String>, sender: mpsc::UnboundedSender<Push>) {
        lock(&self.subscribers).push(Subscriber { kinds, sender });
    }

    /// Sends an event to those who registered for it; says to how many.
    pub(super) fn push(&self, event: &Push) -> usize {
        let mut subscribers = lock(&self.subscribers);
        subscribers.retain(|subscriber| !subscriber.sender.is_closed());
        let registered = subscribers.iter().filter(|to| to.kinds.contains(&event.kind));
        registered.filter(|to| to.sender.send(event.clone()).is_ok()).count()
    }

    /// How long something waits that joins the line of a stage now, where each takes this long.
    pub(in crate::testkit) fn stand_in_line(&self, stage: Stage, each: Duration) -> Duration {
        let now = Instant::now();
        let mut lines = lock(&self.lines);
        let busy = lines.entry(stage).or_insert(now);
        *busy = (*busy).max(now) + each;
        *busy - now
    }

    pub(super) fn fix_shard(&self, shard: Option<u16>) {
        *lock(&self.fixed_shard) = shard;
    }

    /// The shard of a new connection: one after the other, unless it is fixed.
    pub(in crate::testkit) fn next_shard(&self, shards: u16) -> u16 {
        if let Some(fixed) = *lock(&self.fixed_shard) {
            return fixed % shards;
        }
        let mut given = lock(&self.shards_given);
        let shard = *given % shards;
        *given = shard + 1;
        shard
    }

    /// Puts the node into this state; gives the state it was in.
    pub(in crate::testkit) fn enter(&self, state: State) -> State {
        let mut was = state;
        self.life.send_modify(|life| was = std::mem::replace(&mut life.state, state));
        was
    }

    pub(in crate::testkit) fn is_killed(&self) -> bool {
        self.life.borrow().state == State::Killed
    }

    /// Opens or closes the port as life and script demand.
    pub(in crate::testkit) fn apply_door(&self) {
        let lasting = self.script().current(Stage::Tcp).and_then(Rule::always).cloned();
        let mode = match lasting {
            _ if self.is_killed() => Mode::Refusing,
            Some(Fault::Refuse | Fault::Fail(_)) => Mode::Refusing,
            Some(Fault::Silence) => Mode::BlackHole,
            _ => Mode::Open,
        };
        for door in &self.doors {
            if let Err(error) = door.set(mode) {
                panic!("node {} at {} cannot be set to {mode:?}: {error}", self.index, door.addr());
            }
        }
    }

    /// Accepts until the cluster ends.
    pub(in crate::testkit) async fn accept(self: Arc<Self>, mut entrance: Entrance) {
        let mut connections = JoinSet::new();
        let mut life = self.life.subscribe();
        loop {
            // The sender lives in `self`.
            if life.wait_for(|life| life.state != State::Frozen).await.is_err() {
                return;
            }
            tokio::select! {
                arrival = self.next_arrival(&mut entrance) => {
                    let Some(arrival) = arrival else { return };
                    self.live.send_modify(|live| *live += 1);
                    connections.spawn(serve::serve(Live(self.clone()), arrival));
                }
                _ = life.changed() => {}
                Some(_) = connections.join_next() => {}
            }
        }
    }

    async fn next_arrival(&self, entrance: &mut Entrance) -> Option<Arrival> {
        match entrance {
            Entrance::Port(door) => {
                let stream = self.doors.get(*door)?.accept().await;
                let shards = self.with(|facts| facts.scylla.as_ref().map_or(1, |scylla| scylla.shards.max(1)));
                // On the shard-aware port the client chose by its own port.
                let chosen = stream.peer_addr().ok().filter(|_| *door > 0).map(|client| client.port() % shards);
                let shard = chosen.unwrap_or_else(|| self.next_shard(shards));
                Some(Arrival { io: Io::Tcp(stream), fault: self.strike(Stage::Tcp), shard })
            }
            Entrance::Pipes(pipes) => pipes.recv().await,
        }
    }
}

/// A node with one more connection, for as long as this lives.
#[derive(Debug)]
pub(in crate::testkit) struct Live(Arc<Inner>);

impl std::ops::Deref for Live {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.live.send_modify(|live| *live -= 1);
    }
}

/// An address where nobody answered.
pub(in crate::testkit) fn refused() -> io::Error {
    io::ErrorKind::ConnectionRefused.into()
}
