//! Settings of how nodes are reached: what goes together, and what does not.

use messina::{
    Session,
    config::{Reach, TlsSettings},
    endpoint::{SniProxy, SubnetTranslator, TableTranslator},
    error::ConfigError,
    session::SessionBuilder,
    testkit::TestCa,
};

fn builder() -> SessionBuilder {
    Session::builder().contact_point("db.test")
}

fn proxy() -> SniProxy {
    SniProxy::parse("proxy.test", "cluster.test").unwrap()
}

fn secure(builder: SessionBuilder) -> SessionBuilder {
    builder.tls(TlsSettings::new(TestCa::new().client()))
}

fn refused(builder: &SessionBuilder) -> ConfigError {
    builder.check().unwrap_err()
}

/// The ways to reach nodes exclude each other, and the error says which two.
#[test]
fn one_way_at_most() {
    let translated = || builder().translator(TableTranslator::default());
    let error = refused(&translated().client_routes("one"));
    assert_eq!((error.option(), error.value()), ("advanced.client-routes.connections", "one"));
    assert!(error.allowed().contains("only without an address translator"), "{error}");
    let error = refused(&secure(translated()).sni_proxy(proxy()));
    assert!(error.option() == "advanced.sni.proxy" && error.allowed().contains("address translator"), "{error}");
    let error = refused(&secure(builder()).sni_proxy(proxy()).client_routes("one"));
    assert!(error.allowed().contains("only without an SNI proxy"), "{error}");
    let error = refused(&secure(translated()).sni_proxy(proxy()).client_routes("one"));
    assert!(error.option().starts_with("advanced.client-routes"), "{error}");
}

/// A proxy that finds nodes by the TLS hello needs TLS.
#[test]
fn a_proxy_needs_tls() {
    let error = refused(&builder().sni_proxy(proxy()));
    assert_eq!((error.option(), error.value()), ("advanced.sni.proxy", "proxy.test:443"));
    assert!(error.allowed().contains("TLS"), "{error}");
    let config = secure(builder()).sni_proxy(proxy()).check().unwrap();
    assert!(matches!(config.reach, Reach::Sni(proxies) if proxies == [proxy()]));
}

/// Halves of settings are refused.
#[test]
fn halves() {
    for (key, value) in [
        ("advanced.sni.proxy", "proxy.test"),
        ("advanced.sni.node-domain", "cluster.test"),
        ("advanced.sni.verified-name", "proxy.test"),
        ("advanced.client-routes.table-name", "ks.routes"),
        ("advanced.client-routes.proxy-only", "true"),
    ] {
        let error = refused(&secure(builder()).set(key, value));
        assert_eq!((error.option(), error.value()), (key, value));
        assert!(error.allowed().contains("together with"), "{error}");
    }
    for id in ["", " "] {
        assert!(refused(&builder().client_routes(id)).allowed().contains("not blank"));
    }
    let error = refused(&builder().client_routes("a").client_routes_via("a", "proxy.test"));
    assert!(error.value() == "a, a=proxy.test" && error.allowed().contains("\"a\" is there twice"), "{error}");
    let error = refused(&builder().client_routes_via("a", "proxy.test:9042"));
    assert!(error.value() == "proxy.test:9042" && error.allowed().contains("without a port"), "{error}");
}

/// Proxies, and hosts of routes, are contact points where none are given.
#[test]
fn implied_contact_points() {
    let points = |builder: SessionBuilder| -> Vec<String> {
        builder.check().unwrap().contact_points.iter().map(ToString::to_string).collect()
    };
    let alone = || secure(Session::builder()).sni_proxy(proxy());
    assert_eq!(points(alone()), ["cluster.test via proxy.test:443"]);
    assert_eq!(points(alone().contact_point("db.test")), ["db.test:9042"]);
    let routed =
        Session::builder().client_routes_via("a", "proxy.test").client_routes("b").client_routes_via("c", "10.0.0.1");
    assert_eq!(points(routed.clone()), ["proxy.test:9042", "10.0.0.1:9042"]);
    assert_eq!(points(routed.contact_point("db.test")), ["db.test:9042"]);
    let error = refused(&Session::builder().client_routes("a"));
    assert_eq!(error.option(), "basic.contact-points");
}

/// From a settings file as from the builder.
#[test]
fn by_name() {
    let config = secure(Session::builder())
        .set("advanced.sni.proxy", "proxy.test")
        .set("advanced.sni.node-domain", "cluster.test")
        .check()
        .unwrap();
    assert!(matches!(config.reach, Reach::Sni(proxies) if proxies == [proxy()]));
    let config = builder()
        .set("advanced.client-routes.connections", "a, b = proxy.test")
        .set("advanced.client-routes.proxy-only", "true")
        .check()
        .unwrap();
    let Reach::ClientRoutes(routes) = config.reach else { panic!("routes") };
    assert_eq!(routes.connections.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a", "b=proxy.test"]);
    assert_eq!((&*routes.table, routes.proxy_only), ("system.client_routes", true));
}

/// Rules of subnets that cannot be read say so.
#[test]
fn bad_subnets() {
    for (subnet, to) in [
        ("10.0.0.0", "a.test"),
        ("10.0.0.0/33", "a.test"),
        ("10.0.0.0/x", "a.test"),
        ("::/129", "a.test"),
        ("a.test/8", "a.test"),
        ("10.0.0.0/8", "a b"),
        ("10.0.0.0/8", "a.test:0"),
    ] {
        let error = SubnetTranslator::new().subnet(subnet, to).unwrap_err();
        let text = messina::layers::error::chain(&error).to_string();
        assert!(text.contains(subnet) || text.contains(to), "{text}");
    }
}
