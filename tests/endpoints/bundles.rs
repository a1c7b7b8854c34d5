//! Bundles that clouds hand out.

use std::io::{Cursor, Write};

use messina::{
    Session,
    config::cloud::{BundleError, CloudSettings, MetadataRequest, SecureConnectBundle},
    layers::Dial,
    testkit::{self, Cluster, TestCa, rows},
};
use tower::service_fn;

use crate::support::{Files, Names, host};

const HOST: &str = "6f2e0c61-3a52-4d64-9a5c-1f3f5d0c1b7d";

fn zip<'a>(files: impl IntoIterator<Item = (&'a str, String)>) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn config() -> serde_json::Value {
    serde_json::json!({
        "host": "metadata.test", "port": 30443, "cql_port": 31234, "keyspace": "shop", "localDC": "dc1",
        "username": "ada", "password": "a secret", "caCertLocation": "./ca.crt", "keyLocation": "./key", "certLocation": "./cert"
    })
}

fn files(ca: &TestCa, config: &serde_json::Value) -> Vec<(&'static str, String)> {
    let (cert, key) = ca.identity("ada");
    vec![("config.json", config.to_string()), ("ca.crt", ca.pem()), ("cert", cert), ("key", key)]
}

fn bundle(ca: &TestCa) -> SecureConnectBundle {
    SecureConnectBundle::from_zip(&zip(files(ca, &config()))).unwrap()
}

fn metadata() -> serde_json::Value {
    serde_json::json!({
        "version": 1, "region": "west",
        "contact_info": {
            "type": "sni_proxy", "local_dc": "dc2", "contact_points": [HOST], "sni_proxy_address": "proxy.test:29042"
        }
    })
}

fn text(error: &BundleError) -> String {
    messina::layers::error::chain(error).to_string()
}

/// The bundle says whom to ask, and with the answer everything a session needs.
#[tokio::test]
async fn a_secure_connect_bundle() {
    let bundle = bundle(&TestCa::new());
    let https = service_fn(|request: MetadataRequest| async move {
        assert_eq!(request.url, "https://metadata.test:30443/metadata");
        Ok::<_, std::io::Error>(metadata().to_string().into_bytes())
    });
    let settings = bundle.fetch(https).await.unwrap();
    assert_eq!((settings.keyspace.as_deref(), settings.local_datacenter.as_deref()), (Some("shop"), Some("dc2")));
    assert!(!format!("{bundle:?}{settings:?}").contains("a secret"), "no password is printed");
    let config = Session::builder().cloud(settings.clone()).check().unwrap();
    let [point] = &config.contact_points[..] else { panic!("one node to begin with") };
    assert_eq!(point.endpoint().address().to_string(), "proxy.test:29042");
    assert_eq!(point.endpoint().server_name().unwrap().as_str(), HOST, "a node is its host id alone");
    assert_eq!(point.endpoint().tls_name().unwrap().as_str(), "proxy.test");
    assert!(config.authenticator.is_some() && config.keyspace.as_deref() == Some("shop"));

    // What was said already stays.
    let own = Session::builder().keyspace("own").local_datacenter("dc9").cloud(settings).check().unwrap();
    assert_eq!((own.keyspace.as_deref(), own.local_datacenter.as_deref()), (Some("own"), Some("dc9")));

    let down = service_fn(|_: MetadataRequest| async { Err::<Vec<u8>, _>(std::io::Error::other("no route")) });
    assert_eq!(text(&bundle.fetch(down).await.unwrap_err()), "metadata cannot be fetched: no route");
}

/// Each thing that is missing or makes no sense is named, with its file.
#[test]
fn bad_bundles() {
    let ca = TestCa::new();
    let refused = |files: Vec<(&str, String)>| SecureConnectBundle::from_zip(&zip(files)).unwrap_err();
    assert!(text(&SecureConnectBundle::from_zip(b"no zip").unwrap_err()).starts_with("bundle is not a zip: "));
    assert!(text(&SecureConnectBundle::open("/no/such.zip").unwrap_err()).starts_with("/no/such.zip cannot be read: "));
    for (field, value, problem) in [
        ("host", serde_json::Value::Null, "is missing"),
        ("host", "a b".into(), "no host"),
        ("host", "a.test:1".into(), "no host"),
        ("port", serde_json::Value::Null, "is missing"),
        ("port", 70_000.into(), "is 70000, and not a port"),
        ("port", "30443".into(), "not a port"),
        ("keyspace", 5.into(), "is not text"),
        ("username", serde_json::Value::Null, "is missing, and there is a `password`"),
        ("password", "".into(), "is missing, and there is a `username`"),
    ] {
        let mut config = config();
        config[field] = value;
        let error = refused(files(&ca, &config));
        assert_eq!((error.file(), error.field()), ("config.json", Some(field)));
        assert!(error.to_string().contains(problem) && !error.to_string().contains("a secret"), "{error}");
    }
    for name in ["config.json", "ca.crt", "cert", "key"] {
        let without = files(&ca, &config()).into_iter().filter(|(file, _)| *file != name).collect();
        let error = refused(without);
        assert_eq!(error.file(), name);
        assert!(text(&error).contains("cannot be read from the bundle"), "{}", text(&error));
        let broken = files(&ca, &config()).into_iter();
        let error =
            refused(broken.map(|(file, text)| (file, if file == name { "broken".to_owned() } else { text })).collect());
        assert_eq!(error.file(), name, "{error}");
    }
    // A zip that grows without end is cut off.
    let mut bomb = files(&ca, &config());
    bomb[1].1 = " ".repeat(9 * 1024 * 1024);
    assert!(text(&refused(bomb)).contains("ca.crt is longer than"));
}

/// What the metadata service says is not believed blindly.
#[test]
fn bad_metadata() {
    let bundle = bundle(&TestCa::new());
    assert!(text(&bundle.settings(b"<html>").unwrap_err()).starts_with("metadata is not JSON"));
    let error = bundle.settings(b"{}").unwrap_err();
    assert_eq!((error.file(), error.field()), ("metadata", Some("contact_info")));
    for (field, value, problem) in [
        ("type", "carrier pigeon".into(), "only \"sni_proxy\" is known"),
        ("sni_proxy_address", serde_json::Value::Null, "is missing"),
        ("sni_proxy_address", "proxy.test".into(), "no `host:port`"),
        ("contact_points", serde_json::json!([]), "no list of host ids"),
        ("contact_points", serde_json::json!(["a b"]), "no host id"),
        ("contact_points", serde_json::json!([5]), "no host id"),
    ] {
        let mut metadata = metadata();
        metadata["contact_info"][field] = value;
        let error = bundle.settings(metadata.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.field(), Some(&*format!("contact_info.{field}")));
        assert!(error.to_string().contains(problem), "{error}");
    }
}

fn yaml(ca: &str, cert: &str, key: &str, server: &str) -> String {
    format!(
        "apiVersion: cqlclient.scylla.scylladb.com/v1alpha1
kind: CQLConnectionConfig
currentContext: default
contexts:
  default:
    datacenterName: us-east-1
    authInfoName: admin
authInfos:
  admin:
    clientCertificatePath: {cert}
    clientKeyPath: {key}
    username: ada
    password: a secret
datacenters:
  us-east-1:
    certificateAuthorityPath: {ca}
    server: {server}
    nodeDomain: cluster.test
"
    )
}

/// ScyllaDB Cloud's connection config leads to a session through its proxy.
#[tokio::test]
async fn a_connection_config() {
    let (ca, files) = (TestCa::new(), Files::new());
    let certificate = ca.server(["cluster.test", "*.cluster.test"]).with_client_auth();
    let cluster = Cluster::builder().tls(certificate).user("ada", "a secret").start().await.unwrap();
    cluster.prime("SELECT now", rows!["now text"; ("noon",)]);
    let proxy = testkit::SniProxy::start(1).unwrap();
    proxy.serve(&cluster, "cluster.test");
    let names = Names::default();
    names.set("proxy.test", proxy.addrs().into_iter().map(host));
    let (cert, key) = ca.identity("ada");
    // Paths are relative to the config.
    for (name, text) in [("ca.pem", ca.pem()), ("cert.pem", cert), ("key.pem", key)] {
        files.write(name, &text);
    }
    let server = format!("https://proxy.test:{}", proxy.addrs()[0].port());
    let path = files.write("bundle.yaml", &yaml("ca.pem", "cert.pem", "key.pem", &server));
    let settings = CloudSettings::open_connection_config(&path).unwrap();
    assert_eq!(settings.local_datacenter.as_deref(), Some("us-east-1"));
    assert!(!format!("{settings:?}").contains("a secret"));
    let session = Session::builder().cloud(settings).resolver(names).build().await.unwrap();
    let (now,): (String,) = session.execute("SELECT now", ()).await.unwrap().one().await.unwrap();
    assert_eq!(now, "noon");
}

/// What is missing or wrong in it is named by its place.
#[test]
fn bad_connection_configs() {
    let (ca, files) = (TestCa::new(), Files::new());
    let (cert, key) = ca.identity("ada");
    let [ca, cert, key] = [("ca.pem", ca.pem()), ("cert.pem", cert), ("key.pem", key)]
        .map(|(name, text)| files.write(name, &text).display().to_string());
    let good = yaml(&ca, &cert, &key, "proxy.test:443");
    let settings = CloudSettings::from_connection_config(&good).unwrap();
    assert_eq!(settings.proxies[0].datacenter(), Some("us-east-1"));
    let named = good.replace("nodeDomain", "tlsServerName: gateway.test\n    nodeDomain");
    let named = CloudSettings::from_connection_config(&named).unwrap();
    assert_eq!(named.proxies[0].bootstrap()[0].tls_name().unwrap().as_str(), "gateway.test");
    for (from, to, field, problem) in [
        ("kind: CQLConnectionConfig", "kind: Pod", "kind", "is \"Pod\""),
        ("currentContext: default", "", "currentContext", "is missing"),
        ("currentContext: default", "currentContext: other", "contexts", "has no \"other\"; there are default"),
        ("datacenterName: us-east-1", "datacenterName: mars", "datacenters", "has no \"mars\"; there are us-east-1"),
        ("authInfoName: admin", "authInfoName: root", "authInfos", "has no \"root\"; there are admin"),
        ("server: proxy.test:443", "", "datacenters.us-east-1.server", "is missing"),
        ("server: proxy.test:443", "server: a b", "datacenters.us-east-1.server", "cannot be used"),
        ("nodeDomain: cluster.test", "nodeDomain: 10.0.0.1", "datacenters.us-east-1.nodeDomain", "cannot be used"),
        ("nodeDomain: cluster.test", "", "datacenters.us-east-1.nodeDomain", "is missing"),
        ("nodeDomain", "proxyURL: socks5://x\n    nodeDomain", "datacenters.us-east-1.proxyURL", "not supported"),
        (
            "certificateAuthorityPath: ",
            "certificateAuthorityPath: /no/such",
            "datacenters.us-east-1.certificateAuthorityPath",
            "leads to a file",
        ),
        (
            "certificateAuthorityPath: ",
            "certificateAuthorityData: '%' #",
            "datacenters.us-east-1.certificateAuthorityData",
            "is not base 64",
        ),
        ("certificateAuthorityPath: ", "other: ", "datacenters.us-east-1.certificateAuthorityData", "is missing"),
        ("clientKeyPath: ", "other: ", "authInfos.admin.clientKeyData", "is missing"),
        ("username: ada", "", "authInfos.admin.username", "is missing"),
    ] {
        assert!(good.contains(from), "{from}");
        let error = CloudSettings::from_connection_config(&good.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.field(), Some(field), "{}", text(&error));
        assert!(error.to_string().contains(problem), "{error}");
    }
    assert!(text(&CloudSettings::from_connection_config("a: [").unwrap_err()).contains("is not YAML"));
    // No authority is needed by those who trust all, which has to be said in so many words.
    let all = good.replace("certificateAuthorityPath: ", "insecureSkipTlsVerify: true #");
    CloudSettings::from_connection_config(&all).unwrap();
}
