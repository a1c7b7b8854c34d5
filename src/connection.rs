//! A live, multiplexed CQL connection.
