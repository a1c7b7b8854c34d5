//! What happens to a node's connections: what its task is asked for, and what it found.

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
};

use messina_layers::{ConnectError, HostAddr, Pinned};
use tokio::time::Instant;

use super::Node;
use crate::{
    connection::Connection,
    control::Way,
    endpoint::Endpoint,
    pool::live::{Live, Slot},
    topology::NodeInfo,
};

impl Node {
    /// Changes the list of connections, unless the node gets none any more; answers whether it was changed.
    pub(in crate::pool) fn change(&self, change: impl FnOnce(&mut Vec<Slot>)) -> bool {
        // Under the lock, so that no two changes start from the same list.
        let facts = self.facts();
        if facts.over {
            return false;
        }
        let mut slots = self.live.load().slots.clone();
        change(&mut slots);
        self.live.store(Arc::new(Live { slots }));
        drop(facts);
        true
    }

    /// Takes all connections; there will be no more.
    pub(in crate::pool) fn end(&self) -> Vec<Arc<Connection>> {
        let mut facts = self.facts();
        facts.over = true;
        let aside = std::mem::take(&mut facts.aside);
        let live = self.live.swap(Arc::default());
        self.metrics.removed();
        drop(facts);
        live.slots.iter().chain(&aside).map(|slot| Arc::clone(&slot.connection)).collect()
    }

    pub(in crate::pool) fn is_over(&self) -> bool {
        self.facts().over
    }

    /// A connect succeeded.
    pub(in crate::pool) fn succeeded(&self, keeps_error: bool) {
        if !keeps_error {
            self.last_error.store(None);
        }
        self.tried.store(true, Ordering::Release);
    }

    pub(in crate::pool) fn failed(&self, error: Arc<ConnectError>) {
        self.last_error.store(Some(error));
        self.settled();
    }

    /// Nothing is about to be connected.
    pub(in crate::pool) fn settled(&self) {
        self.tried.store(true, Ordering::Release);
    }

    /// Its last connection was lost, and is about to be opened again.
    pub(in crate::pool) fn opening_again(&self) {
        self.tried.store(false, Ordering::Release);
    }

    /// Connects without waiting out the back-off; `even_forced` says that it may be another server by now.
    pub(in crate::pool) fn connect_now(&self, even_forced: bool) {
        let mut facts = self.facts();
        facts.wish.now = true;
        facts.wish.even_forced |= even_forced;
        drop(facts);
        self.woken.notify_one();
    }

    /// Asks every connection whether it lives.
    pub(in crate::pool) fn check(&self) {
        self.facts().wish.check = true;
        self.woken.notify_one();
    }

    /// Asks whether it lives, unless it was asked a moment ago.
    #[cold]
    pub(in crate::pool) fn suspect(&self, now: Instant) {
        if self.doubt.ask(now) {
            self.check();
        }
    }

    /// Whether it was suspected, and has not answered.
    #[inline]
    pub(in crate::pool) fn is_suspected(&self) -> bool {
        self.doubt.is_asked()
    }

    /// Every connection has answered, or has ended.
    pub(in crate::pool) fn checked(&self) {
        self.doubt.settle();
    }

    pub(in crate::pool) fn woken(&self) -> impl Future<Output = ()> + '_ {
        self.woken.notified()
    }

    /// Takes over what the cluster says now; answers whether the node is dialled in another way than before.
    pub(in crate::pool) fn learn(&self, info: &Arc<NodeInfo>, endpoint: &Endpoint, way: Option<&Way>) -> bool {
        let mut facts = self.facts();
        // Its name as it is configured or advertised: never the pin, which may come and go.
        self.metrics.called(endpoint.to_string(), info.datacenter.as_deref(), info.rack.as_deref());
        facts.info = Arc::clone(info);
        if let Some(way) = way {
            facts.way = Some(way.clone());
        }
        let moved = facts.endpoint.target() != endpoint;
        // The newest instance, even if it is equal; a pin holds as long as the endpoint is the same.
        let pin = facts.endpoint.pin().filter(|_| !moved);
        facts.endpoint = match pin {
            Some(pin) => Pinned::at(endpoint.clone(), pin),
            None => Pinned::new(endpoint.clone()),
        };
        if moved {
            facts.epoch += 1;
        }
        moved
    }

    /// Holds the node to the address that a name led to; answers the address before if that is another one.
    pub(in crate::pool) fn pin(&self, epoch: u64, addr: HostAddr) -> Option<Option<HostAddr>> {
        let mut facts = self.facts();
        let before = facts.endpoint.pin();
        if facts.epoch != epoch || before == Some(addr) {
            return None;
        }
        facts.endpoint = Pinned::at(facts.endpoint.target().clone(), addr);
        Some(before)
    }

    /// The address by which it is reached while its own fails.
    pub(in crate::pool) fn via(&self) -> Option<SocketAddr> {
        let live = self.live.load();
        let only_via = !live.slots.is_empty() && live.slots.iter().all(|slot| slot.via);
        live.slots.first().filter(|_| only_via).map(|slot| slot.connection.peer())
    }
}
