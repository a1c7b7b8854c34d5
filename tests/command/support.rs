//! Running the binary, and what it is pointed at.

use std::{net::SocketAddr, process::Stdio, time::Duration};

use messina::testkit::{BareAddress, Cluster, ClusterBuilder, DnsServer, Log};
use tokio::process::Command;

/// How long a run of the binary may take: it has limits of its own.
const LIMIT: Duration = Duration::from_secs(30);

/// How a run of the binary ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The report, of a run with `--json`.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The line of verdict and advice of a contact point.
    pub(crate) fn verdict(&self, contact_point: &str) -> &str {
        let start = format!("{contact_point}: ");
        self.out.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("{self:?}"))
    }

    /// The row of an address.
    pub(crate) fn row(&self, addr: SocketAddr) -> &str {
        let addr = format!(" {addr} ");
        self.out.lines().find(|line| line.contains(&addr)).unwrap_or_else(|| panic!("{self:?}"))
    }
}

/// Runs the binary to its end, without a terminal.
pub(crate) async fn messina<S: AsRef<str>>(args: impl IntoIterator<Item = S>) -> Ran {
    messina_with(args, &[]).await
}

/// The same with variables in its environment.
pub(crate) async fn messina_with<S: AsRef<str>>(args: impl IntoIterator<Item = S>, vars: &[(&str, &str)]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_messina"));
    command.args(args.into_iter().map(|arg| arg.as_ref().to_owned()));
    command.envs(vars.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let output = tokio::time::timeout(LIMIT, command.output()).await.unwrap().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// `messina probe` with these words behind it.
pub(crate) async fn probe(args: &[&str]) -> Ran {
    messina(["probe"].iter().chain(args)).await
}

/// The words that make the binary ask this DNS server.
pub(crate) struct Dns {
    pub(crate) server: DnsServer,
    pub(crate) addr: String,
}

impl Dns {
    /// A server where `db.test` leads to these addresses, all of one port.
    pub(crate) async fn leading_to(addrs: impl IntoIterator<Item = SocketAddr>) -> Self {
        let server = DnsServer::start().await.unwrap();
        server.set("db.test", addrs.into_iter().map(|addr| addr.ip()).collect::<Vec<_>>());
        let addr = server.addr().to_string();
        Self { server, addr }
    }
}

/// A cluster whose nodes have addresses of their own with one port.
pub(crate) async fn cluster(builder: ClusterBuilder, log: &Log) -> Cluster {
    builder.own_addresses().log(log).start().await.unwrap()
}

/// An address beside the nodes of a cluster, with their port.
pub(crate) fn beside(cluster: &Cluster, log: &Log, bare: BareAddress) -> BareAddress {
    bare.on_port(cluster.node(0).addr().port()).unwrap().with_log(log).unwrap()
}

/// Nothing is open at the test kit.
pub(crate) async fn all_closed(log: &Log) {
    log.wait_for(Duration::from_secs(5), |seen| seen.open() == 0).await.unwrap();
}
