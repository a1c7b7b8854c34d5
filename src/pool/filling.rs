//! The task that keeps the pool of one node full.
//!
//! ```text
//!   adjust ─▶ too few?  open more, unless the back-off says to wait
//!          ─▶ too many? drain the surplus
//!   wait for: a connect to end, a connection to be lost, the back-off, a wish
//! ```
//!
//! While the node has no connection one connect at a time probes it; the first that succeeds tells how many shards there
//! are, and the others follow.

mod events;
mod shape;
mod wishes;

use std::{sync::Arc, time::Duration};

use messina_layers::{Address, Backoff, ConnectError, Dial, LocalPorts};
use tokio::{
    task::{Id, JoinSet},
    time::{Instant, sleep_until},
};

use self::shape::{Missing, Shape};
use super::{
    Node, Nodes,
    gate::Gate,
    open::{Opened, Wanted, open},
    state::Standing,
};
use crate::{
    connection::{Connection, ConnectionError, after},
    establish::Opener,
    protocol::ShardInfo,
};

/// How long a node that is reached by the way in is expected back at its own address.
const AWAY: Duration = Duration::from_secs(120);

/// Keeps the pool of one node full until it is dropped.
pub(super) struct Filling {
    opener: Opener,
    nodes: Nodes,
    gate: Gate,
    node: Arc<Node>,
    backoff: Backoff,
    /// No connect begins before this.
    retry: Option<Instant>,
    /// Since when the node is reached by the way in alone.
    away: Option<Instant>,
    tasks: JoinSet<Event>,
    opening: Vec<(Id, Ticket)>,
    /// Connections that are asked whether they live.
    checks: usize,
    /// What the newest connection told of shards.
    shard: Option<ShardInfo>,
    /// The shard-aware port is not used before this.
    blocked: Option<Instant>,
}

/// A connect under way.
#[derive(Clone, Copy, Debug)]
struct Ticket {
    /// The shard that is wanted, where it can be chosen.
    shard: Option<u16>,
    epoch: u64,
    /// Which change of the session's keyspace it follows.
    keyspace: u64,
    /// The node is said to have come up since it began: if it fails, the next one need not wait.
    outdated: bool,
}

/// What a task ended with.
enum Event {
    Opened(Box<Result<Opened, Arc<ConnectError>>>),
    Lost(Arc<Connection>, ConnectionError),
    Checked,
}

impl Filling {
    pub(super) fn new(opener: Opener, nodes: Nodes, gate: Gate, node: Arc<Node>) -> Self {
        let config = opener.config();
        let pool = &config.pool;
        let backoff = Backoff::new(pool.base_delay, pool.max_delay);
        Self {
            opener,
            nodes,
            gate,
            node,
            backoff,
            retry: None,
            away: None,
            tasks: JoinSet::new(),
            opening: Vec::new(),
            checks: 0,
            shard: None,
            blocked: None,
        }
    }

    pub(super) async fn run(mut self) {
        let mut settings = self.opener.settings().watch();
        while !self.node.is_over() {
            self.adjust();
            let retry = self.retry;
            tokio::select! {
                Some(joined) = self.tasks.join_next_with_id() => match joined {
                    Ok((id, event)) => self.on(id, event),
                    Err(error) => self.broke(error.id()),
                },
                () = self.node.woken() => self.granted(),
                Ok(()) = settings.changed() => self.gate.look_again(),
                () = sleep_until(retry.unwrap_or_else(Instant::now)), if retry.is_some() => self.retry = None,
            }
        }
    }

    /// Brings the number of connections nearer to what it is to be.
    fn adjust(&mut self) {
        let config = self.opener.config();
        let pool = &config.pool;
        let size = if self.node.is_local() { pool.local_size } else { pool.remote_size };
        let (epoch, standing) = {
            let facts = self.node.facts();
            (facts.epoch, facts.standing.clone())
        };
        if size == 0 {
            return self.leave_alone();
        }
        if matches!(standing, Standing::Ignored) {
            self.node.facts().standing = Standing::Unknown;
        }
        let shape = Shape::new(size, self.shard.map(|info| info.sharding), epoch);
        let mut counts = shape.counts(&self.node.live().slots);
        let surplus = shape.surplus(&self.node.live().slots, &counts);
        self.drain(&surplus);
        for (_, ticket) in self.opening.iter().filter(|(_, ticket)| ticket.epoch == epoch) {
            counts.expect(ticket.shard);
        }
        let missing = shape.missing(&counts);
        // What waits aside has done its part as soon as no shard waits for it.
        let waits = !missing.is_none() && counts.any_good();
        self.node.facts().aside.retain(|slot| waits && slot.connection.is_open());
        if self.retry.is_none() {
            self.open_some(&shape, counts.any_good(), missing, epoch);
        }
        let mut facts = self.node.facts();
        facts.wanted = shape.wanted();
        facts.opening = self.opening.len();
        facts.blocked = self.blocked;
        facts.next_attempt = self.retry;
    }

    /// Begins the connects that are missing, as many as may run at a time.
    fn open_some(&mut self, shape: &Shape, any_good: bool, missing: Missing, epoch: u64) {
        let limit = self.opener.config().pool.max_connects_per_host.unwrap_or(usize::MAX);
        let under_way = self.opening.iter().filter(|(_, ticket)| ticket.epoch == epoch).count();
        let mut room = limit.saturating_sub(self.opening.len());
        if !any_good {
            // A node that may be gone is probed, not stormed.
            if under_way == 0 && room > 0 {
                self.begin(None, epoch);
            }
            return;
        }
        let port = self.shard_port();
        for shard in missing.shards(shape.is_sharded()) {
            if room == 0 {
                return;
            }
            room -= 1;
            self.begin(shard.filter(|_| port.is_some()), epoch);
        }
    }

    /// Begins a connect, to this shard where it can be chosen.
    fn begin(&mut self, shard: Option<u16>, epoch: u64) {
        let keyspace = self.opener.keyspace();
        let ticket = Ticket { shard, epoch, keyspace: keyspace.change, outdated: false };
        let port = self.shard_port();
        let ports = self.opener.config().pool.shard_ports.clone();
        let at_port = match (shard, port, self.shard) {
            (Some(shard), Some(port), Some(info)) => {
                Some((port, LocalPorts::new(ports, info.sharding.shards(), shard)))
            }
            _ => None,
        };
        let connected = self.node.is_connected();
        let facts = self.node.facts();
        let own = facts.endpoint.address();
        let way = facts.way.clone().filter(|way| !connected && own != Address::Socket(way.addr));
        let endpoint = facts.endpoint.clone();
        drop(facts);
        let wanted = Wanted { host_id: self.node.host_id(), endpoint, at_port, way, keyspace: keyspace.name };
        let (opener, gate) = (self.opener.clone(), self.gate.clone());
        let task = self.tasks.spawn(async move { Event::Opened(Box::new(open(opener, gate, wanted).await)) });
        self.opening.push((task.id(), ticket));
    }

    /// The port where the local port chooses the shard, while it may be used.
    fn shard_port(&mut self) -> Option<u16> {
        if self.blocked.is_some_and(|until| until <= Instant::now()) {
            self.blocked = None;
        }
        let config = self.opener.config();
        if !config.pool.shard_aware || self.blocked.is_some() || !self.is_direct() {
            return None;
        }
        self.shard.and_then(|info| if config.tls.is_some() { info.port_ssl } else { info.port })
    }

    /// Whether the node is dialled itself, and not through something that has other ports and addresses.
    fn is_direct(&self) -> bool {
        matches!(self.node.facts().endpoint.target(), crate::endpoint::Endpoint::Direct(_))
    }

    /// The node gets no connections, by its data centre.
    fn leave_alone(&mut self) {
        self.retry = None;
        self.tasks.abort_all();
        self.opening.clear();
        let all: Vec<_> = self.node.live().slots.iter().map(|slot| Arc::clone(&slot.connection)).collect();
        self.drain(&all);
        let mut facts = self.node.facts();
        facts.standing = Standing::Ignored;
        facts.aside.clear();
        (facts.wanted, facts.opening, facts.next_attempt) = (0, 0, None);
        drop(facts);
        self.node.settled();
        self.nodes.tell();
    }

    /// Takes these out of service; what is in flight on them may finish.
    fn drain(&self, connections: &[Arc<Connection>]) {
        if connections.is_empty() {
            return;
        }
        self.node.change(|slots| slots.retain(|slot| !connections.iter().any(|one| slot.is(one))));
        for connection in connections {
            self.nodes.drain(self.node.host_id(), connection, Some(self.opener.config().request_timeout));
        }
    }

    /// Something failed: nothing is opened before the next delay is over.
    fn hold_off(&mut self) {
        if self.retry.is_none() {
            self.retry = Some(after(Instant::now(), self.backoff.next_delay()));
        }
    }

    /// The node's own address failed while it is reached by the way in: for a while that is a move that will end, and
    /// then a network that is so.
    fn hold_off_briefly(&mut self) {
        if self.away.get_or_insert_with(Instant::now).elapsed() < AWAY {
            self.backoff.reset();
        }
        self.hold_off();
    }

    /// The node's own address answers again: what kept it away may have kept others away.
    fn is_home(&mut self) {
        if self.away.take().is_some() {
            self.nodes.all().iter().filter(|node| !node.is_connected()).for_each(|node| node.connect_now(false));
        }
    }

    /// A task panicked: whatever it was, the pool looks again.
    fn broke(&mut self, id: Id) {
        self.opening.retain(|(task, _)| *task != id);
        self.node.settled();
        self.hold_off();
        self.nodes.tell();
    }
}
