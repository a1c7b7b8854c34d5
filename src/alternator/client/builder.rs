//! What a client is made of.

use std::{sync::Arc, time::Duration};

use http::HeaderValue;
use http_body_util::BodyExt;
use messina_layers::BoxError;
use tower::{ServiceExt, util::BoxCloneSyncService};
use tower_service::Service;

use super::{Alternator, BuildError, Inner};
use crate::{
    alternator::{
        affinity::{KeyNames, LookupOptions, Mode},
        ask::{AnswerBody, Asker, Exchange},
        balance::BalanceOptions,
        discovery::CycleLimits,
        health::{Book, ProbeOptions, Probes, Thresholds},
        http::{HttpClient, HttpOptions, Payload},
        keys::Keys,
        live_nodes::LiveNodes,
        localnodes::Limits,
        node::{Node, Scheme},
        pace::Pace,
        plan::Randomness,
        poller::{Poller, Track},
        routes::Shared,
        scope::ScopeChain,
    },
    metrics::{AlternatorMetrics, Naming},
};

/// The user agent of polls and of requests that have none of their own.
pub(in crate::alternator) const USER_AGENT: &str = concat!("messina/", env!("CARGO_PKG_VERSION"));

/// What a client is made of; see [`Alternator::builder`].
#[derive(Clone, Debug)]
pub struct AlternatorBuilder {
    seeds: Vec<String>,
    chain: ScopeChain,
    http: HttpOptions,
    exchange: Option<Exchange>,
    active: Duration,
    idle: Duration,
    limits: CycleLimits,
    bodies: Limits,
    thresholds: Thresholds,
    health: bool,
    probes: ProbeOptions,
    affinity: Mode,
    key_names: Vec<(String, String)>,
    lookups: LookupOptions,
    balance: BalanceOptions,
    user_agent: Option<String>,
    metrics: Naming,
    seed: Option<u64>,
}

impl AlternatorBuilder {
    pub(super) fn new() -> Self {
        Self {
            seeds: Vec::new(),
            chain: ScopeChain::default(),
            http: HttpOptions::default(),
            exchange: None,
            active: Duration::from_secs(1),
            idle: Duration::from_secs(60),
            limits: CycleLimits::default().with_attempt(Duration::from_secs(2)).with_cycle(Duration::from_secs(10)),
            bodies: Limits::default(),
            thresholds: Thresholds::default(),
            health: true,
            probes: ProbeOptions::default(),
            affinity: Mode::None,
            key_names: Vec::new(),
            lookups: LookupOptions::default(),
            balance: BalanceOptions::default(),
            user_agent: Some(USER_AGENT.to_owned()),
            metrics: Naming::default(),
            seed: None,
        }
    }

    /// A host to begin with, as `http://name:port` or `https://name:port`; several may be given, all with one scheme and
    /// port, at which every node listens.
    #[must_use]
    pub fn seed(mut self, url: impl Into<String>) -> Self {
        self.seeds.push(url.into());
        self
    }

    /// Where requests may go (the whole cluster). A chain without the cluster is strict.
    #[must_use]
    pub fn scope(mut self, chain: ScopeChain) -> Self {
        self.chain = chain;
        self
    }

    /// How connections are made and kept.
    #[must_use]
    pub fn http(mut self, options: HttpOptions) -> Self {
        self.http = options;
        self
    }

    /// Polls and probes through this HTTP client, in place of the built-in one. It is told the node by the URI.
    #[must_use]
    pub fn poll_through<S, B>(mut self, client: S) -> Self
    where
        S: Service<http::Request<Payload>, Response = http::Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = bytes::Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        self.exchange = Some(exchange(client));
        self
    }

    /// How often to poll while there are requests (1 s), and while there are none for that long (60 s).
    #[must_use]
    pub const fn intervals(mut self, active: Duration, idle: Duration) -> Self {
        self.active = active;
        self.idle = idle;
        self
    }

    /// How long a poll and its questions may take (10 s and 2 s), and how many questions are out at a time (3).
    #[must_use]
    pub const fn poll_limits(mut self, limits: CycleLimits) -> Self {
        self.limits = limits;
        self
    }

    /// How long an answer to a poll may be (1 MiB, 10,000 nodes).
    #[must_use]
    pub const fn list_limits(mut self, limits: Limits) -> Self {
        self.bodies = limits;
        self
    }

    /// How many failures and successes change the state of a node.
    #[must_use]
    pub const fn thresholds(mut self, thresholds: Thresholds) -> Self {
        self.thresholds = thresholds;
        self
    }

    /// Takes every node that is listed for one that answers.
    #[must_use]
    pub const fn without_health(mut self) -> Self {
        self.health = false;
        self
    }

    /// How nodes that have to prove themselves are probed.
    #[must_use]
    pub const fn probes(mut self, options: ProbeOptions) -> Self {
        self.probes = options;
        self
    }

    /// Which writes go to the node that their partition key leads to first (none).
    ///
    /// Under a scope that is a rack, those writes may go to the rack's whole data centre: each rack would choose
    /// another node, which is what this is there to prevent.
    #[must_use]
    pub const fn affinity(mut self, mode: Mode) -> Self {
        self.affinity = mode;
        self
    }

    /// The partition key's name of a table, so that it need not be asked for.
    #[must_use]
    pub fn partition_key(mut self, table: impl Into<String>, attribute: impl Into<String>) -> Self {
        self.key_names.push((table.into(), attribute.into()));
        self
    }

    /// How partition keys' names are found out.
    #[must_use]
    pub fn key_lookups(mut self, options: LookupOptions) -> Self {
        self.lookups = options;
        self
    }

    /// How requests move on from node to node.
    #[must_use]
    pub const fn balance(mut self, options: BalanceOptions) -> Self {
        self.balance = options;
        self
    }

    /// The user agent of polls (`messina/VERSION`); `None` sends none.
    #[must_use]
    pub fn user_agent(mut self, text: Option<String>) -> Self {
        self.user_agent = text;
        self
    }

    /// What tells the series of this client from those of others; see [`metrics::ALTERNATOR`](crate::metrics::ALTERNATOR).
    #[must_use]
    pub fn metrics(mut self, naming: Naming) -> Self {
        self.metrics = naming;
        self
    }

    /// Makes the random choices of nodes the same in every run, for tests.
    #[must_use]
    pub const fn random_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Starts the client; the first poll begins at once and nothing waits for it.
    ///
    /// # Errors
    /// A value that cannot be, or no tokio runtime to poll in.
    pub fn build(self) -> Result<Alternator, BuildError> {
        let settings = self.clone();
        let seeds = self.seeds()?;
        let keys = self.keys()?;
        let user_agent = self.user_agent.as_deref().map(HeaderValue::from_str).transpose();
        let user_agent = user_agent.map_err(|_| BuildError::UserAgent(self.user_agent.clone().unwrap_or_default()))?;
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| BuildError::NoRuntime)?;
        let book = if self.health { Book::new(self.thresholds) } else { Book::disabled() };
        let randomness = self.seed.map_or_else(Randomness::from_system, Randomness::seeded);
        let live = LiveNodes::new(seeds.clone(), &self.chain);
        let wide = Some(self.chain.for_affinity()).filter(|wide| self.affinity != Mode::None && *wide != self.chain);
        let wide = wide.map(|chain| Track { live: LiveNodes::new(seeds.clone(), &chain), chain });
        let metrics = AlternatorMetrics::new(self.metrics);
        let shared = Shared::new(live.clone(), book, Probes::new(self.probes), randomness, metrics, self.idle);
        let shared = Arc::new(shared);
        let http = HttpClient::new(self.http.clone());
        let exchange = self.exchange.unwrap_or_else(|| exchange(http.clone()));
        let endpoint = seeds.first().map(|seed| seed.canonical().to_owned()).unwrap_or_default();
        let poller = Poller {
            shared: Arc::clone(&shared),
            asker: Asker { exchange, user_agent, limits: self.bodies },
            resolver: self.http.resolver(),
            seeds,
            tracks: std::iter::once(Track { chain: self.chain, live }).chain(wide).collect(),
            pace: Pace::new(self.active, self.idle),
            limits: self.limits,
            filters: Default::default(),
            failures: Vec::new(),
        };
        poller.prepare();
        let task = runtime.spawn(poller.run());
        let inner = Inner { shared, http, endpoint, balance: self.balance, keys, settings, task: Some(task).into() };
        Ok(Alternator { inner: Arc::new(inner) })
    }

    fn seeds(&self) -> Result<Vec<Node>, BuildError> {
        let seeds: Result<Vec<Node>, _> = self.seeds.iter().map(|seed| Node::from_seed(seed)).collect();
        let seeds = seeds.map_err(BuildError::Seed)?;
        let first = seeds.first().ok_or(BuildError::NoSeed)?;
        let kind = |node: &Node| (node.scheme(), node.address().port());
        if let Some(other) = seeds.iter().find(|seed| kind(seed) != kind(first)) {
            return Err(BuildError::Mixed(Box::new((first.clone(), other.clone()))));
        }
        if first.scheme() == Scheme::Https && !self.http.has_tls() && self.exchange.is_none() {
            return Err(BuildError::NoTls(first.clone()));
        }
        Ok(seeds)
    }

    fn keys(&self) -> Result<Option<Keys>, BuildError> {
        let mut names = KeyNames::new(self.lookups.clone());
        for (table, attribute) in &self.key_names {
            names = names.with_given(table, attribute).map_err(BuildError::Key)?;
        }
        Ok((self.affinity != Mode::None).then(|| Keys::new(self.affinity, names)))
    }
}

/// A client with its types erased.
pub(in crate::alternator) fn exchange<S, B>(client: S) -> Exchange
where
    S: Service<http::Request<Payload>, Response = http::Response<B>> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: http_body::Body<Data = bytes::Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let erased = |answer: http::Response<B>| answer.map(|body| AnswerBody::new(body.map_err(Into::into)));
    BoxCloneSyncService::new(client.map_response(erased).map_err(Into::into))
}
