//! From a name with dead addresses to a session.

use std::time::Duration;

use messina::{
    Session,
    layers::{HickoryResolver, Order},
    testkit::{BareAddress, Cluster, DnsServer},
};

/// connect 117: a name with one dead and one live record gives a working session.
/// scenario S1: the dead record comes first.
#[tokio::test]
async fn a_dead_record_is_passed_over() {
    let cluster = Cluster::builder().nodes(2).own_addresses().start().await.unwrap();
    let dead = BareAddress::refused().unwrap().on_port(cluster.node(0).addr().port()).unwrap();
    let dns = DnsServer::start().await.unwrap();
    dns.set("db.test", [dead.addr().ip(), cluster.node(0).addr().ip()]);

    let session = Session::builder()
        .contact_point(format!("db.test:{}", cluster.node(0).addr().port()))
        .resolver(HickoryResolver::with_server(dns.addr()))
        .candidate_order(Order::AsGiven)
        .sequential()
        .build()
        .await
        .unwrap();
    cluster.wait_for(Duration::from_secs(5), |log| log.open() == 3).await.unwrap();
    drop(session);
    cluster.wait_for(Duration::from_secs(5), |log| log.open() == 0).await.unwrap();
}
