//! The steps of a CQL connect, in their order.

pub use messina_layers::Stage;

/// Turning a name into addresses.
pub const RESOLVE: Stage = Stage::RESOLVE;
/// Opening the transport.
pub const TCP: Stage = Stage::TCP;
/// The TLS handshake.
pub const TLS: Stage = Stage::TLS;
/// OPTIONS, answered by SUPPORTED.
pub const OPTIONS: Stage = Stage::new("options");
/// STARTUP, answered by READY or AUTHENTICATE.
pub const STARTUP: Stage = Stage::new("startup");
/// The login.
pub const AUTH: Stage = Stage::new("auth");
/// Reading and comparing the cluster's name.
pub const CLUSTER: Stage = Stage::new("cluster");
/// Setting the keyspace.
pub const KEYSPACE: Stage = Stage::new("keyspace");
/// Reading and checking who answered.
pub const IDENTITY: Stage = Stage::new("identity");
/// Deciding whether who answers is wanted as control node.
pub const ADOPTION: Stage = Stage::new("adoption");
/// REGISTER.
pub const REGISTER: Stage = Stage::new("register");
/// Reading the list of nodes on the first control connection.
pub const NODES: Stage = Stage::new("nodes");
