//! Contact points: what is a name, what is an address, and what is neither.

use std::net::SocketAddr;

use messina::{Session, layers::Address};

use crate::{checked, refused};

/// connect 114: a socket address is used as it is; a name stays a name.
/// connect D12: there is no third state.
#[test]
fn names_and_sockets() {
    let builder = Session::builder()
        .contact_point("db.example.com")
        .contact_point("DB2.example.com:9043")
        .contact_point("10.0.0.1")
        .contact_point("10.0.0.2:9044")
        .contact_point("2001:db8::1")
        .contact_point("[2001:db8::2]")
        .contact_point("[2001:db8::3]:9045")
        .contact_point("[fe80::1%7]:9042")
        .contact_point("db.example.com.")
        .contact_addr("10.0.0.3:1".parse().unwrap());
    let config = checked(&builder);
    let all: Vec<_> = config.contact_points.iter().map(ToString::to_string).collect();
    assert_eq!(
        all,
        [
            "db.example.com:9042",
            "DB2.example.com:9043",
            "10.0.0.1:9042",
            "10.0.0.2:9044",
            "[2001:db8::1]:9042",
            "[2001:db8::2]:9042",
            "[2001:db8::3]:9045",
            "[fe80::1%7]:9042",
            "db.example.com.:9042",
            "10.0.0.3:1",
        ]
    );
    let names = config.contact_points.iter().map(|point| messina::layers::Dial::address(point.endpoint()));
    let names = names.map(|address| matches!(address, Address::Name(..)));
    assert_eq!(names.filter(|is_name| *is_name).count(), 3);
}

/// connect 115: no lookup happens here: what cannot be resolved is accepted.
/// connect 1: config parsing looks nothing up.
#[test]
fn nothing_is_looked_up() {
    checked(&Session::builder().contact_point("no-such-host.invalid"));
}

/// The same contact point twice is one; names are compared without case.
#[test]
fn duplicates_are_one() {
    let points = ["db.test", "DB.test:9042", "db.test:9043", "10.0.0.1", "10.0.0.1:9042"];
    let config = checked(&Session::builder().contact_points(points));
    assert_eq!(config.contact_points.len(), 3);
}

/// Malformed contact points: each is refused with the option, the text and what is allowed.
#[tokio::test]
async fn malformed() {
    let label = format!("{}.test", "x".repeat(64));
    let long = ["abcdefgh."; 29].concat();
    let odd = [
        ("", "no host"),
        (" ", "character ' '"),
        (":9042", "no host"),
        (".", "no host"),
        ("db.test:", "the port"),
        ("db.test:0", "the port"),
        ("db.test:65536", "the port"),
        ("db.test:-1", "the port"),
        ("db.test:cql", "the port"),
        ("db.test: 9042", "the port"),
        ("db.test:9042:9042", "neither"),
        ("10.0.0.1:0", "the port"),
        ("[::1]:0", "the port"),
        ("[::1", "brackets"),
        ("[::1]9042", "brackets"),
        ("[::1]:", "the port"),
        ("[]:9042", "brackets"),
        ("[10.0.0.1]:9042", "brackets"),
        ("[db.test]:9042", "brackets"),
        ("::1]:9042", "neither"),
        ("1::2::3", "neither"),
        ("fe80::1%eth0", "zone"),
        ("[fe80::1%eth0]:9042", "zone"),
        ("10.0.0", "ends in a number"),
        ("10.0.0.256", "ends in a number"),
        ("10.0.0.1.5", "ends in a number"),
        ("db..test", "label"),
        (".db.test", "label"),
        ("db test", "character ' '"),
        ("db\n.test", "character '\\n'"),
        ("db.test/24", "character '/'"),
        ("user@db.test", "character '@'"),
        ("bücher.test", "character 'ü'"),
        ("http://db.test", "scheme"),
        ("cql://db.test:9042", "scheme"),
        ("a.test:9042,b.test:9042", "one by one"),
        (&label, "label"),
        (&long, "longer"),
    ];
    for (text, why) in odd {
        let error = refused(Session::builder().contact_point(text)).await;
        assert_eq!((error.option(), error.value()), ("basic.contact-points", text));
        assert!(error.allowed().contains("`host`, `host:port` or `[ipv6]:port`"), "{error}");
        assert!(error.to_string().contains(why), "{why:?} is not in {error}");
    }
}

/// An empty list is refused, whichever way it came about.
#[tokio::test]
async fn none_at_all() {
    let nothing: [&str; 0] = [];
    for builder in [
        Session::builder(),
        Session::builder().contact_points(nothing),
        Session::builder().set("basic.contact-points", ""),
        Session::builder().set("basic.contact-points", " , ,"),
    ] {
        let error = refused(builder).await;
        assert_eq!((error.option(), error.value()), ("basic.contact-points", ""));
        assert!(error.allowed().contains("at least one"), "{error}");
    }
}

/// A socket address with port 0 cannot be dialled, and is refused like a text that says so.
#[tokio::test]
async fn port_0_of_a_socket() {
    let addr: SocketAddr = "10.0.0.1:0".parse().unwrap();
    let error = refused(Session::builder().contact_addr(addr)).await;
    assert_eq!((error.option(), error.value()), ("basic.contact-points", "10.0.0.1:0"));
}
