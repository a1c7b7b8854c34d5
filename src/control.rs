//! The control connection: the first way into the cluster, the list of its nodes, and its events.

mod first;
mod follower;
mod keeping;
mod reach;
mod routes;
#[expect(dead_code, reason = "for the schema that follows the control connection")]
mod schema;

pub(crate) use self::{
    first::First,
    follower::{Follower, Hint, Known, View, Way},
    keeping::{Control, Shared},
    reach::monitor,
};
