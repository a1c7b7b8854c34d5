//! Names that lead to certificates, logins and nothing at all.

use std::net::SocketAddr;

use messina::config::TlsSettings;
use messina::error::Kind;
use messina::layers::TlsConfig;
use messina::testkit::BareAddress;

use crate::support::case::{Case, Clusters, case};
use crate::support::network::Network;
use crate::support::relay::Relay;
use crate::support::spec::{Spec, TLS_NAME};
use crate::support::trace::{passed_over, told};
use crate::support::way::{IMPATIENT, Mode, NAME, Way, cluster_name, contact_point, told_once};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mode in [Mode::Delay, Mode::Sequential] {
        let name = |name: &str| match mode {
            Mode::Delay => format!("refusals::{name}"),
            Mode::Sequential => format!("refusals::{name}_sequential"),
        };
        cases.extend([
            case(&name("all_dead"), [], move |c| all_dead(c, mode)),
            case(&name("an_unknown_name_beside_a_live_one"), [Spec::single()], move |c| unknown_name(c, mode)),
            case(&name("wrong_password_everywhere"), [Spec::passwords()], move |c| wrong_password(c, mode)),
            case(&name("certificate_for_another_name"), [Spec::tls(), Spec::tls_other_name()], move |c| {
                certificate_for_another_name(c, mode)
            }),
        ]);
    }
    cases.push(case("refusals::login", [Spec::passwords()], login));
    cases.push(case("refusals::client_certificate", [Spec::mutual_tls()], client_certificate));
    cases
}

/// cassandra: two addresses refuse and one is a black hole: the error names the name, every address, its stage, its
/// reason and its time, in one line, and again as a table.
async fn all_dead(_clusters: Clusters, mode: Mode) {
    let bad = |address: std::io::Result<BareAddress>| address.unwrap().on_port(Network::ports().native).unwrap();
    let dead = [bad(BareAddress::refused()), bad(BareAddress::black_hole()), bad(BareAddress::refused())];
    let way = Way::through(mode, &dead.each_ref().map(BareAddress::addr)).await;
    let builder = way.builder().connect_timeout(IMPATIENT);
    let error = builder.build().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable);
    for text in [error.to_string(), error.report().to_string()] {
        assert!(text.contains(NAME), "{text}");
        assert!(dead.iter().all(|dead| text.contains(&dead.addr().to_string())), "{text}");
        assert_eq!(text.matches("tcp").count(), 3, "{text}");
        assert_eq!(text.matches("onnection refused").count(), 2, "{text}");
        assert!(text.contains("no answer within 1s"), "{text}");
    }
    assert!(!error.to_string().contains('\n'), "{error}");
    assert_eq!(passed_over(dead[0].addr()).len(), 1);
}

/// cassandra: a name that does not resolve beside a living contact point: one warning that names it.
async fn unknown_name(clusters: Clusters, mode: Mode) {
    let way = Way::through(mode, &[clusters[0].native()]).await;
    let unknown = "unknown.messina.test";
    let session = way.bare().contact_points([unknown.to_owned(), contact_point()]).build().await.unwrap();
    assert_eq!(cluster_name(&session).await.unwrap(), "messina");
    let warnings = told().into_iter().filter(|told| told.level == tracing::Level::WARN);
    let naming: Vec<String> = warnings.map(|told| told.to_string()).filter(|text| text.contains(unknown)).collect();
    assert_eq!(naming.len(), 1, "{naming:?}");
}

/// cassandra: a wrong password at every address is told as such, once for each.
async fn wrong_password(clusters: Clusters, mode: Mode) {
    let relay = Relay::start(clusters[0].spare(), clusters[0].native()).await;
    let addresses: [SocketAddr; 2] = [relay.address, clusters[0].native()];
    let way = Way::through(mode, &addresses).await;
    let error = way.builder().credentials("cassandra", "wrong").build().await.unwrap_err();
    assert!(error.is_auth(), "{error}");
    let text = error.to_string();
    assert!(addresses.iter().all(|address| text.contains(&address.to_string())), "{text}");
    assert_eq!(text.matches("password are incorrect").count(), 2, "{text}");
    assert!(!text.contains("wrong"), "the password is told: {text}");
    assert_eq!(passed_over(relay.address).len(), 1);
}

/// cassandra: [TLS with another name, TLS with the right name].
async fn certificate_for_another_name(clusters: Clusters, mode: Mode) {
    assert_eq!(NAME, TLS_NAME);
    let other = clusters[1].native();
    let way = Way::through(mode, &[other, clusters[0].native()]).await;
    let ca = std::fs::read(&clusters.registry.pki.ca).unwrap();
    // The node's own address is in no certificate, so the name has to be told for the connections to it.
    let builder = way.builder().tls(TlsSettings::new(TlsConfig::from_pem(&ca, None).unwrap()));
    let session = builder.tls_accepted_name(TLS_NAME).build().await.unwrap();
    assert_eq!(cluster_name(&session).await.unwrap(), "tls");
    told_once(other, "not valid for name", mode);
}

/// cassandra: a login with the right password, and a query that needs it.
async fn login(clusters: Clusters) {
    let way = Way::through(Mode::Delay, &[clusters[0].native()]).await;
    let session = way.builder().credentials("cassandra", "cassandra").build().await.unwrap();
    let role = "SELECT is_superuser FROM system_auth.roles WHERE role = ?";
    let role = session.execute(role, ("cassandra",)).await.unwrap();
    assert_eq!(role.one::<(bool,)>().await.unwrap(), (true,));
    let error = way.builder().build().await.unwrap_err();
    assert!(error.is_auth(), "{error}");
}

/// cassandra: mutual TLS: with the client certificate there are rows, without it an error at this address.
async fn client_certificate(clusters: Clusters) {
    let pki = &clusters.registry.pki;
    let way = Way::through(Mode::Delay, &[clusters[0].native()]).await;
    let read = |file| std::fs::read(file).unwrap();
    let (ca, certificate, key) = (read(&pki.ca), read(&pki.client_certificate), read(&pki.client_key));
    let config = TlsConfig::from_pem(&ca, Some((&certificate, &key))).unwrap();
    let builder = way.builder().tls_accepted_name(TLS_NAME);
    let session = builder.clone().tls(TlsSettings::new(config)).build().await.unwrap();
    assert_eq!(cluster_name(&session).await.unwrap(), "mutual");
    let error = builder.tls(TlsSettings::new(TlsConfig::from_pem(&ca, None).unwrap())).build().await.unwrap_err();
    assert!(error.to_string().contains(&clusters[0].native().to_string()), "{error}");
}
