//! Fetching and running the server, and nodes in front of it.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use messina::{
    alternator::{Alternator, client::AlternatorBuilder},
    testkit::http::HttpCluster,
};

const VERSION: &str = "4.0.0";

/// Listens on a free port and ends with this process, whose end closes its standard input.
const SCRIPT: &str = r#"
const server = require("dynalite")({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit());
"#;

pub(crate) struct Server {
    child: Child,
    addr: SocketAddr,
}

impl Server {
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The server, or why there is none.
pub(crate) fn start() -> Result<Server, String> {
    let dir = fetch()?;
    let child = Command::new("node")
        .args(["-e", SCRIPT])
        .current_dir(&dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(|error| format!("node does not start: {error}"))?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
    }
    match line.trim().parse() {
        Ok(port) => Ok(Server { child, addr: SocketAddr::from(([127, 0, 0, 1], port)) }),
        Err(_) => {
            let _ = child.kill();
            let _ = child.wait();
            Err("dynalite does not start".to_owned())
        }
    }
}

/// Where the server is installed; done once and kept among what is built.
fn fetch() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let dir = root.join(format!("dynalite-{VERSION}"));
    if dir.join("node_modules/dynalite").exists() {
        return Ok(dir);
    }
    let new = root.join(format!("dynalite-{VERSION}.{}", std::process::id()));
    fs::create_dir_all(&new).map_err(|error| error.to_string())?;
    let package = format!("dynalite@{VERSION}");
    let install = Command::new("npm")
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", ".", &package])
        .current_dir(&new)
        .stdin(Stdio::null())
        .output();
    let output = install.map_err(|error| format!("npm does not start: {error}"))?;
    if !output.status.success() {
        let _ = fs::remove_dir_all(&new);
        return Err(format!("npm failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    // Another process may have been quicker; then its installation is as good.
    if fs::rename(&new, &dir).is_err() {
        let _ = fs::remove_dir_all(&new);
    }
    Ok(dir)
}

/// Three nodes that check signatures, in front of the server.
pub(crate) async fn fronts(server: SocketAddr) -> HttpCluster {
    let cluster = HttpCluster::builder().nodes(3).credentials("cassandra", "secret").start().await.unwrap();
    cluster.nodes().iter().for_each(|node| node.forward_to(server));
    cluster
}

pub(crate) async fn client(
    cluster: &HttpCluster,
    change: impl FnOnce(AlternatorBuilder) -> AlternatorBuilder,
) -> Alternator {
    let builder = Alternator::builder().intervals(Duration::from_millis(50), Duration::from_secs(60));
    let alternator = change(builder.seed(cluster.url(0))).build().unwrap();
    alternator.ready(Duration::from_secs(5)).await.unwrap();
    alternator
}
