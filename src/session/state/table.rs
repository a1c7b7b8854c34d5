//! The state of a session as text.

use std::{fmt, time::Duration};

use messina_layers::error::printable;

use super::SessionState;
use crate::{
    pool::{ConnectionState, NodeState, Purpose, Standing},
    table::Table,
};

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cluster = self.cluster.as_deref().unwrap_or("unknown");
        write!(f, "cluster {:?}", printable(cluster).to_string())?;
        if let Some(version) = self.protocol {
            write!(f, ", protocol {version}")?;
        }
        if !self.contact_points.is_empty() {
            write!(f, ", contact points {}", self.contact_points.join(", "))?;
        }
        match &self.control {
            _ if self.closed => f.write_str("\nclosed")?,
            None => f.write_str("\nno control connection; one is looked for")?,
            Some(control) => write!(
                f,
                "\ncontrol connection to node {} at {} for {}, registered for {}",
                control.host_id,
                control.addr,
                age(control.age),
                control.events.join(", "),
            )?,
        }
        if let Some(told) = &self.told {
            write!(f, "\nnodes as {} told them {} ago", told.addr, age(told.age))?;
        }
        write!(f, "\n\n{}", self.nodes_table())?;
        if self.nodes.iter().any(|node| !node.connections.is_empty()) {
            write!(f, "\n\n{}", self.connections_table())?;
        }
        for (number, skipped) in self.skipped.iter().enumerate() {
            let before = if number == 0 { "\n\n" } else { "\n" };
            write!(f, "{before}skipped: {}", printable(&skipped.to_string()))?;
        }
        Ok(())
    }
}

impl SessionState {
    fn nodes_table(&self) -> Table {
        let mut table = Table::new()
            .text("node")
            .text("endpoint")
            .text("pin")
            .text("via")
            .text("data centre")
            .text("rack")
            .text("state")
            .number("shards")
            .text("connections")
            .number("in flight")
            .number("orphans")
            .text("next attempt")
            .text("last error");
        for node in &self.nodes {
            table.row(row(node));
        }
        table
    }

    fn connections_table(&self) -> Table {
        let mut table = Table::new()
            .text("connection of node")
            .text("address")
            .number("shard")
            .text("use")
            .text("protocol")
            .number("in flight")
            .number("orphans")
            .number("age")
            .number("last answer");
        for node in &self.nodes {
            for connection in &node.connections {
                table.row([
                    node.host_id.to_string(),
                    connection.peer.to_string(),
                    connection.shard.map(|shard| shard.to_string()).unwrap_or_default(),
                    purpose(connection).to_owned(),
                    connection.version.to_string(),
                    connection.in_flight.to_string(),
                    connection.orphans.to_string(),
                    age(connection.age),
                    age(connection.last_answer),
                ]);
            }
        }
        table
    }
}

fn row(node: &NodeState) -> [String; 13] {
    let sum = |of: fn(&ConnectionState) -> usize| node.connections.iter().map(of).sum::<usize>().to_string();
    let local = if node.local { "" } else { " (not preferred)" };
    let opening = if node.opening > 0 { format!(", {} opening", node.opening) } else { String::new() };
    [
        node.host_id.to_string(),
        node.endpoint.to_string(),
        node.pin.map(|pin| pin.to_string()).unwrap_or_default(),
        node.via.map(|via| via.to_string()).unwrap_or_default(),
        node.datacenter.as_ref().map(|name| format!("{name}{local}")).unwrap_or_default(),
        node.rack.clone().unwrap_or_default(),
        standing(&node.standing).to_owned(),
        node.shards.map(|shards| shards.to_string()).unwrap_or_default(),
        format!("{} of {}{opening}", node.connections.len(), node.wanted),
        sum(|connection| connection.in_flight),
        sum(|connection| connection.orphans),
        node.next_attempt_in.map(|left| format!("in {}", age(left))).unwrap_or_default(),
        node.last_error.as_ref().map(|error| one_line(error)).unwrap_or_default(),
    ]
}

/// What failed, with the cause that stands for the whole.
pub(super) fn one_line(error: &messina_layers::ConnectError) -> String {
    messina_layers::error::chain(error).to_string()
}

pub(super) fn standing(standing: &Standing) -> &'static str {
    match standing {
        Standing::Unknown => "unknown",
        Standing::Up => "up",
        Standing::Down => "down",
        Standing::ForcedDown { .. } => "forced down",
        Standing::Ignored => "ignored",
    }
}

pub(super) fn purpose(connection: &ConnectionState) -> &'static str {
    match connection.purpose {
        Purpose::Serving => "serving",
        Purpose::Provisional => "provisional",
        Purpose::Aside => "aside",
    }
}

/// Short enough for a table.
fn age(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds @ 1..=119 => format!("{seconds} s"),
        seconds @ 120..=7199 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}
