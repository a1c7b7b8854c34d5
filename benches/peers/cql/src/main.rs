//! CQL drivers side by side: Messina, the crate `scylla`, and `cdrs-tokio`, all in one run against the same server in
//! another process.
//!
//! `cargo run --release` prints one table after about half an hour; `-- counts`, `-- times`, `-- offered` or `-- idle` a
//! part of it. `-- --at 127.0.0.1:9042` measures against a node of a real cluster, where it makes the keyspace `ks` with a
//! table `t` of 100,000 rows. Counting needs valgrind.

mod client;
mod drivers;
mod front;
mod measure;
mod table;

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    match &*arguments {
        ["serve"] => runtime().block_on(front::serve()),
        ["fill", at] => runtime().block_on(table::fill(at)),
        ["client", rest @ ..] => runtime().block_on(client::client(rest)),
        ["--at", at, parts @ ..] => {
            measure::own(&["fill", at]);
            measure::all(at, parts);
        }
        parts => {
            let server = Server::start();
            measure::all(&server.address, parts);
        }
    }
}

/// The server's process, which ends with this.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut serve = Command::new(std::env::current_exe().expect("this program"));
        serve.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = serve.spawn().expect("the server starts");
        let output = child.stdout.take().expect("piped");
        let mut address = String::new();
        BufReader::new(output).read_line(&mut address).expect("the server tells its address");
        let address = address.trim().to_owned();
        Self { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
