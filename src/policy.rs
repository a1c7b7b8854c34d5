//! Pure decisions: balancing, retry, reconnection.
