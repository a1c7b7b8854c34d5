//! Files for TLS: missing, not PEM, empty, or not fitting each other.

use messina::testkit::TestCa;

use crate::{checked, files::Files, good, refused};

/// Each bad file is refused under the option that names it, with its path and what is wrong.
#[tokio::test]
async fn bad_files() {
    let (ca, files) = (TestCa::new(), Files::new());
    let (chain, key) = ca.identity("ada");
    let (_, other_key) = ca.identity("eve");
    let ca_file = files.write("ca.pem", &ca.pem());
    let cert = files.write("cert.pem", &chain);
    let key = files.write("key.pem", &key);
    let other_key = files.write("other.pem", &other_key);
    let text = files.write("text.pem", "this is no PEM");
    let empty = files.write("empty.pem", "");
    let broken = files.write("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let torn = files.write("torn.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n");
    let missing = files.write("gone.pem", "").with_file_name("never.pem");

    for (path, why) in [
        (&missing, "No such file"),
        (&text, "no certificate"),
        (&empty, "no certificate"),
        (&broken, "cannot be a root"),
        (&torn, "not PEM"),
        (&key, "no certificate"),
    ] {
        let error = refused(good().tls_ca_file(path)).await;
        assert_eq!(error.option(), "advanced.tls.ca-file", "{error}");
        assert_eq!(error.value(), path.display().to_string());
        assert!(error.to_string().contains(why), "{why:?} is not in {error}");
    }
    for (path, why) in [(&missing, "No such file"), (&text, "no certificate"), (&torn, "not PEM")] {
        let error = refused(good().tls_ca_file(&ca_file).tls_client_files(path, &key)).await;
        assert_eq!(error.option(), "advanced.tls.cert-file", "{error}");
        assert_eq!(error.value(), path.display().to_string());
        assert!(error.to_string().contains(why), "{why:?} is not in {error}");
    }
    for (path, why) in [
        (&missing, "No such file"),
        (&text, "no private key"),
        (&cert, "no private key"),
        (&other_key, "does not fit the certificate"),
    ] {
        let error = refused(good().tls_ca_file(&ca_file).tls_client_files(&cert, path)).await;
        assert_eq!(error.option(), "advanced.tls.key-file", "{error}");
        assert_eq!(error.value(), path.display().to_string());
        assert!(error.to_string().contains(why), "{why:?} is not in {error}");
    }
    assert!(checked(&good().tls_ca_file(&ca_file).tls_client_files(&cert, &key)).tls.is_some());
}

/// Half of what belongs together is refused.
#[tokio::test]
async fn halves() {
    let (ca, files) = (TestCa::new(), Files::new());
    let (chain, key) = ca.identity("ada");
    let ca_file = files.write("ca.pem", &ca.pem()).display().to_string();
    let cert = files.write("cert.pem", &chain).display().to_string();
    let key = files.write("key.pem", &key).display().to_string();
    for (set, option, needs) in [
        (vec![("advanced.tls.cert-file", &cert)], "advanced.tls.cert-file", "key-file"),
        (vec![("advanced.tls.key-file", &key)], "advanced.tls.key-file", "cert-file"),
        (
            vec![("advanced.tls.ca-file", &ca_file), ("advanced.tls.cert-file", &cert)],
            "advanced.tls.cert-file",
            "key-file",
        ),
        (vec![("advanced.tls.cert-file", &cert), ("advanced.tls.key-file", &key)], "advanced.tls.cert-file", "ca-file"),
    ] {
        let builder = set.iter().fold(good(), |builder, (option, value)| builder.set(option, value));
        let error = refused(builder).await;
        assert_eq!(error.option(), option);
        assert!(error.allowed().contains(needs), "{error}");
    }
}

/// Settings beside files: one of the two would be ignored.
#[tokio::test]
async fn settings_and_files() {
    let settings = messina::config::TlsSettings::new(TestCa::new().client());
    for (builder, option, path) in [
        (good().tls_ca_file("ca.pem"), "advanced.tls.ca-file", "ca.pem"),
        (good().tls_client_files("cert.pem", "key.pem"), "advanced.tls.cert-file", "cert.pem"),
        (good().set("advanced.tls.key-file", "key.pem"), "advanced.tls.key-file", "key.pem"),
    ] {
        let error = refused(builder.tls(settings.clone())).await;
        assert_eq!((error.option(), error.value()), (option, path));
        assert!(error.allowed().contains("`tls(..)`"), "{error}");
    }
}

/// Accepted names need TLS, and must be names.
#[tokio::test]
async fn accepted_names() {
    let error = refused(good().tls_accepted_name("a.test")).await;
    assert_eq!((error.option(), error.value()), ("advanced.tls.accepted-names", "a.test"));
    let tls = messina::config::TlsSettings::new(TestCa::new().client());
    for bad in ["", "10.0.0.1", "a b", "*.test"] {
        let error = refused(good().tls(tls.clone()).tls_accepted_name(bad)).await;
        assert_eq!((error.option(), error.value()), ("advanced.tls.accepted-names", bad));
    }
    let config = checked(&good().tls(tls).tls_accepted_name("a.test").tls_accepted_name("b.test"));
    assert_eq!(config.tls.unwrap().accept.len(), 2);
}
