//! The CQL native protocol as bytes: no tokio, no sockets.
