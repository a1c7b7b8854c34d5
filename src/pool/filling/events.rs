//! What becomes of a connect that ended, and of a connection that was lost.

use std::{sync::Arc, time::Duration};

use messina_layers::{Class, ConnectError, HostAddr};
use tokio::{task::Id, time::Instant};

use super::{Event, Filling, Shape, Ticket};
use crate::{
    config::Config,
    connection::{Connection, ConnectionError, after},
    endpoint::Endpoint,
    establish::reason,
    pool::{
        live::Slot,
        open::{How, Opened},
        state::Standing,
    },
    protocol::{ShardInfo, is_scylla},
};

/// How long a shard-aware port is not used after a connection through it reached another shard, or only the other port
/// answered.
const BLOCKED: Duration = Duration::from_secs(300);

impl Filling {
    pub(super) fn on(&mut self, id: Id, event: Event) {
        match event {
            Event::Checked => {
                self.checks = self.checks.saturating_sub(1);
                self.settle_checks();
            }
            Event::Lost(connection, error) => self.lost(&connection, &error),
            Event::Opened(result) => {
                let Some(place) = self.opening.iter().position(|(task, _)| *task == id) else { return };
                let (_, ticket) = self.opening.swap_remove(place);
                // A connect to where the node was says nothing of where it is.
                if ticket.epoch == self.node.facts().epoch {
                    match *result {
                        Ok(opened) => self.opened(ticket, opened),
                        Err(error) => self.failed(ticket, error),
                    }
                }
                self.nodes.tell();
            }
        }
    }

    fn opened(&mut self, ticket: Ticket, opened: Opened) {
        let Opened { accepted, how } = opened;
        let via = how == How::Via;
        let shard = ShardInfo::read(&accepted.supported);
        self.learn_shards(ticket, shard, how);
        accepted.connection.observe(self.node.metrics().connection());
        // What was wrong with it may be said again, should it come back.
        self.opener.config().said.forget_all(&format!("{} ", self.node.host_id()));
        let connection = Arc::new(accepted.connection);
        let slot = Slot { connection, shard, via, epoch: ticket.epoch, opened: Instant::now() };
        self.node.facts().scylla = Some(is_scylla(&accepted.supported));
        if via {
            // Its own address is tried again and again.
            self.hold_off_briefly();
        } else {
            self.node.facts().way = None;
            self.is_home();
            if let How::Own(addr) | How::NotAtPort(addr) = how {
                self.pin(ticket.epoch, addr);
            }
        }
        if self.place(slot, ticket.keyspace) {
            self.node.succeeded(via);
        } else {
            tracing::debug!(host_id = %self.node.host_id(), "the session's keyspace changed while it was opened");
            self.node.opening_again();
        }
    }

    /// Puts a connection where it is needed: into service, aside, or nowhere. False if it is in a keyspace that is the
    /// session's no more: another one is opened then.
    fn place(&mut self, slot: Slot, keyspace: u64) -> bool {
        let config = self.opener.config();
        let pool = &config.pool;
        let size = if self.node.is_local() { pool.local_size } else { pool.remote_size };
        let shape = Shape::new(size, self.shard.map(|info| info.sharding), slot.epoch);
        let counts = shape.counts(&self.node.live().slots);
        let full = match shape.group(&slot) {
            Some(group) => shape.is_full(&counts, group),
            // One that only stands in is of no use beside a better one.
            None => counts.any_good(),
        };
        if !full {
            let first = !self.node.is_connected();
            let mut fresh = true;
            let placed = self.node.change(|slots| {
                // Looked at here, so that a change of the keyspace either finds the connection or is seen now.
                fresh = self.opener.keyspace().change == keyspace;
                slots.extend(fresh.then(|| slot.clone()));
            });
            if !placed || !fresh {
                return fresh;
            }
            self.watch(&slot);
            self.node.facts().standing = Standing::Up;
            if first {
                self.nodes.up(self.node.host_id());
            }
            return true;
        }
        if !shape.is_sharded() || shape.missing(&counts).is_none() {
            return true;
        }
        let mut facts = self.node.facts();
        if facts.aside.len() < shape.most_aside() {
            facts.aside.push(slot);
            return true;
        }
        facts.aside.clear();
        drop(facts);
        tracing::debug!(
            host_id = %self.node.host_id(),
            "some shards were not reached by {} connections in a row", shape.most_aside()
        );
        self.hold_off();
        true
    }

    /// Takes over what a connection told of the node's shards.
    fn learn_shards(&mut self, ticket: Ticket, shard: Option<ShardInfo>, how: How) {
        let host_id = self.node.host_id();
        let reached = shard.map(|info| info.shard);
        match (how, ticket.shard) {
            (How::AtPort, Some(wanted)) if reached != Some(wanted) => {
                if self.opener.config().said.first(format!("shard port of {host_id}")) {
                    tracing::warn!(
                        %host_id, wanted, ?reached,
                        "the shard-aware port led to another shard, as behind a port translation; it is tried again after \
                         {BLOCKED:?}, and this is not said again"
                    );
                }
                self.blocked = Some(Instant::now() + BLOCKED);
            }
            (How::NotAtPort(_), _) => {
                if self.opener.config().said.first(format!("shard port of {host_id}")) {
                    tracing::warn!(
                        %host_id,
                        "the shard-aware port does not serve; it is tried again after {BLOCKED:?}, and this is not said again"
                    );
                }
                self.blocked = Some(Instant::now() + BLOCKED);
            }
            _ => {}
        }
        let before = self.shard.map(|info| info.sharding);
        self.shard = shard;
        if before.is_some() && before != shard.map(|info| info.sharding) && self.node.is_connected() {
            tracing::info!(%host_id, shards = shard.map(|info| info.sharding.shards()), "the node's shards changed");
            // Two that contradict each other must not chase each other away.
            self.hold_off();
        }
    }

    /// Holds the node to the address that its name led to.
    fn pin(&mut self, epoch: u64, addr: HostAddr) {
        let named = match self.node.endpoint().target() {
            Endpoint::Direct(address) => address.name().is_some(),
            // Proxies and routes are expanded afresh at every connect.
            _ => false,
        };
        if named && let Some(before) = self.node.pin(epoch, addr) {
            self.nodes.pinned(self.node.host_id(), before, addr);
        }
    }

    fn failed(&mut self, ticket: Ticket, error: Arc<ConnectError>) {
        self.node.metrics().connect_failed(error.class() == Class::Auth);
        let connected = self.node.is_connected();
        let forced = tell(&self.node, &error, &self.opener.config()) && !connected;
        let mut facts = self.node.facts();
        let was_down = matches!(facts.standing, Standing::Down | Standing::ForcedDown { .. });
        if forced {
            let until = after(Instant::now(), self.opener.config().pool.max_delay);
            facts.standing = Standing::ForcedDown { reason: Arc::clone(&error), until };
            self.retry = Some(until);
        } else if !connected {
            facts.standing = Standing::Down;
        }
        drop(facts);
        match self.node.via() {
            // What was dialled before the node came up says nothing of it now.
            _ if ticket.outdated && !forced => {}
            Some(_) => self.hold_off_briefly(),
            None => self.hold_off(),
        }
        self.node.failed(error);
        if !connected && !was_down {
            self.nodes.down(self.node.host_id());
        }
    }

    fn lost(&mut self, connection: &Arc<Connection>, error: &ConnectionError) {
        tracing::debug!(host_id = %self.node.host_id(), %error, "connection lost");
        let opened = self.node.live().slots.iter().find(|slot| slot.is(connection)).map(|slot| slot.opened);
        // It was taken out of service before it ended.
        let Some(opened) = opened else { return };
        self.node.change(|slots| slots.retain(|slot| !slot.is(connection)));
        // Those in flight on one that takes no more may still be answered.
        self.nodes.drain(self.node.host_id(), connection, None);
        let last = !self.node.is_connected();
        // One that served for a while says nothing against the next; one that did not may mean a storm.
        if opened.elapsed() >= self.opener.config().pool.base_delay {
            if last {
                self.backoff.reset();
                self.retry = None;
                self.node.opening_again();
            }
        } else {
            self.node.settled();
            self.hold_off();
        }
        // Several may have ended at the same moment: that is told once.
        let was = last.then(|| std::mem::replace(&mut self.node.facts().standing, Standing::Down));
        if matches!(was, Some(Standing::Up)) {
            self.nodes.down(self.node.host_id());
        }
        self.nodes.tell();
    }
}

/// Says what an operator has to know of a failed connect; answers whether the node is down until that changes.
///
/// A server of another cluster or version will not be another one in a second, yet an address may get its node
/// back: such a node is asked again at the longest delay, not never.
fn tell(node: &crate::pool::Node, error: &ConnectError, config: &Config) -> bool {
    let (host_id, longest) = (node.host_id(), config.pool.max_delay);
    let first = |what: &str| config.said.first(format!("{host_id} {what}"));
    match error.class() {
        Class::Terminal | Class::ForcesDown => {
            if first("is forced down") {
                tracing::warn!(%host_id, "the node is forced down and asked again every {longest:?}: {}", error.report());
            }
            true
        }
        Class::Auth => {
            if first("refuses the login") {
                tracing::warn!(%host_id, "the node refused the login; it is tried again: {}", error.report());
            }
            false
        }
        _ => {
            let why = reason(error);
            if first(&format!("cannot be connected to: {why}")) {
                tracing::warn!(%host_id, "could not connect to the node; it is tried again: {}", error.report());
            }
            false
        }
    }
}
