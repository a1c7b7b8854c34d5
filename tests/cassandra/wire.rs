//! What the server really says, byte by byte: the ground the driver's handshake stands on.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use crate::support::case::{Case, Clusters, case};
use crate::support::raw::{AUTH_SUCCESS, AUTHENTICATE, OPTIONS, READY, RESULT, Raw, SUPPORTED};
use crate::support::spec::{Spec, TLS_NAME};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("wire::supported_lists_every_version", [Spec::single()], supported_lists_every_version),
        case("wire::each_version_answers_a_query", [Spec::single()], each_version_answers_a_query),
        case("wire::the_newest_release_answers_trouble_on_its_stream", [Spec::single()], trouble_on_its_stream),
        case("wire::version_two_is_never_answered", [Spec::single()], version_two_is_never_answered),
        case("wire::registering_for_an_unknown_event", [Spec::single()], registering_for_an_unknown_event),
        case(
            "wire::an_earlier_release_answers_trouble_on_stream_zero",
            [Spec::newest_protocol_only()],
            trouble_on_stream_zero,
        ),
        case("wire::older_protocols_are_refused_by_name", [Spec::newest_protocol_only()], older_protocols_are_refused),
        case("wire::login", [Spec::passwords()], login),
        case("wire::tls", [Spec::tls(), Spec::tls_other_name()], tls),
        case("wire::mutual_tls", [Spec::mutual_tls()], mutual_tls),
        case("wire::a_foreign_cluster", [Spec::passwords(), Spec::foreign()], a_foreign_cluster),
    ]
}

/// cassandra: OPTIONS is answered in every version before STARTUP, with the versions the server speaks.
/// cql 8: SUPPORTED carries PROTOCOL_VERSIONS whatever version asks.
async fn supported_lists_every_version(clusters: Clusters) {
    for version in [3, 4, 5] {
        let mut raw = Raw::connect(clusters[0].native(), version).unwrap();
        let answer = raw.call(7, OPTIONS, &[]).unwrap();
        assert_eq!((answer.version, answer.stream, answer.opcode), (version, 7, SUPPORTED));
        for key in ["PROTOCOL_VERSIONS", "3/v3", "4/v4", "5/v5", "6/v6-beta", "CQL_VERSION", "COMPRESSION", "lz4"] {
            assert!(answer.text().contains(key), "v{version}: no {key} in {:?}", answer.text());
        }
    }
}

/// cassandra: a handshake and a query in v3, v4 and v5, the last in segments.
async fn each_version_answers_a_query(clusters: Clusters) {
    for version in [3, 4, 5] {
        let mut raw = Raw::connect(clusters[0].native(), version).unwrap();
        assert_eq!(raw.startup(&[]).unwrap().opcode, READY);
        let answer = raw.query("SELECT cluster_name FROM system.local").unwrap();
        assert_eq!((answer.version, answer.stream, answer.opcode), (version, 2, RESULT));
        assert!(answer.text().contains("messina"), "{:?}", answer.text());
    }
}

/// cassandra: 5.0.9 answers an unknown version in a v5 header, on the stream that asked.
async fn trouble_on_its_stream(clusters: Clusters) {
    let mut raw = Raw::connect(clusters[0].native(), 7).unwrap();
    let answer = raw.call(42, OPTIONS, &[]).unwrap();
    assert_eq!((answer.version, answer.stream, answer.code()), (5, 42, 0x000A));
    assert!(answer.text().contains("Invalid or unsupported protocol version (7)"), "{:?}", answer.text());
    let mut raw = Raw::connect(clusters[0].native(), 6).unwrap();
    let answer = raw.call(42, OPTIONS, &[]).unwrap();
    assert_eq!((answer.version, answer.stream, answer.code()), (6, 42, 0x000A));
    assert!(answer.text().contains("Beta version of the protocol used"), "{:?}", answer.text());
}

/// cql 8: an unknown version, v6 without the beta flag and a request before STARTUP are answered on stream 0.
async fn trouble_on_stream_zero(clusters: Clusters) {
    let mut raw = Raw::connect(clusters[0].native(), 7).unwrap();
    let answer = raw.call(42, OPTIONS, &[]).unwrap();
    assert_eq!((answer.version, answer.stream, answer.code()), (5, 0, 0x000A));
    assert!(answer.text().contains("Invalid or unsupported protocol version (7)"), "{:?}", answer.text());
    let mut raw = Raw::connect(clusters[0].native(), 6).unwrap();
    let answer = raw.call(42, OPTIONS, &[]).unwrap();
    assert_eq!((answer.version, answer.stream, answer.code()), (6, 0, 0x000A));
    let mut raw = Raw::connect(clusters[0].native(), 5).unwrap();
    let answer = raw.query("SELECT key FROM system.local").unwrap();
    assert_eq!((answer.version, answer.stream, answer.code()), (5, 0, 0x000A));
    assert!(answer.text().contains("expecting STARTUP or OPTIONS"), "{:?}", answer.text());
}

/// cql 8: version 2 is not answered at all, and the connection stays open.
async fn version_two_is_never_answered(clusters: Clusters) {
    let mut raw = Raw::connect(clusters[0].native(), 2).unwrap();
    raw.patience(Duration::from_millis(300)).unwrap();
    let silence = raw.call(1, OPTIONS, &[]).unwrap_err();
    assert!(matches!(silence.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{silence}");
}

/// cql 8: REGISTER with an unknown event is refused on its own stream; an empty list is accepted.
async fn registering_for_an_unknown_event(clusters: Clusters) {
    for version in [4, 5] {
        let mut raw = Raw::connect(clusters[0].native(), version).unwrap();
        assert_eq!(raw.startup(&[]).unwrap().opcode, READY);
        let answer = raw.register(&["STATUS_CHANGE", "CLIENT_ROUTES_CHANGE"]).unwrap();
        assert_eq!((answer.stream, answer.code()), (3, 0x000A));
        assert!(answer.text().contains("Invalid value 'CLIENT_ROUTES_CHANGE' for Type"), "{:?}", answer.text());
        assert_eq!(raw.register(&[]).unwrap().opcode, READY);
        assert_eq!(raw.register(&["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"]).unwrap().opcode, READY);
    }
}

/// cassandra: with older protocols forbidden v4 is refused at OPTIONS, in words that name no "unsupported version";
/// the same connection then answers v5.
async fn older_protocols_are_refused(clusters: Clusters) {
    for version in [3, 4] {
        let mut raw = Raw::connect(clusters[0].native(), version).unwrap();
        let answer = raw.call(42, OPTIONS, &[]).unwrap();
        assert_eq!((answer.version, answer.stream, answer.code()), (5, 0, 0x000A));
        let text = format!("Rejecting Protocol Version {version}/v{version} < 5/v5.");
        assert!(answer.text().contains(&text), "{:?}", answer.text());
        raw.speak(5);
        assert_eq!(raw.call(42, OPTIONS, &[]).unwrap().opcode, SUPPORTED);
        assert_eq!(raw.startup(&[]).unwrap().opcode, READY);
    }
}

/// cassandra: a password is asked for, the right one accepted, a wrong one refused with 0100.
async fn login(clusters: Clusters) {
    for version in [3, 4, 5] {
        let mut raw = Raw::connect(clusters[0].native(), version).unwrap();
        let answer = raw.startup(&[]).unwrap();
        assert_eq!(answer.opcode, AUTHENTICATE);
        assert!(answer.text().contains("PasswordAuthenticator"), "{:?}", answer.text());
        assert_eq!(raw.login("cassandra", "cassandra").unwrap().opcode, AUTH_SUCCESS);
        assert_eq!(raw.query("SELECT key FROM system.local").unwrap().opcode, RESULT);

        let mut raw = Raw::connect(clusters[0].native(), version).unwrap();
        raw.startup(&[]).unwrap();
        let answer = raw.login("cassandra", "wrong").unwrap();
        assert_eq!((answer.stream, answer.code()), (4, 0x0100));
        assert!(answer.text().contains("Provided username cassandra and/or password are incorrect"));
    }
}

/// cassandra: TLS with a certificate whose only name is a DNS name; another name in it is noticed.
async fn tls(clusters: Clusters) {
    let config = clusters.registry.pki.client(false);
    let mut raw = Raw::connect_tls(clusters[0].native(), TLS_NAME, Arc::clone(&config)).unwrap();
    assert_eq!(raw.startup(&[]).unwrap().opcode, READY);
    let error = Raw::connect_tls(clusters[1].native(), TLS_NAME, config).unwrap_err();
    assert!(error.to_string().contains("not valid for name"), "{error}");
    let error = Raw::connect(clusters[0].native(), 4).unwrap().startup(&[]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset), "{error}");
}

/// cassandra: a node that wants a client certificate refuses a client without one, after the client's handshake.
async fn mutual_tls(clusters: Clusters) {
    let pki = &clusters.registry.pki;
    let mut raw = Raw::connect_tls(clusters[0].native(), TLS_NAME, pki.client(true)).unwrap();
    assert_eq!(raw.startup(&[]).unwrap().opcode, READY);
    let refused =
        Raw::connect_tls(clusters[0].native(), TLS_NAME, pki.client(false)).and_then(|mut raw| raw.startup(&[]));
    let error = refused.unwrap_err();
    assert!(error.to_string().contains("alert"), "{error}");
}

/// cassandra: another cluster on another address, with the same port.
async fn a_foreign_cluster(clusters: Clusters) {
    assert_eq!(clusters[0].native().port(), clusters[1].native().port());
    for (index, name) in ["passwords", "foreign"].into_iter().enumerate() {
        let mut raw = Raw::connect(clusters[index].native(), 4).unwrap();
        raw.startup(&[]).unwrap();
        assert_eq!(raw.login("cassandra", "cassandra").unwrap().opcode, AUTH_SUCCESS);
        assert!(raw.query("SELECT cluster_name FROM system.local").unwrap().text().contains(name));
    }
}
