//! Passwords and keys never appear in anything that prints.

use messina::{
    Session,
    config::{AuthContext, Authenticator, PlainText, TlsSettings},
    testkit::{Cluster, Network, TestCa},
};

const SECRET: &str = "open-sesame";

#[track_caller]
fn silent(what: &str, text: &str) {
    assert!(!text.contains(SECRET) && !text.contains("BEGIN"), "{what}: {text}");
    let bytes = SECRET.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
    assert!(!text.contains(&bytes), "{what}: {text}");
}

/// Builder, settings, authenticator, session, and every error on the way.
#[tokio::test(start_paused = true)]
async fn passwords_do_not_print() {
    let network = Network::new();
    let cluster = Cluster::builder().network(&network).user("ada", "else").start().await.unwrap();
    let addr = cluster.node(0).addr();
    let builder = Session::builder().contact_addr(addr).connector(network.connector()).credentials("ada", SECRET);
    silent("builder", &format!("{builder:?} {builder:#?}"));
    let config = builder.check().unwrap();
    silent("config", &format!("{config:?} {config:#?}"));
    let plain = PlainText::new("ada", SECRET);
    silent("authenticator", &format!("{plain:?} {plain:#?}"));
    assert!(format!("{plain:?}").contains("ada"), "the user is no secret");

    let error = builder.build().await.unwrap_err();
    assert!(error.is_auth());
    silent("error", &format!("{error} {error:?} {error:#?} {}", error.report()));
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        silent("source", &format!("{inner} {inner:?}"));
        source = inner.source();
    }
    for failed in error.contact_points() {
        silent("contact point", &format!("{failed:?} {}", failed.error.report()));
    }

    let right = Cluster::builder().network(&network).user("ada", SECRET).start().await.unwrap();
    let builder = Session::builder().contact_addr(right.node(0).addr()).connector(network.connector());
    let session = builder.credentials("ada", SECRET).build().await.unwrap();
    silent("session", &format!("{session:?} {:?}", session.config()));
}

/// A password that cannot be sent is refused without being shown.
#[test]
fn odd_passwords_do_not_print() {
    let plain = PlainText::new("ada", format!("{SECRET}\0"));
    let peer = "10.0.0.1:9042".parse().unwrap();
    let mut session = plain.start(&AuthContext::new("db.test", peer, "com.example.Gate")).unwrap();
    let error = session.initial().unwrap_err();
    silent("error", &format!("{error} {error:?}"));
    assert!(error.to_string().contains("zero byte"));
}

/// A password under a name that is no option is refused without being shown.
#[tokio::test]
async fn misplaced_passwords_do_not_print() {
    for key in ["advanced.auth-provider.password", "basic.PASSWORD", "clientSecret", "credentials"] {
        let error = crate::refused(crate::good().set(key, SECRET)).await;
        silent(key, &format!("{error} {error:?}"));
        assert!(error.allowed().contains("`credentials`"), "{error}");
    }
}

/// Settings of TLS print neither certificates nor keys.
#[test]
fn keys_do_not_print() {
    let ca = TestCa::new();
    let settings = TlsSettings::new(ca.client_with_certificate("ada"));
    let (_, key) = ca.identity("ada");
    let builder = Session::builder().contact_point("db.test").tls(settings.clone());
    for text in [format!("{settings:?}"), format!("{builder:?}"), format!("{:?}", builder.check().unwrap())] {
        silent("settings", &text);
        assert!(!text.contains(key.lines().nth(1).unwrap()), "{text}");
    }
}
