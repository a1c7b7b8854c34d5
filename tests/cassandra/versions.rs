//! Sessions in every version and with every compression, with bodies of all sizes.

use std::collections::BTreeMap;

use messina::Session;
use messina::protocol::{Compression, ProtocolVersion};
use messina::session::SessionBuilder;

use crate::support::case::{Case, Clusters, case};
use crate::support::spec::Spec;
use crate::support::way::{Mode, Way};

pub(crate) fn cases() -> Vec<Case> {
    let (v3, v4, v5) = (ProtocolVersion::V3, ProtocolVersion::V4, ProtocolVersion::V5);
    let all = [
        ("v3", v3, None),
        ("v4", v4, None),
        ("v4_lz4", v4, Some(Compression::Lz4)),
        ("v4_snappy", v4, Some(Compression::Snappy)),
        ("v5", v5, None),
        ("v5_lz4", v5, Some(Compression::Lz4)),
    ];
    let one = |(name, version, compression)| {
        case(&format!("versions::{name}"), [Spec::single()], move |c| bodies(c, name, version, compression))
    };
    let mut cases: Vec<Case> = all.into_iter().map(one).collect();
    cases.push(case("versions::negotiated", [Spec::single()], negotiated));
    cases.push(case("versions::negotiated_with_a_node_of_v5_alone", [Spec::newest_protocol_only()], negotiated));
    cases
}

/// cassandra: v3, v4 and v5, with and without compression: values of 0 bytes to 1 MiB, compressible and not.
/// cql 2: envelopes over 128 KiB travel in several segments, both ways.
async fn bodies(clusters: Clusters, name: &str, version: ProtocolVersion, compression: Option<Compression>) {
    let way = Way::through(Mode::Delay, &[clusters[0].native()]).await;
    let keyspace = format!("bodies_{name}");
    let mut builder = with_keyspace(&way, &keyspace).await.protocol_version(version);
    if let Some(compression) = compression {
        builder = builder.compression(compression);
    }
    let session = builder.build().await.unwrap();
    let create = "CREATE TABLE bodies (size int, even boolean, body blob, PRIMARY KEY (size, even))";
    session.execute(create, ()).await.unwrap();
    let insert = session.prepare("INSERT INTO bodies (size, even, body) VALUES (?, ?, ?)").await.unwrap();
    let select = session.prepare("SELECT body FROM bodies WHERE size = ? AND even = ?").await.unwrap();
    for size in [0_usize, 1, 500, 100_000, 131_071, 131_072, 1 << 20] {
        for even in [true, false] {
            let body = body(size, even);
            let key = i32::try_from(size).unwrap();
            session.execute(&insert, (key, even, &body)).await.unwrap();
            let (read,) = session.execute(&select, (key, even)).await.unwrap().one::<(Vec<u8>,)>().await.unwrap();
            assert!(read == body, "{size} bytes, even {even}: {} came back", read.len());
        }
    }
    for (number, options) in clients(&session, &keyspace).await {
        assert_eq!(number, i32::from(version.as_u8()));
        assert_eq!(options.get("COMPRESSION").map(String::as_str), compression.map(Compression::name));
    }
}

/// A builder of sessions in a keyspace that is made first.
async fn with_keyspace(way: &Way, keyspace: &str) -> SessionBuilder {
    let session = way.builder().build().await.unwrap();
    let replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
    let create = format!("CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {replication}");
    session.execute(create, ()).await.unwrap();
    way.builder().keyspace(keyspace)
}

/// What the server knows of the connections in a keyspace: version and STARTUP options.
async fn clients(session: &Session, keyspace: &str) -> Vec<(i32, BTreeMap<String, String>)> {
    let select = "SELECT keyspace_name, protocol_version, client_options FROM system_views.clients";
    let all = session.execute(select, ()).await.unwrap().all::<(Option<String>, i32, _)>().await.unwrap();
    let ours = all.into_iter().filter(|(name, _, _)| name.as_deref() == Some(keyspace));
    let clients: Vec<_> = ours.map(|(_, version, options)| (version, options)).collect();
    assert!(!clients.is_empty(), "no connection in {keyspace}");
    clients
}

/// Bytes that compress well, or not at all.
fn body(size: usize, even: bool) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..size).map(|index| if even { (index / 1000) as u8 } else { next() }).collect()
}

/// cassandra: left to itself the session speaks v5, also with a node that refuses OPTIONS in anything else.
async fn negotiated(clusters: Clusters) {
    let way = Way::through(Mode::Delay, &[clusters[0].native()]).await;
    let session = with_keyspace(&way, "negotiated").await.build().await.unwrap();
    let clients = clients(&session, "negotiated").await;
    assert!(clients.iter().all(|(version, _)| *version == 5), "{clients:?}");
}
