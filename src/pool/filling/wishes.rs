//! What the pool of a node is asked to do, and looking after its connections.

use std::sync::Arc;

use super::{Event, Filling};
use crate::pool::{live::Slot, state::Standing};

impl Filling {
    /// Does what others asked for.
    pub(super) fn granted(&mut self) {
        let (wish, forced) = {
            let mut facts = self.node.facts();
            (std::mem::take(&mut facts.wish), matches!(facts.standing, Standing::ForcedDown { .. }))
        };
        if wish.now && (!forced || wish.even_forced) {
            self.backoff.reset();
            self.retry = None;
            self.opening.iter_mut().for_each(|(_, ticket)| ticket.outdated = true);
        }
        if wish.check {
            let limit = self.opener.config().heartbeat_timeout;
            for connection in self.node.connections() {
                self.checks += 1;
                self.tasks.spawn(async move {
                    connection.check(limit).await;
                    Event::Checked
                });
            }
            self.settle_checks();
        }
    }

    pub(super) fn settle_checks(&self) {
        if self.checks == 0 {
            self.node.checked();
        }
    }

    /// Notices the end of a connection, whether the peer told it or not.
    pub(super) fn watch(&mut self, slot: &Slot) {
        let connection = Arc::clone(&slot.connection);
        let (interval, limit) = (self.opener.config().heartbeat_interval, self.opener.config().heartbeat_timeout);
        self.tasks.spawn(async move {
            let error = connection.heartbeat(interval, limit).await;
            Event::Lost(connection, error)
        });
    }
}
