//! One node of a cluster.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::fault::{Rule, Script, Stage};
use super::log::{ConnectionLog, NotSeen};
use super::{NodeFacts, Push};

mod inner;

pub(super) use inner::{Arrival, Entrance, Inner, Live, State, lock, refused};

/// A node: its faults, its facts, its life. A clone is the same node.
#[derive(Clone, Debug)]
pub struct Node {
    pub(super) inner: Arc<Inner>,
}

impl Node {
    /// The index within the cluster.
    pub fn index(&self) -> usize {
        self.inner.index
    }

    /// The address to dial.
    pub fn addr(&self) -> SocketAddr {
        self.inner.addr()
    }

    /// The host id that it tells, if it tells one.
    pub fn host_id(&self) -> Option<uuid::Uuid> {
        self.inner.facts().host_id
    }

    // ===== Faults =====

    /// Puts one fault in place of those of the stage, from the next request on.
    ///
    /// On loopback, a lasting [`Fault::Refuse`](super::Fault::Refuse) or
    /// [`Fault::Silence`](super::Fault::Silence) at [`Stage::Tcp`] closes the
    /// port or fills its queue; one that is limited or delayed strikes after the dial was accepted,
    /// as a reset or as a connection that is never answered.
    pub fn fault(&self, stage: Stage, fault: impl Into<Rule>) {
        self.inner.script().set(stage, fault.into());
        self.inner.apply_door();
    }

    /// Puts a whole script in place of all faults.
    pub fn script(&self, script: Script) {
        *self.inner.script() = script;
        self.inner.apply_door();
    }

    /// Takes the faults of a stage away.
    pub fn clear_fault(&self, stage: Stage) {
        self.inner.script().clear(stage);
        self.inner.apply_door();
    }

    /// Takes all faults away.
    pub fn clear_faults(&self) {
        self.script(Script::new());
    }

    // ===== Facts =====

    /// Changes what the node says about itself.
    pub fn set(&self, change: impl FnOnce(&mut NodeFacts)) {
        change(&mut self.inner.facts_mut());
    }

    /// Gives every new connection at the ordinary port this shard, in place of one after the other.
    pub fn fix_shard(&self, shard: Option<u16>) {
        self.inner.fix_shard(shard);
    }

    /// Forgets every prepared statement: the next EXECUTE is answered UNPREPARED.
    pub fn forget_prepared(&self) {
        self.inner.prepared().clear();
    }

    /// Sends an event; says how many connections were registered for it.
    pub fn push(&self, event: &Push) -> usize {
        self.inner.push(event)
    }

    // ===== Life =====

    /// Kills the node: dials are refused, every connection is reset. Done when all are closed.
    pub async fn kill(&self) {
        self.inner.life.send_modify(|life| {
            life.state = State::Killed;
            life.epoch += 1;
        });
        self.inner.apply_door();
        let mut live = self.inner.live.subscribe();
        // The sender lives as long as `self`.
        let _ = live.wait_for(|live| *live == 0).await;
    }

    /// Resets every connection, as after a blip of the network; dials go on being accepted.
    pub fn reset_connections(&self) {
        self.inner.life.send_modify(|life| life.epoch += 1);
    }

    /// Starts a killed node again on the same port, without its prepared statements; or lets a
    /// frozen one go on.
    pub fn start(&self) {
        let was = self.inner.enter(State::Running);
        if was == State::Killed {
            self.forget_prepared();
        }
        self.inner.apply_door();
    }

    /// Freezes the node: nothing is accepted, read or answered, and nothing is closed.
    pub fn freeze(&self) {
        self.inner.enter(State::Frozen);
    }

    // ===== What it saw =====

    /// Every connection that the node accepted, in order.
    pub fn connections(&self) -> Vec<ConnectionLog> {
        self.inner.cluster.log.now().of(self.addr()).cloned().collect()
    }

    /// How many requests of a stage the node got.
    pub fn count(&self, stage: Stage) -> usize {
        self.connections().iter().map(|connection| connection.count(stage)).sum()
    }

    /// Waits until the condition holds for the connections of this node.
    ///
    /// # Errors
    /// [`NotSeen`] when it does not hold within the limit.
    pub async fn wait_for(
        &self,
        within: Duration,
        mut condition: impl FnMut(&[&ConnectionLog]) -> bool,
    ) -> Result<(), NotSeen> {
        let addr = self.addr();
        let log = &self.inner.cluster.log;
        log.wait_for(within, |seen| condition(&seen.of(addr).collect::<Vec<_>>())).await
    }
}

impl From<Arc<Inner>> for Node {
    fn from(inner: Arc<Inner>) -> Self {
        Self { inner }
    }
}
