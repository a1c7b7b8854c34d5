//! Three nodes behind one proxy that finds them by the server name of the TLS hello, with a dead record among its own.

use std::error::Error;

use messina::{
    Session,
    config::TlsSettings,
    endpoint::SniProxy,
    layers::{FixedResolver, Name},
    testkit::{self, Cluster, TestCa, rows},
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // A cluster whose nodes advertise addresses that are of no use outside, and a proxy with two addresses.
    let ca = TestCa::new();
    let certificate = ca.server(["cluster.test", "*.cluster.test"]);
    let cluster = Cluster::builder().nodes(3).tls(certificate).start().await?;
    cluster.prime("SELECT name FROM ks.users", rows!["name text"; ("Ada",), ("Grace",)]);
    for (node, last) in cluster.nodes().iter().zip(1..) {
        node.set(|facts| facts.address = Some(([192, 0, 2, last], 9042).into()));
    }
    let proxy = testkit::SniProxy::start(2)?;
    proxy.serve(&cluster, "cluster.test");
    proxy.close(0);
    let addrs = proxy.addrs();
    let resolver = FixedResolver::new().with(Name::new("proxy.test")?, addrs.iter().map(|addr| addr.ip()));

    // The proxy is the contact point. A node is `<host id>.cluster.test` to it, and `cluster.test` is any node.
    let session = Session::builder()
        .sni_proxy(SniProxy::parse(&format!("proxy.test:{}", addrs[0].port()), "cluster.test")?)
        .tls(TlsSettings::new(ca.client()))
        .resolver(resolver)
        .build()
        .await?;
    for (name,) in session.execute("SELECT name FROM ks.users", ()).await?.all::<(String,)>().await? {
        println!("{name}");
    }

    for node in session.topology().nodes() {
        if let Some(endpoint) = node.endpoint() {
            println!("{endpoint}");
        }
    }
    let hellos = proxy.hellos();
    assert!(hellos.iter().all(|hello| hello.at == addrs[1]), "the dead record cost nothing but a dial");
    println!("{} connections, all through {}", hellos.len(), addrs[1]);
    Ok(())
}
