//! Decisions that an application may take over: pure, without input or output.

mod balancing;
mod retry;
mod speculative;
mod timestamps;

pub(crate) use self::balancing::{Members, Target};
pub use self::{
    balancing::{BalancingPolicy, NodeChoice, NodeLoad},
    retry::{DefaultRetry, DowngradingRetry, FailedTry, Fallthrough, RetryCause, RetryDecision, RetryPolicy},
    speculative::{ConstantSpeculation, PercentileSpeculation, SpeculativePolicy},
    timestamps::{MonotonicTimestamps, ServerTimestamps, TimestampGenerator},
};
