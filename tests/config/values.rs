//! Good and bad values of every option.

/// For each option good values, and bad ones.
pub(crate) fn table(ca: &str, cert: &str, key: &str) -> Vec<(&'static str, Vec<String>, Vec<&'static str>)> {
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
        ("basic.load-balancing-policy.local-rack", own(&["r1"]), vec!["", "  "]),
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
        (
            "advanced.metadata.schema.refreshed-keyspaces",
            own(&["", "ks, Ks_2", "!system, !system_*", "app_*, !app_*_old"]),
            vec!["!", "a b", "/system.*/", "ks, !!x", "\"Ks\""],
        ),
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
