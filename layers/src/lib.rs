//! Connect layers for any protocol.
