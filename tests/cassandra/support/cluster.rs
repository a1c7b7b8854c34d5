//! The nodes of one spec, started together.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, io};

use super::files::{self, Place};
use super::jars;
use super::log::Log;
use super::network::Network;
use super::node::{Node, START, started};
use super::pki::Pki;
use super::raw::{EVENT, Raw};
use super::spec::Spec;
use super::tools::Tools;

/// A running cluster. Dropping it ends its nodes and removes their data.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) spec: Spec,
    pub(crate) nodes: Vec<Node>,
    network: Network,
    directory: PathBuf,
}

impl Cluster {
    /// Starts the nodes of a spec, all at once, and waits until each serves and knows the others.
    pub(crate) fn start(spec: &Spec, tools: &Tools, run: &Path, pki: &Pki) -> Result<Self, String> {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        let jars = jars::directory(spec.version);
        let network = Network::pick()?;
        let directory = run.join(format!("{}-{}", spec.name, NUMBER.fetch_add(1, Ordering::Relaxed)));
        let seeds: Vec<Ipv4Addr> = spec.nodes.iter().map(|_| network.next()).collect();
        let mut nodes = Vec::new();
        for (index, &address) in seeds.iter().enumerate() {
            let directory = directory.join(format!("node{}", index + 1));
            let place = Place { spec, index, address, seeds: &seeds, directory: &directory };
            files::write(&place, pki)?;
            nodes.push(Node::new(address, files::command(tools, &jars, &directory)?, run.to_owned()));
        }
        let cluster = Self { spec: spec.clone(), nodes, network, directory };
        cluster.launch()?;
        Ok(cluster)
    }

    fn launch(&self) -> Result<(), String> {
        let logs = self.nodes.iter().map(Node::launch).collect::<Result<Vec<Log>, String>>()?;
        for (node, log) in self.nodes.iter().zip(&logs) {
            let wait = |wanted: &dyn Fn(&str) -> bool| {
                log.wait_for(START, wanted).map(drop).map_err(|why| format!("{}: {why}", node.address))
            };
            wait(&started)?;
        }
        for node in &self.nodes {
            self.knows_the_others(node).map_err(|why| format!("{}: {why}", node.address))?;
        }
        if self.spec.passwords {
            // One node of the cluster makes the role; a cluster with passwords has one.
            logs[0].wait_for(START, |line| line.contains("Created default superuser role"))?;
        }
        Ok(())
    }

    /// Waits until a node has the tokens of all others. Each event is a reason to look again.
    fn knows_the_others(&self, node: &Node) -> Result<(), String> {
        let nodes = self.nodes.len();
        let others = (0..nodes).filter(|index| self.nodes[*index].address != node.address);
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
