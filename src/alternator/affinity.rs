//! Key route affinity: conditional writes of one partition go to one node first, so that they do not contend.
//!
//! Where `Paxos` decides a write, two nodes that coordinate writes of one partition at the same time get in each other's
//! way. The hash of the partition key therefore seeds the [`QueryPlan`](super::plan::QueryPlan); every client of every
//! language comes to the same order over the same nodes. This is no consistent hashing: one node more among ten
//! moves about nine of ten keys.

mod batch;
mod hash;
mod json;
mod key_names;

pub(super) use self::json::{Wanted, hash_of, key_name, wanted};
pub use self::{
    batch::{BatchWrite, Votes, vote},
    hash::{KeyValue, murmur},
    key_names::{EmptyName, KeyName, KeyNames, LookupError, LookupOptions},
};

/// How the server isolates writes, as `write_isolation` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteIsolation {
    /// `only_rmw_uses_lwt`: writes that read first are decided by Paxos.
    OnlyRmwUsesLwt,
    /// `always_use_lwt`: all writes are.
    AlwaysUseLwt,
    /// `forbid_rmw`: no write reads first.
    ForbidRmw,
    /// `unsafe_rmw`: none is decided by Paxos.
    UnsafeRmw,
}

/// Which writes have affinity. Reads, queries, scans, transactions and PartiQL never have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// None.
    #[default]
    None,
    /// Those that read before they write.
    Rmw,
    /// All.
    AnyWrite,
}

impl From<WriteIsolation> for Mode {
    fn from(isolation: WriteIsolation) -> Self {
        match isolation {
            WriteIsolation::OnlyRmwUsesLwt => Self::Rmw,
            WriteIsolation::AlwaysUseLwt => Self::AnyWrite,
            WriteIsolation::ForbidRmw | WriteIsolation::UnsafeRmw => Self::None,
        }
    }
}

/// `ReturnValues` of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReturnValues {
    /// `NONE`, or not set.
    #[default]
    None,
    /// `ALL_OLD`.
    AllOld,
    /// `UPDATED_OLD`.
    UpdatedOld,
    /// `ALL_NEW`.
    AllNew,
    /// `UPDATED_NEW`.
    UpdatedNew,
}

/// The kind of a write of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Write {
    /// `PutItem`.
    Put,
    /// `DeleteItem`.
    Delete,
    /// `UpdateItem`.
    Update,
}

/// What of a write decides whether it reads first. Empty texts and empty maps count as absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteFacts<'a> {
    /// `ConditionExpression`.
    pub condition_expression: Option<&'a str>,
    /// `UpdateExpression`.
    pub update_expression: Option<&'a str>,
    /// How many attributes `Expected` names.
    pub expected: usize,
    /// `ReturnValues`.
    pub return_values: ReturnValues,
    /// Whether `AttributeUpdates` has an `ADD`, or a `DELETE` with a value.
    pub updates_by_value: bool,
}

impl Mode {
    /// Whether a write has affinity.
    #[must_use]
    pub fn applies(self, write: Write, facts: &WriteFacts<'_>) -> bool {
        let given = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
        match self {
            Self::None => false,
            Self::AnyWrite => true,
            Self::Rmw if given(facts.condition_expression) || facts.expected > 0 => true,
            Self::Rmw => match write {
                Write::Put | Write::Delete => facts.return_values != ReturnValues::None,
                Write::Update => {
                    given(facts.update_expression)
                        || facts.updates_by_value
                        || matches!(
                            facts.return_values,
                            ReturnValues::AllOld | ReturnValues::UpdatedOld | ReturnValues::AllNew
                        )
                }
            },
        }
    }

    /// Whether a `BatchWriteItem` has affinity, given that one of its writes has a usable key.
    #[must_use]
    pub const fn applies_to_batch(self) -> bool {
        matches!(self, Self::AnyWrite)
    }
}
