//! A snapshot: look-ups, what is skipped, what it refuses to believe.

use messina::{
    endpoint::Endpoint,
    topology::{NodeIndex, NodeInfo, Snapshot, Token},
};
use uuid::Uuid;

use crate::support::{node, snapshot};

/// report 18: one node per host id, however often it is listed; the second one is skipped with a reason.
/// reviewer 48: nodes are told apart by host id, never by address.
#[test]
fn one_node_per_host_id() {
    let mut twin = node(7, "dc", "r", []);
    twin.host_id = Uuid::from_u128(8);
    let snapshot = snapshot(vec![node(9, "dc", "r", [1]), node(7, "dc", "r", [2]), node(9, "dc", "r", [3]), twin]);
    let ids: Vec<_> = snapshot.nodes().iter().map(|node| node.host_id.as_u128()).collect();
    assert_eq!(ids, [7, 8, 9], "sorted, and two may share an address");
    for (place, id) in (0..).zip(ids) {
        let host_id = Uuid::from_u128(id);
        assert_eq!(snapshot.index(host_id), Some(NodeIndex(place)));
        assert_eq!(snapshot.node(host_id).unwrap().host_id, host_id);
        assert_eq!(snapshot.at(NodeIndex(place)).unwrap().host_id, host_id);
    }
    assert_eq!((snapshot.node(Uuid::nil()), snapshot.at(NodeIndex(3))), (None, None));
    let [twice] = snapshot.skipped() else { panic!("{:?}", snapshot.skipped()) };
    assert!(twice.to_string().contains("listed twice"), "{twice}");
}

/// connect 142: a node without an address has no endpoint, and is skipped with a reason; a name is enough.
#[test]
fn a_node_needs_an_endpoint() {
    let mut nowhere = NodeInfo::new(Uuid::from_u128(1));
    assert_eq!(nowhere.endpoint(), None);
    let mut named = nowhere.clone();
    named.host_id = Uuid::from_u128(2);
    named.endpoint = Some(Endpoint::from(messina::layers::Address::parse("node.test", 9042).unwrap()));
    let both = snapshot(vec![nowhere.clone(), named]);
    assert_eq!(both.nodes().len(), 1);
    assert_eq!(both.nodes()[0].address, None);
    assert_eq!(both.nodes()[0].endpoint().unwrap().to_string(), "node.test:9042");
    assert!(both.skipped()[0].to_string().contains("no address that could be dialled"));

    nowhere.address = Some(([10, 0, 0, 1], 9042).into());
    assert_eq!(nowhere.endpoint().unwrap().to_string(), "10.0.0.1:9042", "dialled at its address");
}

/// report 31: a token that is no number is skipped: host, column and value are named.
#[test]
fn odd_tokens() {
    let mut odd = node(1, "dc", "r", [5]);
    odd.odd_tokens.extend(["9223372036854775808".to_owned(), "x".to_owned()]);
    let snapshot = snapshot(vec![odd]);
    assert_eq!(snapshot.ring().tokens(), [Token(5)]);
    let told: Vec<_> = snapshot.skipped().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    let host = Uuid::from_u128(1).to_string();
    assert!(told[1].contains(&host) && told[1].contains("tokens") && told[1].contains(" x:"), "{}", told[1]);
}

/// cql 7: the tokens of another partitioner make no ring.
#[test]
fn another_partitioner() {
    let of = |class: &str| {
        let mut local = node(1, "dc", "r", [5]);
        local.partitioner = Some(class.into());
        snapshot(vec![local])
    };
    assert_eq!(of("org.apache.cassandra.dht.Murmur3Partitioner").ring().len(), 1);
    let random = of("org.apache.cassandra.dht.RandomPartitioner");
    assert!(random.ring().is_empty() && random.skipped().is_empty());
    assert_eq!(random.partitioner(), Some("org.apache.cassandra.dht.RandomPartitioner"));
}

/// Nothing is known before anything was read.
#[test]
fn the_empty_snapshot() {
    let empty = Snapshot::default();
    assert!(empty.nodes().is_empty() && empty.ring().is_empty() && empty.told().is_none());
    assert_eq!(empty.ring().owner(Token(0)), None);
}
