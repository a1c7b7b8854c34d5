//! Connections of a node, as a session is told of them.

use std::{fmt, ops::RangeInclusive, time::Duration};

use super::keys::{boolean, duration, number};
use crate::error::ConfigError;

/// How many connections a node gets, how they are opened, and when they are opened again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolOptions {
    /// `advanced.connection.pool.local.size`: 1 to a node of the local data centre; rounded up per shard.
    pub local_size: usize,
    /// `advanced.connection.pool.remote.size`: 1 to any other node; 0 leaves those nodes alone.
    pub remote_size: usize,
    /// `advanced.connection.advanced-shard-awareness.enabled`: true: a ScyllaDB node's shards are chosen by the local
    /// port, where the node has a port for that.
    pub shard_aware: bool,
    /// `advanced.connection.advanced-shard-awareness.port-low` and `port-high`: 10000 to 65535, both included.
    pub shard_ports: RangeInclusive<u16>,
    /// `advanced.connection.max-concurrent-connects-per-host`: no limit.
    pub max_connects_per_host: Option<usize>,
    /// `advanced.connection.max-concurrent-connects`: 256 at a time for the whole session.
    pub max_connects: usize,
    /// `advanced.connection.identified-fallback`: off.
    pub identified_fallback: IdentifiedFallback,
    /// `advanced.reconnection-policy.base-delay`: 1 s before a node is tried again; it doubles with each failure.
    pub base_delay: Duration,
    /// `advanced.reconnection-policy.max-delay`: 60 s.
    pub max_delay: Duration,
}

/// Where else a node is looked for when the address that it is held to fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IdentifiedFallback {
    /// Nowhere: the name may lead to another node by now.
    #[default]
    Off,
    /// At every address of its name, as long as the node that answers there proves to be the one that is meant.
    Verified,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            local_size: 1,
            remote_size: 1,
            shard_aware: true,
            shard_ports: 10_000..=u16::MAX,
            max_connects_per_host: None,
            max_connects: 256,
            identified_fallback: IdentifiedFallback::Off,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(60),
        }
    }
}

const SIZE: &str = "1 to 1024";
const MAX_SIZE: usize = 1024;

impl PoolOptions {
    /// Sets an option by its name; `None` if it is none of these.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Option<Result<(), ConfigError>> {
        let mut set = || -> Result<(), ConfigError> {
            match key {
                "advanced.connection.pool.local.size" => self.local_size = number(key, value, SIZE)?,
                "advanced.connection.pool.remote.size" => self.remote_size = number(key, value, "0 to 1024")?,
                "advanced.connection.advanced-shard-awareness.enabled" => self.shard_aware = boolean(key, value)?,
                "advanced.connection.advanced-shard-awareness.port-low" => {
                    self.shard_ports = number(key, value, PORTS)?..=*self.shard_ports.end();
                }
                "advanced.connection.advanced-shard-awareness.port-high" => {
                    self.shard_ports = *self.shard_ports.start()..=number(key, value, PORTS)?;
                }
                "advanced.connection.max-concurrent-connects-per-host" => {
                    self.max_connects_per_host = Some(number(key, value, "1 or more")?);
                }
                "advanced.connection.max-concurrent-connects" => {
                    self.max_connects = number(key, value, "1 or more")?;
                }
                "advanced.connection.identified-fallback" => self.identified_fallback = fallback(key, value)?,
                "advanced.reconnection-policy.base-delay" => self.base_delay = duration(key, value)?,
                "advanced.reconnection-policy.max-delay" => self.max_delay = duration(key, value)?,
                _ => return Err(ConfigError::unknown(key, value, "")),
            }
            Ok(())
        };
        KEYS.contains(&key).then(&mut set)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if !(1..=MAX_SIZE).contains(&self.local_size) {
            return Err(ConfigError::new("advanced.connection.pool.local.size", self.local_size, SIZE));
        }
        if self.remote_size > MAX_SIZE {
            return Err(ConfigError::new("advanced.connection.pool.remote.size", self.remote_size, "0 to 1024"));
        }
        if *self.shard_ports.start() == 0 || self.shard_ports.is_empty() {
            let ports = format!("{} to {}", self.shard_ports.start(), self.shard_ports.end());
            let option = "advanced.connection.advanced-shard-awareness.port-low and port-high";
            return Err(ConfigError::new(option, ports, "ports from 1 to 65535, the lower one first"));
        }
        if self.max_connects == 0 {
            return Err(ConfigError::new("advanced.connection.max-concurrent-connects", 0, "1 or more"));
        }
        if self.max_connects_per_host == Some(0) {
            let allowed = "1 or more, or leave it out";
            return Err(ConfigError::new("advanced.connection.max-concurrent-connects-per-host", 0, allowed));
        }
        for (option, delay) in [
            ("advanced.reconnection-policy.base-delay", self.base_delay),
            ("advanced.reconnection-policy.max-delay", self.max_delay),
        ] {
            super::check::at_least_a_millisecond(option, delay)?;
        }
        if self.max_delay < self.base_delay {
            let option = "advanced.reconnection-policy.base-delay and max-delay";
            let shown = format!("{:?} and {:?}", self.base_delay, self.max_delay);
            return Err(ConfigError::new(option, shown, "the longer one second"));
        }
        Ok(())
    }
}

const PORTS: &str = "a port from 1 to 65535";

/// The options of this group, as a settings file writes them.
const KEYS: &[&str] = &[
    "advanced.connection.pool.local.size",
    "advanced.connection.pool.remote.size",
    "advanced.connection.advanced-shard-awareness.enabled",
    "advanced.connection.advanced-shard-awareness.port-low",
    "advanced.connection.advanced-shard-awareness.port-high",
    "advanced.connection.max-concurrent-connects-per-host",
    "advanced.connection.max-concurrent-connects",
    "advanced.connection.identified-fallback",
    "advanced.reconnection-policy.base-delay",
    "advanced.reconnection-policy.max-delay",
];

fn fallback(key: &str, value: &str) -> Result<IdentifiedFallback, ConfigError> {
    let all = [IdentifiedFallback::Off, IdentifiedFallback::Verified];
    all.into_iter()
        .find(|fallback| fallback.to_string() == value)
        .ok_or_else(|| ConfigError::new(key, value, "off or verified"))
}

impl fmt::Display for IdentifiedFallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Verified => "verified",
        })
    }
}
