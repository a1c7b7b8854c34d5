//! Clients of DynamoDB's API side by side: the floor (hyper and a signature), the plain SDK, the crate
//! `alternator-client`, and Messina's, all in one run against the same nodes in another process.
//!
//! `cargo run --release` measures and prints one table; `-- cpu`, `faults`, `start`, `members` or `plan` a part of it.
//! The client has one thread, so that it is what limits the throughput.

mod clients;
mod cpu;
mod faults;
mod measure;
mod members;
mod plan;
mod serve;
mod server;
mod table;

use crate::table::Table;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["serve"] => runtime.block_on(serve::serve()),
        ["pick", kind, count] => plan::pick(kind, count.parse().expect("a number")),
        _ => {
            let wanted = |part: &str| arguments.is_empty() || arguments.contains(&part);
            let mut table = Table::default();
            runtime.block_on(async {
                if wanted("cpu") {
                    cpu::measure(&mut table).await;
                }
                if wanted("faults") {
                    faults::measure(&mut table).await;
                }
                if wanted("start") {
                    members::start(&mut table).await;
                }
                if wanted("members") {
                    members::last_one_left(&mut table).await;
                    members::added(&mut table).await;
                }
                if wanted("plan") {
                    plan::measure();
                }
            });
            print!("{table}");
        }
    }
}
