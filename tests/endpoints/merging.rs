//! Client routes merged: what a read proves, and nothing else.

use std::{collections::BTreeSet, sync::Arc};

use messina::endpoint::{Covered, Merged, RouteConnection, RouteRead, RouteRow, Routes};
use uuid::Uuid;

const H1: Uuid = Uuid::from_u128(1);
const H2: Uuid = Uuid::from_u128(2);

fn ours() -> Vec<RouteConnection> {
    vec![RouteConnection::new("a"), RouteConnection::new("b")]
}

fn row(connection: &str, host: Uuid, address: &str) -> RouteRow {
    RouteRow {
        connection_id: Some(connection.into()),
        host_id: Some(host),
        address: Some(address.into()),
        port: Some(9001),
        tls_port: Some(9002),
    }
}

fn some(connections: &[&str], hosts: &[Uuid]) -> Covered {
    Covered::Some {
        connections: connections.iter().map(|id| Arc::from(*id)).collect(),
        hosts: hosts.iter().copied().collect::<BTreeSet<_>>(),
    }
}

fn merge(routes: &Routes, covered: Covered, rows: impl IntoIterator<Item = RouteRow>) -> Merged {
    routes.merge(&RouteRead { covered, rows: rows.into_iter().collect() }, &ours(), false)
}

fn full(rows: impl IntoIterator<Item = RouteRow>) -> Routes {
    merge(&Routes::default(), Covered::All, rows).routes
}

fn route(routes: &Routes, host: Uuid) -> Option<(String, String)> {
    Some((routes.connection(host)?.to_owned(), routes.route(host)?.to_string()))
}

fn is(connection: &str, address: &str) -> Option<(String, String)> {
    Some((connection.to_owned(), format!("{address}:9001")))
}

/// report 48: partial updates break no stickiness, keep no removed route, and drop no unrelated one.
#[test]
fn a_partial_read_changes_what_it_asked_for() {
    let before = full([row("a", H1, "a1.test"), row("b", H1, "b1.test"), row("a", H2, "a2.test")]);
    assert_eq!((route(&before, H1), route(&before, H2)), (is("a", "a1.test"), is("a", "a2.test")));

    // B changes: the node stays with A.
    let Merged { routes, changed, .. } = merge(&before, some(&["b"], &[H1]), [row("b", H1, "new.test")]);
    assert_eq!((route(&routes, H1), changed), (is("a", "a1.test"), vec![]));
    // A goes: the node moves to B, and that is the new one.
    let Merged { routes, changed, .. } = merge(&routes, some(&["a"], &[H1]), []);
    assert_eq!((route(&routes, H1), changed), (is("b", "new.test"), vec![H1]));
    // A comes back: the node stays with B.
    let Merged { routes, changed, .. } = merge(&routes, some(&["a"], &[H1]), [row("a", H1, "a1.test")]);
    assert_eq!((route(&routes, H1), changed), (is("b", "new.test"), vec![]));
    // Through a full read as well.
    let rows = [row("a", H1, "a1.test"), row("b", H1, "b1.test"), row("a", H2, "a2.test")];
    let Merged { routes, changed, .. } = merge(&routes, Covered::All, rows);
    assert_eq!((route(&routes, H1), changed), (is("b", "b1.test"), vec![H1]));
    assert_eq!(route(&routes, H2), is("a", "a2.test"), "never touched");
    assert_eq!(routes.len(), 2);
}

/// scenario S32: a route of a foreign connection changes nothing.
/// reviewer 69: nor does a row that was not asked for; what is proven absent goes, and only that.
#[test]
fn foreign_rows_do_nothing() {
    let before = full([row("a", H1, "a1.test"), row("foreign", H1, "evil.test"), row("foreign", H2, "evil.test")]);
    assert_eq!((route(&before, H1), route(&before, H2)), (is("a", "a1.test"), None));
    let rows = [row("a", H1, "other.test"), row("b", H2, "b2.test"), row("foreign", H2, "evil.test")];
    let Merged { routes, changed, unusable } = merge(&before, some(&["b"], &[H1]), rows);
    assert_eq!((route(&routes, H1), route(&routes, H2)), (is("a", "a1.test"), None));
    assert!(changed.is_empty() && unusable.is_empty());
}

/// scenario S31: one malformed row costs one route, and is named.
/// reviewer 68: and discards nothing else.
#[test]
fn one_malformed_row_costs_one_route() {
    let broken = RouteRow { port: Some(70_000), ..row("a", H1, "a1.test") };
    let Merged { routes, changed, unusable } =
        merge(&Routes::default(), Covered::All, [broken, row("a", H2, "a2.test"), RouteRow::default()]);
    assert_eq!((route(&routes, H1), route(&routes, H2), changed), (None, is("a", "a2.test"), vec![H2]));
    let told: Vec<_> = unusable.iter().map(|(row, why)| format!("{row}: {why}")).collect();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0], format!("connection \"a\", host {H1}: port: 70000 is no port, which is 1 to 65535"));
    assert_eq!(told[1], "connection \"null\", host null: host_id: is null");
}

/// scenario S33: (A, H) is there; a refresh has only an unusable (B, H): A is dropped, being proven absent.
/// reviewer 70: the key is connection and host; another connection's unusable row keeps nothing alive.
#[test]
fn an_unusable_row_of_another_connection_keeps_nothing() {
    let before = full([row("a", H1, "a1.test"), row("a", H2, "a2.test")]);
    let unusable = RouteRow { address: Some(" ".into()), ..row("b", H1, "") };
    let Merged { routes, changed, .. } = merge(&before, Covered::All, [unusable.clone(), row("a", H2, "a2.test")]);
    assert_eq!((route(&routes, H1), changed), (None, vec![H1]));
    assert_eq!(route(&routes, H2), is("a", "a2.test"));
    // An unusable row of its own key proves nothing absent: what was known stays.
    let own = RouteRow { connection_id: Some("a".into()), ..unusable };
    let Merged { routes, changed, unusable } = merge(&before, Covered::All, [own, row("a", H2, "a2.test")]);
    assert_eq!((route(&routes, H1), changed), (is("a", "a1.test"), vec![]));
    assert_eq!(unusable.len(), 1);
}

/// scenario S34: an address that is blank or has a port is rejected at refresh, naming the row.
/// reviewer 71: not at each connect.
#[test]
fn addresses_are_checked_at_refresh() {
    for (address, problem) in [
        (Some(""), "is blank"),
        (Some(" \t"), "is blank"),
        (None, "is null"),
        (Some("proxy.test:9042"), "no host without a port"),
        (Some("[::1]:9042"), "no host without a port"),
        (Some("a b"), "no host without a port"),
    ] {
        let broken = RouteRow { address: address.map(Into::into), ..row("a", H1, "") };
        let merged = merge(&Routes::default(), Covered::All, [broken]);
        assert!(merged.routes.is_empty());
        let [(row, why)] = &merged.unusable[..] else { panic!("one complaint about {address:?}") };
        assert!(row.contains(&H1.to_string()) && row.contains("\"a\""), "{row}");
        assert_eq!(why.column(), "address");
        assert!(why.to_string().contains(problem), "{why}");
    }
    for address in ["proxy.test", "10.0.0.1", "::1", "fe80::1%3"] {
        assert_eq!(full([row("a", H1, address)]).len(), 1, "{address}");
    }
}

/// Ports have to fit, and with TLS its own port is taken.
#[test]
fn ports() {
    for (port, usable) in [
        (Some(1), true),
        (Some(65_535), true),
        (Some(0), false),
        (Some(65_536), false),
        (Some(-1), false),
        (None, false),
    ] {
        for tls in [false, true] {
            let (plain, secure) = if tls { (Some(7), port) } else { (port, Some(7)) };
            let row = RouteRow { port: plain, tls_port: secure, ..row("a", H1, "a1.test") };
            let merged = Routes::default().merge(&RouteRead { covered: Covered::All, rows: vec![row] }, &ours(), tls);
            assert_eq!(merged.routes.route(H1).map(|route| i32::from(route.port())), port.filter(|_| usable));
            if !usable {
                assert_eq!(merged.unusable[0].1.column(), if tls { "tls_port" } else { "port" });
            }
        }
    }
}

/// A host of one's own stands in for the address in the table, whatever that is.
#[test]
fn a_host_of_ones_own() {
    let ours = [RouteConnection::via("a", "own.test").unwrap(), RouteConnection::via("b", "::1").unwrap()];
    let rows = vec![row("a", H1, "table.test"), RouteRow { address: None, ..row("b", H2, "") }];
    let merged = Routes::default().merge(&RouteRead { covered: Covered::All, rows }, &ours, false);
    assert_eq!(merged.routes.route(H1).unwrap().to_string(), "own.test:9001");
    assert_eq!(merged.routes.route(H2).unwrap().to_string(), "[::1]:9001");
    assert!(RouteConnection::via("a", "own.test:9042").is_err(), "the port is the table's");
}

/// Of several routes the one that the settings name first is taken, in whatever order the rows come.
#[test]
fn the_first_in_the_settings() {
    for rows in
        [vec![row("a", H1, "a1.test"), row("b", H1, "b1.test")], vec![row("b", H1, "b1.test"), row("a", H1, "a1.test")]]
    {
        assert_eq!(route(&full(rows), H1), is("a", "a1.test"));
    }
}
