//! The default resolver: hickory, non-blocking, without a cache.

use std::{
    error::Error,
    fmt,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig},
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
    proto::op::ResponseCode,
};
use tower_service::Service;

use super::Resolved;
use crate::address::{Address, Name};

/// How long one question may stay unanswered unless told otherwise.
const DEFAULT_QUERY_TIMEOUT: Duration = Duration::from_secs(2);

/// Asks DNS without blocking a thread: `/etc/hosts`, search domains, A and AAAA records.
///
/// It caches nothing, so a moved name is seen at once. The system's configuration is read at the first
/// lookup, once for all clones.
///
/// A and AAAA are asked for at the same time, and the answer is both. A question that stays unanswered for 2 s
/// is asked once again; so a server that is mute for one family costs less than the limit of the lookup, and
/// the other family is used. Sources that nsswitch may name besides, such as mDNS, are not asked; use
/// [`SystemResolver`](super::SystemResolver) for those.
#[derive(Clone)]
pub struct HickoryResolver {
    shared: Arc<Shared>,
}

struct Shared {
    source: Source,
    query_timeout: Duration,
    resolver: OnceLock<TokioResolver>,
    building: Mutex<()>,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    System,
    Server(SocketAddr),
    Elsewhere,
}

impl HickoryResolver {
    /// Configured by the system (`/etc/resolv.conf`, `/etc/hosts`).
    #[must_use]
    pub fn new() -> Self {
        Self::with_source(Source::System)
    }

    /// Asks this DNS server alone, over UDP and TCP, and no hosts file.
    #[must_use]
    pub fn with_server(server: SocketAddr) -> Self {
        Self::with_source(Source::Server(server))
    }

    /// Asks a question again, once, if it has not been answered within `timeout`; unless the system's
    /// configuration is more impatient. No effect on a resolver that was configured elsewhere.
    #[must_use]
    pub fn with_query_timeout(self, timeout: Duration) -> Self {
        let mut shared = Shared::new(self.shared.source);
        shared.query_timeout = timeout;
        if let Some(resolver) = self.shared.resolver.get() {
            shared.resolver = OnceLock::from(resolver.clone());
        }
        Self { shared: Arc::new(shared) }
    }

    /// Uses a resolver that was configured elsewhere; its cache, if it has one, is kept.
    #[must_use]
    pub fn from_resolver(resolver: TokioResolver) -> Self {
        let mut shared = Shared::new(Source::Elsewhere);
        shared.resolver = OnceLock::from(resolver);
        Self { shared: Arc::new(shared) }
    }

    fn with_source(source: Source) -> Self {
        Self { shared: Arc::new(Shared::new(source)) }
    }
}

impl Default for HickoryResolver {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for HickoryResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shared.source {
            Source::System => f.write_str("HickoryResolver(system configuration)"),
            Source::Server(server) => write!(f, "HickoryResolver({server})"),
            Source::Elsewhere => f.write_str("HickoryResolver(configured elsewhere)"),
        }
    }
}

impl Shared {
    fn new(source: Source) -> Self {
        Self { source, query_timeout: DEFAULT_QUERY_TIMEOUT, resolver: OnceLock::new(), building: Mutex::new(()) }
    }

    /// Built once, however many lookups come first at the same time. A failure is not kept: a configuration
    /// that cannot be read now may be readable at the next lookup.
    fn resolver(&self) -> Result<&TokioResolver, NetError> {
        if let Some(resolver) = self.resolver.get() {
            return Ok(resolver);
        }
        let _building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(resolver) = self.resolver.get() {
            return Ok(resolver);
        }
        let built = self.build()?;
        Ok(self.resolver.get_or_init(|| built))
    }

    fn build(&self) -> Result<TokioResolver, NetError> {
        let mut builder = match self.source {
            Source::System | Source::Elsewhere => TokioResolver::builder_tokio()?,
            Source::Server(server) => {
                let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
                for connection in &mut connections {
                    connection.port = server.port();
                }
                let server = NameServerConfig::new(server.ip(), true, connections);
                let config = ResolverConfig::from_name_servers(vec![server]);
                TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
            }
        };
        let options = builder.options_mut();
        options.cache_size = 0;
        options.timeout = options.timeout.min(self.query_timeout);
        options.attempts = options.attempts.min(1);
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        if let Source::Server(_) = self.source {
            options.use_hosts_file = hickory_resolver::config::ResolveHosts::Never;
        }
        tracing::debug!(query_timeout = ?options.timeout, "DNS resolver configured");
        builder.build()
    }

    async fn lookup(&self, name: Name) -> Result<Vec<Resolved>, HickoryError> {
        let asked = self.source;
        let resolver = self.resolver().map_err(|source| HickoryError { name: name.clone(), asked, source })?;
        match resolver.lookup_ip(name.as_str()).await {
            Ok(answer) => Ok(answer.iter().map(Resolved::from).collect()),
            Err(source) if source.is_no_records_found() && !source.is_nx_domain() => Ok(Vec::new()),
            Err(source) => Err(HickoryError { name, asked, source }),
        }
    }
}

impl Service<Address> for HickoryResolver {
    type Response = Vec<Resolved>;
    type Error = HickoryError;
    type Future = HickoryFuture;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), HickoryError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Address) -> HickoryFuture {
        HickoryFuture(match address {
            Address::Socket(addr) => State::Literal(Some(addr)),
            Address::Name(name, _) => {
                let shared = Arc::clone(&self.shared);
                State::Lookup(Box::pin(async move { shared.lookup(name).await }))
            }
        })
    }
}

/// A lookup in progress; dropping it gives it up.
pub struct HickoryFuture(State);

enum State {
    Literal(Option<SocketAddr>),
    // Boxed because an async block cannot be named; a lookup is network traffic anyway.
    Lookup(Pin<Box<dyn Future<Output = Result<Vec<Resolved>, HickoryError>> + Send>>),
}

impl Future for HickoryFuture {
    type Output = Result<Vec<Resolved>, HickoryError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            State::Literal(addr) => Poll::Ready(Ok(addr.take().into_iter().map(Resolved::from).collect())),
            State::Lookup(lookup) => lookup.as_mut().poll(cx),
        }
    }
}

impl fmt::Debug for HickoryFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HickoryFuture")
    }
}

/// DNS gave no usable answer for a name.
#[derive(Clone, Debug)]
pub struct HickoryError {
    name: Name,
    asked: Source,
    source: NetError,
}

impl fmt::Display for HickoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, asked, source } = self;
        match source {
            _ if source.is_nx_domain() => write!(f, "DNS knows no name {name} (NXDOMAIN)")?,
            NetError::Timeout => write!(f, "DNS gave no answer for {name}: no server answered in time")?,
            NetError::NoConnections => write!(f, "DNS gave no answer for {name}: no server could be reached")?,
            _ => match self.code() {
                Some(ResponseCode::ServFail) => {
                    write!(f, "DNS gave no answer for {name}: the server failed to find one (SERVFAIL)")?;
                }
                Some(ResponseCode::Refused) => {
                    write!(f, "DNS gave no answer for {name}: the server refused to look for one (REFUSED)")?;
                }
                Some(ResponseCode::NoError) => write!(f, "DNS has no address for {name}")?,
                Some(code) => write!(f, "DNS gave no answer for {name}: the server answered \"{code}\"")?,
                None => write!(f, "DNS gave no answer for {name}")?,
            },
        }
        match asked {
            Source::System => f.write_str("; hosts file and DNS were asked:")?,
            Source::Server(server) => write!(f, "; the DNS server {server} alone was asked:")?,
            // Which sources it has is known to whoever configured it.
            Source::Elsewhere => f.write_str(":")?,
        }
        f.write_str(" for mDNS and other nsswitch sources use `SystemResolver`")
    }
}

impl HickoryError {
    /// The error of the resolver underneath.
    #[must_use]
    pub fn net_error(&self) -> &NetError {
        &self.source
    }

    /// What the server answered in place of addresses.
    fn code(&self) -> Option<ResponseCode> {
        match &self.source {
            NetError::Dns(DnsError::ResponseCode(code)) => Some(*code),
            NetError::Dns(DnsError::NoRecordsFound(none)) => Some(none.response_code),
            _ => None,
        }
    }
}

impl Error for HickoryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // Where the sentence says it all, the text underneath would only say it again in terms of the resolver.
        let said = self.code().is_some() || matches!(self.source, NetError::Timeout | NetError::NoConnections);
        if said { None } else { Some(&self.source) }
    }
}
