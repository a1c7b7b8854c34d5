//! What goes wrong at an HTTP node.

use std::time::Duration;

use super::HttpReply;

/// What a node does with a request instead of answering it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HttpFault {
    /// It reads the request and says nothing, for ever.
    Hang,
    /// It reads the request and closes.
    Close,
    /// It sends half of the head of its answer and closes.
    HalfHead,
    /// It sends the head and half of the body of its answer, and closes.
    HalfBody,
    /// It sends the head of its answer and the body never.
    NoBody,
    /// It answers this status.
    Status(u16),
    /// It answers this.
    Reply(HttpReply),
    /// It answers this status with a body that never ends.
    Endless(u16),
    /// It answers headers that never end.
    EndlessHead,
    /// It sends what is not HTTP.
    Garbage,
    /// It answers after a while.
    Slow(Duration),
}

/// Which requests a fault is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// All of them.
    All,
    /// `GET /localnodes`.
    List,
    /// All others.
    Requests,
}
