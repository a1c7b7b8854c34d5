//! A report as serde sees it: every key is always there, `null` where there is nothing to say.

use std::time::Duration;

use messina_layers::error::chain;
use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::{
    ProbedAddress, ProbedContactPoint, ProbedQuery, Report,
    report::{LookupFailed, STEPS},
};

#[derive(Serialize)]
struct ReportKeys<'a> {
    works: bool,
    ms: f64,
    contact_points: &'a [ProbedContactPoint],
    query: Option<&'a ProbedQuery>,
}

#[derive(Serialize)]
struct ContactPointKeys<'a> {
    contact_point: &'a str,
    works: bool,
    verdict: &'a str,
    advice: &'a str,
    resolve_ms: f64,
    resolve_error: Option<String>,
    addresses: &'a [ProbedAddress],
}

#[derive(Serialize)]
struct AddressKeys<'a> {
    address: String,
    works: bool,
    stage: &'static str,
    ms: Times<'a>,
    protocol: Option<u8>,
    server: Option<&'a str>,
    cluster: Option<&'a str>,
    host_id: Option<String>,
    datacenter: Option<&'a str>,
    rack: Option<&'a str>,
    shards: Option<u16>,
    error: Option<String>,
}

/// A key per step, in their order, and `total` for the whole attempt.
struct Times<'a>(&'a ProbedAddress);

impl Serialize for Times<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let address = self.0;
        // The usual steps are always there; those of layers of the application's own where they were taken.
        let usual = STEPS.iter().map(|step| (step.as_str(), address.time(*step).map(ms)));
        let others = address.times.iter().filter(|(step, _)| !STEPS.contains(step));
        let others = others.map(|(step, took)| (step.as_str(), Some(ms(*took))));
        serializer.collect_map(usual.chain(others).chain([("total", Some(ms(address.elapsed)))]))
    }
}

#[derive(Serialize)]
struct QueryKeys<'a> {
    cql: &'a str,
    contact_point: Option<&'a str>,
    address: Option<String>,
    ms: f64,
    columns: &'a [String],
    rows: &'a [Vec<Option<String>>],
    more: bool,
    error: Option<&'a str>,
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys = ReportKeys {
            works: self.works(),
            ms: ms(self.elapsed),
            contact_points: &self.contact_points,
            query: self.query.as_ref(),
        };
        keys.serialize(serializer)
    }
}

impl Serialize for ProbedContactPoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys = ContactPointKeys {
            contact_point: &self.name,
            works: self.works(),
            verdict: &self.verdict,
            advice: &self.advice,
            resolve_ms: ms(self.lookup),
            resolve_error: self.error.as_ref().map(|error: &LookupFailed| chain(error).to_string()),
            addresses: &self.addresses,
        };
        keys.serialize(serializer)
    }
}

impl Serialize for ProbedAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys = AddressKeys {
            address: self.addr.to_string(),
            works: self.works(),
            stage: self.stage.as_str(),
            ms: Times(self),
            protocol: self.protocol.map(|version| version.as_u8()),
            server: self.server.as_deref(),
            cluster: self.cluster.as_deref(),
            host_id: self.host_id.as_ref().map(Uuid::to_string),
            datacenter: self.datacenter.as_deref(),
            rack: self.rack.as_deref(),
            shards: self.shards,
            error: self.error.as_ref().map(|error| chain(error.cause()).to_string()),
        };
        keys.serialize(serializer)
    }
}

impl Serialize for ProbedQuery {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys = QueryKeys {
            cql: &self.cql,
            contact_point: self.contact_point.as_deref(),
            address: self.addr.map(|addr| addr.to_string()),
            ms: ms(self.elapsed),
            columns: &self.columns,
            rows: &self.rows,
            more: self.more,
            error: self.error.as_deref(),
        };
        keys.serialize(serializer)
    }
}

/// Milliseconds with three digits behind the point.
fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
