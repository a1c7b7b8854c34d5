//! What nodes answer, asked once: for people who want to know why something does not work.

mod advice;

use std::{collections::HashSet, fmt, net::SocketAddr, time::Duration};

use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use messina_layers::Resolved;
use tokio::time::{Instant, timeout};
use tower::ServiceExt;

use self::advice::certificate;
use super::{
    ask::{AskError, Asker},
    client::{USER_AGENT, exchange},
    discovery::Candidate,
    http::{HttpClient, HttpOptions},
    localnodes::{BodyError, Limits},
    node::Node,
    pace::after,
    scope::{Filters, Scope, impossible_rack},
};

/// How many characters are shown of an answer to `GET /`: the server says one word, another server a whole page.
const SHOWN: usize = 40;

/// How nodes are probed.
#[derive(Clone, Debug)]
pub struct ProbeSettings {
    http: HttpOptions,
    limit: Duration,
    concurrency: usize,
}

impl Default for ProbeSettings {
    /// The built-in HTTP client as it is by default, 5 s for each lookup and question, 8 hosts at a time.
    fn default() -> Self {
        Self { http: HttpOptions::default(), limit: Duration::from_secs(5), concurrency: 8 }
    }
}

impl ProbeSettings {
    /// How connections are made.
    #[must_use]
    pub fn with_http(mut self, options: HttpOptions) -> Self {
        self.http = options;
        self
    }

    /// The longest that a lookup or a question may take.
    #[must_use]
    pub const fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// How many hosts are asked at a time; 0 counts as 1.
    #[must_use]
    pub const fn with_concurrency(mut self, hosts: usize) -> Self {
        self.concurrency = if hosts == 0 { 1 } else { hosts };
        self
    }
}

/// What was found. It prints as a table with a line of advice; with the feature `serde` it serialises.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProbeReport {
    /// The seeds, as they were given.
    pub seeds: Vec<SeedReport>,
    /// Every host that was asked: the addresses of the seeds, then the nodes that only a list named.
    pub hosts: Vec<HostReport>,
}

/// A seed and its addresses.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SeedReport {
    /// The seed.
    pub seed: String,
    /// Every address it has.
    pub addresses: Vec<SocketAddr>,
    /// Why it has none.
    pub error: Option<String>,
}

/// What one host answers.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HostReport {
    /// The host, as `Host` and TLS call it.
    pub node: String,
    /// The address that was dialled, for a seed.
    pub address: Option<SocketAddr>,
    /// Whether it is an address of a seed; otherwise another host listed it.
    pub seed: bool,
    /// Its answer to `GET /`.
    pub health: Option<String>,
    /// How many milliseconds that took, a new connection included.
    pub health_ms: Option<u64>,
    /// The nodes it lists for its own data centre.
    pub lists: Option<Vec<String>>,
    /// Entries of its list that are no node.
    pub passed_over: usize,
    /// Whether it filters by data centre and rack: `known`, `ignored`, or `unclear`.
    pub filters: Option<&'static str>,
    /// The first thing that went wrong.
    pub error: Option<String>,
    /// What to do about that, where it can be told: its certificate is refused.
    pub advice: Option<String>,
}

impl HostReport {
    /// Whether a client can discover nodes through it.
    #[must_use]
    pub fn works(&self) -> bool {
        self.lists.is_some()
    }
}

impl ProbeReport {
    /// Whether every seed has an address that works.
    #[must_use]
    pub fn works(&self) -> bool {
        let works = |seed: &SeedReport| self.hosts.iter().any(|host| host.node == seed.seed && host.works());
        !self.seeds.is_empty() && self.seeds.iter().all(works)
    }
}

/// Asks every address of every seed, and every node that one of them lists, for health, list and filters.
///
/// Nothing is kept open afterwards, and nothing that goes wrong is an error: it is in the report.
pub async fn probe(seeds: &[Node], settings: &ProbeSettings) -> ProbeReport {
    let asker = Asker {
        exchange: exchange(HttpClient::new(settings.http.clone())),
        user_agent: http::HeaderValue::from_str(USER_AGENT).ok(),
        limits: Limits::default(),
    };
    let mut report = ProbeReport { seeds: Vec::new(), hosts: Vec::new() };
    let mut candidates = Vec::new();
    for seed in seeds {
        let port = seed.address().port();
        let lookup = timeout(settings.limit, settings.http.resolver().oneshot(seed.address().clone())).await;
        let (addresses, error) = match lookup {
            Ok(Ok(answer)) => (answer.into_iter().map(|item: Resolved| item.socket(port)).collect(), None),
            Ok(Err(error)) => (Vec::new(), Some(messina_layers::error::chain(&*error).to_string())),
            Err(_) => (Vec::new(), Some(format!("no answer within {:?}", settings.limit))),
        };
        let of = |addr: &SocketAddr| Candidate { node: seed.clone(), dial: Some(*addr) };
        candidates.extend(addresses.iter().map(of));
        report.seeds.push(SeedReport { seed: seed.to_string(), addresses, error });
    }
    let mut seen: HashSet<Node> = candidates.iter().map(Candidate::host).collect();
    let (hosts, listed) = ask_all(&asker, candidates, true, settings).await;
    report.hosts = hosts;
    let mut others: Vec<Node> = listed.into_iter().filter(|node| seen.insert(node.clone())).collect();
    others.sort();
    let others = others.into_iter().map(|node| Candidate { node, dial: None }).collect();
    report.hosts.extend(ask_all(&asker, others, false, settings).await.0);
    report
}

async fn ask_all(
    asker: &Asker,
    candidates: Vec<Candidate>,
    seed: bool,
    settings: &ProbeSettings,
) -> (Vec<HostReport>, Vec<Node>) {
    let ask = |candidate: Candidate| ask(asker, candidate, seed, settings);
    let answers: Vec<_> = stream::iter(candidates).map(ask).buffered(settings.concurrency).collect().await;
    let (hosts, listed): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
    (hosts, listed.into_iter().flatten().collect())
}

async fn ask(asker: &Asker, candidate: Candidate, seed: bool, settings: &ProbeSettings) -> (HostReport, Vec<Node>) {
    let (limit, own_name) = (settings.limit, !settings.http.accepts_names());
    let mut report = HostReport {
        node: candidate.node.to_string(),
        address: candidate.dial,
        seed,
        health: None,
        health_ms: None,
        lists: None,
        passed_over: 0,
        filters: None,
        error: None,
        advice: None,
    };
    let from = Instant::now();
    match asker.text(&candidate, "/", after(from, limit)).await {
        Ok(text) => {
            report.health = Some(text);
            report.health_ms = u64::try_from(from.elapsed().as_millis()).ok();
        }
        Err(error) => {
            report.advice = candidate.dial.and_then(|addr| certificate(&error, addr, own_name));
            report.error = Some(error.to_string());
        }
    }
    let listed = match asker.list(&candidate, &Scope::cluster().path(), after(Instant::now(), limit)).await {
        Ok(listed) => listed,
        Err(error) => {
            report.error.get_or_insert(error.to_string());
            return (report, Vec::new());
        }
    };
    report.passed_over = listed.invalid + listed.other_port;
    report.lists = Some(listed.nodes.iter().map(ToString::to_string).collect());
    let impossible = match asker.list(&candidate, impossible_rack(), after(Instant::now(), limit)).await {
        Ok(other) => Some(other.nodes.len()),
        Err(AskError::Body(BodyError::NoneValid)) => Some(0),
        Err(_) => None,
    };
    report.filters = impossible.map(|impossible| match Filters::of(listed.nodes.len(), impossible) {
        Filters::Known => "known",
        Filters::Ignored => "ignored",
        Filters::Unclear => "unclear",
    });
    (report, listed.nodes)
}

/// The beginning of a text, on one line.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        None => line,
        Some((end, _)) => format!("{}...", &line[..end]),
    }
}

impl Asker {
    /// The status and the beginning of the answer to `GET` of a path.
    async fn text(&self, candidate: &Candidate, path: &str, by: Instant) -> Result<String, AskError> {
        let answer = self.get(candidate, path, by).await?;
        let status = answer.status();
        let mut body = answer.into_body();
        let mut text = Vec::new();
        while let Ok(Some(Ok(frame))) = tokio::time::timeout_at(by, body.frame()).await {
            text.extend_from_slice(frame.data_ref().map_or(&[], |bytes| bytes));
            if text.len() > 200 {
                text.truncate(200);
                break;
            }
        }
        let text = messina_layers::error::printable(&short(&String::from_utf8_lossy(&text))).to_string();
        if status == http::StatusCode::OK { Ok(text) } else { Err(AskError::Status(status.as_u16())) }
    }
}

impl fmt::Display for ProbeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![["host", "address", "health", "ms", "lists", "filters", "error"].map(str::to_owned)];
        for host in &self.hosts {
            let address = host.address.map(|address| address.to_string());
            let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            rows.push([
                host.node.clone(),
                address.unwrap_or_else(|| "(listed)".to_owned()),
                text(host.health.clone()),
                text(host.health_ms.map(|ms| ms.to_string())),
                text(host.lists.as_ref().map(|nodes| format!("{} nodes", nodes.len()))),
                text(host.filters.map(str::to_owned)),
                host.error.clone().unwrap_or_default(),
            ]);
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..7).map(width).collect();
        for row in &rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        for seed in &self.seeds {
            writeln!(f, "{}: {}", seed.seed, self.advice(seed))?;
        }
        Ok(())
    }
}
