//! The control connection: the first way into the cluster, the list of its nodes, and its events.
//!
//! One task owns it, so that there is at most one: it walks a plan until somebody is adopted, serves events until the
//! connection is lost or another one is asked for, and begins again.

mod agreement;
mod careful;
mod debounce;
mod enter;
mod explain;
mod first;
mod follower;
mod handle;
mod hints;
mod live;
mod plan;
mod reach;
mod routes;
mod schema;
mod serve;
mod task;

pub use self::explain::{FallbackReason, LeftOut, PlannedEntry, ReconnectionPlan};
pub(crate) use self::{
    careful::{careful, careful_filter},
    explain::explain,
    first::First,
    follower::{Follower, Hint, Known, View, Way},
    handle::{Control, Handle, Shared},
    reach::monitor,
};
