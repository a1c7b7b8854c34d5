//! One address, through every step, and closed again.

use std::net::SocketAddr;

use messina_layers::Candidate;
use tokio::time::Instant;
use tower::ServiceExt;

use super::{CLOSE, ProbedAddress, ProbedQuery, READY, Run, query};
use crate::{
    connection::event_channel,
    endpoint::Endpoint,
    error::stage,
    establish::{Accepted, Notes, Open},
    protocol::response::Supported,
};

/// The event types that a session registers for.
const EVENTS: [&str; 3] = ["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"];

pub(super) async fn probe(run: &Run, endpoint: Endpoint, addr: SocketAddr) -> (ProbedAddress, Option<ProbedQuery>) {
    // Never closed; were it, going on beats failing.
    let _permit = run.permits.acquire().await.ok();
    // Before the first step, so that no step takes longer than the whole.
    let started = Instant::now();
    let notes = Notes::start();
    // The events themselves are of no interest.
    let (sink, _events) = event_channel(1);
    let target = Open::new(endpoint, run.config.clone()).with_events(sink, EVENTS).noting(&notes);
    let result = run.attempt.clone().oneshot(Candidate::new(target, addr)).await;
    if let Err(error) = &result {
        notes.lap(error.stage());
    }
    let mut probed = ProbedAddress::new(addr, started.elapsed());
    let mut answer = None;
    match result {
        Ok(accepted) => {
            fill(&mut probed, &accepted);
            if let Some(cql) = run.take_query() {
                answer = Some(query::execute(run, &accepted, cql).await);
            }
            // Waited for, so that nothing is open when the probe is done.
            accepted.connection.close(CLOSE).await;
        }
        Err(error) => {
            probed.stage = error.stage();
            probed.error = Some(error);
        }
    }
    let noted = notes.take();
    probed.times = noted.laps;
    if run.config.tls.is_none() {
        probed.times.retain(|(stage, _)| *stage != stage::TLS);
    }
    probed.protocol = probed.protocol.or(noted.version);
    probed.cluster = probed.cluster.or(noted.cluster_name);
    if let Some(supported) = &noted.supported {
        learn(&mut probed, supported);
    }
    run.done();
    (probed, answer)
}

fn fill(probed: &mut ProbedAddress, accepted: &Accepted) {
    probed.stage = READY;
    probed.protocol = Some(accepted.dialect.version);
    probed.cluster = Some(accepted.cluster_name.clone());
    if let Some(node) = &accepted.node {
        probed.host_id = Some(node.host_id);
        probed.datacenter.clone_from(&node.datacenter);
        probed.rack.clone_from(&node.rack);
        probed.server = node.release_version.as_ref().map(|version| format!("Cassandra {version}"));
    }
}

/// What a server says of itself before anybody logs in.
fn learn(probed: &mut ProbedAddress, supported: &Supported) {
    probed.shards = supported.first("SCYLLA_NR_SHARDS").and_then(|shards| shards.parse().ok());
    probed.host_id = probed.host_id.or_else(|| supported.first("SCYLLA_HOST_ID")?.parse().ok());
    if supported.iter().any(|(key, _)| key.starts_with("SCYLLA_")) {
        // Its release_version is that of the Cassandra it is compatible with.
        probed.server = Some("ScyllaDB".to_owned());
    }
}
