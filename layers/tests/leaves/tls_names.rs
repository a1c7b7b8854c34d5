//! Which name a certificate has to be valid for.

use std::{io, net::SocketAddr, sync::Arc};

use messina_layers::{
    Accept, Address, AttemptError, Candidate, Dial, MaybeTls, Name, Pinnable, Pinned, ServerIdentity, Stage, TlsConfig,
    TlsIdentity, TlsLayer, Transport, rustls,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_rustls::TlsAcceptor;
use tower::{Layer, ServiceExt, service_fn};

use crate::support::certs::{Authority, Identity, server};

/// A target that asks for TLS.
#[derive(Clone)]
struct Secure(Address, TlsIdentity);

impl Dial for Secure {
    fn address(&self) -> Address {
        self.0.clone()
    }
}

impl ServerIdentity for Secure {
    fn tls(&self) -> Option<TlsIdentity> {
        Some(self.1.clone())
    }
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn accept(names: &[&str]) -> Accept {
    Accept::Names(names.iter().map(|text| name(text)).collect())
}

/// Connects to a server with this certificate, dialled at this address; answers the SNI that the server saw.
async fn connect(
    client: &TlsConfig,
    certificate: &Identity,
    identity: TlsIdentity,
    dialled: &str,
) -> Result<Option<String>, AttemptError> {
    let address = Address::Name(name("db.test"), 9042);
    connect_target(client, certificate, Secure(address, identity), dialled).await
}

async fn connect_target<T: ServerIdentity>(
    client: &TlsConfig,
    certificate: &Identity,
    target: T,
    dialled: &str,
) -> Result<Option<String>, AttemptError> {
    let server = server(certificate, rustls::ALL_VERSIONS, None);
    connect_server(client, server, target, dialled).await
}

async fn connect_server<T: ServerIdentity>(
    client: &TlsConfig,
    server: Arc<rustls::ServerConfig>,
    target: T,
    dialled: &str,
) -> Result<Option<String>, AttemptError> {
    let (near, far) = tokio::io::duplex(16 * 1024);
    let acceptor = TlsAcceptor::from(server);
    let served = async move {
        let mut stream = acceptor.accept(far).await?;
        stream.write_all(b"!").await?;
        io::Result::Ok(stream.get_ref().1.server_name().map(ToOwned::to_owned))
    };
    let mut near = Some(near);
    let connector = service_fn(move |candidate: Candidate<T>| {
        std::future::ready(Ok::<_, io::Error>(Transport::new(candidate, near.take().unwrap())))
    });
    let tls = TlsLayer::new().with_config(client.clone()).layer(connector);
    let dialled: SocketAddr = dialled.parse().unwrap();
    let (transport, sni) = tokio::join!(tls.oneshot(Candidate::new(target, dialled)), served);
    let mut transport: Transport<T, MaybeTls<DuplexStream>> = transport?;
    assert!(transport.io.is_encrypted() && transport.peer == dialled);
    let mut byte = [0];
    transport.io.read_exact(&mut byte).await.unwrap();
    Ok(sni.unwrap())
}

fn refused_name(error: &AttemptError) {
    assert_eq!(error.stage(), Stage::TLS);
    let text = messina_layers::error::chain(error).to_string();
    assert!(text.contains("certificate not valid for name"), "{text}");
}

/// connect 100: the configured name is verified, also of a pinned copy: a certificate with a DNS name alone.
/// connect 17: whatever the resolver called the address.
/// scenario S6: TLS asks for the configured name.
/// report 41: not the IP alone.
/// report 42: the name is kept after the lookup.
/// reviewer 23: the configured name, not the resolver's.
#[tokio::test]
async fn the_configured_name_is_verified() {
    let authority = Authority::new();
    let (client, certificate) = (authority.client(), authority.issue(&["db.test"]));
    let named = || TlsIdentity::named(name("db.test"));
    let sni = connect(&client, &certificate, named(), "10.0.0.1:9042").await.unwrap();
    assert_eq!(sni.as_deref(), Some("db.test"));

    let mut pinned = Pinned::new(Secure(Address::Name(name("db.test"), 9042), named()));
    pinned.pin_to("10.0.0.1:1".parse::<SocketAddr>().unwrap().into());
    let sni = connect_target(&client, &certificate, pinned, "10.0.0.1:9042").await.unwrap();
    assert_eq!(sni.as_deref(), Some("db.test"));

    let other = authority.issue(&["other.test", "10.0.0.1"]);
    let error = connect(&client, &other, named(), "10.0.0.1:9042").await.unwrap_err();
    refused_name(&error);
    assert!(!messina_layers::error::chain(&error).to_string().contains("itself was verified"), "no advice about names");
}

/// A final dot and capitals are ways to write the same name.
#[tokio::test]
async fn a_final_dot_is_not_part_of_the_name() {
    let authority = Authority::new();
    let (client, certificate) = (authority.client(), authority.issue(&["db.test"]));
    for text in ["db.test.", "DB.test"] {
        let sni = connect(&client, &certificate, TlsIdentity::named(name(text)), "10.0.0.1:9042").await.unwrap();
        assert_eq!(sni.unwrap().to_lowercase(), "db.test");
    }
}

/// connect D29: a target without a name has the address really dialled verified.
/// connect 21: and nothing is looked up for it.
/// scenario S7: a literal redirected elsewhere does not use the old literal.
/// reviewer 24: the substitute is not labelled with the old literal.
#[tokio::test]
async fn without_a_name_the_dialled_address_is_verified() {
    let authority = Authority::new();
    let (client, certificate) = (authority.client(), authority.issue(&["10.0.0.2"]));
    let literal = Address::Socket("10.0.0.1:9042".parse().unwrap());
    let target = |literal: &Address| Secure(literal.clone(), TlsIdentity::dialled());
    // The literal is 10.0.0.1, and was redirected to 10.0.0.2.
    let sni = connect_target(&client, &certificate, target(&literal), "10.0.0.2:9042").await.unwrap();
    assert_eq!(sni, None, "an address is no SNI");
    let error = connect_target(&client, &certificate, target(&literal), "10.0.0.3:9042").await.unwrap_err();
    refused_name(&error);
    let names_only = authority.issue(&["db.test"]);
    let error = connect_target(&client, &names_only, target(&literal), "10.0.0.2:9042").await.unwrap_err();
    refused_name(&error);
    let text = messina_layers::error::chain(&error).to_string();
    assert!(text.contains("the address 10.0.0.2 itself was verified, because the target has no name"), "{text}");
    assert!(text.contains("`Accept::Names`") && text.contains("`tls_accepted_name`"), "{text}");
    assert!(error.find::<rustls::Error>().is_some(), "what was wrong stays typed");
}

/// reviewer 26: the zone is part of what is dialled, not of what is verified.
#[tokio::test]
async fn a_zone_is_not_verified() {
    let authority = Authority::new();
    let certificate = authority.issue(&["fe80::1"]);
    connect(&authority.client(), &certificate, TlsIdentity::dialled(), "[fe80::1%7]:9042").await.unwrap();
}

/// connect D29: one or several accepted names may be configured.
/// connect 106: an SNI name of its own reaches the proxy.
#[tokio::test]
async fn several_names_and_an_sni_of_its_own() {
    let authority = Authority::new();
    let client = authority.client();
    let certificate = authority.issue(&["node-7.proxy.test"]);
    let with = |sni: Option<&str>, accept| TlsIdentity { sni: sni.map(name), accept, ..TlsIdentity::default() };
    for (sni, names, seen) in [
        (None, vec!["other.test", "node-7.proxy.test"], Some("other.test")),
        (Some("host-id.proxy.test"), vec!["node-7.proxy.test"], Some("host-id.proxy.test")),
        (Some("node-7.proxy.test"), vec!["node-7.proxy.test"], Some("node-7.proxy.test")),
    ] {
        let identity = with(sni, accept(&names));
        assert_eq!(connect(&client, &certificate, identity, "10.0.0.1:1").await.unwrap().as_deref(), seen);
    }
    // The SNI asked for is not thereby accepted.
    let identity = with(Some("node-7.proxy.test"), accept(&["other.test", "another.test"]));
    refused_name(&connect(&client, &certificate, identity, "10.0.0.1:1").await.unwrap_err());
    // With an SNI name, the dialled address can still be what is verified.
    let addressed = authority.issue(&["10.0.0.1"]);
    let identity = with(Some("host-id.proxy.test"), Accept::Dialled);
    assert_eq!(
        connect(&client, &addressed, identity.clone(), "10.0.0.1:1").await.unwrap().as_deref(),
        Some("host-id.proxy.test")
    );
    refused_name(&connect(&client, &addressed, identity, "10.0.0.2:1").await.unwrap_err());
}

/// A session that one connect may resume does not let another skip the check of its own names.
#[tokio::test]
async fn resumption_skips_no_check() {
    let authority = Authority::new();
    let client = authority.client();
    let server = server(&authority.issue(&["db.test"]), rustls::ALL_VERSIONS, None);
    let secure = |identity| Secure(Address::Name(name("db.test"), 9042), identity);
    for _ in 0..2 {
        let named = secure(TlsIdentity::named(name("db.test")));
        connect_server(&client, Arc::clone(&server), named, "10.0.0.1:1").await.unwrap();
        let strict =
            TlsIdentity { sni: Some(name("db.test")), accept: accept(&["strict.test"]), ..TlsIdentity::default() };
        refused_name(&connect_server(&client, Arc::clone(&server), secure(strict), "10.0.0.1:1").await.unwrap_err());
    }
}

/// Settings of the target stand in place of the layer's.
#[tokio::test]
async fn a_target_may_bring_its_settings() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let certificate = theirs.issue(&["db.test"]);
    let mut identity = TlsIdentity::named(name("db.test"));
    assert!(connect(&ours.client(), &certificate, identity.clone(), "10.0.0.1:1").await.is_err());
    identity.config = Some(theirs.client());
    connect(&ours.client(), &certificate, identity, "10.0.0.1:1").await.unwrap();
}

/// A plain `ClientConfig` serves where the name asked for is the one verified.
#[tokio::test]
async fn settings_made_elsewhere() {
    let authority = Authority::new();
    let certificate = authority.issue(&["db.test"]);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(authority.roots())
        .with_no_client_auth();
    let client = TlsConfig::from(Arc::new(config));
    connect(&client, &certificate, TlsIdentity::named(name("db.test")), "10.0.0.1:1").await.unwrap();
    let several = TlsIdentity { accept: accept(&["a.test", "db.test"]), ..TlsIdentity::default() };
    let error = connect(&client, &certificate, several, "10.0.0.1:1").await.unwrap_err();
    assert_eq!(error.scope(), messina_layers::Scope::Endpoint);
    assert!(error.cause().to_string().contains("need TLS settings made by `TlsConfig`"), "{}", error.cause());
}
