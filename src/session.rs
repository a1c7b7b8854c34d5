//! The session: statements in, rows out.
