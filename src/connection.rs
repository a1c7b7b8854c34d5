//! A live, multiplexed CQL connection.
//!
//! [`Opening`] takes a stream and is driven by whoever waits on it; accepted, it becomes a [`Connection`], the handle that
//! requests are sent with, and a [`Driver`] in a task of its own, which owns the stream. Between them stands one mutex over
//! what is queued, the table of streams and the driver's waker. A [`Reply`] gives the answer as an envelope; it is decoded by
//! whoever awaits it.
//!
//! ```text
//!   try_send / call ─▶ queue ─▶ Driver ─▶ stream          Reply ◀─ slot ◀─ Driver ◀─ stream
//! ```

mod ask;
mod closing;
mod driver;
mod error;
mod events;
mod handle;
mod heartbeat;
mod limits;
mod line;
mod opening;
mod outgoing;
mod reader;
mod reply;
mod request;
mod shared;
mod slots;
mod state;
mod writer;

pub(crate) use ask::Paging;
pub(crate) use closing::after;
pub(crate) use driver::PATIENCE;

pub use crate::protocol::Compression;
pub use closing::Closed;
pub use driver::Driver;
pub use error::{ConnectionError, Delivery, Reason, ReplyError, TrySendError};
pub use events::{Event, EventSink, Events, channel as event_channel};
pub use handle::Connection;
pub use limits::{InvalidLimit, Limits};
pub use opening::{Opening, OpeningError};
pub use reply::Reply;
