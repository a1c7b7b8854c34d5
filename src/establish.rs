//! The one place where a CQL connection attempt is assembled.
