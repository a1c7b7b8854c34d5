//! What is an address, what is not, and what the refusal says.

use std::{collections::HashSet, net::SocketAddr};

use messina_layers::{Address, HostAddr, Name};
use proptest::prelude::*;

use crate::support::PORT;

fn socket(text: &str) -> Address {
    Address::Socket(text.parse::<SocketAddr>().unwrap())
}

fn named(text: &str, port: u16) -> Address {
    Address::Name(Name::new(text).unwrap(), port)
}

/// connect 19: an IP literal is a socket address and carries no name.
/// connect D12: an address is a name or a socket.
#[test]
fn a_literal_is_a_socket_and_anything_else_a_name() {
    let label = "a".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}", "b".repeat(61));
    assert_eq!(longest.len(), 253);
    for (text, expected) in [
        ("host", named("host", PORT)),
        ("host:1", named("host", 1)),
        ("host:65535", named("host", 65535)),
        ("host:09", named("host", 9)),
        ("DB.Example.com:9042", named("db.example.com", 9042)),
        ("db.example.com.", named("db.example.com.", PORT)),
        ("_cql._tcp.example.com", named("_cql._tcp.example.com", PORT)),
        ("xn--bcher-kva.example", named("xn--bcher-kva.example", PORT)),
        ("1password.com", named("1password.com", PORT)),
        ("10.0.0.1.example", named("10.0.0.1.example", PORT)),
        ("0xylophone", named("0xylophone", PORT)),
        (&longest, named(&longest, PORT)),
        (&format!("{longest}."), named(&format!("{longest}."), PORT)),
        ("10.0.0.1", socket("10.0.0.1:9042")),
        ("10.0.0.1:9043", socket("10.0.0.1:9043")),
        ("::1", socket("[::1]:9042")),
        ("[::1]", socket("[::1]:9042")),
        ("[::1]:9043", socket("[::1]:9043")),
        // Eight groups at most, so this is an address whose last group is 9042, and cannot be anything else.
        ("::1:9042", socket("[::1:9042]:9042")),
        ("2001:DB8::1", socket("[2001:db8::1]:9042")),
        ("::ffff:10.0.0.1", socket("[::ffff:10.0.0.1]:9042")),
        ("fe80::1%7", socket("[fe80::1%7]:9042")),
        ("[fe80::1%7]:9043", socket("[fe80::1%7]:9043")),
        ("fe80::1%4294967295", socket("[fe80::1%4294967295]:9042")),
    ] {
        let parsed = Address::parse(text, PORT);
        assert_eq!(parsed.as_ref(), Ok(&expected), "{text}");
        assert_eq!(parsed.unwrap().name().is_none(), matches!(expected, Address::Socket(_)), "{text}");
    }
}

/// connect 20: a zone is a number; interfaces are not looked up by name.
#[test]
fn what_is_no_address_is_refused_with_text_problem_and_remedy() {
    let long_label = format!("{}.example", "a".repeat(64));
    let label = "a".repeat(63);
    let long_name = format!("{label}.{label}.{label}.{}", "b".repeat(62));
    assert_eq!(long_name.len(), 254);
    for (text, problem, remedy) in [
        ("", "has no host", "write `host`"),
        (".", "has no host", "write `host`"),
        (":9042", "has no host", "write `host`"),
        (" ", "the character ' '", "allowed are letters"),
        ("host ", "the character ' '", "allowed are letters"),
        ("two hosts:1", "the character ' '", "allowed are letters"),
        ("a/b", "the character '/'", "allowed are letters"),
        ("user@host", "the character '@'", "allowed are letters"),
        ("bücher.example", "the character 'ü'", "xn--"),
        ("10.0.0.1%7", "the character '%'", "allowed are letters"),
        ("a..b", "a label that is not", "1 to 63 characters"),
        (".a", "a label that is not", "1 to 63 characters"),
        ("..", "a label that is not", "1 to 63 characters"),
        (&long_label, "a label that is not", "1 to 63 characters"),
        (&long_name, "is longer than", "253 characters"),
        ("1.2.3", "not an IPv4 address", "four numbers from 0 to 255"),
        ("10.0.0.256", "not an IPv4 address", "four numbers from 0 to 255"),
        ("10.0.0.01", "not an IPv4 address", "four numbers from 0 to 255"),
        ("10.0.0.1.", "not an IPv4 address", "four numbers from 0 to 255"),
        ("1.2.3.4.5", "not an IPv4 address", "four numbers from 0 to 255"),
        ("2130706433", "not an IPv4 address", "four numbers from 0 to 255"),
        ("0x7f000001", "not an IPv4 address", "four numbers from 0 to 255"),
        ("127.0X1", "not an IPv4 address", "four numbers from 0 to 255"),
        ("host.7", "not an IPv4 address", "four numbers from 0 to 255"),
        ("[::1", "the brackets", "write `[ipv6]:port`"),
        ("[::1]9042", "the brackets", "write `[ipv6]:port`"),
        ("[10.0.0.1]:1", "the brackets", "write `[ipv6]:port`"),
        ("[host]:1", "the brackets", "write `[ipv6]:port`"),
        ("[]:1", "the brackets", "write `[ipv6]:port`"),
        ("a:b:c", "neither `host:port` nor an IPv6 address", "needs brackets"),
        ("1:2:3:4:5:6:7:8:9042", "neither `host:port` nor an IPv6 address", "needs brackets"),
        ("fe80::1%eth0", "the zone", "a number from 0 to 4294967295"),
        ("fe80::1%+7", "the zone", "a number from 0 to 4294967295"),
        ("fe80::1%", "the zone", "a number from 0 to 4294967295"),
        ("fe80::1%4294967296", "the zone", "a number from 0 to 4294967295"),
        ("host:", "the port", "a number from 1 to 65535"),
        ("host:0", "the port", "a number from 1 to 65535"),
        ("host:65536", "the port", "a number from 1 to 65535"),
        ("host:+1", "the port", "a number from 1 to 65535"),
        ("host:-1", "the port", "a number from 1 to 65535"),
        ("host: 1", "the port", "a number from 1 to 65535"),
        ("host:cql", "the port", "a number from 1 to 65535"),
        ("cql://host:9042", "has a scheme", "write `host`, `host:port`"),
        ("http://host", "has a scheme", "write `host`, `host:port`"),
        ("tcp://10.0.0.1:9042/", "has a scheme", "write `host`, `host:port`"),
        ("host:9042,host2:9042", "has a comma", "one by one"),
        ("host, host2", "has a comma", "one by one"),
        ("cql://host,host2", "has a comma", "one by one"),
        ("[::1]:", "the port", "a number from 1 to 65535"),
        ("[::1]:+1", "the port", "a number from 1 to 65535"),
    ] {
        let error = Address::parse(text, PORT).unwrap_err();
        let said = error.to_string();
        assert_eq!(error.text(), text);
        assert!(said.contains(&format!("{text:?}")), "{text:?}: {said}");
        assert!(said.contains(problem) && said.contains(remedy), "{text:?}: {said}");
    }
}

#[test]
fn a_port_must_come_from_somewhere_and_not_be_zero() {
    assert!("host".parse::<Address>().unwrap_err().to_string().contains("has no port; write `host:port`"));
    assert_eq!("host:1".parse::<Address>(), Ok(named("host", 1)));
    assert!(Address::parse("host", 0).unwrap_err().to_string().contains("1 to 65535"));
    assert!(Address::new("host", 0).unwrap_err().to_string().contains("1 to 65535"));
    assert_eq!(Address::new("::1", 1), Ok(socket("[::1]:1")));
    assert_eq!(Address::new("host", 1), Ok(named("host", 1)));
    assert!(Address::new("host:1", 1).is_err(), "a port belongs in its own argument");
}

#[test]
fn a_literal_is_no_name() {
    for text in ["10.0.0.1", "::1", "[::1]"] {
        assert!(Name::new(text).unwrap_err().to_string().contains("is an IP address, not a name"), "{text}");
    }
}

/// reviewer 64: an address that has no IP yet cannot be misread.
/// connect 2: what to dial is told at once, without a lookup, and may be a name.
#[test]
fn readers_cope_with_what_is_missing() {
    let (name, literal) = (named("db.test", 1), socket("[fe80::1%7]:1"));
    assert_eq!((name.ip(), name.host().as_str(), name.port()), (None, "db.test", 1));
    assert_eq!((literal.name(), literal.host().as_str(), literal.port()), (None, "fe80::1%7", 1));
    assert_eq!(name.with_port(2), named("db.test", 2));
    assert_eq!(literal.with_port(2), socket("[fe80::1%7]:2"));
}

/// connect D13: a name and the address it stands for are different; nothing is looked up to compare them.
/// scenario S24: equality looks nothing up and agrees with the hash.
/// scenario S37: names that differ in case alone are one name.
#[test]
fn names_compare_without_case_and_never_equal_addresses() {
    let set: HashSet<Address> = [named("db.test", 1), named("DB.TEST", 1), socket("10.0.0.1:1")].into();
    assert_eq!(set.len(), 2);
    assert!(set.contains(&named("Db.Test", 1)));
    assert_ne!(named("localhost", 1), socket("127.0.0.1:1"));
    assert_ne!(named("db.test", 1), named("db.test", 2));
    assert_ne!(named("db.test", 1), named("db.test.", 1), "a final dot stops the search domains");
}

fn any_address() -> impl Strategy<Value = Address> {
    let label = "[a-zA-Z_]([a-zA-Z0-9_-]{0,8}[a-zA-Z0-9])?";
    prop_oneof![
        (proptest::collection::vec(label, 1..4), 1_u16..).prop_map(|(labels, port)| named(&labels.join("."), port)),
        (any::<[u8; 4]>(), 1_u16..).prop_map(|(ip, port)| Address::Socket((ip, port).into())),
        (any::<[u16; 8]>(), any::<u32>(), 1_u16..)
            .prop_map(|(ip, zone, port)| Address::Socket(HostAddr::new(ip.into(), zone).with_port(port))),
    ]
}

proptest! {
    #[test]
    fn printing_and_parsing_are_inverse(address in any_address()) {
        let text = address.to_string();
        prop_assert_eq!(text.parse::<Address>(), Ok(address.clone()));
        prop_assert_eq!(Address::parse(&text, 1), Ok(address.clone()));
        prop_assert_eq!(Address::new(&address.host(), address.port()), Ok(address));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}", port in any::<u16>()) {
        if let Ok(address) = Address::parse(&text, port) {
            prop_assert!(address.port() != 0);
        }
        let _ = Name::new(&text);
    }

    /// Near misses of real addresses.
    #[test]
    fn no_mutation_panics(address in any_address(), at in any::<prop::sample::Index>(), c in any::<char>()) {
        let mut text: Vec<char> = address.to_string().chars().collect();
        let at = at.index(text.len());
        text[at] = c;
        let text: String = text.into_iter().collect();
        if let Err(error) = Address::parse(&text, 1) {
            let quoted = format!("{text:?}");
            prop_assert!(error.to_string().contains(&quoted));
        }
    }
}
