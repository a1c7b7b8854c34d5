//! Settings that are copied.

use std::time::Duration;

use messina::{
    alternator::{
        Alternator, BalanceOptions,
        affinity::{LookupOptions, Mode},
        client::AlternatorBuilder,
        discovery::CycleLimits,
        health::{ProbeOptions, Thresholds},
        http::HttpOptions,
        localnodes::Limits,
        scope::{Scope, ScopeChain},
    },
    layers::{ConnectOptions, Name},
    metrics::Naming,
    testkit::{TestCa, http::HttpCluster},
};

use crate::http_support::ready;

/// Every setting at another value than by default.
fn unusual(seed: String) -> AlternatorBuilder {
    let ms = Duration::from_millis;
    let mut connect = ConnectOptions::default();
    connect.cap = 1;
    let http = HttpOptions::default()
        .with_connect(connect)
        .with_connect_timeout(ms(1))
        .with_tls(TestCa::new().client())
        .with_tls_timeout(ms(2))
        .with_accepted_name(Name::new("db.test").unwrap())
        .with_idle_timeout(ms(3))
        .with_max_idle(4)
        .with_max_connections(5);
    let balance = BalanceOptions::default()
        .with_timeout(ms(5000))
        .with_max_attempts(7)
        .with_header_limits(ms(8), ms(9), ms(10))
        .with_hedge(Some(ms(11)))
        .with_host_per_node(true)
        .with_repeat_broken(true);
    let mut naming = Naming::default();
    naming.prefix = Some("shop".to_owned());
    Alternator::builder()
        .seed(seed)
        .scope(ScopeChain::only(Scope::data_center("dc1").unwrap()))
        .http(http)
        .intervals(ms(12), ms(13_000))
        .poll_limits(CycleLimits::default().with_attempt(ms(1400)).with_cycle(ms(15_000)))
        .list_limits(Limits::default().with_bytes(1600))
        .thresholds(Thresholds::default().with_quarantine_failures(17))
        .without_health()
        .probes(ProbeOptions::default().with_concurrency(18))
        .affinity(Mode::AnyWrite)
        .partition_key("t", "pk")
        .key_lookups(LookupOptions::default().with_tries(19))
        .balance(balance)
        .user_agent(Some("mine".to_owned()))
        .metrics(naming)
        .random_seed(20)
}

/// The settings of a debug output, each with its value.
fn fields(builder: &AlternatorBuilder) -> Vec<String> {
    let text = format!("{builder:#?}");
    let (mut fields, mut field) = (Vec::new(), String::new());
    for line in text.lines().skip(1) {
        if line.starts_with("    ") && !line.starts_with("     ") && !line.trim().starts_with(['}', ')', ']']) {
            fields.push(std::mem::take(&mut field));
        }
        field.push_str(line.trim());
    }
    fields.push(field);
    fields.split_off(1)
}

/// alternator 8: what a client was built of can be had again, whole (J 121, 124; C# 45): build, take it apart, build.
#[tokio::test]
async fn settings_come_back_whole() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let unusual = unusual(cluster.url(0));
    let usual = fields(&Alternator::builder());
    let given = fields(&unusual);
    // Whoever adds a setting adds it above. A client to poll through is looked at below.
    let same: Vec<_> = given.iter().filter(|field| usual.contains(field)).collect();
    assert_eq!(same, ["exchange: None,"]);
    let first = unusual.clone().build().unwrap();
    let second = first.to_builder().build().unwrap();
    assert_eq!(fields(&second.to_builder()), given);
    drop((first, second));
    // Nothing is listened at there: only through the client that is given are the nodes found.
    let http = Alternator::builder().seed(cluster.url(0)).build().unwrap().http();
    let (wanted, service) = (cluster.url(0), http);
    let through = tower::service_fn(move |mut request: http::Request<messina::alternator::http::Payload>| {
        *request.uri_mut() = format!("{wanted}{}", request.uri().path()).parse().unwrap();
        tower::ServiceExt::oneshot(service.clone(), request)
    });
    let first = ready(Alternator::builder().seed("http://127.0.0.1:1").poll_through(through)).await;
    drop(ready(first.to_builder()).await);
    assert_eq!(cluster.node(0).requests(), 0);
}
