//! From a target to its candidates: one lookup, its failures, what is done with the answer.

use std::{
    net::{SocketAddr, SocketAddrV6},
    time::Duration,
};

use messina_layers::{
    Accept, Address, ConnectError, ConnectOptions, Dial, HostAddr, Panicked, Pinned, ResolveLayer, ServerIdentity,
    TimedOut, connect_stack,
};
use tokio::time::Instant;
use tower::{Layer, ServiceExt, service_fn};

use crate::support::{Answer, Scripted, Servers, Step, addr, as_given, candidates, db, millis, number, secs, target};

async fn connect(resolver: &Scripted, servers: &Servers) -> Result<u8, ConnectError> {
    let stack = connect_stack(servers.clone(), resolver.clone(), as_given());
    stack.oneshot(target()).await.map(|established| established.connection.n)
}

/// connect 1: nothing but a connect asks the resolver.
/// connect 8: one lookup per connect, whatever the number of candidates.
/// connect 69: clones share no resolver: no lookup below the fallback.
#[tokio::test(start_paused = true)]
async fn one_lookup_per_connect_and_none_besides() {
    let resolver = Scripted::addrs((1..=4).map(addr));
    let servers = Servers::new([(4, Step::Accept)]);
    let stack = connect_stack(servers.clone(), resolver.clone(), as_given());
    let targets = std::collections::HashSet::from([target(), Pinned::new("DB.test:9042".parse().unwrap())]);
    assert_eq!((targets.len(), target().to_string(), target().address(), stack.clone()).0, 1);
    assert!(resolver.asked().is_empty(), "parsing, comparing, hashing, printing, assembling ask nothing");

    stack.clone().oneshot(target()).await.unwrap();
    assert_eq!((resolver.asked(), servers.dialled()), (vec![db()], vec![1, 2, 3, 4]));
    stack.oneshot(target()).await.unwrap();
    assert_eq!(resolver.asked().len(), 2);
}

/// connect 3: addresses that bear an IP are asked for too.
/// connect 5: and may be redirected.
/// connect D24: a resolver that answers a socket address with itself is "resolved".
/// reviewer 4: the resolver decides, nothing is filtered before it.
#[tokio::test(start_paused = true)]
async fn a_literal_is_asked_for_and_may_be_redirected() {
    let resolver = Scripted::addrs([addr(7)]);
    let servers = Servers::new([(7, Step::Accept)]);
    let literal = Pinned::new(Address::Socket(addr(1)));
    let stack = connect_stack(servers.clone(), resolver.clone(), as_given());
    let established = stack.clone().oneshot(literal.clone()).await.unwrap();
    assert_eq!((established.addr, servers.dialled()), (addr(7), vec![7]));
    assert_eq!(resolver.asked(), [Address::Socket(addr(1))]);
    // A pinned target too.
    stack.oneshot(Pinned::at(db(), HostAddr::from(addr(3)))).await.unwrap();
    assert_eq!(resolver.asked()[1], Address::Socket(addr(3)));
}

/// connect 9: the third answer of a redirecting resolver is reachable.
/// scenario H8: asked once, every answer dialled as it is, and the reported address is the one dialled.
/// reviewer 3: all expansion goes through the one resolver.
/// reviewer 5: no candidate is looked up a second time.
#[tokio::test(start_paused = true)]
async fn answers_are_dialled_verbatim() {
    // It maps any address to the same list, as a second lookup per candidate would find out.
    let answer = [SocketAddr::new(addr(1).ip(), 1), addr(2), SocketAddr::new(addr(3).ip(), 19042)];
    let resolver = Scripted::addrs(answer);
    let servers = Servers::new([(3, Step::Accept)]);
    let stack = connect_stack(servers.clone(), resolver.clone(), as_given());
    let established = stack.oneshot(target()).await.unwrap();
    assert_eq!(established.addr, answer[2]);
    assert_eq!(established.failed.iter().map(|attempt| attempt.addr).collect::<Vec<_>>(), answer[..2]);
    assert_eq!(resolver.asked().len(), 1);
}

/// connect 14: the resolver's error is returned, not a hang.
/// scenario S4: a lookup error names the host.
#[tokio::test(start_paused = true)]
async fn an_error_of_the_resolver_is_returned() {
    let error = connect(&Scripted::new(Answer::Error("SERVFAIL")), &Servers::default()).await.unwrap_err();
    assert!(matches!(error, ConnectError::Resolve { .. }), "{error:?}");
    assert_eq!(error.target(), &db());
    assert_eq!(error.report().to_string(), "looking up db.test:9042 failed after 0.0ns: SERVFAIL");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "SERVFAIL");
}

/// connect 15: a resolver that panics or fails before it returns a future ends the connect with an error.
/// connect 16: every path ends the caller's future.
/// reviewer 10: no stranded connect.
/// scenario S4: a panic names the host.
#[tokio::test(start_paused = true)]
async fn a_resolver_that_breaks_ends_the_connect() {
    for (answer, text, panicked) in [
        (Answer::PanicAtOnce, "panicked: lost my way at once", true),
        (Answer::PanicLater, "panicked: lost my way", true),
        (Answer::PanicBeforeReady, "panicked: no resolver today", true),
        (Answer::NotReady("closed for today"), "closed for today", false),
    ] {
        let error = connect(&Scripted::new(answer.clone()), &Servers::default()).await.unwrap_err();
        let ConnectError::Resolve { source, .. } = &error else { panic!("{answer:?}: {error:?}") };
        assert_eq!((source.to_string().as_str(), source.is::<Panicked>()), (text, panicked));
        assert!(error.to_string().contains("db.test:9042"), "{error}");
    }
}

/// connect 16: an answer that breaks while it is read is a failed lookup as well.
#[tokio::test(start_paused = true)]
async fn an_answer_that_panics_while_read_ends_the_connect() {
    let resolver = service_fn(async |_: Address| {
        Ok::<_, std::io::Error>((1..3).map(|n| if n == 2 { panic!("torn answer") } else { addr(n) }))
    });
    let error = connect_stack(Servers::default(), resolver, as_given()).oneshot(target()).await.unwrap_err();
    assert!(error.report().to_string().ends_with("panicked: torn answer"), "{}", error.report());
}

/// connect 16: an empty answer is an error, not an endless wait.
/// reviewer 16: an error naming the host, never an empty loop.
/// scenario S4: an empty answer names the host.
#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_an_error() {
    let servers = Servers::default();
    let error = connect(&Scripted::addrs([]), &servers).await.unwrap_err();
    assert!(matches!(&error, ConnectError::NoAddress { target } if *target == db()), "{error:?}");
    assert_eq!(error.to_string(), "looking up db.test:9042 gave no address");
    assert!(servers.dialled().is_empty() && error.failed().is_empty());
}

/// connect 16: a lookup has a limit.
/// connect D10: 5 s unless told otherwise.
/// scenario H1: a resolver that never answers fails within the bound, naming the host; the next one succeeds.
/// report 5: a lookup that never completes ends at the limit.
/// reviewer 9: the limit covers the lookup.
#[tokio::test(start_paused = true)]
async fn a_lookup_that_never_answers_ends_at_its_limit() {
    let (resolver, servers) = (Scripted::new(Answer::Silence), Servers::new([(1, Step::Accept)]));
    let started = Instant::now();
    let error = connect(&resolver, &servers).await.unwrap_err();
    assert_eq!(started.elapsed(), secs(5));
    let ConnectError::Resolve { source, elapsed, target } = &error else { panic!("{error:?}") };
    assert_eq!((source.downcast_ref(), *elapsed, target), (Some(&TimedOut::new(secs(5))), secs(5), &db()));
    assert_eq!(error.report().to_string(), "looking up db.test:9042 failed after 5.0s: no answer within 5s");

    resolver.set(Answer::Addrs(vec![addr(1)]));
    assert_eq!(connect(&resolver, &servers).await.unwrap(), 1);
}

/// connect D10: the limit of a lookup is a setting, and may be left to the resolver.
/// connect 153: a lookup has a deadline, whoever resolves.
#[tokio::test(start_paused = true)]
async fn the_limit_of_a_lookup_is_a_setting() {
    let slow = service_fn(async |_: Address| {
        tokio::time::sleep(secs(60)).await;
        Ok::<[SocketAddr; 1], std::io::Error>([addr(1)])
    });
    let servers = Servers::new([(1, Step::Accept)]);
    for (limit, connects) in [(Some(millis(100)), false), (Some(secs(61)), true), (None, true)] {
        let mut options = ConnectOptions::default();
        options.resolve_timeout = limit;
        let started = Instant::now();
        let result = connect_stack(servers.clone(), slow, options).oneshot(target()).await;
        assert_eq!((result.is_ok(), started.elapsed()), (connects, limit.unwrap_or(secs(60)).min(secs(60))));
    }
}

/// connect 17: the configured name stays with every candidate, whatever the resolver calls its answers.
/// connect 20: scoped answers keep their zone, and lose their flow information.
/// connect 21: nothing is derived from an address without a name.
/// scenario S6: nameless answers: TLS asks for the configured name.
/// reviewer 23: the configured name labels every candidate.
/// reviewer 26: the zone is part of what is dialled, not of the TLS name.
#[tokio::test(start_paused = true)]
async fn the_name_and_the_zone_survive() {
    #[derive(Clone)]
    struct Named;
    impl Dial for Named {
        fn address(&self) -> Address {
            db()
        }
    }
    impl ServerIdentity for Named {
        fn tls(&self) -> Option<messina_layers::TlsIdentity> {
            Some(messina_layers::TlsIdentity::named(crate::support::name()))
        }
    }
    let scoped = SocketAddrV6::new("fe80::1".parse().unwrap(), 0, 5, 7);
    let resolver = Scripted::addrs([addr(1), scoped.into()]);
    let check = service_fn(async |candidates: messina_layers::Candidates<Named>| {
        let tls = candidates.target().tls().unwrap();
        assert_eq!((tls.accept, tls.sni), (Accept::Names(vec![crate::support::name()]), None));
        Ok::<_, std::convert::Infallible>(candidates.addrs().to_vec())
    });
    let addrs = ResolveLayer::new(resolver).layer(check).oneshot(Named).await.unwrap();
    assert_eq!(addrs, [addr(1), SocketAddrV6::new("fe80::1".parse().unwrap(), 9042, 0, 7).into()]);
}

/// connect 19: a literal has no name to attach to what it is redirected to.
/// scenario S7: a literal redirected elsewhere: TLS does not use the old literal.
/// reviewer 24: no invented name.
#[test]
fn a_redirected_literal_lends_no_name() {
    let literal: Address = "10.0.0.1:9042".parse().unwrap();
    assert!(literal.name().is_none() && literal.tls().is_none());
    // What a target without a name has verified is the address really dialled (see `tls`).
    assert_eq!(messina_layers::TlsIdentity::dialled().accept, Accept::Dialled);
}

/// connect 10: one resolver serves every target of a stack.
/// connect 67: the resolver that was set is the one that expands.
/// connect D23: an endpoint that is not pinned is expanded afresh at every connect.
/// reviewer 2: a moved name is seen at the next connect.
#[tokio::test(start_paused = true)]
async fn every_connect_expands_afresh() {
    let resolver = Scripted::addrs([addr(1)]);
    let servers = Servers::new([(1, Step::Accept), (2, Step::Accept)]);
    let stack = connect_stack(servers.clone(), resolver.clone(), as_given());
    assert_eq!(stack.clone().oneshot(target()).await.unwrap().addr, addr(1));
    resolver.set(Answer::Addrs(vec![addr(2)]));
    assert_eq!(stack.clone().oneshot(target()).await.unwrap().addr, addr(2));
    stack.clone().oneshot(Pinned::new("proxy.test:443".parse::<Address>().unwrap())).await.unwrap();
    stack.oneshot(Pinned::new("[::1]:443".parse::<Address>().unwrap())).await.unwrap();
    let asked: Vec<String> = resolver.asked().iter().map(ToString::to_string).collect();
    assert_eq!(asked, ["db.test:9042", "db.test:9042", "proxy.test:443", "[::1]:443"]);
}

/// connect 12: a slow lookup blocks nothing else on its thread.
#[tokio::test(start_paused = true)]
async fn a_timer_ticks_during_a_slow_lookup() {
    let slow = service_fn(async |_: Address| {
        tokio::time::sleep(secs(2)).await;
        Ok::<_, std::io::Error>([addr(1)])
    });
    let connect = connect_stack(Servers::new([(1, Step::Accept)]), slow, as_given()).oneshot(target());
    let mut ticks = 0;
    tokio::pin!(connect);
    let mut interval = tokio::time::interval(millis(100));
    loop {
        tokio::select! {
            result = &mut connect => break drop(result.unwrap()),
            _ = interval.tick() => ticks += 1,
        }
    }
    assert!(ticks >= 19, "{ticks}");
}

/// A thousand answers, duplicates, mixed families: the fault list of a lookup.
#[tokio::test(start_paused = true)]
async fn a_thousand_answers_are_capped() {
    let many = (0..1000_u16).map(|n| SocketAddr::new([10, 1, (n >> 8) as u8, n as u8].into(), 9042));
    let mixed = many.chain(["[fd00::1]:0".parse().unwrap(), "[fd00::1]:9042".parse().unwrap()]);
    let servers = Servers::default();
    let error = connect(&Scripted::addrs(mixed), &servers).await.unwrap_err();
    assert_eq!((error.failed().len(), servers.dialled().len()), (5, 5));
}

/// The limit of tower's own layer around a resolver, shorter than the stack's.
/// connect 13: a resolver with layers of its own takes effect.
#[tokio::test(start_paused = true)]
async fn layers_of_tower_stand_around_a_resolver() {
    let servers = Servers::new([(1, Step::Accept)]);
    let resolver = Scripted::new(Answer::Silence);
    let limited = tower::timeout::Timeout::new(resolver.clone(), millis(10));
    let stack = connect_stack(servers.clone(), limited.clone(), as_given());
    let started = Instant::now();
    let error = stack.oneshot(target()).await.unwrap_err();
    assert_eq!((started.elapsed(), error.report().to_string().contains("request timed out")), (millis(10), true));

    resolver.set(Answer::Addrs(vec![addr(1)]));
    let limited = tower::limit::ConcurrencyLimit::new(limited, 1);
    let stack = connect_stack(servers.clone(), limited, as_given());
    assert_eq!(stack.oneshot(target()).await.unwrap().addr, addr(1));
}

/// A permit of a limited resolver is held for the lookup, not for the connect behind it.
#[tokio::test(start_paused = true)]
async fn a_lookup_gives_its_permit_back_before_the_connect() {
    let resolver = tower::limit::ConcurrencyLimit::new(Scripted::addrs([addr(1)]), 1);
    let servers = Servers::new([(1, Step::AcceptAfter(secs(60)))]);
    let stack = connect_stack(servers.clone(), resolver, as_given());
    let started = Instant::now();
    let (one, other) = tokio::join!(stack.clone().oneshot(target()), stack.oneshot(target()));
    assert!(one.is_ok() && other.is_ok());
    assert_eq!((started.elapsed(), servers.most_open()), (secs(60), 2));
}

/// The candidates a stack without a resolver starts from are those it is given.
/// connect D24: "resolver disabled" is a stack without its layer.
#[tokio::test(start_paused = true)]
async fn a_stack_without_a_resolver() {
    let servers = Servers::new([(2, Step::Accept)]);
    let fallback = messina_layers::FallbackLayer::new().layer(servers.clone());
    let stack = messina_layers::PinLayer::new().layer(
        tower::ServiceBuilder::new()
            .map_request(|address: Address| {
                let Address::Socket(addr) = address else { panic!("a name, and nobody to look it up") };
                messina_layers::Candidates::new(Pinned::new(address), [addr]).unwrap()
            })
            .service(fallback.clone()),
    );
    assert_eq!(stack.oneshot(Address::Socket(addr(2))).await.unwrap().connection.n, 2);
    assert_eq!(number(fallback.oneshot(candidates([1, 2])).await.unwrap().addr), 2);
    let _: Duration = messina_layers::resolve::DEFAULT_RESOLVE_TIMEOUT;
}
