//! The nodes of one spec, started together.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, io};

use super::files::{self, Place};
use super::jars;
use super::log::Log;
use super::network::{self, Network};
use super::node::{Node, START, started};
use super::pki::Pki;
use super::raw::{EVENT, Raw};
use super::spec::Spec;
use super::tools::{self, Tools};

/// A running cluster. Dropping it ends its nodes and removes their data.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) spec: Spec,
    pub(crate) nodes: Vec<Node>,
    network: Network,
    directory: PathBuf,
    tools: Tools,
    pki: Arc<Pki>,
    /// Where each node takes orders.
    jmx: Vec<u16>,
}

impl Cluster {
    /// Starts the nodes of a spec, all at once, and waits until each serves and knows the others.
    pub(crate) fn start(spec: &Spec, tools: &Tools, run: &Path, pki: Arc<Pki>) -> Result<Self, String> {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        let jars = jars::directory(spec.version);
        let network = Network::pick()?;
        let directory = run.join(format!("{}-{}", spec.name, NUMBER.fetch_add(1, Ordering::Relaxed)));
        let jmx = if spec.managed { network::free_ports(spec.nodes.len())? } else { Vec::new() };
        let mut nodes = Vec::new();
        for index in 0..spec.nodes.len() {
            let directory = directory.join(format!("node{}", index + 1));
            let command = files::command(tools, &jars, &directory, jmx.get(index).copied())?;
            let front = spec.fronted.then(|| network.next());
            nodes.push(Node::new(network.next(), front, command, [directory, run.to_owned()]));
        }
        let (spec, tools) = (spec.clone(), tools.clone());
        let cluster = Self { spec, nodes, network, directory, tools, pki, jmx };
        cluster.write()?;
        cluster.launch()?;
        Ok(cluster)
    }

    /// Writes the configuration of every node.
    pub(crate) fn write(&self) -> Result<(), String> {
        let seeds: Vec<Ipv4Addr> = self.nodes.iter().map(Node::address).collect();
        for (index, node) in self.nodes.iter().enumerate() {
            let (address, front, directory) = (node.address(), node.front(), &*node.directory);
            let place = Place { spec: &self.spec, index, address, front, seeds: &seeds, directory };
            files::write(&place, &self.pki)?;
        }
        Ok(())
    }

    /// Gives nodes that are down addresses they never had.
    pub(crate) fn relocate(&self, nodes: impl IntoIterator<Item = usize>) -> Result<(), String> {
        nodes.into_iter().for_each(|node| self.nodes[node].set_address(self.network.next()));
        self.write()
    }

    /// Gives a node an order, as an operator would.
    pub(crate) fn nodetool(&self, node: usize, order: &[&str]) -> Result<String, String> {
        let jars = jars::directory(self.spec.version);
        let command = files::nodetool(&self.tools, &jars, &self.nodes[node].directory, self.jmx[node], order);
        let output = tools::run(command, START)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(format!("nodetool {order:?}: {} {}", text(&output.stdout), text(&output.stderr))),
        }
    }

    /// Runs a Java program of `java` beside a node, with the port where that node takes orders as its first argument.
    pub(crate) fn java(&self, node: usize, program: &str, arguments: &[&str]) -> Result<String, String> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cassandra/java").join(program);
        let mut command = Command::new(&self.tools.java);
        command.arg(source).arg(self.jmx[node].to_string()).args(arguments);
        let output = tools::run(command, START)?;
        match output.status.success() {
            true => String::from_utf8(output.stdout).map_err(|error| error.to_string()),
            false => Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    /// Waits until each node serves and knows all others.
    pub(crate) fn settled(&self) -> Result<(), String> {
        let known = |node: &Node| self.knows_the_others(node).map_err(|why| format!("{}: {why}", node.address()));
        self.nodes.iter().try_for_each(known)
    }

    /// Starts every node, and waits until each serves and knows the others.
    pub(crate) fn launch(&self) -> Result<(), String> {
        let logs = self.nodes.iter().map(Node::launch).collect::<Result<Vec<Log>, String>>()?;
        for (node, log) in self.nodes.iter().zip(&logs) {
            let wait = |wanted: &dyn Fn(&str) -> bool| {
                log.wait_for(START, wanted).map(drop).map_err(|why| format!("{}: {why}", node.address()))
            };
            wait(&started)?;
        }
        self.settled()?;
        if self.spec.passwords {
            // One node of the cluster makes the role; a cluster with passwords has one.
            logs[0].wait_for(START, |line| line.contains("Created default superuser role"))?;
        }
        Ok(())
    }

    /// Waits until a node has the tokens of all others. Each event is a reason to look again.
    fn knows_the_others(&self, node: &Node) -> Result<(), String> {
        let nodes = self.nodes.len();
        let others = (0..nodes).filter(|index| self.nodes[*index].address() != node.address());
        let tokens: Vec<String> = others.filter_map(|index| files::tokens(index, nodes).pop()).collect();
        if tokens.is_empty() {
            return Ok(());
        }
        let ask = || -> io::Result<bool> {
            let mut raw = Raw::connect(node.native(), 4)?;
            raw.startup(&[])?;
            raw.register(&["TOPOLOGY_CHANGE", "STATUS_CHANGE"])?;
            raw.patience(Duration::from_secs(1))?;
            for _ in 0..60 {
                raw.send_query("SELECT rack, tokens FROM system.peers_v2")?;
                let mut answer = raw.receive()?;
                while answer.opcode == EVENT {
                    answer = raw.receive()?;
                }
                if tokens.iter().all(|token| answer.text().contains(token)) {
                    return Ok(true);
                }
                // The next event, or a second without one.
                let _ = raw.receive();
            }
            Ok(false)
        };
        match ask() {
            Ok(true) => Ok(()),
            Ok(false) => Err("does not know all other nodes after a minute".to_owned()),
            Err(error) => Err(format!("while asking for peers: {error}")),
        }
    }

    /// Where clients connect to the first node.
    pub(crate) fn native(&self) -> SocketAddr {
        self.nodes[0].native()
    }

    /// An address with the port of the nodes on which nothing listens yet.
    pub(crate) fn spare(&self) -> SocketAddr {
        SocketAddr::from((self.network.next(), Network::ports().native))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in &self.nodes {
            let _ = node.kill();
        }
        let _ = remove(&self.directory);
    }
}

/// Removes a directory that may be gone already.
pub(crate) fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
