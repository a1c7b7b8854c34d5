//! Events on their way to the owner of a connection: bounded, and never a silent loss.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::protocol::Envelope;

/// Makes both ends of a queue for at most `capacity` events (at least one).
pub fn channel(capacity: usize) -> (EventSink, Events) {
    let (sender, receiver) = mpsc::channel(capacity.max(1));
    let missed = Arc::new(AtomicUsize::new(0));
    let sink = EventSink { sender, missed: Arc::clone(&missed) };
    (sink, Events { receiver, missed })
}

/// Where a connection puts the events of its server; never blocks the reader.
#[derive(Clone)]
pub struct EventSink {
    sender: mpsc::Sender<Envelope>,
    missed: Arc<AtomicUsize>,
}

/// The owner's end: events in order, and word of those that found no room.
#[derive(Debug)]
pub struct Events {
    receiver: mpsc::Receiver<Envelope>,
    missed: Arc<AtomicUsize>,
}

/// What comes out of [`Events`].
#[derive(Debug)]
pub enum Event {
    /// An event as it came, its body not compressed.
    Envelope(Envelope),
    /// This many were dropped because the queue was full: what they told is known only after a full refresh.
    Missed(usize),
}

// ===== impl EventSink =====

impl EventSink {
    /// Puts an event into the queue, or counts it as missed.
    pub(super) fn send(&self, event: Envelope) {
        match self.sender.try_send(event) {
            // Without an owner nobody is to be told.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(_)) => self.miss(),
        }
    }

    /// Counts an event as missed.
    pub(super) fn miss(&self) {
        if self.missed.fetch_add(1, Ordering::AcqRel) == 0 {
            tracing::debug!("event missed, a full refresh is due");
        }
    }
}

impl fmt::Debug for EventSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSink").field("room", &self.sender.capacity()).finish()
    }
}

// ===== impl Events =====

impl Events {
    /// The next event; `None` once every sink is gone and the queue is empty.
    ///
    /// Missed events are told before what is still queued. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        // Only a full queue misses events, so whoever drains it comes by here again.
        if let Some(missed) = self.take_missed() {
            return Some(missed);
        }
        match self.receiver.recv().await {
            Some(event) => Some(Event::Envelope(event)),
            None => self.take_missed(),
        }
    }

    fn take_missed(&self) -> Option<Event> {
        match self.missed.swap(0, Ordering::AcqRel) {
            0 => None,
            missed => Some(Event::Missed(missed)),
        }
    }
}
