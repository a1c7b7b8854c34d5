//! A cluster of HTTP nodes that answer as ScyllaDB's Alternator does, with switches for what goes wrong.

mod fault;
mod forward;
mod node;
mod signature;
mod wire;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use fault::{HttpFault, On};
pub use node::HttpNode;
pub use wire::{HttpReply, HttpRequest};

use super::door::fresh_loopback_ip;
use super::tls::ServerTls;

/// A node as the others list it.
#[derive(Clone, Debug)]
struct Member {
    ip: IpAddr,
    data_center: String,
    rack: String,
    listed: bool,
}

/// What all nodes of a cluster share.
#[derive(Debug, Default)]
struct Shared {
    members: Mutex<Vec<Member>>,
}

impl Shared {
    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the node at `ip` answers to `/localnodes` with these filters.
    fn list(&self, ip: IpAddr, data_center: Option<&str>, rack: Option<&str>) -> Vec<IpAddr> {
        let members = self.members();
        let own = members.iter().find(|member| member.ip == ip).map(|member| member.data_center.clone());
        let wanted = data_center.map(str::to_owned).or(own).unwrap_or_default();
        let fits = |member: &&Member| {
            member.listed && member.data_center == wanted && rack.is_none_or(|rack| rack == member.rack)
        };
        members.iter().filter(fits).map(|member| member.ip).collect()
    }
}

/// HTTP nodes on loopback addresses of their own, all at one port.
///
/// Each answers `GET /` and `GET /localnodes` as the server does (nodes of its own data centre, or those that the
/// filters `dc` and `rack` choose) and `POST /` with `{}`, unless it is told otherwise. All ends when this is dropped.
///
/// ```
/// # async fn example() -> std::io::Result<()> {
/// use messina::testkit::http::{HttpCluster, HttpFault, On};
///
/// let cluster = HttpCluster::builder().nodes(2).data_center("far", "rack9", 1).start().await?;
/// cluster.node(0).fault(On::Requests, HttpFault::Status(503));
/// cluster.node(1).stop();
/// cluster.unlist(1);
/// println!("a seed: {}", cluster.url(0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct HttpCluster {
    nodes: Vec<HttpNode>,
    shared: Arc<Shared>,
}

impl HttpCluster {
    /// A cluster to be.
    pub fn builder() -> HttpClusterBuilder {
        HttpClusterBuilder::default()
    }

    /// That many nodes in one rack of one data centre, `dc1` and `rack1`.
    ///
    /// # Errors
    /// If no port can be taken.
    pub async fn start(nodes: usize) -> io::Result<Self> {
        Self::builder().nodes(nodes).start().await
    }

    /// A node, counted from 0.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn node(&self, index: usize) -> &HttpNode {
        &self.nodes[index]
    }

    /// All nodes.
    pub fn nodes(&self) -> &[HttpNode] {
        &self.nodes
    }

    /// The URL of a node.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn url(&self, index: usize) -> String {
        self.nodes[index].url()
    }

    /// The port of all nodes.
    pub fn port(&self) -> u16 {
        self.nodes.first().map_or(0, |node| node.addr().port())
    }

    /// No node lists this one any more.
    pub fn unlist(&self, index: usize) {
        self.set_listed(index, false);
    }

    /// All nodes list this one again.
    pub fn list(&self, index: usize) {
        self.set_listed(index, true);
    }

    fn set_listed(&self, index: usize, listed: bool) {
        let ip = self.nodes[index].addr().ip();
        for member in self.shared.members().iter_mut().filter(|member| member.ip == ip) {
            member.listed = listed;
        }
    }
}

/// What a cluster is made of; see [`HttpCluster::builder`].
#[derive(Clone, Debug, Default)]
pub struct HttpClusterBuilder {
    members: Vec<(String, String)>,
    tls: Option<ServerTls>,
    credentials: Option<(String, String)>,
    old: bool,
}

impl HttpClusterBuilder {
    /// So many more nodes in `rack1` of `dc1`.
    #[must_use]
    pub fn nodes(self, count: usize) -> Self {
        self.data_center("dc1", "rack1", count)
    }

    /// So many more nodes in a rack of a data centre.
    #[must_use]
    pub fn data_center(mut self, data_center: &str, rack: &str, count: usize) -> Self {
        self.members.extend((0..count).map(|_| (data_center.to_owned(), rack.to_owned())));
        self
    }

    /// The nodes speak TLS.
    #[must_use]
    pub fn tls(mut self, tls: ServerTls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Requests have to be signed with this access key and secret, as the server demands it with authorization on.
    #[must_use]
    pub fn credentials(mut self, access_key: &str, secret: &str) -> Self {
        self.credentials = Some((access_key.to_owned(), secret.to_owned()));
        self
    }

    /// The nodes are of a version that does not know the filters `dc` and `rack`.
    #[must_use]
    pub fn without_filters(mut self) -> Self {
        self.old = true;
        self
    }

    /// Starts the nodes.
    ///
    /// # Errors
    /// If no port can be taken.
    pub async fn start(self) -> io::Result<HttpCluster> {
        let shared = Arc::new(Shared::default());
        let mut nodes: Vec<HttpNode> = Vec::new();
        let mut tries = 0;
        while nodes.len() < self.members.len() {
            let port = nodes.first().map_or(0, |node| node.addr().port());
            let ip = fresh_loopback_ip();
            let options = node::Options {
                tls: self.tls.clone(),
                credentials: self.credentials.clone(),
                knows_filters: !self.old,
            };
            match HttpNode::start(SocketAddr::new(ip, port), options, Arc::clone(&shared)) {
                Ok(node) => nodes.push(node),
                Err(error) if tries == 100 => return Err(error),
                // Somebody has that port at this address.
                Err(_) => tries += 1,
            }
        }
        for (node, (data_center, rack)) in nodes.iter().zip(self.members) {
            shared.members().push(Member { ip: node.addr().ip(), data_center, rack, listed: true });
        }
        Ok(HttpCluster { nodes, shared })
    }
}
