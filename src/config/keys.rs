//! Options by name, as a settings file writes them.

use std::time::Duration;

use messina_layers::Order;
use scylla_cql_core::frame::types::{Consistency, SerialConsistency};

use super::{
    Draft, HostIdCheck,
    options::{ELSEWHERE, KEYS},
};
use crate::{connection::Compression, endpoint::RouteConnection, error::ConfigError, protocol::ProtocolVersion};

/// Sets an option, if there is one of this name.
pub(super) fn set(draft: &mut Draft, key: &str, value: &str) -> Result<(), ConfigError> {
    let value = value.trim();
    let list = || value.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect();
    match key {
        "basic.contact-points" => draft.contact_points = list(),
        "advanced.control-connection.expected-cluster" => draft.expected_cluster = Some(value.to_owned()),
        "basic.application.name" => draft.application_name = Some(value.to_owned()),
        "basic.application.version" => draft.application_version = Some(value.to_owned()),
        "basic.application.client-id" => {
            let id = value.parse().map_err(|_| ConfigError::new(key, value, "a UUID"))?;
            draft.client_id = Some(id);
        }
        "basic.session-name" => draft.session_name = Some(value.to_owned()),
        "advanced.metrics.prefix" => draft.metrics_prefix = Some(value.to_owned()),
        "advanced.control-connection.timeout" => draft.control_timeout = Some(duration(key, value)?),
        "advanced.control-connection.reconnection.fallback-to-original-contact-points" => {
            draft.fallback_to_contact_points = boolean(key, value)?;
        }
        "advanced.control-connection.schema-agreement.interval" => draft.agreement_interval = duration(key, value)?,
        "advanced.control-connection.schema-agreement.timeout" => draft.agreement_timeout = duration(key, value)?,
        "advanced.control-connection.schema-agreement.warn-on-failure" => {
            draft.agreement_warning = boolean(key, value)?;
        }
        "advanced.metadata.schema.refreshed-keyspaces" => draft.schema_keyspaces = list(),
        "advanced.metadata.schema.enabled" => draft.schema = boolean(key, value)?,
        "advanced.metadata.topology-event-debouncer.window" => draft.debounce_window = duration(key, value)?,
        "advanced.metadata.topology-event-debouncer.max-events" => {
            draft.debounce_events = number(key, value, "1 or more")?;
        }
        "advanced.prepared-statements.prepare-on-all-nodes" => draft.prepare.on_all_nodes = boolean(key, value)?,
        "advanced.prepared-statements.reprepare-on-up.enabled" => draft.prepare.on_up = boolean(key, value)?,
        "advanced.prepared-statements.reprepare-on-up.max-statements" => {
            draft.prepare.max_statements = number(key, value, "0, which is all, or more")?;
        }
        "advanced.prepared-statements.reprepare-on-up.max-parallelism" => {
            draft.prepare.max_parallelism = number(key, value, "1 or more")?;
        }
        "advanced.prepared-statements.reprepare-on-up.timeout" => {
            draft.prepare_timeout = Some(duration(key, value)?);
        }
        "advanced.reconnect-on-init" => draft.reconnect_on_init = boolean(key, value)?,
        "basic.session-keyspace" => draft.keyspace = Some(value.to_owned()),
        "basic.load-balancing-policy.local-datacenter" => draft.local_datacenter = Some(value.to_owned()),
        "basic.load-balancing-policy.local-rack" => draft.local_rack = Some(value.to_owned()),
        "basic.request.timeout" => draft.request_timeout = duration(key, value)?,
        "basic.request.consistency" => draft.consistency = consistency(key, value)?,
        "basic.request.serial-consistency" => draft.serial_consistency = serial(key, value)?,
        "basic.request.page-size" => draft.page_size = number(key, value, "1 to 2147483647")?,
        "basic.request.default-idempotence" => draft.default_idempotence = boolean(key, value)?,
        "advanced.connection.max-candidate-addresses" => {
            draft.max_candidate_addresses = number(key, value, "1 or more")?;
        }
        "advanced.connection.candidate-order" => draft.candidate_order = order(key, value)?,
        "advanced.connection.attempt-delay" => draft.attempt_delay = duration(key, value)?,
        "advanced.connection.connect-budget" => draft.connect_budget = Some(duration(key, value)?),
        "advanced.connection.max-auth-failures" => {
            draft.max_auth_failures = Some(number(key, value, "1 or more")?);
        }
        "advanced.connection.resolve-timeout" => draft.resolve_timeout = duration(key, value)?,
        "advanced.connection.connect-timeout" => draft.connect_timeout = duration(key, value)?,
        "advanced.connection.tls-handshake-timeout" => draft.tls_timeout = Some(duration(key, value)?),
        "advanced.connection.init-query-timeout" => draft.init_timeout = duration(key, value)?,
        "advanced.connection.set-keyspace-timeout" => draft.keyspace_timeout = Some(duration(key, value)?),
        "advanced.connection.max-requests-per-connection" => {
            draft.max_requests = number(key, value, "1 to 32768")?;
        }
        "advanced.connection.max-orphan-requests" => draft.max_orphans = number(key, value, "0 or more")?,
        "advanced.connection.host-id-check" => draft.host_id_check = host_id_check(key, value)?,
        "advanced.heartbeat.interval" => draft.heartbeat_interval = duration(key, value)?,
        "advanced.heartbeat.timeout" => draft.heartbeat_timeout = Some(duration(key, value)?),
        "advanced.socket.tcp-no-delay" => draft.nodelay = boolean(key, value)?,
        "advanced.socket.linger-interval" => draft.linger = Some(duration(key, value)?),
        "advanced.socket.receive-buffer-size" => draft.receive_buffer = Some(size(key, value)?),
        "advanced.socket.send-buffer-size" => draft.send_buffer = Some(size(key, value)?),
        "advanced.protocol.max-frame-length" => draft.max_frame_length = Some(size(key, value)?),
        "advanced.socket.keep-alive" => draft.keepalive = Some(duration(key, value)?),
        "advanced.protocol.version" => draft.protocol_version = Some(version(key, value)?),
        "advanced.protocol.compression" => draft.compression = compression(key, value)?,
        "advanced.sni.proxy" => draft.sni_proxy = Some(value.to_owned()),
        "advanced.sni.node-domain" => draft.sni_node_domain = Some(value.to_owned()),
        "advanced.sni.verified-name" => draft.sni_verified_name = Some(value.to_owned()),
        "advanced.client-routes.connections" => draft.client_routes = route_connections(key, value)?,
        "advanced.client-routes.table-name" => draft.client_routes_table = value.to_owned(),
        "advanced.client-routes.proxy-only" => draft.client_routes_proxy_only = boolean(key, value)?,
        "advanced.tls.ca-file" => draft.tls_ca_file = Some(value.into()),
        "advanced.tls.cert-file" => draft.tls_cert_file = Some(value.into()),
        "advanced.tls.key-file" => draft.tls_key_file = Some(value.into()),
        "advanced.tls.native-roots" => draft.tls_native_roots = boolean(key, value)?,
        "advanced.tls.dangerous-trust-all" => draft.tls_trust_all = boolean(key, value)?,
        "advanced.tls.reload-interval" => draft.tls_reload_interval = duration(key, value)?,
        "advanced.tls.accepted-names" => draft.tls_names = list(),
        "advanced.resolve-contact-points" => {
            boolean(key, value)?;
            if draft.inert.first() {
                tracing::warn!("`{key}` does nothing: contact points stay names and are expanded at every connect");
            }
        }
        _ => return draft.pool.set(key, value).unwrap_or_else(|| Err(unknown(key, value))),
    }
    Ok(())
}

fn unknown(key: &str, value: &str) -> ConfigError {
    let written = key.trim().to_ascii_lowercase().replace('_', "-");
    if ["password", "secret", "credential"].iter().any(|word| written.contains(word)) {
        // Whatever it is, it must not be printed.
        return ConfigError::hidden(key, "log in through the builder's `credentials`");
    }
    let begins = |(option, _): &&(&str, &str)| match option.strip_suffix('.') {
        Some(section) => written.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
        None => written == *option,
    };
    let elsewhere = ELSEWHERE.iter().find(begins).map(|(_, instead)| *instead);
    let without_its_section = format!(".{written}");
    let nearest = KEYS.iter().min_by_key(|known| match known.ends_with(&without_its_section) {
        true => 0,
        false => distance(known, &written),
    });
    let close = |known: &&&str| distance(known, &written) <= 2;
    let instead = match nearest {
        // A slip of the pen in an option that there is comes before one that there is elsewhere.
        None => String::new(),
        Some(known) if elsewhere.is_some() && !close(&known) => elsewhere.unwrap_or_default().to_owned(),
        Some(known)
            if known.ends_with(&without_its_section) || distance(known, &written) <= 2 + written.len().min(40) / 4 =>
        {
            format!("did you mean `{known}`?")
        }
        _ => "`config::KEYS` lists those there are".to_owned(),
    };
    ConfigError::unknown(key, value, instead)
}

/// Levenshtein's distance: how many letters differ.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(200).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(200).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

pub(super) fn number<N: std::str::FromStr>(key: &str, value: &str, allowed: &str) -> Result<N, ConfigError> {
    value.parse().map_err(|_| ConfigError::new(key, value, allowed))
}

pub(super) fn boolean(key: &str, value: &str) -> Result<bool, ConfigError> {
    value.parse().map_err(|_| ConfigError::new(key, value, "true or false"))
}

/// A number with its unit: `250ms`, `5 s`, `1 min`, `30 seconds`.
pub(super) fn duration(key: &str, value: &str) -> Result<Duration, ConfigError> {
    let fail = || ConfigError::new(key, value, "a number with its unit: us, ms, s, min, h or d, such as `250 ms`");
    let split = value.find(|c: char| !c.is_ascii_digit()).ok_or_else(fail)?;
    let (amount, unit) = value.split_at(split);
    let amount: u64 = amount.parse().map_err(|_| fail())?;
    let seconds = |each: u64| amount.checked_mul(each).map(Duration::from_secs).ok_or_else(fail);
    // The long words are those of other drivers' files.
    match unit.trim() {
        "us" | "micro" | "micros" | "microsecond" | "microseconds" => Ok(Duration::from_micros(amount)),
        "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => Ok(Duration::from_millis(amount)),
        "s" | "second" | "seconds" => Ok(Duration::from_secs(amount)),
        "min" | "m" | "minute" | "minutes" => seconds(60),
        "h" | "hour" | "hours" => seconds(60 * 60),
        "d" | "day" | "days" => seconds(24 * 60 * 60),
        _ => Err(fail()),
    }
}

/// A number of bytes, or of larger units: `65536`, `64 KiB`, `256 MiB`.
fn size(key: &str, value: &str) -> Result<u32, ConfigError> {
    let fail = || ConfigError::new(key, value, "a number of bytes up to 4 GiB, such as `65536`, `64 KiB` or `256 MiB`");
    let split = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (amount, unit) = value.split_at(split);
    let amount: u32 = amount.parse().map_err(|_| fail())?;
    let each = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(fail()),
    };
    amount.checked_mul(each).filter(|bytes| *bytes > 0).ok_or_else(fail)
}

/// `id` or `id=host`, several with commas between.
fn route_connections(key: &str, value: &str) -> Result<Vec<RouteConnection>, ConfigError> {
    let items = value.split(',').map(str::trim).filter(|item| !item.is_empty());
    items
        .map(|item| match item.split_once('=') {
            None => Ok(RouteConnection::new(item)),
            Some((id, host)) => RouteConnection::via(id.trim(), host.trim()).map_err(|error| {
                ConfigError::new(key, value, format!("`id` or `id=host`, a host without a port ({error})"))
            }),
        })
        .collect()
}

fn order(key: &str, value: &str) -> Result<Order, ConfigError> {
    let all = [Order::Shuffle, Order::PreferredFirst, Order::AsGiven, Order::InterleaveFamilies];
    all.into_iter()
        .find(|order| order.to_string() == value)
        .ok_or_else(|| ConfigError::new(key, value, "shuffle, first-then-shuffle, as-given or interleave-families"))
}

fn host_id_check(key: &str, value: &str) -> Result<HostIdCheck, ConfigError> {
    let all = [HostIdCheck::Off, HostIdCheck::Warn, HostIdCheck::Reject];
    all.into_iter()
        .find(|check| check.to_string() == value)
        .ok_or_else(|| ConfigError::new(key, value, "off, warn or reject"))
}

fn version(key: &str, value: &str) -> Result<ProtocolVersion, ConfigError> {
    match value.strip_prefix(['v', 'V']).unwrap_or(value) {
        "3" => Ok(ProtocolVersion::V3),
        "4" => Ok(ProtocolVersion::V4),
        "5" => Ok(ProtocolVersion::V5),
        _ => Err(ConfigError::new(key, value, "3, 4 or 5; leave it out to negotiate")),
    }
}

fn compression(key: &str, value: &str) -> Result<Option<Compression>, ConfigError> {
    match value {
        "lz4" => Ok(Some(Compression::Lz4)),
        "snappy" => Ok(Some(Compression::Snappy)),
        "none" => Ok(None),
        _ => Err(ConfigError::new(key, value, "lz4, snappy or none")),
    }
}

fn consistency(key: &str, value: &str) -> Result<Consistency, ConfigError> {
    use Consistency as C;
    Ok(match value.to_ascii_uppercase().as_str() {
        "ANY" => C::Any,
        "ONE" => C::One,
        "TWO" => C::Two,
        "THREE" => C::Three,
        "QUORUM" => C::Quorum,
        "ALL" => C::All,
        "LOCAL_QUORUM" => C::LocalQuorum,
        "EACH_QUORUM" => C::EachQuorum,
        "LOCAL_ONE" => C::LocalOne,
        "SERIAL" => C::Serial,
        "LOCAL_SERIAL" => C::LocalSerial,
        _ => {
            let allowed =
                "ANY, ONE, TWO, THREE, QUORUM, ALL, LOCAL_QUORUM, EACH_QUORUM, LOCAL_ONE, SERIAL or LOCAL_SERIAL";
            return Err(ConfigError::new(key, value, allowed));
        }
    })
}

fn serial(key: &str, value: &str) -> Result<SerialConsistency, ConfigError> {
    match value.to_ascii_uppercase().as_str() {
        "SERIAL" => Ok(SerialConsistency::Serial),
        "LOCAL_SERIAL" => Ok(SerialConsistency::LocalSerial),
        _ => Err(ConfigError::new(key, value, "SERIAL or LOCAL_SERIAL")),
    }
}
