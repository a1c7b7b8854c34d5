//! Three nodes, one of them bad.

use std::time::Duration;

use crate::{clients, measure::run, server::Server, table::Table};

const FAULTS: [(&str, &str, &str); 3] = [
    ("refuse", "one of three nodes refuses", "90 %, no error"),
    ("503", "one of three nodes answers 503", "90 %, no error"),
    ("hang", "one of three nodes hangs", "60 %, no error, p99.9 400 ms"),
];

pub async fn measure(table: &mut Table) {
    for workers in [16, 256] {
        for kind in ["sdk", "peer", "messina-sdk", "messina-raw"] {
            let mut server = Server::start();
            let call = clients::make(kind, &server, &[0, 1, 2]);
            run(&call, workers, Duration::from_secs(1)).await;
            for (fault, what, goal) in FAULTS {
                let before = run(&call, workers, Duration::from_millis(1500)).await;
                server.tell(&format!("{fault} 0"));
                let faulty = run(&call, workers, Duration::from_secs(3)).await;
                server.tell("heal");
                tokio::time::sleep(Duration::from_secs(2)).await;
                run(&call, workers, Duration::from_millis(500)).await;
                let after = run(&call, workers, Duration::from_millis(1500)).await;
                let healthy = (before.rate() + after.rate()) / 2.0;
                let cell = format!(
                    "{:.0} %, {} errors, p99.9 {:.0} ms",
                    100.0 * faulty.rate() / healthy,
                    faulty.failed,
                    faulty.at(0.999),
                );
                table.set(&format!("{what}, {workers} workers"), goal, kind, cell);
            }
        }
    }
}
