//! Serving events on a control connection that is up.

use std::{future::ready, sync::Arc, time::Duration};

use messina_layers::error::{BoxError, chain};

use super::{
    Follower, Hint,
    debounce::Debouncer,
    handle::{Command, Reply},
    hints::{Meaning, meaning},
    live::{Gone, Live},
    task::Task,
};
use crate::{connection::Event as Arrived, protocol::response::Event, topology::Verdict};

/// When the node list was not believed, it is read again after this time.
const KEPT_AGAIN: Duration = Duration::from_secs(10);

/// Why a control connection is not served any longer.
pub(super) enum End {
    /// It is lost, or of no use.
    Lost,
    /// The node at its other end is not part of the cluster any more.
    Removed,
    /// Another one was asked for.
    Asked(Reply),
    /// The owner is gone.
    Over,
}

/// What waits to be done on a control connection.
#[derive(Default)]
pub(super) struct Work {
    debouncer: Debouncer,
    gone: Gone,
    /// Events whose meaning the topology monitor reads itself.
    reads: Vec<Event>,
    control_node_removed: bool,
    /// Whether events were missed since the last read, or could not be read.
    missed: bool,
}

impl<F: Follower> Task<F> {
    /// Serves events until the connection is lost, or has to make room for another one.
    pub(super) async fn serve(&mut self, live: &mut Live) -> End {
        let connection = live.connection().clone();
        let config = self.opener.config();
        let mut closed = std::pin::pin!(connection.heartbeat(config.heartbeat_interval, config.heartbeat_timeout));
        let mut work = std::mem::take(&mut self.work);
        if std::mem::take(&mut self.kept) {
            work.debouncer.again_after(KEPT_AGAIN);
        }
        let reread = self.shared.monitor.reread_after(&live.accepted.events);
        loop {
            if let Some(interval) = reread {
                work.debouncer.again_after(interval);
            }
            let config = self.opener.config();
            let refresh = tokio::select! {
                biased;
                error = &mut closed => {
                    tracing::debug!(%error, "control connection lost");
                    return End::Lost;
                }
                command = self.commands.recv() => match command {
                    Some(Command::Refresh(reply)) => {
                        self.waiting.push(reply);
                        true
                    }
                    Some(Command::Reconnect(reply)) => {
                        // Should nobody else be found, it goes on from here.
                        self.work = work;
                        return End::Asked(reply);
                    }
                    None => return End::Over,
                },
                event = live.events.next() => match event {
                    Some(event) => {
                        self.take_event(event, live, &mut work);
                        work.debouncer.is_full(config.debounce)
                    }
                    None => return End::Lost,
                },
                () = work.debouncer.due() => true,
            };
            if std::mem::take(&mut work.control_node_removed) {
                self.work = work;
                return End::Removed;
            }
            let done = if refresh {
                self.refresh(live, &mut work).await
            } else if !work.reads.is_empty() {
                self.read_events(live, &mut work).await
            } else {
                continue;
            };
            if let Err(error) = done {
                tracing::warn!(error = %chain(&*error), "the node list could not be read");
                self.fail_waiting(&Arc::from(error));
                return End::Lost;
            }
            if self.shared.topology.load().is_ignored(live.host_id()) {
                return End::Removed;
            }
        }
    }

    /// Notes what an event means.
    fn take_event(&mut self, event: Arrived, live: &Live, work: &mut Work) {
        let debounce = self.opener.config().debounce;
        let follower = &self.follower;
        match meaning(event, live.connection(), &*self.shared.monitor, || follower.known()) {
            Meaning::Nothing => {}
            Meaning::Hint(hint) => self.follower.hint(hint),
            Meaning::Refresh => work.debouncer.note(debounce),
            Meaning::HintAndRefresh(hint) => {
                self.follower.hint(hint);
                work.debouncer.note(debounce);
            }
            Meaning::Removed(addr) => {
                work.gone.note(addr);
                work.control_node_removed |= live.is_at(addr);
                work.debouncer.note(debounce);
            }
            Meaning::Read(event) => work.reads.push(event),
            Meaning::Schema(keyspace) => self.shared.schema.note(Some(keyspace)),
            Meaning::Everything => {
                self.shared.schema.note(None);
                work.missed = true;
                work.debouncer.note(debounce);
            }
        }
    }

    /// Takes the events that wait already: what is read next answers them as well.
    async fn take_waiting(&mut self, live: &mut Live, work: &mut Work) {
        for _ in 0..1024 {
            let event = tokio::select! {
                biased;
                event = live.events.next() => event,
                () = ready(()) => return,
            };
            match event {
                Some(event) => self.take_event(event, live, work),
                None => return,
            }
        }
    }

    /// Reads and publishes everything.
    async fn refresh(&mut self, live: &mut Live, work: &mut Work) -> Result<(), BoxError> {
        self.take_waiting(live, work).await;
        work.debouncer.begin();
        work.reads.clear();
        let read = live.read_anew(self.opener.config().control_timeout, &self.shared).await?;
        match self.publish(live, read, &work.gone) {
            Verdict::Keep => work.debouncer.again_after(KEPT_AGAIN),
            Verdict::Use => work.gone.clear(),
        }
        // That a node is up again may have been among it. Said with the read, which is debounced, lest a flood of events
        // become one of dials.
        if std::mem::take(&mut work.missed) {
            self.follower.hint(Hint::AnyUp);
        }
        self.answer_waiting();
        Ok(())
    }

    /// Lets the topology monitor read what its events concern.
    async fn read_events(&mut self, live: &mut Live, work: &mut Work) -> Result<(), BoxError> {
        self.take_waiting(live, work).await;
        let events = std::mem::take(&mut work.reads);
        let read = live.read(self.opener.config().control_timeout, &self.shared, events).await?;
        if self.publish(live, read, &work.gone) == Verdict::Keep {
            work.debouncer.again_after(KEPT_AGAIN);
        }
        Ok(())
    }
}
