//! Settings in, a connected session out.

mod connecting;
mod limits;
mod parts;
mod pool;
mod reach;

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use messina_layers::BoxConnect;

use super::{BoxRequests, Session};
use crate::{
    config::{Authenticator, Config, Draft, PlainText, TlsSettings},
    connection::Compression,
    control::{self, Shared},
    endpoint::ContactPoint,
    error::{ConfigError, Error, Kind},
    establish::{self, Accepted, BoxAttempt, BoxIdentity, BoxResolver, Leaf, Open, Seams},
    protocol::ProtocolVersion,
    topology::{EventBus, NodeFilter, Topology, TopologyMonitor},
};

/// Collects settings; [`build`](Self::build) checks them and connects.
///
/// Defaults that a migrating user must know: LOCAL_QUORUM, 10 s per request, 5000 rows per page, 5 addresses of a
/// name per connect in random order, the next one started beside one that does not answer within 250 ms.
#[derive(Clone, Default)]
#[must_use = "a builder does nothing until `build` is called and awaited"]
pub struct SessionBuilder {
    draft: Draft,
    resolver: Option<BoxResolver>,
    leaf: Leaf,
    identity: Option<BoxIdentity>,
    connect: Option<Wrap<BoxConnect<Open, Accepted>>>,
    candidate: Option<Wrap<BoxAttempt>>,
    requests: Option<Wrap<BoxRequests>>,
    monitor: Option<Arc<dyn TopologyMonitor>>,
    bus: Option<EventBus>,
    filter: Option<NodeFilter>,
    error: Option<ConfigError>,
}

type Wrap<S> = Arc<dyn Fn(S) -> S + Send + Sync>;

impl std::fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionBuilder").field("draft", &self.draft).finish_non_exhaustive()
    }
}

/// What is connected to, and how.
impl SessionBuilder {
    /// Adds a contact point: `host`, `host:port` or `[ipv6]:port`; the port is 9042 unless given.
    ///
    /// A name stays a name: all of its addresses are candidates, and it is expanded anew at every connect.
    pub fn contact_point(mut self, text: impl Into<String>) -> Self {
        self.draft.contact_points.push(text.into());
        self
    }

    /// Adds several contact points.
    pub fn contact_points(mut self, texts: impl IntoIterator<Item: Into<String>>) -> Self {
        self.draft.contact_points.extend(texts.into_iter().map(Into::into));
        self
    }

    /// Adds a contact point that is a socket address; it is used as it is.
    pub fn contact_addr(mut self, addr: SocketAddr) -> Self {
        self.draft.endpoints.push(addr.into());
        self
    }

    /// Adds a contact point that is a value already, for example one with an endpoint of the application's kind.
    pub fn contact_endpoint(mut self, contact_point: ContactPoint) -> Self {
        self.draft.endpoints.push(contact_point);
        self
    }

    /// Logs in with user name and password; they are never printed.
    pub fn credentials(self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.authenticator(PlainText::new(user, password))
    }

    /// Logs in by a mechanism of the application's own.
    pub fn authenticator(mut self, authenticator: impl Authenticator + 'static) -> Self {
        self.draft.authenticator = Some(Arc::new(authenticator));
        self
    }

    /// Encrypts every connection; each server must prove the name it is reached by, or the address dialled.
    ///
    /// The settings are complete: files beside them are an error at `build`.
    pub fn tls(mut self, settings: TlsSettings) -> Self {
        self.draft.tls = Some(settings);
        self
    }

    /// Encrypts every connection and trusts the certificates of this PEM file.
    pub fn tls_ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.draft.tls_ca_file = Some(path.into());
        self
    }

    /// Shows a certificate: PEM files of its chain and its key.
    pub fn tls_client_files(mut self, cert: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        (self.draft.tls_cert_file, self.draft.tls_key_file) = (Some(cert.into()), Some(key.into()));
        self
    }

    /// Encrypts every connection and trusts the roots of the operating system, beside a CA file if one is given.
    /// Needs the feature `native-roots`.
    pub fn tls_native_roots(mut self) -> Self {
        self.draft.tls_native_roots = true;
        self
    }

    /// Encrypts every connection and trusts **whoever answers**: no certificate is verified. Says so in the log.
    pub fn tls_dangerous_trust_all(mut self) -> Self {
        self.draft.tls_trust_all = true;
        self
    }

    /// Looks at the TLS files when so long has passed since the last look, at the next connect; 10 s by default, zero
    /// never. Changed files serve new connections; files that cannot be used leave the earlier ones in force.
    pub fn tls_reload_interval(mut self, interval: Duration) -> Self {
        self.draft.tls_reload_interval = interval;
        self
    }

    /// Adds a name that a certificate may be valid for, in place of the name that a server is reached by.
    pub fn tls_accepted_name(mut self, name: impl Into<String>) -> Self {
        self.draft.tls_names.push(name.into());
        self
    }

    /// Connects to the cluster of this name only; unset, to the one that answers first.
    ///
    /// A stale address that leads into another cluster then costs that address alone, from the first connect on.
    pub fn expected_cluster(mut self, name: impl Into<String>) -> Self {
        self.draft.expected_cluster = Some(name.into());
        self
    }

    /// Sets the keyspace of every connection: 1 to 222 letters, digits and underscores, case-sensitive, without quotes.
    pub fn keyspace(mut self, keyspace: impl Into<String>) -> Self {
        self.draft.keyspace = Some(keyspace.into());
        self
    }

    /// Prefers this data centre.
    pub fn local_datacenter(mut self, datacenter: impl Into<String>) -> Self {
        self.draft.local_datacenter = Some(datacenter.into());
        self
    }

    /// Prefers this rack within the preferred data centre, while its nodes answer.
    pub fn local_rack(mut self, rack: impl Into<String>) -> Self {
        self.draft.local_rack = Some(rack.into());
        self
    }

    /// Speaks this version and no other; unset, the highest common one is negotiated.
    pub fn protocol_version(mut self, version: ProtocolVersion) -> Self {
        self.draft.protocol_version = Some(version);
        self
    }

    /// Asks for compression; a server that cannot do it is used without, with a warning.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.draft.compression = Some(compression);
        self
    }

    /// Begins with these settings, such as those of a file, to which what follows is added. They come first: after other
    /// settings they would make them forgotten, TLS and login too, which is an error at `build`.
    pub fn with_settings(mut self, draft: Draft) -> Self {
        if format!("{:?}", self.draft) != format!("{:?}", Draft::default()) {
            let error = ConfigError::new("with_settings", "called after other options", "to call it before all others");
            self.error.get_or_insert(error);
        }
        self.draft = draft;
        self
    }

    /// Sets an option by the name it has in a settings file; see [`Draft::set`]. A bad one is an error at `build`.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        if let Err(error) = self.draft.set(key, value) {
            self.error.get_or_insert(error);
        }
        self
    }
}

impl SessionBuilder {
    /// Checks the settings and connects: first to a contact point, then to every node that it names.
    ///
    /// Ready as soon as one node has a connection; the others go on in the background. Dropping the future ends
    /// everything it began.
    ///
    /// # Errors
    /// `Kind::Config` for the first setting that is not allowed; `Kind::Unreachable` with every contact point and
    /// every attempt if none lets us in; `Kind::NoConnection` if no node can be connected to.
    pub async fn build(self) -> Result<Session, Error> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(Error::new(Kind::Config, "there is no tokio runtime here; a session is built inside of one"));
        }
        let layers = self.requests.clone();
        let (config, seams, shared) = self.into_parts()?;
        let session = connecting::connect(Arc::new(config), seams, shared).await?;
        if let Some(wrap) = layers {
            session.inner.put_around(&*wrap);
        }
        Ok(session)
    }

    /// The settings, checked, the parts of the stack, and what the parts of a session share.
    pub(crate) fn into_parts(self) -> Result<(Config, Seams, Shared), Error> {
        if let Some(error) = self.error {
            return Err(error.into());
        }
        let config = self.draft.check()?;
        let mut seams = Seams::new(self.resolver.unwrap_or_else(default_resolver));
        seams.leaf = self.leaf;
        let monitor = match self.monitor {
            Some(monitor) => monitor,
            None => control::monitor(&config),
        };
        let monitor = control::careful(monitor);
        // An identity service of the application's own comes before that of the monitor.
        let identity = self.identity.unwrap_or_else(|| monitor.identity());
        seams.identity = identity.clone();
        (seams.connect, seams.candidate) = (self.connect, self.candidate);
        let shared = Shared::new(
            monitor,
            identity,
            Topology::new(self.bus.unwrap_or_default()),
            self.filter.map(control::careful_filter),
        );
        Ok((config, seams, shared))
    }

    /// The settings, checked, without connecting.
    ///
    /// # Errors
    /// The first setting that is not allowed.
    pub fn check(&self) -> Result<Config, ConfigError> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => self.draft.clone().check(),
        }
    }
}

#[cfg(feature = "hickory")]
fn default_resolver() -> BoxResolver {
    establish::boxed_resolver(messina_layers::HickoryResolver::new())
}

#[cfg(not(feature = "hickory"))]
fn default_resolver() -> BoxResolver {
    establish::boxed_resolver(messina_layers::SystemResolver::new())
}
