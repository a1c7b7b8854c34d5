//! Certificates that change while a session lives.

use std::time::Duration;

use messina::config::TlsSettings;
use messina::layers::TlsConfig;

use crate::support::case::{Case, Clusters, case};
use crate::support::load::Load;
use crate::support::pki::Pki;
use crate::support::spec::{ROTATING_NAME, Spec};
use crate::support::way::{Mode, Way, cluster_name};

/// How soon a node that serves again has to be used again.
const SOON: Duration = Duration::from_secs(5);

pub(crate) fn cases() -> Vec<Case> {
    vec![case("rotation::of_the_server", [Spec::rotating()], of_the_server).alone().limit(Duration::from_secs(180))]
}

/// cassandra: mutual TLS, and the server changes to a certificate of another authority, which the session was told to
/// trust too: connections that live go on, and those that are made anew are accepted; who does not trust it is told so.
async fn of_the_server(clusters: Clusters) {
    let pki = &clusters.registry.pki;
    let other = Pki::create(&clusters[0].nodes[0].directory.join("pki")).unwrap();
    let read = |file| std::fs::read(file).unwrap();
    let (old, new) = (read(&pki.ca), read(&other.ca));
    let (certificate, key) = (read(&pki.client_certificate), read(&pki.client_key));
    let settings = |ca: &[u8]| TlsSettings::new(TlsConfig::from_pem(ca, Some((&certificate, &key))).unwrap());

    let node = clusters[0].nodes[0].native();
    let way = Way::through(Mode::Delay, &[node]).await;
    let builder = |ca: &[u8]| way.builder().tls(settings(ca)).tls_accepted_name(ROTATING_NAME);
    let session = builder(&[&*old, b"\n", &*new].concat()).build().await.unwrap();
    for text in [
        "CREATE KEYSPACE load WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE load.kv (k int PRIMARY KEY, v int)",
        "INSERT INTO load.kv (k, v) VALUES (-1, 1)",
    ] {
        session.execute(text, ()).await.unwrap();
    }
    assert!(builder(&new).build().await.is_err(), "the old certificate is not of the new authority");
    let load = Load::start(&session, 50).await;
    load.until_served_by(&[node], Duration::ZERO, SOON).await;

    let issued = other.server(ROTATING_NAME).unwrap();
    std::fs::copy(issued, pki.server_file(ROTATING_NAME)).unwrap();
    clusters[0].beside(|cluster| cluster.nodetool(0, &["reloadssl"])).await.unwrap();
    let reloaded = load.run(Duration::from_secs(1)).await;
    let untouched = load.record().failed();
    assert!(untouched.is_empty(), "{}", load.record().summary());
    let error = builder(&old).build().await.unwrap_err().to_string();
    assert!(error.contains("invalid peer certificate") && error.contains(&node.to_string()), "{error}");
    let fresh = builder(&new).build().await.unwrap();
    assert_eq!(cluster_name(&fresh).await.unwrap(), "rotating");

    // Every connection of clients ends and is made again, with the new certificate.
    clusters[0].beside(|cluster| cluster.nodetool(0, &["disablebinary"])).await.unwrap();
    clusters[0].beside(|cluster| cluster.nodetool(0, &["enablebinary"])).await.unwrap();
    let back = load.now();
    load.until_served_by(&[node], back, SOON).await;
    let record = load.stop().await;
    record.tell("rotation");
    assert!(record.failed().iter().all(|(sent, _)| sent.end() > reloaded), "{}", record.summary());
    session.close().await;
}
