//! Three nodes, one of them bad.

use std::time::Duration;

use crate::{
    clients,
    measure::{median, run},
    server::Server,
    table::Table,
};

/// How often a node goes bad and is healed again.
const ALTERNATIONS: usize = 7;

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
                let (mut ratios, mut costs, mut slow) = (Vec::new(), Vec::new(), Vec::new());
                let mut failed = 0;
                // Side by side, so that what else the machine does meets both alike.
                for _ in 0..ALTERNATIONS {
                    let healthy = run(&call, workers, Duration::from_secs(1)).await;
                    server.tell(&format!("{fault} 0"));
                    let faulty = run(&call, workers, Duration::from_secs(1)).await;
                    server.tell("heal");
                    tokio::time::sleep(Duration::from_millis(1200)).await;
                    run(&call, workers, Duration::from_millis(200)).await;
                    ratios.push(faulty.rate() / healthy.rate());
                    costs.push(faulty.processor / healthy.processor);
                    slow.push(faulty.at(0.999));
                    failed += faulty.failed;
                    if failed > 0 && ratios.len() == 2 {
                        break;
                    }
                }
                let (rate, slow) = (100.0 * median(ratios), median(slow));
                let cost = if rate > 1.0 { format!(", CPU of a request {:.2}", median(costs)) } else { String::new() };
                let cell = format!("{rate:.0} %{cost}, {failed} errors, p99.9 {slow:.0} ms");
                table.set(&format!("{what}, {workers} workers"), goal, kind, cell);
            }
        }
    }
}
