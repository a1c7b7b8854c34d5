//! What a probe found, and how it prints.

use std::{error, fmt, net::SocketAddr, sync::Arc, time::Duration};

use messina_layers::{
    Stage,
    error::{AttemptError, chain, printable},
};
use uuid::Uuid;

use super::READY;
use crate::{error::stage, protocol::ProtocolVersion, table::Table};

/// The steps in the order in which an attempt takes them.
pub(super) const STEPS: [Stage; 9] = [
    stage::TCP,
    stage::TLS,
    stage::OPTIONS,
    stage::STARTUP,
    stage::AUTH,
    stage::CLUSTER,
    stage::KEYSPACE,
    stage::IDENTITY,
    stage::REGISTER,
];

/// What a probe found. `Display` is a table and a line per contact point; with feature `serde` it serialises.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// One per contact point, in their order.
    pub contact_points: Vec<ProbedContactPoint>,
    /// What the statement gave, where one was to be executed.
    pub query: Option<ProbedQuery>,
    /// How long it all took.
    pub elapsed: Duration,
}

/// What a contact point leads to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProbedContactPoint {
    /// As it was written.
    pub name: String,
    /// How long the lookup took.
    pub lookup: Duration,
    /// Why there are no addresses.
    pub error: Option<LookupFailed>,
    /// Every address, in the order of the resolver's answer.
    pub addresses: Vec<ProbedAddress>,
    /// Whether and how it can be used, in one clause.
    pub verdict: String,
    /// What to do, in one line; empty where there is nothing to do.
    pub advice: String,
}

/// Why a contact point has no addresses.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookupFailed {
    /// The lookup answered none.
    #[error("the lookup gave no address")]
    NoAddress,
    /// The lookup failed or took too long.
    #[error("the lookup failed")]
    Failed(#[source] Arc<dyn error::Error + Send + Sync>),
}

/// How far an attempt at one address got.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProbedAddress {
    /// The address.
    pub addr: SocketAddr,
    /// The step at which the attempt failed; [`READY`] if it did not.
    pub stage: Stage,
    /// The steps that were taken, in their order, and how long each took, the one that failed among them.
    pub times: Vec<(Stage, Duration)>,
    /// How long the whole attempt took.
    pub elapsed: Duration,
    /// The protocol version that was settled.
    pub protocol: Option<ProtocolVersion>,
    /// Which server answers.
    pub server: Option<String>,
    /// The cluster's name.
    pub cluster: Option<String>,
    /// The node's identity.
    pub host_id: Option<Uuid>,
    /// The node's data centre.
    pub datacenter: Option<String>,
    /// The node's rack.
    pub rack: Option<String>,
    /// How many shards the node has, where it tells.
    pub shards: Option<u16>,
    /// Why the attempt failed.
    pub error: Option<AttemptError>,
}

/// A statement that was executed on the first address that works.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProbedQuery {
    /// The statement.
    pub cql: String,
    /// The contact point whose address it was.
    pub contact_point: Option<String>,
    /// The address; `None` if none works, and then the statement was not executed.
    pub addr: Option<SocketAddr>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, each value as CQL writes it; null is `None`.
    pub rows: Vec<Vec<Option<String>>>,
    /// Whether there are more rows than the 1,000 that are kept.
    pub more: bool,
    /// How long it took.
    pub elapsed: Duration,
    /// Why it failed.
    pub error: Option<String>,
}

impl Report {
    /// Whether every contact point has at least one address that works.
    #[must_use]
    pub fn works(&self) -> bool {
        self.contact_points.iter().all(ProbedContactPoint::works)
    }

    /// The table alone: a row per address.
    #[must_use]
    pub fn table(&self) -> impl fmt::Display {
        let mut table = Table::new().text("contact point").text("address").text("stage").number("resolve ms");
        for (_, heading) in HEADINGS {
            table = table.number(heading);
        }
        let mut table = table
            .text("protocol")
            .text("server")
            .text("host id")
            .text("data centre")
            .text("rack")
            .number("shards")
            .text("error");
        for point in &self.contact_points {
            point.rows(&mut table);
        }
        table
    }
}

const HEADINGS: [(Stage, &str); 9] = [
    (STEPS[0], "tcp ms"),
    (STEPS[1], "tls ms"),
    (STEPS[2], "options ms"),
    (STEPS[3], "startup ms"),
    (STEPS[4], "auth ms"),
    (STEPS[5], "cluster ms"),
    (STEPS[6], "keyspace ms"),
    (STEPS[7], "identity ms"),
    (STEPS[8], "register ms"),
];

impl ProbedContactPoint {
    pub(super) fn new(name: String, lookup: Duration) -> Self {
        let (verdict, advice) = (String::new(), String::new());
        Self { name, lookup, error: None, addresses: Vec::new(), verdict, advice }
    }

    /// Whether at least one address works.
    #[must_use]
    pub fn works(&self) -> bool {
        self.addresses.iter().any(ProbedAddress::works)
    }

    fn rows(&self, table: &mut Table) {
        let lookup = milliseconds(self.lookup);
        if let Some(error) = &self.error {
            let mut row = vec![self.name.clone(), String::new(), stage::RESOLVE.to_string(), lookup];
            row.resize(4 + STEPS.len() + 6, String::new());
            row.push(chain(error).to_string());
            table.row(row);
            return;
        }
        for address in &self.addresses {
            let mut row = vec![self.name.clone(), address.addr.to_string(), address.stage.to_string(), lookup.clone()];
            row.extend(STEPS.iter().map(|step| address.time(*step).map(milliseconds).unwrap_or_default()));
            row.extend([
                address.protocol.map(|version| version.to_string()).unwrap_or_default(),
                address.server.clone().unwrap_or_default(),
                address.host_id.map(|id| id.to_string()).unwrap_or_default(),
                address.datacenter.clone().unwrap_or_default(),
                address.rack.clone().unwrap_or_default(),
                address.shards.map(|shards| shards.to_string()).unwrap_or_default(),
                address.error.as_ref().map(|error| chain(error.cause()).to_string()).unwrap_or_default(),
            ]);
            table.row(row);
        }
    }
}

impl ProbedAddress {
    pub(super) fn new(addr: SocketAddr, elapsed: Duration) -> Self {
        Self {
            addr,
            stage: READY,
            times: Vec::new(),
            elapsed,
            protocol: None,
            server: None,
            cluster: None,
            host_id: None,
            datacenter: None,
            rack: None,
            shards: None,
            error: None,
        }
    }

    /// Whether it passed every step.
    #[must_use]
    pub fn works(&self) -> bool {
        self.error.is_none()
    }

    /// How long a step took, if it was taken.
    #[must_use]
    pub fn time(&self, step: Stage) -> Option<Duration> {
        self.times.iter().find(|(taken, _)| *taken == step).map(|(_, took)| *took)
    }
}

impl ProbedQuery {
    pub(super) fn not_run(cql: String) -> Self {
        Self {
            cql,
            contact_point: None,
            addr: None,
            columns: Vec::new(),
            rows: Vec::new(),
            more: false,
            elapsed: Duration::ZERO,
            error: None,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.table())?;
        for point in &self.contact_points {
            write!(f, "\n{}: {}", printable(&point.name), printable(&point.verdict))?;
            if !point.advice.is_empty() {
                // Long where several addresses fail in several ways; each part was made printable.
                write!(f, "; {}", point.advice)?;
            }
        }
        match &self.query {
            Some(query) => write!(f, "\n\n{query}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ProbedQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cql = printable(&self.cql);
        let Some(addr) = self.addr else { return write!(f, "{cql}: not executed, since no address works") };
        if let Some(error) = &self.error {
            return write!(f, "{cql} on {addr} failed after {:.1?}: {}", self.elapsed, printable(error));
        }
        let more = if self.more { " and more" } else { "" };
        write!(f, "{cql} on {addr}: {}{more} rows in {:.1?}", self.rows.len(), self.elapsed)?;
        let headings = self.columns.iter().map(String::clone);
        let mut table = headings.clone().fold(Table::new(), |table, heading| table.text(heading));
        for row in &self.rows {
            table.row(row.iter().map(|value| value.clone().unwrap_or_else(|| "null".to_owned())));
        }
        if self.rows.is_empty() { Ok(()) } else { write!(f, "\n{table}") }
    }
}

pub(super) fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1000.0)
}
