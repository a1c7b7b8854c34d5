//! Nodes that hang at the start, die, or join.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{clients, measure::run, server::Server, table::Table};

const KINDS: [&str; 3] = ["peer", "messina-sdk", "messina-raw"];

/// The first answer of a new client whose first seed hangs.
pub async fn start(table: &mut Table) {
    for kind in KINDS {
        let mut longest = Some(0.0_f64);
        // Which node comes first is random.
        for _ in 0..20 {
            let mut server = Server::start();
            server.tell("hang 0");
            let from = Instant::now();
            let call = clients::make(kind, &server, &[0, 1, 2]);
            let answered = matches!(tokio::time::timeout(Duration::from_secs(5), call()).await, Ok(Ok(())));
            let took = from.elapsed().as_secs_f64() * 1000.0;
            longest = longest.filter(|_| answered).map(|longest| longest.max(took));
            if longest.is_none() {
                break;
            }
        }
        let cell = longest.map_or_else(|| "none within 5 s".to_owned(), |longest| format!("{longest:.0} ms"));
        table.set("first answer while a seed hangs, the slowest of 20 starts", "400 ms", kind, cell);
    }
}

/// Both seeds die; one node is left, which was discovered.
pub async fn last_one_left(table: &mut Table) {
    for kind in KINDS {
        let mut server = Server::start();
        let call = clients::make(kind, &server, &[0, 1]);
        run(&call, 4, Duration::from_secs(2)).await;
        server.tell("refuse 0");
        server.tell("refuse 1");
        let round = run(&call, 16, Duration::from_secs(3)).await;
        let cell = format!("{} errors, {} answers", round.failed, round.done);
        table.set("all seeds die, one known node is left, 3 s", "no error", kind, cell);
    }
}

/// How long after a node was listed it is asked for the first time. Clients poll every second.
pub async fn added(table: &mut Table) {
    for kind in KINDS {
        let mut longest = 0.0_f64;
        for _ in 0..5 {
            let mut server = Server::start();
            server.tell("unlist 2");
            let call = clients::make(kind, &server, &[0]);
            let work = tokio::spawn({
                let call = Arc::clone(&call);
                async move {
                    loop {
                        let _ = call().await;
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                }
            });
            tokio::time::sleep(Duration::from_millis(2300)).await;
            assert_eq!(server.tell("seen 2"), "0", "nobody lists it");
            server.tell("list 2");
            let from = Instant::now();
            while server.tell("seen 2") == "0" && from.elapsed() < Duration::from_secs(10) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            longest = longest.max(from.elapsed().as_secs_f64() * 1000.0);
            work.abort();
        }
        let cell = format!("{longest:.0} ms");
        table.set("first request to a node that is added, the slowest of 5", "one poll: 1.1 s", kind, cell);
    }
}
