//! Settings from a file: TOML and JSON stand for whatever serde reads.

use std::time::Duration;

use messina::{
    config::{Config, Draft, KEYS, OPTIONS},
    layers::Order,
    protocol::ProtocolVersion,
};
use serde::Deserialize;

use crate::events::Events;

const TOML: &str = r#"
advanced.heartbeat.interval = "1 minute"

[basic]
contact-points = ["a.test", "b.test:9043"]
session-keyspace = "shop"
"load-balancing-policy.local-datacenter" = "dc1"

[basic.request]
timeout = "5 seconds"
page-size = 100
default-idempotence = true

[advanced.connection]
candidate-order = "as-given"
attempt-delay = "0 s"
pool.local.size = 3

[advanced.protocol]
version = 4
"#;

fn as_expected(config: &Config) {
    let points: Vec<_> = config.contact_points.iter().map(ToString::to_string).collect();
    assert_eq!(points, ["a.test:9042", "b.test:9043"]);
    assert_eq!((config.keyspace.as_deref(), config.local_datacenter.as_deref()), (Some("shop"), Some("dc1")));
    assert_eq!((config.request_timeout, config.page_size), (Duration::from_secs(5), 100));
    assert!(config.default_idempotence);
    assert_eq!((config.connect.order, config.connect.attempt_delay), (Order::AsGiven, None));
    assert_eq!((config.pool.local_size, config.pool.remote_size), (3, 1));
    assert_eq!(config.protocol_version, Some(ProtocolVersion::V4));
    assert_eq!(config.heartbeat_interval, Duration::from_secs(60));
}

/// Sections may be nested or written with dots, in any format.
#[test]
fn nested_and_dotted() {
    as_expected(&toml::from_str::<Draft>(TOML).unwrap().check().unwrap());
    as_expected(&toml::from_str::<Config>(TOML).unwrap());
    let json = serde_json::json!({
        "basic.contact-points": ["a.test", "b.test:9043"],
        "basic": {
            "session-keyspace": "shop",
            "load-balancing-policy": { "local-datacenter": "dc1" },
            "request": { "timeout": "5 s", "page-size": 100, "default-idempotence": true },
        },
        "advanced": {
            "connection.candidate-order": "as-given",
            "connection": { "attempt-delay": "0 s", "pool": { "local": { "size": "3" } }, "connect-budget": null },
            "protocol": { "version": "v4" },
            "heartbeat": { "interval": "1 min" },
        },
    });
    as_expected(&serde_json::from_value::<Config>(json.clone()).unwrap());
    as_expected(&serde_json::from_str::<Config>(&json.to_string()).unwrap());
}

/// A builder begins with what a file says, and adds to it.
#[test]
fn a_builder_goes_on() {
    let draft: Draft = toml::from_str(TOML).unwrap();
    let builder = messina::Session::builder().with_settings(draft).page_size(7);
    let config = builder.check().unwrap();
    assert_eq!((config.page_size, config.keyspace.as_deref()), (7, Some("shop")));
    // What was set before would be forgotten, and with it TLS.
    let builder = messina::Session::builder().tls_ca_file("ca.pem").with_settings(toml::from_str(TOML).unwrap());
    let error = builder.check().unwrap_err().to_string();
    assert!(error.contains("with_settings") && error.contains("before all others"), "{error}");
}

/// Every option that a program can set by its name can stand in a file.
#[test]
fn every_option() {
    for option in OPTIONS {
        let mut draft = Draft::default();
        if draft.set(option.name, option.default).is_err() {
            continue;
        }
        let file = serde_json::json!({ option.name: option.default });
        let read: Draft = serde_json::from_value(file).unwrap();
        assert_eq!(format!("{read:?}"), format!("{draft:?}"), "{}", option.name);
    }
    assert_eq!(KEYS.len(), OPTIONS.len());
}

/// What is wrong is told with the option, the value, and what is allowed; an unknown option with the nearest one.
#[test]
fn mistakes() {
    for (file, parts) in [
        (r#"basic.request.page-size = "many""#, &["basic.request.page-size", "many", "1 to 2147483647"][..]),
        ("basic.request.page-size = 1.5", &["basic.request.page-size", "1.5", "1 to 2147483647"]),
        ("basic.request.timeout = 5", &["basic.request.timeout", "\"5\"", "a number with its unit"]),
        ("[basic.request]\ntimout = '5 s'", &["basic.request.timout", "did you mean `basic.request.timeout`?"]),
        ("[basic.request.timeout]\nseconds = 5", &["basic.request.timeout.seconds"]),
        ("advanced.throttler.class = 'x'", &["advanced.throttler.class", "a tower layer"]),
        ("basic.contact-points = [['a']]", &["basic.contact-points", "a list of"]),
        ("basic.contact-points = ['a,b']", &["basic.contact-points", "one item per entry"]),
        ("basic.request.page-size = 1\n'basic.request.page-size' = 2", &["basic.request.page-size", "written twice"]),
    ] {
        let error = toml::from_str::<Draft>(file).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in {error:?}, from {file}");
        }
    }
    let error = serde_json::from_str::<Draft>("[1, 2]").unwrap_err().to_string();
    assert!(error.contains("sections"), "{error}");
    // What a check finds is told by the settings as a whole.
    let error = toml::from_str::<Config>("basic.request.page-size = 1").unwrap_err().to_string();
    assert!(error.contains("basic.contact-points"), "{error}");
}

/// A secret in the wrong place is refused without being shown, be the settings a file or a part of one.
#[test]
fn secrets() {
    #[derive(Debug, Deserialize)]
    struct Application {
        messina: Draft,
    }

    let refused = |draft: Draft| {
        let error = draft.check().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("open-sesame"), "{error}");
        assert!(error.to_string().contains("credentials"), "{error}");
    };
    for file in ["auth-provider.password = 'open-sesame'", "[auth-provider]\npassword = 'open-sesame'"] {
        let file = file.replace("auth-provider", "advanced.auth-provider");
        let draft = toml::from_str::<Draft>(&file).unwrap();
        assert!(!format!("{draft:?}").contains("open-sesame"));
        refused(draft);
        let error = toml::from_str::<Config>(&file).unwrap_err();
        assert!(!format!("{error}").contains("open-sesame"), "{error}");
    }
    for file in [
        "messina.advanced.auth-provider.password = 'open-sesame'",
        "messina = { advanced.auth-provider.password = 'open-sesame' }",
        "[messina.advanced.auth-provider]\npassword = 'open-sesame'",
    ] {
        refused(toml::from_str::<Application>(file).unwrap().messina);
    }
}

/// connect 115: `advanced.resolve-contact-points` in a file is accepted, does nothing, and is warned of once.
#[test]
fn the_old_option() {
    for value in [true, false] {
        let events = Events::watch();
        let file = format!("advanced.resolve-contact-points = {value}");
        let draft: Draft = toml::from_str(&file).unwrap();
        assert_eq!(format!("{draft:?}"), format!("{:?}", Draft::default()));
        assert_eq!(events.warned("resolve-contact-points"), 1);
    }
}
