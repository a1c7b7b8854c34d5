//! Decisions that an application may take over: pure, without input or output.

mod retry;
mod speculative;
mod timestamps;

pub use self::{
    retry::{DefaultRetry, DowngradingRetry, FailedTry, Fallthrough, RetryCause, RetryDecision, RetryPolicy},
    speculative::{ConstantSpeculation, PercentileSpeculation, SpeculativePolicy},
    timestamps::{MonotonicTimestamps, ServerTimestamps, TimestampGenerator},
};
