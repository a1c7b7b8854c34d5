//! The advice is concrete: it names the option to set.

use std::path::Path;

use messina::testkit::{BareAddress, Cluster, ClusterBuilder, EventKind, Log, ServerTls, TestCa};

use crate::support::{Dns, all_closed, beside, cluster, probe};

/// Files of a test, which go when it ends.
struct Files(std::path::PathBuf);

impl Files {
    fn new(test: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("messina-command-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl AsRef<Path> for Files {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn tls(tls: ServerTls) -> ClusterBuilder {
    Cluster::builder().tls(tls)
}

/// driver 7.14: a certificate that names only DNS names, at a contact point without a name: which option, which value.
/// report 41: and with that option it works.
#[tokio::test]
async fn a_certificate_for_a_name_only() {
    let (log, ca, files) = (Log::new(), TestCa::new(), Files::new("names"));
    let nodes = cluster(tls(ca.server(["db.example.com"])), &log).await;
    let addr = nodes.node(0).addr().to_string();
    let roots = files.write("ca.pem", &ca.pem());

    let ran = probe(&[&addr, "--tls-ca", &roots]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    let verdict = ran.verdict(&addr);
    assert!(verdict.contains("its certificate is valid for db.example.com, not for 127."), "{verdict}");
    assert!(verdict.contains("`--tls-name db.example.com` (in code `tls_accepted_name`)"), "{verdict}");

    let ran = probe(&[&addr, "--tls-ca", &roots, "--tls-name", "db.example.com", "--json"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.json()["contact_points"][0]["addresses"][0]["ms"]["tls"].is_number(), "{ran:?}");
    all_closed(&log).await;
}

/// driver 7.9: TLS asked of a plain port, a plain hello at a TLS port, an unknown authority, a missing certificate.
#[tokio::test]
async fn tls_that_does_not_fit() {
    let (log, ca, other, files) = (Log::new(), TestCa::new(), TestCa::new(), Files::new("fit"));
    let plain = cluster(Cluster::builder(), &log).await;
    let secret = cluster(tls(ca.server(["db.test"])), &log).await;
    let mutual = cluster(tls(ca.server(["db.test"]).with_client_auth()), &log).await;
    let (right, wrong) = (files.write("ca.pem", &ca.pem()), files.write("other.pem", &other.pem()));
    let cases: [(&Cluster, &[&str], &str); 4] = [
        (&plain, &["--tls-ca", &right, "--timeout", "0.5"], "does not speak TLS there"),
        (&secret, &["--timeout", "0.5"], "speaks TLS: try `--tls`"),
        (&secret, &["--tls-ca", &wrong], "`--tls-ca FILE`"),
        (&mutual, &["--tls-ca", &right, "--tls-name", "db.test"], "`--tls-cert FILE --tls-key FILE`"),
    ];
    for (nodes, args, said) in cases {
        let addr = nodes.node(0).addr().to_string();
        let ran = probe(&[&[addr.as_str()], args].concat()).await;
        assert_eq!(ran.code, 1, "{said}: {ran:?}");
        assert!(ran.verdict(&addr).contains(said), "{said}: {ran:?}");
    }
    all_closed(&log).await;
}

/// driver 7.9: one version only, a login that nobody gave, another cluster: each names its option.
#[tokio::test]
async fn what_is_set_wrong() {
    let log = Log::new();
    let newer = cluster(Cluster::builder().versions([5]), &log).await;
    let closed = cluster(Cluster::builder().user("ada", "secret"), &log).await;
    let foreign = cluster(Cluster::builder().name("foreign"), &log).await;
    let cases: [(&Cluster, &[&str], &str); 3] = [
        (&newer, &["--protocol", "4"], "`--protocol`"),
        (&closed, &[], "`--user NAME --password-env VARIABLE` (in code `credentials`)"),
        (&foreign, &["--expect-cluster", "ours"], "another cluster answers (\"foreign\"): a stale record"),
    ];
    for (nodes, args, said) in cases {
        let addr = nodes.node(0).addr().to_string();
        let ran = probe(&[&[addr.as_str()], args].concat()).await;
        assert_eq!(ran.code, 1, "{said}: {ran:?}");
        assert!(ran.verdict(&addr).contains(said), "{said}: {ran:?}");
    }
    // Left to itself it finds the version.
    let ran = probe(&[&newer.node(0).addr().to_string()]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    all_closed(&log).await;
}

/// driver 7.9: a name that leads to stale addresses, or into two clusters, is told as such.
#[tokio::test]
async fn stale_records() {
    let log = Log::new();
    let ours = cluster(Cluster::builder().name("ours"), &log).await;
    let port = ours.node(0).addr().port();
    let dead = beside(&ours, &log, BareAddress::refused().unwrap());
    let name = format!("db.test:{port}");

    let dns = Dns::leading_to([dead.addr(), ours.node(0).addr()]).await;
    let ran = probe(&[&name, "--dns", &dns.addr]).await;
    assert!(ran.verdict(&name).contains("half of the addresses or more refuse"), "{ran:?}");

    let theirs = Cluster::builder().name("theirs").port(port).log(&log).start().await.unwrap();
    dns.server.set("db.test", [ours.node(0).addr().ip(), theirs.node(0).addr().ip()]);
    let ran = probe(&[&name, "--dns", &dns.addr]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let verdict = ran.verdict(&name);
    assert!(verdict.contains("several clusters (\"ours\" at ") && verdict.contains("`--expect-cluster`"), "{verdict}");
    all_closed(&log).await;
}

/// driver 7.9: behind an SNI proxy a contact point is the name that is sent to the proxy, and the certificate is that
/// name's; TLS is implied.
#[tokio::test]
async fn through_an_sni_proxy() {
    let (log, ca, files) = (Log::new(), TestCa::new(), Files::new("sni"));
    // A node that reads the hello is all the proxy that is needed here.
    let nodes = cluster(tls(ca.server(["node-1.db.example.com"])), &log).await;
    let (proxy, roots) = (nodes.node(0).addr().to_string(), files.write("ca.pem", &ca.pem()));

    let ran = probe(&["node-1.db.example.com", "--sni-proxy", &proxy, "--tls-ca", &roots]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let name = format!("node-1.db.example.com via {proxy}");
    assert_eq!(ran.verdict(&name), "works", "{ran:?}");
    let sni = log.connections()[0].events().iter().find_map(|event| match &event.kind {
        EventKind::Tls { sni } => sni.clone(),
        _ => None,
    });
    assert_eq!(sni.as_deref(), Some("node-1.db.example.com"));

    let ran = probe(&["10.0.0.1", "--sni-proxy", &proxy, "--tls-ca", &roots]).await;
    assert!(ran.code == 2 && ran.err.contains("behind an SNI proxy a contact point is a name"), "{ran:?}");
    all_closed(&log).await;
}
