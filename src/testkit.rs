//! An in-process CQL cluster, a DNS server and a fault script, for tests.
