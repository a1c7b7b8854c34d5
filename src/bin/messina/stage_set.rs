//! The cluster of the demo: nodes that keep users, bad addresses beside them, and a name for all.

use std::{
    collections::BTreeMap,
    error::Error,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use messina::{
    layers::{Address, Resolved},
    testkit::{Answer, BareAddress, Cluster, ClusterBuilder, DnsServer, Rows},
};

/// The name that the demo connects by.
pub(crate) const NAME: &str = "db.demo";
/// Set, to tell nodes apart by port on 127.0.0.1 where there would be other loopback addresses.
const ONE_ADDRESS: &str = "MESSINA_DEMO_ONE_ADDRESS";
/// Statements that the demo's nodes answer.
pub(crate) const INSERT: &str = "INSERT INTO demo.users (id, name) VALUES (?, ?)";
/// See [`INSERT`].
pub(crate) const SELECT: &str = "SELECT id, name FROM demo.users";

type Users = Arc<Mutex<BTreeMap<i32, String>>>;

/// Everything the demo connects to.
pub(crate) struct StageSet {
    pub(crate) cluster: Cluster,
    pub(crate) bad: Vec<(&'static str, BareAddress)>,
    pub(crate) dns: DnsServer,
    users: Users,
    own_addresses: bool,
    // What the name leads to, with ports: for systems where every node shares 127.0.0.1.
    sockets: Arc<Mutex<Vec<SocketAddr>>>,
}

impl StageSet {
    pub(crate) async fn start() -> Result<Self, Box<dyn Error>> {
        let users = Users::default();
        // Linux lets all of 127.0.0.0/8 be used; elsewhere nodes share 127.0.0.1 and differ by port.
        let one_address = std::env::var_os(ONE_ADDRESS).is_some();
        let (cluster, own_addresses) = match builder().own_addresses().start().await {
            Ok(cluster) if !one_address => (cluster, true),
            _ => (builder().start().await?, false),
        };
        prime(&cluster, &users);
        let port = cluster.node(0).addr().port();
        let place = |bare: BareAddress| if own_addresses { bare.on_port(port) } else { Ok(bare) };
        let bad = vec![
            ("refuses", place(BareAddress::refused()?)?),
            ("accepts and hangs up", place(BareAddress::closes()?)?),
            ("accepts and never answers", place(BareAddress::mute()?)?),
        ];
        let dns = DnsServer::start().await?;
        let set = Self { cluster, bad, dns, users, own_addresses, sockets: Arc::default() };
        let mut all: Vec<_> = set.bad.iter().map(|(_, bare)| bare.addr()).collect();
        all.extend(set.cluster.addrs());
        set.point_name_at(all);
        Ok(set)
    }

    pub(crate) fn port(&self) -> u16 {
        self.cluster.node(0).addr().port()
    }

    /// Lets the name lead to these addresses, in this order.
    pub(crate) fn point_name_at(&self, addrs: Vec<SocketAddr>) {
        self.dns.set(NAME, addrs.iter().map(SocketAddr::ip).collect::<Vec<IpAddr>>());
        *self.sockets.lock().unwrap_or_else(PoisonError::into_inner) = addrs;
    }

    /// The DNS server, where addresses tell the nodes apart.
    pub(crate) fn dns_server(&self) -> Option<SocketAddr> {
        self.own_addresses.then(|| self.dns.addr())
    }

    /// What stands in for it elsewhere, since DNS knows no ports.
    pub(crate) fn table(&self) -> impl Fn(Address) -> Vec<Resolved> + Clone + Send + Sync + 'static {
        let sockets = Arc::clone(&self.sockets);
        move |address| match address {
            Address::Socket(addr) => vec![addr.into()],
            Address::Name(..) => {
                let sockets = sockets.lock().unwrap_or_else(PoisonError::into_inner);
                sockets.iter().copied().map(Resolved::from).collect()
            }
        }
    }

    /// The same cluster with the same users, on other nodes at other addresses; the name follows it.
    pub(crate) async fn move_everything(&mut self) -> Result<(), Box<dyn Error>> {
        for node in self.cluster.nodes() {
            node.kill().await;
        }
        let builder = if self.own_addresses { builder().own_addresses().port(self.port()) } else { builder() };
        let moved = builder.start().await?;
        prime(&moved, &self.users);
        self.point_name_at(moved.addrs());
        self.cluster = moved;
        Ok(())
    }
}

fn builder() -> ClusterBuilder {
    Cluster::builder().nodes(3).name("demo")
}

fn prime(cluster: &Cluster, users: &Users) {
    let kept = Arc::clone(users);
    let insert = messina::testkit::Prime::new(INSERT).of("demo", "users").params("id int, name text");
    cluster.prime_with(insert, move |request| {
        let (Some(id), Some(name)) = (request.value::<i32>(0), request.value::<String>(1)) else {
            return Answer::error(0x2200, "two values are needed");
        };
        kept.lock().unwrap_or_else(PoisonError::into_inner).insert(id, name);
        Answer::void()
    });
    let kept = Arc::clone(users);
    let select = messina::testkit::Prime::new(SELECT).of("demo", "users");
    cluster.prime_with(select, move |_request| {
        let mut rows = Rows::new("id int, name text").of("demo", "users");
        for (id, name) in kept.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            rows.push((*id, name.as_str()));
        }
        Answer::rows(rows)
    });
}
