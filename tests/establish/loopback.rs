//! The same over real sockets, in real time, with limits of 150 ms.

use std::{net::SocketAddr, time::Duration};

use messina::{
    Session,
    config::TlsSettings,
    layers::{HickoryResolver, Order, SystemResolver},
    session::SessionBuilder,
    testkit::{BareAddress, Cluster, DnsAnswer, DnsKind, DnsServer, Fault, Stage, TestCa},
};

use crate::support::{Events, Mode, SOON, all_closed, attempts, resolver, stages, timed};

const SHORT: Duration = Duration::from_millis(150);
/// Far more than any of these takes, far less than a default limit.
const ENOUGH: Duration = Duration::from_secs(3);

/// A session to `db.test`, which has these addresses, over TCP.
fn over_tcp(addrs: impl IntoIterator<Item = SocketAddr>) -> SessionBuilder {
    Session::builder()
        .contact_point("db.test")
        .resolver(resolver(addrs))
        .candidate_order(Order::AsGiven)
        .credentials("ada", "pass")
        .keyspace("ks")
}

fn limited(builder: SessionBuilder) -> SessionBuilder {
    builder.connect_timeout(SHORT).init_timeout(SHORT)
}

/// connect 52: every stage, over real sockets: silent, and the next address is tried.
/// connect 61: at its own limit.
/// connect 41: the event that tells of it names the address passed over, and the stage.
#[tokio::test]
async fn silent_at_each_stage() {
    let stages = [
        (Stage::Tcp, "tcp"),
        (Stage::Tls, "tls"),
        (Stage::Options, "options"),
        (Stage::Startup, "startup"),
        (Stage::Auth, "auth"),
        (Stage::Cluster, "cluster"),
        (Stage::Keyspace, "keyspace"),
        (Stage::Identity, "identity"),
        (Stage::Register, "register"),
    ];
    let ca = TestCa::new();
    for (stage, told) in stages {
        let events = Events::watch();
        let mut cluster = Cluster::builder().nodes(2).own_addresses().user("ada", "pass");
        if stage == Stage::Tls {
            cluster = cluster.tls(ca.server(["db.test"]));
        }
        let cluster = cluster.node(0, |facts| facts.listed = false).fault(0, stage, Fault::Silence);
        let cluster = cluster.start().await.unwrap();
        // Only the limit that is meant is short: a busy machine must not make others strike.
        let mut builder = match stage {
            Stage::Tcp => over_tcp(cluster.addrs()).connect_timeout(SHORT).tls_timeout(ENOUGH),
            Stage::Tls => over_tcp(cluster.addrs()).tls_timeout(SHORT),
            _ => over_tcp(cluster.addrs()).init_timeout(SHORT),
        };
        builder = builder.sequential();
        if stage == Stage::Tls {
            builder = builder.tls(TlsSettings::new(ca.client())).tls_accepted_name("db.test");
        }
        let (result, took) = timed(builder).await;
        let session = result.unwrap();
        assert!(took >= SHORT && took < ENOUGH, "{stage:?} {took:?}");
        let next = events.with("trying next address");
        assert_eq!((next[0].field("failed"), next[0].field("stage")), (&*cluster.node(0).addr().to_string(), told));
        drop(session);
        all_closed(cluster.log()).await;
    }
}

/// connect 45: dropped in the middle: the server sees the connection end.
#[tokio::test]
async fn dropped() {
    for stage in [Stage::Options, Stage::Startup, Stage::Identity, Stage::Register] {
        let cluster = Cluster::builder().user("ada", "pass").fault(0, stage, Fault::Silence).start().await.unwrap();
        let build = tokio::spawn(over_tcp(cluster.addrs()).init_timeout(ENOUGH).build());
        cluster.wait_for(SOON, |seen| seen.count(stage) == 1).await.unwrap();
        build.abort();
        all_closed(cluster.log()).await;
    }
}

/// connect 52: refused, closed, reset, garbage, mute and a black hole in one name: each with its cause.
#[tokio::test]
async fn all_kinds_of_dead() {
    let dead = [
        (BareAddress::refused().unwrap(), "tcp", "refused"),
        (BareAddress::closes().unwrap(), "options", "ended"),
        (BareAddress::garbage().unwrap(), "options", "damaged"),
        (BareAddress::mute().unwrap(), "options", "no answer within 150ms"),
        (BareAddress::black_hole().unwrap(), "tcp", "no answer within 150ms"),
    ];
    for mode in Mode::BOTH {
        let (result, took) = timed(mode.of(limited(over_tcp(dead.iter().map(|(bare, ..)| bare.addr()))))).await;
        let error = result.unwrap_err();
        assert_eq!(stages(&error), dead.each_ref().map(|(_, stage, _)| *stage));
        for (failed, (bare, _, word)) in attempts(&error).iter().zip(&dead) {
            let cause = failed.error.cause().to_string();
            assert_eq!(failed.addr, bare.addr());
            assert!(cause.contains(word), "{word:?} is not in {cause:?}");
        }
        assert!(took < ENOUGH, "{took:?}");
    }
}

/// report 10: both families are used: A dead and AAAA alive, and the reverse.
#[tokio::test]
async fn dual_stack() {
    let Ok(probe) = std::net::TcpListener::bind("[::1]:0") else {
        eprintln!("this machine has no ::1");
        return;
    };
    drop(probe);
    for alive in ["[::1]:0", "127.0.0.1:0"] {
        let alive: SocketAddr = alive.parse().unwrap();
        let cluster = Cluster::builder().user("ada", "pass").addresses([alive]).start().await.unwrap();
        let addr = cluster.node(0).addr();
        let other: SocketAddr = if addr.is_ipv6() { "127.0.0.1:0" } else { "[::1]:0" }.parse().unwrap();
        // Nobody listens on the same port of the other family.
        let dead = BareAddress::refused().unwrap().on(SocketAddr::new(other.ip(), addr.port())).unwrap();
        let dns = DnsServer::start().await.unwrap();
        dns.set("db.test", [dead.addr().ip(), addr.ip()]);
        let session = Session::builder()
            .contact_point(format!("db.test:{}", addr.port()))
            .resolver(HickoryResolver::with_server(dns.addr()))
            .credentials("ada", "pass")
            .build()
            .await
            .unwrap();
        assert!(dns.queries("db.test", DnsKind::A) > 0 && dns.queries("db.test", DnsKind::Aaaa) > 0);
        drop(session);
    }
}

/// report 17: localhost stands for ::1 and 127.0.0.1; one of them does not listen.
#[tokio::test]
async fn localhost() {
    let cluster = Cluster::builder().user("ada", "pass").start().await.unwrap();
    let addr = cluster.node(0).addr();
    let both = [SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), addr.port()), addr];
    let session = over_tcp(both).build().await.unwrap();
    drop(session);

    let local = Session::builder().contact_point(format!("localhost:{}", addr.port())).credentials("ada", "pass");
    for builder in [local.clone().resolver(SystemResolver::new()), local] {
        drop(builder.build().await.unwrap());
    }
}

/// scenario S6: an alias, whose addresses belong to another name: TLS asks for the configured name, and nothing is
/// looked up in reverse.
/// connect D29: the name of a contact point is verified, whatever the resolver says.
#[tokio::test]
async fn an_alias() {
    let ca = TestCa::new();
    let cluster = Cluster::builder().own_addresses().user("ada", "pass").tls(ca.server(["db.test", "127.0.0.1"]));
    let cluster = cluster.start().await.unwrap();
    let addr = cluster.node(0).addr();
    let dns = DnsServer::start().await.unwrap();
    dns.answer("db.test", DnsAnswer::Cname("node7.internal.test".into()));
    dns.set("node7.internal.test", [addr.ip()]);
    let session = Session::builder()
        .contact_point(format!("db.test:{}", addr.port()))
        .resolver(HickoryResolver::with_server(dns.addr()))
        .credentials("ada", "pass")
        .tls(TlsSettings::new(ca.client()))
        .tls_accepted_name("db.test")
        .build()
        .await
        .unwrap();
    let hello = cluster.log().connections()[0].events().iter().find_map(|event| match &event.kind {
        messina::testkit::EventKind::Tls { sni } => sni.clone(),
        _ => None,
    });
    assert_eq!(hello.as_deref(), Some("db.test"));
    let (a, aaaa) = (dns.queries("db.test", DnsKind::A), dns.queries("db.test", DnsKind::Aaaa));
    let alias = dns.queries("node7.internal.test", DnsKind::A) + dns.queries("node7.internal.test", DnsKind::Aaaa);
    assert_eq!(dns.total_queries(), a + aaaa + alias, "no other kind of query");
    drop(session);
}
