//! The system tables.

use std::net::IpAddr;

use scylla_cql_core::value::CqlValue;

use super::schema;
use crate::testkit::node::Inner;
use crate::testkit::prime::normal;
use crate::testkit::{Answer, NodeFacts, Rows, Stage};

const INVALID: i32 = 0x2200;

/// The stage of a statement.
pub(super) fn stage(text: &str) -> Stage {
    if keyspace_of_use(text).is_some() {
        return Stage::Keyspace;
    }
    match Select::parse(text) {
        Some(select) if select.table == "system.local" => {
            if select.columns == ["cluster_name"] {
                Stage::Cluster
            } else {
                Stage::Identity
            }
        }
        Some(select) if select.table.starts_with("system.peers") => Stage::Peers,
        Some(select) if select.table.starts_with("system_schema.") => Stage::Schema,
        _ => Stage::Query,
    }
}

/// The built-in answer to a statement.
pub(super) fn answer(node: &Inner, text: &str) -> Option<Answer> {
    if let Some(keyspace) = keyspace_of_use(text) {
        let exists = node.cluster.keyspaces.as_ref().is_none_or(|known| known.contains(&keyspace));
        return Some(if exists {
            Answer::keyspace(keyspace)
        } else {
            Answer::error(INVALID, format!("Keyspace '{keyspace}' does not exist"))
        });
    }
    let select = Select::parse(text)?;
    let (keyspace, table) = select.table.split_once('.')?;
    let facts = node.facts();
    let (template, rows) = match (keyspace, table) {
        ("system", "local") => (local(&facts), vec![local(&facts)]),
        ("system", "peers") => (peer(&facts), select.filtered(peers(node).iter().map(peer).collect())),
        ("system", "peers_v2") if facts.has_peers_v2 => {
            (peer_v2(&facts), select.filtered(peers(node).iter().map(peer_v2).collect()))
        }
        ("system", "client_routes") => match node.cluster.routes.select(text) {
            Some(found) => found,
            None => return Some(Answer::error(INVALID, format!("unconfigured table {table}"))),
        },
        ("system" | "system_schema", table) => {
            let known = Some(keyspace).filter(|keyspace| *keyspace == "system_schema");
            let Some(template) = known.and_then(|_| schema::template(table)) else {
                return Some(Answer::error(INVALID, format!("unconfigured table {table}")));
            };
            (template, schema::rows(node, table))
        }
        _ => return None,
    };
    Some(select.project(&template, rows))
}

/// The keyspace that a `USE` names, as the server would: a bare name in lower case.
fn keyspace_of_use(text: &str) -> Option<String> {
    let text = normal(text);
    let (word, name) = text.split_once(' ')?;
    if !word.eq_ignore_ascii_case("use") {
        return None;
    }
    let quoted = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    Some(quoted.map_or_else(|| name.to_lowercase(), |quoted| quoted.replace("\"\"", "\"")))
}

/// One column of a row: its name, its type, its value.
pub(super) type Cell = (&'static str, &'static str, Option<CqlValue>);

pub(super) fn text(value: impl Into<String>) -> Option<CqlValue> {
    Some(CqlValue::Text(value.into()))
}

fn local(facts: &NodeFacts) -> Vec<Cell> {
    let ip = facts.address.map(|addr| CqlValue::Inet(addr.ip()));
    let port = facts.address.map(|addr| CqlValue::Int(addr.port().into()));
    let newest = facts.versions.iter().max().map(ToString::to_string).unwrap_or_default();
    vec![
        ("key", "text", text("local")),
        ("bootstrapped", "text", text("COMPLETED")),
        ("broadcast_address", "inet", ip.clone()),
        ("broadcast_port", "int", Some(CqlValue::Int(7000))),
        ("cluster_name", "text", text(&facts.cluster_name)),
        ("cql_version", "text", text("3.4.7")),
        ("data_center", "text", facts.data_center.clone().map(CqlValue::Text)),
        ("host_id", "uuid", facts.host_id.map(CqlValue::Uuid)),
        ("listen_address", "inet", ip.clone()),
        ("listen_port", "int", Some(CqlValue::Int(7000))),
        ("native_protocol_version", "text", text(newest)),
        ("partitioner", "text", text(&facts.partitioner)),
        ("rack", "text", facts.rack.clone().map(CqlValue::Text)),
        ("release_version", "text", text(&facts.release_version)),
        ("rpc_address", "inet", ip),
        ("rpc_port", "int", port),
        ("schema_version", "uuid", Some(CqlValue::Uuid(facts.schema_version))),
        ("tokens", "set<text>", tokens(facts)),
    ]
}

fn peer(facts: &NodeFacts) -> Vec<Cell> {
    let ip = facts.address.map(|addr| CqlValue::Inet(addr.ip()));
    vec![
        ("peer", "inet", ip.clone()),
        ("data_center", "text", facts.data_center.clone().map(CqlValue::Text)),
        ("host_id", "uuid", facts.host_id.map(CqlValue::Uuid)),
        ("preferred_ip", "inet", None),
        ("rack", "text", facts.rack.clone().map(CqlValue::Text)),
        ("release_version", "text", text(&facts.release_version)),
        ("rpc_address", "inet", ip),
        ("schema_version", "uuid", Some(CqlValue::Uuid(facts.schema_version))),
        ("tokens", "set<text>", tokens(facts)),
    ]
}

fn peer_v2(facts: &NodeFacts) -> Vec<Cell> {
    let ip = facts.address.map(|addr| CqlValue::Inet(addr.ip()));
    let port = facts.address.map(|addr| CqlValue::Int(addr.port().into()));
    vec![
        ("peer", "inet", ip.clone()),
        ("peer_port", "int", Some(CqlValue::Int(7000))),
        ("data_center", "text", facts.data_center.clone().map(CqlValue::Text)),
        ("host_id", "uuid", facts.host_id.map(CqlValue::Uuid)),
        ("native_address", "inet", ip),
        ("native_port", "int", port),
        ("preferred_ip", "inet", None),
        ("preferred_port", "int", None),
        ("rack", "text", facts.rack.clone().map(CqlValue::Text)),
        ("release_version", "text", text(&facts.release_version)),
        ("schema_version", "uuid", Some(CqlValue::Uuid(facts.schema_version))),
        ("tokens", "set<text>", tokens(facts)),
    ]
}

fn tokens(facts: &NodeFacts) -> Option<CqlValue> {
    let tokens = facts.tokens.iter().map(|token| CqlValue::Text(token.to_string()));
    Some(CqlValue::Set(tokens.collect()))
}

/// The other nodes, as far as they are listed.
fn peers(node: &Inner) -> Vec<NodeFacts> {
    let members = node.cluster.members.iter().enumerate();
    members
        .filter(|(index, _)| *index != node.index)
        .map(|(_, facts)| crate::testkit::node::lock(facts).clone())
        .filter(|facts| facts.listed)
        .collect()
}

/// `SELECT columns FROM table WHERE name = value`, as far as it matters here.
#[derive(Debug)]
struct Select {
    columns: Vec<String>,
    table: String,
    condition: Option<(String, String)>,
}

impl Select {
    fn parse(text: &str) -> Option<Self> {
        let text = normal(text).to_lowercase();
        let rest = text.strip_prefix("select ")?;
        let (columns, rest) = rest.split_once(" from ")?;
        let (table, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let condition = rest.strip_prefix("where ").and_then(|condition| {
            let (name, value) = condition.split_once('=')?;
            let value = value.trim().split(' ').next()?.trim_matches('\'');
            Some((name.trim().to_owned(), value.to_owned()))
        });
        Some(Self {
            columns: columns.split(',').map(|column| column.trim().to_owned()).collect(),
            table: table.to_owned(),
            condition,
        })
    }

    /// The rows whose address is the one asked for.
    fn filtered(&self, mut rows: Vec<Vec<Cell>>) -> Vec<Vec<Cell>> {
        if let Some((name, value)) = &self.condition {
            let wanted = value.parse::<IpAddr>().ok().map(CqlValue::Inet);
            rows.retain(|row| {
                let cell = row.iter().find(|(column, ..)| column == name);
                wanted.is_none() || cell.is_none_or(|(.., value)| *value == wanted)
            });
        }
        rows
    }

    /// The columns asked for, of each row.
    fn project(&self, template: &[Cell], rows: Vec<Vec<Cell>>) -> Answer {
        let all = self.columns == ["*"];
        let mut places = Vec::new();
        if all {
            places.extend(0..template.len());
        }
        for name in self.columns.iter().filter(|_| !all) {
            match template.iter().position(|(column, ..)| column == name) {
                Some(place) => places.push(place),
                None => {
                    let table = &self.table;
                    let text = format!("Undefined column name {name} in table {table}");
                    return Answer::error(INVALID, text);
                }
            }
        }
        let columns = places.iter().map(|place| {
            let (name, typ, _) = &template[*place];
            format!("{name} {typ}")
        });
        let (keyspace, table) = self.table.split_once('.').unwrap_or(("system", &self.table));
        let mut answer = Rows::new(&columns.collect::<Vec<_>>().join(", ")).of(keyspace, table);
        for row in rows {
            let cells = places.iter().map(|place| row[*place].2.clone());
            answer.push(cells.collect::<Vec<_>>());
        }
        answer.into()
    }
}
