//! Endpoints as values: what makes two of them one, what they print, and that nothing is looked up for that.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, RandomState},
    net::SocketAddr,
    sync::Arc,
};

use messina::{
    endpoint::{
        ContactPoint, CustomEndpoint, Endpoint, RouteConnection, RouteEndpoint, RouteRead, RouteRow, RouteTable,
        Routes, SniEndpoint, SniProxy,
    },
    layers::{Address, Dial, HostAddr, Name, Pinnable, Pinned},
};
use uuid::Uuid;

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn address(text: &str) -> Address {
    text.parse().unwrap()
}

const HOST: Uuid = Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);

/// A table with this one route to [`HOST`].
fn table(to: &str) -> RouteTable {
    let table = RouteTable::new();
    publish(&table, to);
    table
}

fn publish(table: &RouteTable, to: &str) {
    let address = address(to);
    let row = RouteRow {
        connection_id: Some("one".into()),
        host_id: Some(HOST),
        address: Some(address.host()),
        port: Some(address.port().into()),
        tls_port: None,
    };
    let read = RouteRead { covered: messina::endpoint::Covered::All, rows: vec![row] };
    let merged = Routes::default().merge(&read, &[RouteConnection::new("one")], false);
    assert!(merged.unusable.is_empty(), "{:?}", merged.unusable);
    table.publish(merged.routes);
}

#[derive(Debug)]
struct Tunnel(&'static str, Address);

impl CustomEndpoint for Tunnel {
    fn id(&self) -> &str {
        self.0
    }

    fn address(&self) -> Address {
        self.1.clone()
    }
}

fn sni(proxy: &str, server_name: &str) -> Endpoint {
    Endpoint::Sni(SniEndpoint::new(address(proxy), name(server_name)))
}

fn custom(id: &'static str, to: &str) -> Endpoint {
    Endpoint::Custom(Arc::new(Tunnel(id, address(to))))
}

/// One of each kind.
fn kinds() -> Vec<Endpoint> {
    vec![
        Endpoint::Direct(address("db.test:9042")),
        Endpoint::Direct(address("10.0.0.1:9042")),
        sni("proxy.test:443", "one.cluster.test"),
        Endpoint::ClientRoute(RouteEndpoint::new(HOST, RouteTable::new(), Some(address("10.0.0.1:9042")))),
        custom("tunnel", "10.0.0.1:9042"),
    ]
}

fn hash(endpoint: &Endpoint, state: &RandomState) -> u64 {
    state.hash_one(endpoint)
}

/// connect D13: endpoints are compared by value, never by what a name leads to: a name and its address are two.
/// connect 103: equality has nothing to look up.
/// report 4: pure value semantics, equal implies equal hash.
/// scenario S24: no lookup occurs, equal implies equal hash, and there is no record order to depend on.
/// reviewer 49: one side a name, the other an address: not equal, in both directions, whatever DNS says.
#[test]
fn compared_by_value() {
    let state = RandomState::new();
    let kinds = kinds();
    for (i, a) in kinds.iter().enumerate() {
        for (j, b) in kinds.iter().enumerate() {
            assert_eq!(a == b, i == j, "{a} and {b}");
        }
        assert_eq!(hash(a, &state), hash(&a.clone(), &state));
    }
    for (a, b) in [
        (Endpoint::Direct(address("DB.test:9042")), Endpoint::Direct(address("db.TEST:9042"))),
        (sni("Proxy.test:443", "One.cluster.test"), sni("proxy.test:443", "one.cluster.test")),
        (custom("tunnel", "10.0.0.1:1"), custom("tunnel", "10.0.0.2:2")),
    ] {
        assert!(a == b && hash(&a, &state) == hash(&b, &state), "{a} and {b} are one");
    }
    for (a, b) in [
        (sni("proxy.test:443", "one.cluster.test"), sni("proxy.test:443", "two.cluster.test")),
        (sni("proxy.test:443", "one.cluster.test"), sni("proxy.test:444", "one.cluster.test")),
        (Endpoint::Direct(address("db.test:9042")), Endpoint::Direct(address("db.test:9043"))),
        (custom("one", "10.0.0.1:1"), custom("two", "10.0.0.1:1")),
    ] {
        assert_ne!(a, b);
    }
}

/// connect D25: an endpoint and its pinned copy are interchangeable as map keys, both ways, whatever the kind.
/// connect 106: a pinned SNI endpoint still says its server name.
/// reviewer 67: pinning to the address that is there already changes nothing.
#[test]
fn pinned_copies_are_the_same_key() {
    let pin = HostAddr::from("10.9.9.9:1".parse::<SocketAddr>().unwrap());
    for endpoint in kinds() {
        let mut pinned = Pinned::new(endpoint.clone());
        pinned.pin_to(pin);
        let (pinned_first, plain_first): (HashSet<Pinned<Endpoint>>, HashMap<Pinned<Endpoint>, ()>) =
            ([pinned.clone()].into(), [(Pinned::new(endpoint.clone()), ())].into());
        assert!(pinned_first.contains(&endpoint) && plain_first.contains_key(&pinned), "{endpoint}");
        assert_eq!(pinned.to_string(), endpoint.to_string());
        assert_eq!(pinned.target().server_name(), endpoint.server_name());
        assert_eq!(pinned.target().tls_name(), endpoint.tls_name());
        let port = endpoint.address().port();
        assert_eq!(pinned.address(), Address::Socket(pin.with_port(port)), "{endpoint}");
        let again = pinned.clone();
        pinned.pin_to(pin);
        assert_eq!(format!("{pinned:?}"), format!("{again:?}"));
    }
}

/// connect 102: a direct endpoint gives its address as it is, name or literal.
/// connect 142: readers of the address cope with an IP that is not known: `host()` is always there, `ip()` may not be.
/// reviewer 64: a name never yields a null address.
#[test]
fn typed_accessors() {
    let own = Some(address("10.0.0.1:9042"));
    for (endpoint, host, ip) in [
        (Endpoint::Direct(address("db.test:9042")), "db.test", None),
        (Endpoint::Direct(address("[fe80::1%7]:9042")), "fe80::1%7", Some("fe80::1")),
        (sni("proxy.test:443", "one.cluster.test"), "proxy.test", None),
        (sni("10.0.0.7:443", "one.cluster.test"), "10.0.0.7", Some("10.0.0.7")),
        (custom("tunnel", "gateway.test:1"), "gateway.test", None),
        (Endpoint::ClientRoute(RouteEndpoint::new(HOST, table("route.test:9001"), own.clone())), "route.test", None),
        (
            Endpoint::ClientRoute(RouteEndpoint::new(HOST, table("10.0.0.8:9001"), own.clone())),
            "10.0.0.8",
            Some("10.0.0.8"),
        ),
        (Endpoint::ClientRoute(RouteEndpoint::new(HOST, RouteTable::new(), own)), "10.0.0.1", Some("10.0.0.1")),
    ] {
        assert_eq!(endpoint.host(), host);
        assert_eq!(endpoint.ip().map(|ip| ip.to_string()).as_deref(), ip, "{endpoint}");
    }
}

/// connect 104: a proxy's name stays a name in whatever form it came, a literal stays a literal.
/// reviewer 27: a proxy is never frozen on the address that its name led to once: nothing but a name is stored.
#[test]
fn a_proxy_stays_what_it_was_written_as() {
    for (text, expected) in [
        ("Proxy.Test:9142", "Proxy.Test:9142"),
        ("proxy.test", "proxy.test:443"),
        ("proxy.test.", "proxy.test.:443"),
        ("10.0.0.1:9142", "10.0.0.1:9142"),
        ("[::1]:9142", "[::1]:9142"),
        ("::1", "[::1]:443"),
    ] {
        let proxy = SniProxy::parse(text, "cluster.test").unwrap();
        for endpoint in [proxy.node(HOST), proxy.bootstrap().remove(0)] {
            assert_eq!(endpoint.address().to_string(), expected, "{text}");
            assert_eq!(endpoint.address().name().is_some(), text.to_lowercase().contains("test"));
        }
    }
}

/// report 44: a node's name is its host id before the domain; the bootstrap name is used for bootstrap only.
/// connect 105: which address of the proxy is dialled is nobody's business here.
#[test]
fn server_names() {
    let proxy = SniProxy::parse("proxy.test", "cluster.test").unwrap();
    let node = proxy.node(HOST);
    let host_name = format!("{HOST}.cluster.test");
    assert_eq!(node.server_name().unwrap().as_str(), host_name);
    assert_eq!(node.tls_name(), node.server_name(), "what is sent is verified, unless told otherwise");
    assert_eq!(node.to_string(), format!("{host_name} via proxy.test:443"));
    let [bootstrap] = &proxy.bootstrap()[..] else { panic!("one name to begin with") };
    assert_eq!(bootstrap.server_name().unwrap().as_str(), "cluster.test");

    let fixed = proxy.clone().verifying(name("gateway.test")).node(HOST);
    assert_eq!((fixed.server_name().unwrap().as_str(), fixed.tls_name()), (&*host_name, Some(name("gateway.test"))));
    let ends_tls = proxy.verifying_the_proxy().node(HOST);
    assert_eq!(
        (ends_tls.server_name().unwrap().as_str(), ends_tls.tls_name()),
        (&*host_name, Some(name("proxy.test")))
    );
    let at_literal = SniProxy::parse("10.0.0.1", "cluster.test").unwrap().verifying_the_proxy().node(HOST);
    assert_eq!(at_literal.tls_name(), None, "the address that is dialled");

    let bare = SniProxy::with_bare_host_ids(address("proxy.test:29042"), vec![name(&HOST.to_string())]);
    assert_eq!(bare.node(HOST), bare.bootstrap()[0]);
    assert_eq!(bare.node(HOST).server_name().unwrap().as_str(), HOST.to_string());
    assert_eq!(bare.node(HOST).tls_name(), Some(name("proxy.test")));

    let long = format!("{}.test", ["abcdefghi"; 22].join("."));
    let error = SniProxy::parse("proxy.test", &long).unwrap_err();
    assert!(error.to_string().contains("longer than 253"), "{error}");
}

/// connect 108: a route is looked up in memory at each connect, gives `host:port` unresolved, and cannot fail.
/// connect 109: without a route, the node's own address stands in.
/// scenario S35: reached directly, its route published later: the next look takes the route.
/// reviewer 72: nothing is bound to the address that stood in.
/// reviewer 7: the lookup of a route is memory only and yields a name.
#[test]
fn a_route_is_looked_up_each_time() {
    let routes = RouteTable::new();
    let endpoint = Endpoint::ClientRoute(RouteEndpoint::new(HOST, routes.clone(), Some(address("10.0.0.1:9042"))));
    let (display, state) = (endpoint.to_string(), RandomState::new());
    let hash_before = hash(&endpoint, &state);
    assert_eq!(endpoint.address(), address("10.0.0.1:9042"));
    assert_eq!(endpoint.tls_name(), None);
    publish(&routes, "route.test:9001");
    assert_eq!(endpoint.address(), address("route.test:9001"));
    assert_eq!(endpoint.tls_name(), Some(name("route.test")));
    publish(&routes, "other.test:9002");
    assert_eq!(endpoint.address(), address("other.test:9002"));
    routes.publish(Routes::default());
    assert_eq!(endpoint.address(), address("10.0.0.1:9042"));
    // report 53: the identity and the name of the node stay, whatever its route is.
    assert_eq!((endpoint.to_string(), hash(&endpoint, &state)), (display, hash_before));
    assert!(endpoint.to_string().contains(&HOST.to_string()));
}

/// report 47: where routes alone are allowed, no route is no address that anyone could have.
#[test]
fn no_route_leads_nowhere() {
    let endpoint = Endpoint::ClientRoute(RouteEndpoint::new(HOST, RouteTable::new(), None));
    let Address::Name(nowhere, _) = endpoint.address() else { panic!("an address") };
    assert!(nowhere.as_str().ends_with(".invalid"), "{nowhere}");
}

/// connect D23: across connects only direct endpoints keep the address that answered.
#[test]
fn who_keeps_a_pin() {
    let kept: Vec<bool> = kinds().iter().map(Endpoint::keeps_pin).collect();
    assert_eq!(kept, [true, true, false, false, false]);
}

/// connect 112: endpoints of the application's own compile with what they had, and may say more.
#[test]
fn custom_endpoints() {
    #[derive(Debug)]
    struct Named;
    impl CustomEndpoint for Named {
        fn id(&self) -> &str {
            "named"
        }
        fn address(&self) -> Address {
            Address::Socket("10.0.0.1:9042".parse().unwrap())
        }
        fn tls_name(&self) -> Option<Name> {
            Some(Name::new("db.test").unwrap())
        }
        fn server_name(&self) -> Option<Name> {
            Some(Name::new("tunnel.test").unwrap())
        }
    }
    let plain = custom("tunnel", "gateway.test:1");
    assert_eq!((plain.tls_name(), plain.server_name()), (Some(name("gateway.test")), Some(name("gateway.test"))));
    let more = Endpoint::Custom(Arc::new(Named));
    assert_eq!((more.tls_name(), more.server_name()), (Some(name("db.test")), Some(name("tunnel.test"))));
    assert_eq!(ContactPoint::from_endpoint(more).to_string(), "named");
}
