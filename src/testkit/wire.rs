//! The server's side of the protocol: requests are read, answers are written.

pub(super) mod framing;
mod read;
pub(super) mod request;
pub(super) mod response;

pub(super) use framing::Framing;
pub(super) use request::{ClientRequest, Params};
