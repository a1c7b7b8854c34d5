//! Values that no connection could work with.

use std::time::Duration;

use messina::session::SessionBuilder;

use crate::{checked, good, refused};

type Set = fn(SessionBuilder, Duration) -> SessionBuilder;

/// scenario S30: every wait has a limit: none of them can be switched off by zero.
/// reviewer 44: a limit of zero is refused.
#[tokio::test]
async fn zero_limits() {
    let limits: [(&str, Set); 5] = [
        ("advanced.connection.resolve-timeout", SessionBuilder::resolve_timeout),
        ("advanced.connection.connect-timeout", SessionBuilder::connect_timeout),
        ("advanced.connection.tls-handshake-timeout", SessionBuilder::tls_timeout),
        ("advanced.connection.init-query-timeout", SessionBuilder::init_timeout),
        ("basic.request.timeout", SessionBuilder::request_timeout),
    ];
    for (option, set) in limits {
        for bad in [Duration::ZERO, Duration::from_micros(999)] {
            let error = refused(set(good(), bad)).await;
            assert_eq!(error.option(), option);
            assert_eq!(error.value(), format!("{bad:?}"));
        }
        checked(&set(good(), Duration::from_millis(1)));
    }
}

/// connect D3: a cap below 1 is a configuration error.
/// connect 31: so it is.
#[tokio::test]
async fn cap_of_zero() {
    let error = refused(good().max_candidate_addresses(0)).await;
    assert_eq!((error.option(), error.value()), ("advanced.connection.max-candidate-addresses", "0"));
    assert_eq!(error.allowed(), "1 or more");
    assert_eq!(checked(&good()).connect.cap, 5);
}

/// connect D14: a limit of no refused login would end every connect before it began.
#[tokio::test]
async fn no_refused_login_at_all() {
    let error = refused(good().max_auth_failures(0)).await;
    assert_eq!(error.option(), "advanced.connection.max-auth-failures");
    assert_eq!(checked(&good()).connect.max_auth_failures, None, "off by default");
}

/// A page has at least one row.
#[tokio::test]
async fn page_sizes() {
    for bad in [0, -1, i32::MIN] {
        let error = refused(good().page_size(bad)).await;
        assert_eq!((error.option(), error.value()), ("basic.request.page-size", &*bad.to_string()));
    }
}

/// A keyspace is a name that servers allow: 1 to 222 letters, digits and underscores, without quotes.
#[tokio::test]
async fn keyspaces() {
    for bad in ["", "a\0b", "line\nbreak", "\"ks\"", "my ks", "ks;", "a-b", "a.b", "ключ", &"k".repeat(223)] {
        let error = refused(good().keyspace(bad)).await;
        assert_eq!((error.option(), error.value()), ("basic.session-keyspace", bad));
    }
    for fine in ["ks", "Ks", "_", "7", "my_ks_2", &"k".repeat(222)] {
        assert_eq!(checked(&good().keyspace(fine)).keyspace.as_deref(), Some(fine));
    }
}

/// Requests per connection: what stream ids allow, with room beside the given up ones.
#[tokio::test]
async fn requests_per_connection() {
    for (requests, orphans) in [(0, 0), (32769, 1), (10, 10), (10, 11)] {
        let error = refused(good().requests_per_connection(requests, orphans)).await;
        assert!(error.option().contains("max-requests-per-connection"), "{error}");
        assert_eq!(error.value(), format!("{requests} and {orphans}"));
    }
    checked(&good().requests_per_connection(32768, 0));
    checked(&good().requests_per_connection(1, 0));
}

/// Keep-alive: what a system takes, so that no dial fails by it.
#[tokio::test]
async fn keepalive() {
    for bad in [Duration::ZERO, Duration::from_millis(999), Duration::from_secs(32768)] {
        let error = refused(good().keepalive(bad)).await;
        assert_eq!((error.option(), error.value()), ("advanced.socket.keep-alive", &*format!("{bad:?}")));
    }
    for idle in [1, 32767].map(Duration::from_secs) {
        let cluster = messina::testkit::Cluster::builder().start().await.unwrap();
        let builder = messina::Session::builder().contact_addr(cluster.node(0).addr()).keepalive(idle);
        drop(builder.build().await.unwrap());
    }
}

/// An empty name of a data centre would prefer none; one of a cluster would accept none.
#[tokio::test]
async fn names_that_are_blank() {
    for blank in ["", "  ", "\t"] {
        let error = refused(good().local_datacenter(blank)).await;
        assert_eq!((error.option(), error.value()), ("basic.load-balancing-policy.local-datacenter", blank));
        let error = refused(good().expected_cluster(blank)).await;
        assert_eq!((error.option(), error.value()), ("advanced.control-connection.expected-cluster", blank));
    }
}

/// The longest limits there are: nothing overflows.
#[tokio::test(start_paused = true)]
async fn endless_limits() {
    let (network, most) = (messina::testkit::Network::new(), Duration::MAX);
    let cluster = messina::testkit::Cluster::builder().network(&network).start().await.unwrap();
    let builder = messina::Session::builder().contact_addr(cluster.node(0).addr()).connector(network.connector());
    let builder = builder.resolve_timeout(most).connect_timeout(most).tls_timeout(most).init_timeout(most);
    let builder = builder.request_timeout(most).attempt_delay(most).connect_budget(most);
    drop(builder.build().await.unwrap());
}

/// connect D33: side by side after 250 ms by default; `sequential` turns it off.
#[test]
fn the_attempt_delay() {
    assert_eq!(checked(&good()).connect.attempt_delay, Some(Duration::from_millis(250)));
    assert_eq!(checked(&good().sequential()).connect.attempt_delay, None);
    assert_eq!(checked(&good().attempt_delay(Duration::ZERO)).connect.attempt_delay, None);
}
