//! Parsed settings; an invalid value cannot be built.
