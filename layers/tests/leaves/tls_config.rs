//! TLS settings that cannot work, and the bytes when there is no TLS.

use std::{error::Error, io};

use messina_layers::{
    Accept, Address, Candidate, Dial, Scope, ServerIdentity, Stage, TlsConfig, TlsIdentity, TlsLayer, Transport,
    rustls::RootCertStore,
};
use tokio::io::DuplexStream;
use tower::{Layer, ServiceExt, service_fn};

use crate::support::certs::Authority;

struct Secure(TlsIdentity);

impl Dial for Secure {
    fn address(&self) -> Address {
        Address::Socket("10.0.0.1:1".parse().unwrap())
    }
}

impl ServerIdentity for Secure {
    fn tls(&self) -> Option<TlsIdentity> {
        Some(self.0.clone())
    }
}

fn connector() -> impl tower::Service<
    Candidate<Secure>,
    Response = Transport<Secure, DuplexStream>,
    Error = io::Error,
    Future = std::future::Ready<io::Result<Transport<Secure, DuplexStream>>>,
> {
    service_fn(|candidate| std::future::ready(Ok(Transport::new(candidate, tokio::io::duplex(1).0))))
}

/// connect 52: settings that cannot work at one address work at none: the failure holds for every address.
#[tokio::test]
async fn unusable_settings_hold_for_every_address() {
    let configured = TlsLayer::default().with_config(Authority::new().client());
    let no_names = TlsIdentity { accept: Accept::Names(Vec::new()), ..TlsIdentity::default() };
    for (layer, identity, text) in [
        (TlsLayer::new(), TlsIdentity::dialled(), "neither the target nor the layer has settings for it"),
        (configured, no_names, "the list of names that a certificate may be valid for is empty"),
    ] {
        let candidate = Candidate::new(Secure(identity), "10.0.0.1:1".parse().unwrap());
        let error = layer.layer(connector()).oneshot(candidate).await.map(drop).unwrap_err();
        assert_eq!((error.stage(), error.scope()), (Stage::TLS, Scope::Endpoint));
        assert!(error.cause().to_string().contains(text), "{}", error.cause());
    }
}

/// Each bad input is an error that says which one it is.
#[test]
fn bad_files_are_named() {
    let authority = Authority::new();
    let (ca, own, other) = (authority.pem(), authority.issue(&["a.test"]), authority.issue(&["b.test"]));
    let (chain, key, other_key) = (own.chain_pem.clone(), own.key.serialize_pem(), other.key.serialize_pem());
    let broken = "-----BEGIN CERTIFICATE-----\nnot base 64!\n-----END CERTIFICATE-----\n";
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (ca, client, input) in [
        ("", None, "CA file"),
        ("just text", None, "CA file"),
        (&key, None, "CA file"),
        (broken, None, "CA file"),
        (garbage, None, "CA file"),
        (&ca, Some(("", key.as_str())), "certificate file"),
        (&ca, Some((&chain, "")), "key file"),
        (&ca, Some((&chain, &chain)), "key file"),
        (&ca, Some((&chain, &other_key)), "key file"),
    ] {
        let client = client.map(|(chain, key): (&str, &str)| (chain.as_bytes(), key.as_bytes()));
        let error = TlsConfig::from_pem(ca.as_bytes(), client).unwrap_err();
        assert_eq!(error.input(), input, "{error}");
        assert!(error.to_string().starts_with(&format!("the {input} ")), "{error}");
        assert!(error.source().is_some());
    }
    assert_eq!(TlsConfig::with_roots(RootCertStore::empty()).unwrap_err().input(), "CA file");
    assert!(TlsConfig::from_pem(ca.as_bytes(), Some((chain.as_bytes(), key.as_bytes()))).is_ok());
}

/// No key is ever printed.
#[test]
fn settings_print_no_key() {
    let config = Authority::new().client();
    let identity = TlsIdentity { config: Some(config.clone()), ..TlsIdentity::default() };
    assert_eq!(format!("{config:?}"), "TlsConfig { .. }");
    assert!(format!("{identity:?}").contains("TlsConfig { .. }"));
}
