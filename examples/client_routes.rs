//! Client routes (ScyllaDB's private link): nodes are reached by the `host:port` that a table names, and follow it.

use std::{error::Error, time::Duration};

use messina::{
    Session,
    layers::{Dial, FixedResolver, Name},
    testkit::{ClientRoute, Cluster, Push, Stage},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Two nodes whose own addresses cannot be reached from here.
    let cluster = Cluster::builder().nodes(2).client_routes().start().await?;
    let addrs = cluster.addrs();
    for (node, last) in cluster.nodes().iter().zip(1..) {
        node.set(|facts| facts.address = Some(([192, 0, 2, last], 9042).into()));
    }
    let host_ids: Vec<_> = cluster.nodes().iter().filter_map(|node| node.host_id()).collect();
    let route = |index: usize| ClientRoute::new("vpce-1", host_ids[index], "link.test", addrs[index].port());
    // The second node has no route yet.
    cluster.set_client_routes([route(0)]);
    let resolver = FixedResolver::new().with(Name::new("link.test")?, [addrs[0].ip()]);

    let session = Session::builder()
        .contact_point(format!("link.test:{}", addrs[0].port()))
        .client_routes("vpce-1")
        // Nobody without a route is dialled at its own address.
        .client_routes_proxy_only()
        .resolver(resolver)
        .build()
        .await?;
    show(&session);

    // A route is published, and the server tells: the node is connected to at once.
    cluster.set_client_routes([route(0), route(1)]);
    cluster.push(&Push::client_routes(["vpce-1"], [host_ids[1]]));
    let connected = |connections: &[&messina::testkit::ConnectionLog]| {
        connections.iter().any(|connection| connection.is_open() && connection.count(Stage::Cluster) > 0)
    };
    cluster.node(1).wait_for(Duration::from_secs(10), connected).await?;
    show(&session);
    Ok(())
}

fn show(session: &Session) {
    for node in session.topology().nodes() {
        if let Some(endpoint) = node.endpoint() {
            println!("{}: {}", node.host_id, endpoint.address());
        }
    }
    println!();
}
