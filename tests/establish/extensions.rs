//! What STARTUP agrees on beside the version: compression, and ScyllaDB's extensions.

use messina::{
    connection::Compression,
    protocol::ProtocolVersion,
    testkit::{Cluster, Network, Scylla, Stage},
};

use crate::support::{Events, TestStack, named};

/// The options of the first STARTUP that a node got.
fn startup(cluster: &Cluster) -> String {
    let connection = &cluster.node(0).connections()[0];
    let text = connection.requests().find(|(stage, _)| *stage == Stage::Startup).map(|(_, text)| text.to_owned());
    text.unwrap()
}

/// connect 59: STARTUP echoes the extensions that a server offers and we understand, and no others.
#[tokio::test(start_paused = true)]
async fn scylla_extensions() {
    let network = Network::new();
    let scylla = Scylla::new(2)
        .with("SCYLLA_LWT_ADD_METADATA_MARK", "LWT_OPTIMIZATION_META_BIT_MASK=2147483648")
        .with("SCYLLA_RATE_LIMIT_ERROR", "ERROR_CODE=61440")
        .with("SCYLLA_USE_METADATA_ID", "")
        .with("SCYLLA_SOMETHING_NEW", "yes");
    let cluster = Cluster::builder().network(&network).scylla(scylla).start().await.unwrap();
    let stack = TestStack::new(&network, cluster.addrs(), |builder| builder);
    let accepted = stack.connect(stack.open()).await.unwrap().connection;
    let expected = [
        "CQL_VERSION=3.0.0",
        "DRIVER_NAME=Messina",
        concat!("DRIVER_VERSION=", env!("CARGO_PKG_VERSION")),
        "SCYLLA_USE_METADATA_ID=",
        "SCYLLA_RATE_LIMIT_ERROR=",
        "SCYLLA_LWT_ADD_METADATA_MARK=LWT_OPTIMIZATION_META_BIT_MASK=2147483648",
    ];
    assert_eq!(startup(&cluster), expected.join(", "));
    assert_eq!(accepted.dialect.lwt_mask, Some(0x8000_0000));
    assert_eq!(accepted.supported.first("SCYLLA_SOMETHING_NEW"), Some("yes"));
}

/// connect 59: compression is asked for where server and version can do it, and everything after works in it.
#[tokio::test(start_paused = true)]
async fn compression() {
    let rows: [(Compression, ProtocolVersion, Option<&str>); 5] = [
        (Compression::Lz4, ProtocolVersion::V3, Some("lz4")),
        (Compression::Lz4, ProtocolVersion::V4, Some("lz4")),
        (Compression::Lz4, ProtocolVersion::V5, Some("lz4")),
        (Compression::Snappy, ProtocolVersion::V4, Some("snappy")),
        // v5 knows no Snappy.
        (Compression::Snappy, ProtocolVersion::V5, None),
    ];
    for (wanted, version, agreed) in rows {
        let events = Events::watch();
        let network = Network::new();
        let cluster = Cluster::builder().network(&network).nodes(2).start().await.unwrap();
        let builder = named(&network, cluster.addrs()).compression(wanted).protocol_version(version);
        let session = builder.build().await.unwrap();
        let sent = startup(&cluster);
        assert_eq!(sent.split(", ").find_map(|option| option.strip_prefix("COMPRESSION=")), agreed, "{sent}");
        assert_eq!(cluster.node(0).count(Stage::Peers), 1);
        let warned = events.with("the server cannot compress as wanted");
        assert_eq!(warned.is_empty(), agreed.is_some(), "{warned:?}");
        drop(session);
    }
}

/// connect 59: a server that offers no such compression is used without, with a warning.
#[tokio::test(start_paused = true)]
async fn no_such_compression() {
    for offered in ["snappy", ""] {
        let events = Events::watch();
        let network = Network::new();
        let list: Vec<_> = offered.split_whitespace().map(str::to_owned).collect();
        let cluster = Cluster::builder().network(&network).node(0, |facts| facts.compression = list);
        let cluster = cluster.start().await.unwrap();
        let session = named(&network, cluster.addrs()).compression(Compression::Lz4).build().await.unwrap();
        assert!(!startup(&cluster).contains("COMPRESSION"));
        let warned = events.with("the server cannot compress as wanted");
        assert_eq!((warned[0].field("wanted"), warned[0].field("offered")), ("lz4", offered));
        drop(session);
    }
}

/// connect 115: the old option says that it does nothing.
#[tokio::test(start_paused = true)]
async fn the_old_option() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).start().await.unwrap();
    for value in ["true", "false"] {
        let events = Events::watch();
        let builder = named(&network, cluster.addrs()).set("advanced.resolve-contact-points", value);
        let session = builder.build().await.unwrap();
        assert_eq!(events.with("advanced.resolve-contact-points").len(), 1);
        drop(session);
    }
}
