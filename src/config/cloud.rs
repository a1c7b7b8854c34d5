//! Bundles that a cloud hands out: everything needed to connect, in one file.
//!
//! Two kinds are read: the secure connect bundle (a zip, as DataStax Astra gives it), whose metadata service is asked
//! through a service of the application's, since no HTTP client comes with this crate; and the connection config of
//! ScyllaDB Cloud (YAML), which needs nothing more. Both give [`CloudSettings`] for
//! [`SessionBuilder::cloud`](crate::session::SessionBuilder::cloud).

mod connection_config;
mod fields;
mod secure_connect;

use std::{fmt, path::Path, sync::Arc};

use messina_layers::error::BoxError;

pub use self::secure_connect::{MetadataRequest, SecureConnectBundle};
use super::{Authenticator, TlsSettings};
use crate::endpoint::SniProxy;

/// More than this is no bundle.
const MOST: u64 = 8 * 1024 * 1024;

/// What a bundle says.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CloudSettings {
    /// The proxies in front of the cluster, which are the contact points as well.
    pub proxies: Vec<SniProxy>,
    /// Whom to trust, and the client's certificate.
    pub tls: TlsSettings,
    /// How to log in, if the bundle has credentials.
    pub authenticator: Option<Arc<dyn Authenticator>>,
    /// The keyspace, if it names one.
    pub keyspace: Option<String>,
    /// The local data centre, if it names one.
    pub local_datacenter: Option<String>,
}

impl CloudSettings {
    /// Reads a connection config of ScyllaDB Cloud; paths in it are relative to its directory.
    ///
    /// # Errors
    /// If a file cannot be read, or a field is missing or makes no sense; the error names file and field.
    pub fn open_connection_config(path: impl AsRef<Path>) -> Result<Self, BundleError> {
        let path = path.as_ref();
        let text = read(path)?;
        let text =
            String::from_utf8(text).map_err(|error| BundleError::new(path.display(), "is not UTF-8").because(error))?;
        connection_config::parse(&text, &path.display().to_string(), path.parent())
    }

    /// Reads a connection config of ScyllaDB Cloud from text; paths in it are relative to the working directory.
    ///
    /// # Errors
    /// As [`open_connection_config`](Self::open_connection_config).
    pub fn from_connection_config(text: &str) -> Result<Self, BundleError> {
        connection_config::parse(text, "connection config", None)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, BundleError> {
    use std::io::Read;

    let unreadable = |error: std::io::Error| BundleError::new(path.display(), "cannot be read").because(error);
    let mut bytes = Vec::new();
    std::fs::File::open(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > MOST {
        return Err(BundleError::new(path.display(), format!("is longer than {MOST} bytes, which no bundle is")));
    }
    Ok(bytes)
}

/// A bundle that cannot be used: which file, which field, and why.
#[derive(Debug)]
pub struct BundleError {
    file: String,
    field: Option<String>,
    problem: String,
    source: Option<BoxError>,
}

impl BundleError {
    fn new(file: impl fmt::Display, problem: impl Into<String>) -> Self {
        Self { file: file.to_string(), field: None, problem: problem.into(), source: None }
    }

    fn of_field(file: impl fmt::Display, field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..Self::new(file, problem) }
    }

    fn because(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The file: the bundle itself, or one in it.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The field in it, where it is about one.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{}: `{field}` {}", self.file, self.problem),
            None => write!(f, "{} {}", self.file, self.problem),
        }
    }
}

impl std::error::Error for BundleError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}
