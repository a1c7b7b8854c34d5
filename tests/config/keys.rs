//! Options by the names of the settings file.

use std::{collections::HashSet, time::Duration};

use messina::{
    config::{Draft, HostIdCheck, KEYS, OPTIONS},
    connection::Compression,
    layers::Order,
    protocol::ProtocolVersion,
    testkit::TestCa,
};

use crate::{checked, events::Events, files::Files, good, refused};

/// For each option good values, and bad ones.
fn table(ca: &str, cert: &str, key: &str) -> Vec<(&'static str, Vec<String>, Vec<&'static str>)> {
    let own = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
    let durations = ["", "5", "s", "-1 s", "1.5 s", "5 parsecs", "five s", "99999999999999999999 s", "5 s 3 ms"];
    let limits = [&durations[..], &["0 s", "0ms", "999 us"]].concat();
    let numbers = ["", "-1", "five", "1.5", "99999999999999999999"];
    let counts = [&numbers[..], &["0"]].concat();
    let sizes = ["", "0", "-1", "1.5 MiB", "64 KB", "5 GiB", "many"];
    let booleans = vec!["", "yes", "1", "TRUE "];
    vec![
        ("basic.contact-points", own(&["a.test", "a.test:9043, 10.0.0.1 ,[::1]"]), vec!["", ",", "a.test:0", "a b"]),
        ("basic.session-name", own(&["web", "Night job"]), vec!["", "  "]),
        ("basic.session-keyspace", own(&["ks", "Ks_2"]), vec!["", "a\u{7}b", "Ks \"x\"", "ключ"]),
        ("basic.load-balancing-policy.local-datacenter", own(&["dc1"]), vec!["", "  "]),
        ("basic.request.timeout", own(&["10 s", "250ms", "1 min", "1000 us"]), limits.clone()),
        ("basic.request.consistency", own(&["ONE", "local_quorum"]), vec!["", "MOST", "LOCAL"]),
        ("basic.request.serial-consistency", own(&["SERIAL", "local_serial"]), vec!["", "ONE"]),
        ("basic.request.page-size", own(&["1", "5000", "2147483647"]), [&counts[..], &["2147483648"]].concat()),
        ("basic.request.default-idempotence", own(&["true", "false"]), booleans.clone()),
        ("advanced.control-connection.expected-cluster", own(&["prod", "Test Cluster"]), vec!["", "  "]),
        ("advanced.control-connection.timeout", own(&["5 s"]), limits.clone()),
        (
            "advanced.control-connection.reconnection.fallback-to-original-contact-points",
            own(&["true", "false"]),
            booleans.clone(),
        ),
        ("advanced.control-connection.schema-agreement.interval", own(&["200 ms"]), limits.clone()),
        ("advanced.control-connection.schema-agreement.timeout", own(&["10 s", "0 s"]), durations.to_vec()),
        ("advanced.control-connection.schema-agreement.warn-on-failure", own(&["true", "false"]), booleans.clone()),
        ("advanced.metadata.schema.enabled", own(&["true", "false"]), booleans.clone()),
        ("advanced.metadata.topology-event-debouncer.window", own(&["1 s", "0 s"]), durations.to_vec()),
        ("advanced.metadata.topology-event-debouncer.max-events", own(&["1", "20"]), counts.clone()),
        ("advanced.reconnect-on-init", own(&["true", "false"]), booleans.clone()),
        ("advanced.connection.max-candidate-addresses", own(&["1", "12"]), counts.clone()),
        (
            "advanced.connection.candidate-order",
            own(&["shuffle", "first-then-shuffle", "as-given", "interleave-families"]),
            vec!["", "random", "Shuffle"],
        ),
        ("advanced.connection.attempt-delay", own(&["250 ms", "0 s"]), durations.to_vec()),
        ("advanced.connection.connect-budget", own(&["20 s"]), durations.to_vec()),
        ("advanced.connection.max-auth-failures", own(&["1", "3"]), counts.clone()),
        ("advanced.connection.resolve-timeout", own(&["5 s"]), limits.clone()),
        ("advanced.connection.connect-timeout", own(&["5 s"]), limits.clone()),
        ("advanced.connection.tls-handshake-timeout", own(&["5 s"]), limits.clone()),
        ("advanced.connection.init-query-timeout", own(&["5 s"]), limits.clone()),
        ("advanced.connection.set-keyspace-timeout", own(&["5 s"]), limits.clone()),
        (
            "advanced.connection.max-requests-per-connection",
            own(&["32768", "257"]),
            [&counts[..], &["32769", "256"]].concat(),
        ),
        ("advanced.connection.max-orphan-requests", own(&["0", "1023"]), [&numbers[..], &["1024"]].concat()),
        ("advanced.connection.host-id-check", own(&["off", "warn", "reject"]), vec!["", "on", "Off"]),
        ("advanced.connection.pool.local.size", own(&["1", "1024"]), [&counts[..], &["1025"]].concat()),
        ("advanced.connection.pool.remote.size", own(&["0", "2"]), [&numbers[..], &["1025"]].concat()),
        ("advanced.connection.advanced-shard-awareness.enabled", own(&["true", "false"]), booleans.clone()),
        (
            "advanced.connection.advanced-shard-awareness.port-low",
            own(&["1", "49152"]),
            [&counts[..], &["65536"]].concat(),
        ),
        (
            "advanced.connection.advanced-shard-awareness.port-high",
            own(&["10000", "65535"]),
            [&counts[..], &["65536", "9999"]].concat(),
        ),
        ("advanced.connection.max-concurrent-connects-per-host", own(&["1", "8"]), counts.clone()),
        ("advanced.connection.max-concurrent-connects", own(&["1", "64"]), counts.clone()),
        ("advanced.connection.identified-fallback", own(&["off", "verified"]), vec!["", "on", "Off"]),
        ("advanced.reconnection-policy.base-delay", own(&["1 ms", "60 s"]), [&limits[..], &["61 s"]].concat()),
        ("advanced.reconnection-policy.max-delay", own(&["1 s", "5 min"]), [&limits[..], &["999 ms"]].concat()),
        ("advanced.heartbeat.interval", own(&["30 s", "500 ms"]), limits.clone()),
        ("advanced.heartbeat.timeout", own(&["5 s"]), limits),
        ("advanced.socket.tcp-no-delay", own(&["true", "false"]), booleans.clone()),
        (
            "advanced.socket.keep-alive",
            own(&["1 s", "5 min"]),
            [&durations[..], &["0 s", "999 ms", "10000 min"]].concat(),
        ),
        ("advanced.socket.linger-interval", own(&["0 s", "5 seconds"]), durations.to_vec()),
        ("advanced.socket.receive-buffer-size", own(&["65536", "64 KiB"]), sizes.to_vec()),
        ("advanced.socket.send-buffer-size", own(&["1 MiB"]), sizes.to_vec()),
        ("advanced.protocol.version", own(&["3", "v4", "V5"]), vec!["", "2", "6", "vv", "four", "VvV4", "vv4"]),
        ("advanced.protocol.compression", own(&["lz4", "snappy", "none"]), vec!["", "zstd", "LZ4"]),
        ("advanced.protocol.max-frame-length", own(&["256 MiB", "1 KiB"]), sizes.to_vec()),
        ("advanced.metrics.prefix", own(&["shop", "Shop_2"]), vec!["", "my shop", "2shop", "shop.web", "_"]),
        ("advanced.sni.proxy", own(&["proxy.test", "10.0.0.1:9142"]), vec!["", "a b", "proxy.test:0"]),
        ("advanced.sni.node-domain", own(&["cluster.test"]), vec!["", "10.0.0.1", "a b"]),
        ("advanced.sni.verified-name", own(&["proxy.test"]), vec!["", "10.0.0.1", "a b"]),
        (
            "advanced.client-routes.connections",
            own(&["vpc-1", "vpc-1=proxy.test, vpc-2 , vpc-3 = 10.0.0.1"]),
            vec!["a=proxy.test:9042", "a=", "a, b, a", "=proxy.test"],
        ),
        ("advanced.client-routes.table-name", own(&["ks.routes"]), vec!["", "routes", "a.b.c", "ks.routes;"]),
        ("advanced.client-routes.proxy-only", own(&["true", "false"]), booleans.clone()),
        ("advanced.tls.ca-file", own(&[ca]), vec!["", "/no/such/file.pem"]),
        ("advanced.tls.cert-file", own(&[cert]), vec!["", "/no/such/file.pem"]),
        ("advanced.tls.key-file", own(&[key]), vec!["", "/no/such/file.pem"]),
        ("advanced.tls.native-roots", own(&["false"]), booleans.clone()),
        ("advanced.tls.dangerous-trust-all", own(&["true", "false"]), booleans.clone()),
        ("advanced.tls.reload-interval", own(&["10 s", "0 s"]), durations.to_vec()),
        (
            "advanced.tls.accepted-names",
            own(&["a.test", "a.test, b.test"]),
            vec!["10.0.0.1", "a b", "a.test, ,b..test"],
        ),
        ("advanced.resolve-contact-points", own(&["true", "false"]), booleans),
    ]
}

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
        ("advanced.prepared-statements.prepare-on-all-nodes", "first executed"),
        ("advanced.prepared-statements.reprepare-on-up.enabled", "first executed"),
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
