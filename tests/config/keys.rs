//! Options by the names of the settings file.

use std::{collections::HashSet, time::Duration};

use messina::{
    config::{Draft, HostIdCheck, KEYS, OPTIONS},
    connection::Compression,
    layers::Order,
    protocol::ProtocolVersion,
    testkit::TestCa,
};

use crate::{checked, events::Events, files::Files, good, refused, values::table};

/// Every option takes a good value and refuses a bad one, naming itself, the value and what is allowed.
#[tokio::test]
async fn every_key() {
    let (ca, files) = (TestCa::new(), Files::new());
    let (chain, key) = ca.identity("ada");
    let paths = [("ca.pem", ca.pem()), ("cert.pem", chain), ("key.pem", key)];
    let [ca, cert, key] = paths.map(|(name, text)| files.write(name, &text).display().to_string());
    let table = table(&ca, &cert, &key);
    assert_eq!(table.iter().map(|(key, ..)| *key).collect::<Vec<_>>(), KEYS, "every key, in the order of the list");
    // An option about TLS needs the others beside it.
    let with = |option: &str| {
        let mut builder = good();
        for (other, path) in
            [("advanced.tls.ca-file", &ca), ("advanced.tls.cert-file", &cert), ("advanced.tls.key-file", &key)]
        {
            let alone = option == "advanced.tls.dangerous-trust-all";
            let secure = option.starts_with("advanced.tls") || option.starts_with("advanced.sni");
            if secure && option != other && !alone {
                builder = builder.set(other, path);
            }
        }
        for (other, value) in [
            ("advanced.sni.proxy", "proxy.test"),
            ("advanced.sni.node-domain", "cluster.test"),
            ("advanced.client-routes.connections", "vpc-1"),
        ] {
            let section = other.rsplit_once('.').unwrap().0;
            if option.starts_with(section) && option != other {
                builder = builder.set(other, value);
            }
        }
        builder
    };
    for (option, good, bad) in table {
        for value in good {
            let builder = with(option).set(option, &value);
            assert!(builder.check().is_ok(), "{option} = {value:?}: {:?}", builder.check().err());
        }
        for value in bad {
            let error = refused(with(option).set(option, value)).await;
            let names_it = error.option().contains(option.rsplit('.').next().unwrap());
            assert!(names_it, "{option} = {value:?} is refused as {error}");
            let shows_it = error.value().contains(value.trim()) || value.contains(error.value());
            let in_other_words = ["timeout", "keep-alive", "interval", "base-delay", "max-delay"]
                .iter()
                .any(|end| option.ends_with(end));
            assert!(shows_it || in_other_words, "{option} = {value:?} is refused as {error}");
        }
    }
}

/// What is set by name is what the typed methods set.
#[test]
fn values_arrive() {
    let builder = good()
        .set("basic.contact-points", "a.test, b.test:9043")
        .set("basic.session-keyspace", " Ks ")
        .set("basic.load-balancing-policy.local-datacenter", "dc1")
        .set("basic.request.timeout", "1 min")
        .set("basic.request.page-size", "17")
        .set("basic.request.default-idempotence", "true")
        .set("advanced.connection.max-candidate-addresses", "3")
        .set("advanced.connection.candidate-order", "as-given")
        .set("advanced.connection.attempt-delay", "0 s")
        .set("advanced.connection.connect-budget", "20 s")
        .set("advanced.connection.max-auth-failures", "2")
        .set("advanced.connection.resolve-timeout", "1 s")
        .set("advanced.connection.connect-timeout", "2 s")
        .set("advanced.connection.init-query-timeout", "3 s")
        .set("advanced.connection.host-id-check", "warn")
        .set("advanced.protocol.version", "v4")
        .set("advanced.protocol.compression", "lz4");
    let config = checked(&builder);
    let points: Vec<_> = config.contact_points.iter().map(ToString::to_string).collect();
    assert_eq!(points, ["a.test:9042", "b.test:9043"], "a list replaces what was there");
    let seconds = Duration::from_secs;
    assert_eq!(config.keyspace.as_deref(), Some("Ks"));
    assert_eq!(config.local_datacenter.as_deref(), Some("dc1"));
    assert_eq!((config.request_timeout, config.page_size, config.default_idempotence), (seconds(60), 17, true));
    assert_eq!((config.connect.cap, config.connect.order), (3, Order::AsGiven));
    assert_eq!((config.connect.attempt_delay, config.connect.budget), (None, Some(seconds(20))));
    assert_eq!((config.connect.max_auth_failures, config.connect.resolve_timeout), (Some(2), Some(seconds(1))));
    assert_eq!((config.connect_timeout, config.init_timeout), (seconds(2), seconds(3)));
    assert_eq!(config.tls_timeout, seconds(2), "the connect timeout, unless set");
    assert_eq!(config.host_id_check, HostIdCheck::Warn);
    assert_eq!(config.protocol_version, Some(ProtocolVersion::V4));
    assert_eq!(config.compression, Some(Compression::Lz4));
}

/// An unknown option is refused, and the nearest known one is suggested.
#[tokio::test]
async fn unknown_keys() {
    for (wrong, meant) in [
        ("basic.contact-point", "basic.contact-points"),
        ("basic.contactpoints", "basic.contact-points"),
        ("advanced.connection.max-candidates", "advanced.connection.max-candidate-addresses"),
        ("advanced.connection.conect-timeout", "advanced.connection.connect-timeout"),
        ("basic.request.pagesize", "basic.request.page-size"),
        ("advanced.tls.certfile", "advanced.tls.cert-file"),
        ("BASIC.REQUEST.TIMEOUT", "basic.request.timeout"),
        ("Advanced.Connection.Candidate_Order", "advanced.connection.candidate-order"),
        ("page-size", "basic.request.page-size"),
    ] {
        let error = refused(good().set(wrong, "7")).await;
        assert_eq!((error.option(), error.value()), (wrong, "7"));
        assert_eq!(error.allowed(), format!("did you mean `{meant}`?"));
        assert_eq!(error.to_string(), format!("there is no option `{wrong}`; did you mean `{meant}`?"));
    }
    for wrong in ["x", "colour", &"y".repeat(10_000)] {
        let error = refused(good().set(wrong, "blue")).await;
        assert_eq!(error.option(), wrong);
        assert!(!error.allowed().contains("did you mean"), "{error}");
    }
}

/// The first mistake is the one that is told, and it stays one.
#[tokio::test]
async fn the_first_mistake() {
    let builder = good().set("advanced.protocol.version", "9").set("basic.request.page-size", "none");
    assert_eq!(refused(builder.clone()).await.option(), "advanced.protocol.version");
    let builder = builder.set("advanced.protocol.version", "4");
    assert_eq!(refused(builder).await.option(), "advanced.protocol.version");
}

/// connect 115: the old option is accepted, does nothing, and says so once.
#[test]
fn the_old_option() {
    let events = Events::watch();
    let (mut with, without) = (Draft::default(), Draft::default());
    for value in ["true", "false", "true"] {
        with.set("advanced.resolve-contact-points", value).unwrap();
        assert_eq!(format!("{with:?}"), format!("{without:?}"));
    }
    assert_eq!(events.warnings().len(), 1);
}

/// Durations may be written with the words of other drivers' files; sizes have units too.
#[test]
fn words_and_units() {
    let error = good().set("advanced.protocol.max-frame-length", "1 GiB").check().unwrap_err();
    assert!(error.allowed().contains("256 MiB"), "{error}");
    for (text, seconds) in [("5 seconds", 5), ("1 minute", 60), ("2m", 120), ("1 hour", 3600), ("5000 milliseconds", 5)]
    {
        let config = checked(&good().set("basic.request.timeout", text));
        assert_eq!(config.request_timeout, Duration::from_secs(seconds), "{text}");
    }
}

/// Options that other drivers have are refused, and what there is instead is named.
#[tokio::test]
async fn options_of_other_drivers() {
    for (option, instead) in [
        ("basic.config-reload-interval", "Session::reconfigure"),
        ("advanced.connection.warn-on-init-error", "log"),
        ("advanced.reconnection-policy.class", "base-delay"),
        ("advanced.socket.reuse-address", "outgoing"),
        ("advanced.metadata.token-map.enabled", "always"),
        ("advanced.prepared-statements.reprepare-on-up.check-system-table", "leave it out"),
        ("advanced.address-translator.class", "address_translator"),
        ("advanced.ssl-engine-factory.class", "advanced.tls.ca-file"),
        ("advanced.auth-provider.class", "credentials"),
        ("advanced.throttler.class", "tower layer"),
        ("advanced.timestamp-generator.class", "timestamps"),
        ("advanced.coalescer.reschedule-interval", "without a timer"),
        ("advanced.session-leak.threshold", "leave it out"),
        ("advanced.request.trace.attempts", "with each result"),
        ("advanced.metrics.node.enabled", "advanced.metrics.prefix"),
    ] {
        let error = refused(good().set(option, "x")).await;
        assert!(error.allowed().contains(instead), "{error}");
        assert_eq!(error.option(), option);
    }
}

/// No option is listed twice.
#[test]
fn keys_are_distinct() {
    assert_eq!(KEYS.iter().collect::<HashSet<_>>().len(), KEYS.len());
}

/// The table says what is in force without an option, and its names are those that are known.
#[test]
fn the_table() {
    for option in OPTIONS {
        assert!(KEYS.contains(&option.name) && !option.meaning.is_empty(), "{}", option.name);
        let mut draft = Draft::default();
        if draft.set(option.name, option.default).is_ok() {
            let in_words =
                ["none", "the ", "that ", "whichever "].iter().any(|begin| option.default.starts_with(begin));
            let written = [&draft, &Draft::default()].map(|draft| format!("{draft:?}"));
            assert!(in_words || written[0] == written[1] || option.default == "256 MiB", "{option:?}");
        }
    }
}

/// The page of the guide lists every option as the code has it.
#[test]
fn the_page() {
    let page = include_str!("../../src/guide/settings.md");
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows.len(), OPTIONS.len());
    for (row, option) in rows.iter().zip(OPTIONS) {
        let kind = if option.runtime { "R" } else { "S" };
        assert_eq!(*row, format!("| `{}` | {} | {kind} | {} |", option.name, option.default, option.meaning));
    }
}
