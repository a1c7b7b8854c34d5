//! The table, and what resolvers may answer.

use std::net::{IpAddr, SocketAddr};

use messina_layers::{FixedResolver, HostAddr, Name, Resolved};
use tower::ServiceExt;

use crate::support::{literal_is_answered_at_once, name};

/// scenario S5: a literal is answered with itself, without a hop.
/// connect 7: a socket address passes unchanged as the single candidate.
#[test]
fn literals_are_answered_at_once() {
    literal_is_answered_at_once(FixedResolver::new());
}

/// scenario S37: names that differ in case alone are one name.
#[tokio::test]
async fn names_are_found_without_case() {
    let one: IpAddr = "10.0.0.1".parse().unwrap();
    let resolver = FixedResolver::new().with(Name::new("DB.test").unwrap(), [one]);
    let more = resolver.clone().with(Name::new("other.test").unwrap(), [one, one]);
    assert_eq!(resolver.clone().oneshot(name("db.TEST")).await.unwrap(), [Resolved::from(one)]);
    let error = resolver.oneshot(name("other.test")).await.unwrap_err();
    assert_eq!(error.to_string(), "the name other.test is not in the fixed table");
    assert_eq!(more.oneshot(name("other.test")).await.unwrap().len(), 2, "a copy, not the original, has more");
}

/// Whatever a resolver answers becomes a socket address: with its own port, or the one wanted.
/// connect 20: the zone stays.
#[test]
fn answers_of_every_kind() {
    let v4: IpAddr = "10.0.0.1".parse().unwrap();
    let v6: std::net::Ipv6Addr = "fe80::1".parse().unwrap();
    let socket = |text: &str| text.parse::<SocketAddr>().unwrap();
    for (answer, dialled) in [
        (Resolved::from(v4), "10.0.0.1:9042"),
        (Resolved::from(std::net::Ipv4Addr::new(10, 0, 0, 1)), "10.0.0.1:9042"),
        (Resolved::from(v6), "[fe80::1]:9042"),
        (Resolved::from(HostAddr::new(v6.into(), 7)), "[fe80::1%7]:9042"),
        (Resolved::from(HostAddr::new(v4, 7)), "10.0.0.1:9042"),
        (Resolved::from(socket("10.0.0.1:0")), "10.0.0.1:9042"),
        (Resolved::from(socket("10.0.0.1:19042")), "10.0.0.1:19042"),
        (Resolved::from(socket("[fe80::1%7]:0")), "[fe80::1%7]:9042"),
    ] {
        assert_eq!(answer.socket(9042), socket(dialled));
    }
}
