//! The secure connect bundle: a zip with `config.json` and certificates, and a service that tells the rest.

use std::{
    fmt,
    io::{Cursor, Read},
    path::Path,
    sync::Arc,
};

use messina_layers::{Address, Name, TlsConfig, error::BoxError};
use serde_json::Value;
use tower::{Service, ServiceExt};

use super::{BundleError, CloudSettings, MOST, fields::Fields, read};
use crate::{
    config::{PlainText, TlsSettings},
    endpoint::SniProxy,
};

const CONFIG: &str = "config.json";
const METADATA: &str = "metadata";

/// A secure connect bundle, as DataStax Astra gives it.
///
/// It names a metadata service, which knows the proxy and the nodes. Asking it takes HTTPS, and is left to a service of
/// the application's, around the HTTP client that it has:
///
/// ```no_run
/// # #[cfg(feature = "cloud")]
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use messina::{Session, config::cloud::{MetadataRequest, SecureConnectBundle}};
/// use tower::service_fn;
///
/// # async fn get(url: &str, tls: messina::layers::TlsConfig) -> Result<Vec<u8>, std::io::Error> {
/// #     Err(std::io::Error::other(format!("no HTTP client here for {url} with {tls:?}")))
/// # }
/// let bundle = SecureConnectBundle::open("secure-connect-shop.zip")?;
/// let https = service_fn(|request: MetadataRequest| async move { get(&request.url, request.tls).await });
/// let session = Session::builder().cloud(bundle.fetch(https).await?).build().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SecureConnectBundle {
    host: String,
    port: u16,
    keyspace: Option<String>,
    local_datacenter: Option<String>,
    credentials: Option<PlainText>,
    tls: TlsConfig,
}

/// A GET that tells about the cluster.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MetadataRequest {
    /// The whole address: `https://host:port/metadata`.
    pub url: String,
    /// The settings of TLS: the bundle's authority, and its certificate to be shown.
    pub tls: TlsConfig,
}

impl SecureConnectBundle {
    /// Reads a bundle.
    ///
    /// # Errors
    /// If it is no zip, lacks a file, or a field of `config.json` is missing or makes no sense; the error names file and
    /// field.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, BundleError> {
        let path = path.as_ref();
        Self::read(&read(path)?, &path.display().to_string())
    }

    /// Reads a bundle from bytes.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_zip(bytes: &[u8]) -> Result<Self, BundleError> {
        Self::read(bytes, "bundle")
    }

    fn read(bytes: &[u8], name: &str) -> Result<Self, BundleError> {
        let not_a_zip = |error| BundleError::new(name, "is not a zip").because(zip_error(error));
        let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).map_err(not_a_zip)?;
        let mut file = |name: &str| entry(&mut zip, name);
        let config: Value = serde_json::from_slice(&file(CONFIG)?)
            .map_err(|error| BundleError::new(CONFIG, "is not JSON").because(error))?;
        let fields = Fields::new(CONFIG, &config);
        let host = fields.required("host")?;
        if Address::new(host, 1).is_err() {
            return Err(fields.error("host", format!("is {host:?}, and no host")));
        }
        let port = fields.port("port")?;
        let place =
            |field, usual: &'static str| Ok(fields.text(field)?.unwrap_or(usual).trim_start_matches("./").to_owned());
        let (ca, cert, key) =
            (place("caCertLocation", "ca.crt")?, place("certLocation", "cert")?, place("keyLocation", "key")?);
        let (ca_pem, cert_pem, key_pem) = (file(&ca)?, file(&cert)?, file(&key)?);
        let tls = TlsConfig::from_pem(&ca_pem, Some((&cert_pem, &key_pem))).map_err(|error| {
            let wrong = match error.input() {
                "certificate file" => cert,
                "key file" => key,
                _ => ca,
            };
            BundleError::new(wrong, "cannot be used").because(error)
        })?;
        let credentials = match (fields.text("username")?, fields.text("password")?) {
            (Some(user), Some(password)) => Some(PlainText::new(user, password)),
            (None, None) => None,
            (Some(_), None) => return Err(fields.error("password", "is missing, and there is a `username`")),
            (None, Some(_)) => return Err(fields.error("username", "is missing, and there is a `password`")),
        };
        Ok(Self {
            host: host.to_owned(),
            port,
            keyspace: fields.text("keyspace")?.map(ToOwned::to_owned),
            local_datacenter: fields.text("localDC")?.map(ToOwned::to_owned),
            credentials,
            tls,
        })
    }

    /// What the metadata service has to be asked.
    #[must_use]
    pub fn metadata_request(&self) -> MetadataRequest {
        let Self { host, port, .. } = self;
        MetadataRequest { url: format!("https://{host}:{port}/metadata"), tls: self.tls.clone() }
    }

    /// Asks the metadata service through `https`, and gives the settings of a session. Put a limit around it.
    ///
    /// # Errors
    /// If it cannot be asked, or what it says makes no sense.
    pub async fn fetch<S>(&self, https: S) -> Result<CloudSettings, BundleError>
    where
        S: Service<MetadataRequest>,
        S::Response: AsRef<[u8]>,
        S::Error: Into<BoxError>,
    {
        let answer = https.oneshot(self.metadata_request()).await;
        let answer = answer.map_err(|error| BundleError::new(METADATA, "cannot be fetched").because(error))?;
        self.settings(answer.as_ref())
    }

    /// The settings of a session, from what the metadata service said.
    ///
    /// # Errors
    /// If that makes no sense; the error names the field.
    pub fn settings(&self, metadata: &[u8]) -> Result<CloudSettings, BundleError> {
        let metadata: Value = serde_json::from_slice(metadata)
            .map_err(|error| BundleError::new(METADATA, "is not JSON").because(error))?;
        let fields = Fields::new(METADATA, &metadata);
        let info = fields.get("contact_info").ok_or_else(|| fields.error("contact_info", "is missing"))?;
        let info = fields.at("contact_info", info);
        if let Some(kind) = info.text("type")?.filter(|kind| *kind != "sni_proxy") {
            return Err(info.error("type", format!("is {kind:?}; only \"sni_proxy\" is known")));
        }
        let proxy = info.required("sni_proxy_address")?;
        let proxy: Address = proxy.parse().map_err(|error| {
            info.error("sni_proxy_address", format!("is {proxy:?}, and no `host:port`")).because(error)
        })?;
        let points = info.get("contact_points").and_then(Value::as_array).filter(|points| !points.is_empty());
        let points = points.ok_or_else(|| info.error("contact_points", "is missing, or no list of host ids"))?;
        let names = points.iter().map(|point| point.as_str().and_then(|text| Name::new(text).ok()));
        let names: Option<Vec<Name>> = names.collect();
        let names = names.ok_or_else(|| info.error("contact_points", "has something that is no host id"))?;
        let told = info.text("local_dc")?.map(ToOwned::to_owned);
        Ok(CloudSettings {
            proxies: vec![SniProxy::with_bare_host_ids(proxy, names)],
            tls: TlsSettings::new(self.tls.clone()),
            authenticator: self.credentials.clone().map(|credentials| Arc::new(credentials) as _),
            keyspace: self.keyspace.clone(),
            local_datacenter: told.or_else(|| self.local_datacenter.clone()),
        })
    }
}

/// A file of the zip, if it is of a size that it could have.
fn entry(zip: &mut zip::ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<Vec<u8>, BundleError> {
    let unreadable = |error: BoxError| BundleError::new(name, "cannot be read from the bundle").because(error);
    let file = zip.by_name(name).map_err(|error| unreadable(zip_error(error)))?;
    let mut bytes = Vec::new();
    // What the zip says of its sizes is not believed.
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(error.into()))?;
    if bytes.len() as u64 > MOST {
        return Err(BundleError::new(name, format!("is longer than {MOST} bytes, which nothing in a bundle is")));
    }
    Ok(bytes)
}

fn zip_error(error: zip::result::ZipError) -> BoxError {
    error.into()
}

impl fmt::Debug for SecureConnectBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No key, no password.
        f.debug_struct("SecureConnectBundle")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("keyspace", &self.keyspace)
            .field("local_datacenter", &self.local_datacenter)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}
