//! Session events on their way to whoever listens: bounded, and never a silent loss.

use std::fmt;

use tokio::sync::broadcast::{self, error::RecvError};

use super::SessionEvent;

/// Events that a listener may leave unread before the oldest are lost to it.
const ROOM: usize = 256;

/// Where the parts of a session publish what happens; cheap to clone.
///
/// A session makes one of its own. To hear what happens before it is built, make one and give it to the builder:
///
/// ```no_run
/// # async fn example() -> Result<(), messina::Error> {
/// use messina::{Session, topology::EventBus};
///
/// let bus = EventBus::new();
/// let mut events = bus.subscribe();
/// tokio::spawn(async move {
///     while let Some(event) = events.next().await {
///         println!("{event}");
///     }
/// });
/// let session = Session::builder().contact_point("db.example.com").event_bus(bus).build().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct EventBus {
    sender: broadcast::Sender<SessionEvent>,
}

impl EventBus {
    /// A bus that nobody listens to yet.
    #[must_use]
    pub fn new() -> Self {
        Self { sender: broadcast::Sender::new(ROOM) }
    }

    /// Hears everything from now on.
    #[must_use]
    pub fn subscribe(&self) -> SessionEvents {
        SessionEvents { receiver: self.sender.subscribe() }
    }

    /// Tells all who listen; never waits.
    pub(crate) fn tell(&self, event: SessionEvent) {
        // Nobody listens: nothing is lost.
        let _ = self.sender.send(event);
    }
}

impl Default for EventBus {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for EventBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventBus").field("listeners", &self.sender.receiver_count()).finish()
    }
}

/// What happens to a session, in order.
///
/// At most 256 events wait to be read; the oldest make room, and the next one read is then
/// [`SessionEvent::Missed`] with their number.
pub struct SessionEvents {
    receiver: broadcast::Receiver<SessionEvent>,
}

impl SessionEvents {
    /// The next event; `None` once the session is gone. Cancel safe.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        match self.receiver.recv().await {
            Ok(event) => Some(event),
            Err(RecvError::Lagged(missed)) => Some(SessionEvent::Missed { events: missed }),
            Err(RecvError::Closed) => None,
        }
    }

    /// The next event, if one waits.
    pub fn try_next(&mut self) -> Option<SessionEvent> {
        match self.receiver.try_recv() {
            Ok(event) => Some(event),
            Err(broadcast::error::TryRecvError::Lagged(missed)) => Some(SessionEvent::Missed { events: missed }),
            Err(_) => None,
        }
    }
}

impl fmt::Debug for SessionEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionEvents").field("waiting", &self.receiver.len()).finish()
    }
}
