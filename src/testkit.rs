//! An in-process CQL cluster, a DNS server and a fault script, for tests.
//!
//! Everything here is real on the wire and lives inside the test process: a [`Cluster`] of nodes
//! that speak CQL v3 to v5 over loopback sockets or over pipes ([`Network`]), addresses that are
//! dead in every way an address can be ([`BareAddress`]), and a [`DnsServer`] whose records change
//! while it runs. What goes wrong is a value ([`Fault`], at a [`Stage`]), so it goes wrong the same
//! way in every run; what happened is in a [`Log`], which is waited for, not polled.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use messina::testkit::{BareAddress, Cluster, DnsServer, Fault, Stage, rows};
//!
//! // Two nodes on addresses of their own, and beside them a dead address with the same port.
//! let cluster = Cluster::builder().nodes(2).own_addresses().start().await?;
//! let dead = BareAddress::refused()?.on_port(cluster.node(0).addr().port())?;
//! let dns = DnsServer::start().await?;
//! dns.set("db.test", [dead.addr().ip(), cluster.node(0).addr().ip()]);
//!
//! cluster.prime("SELECT now FROM ks.clock", rows!["now text"; ("noon",)]);
//! cluster.node(1).fault(Stage::Options, Fault::Delay(Duration::from_millis(20)));
//! // .. connect a session by the name `db.test`, with `dns.addr()` as its resolver's server ..
//! # Ok(())
//! # }
//! ```

mod answer;
mod bare;
mod builder;
mod cluster;
mod connector;
mod dns;
mod door;
mod facts;
mod fault;
#[cfg(feature = "alternator")]
pub mod http;
mod log;
mod names;
mod network;
mod node;
mod pipe;
mod prime;
mod push;
mod routes;
mod rows;
mod serve;
mod sni_proxy;
mod tls;
mod types;
mod wire;

#[doc(inline)]
pub use crate::__testkit_rows as rows;
pub use answer::Answer;
pub use bare::BareAddress;
pub use builder::ClusterBuilder;
pub use cluster::Cluster;
pub use connector::{PipeConnecting, PipeConnector};
pub use dns::{DnsAnswer, DnsKind, DnsServer};
pub use door::fresh_loopback_ip;
pub use facts::{NodeFacts, Scylla};
pub use fault::{Fault, Rule, Script, Stage, Wrong};
pub use log::{ConnectionLog, Ended, Event, EventKind, Log, NotSeen, Snapshot};
pub use names::{NameAnswer, Names};
pub use network::Network;
pub use node::Node;
pub use pipe::Pipe;
pub use prime::{Prime, Request};
pub use push::Push;
pub use routes::ClientRoute;
pub use rows::Rows;
pub use sni_proxy::{Hello, SniProxy};
pub use tls::{ServerTls, TestCa};
