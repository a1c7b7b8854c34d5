//! Addresses translated into those that can be dialled.

use std::{net::SocketAddr, sync::Arc};

use messina::{
    Session,
    endpoint::{AddressTranslator, Advertised, SubnetTranslator, TableTranslator},
    layers::{Address, Order},
    testkit::{Cluster, Network},
};
use uuid::Uuid;

use crate::support::{Names, SOON, connected};

fn advertised(addr: &str) -> Advertised<'static> {
    Advertised::new(Uuid::nil(), addr.parse().unwrap())
}

fn translated(translator: &impl AddressTranslator, addr: &str) -> String {
    translator.translate(&advertised(addr)).to_string()
}

/// What is not in the table stays.
#[test]
fn a_table() {
    let table = TableTranslator::new([("10.0.0.1:9042".parse().unwrap(), "gateway.test:9001".parse().unwrap())]);
    assert_eq!(translated(&table, "10.0.0.1:9042"), "gateway.test:9001");
    assert_eq!(translated(&table, "10.0.0.1:9043"), "10.0.0.1:9043");
    assert_eq!(translated(&Arc::new(table), "10.0.0.2:9042"), "10.0.0.2:9042");
}

/// The narrowest subnet decides, whatever the order of the rules; a target without a port keeps the node's.
#[test]
fn subnets() {
    let translator = SubnetTranslator::new()
        .subnet("10.0.0.0/8", "wide.test:9000")
        .unwrap()
        .subnet("10.1.2.0/24", "narrow.test")
        .unwrap()
        .subnet("10.1.0.0/16", "10.99.0.1:9000")
        .unwrap()
        .subnet("fd00::/8", "six.test")
        .unwrap()
        .subnet("0.0.0.0/0", "four.test")
        .unwrap();
    for (addr, expected) in [
        ("10.1.2.3:9042", "narrow.test:9042"),
        ("10.1.3.3:9042", "10.99.0.1:9000"),
        ("10.2.0.1:9042", "wide.test:9000"),
        ("[fd00::1]:9142", "six.test:9142"),
        ("[fe80::1]:9142", "[fe80::1]:9142"),
        ("192.168.0.1:1", "four.test:1"),
        ("[::ffff:10.1.2.3]:9042", "narrow.test:9042"),
    ] {
        assert_eq!(translated(&translator, addr), expected);
    }
    let otherwise = SubnetTranslator::new().otherwise("rest.test").unwrap();
    assert_eq!(translated(&otherwise, "[fe80::1]:9142"), "rest.test:9142");
    let replaced =
        SubnetTranslator::new().subnet("10.0.0.0/8", "a.test").unwrap().subnet("10.0.0.1/8", "b.test").unwrap();
    assert_eq!(translated(&replaced, "10.0.0.1:1"), "b.test:1", "the later of two rules for one subnet");
}

/// Nodes are dialled where the translator says, and contact points where they are written; names stay names.
#[tokio::test(start_paused = true)]
async fn a_session() {
    let network = Network::new();
    let mut builder = Cluster::builder().nodes(3).network(&network);
    for index in 0..3 {
        let nowhere = SocketAddr::from(([192, 0, 2, index + 1], 9042));
        builder = builder.node(index.into(), move |facts| facts.address = Some(nowhere));
    }
    let cluster = builder.start().await.unwrap();
    let names = Names::default();
    names.set("db.test", [cluster.node(0).addr()]);
    for index in 0..3 {
        names.set(&format!("node{}.test", index + 1), [cluster.node(index).addr()]);
    }
    let session = Session::builder()
        .contact_point("db.test")
        .resolver(names.clone())
        .connector(network.connector())
        .candidate_order(Order::AsGiven)
        .address_translator(|node: &Advertised<'_>| {
            assert_eq!((node.datacenter, node.rack), (Some("datacenter1"), Some("rack1")));
            let SocketAddr::V4(addr) = node.address else { panic!("v4") };
            Address::new(&format!("node{}.test", addr.ip().octets()[3]), addr.port()).unwrap()
        })
        .build()
        .await
        .unwrap();
    connected(&cluster, 0..3, SOON).await;
    let asked = names.asked();
    for name in ["db.test:9042", "node1.test:9042", "node2.test:9042", "node3.test:9042"] {
        assert!(asked.iter().any(|one| one == name), "{name} in {asked:?}");
    }
    assert!(network.dialled().iter().all(|addr| cluster.addrs().contains(addr)), "{:?}", network.dialled());
    drop(session);
}
