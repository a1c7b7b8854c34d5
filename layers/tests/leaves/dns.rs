//! The hickory resolver against a real DNS server.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hickory_proto::{op::ResponseCode, rr::RecordType};
use messina_layers::{
    Address, BoxError, Candidate, ConnectError, ConnectOptions, Established, HickoryResolver, Order, Pinned,
    connect_stack,
};
use tokio::time::Instant;
use tower::{ServiceExt, service_fn};
use tracing::instrument::WithSubscriber;
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
};

use crate::support::{
    LIMIT,
    dns_server::{DnsServer, Zone},
    literal_is_answered_at_once, name,
};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn resolver(server: &DnsServer) -> HickoryResolver {
    HickoryResolver::with_server(server.addr)
}

/// For servers that do not answer.
fn hasty(server: &DnsServer) -> HickoryResolver {
    resolver(server).with_query_timeout(LIMIT)
}

async fn lookup(resolver: &HickoryResolver, text: &str) -> Result<Vec<IpAddr>, BoxError> {
    let answer = resolver.clone().oneshot(name(text)).await?;
    Ok(answer.into_iter().map(|item| item.socket(1).ip()).collect())
}

async fn connect(resolver: HickoryResolver, text: &str) -> Result<SocketAddr, ConnectError> {
    let attempt = service_fn(async |_: Candidate<Pinned<Address>>| Ok::<_, std::io::Error>(()));
    let mut options = ConnectOptions::default();
    (options.order, options.resolve_timeout) = (Order::AsGiven, Some(5 * LIMIT));
    let established: Established<_, ()> =
        connect_stack(attempt, resolver, options).oneshot(Pinned::new(name(text))).await?;
    Ok(established.addr)
}

/// report 10: both families are answered, whichever has records.
#[tokio::test]
async fn both_families_are_asked_for() {
    let server = DnsServer::start().await;
    let resolver = resolver(&server);
    server.set("both.test", &[ip("10.0.0.1"), ip("10.0.0.2"), ip("fd00::1")]);
    server.set("four.test", &[ip("10.0.0.1")]);
    server.set("six.test", &[ip("fd00::1")]);
    let both = lookup(&resolver, "both.test").await.unwrap();
    assert_eq!(both, [ip("10.0.0.1"), ip("10.0.0.2"), ip("fd00::1")]);
    assert_eq!(lookup(&resolver, "four.test").await.unwrap(), [ip("10.0.0.1")]);
    assert_eq!(lookup(&resolver, "six.test").await.unwrap(), [ip("fd00::1")]);
    assert!(server.asked("six.test", RecordType::A) > 0 && server.asked("six.test", RecordType::AAAA) > 0);
}

/// scenario S6: CNAME-labelled answers: the addresses, and the name that was asked for stays the target's.
/// connect 17: the configured name beats the resolver's label.
#[tokio::test]
async fn aliases_are_followed() {
    let server = DnsServer::start().await;
    server.set_both("db.test", Zone::Alias("canonical.test"));
    server.set("canonical.test", &[ip("10.0.0.7")]);
    assert_eq!(lookup(&resolver(&server), "db.test").await.unwrap(), [ip("10.0.0.7")]);
    assert_eq!(connect(resolver(&server), "db.test").await.unwrap(), "10.0.0.7:9042".parse().unwrap());
}

/// connect 14: what DNS says is in the error, and which resolver asks the sources that were not asked.
#[tokio::test]
async fn an_unknown_name_is_an_error_that_names_the_alternative() {
    let server = DnsServer::start().await;
    server.set_both("gone.test", Zone::Error(ResponseCode::NXDomain));
    let error = lookup(&resolver(&server), "gone.test").await.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("DNS knows no name gone.test"), "{text}");
    assert!(text.contains("nsswitch") && text.ends_with("use `SystemResolver`"), "{text}");
    let asked = format!("the DNS server {} alone was asked", server.addr);
    assert!(text.contains(&asked) && !text.contains("hosts file"), "{text}");
    assert_eq!(messina_layers::error::chain(&*error).to_string(), text, "nothing is said twice");
    assert!(error.downcast_ref::<messina_layers::resolve::HickoryError>().unwrap().net_error().is_nx_domain());
    let error = connect(resolver(&server), "gone.test").await.unwrap_err();
    assert!(matches!(error, ConnectError::Resolve { .. }) && error.to_string().contains("gone.test:9042"), "{error}");
}

#[tokio::test]
async fn a_server_failure_is_an_error() {
    let server = DnsServer::start().await;
    server.set_both("broken.test", Zone::Error(ResponseCode::ServFail));
    server.set_both("closed.test", Zone::Error(ResponseCode::Refused));
    for (text, said) in [("broken.test", "(SERVFAIL)"), ("closed.test", "(REFUSED)")] {
        let error = lookup(&resolver(&server), text).await.unwrap_err();
        let line = messina_layers::error::chain(&*error).to_string();
        assert!(line.starts_with(&format!("DNS gave no answer for {text}: ")) && line.contains(said), "{line}");
        assert!(line.contains("`SystemResolver`") && !line.contains("Query {"), "{line}");
    }
}

/// connect 16: a name without addresses is an error naming it.
/// scenario S4: an empty answer.
#[tokio::test]
async fn a_name_without_addresses_gives_none() {
    let server = DnsServer::start().await;
    server.set("empty.test", &[]);
    assert_eq!(lookup(&resolver(&server), "empty.test").await.unwrap(), Vec::<IpAddr>::new());
    let error = connect(resolver(&server), "empty.test").await.unwrap_err();
    assert_eq!(error.to_string(), "looking up empty.test:9042 gave no address");
}

/// connect D10: silence ends at the limit of the lookup.
/// scenario H1: a lookup that hangs fails within the bound; a healthy one beside it succeeds.
#[tokio::test]
async fn silence_is_bounded() {
    let server = DnsServer::start().await;
    server.set_both("mute.test", Zone::Silence);
    server.set("good.test", &[ip("10.0.0.1")]);
    let patient = resolver(&server);
    let started = Instant::now();
    let error = connect(patient.clone(), "mute.test").await.unwrap_err();
    assert!(error.report().to_string().ends_with("no answer within 500ms"), "{}", error.report());
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert!(connect(patient, "good.test").await.is_ok());

    // The resolver's own limit comes first where it is shorter, and its error names the alternative.
    let error = connect(hasty(&server), "mute.test").await.unwrap_err();
    let report = error.report().to_string();
    assert!(report.contains("no server answered in time") && report.ends_with("use `SystemResolver`"), "{report}");
}

/// A server that is mute for one family costs its limit, not the connect.
/// report 10: the other family is used.
#[tokio::test]
async fn one_mute_family_does_not_cost_the_other() {
    let server = DnsServer::start().await;
    for (text, mute, zone) in [("four.test", RecordType::AAAA, "10.0.0.1"), ("six.test", RecordType::A, "fd00::1")] {
        server.set(text, &[ip(zone)]);
        server.set_type(text, mute, Zone::Silence);
        assert_eq!(lookup(&hasty(&server), text).await.unwrap(), [ip(zone)]);
        assert_eq!(connect(hasty(&server), text).await.unwrap().ip(), ip(zone));
    }
    server.set("broken6.test", &[ip("10.0.0.1")]);
    server.set_type("broken6.test", RecordType::AAAA, Zone::Error(ResponseCode::ServFail));
    assert_eq!(lookup(&resolver(&server), "broken6.test").await.unwrap(), [ip("10.0.0.1")]);
}

/// connect D26: built-in resolvers cache nothing: a moved name is seen at the next lookup.
/// reviewer 2: the name is looked up again on each connect.
#[tokio::test]
async fn a_moved_name_is_seen_at_once() {
    let server = DnsServer::start().await;
    let resolver = resolver(&server);
    for n in 1..=3 {
        let moved = ip(&format!("10.0.0.{n}"));
        server.set("db.test", &[moved]);
        let before = server.asked("db.test", RecordType::A);
        assert_eq!(lookup(&resolver, "db.test").await.unwrap(), [moved]);
        assert!(server.asked("db.test", RecordType::A) > before);
    }
    // Neither are failures kept.
    server.set_both("db.test", Zone::Error(ResponseCode::NXDomain));
    assert!(lookup(&resolver, "db.test").await.is_err());
    server.set("db.test", &[ip("10.0.0.9")]);
    assert_eq!(lookup(&resolver, "db.test").await.unwrap(), [ip("10.0.0.9")]);
}

/// An answer too long for UDP is fetched over TCP.
#[tokio::test]
async fn a_long_answer_comes_over_tcp() {
    let server = DnsServer::start().await;
    let many: Vec<IpAddr> = (0..200_u8).map(|n| IpAddr::from([10, 0, 1, n])).collect();
    server.set("many.test", &[]);
    server.set_type("many.test", RecordType::A, Zone::OverTcp(many.clone()));
    assert_eq!(lookup(&resolver(&server), "many.test").await.unwrap(), many);
}

/// scenario H13: 64 first lookups at once use one resolver.
/// reviewer 12: initialised once, atomically.
/// reviewer 13: no resolver per lookup.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_first_use() {
    let server = Arc::new(DnsServer::start().await);
    server.set("db.test", &[ip("10.0.0.1")]);
    let resolver = resolver(&server);
    // With but one subscriber, a thread of another test may decide that nobody listens.
    let _others = [(); 2].map(|()| tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new()));
    let built = Built::default();
    let subscriber = tracing::Dispatch::new(tracing_subscriber::registry().with(built.clone()));
    let lookups: Vec<_> = (0..64)
        .map(|_| {
            let resolver = resolver.clone();
            let lookup = async move { lookup(&resolver, "db.test").await.unwrap() };
            tokio::spawn(lookup.with_subscriber(subscriber.clone()))
        })
        .collect();
    for answer in lookups {
        assert_eq!(answer.await.unwrap(), [ip("10.0.0.1")]);
    }
    assert_eq!(built.0.load(Ordering::Relaxed), 1);
}

/// Counts how often a resolver was configured.
#[derive(Clone, Default)]
struct Built(Arc<AtomicUsize>);

impl<S: tracing::Subscriber> Layer<S> for Built {
    fn on_event(&self, event: &tracing::Event<'_>, _ctx: Context<'_, S>) {
        if event.metadata().target() == "messina_layers::resolve::hickory" {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// connect 45: dropping a lookup gives it up; the resolver serves on.
#[tokio::test]
async fn a_dropped_lookup_leaves_the_resolver_working() {
    let server = DnsServer::start().await;
    server.set_both("mute.test", Zone::Silence);
    server.set("good.test", &[ip("10.0.0.1")]);
    let resolver = resolver(&server);
    assert!(tokio::time::timeout(LIMIT / 4, lookup(&resolver, "mute.test")).await.is_err());
    assert_eq!(lookup(&resolver, "good.test").await.unwrap(), [ip("10.0.0.1")]);
}

/// scenario S5: a literal is answered with itself, without a hop.
/// connect 7: it passes unchanged.
/// reviewer 21: literals skip the lookup machinery.
#[test]
fn literals_are_answered_at_once() {
    literal_is_answered_at_once(HickoryResolver::new());
    let silent: SocketAddr = "127.0.0.1:1".parse().unwrap();
    literal_is_answered_at_once(HickoryResolver::with_server(silent));
    assert_eq!(format!("{:?}", HickoryResolver::with_server(silent)), "HickoryResolver(127.0.0.1:1)");
}

/// The hosts file of the system is read where the system configures the resolver.
#[tokio::test]
async fn localhost_needs_no_server() {
    let answer = lookup(&HickoryResolver::new(), "localhost").await.unwrap();
    assert!(answer.iter().all(IpAddr::is_loopback) && !answer.is_empty(), "{answer:?}");
}
