//! What the server tells unasked, and changes of the schema.

use std::net::SocketAddr;

use crate::protocol::parse_error::ParseError;
use crate::protocol::reader::Reader;

/// The type of events about nodes that join, leave or move.
pub const TOPOLOGY_CHANGE: &str = "TOPOLOGY_CHANGE";
/// The type of events about nodes that go up or down.
pub const STATUS_CHANGE: &str = "STATUS_CHANGE";
/// The type of events about the schema.
pub const SCHEMA_CHANGE: &str = "SCHEMA_CHANGE";
/// The type of events about private-link routes (ScyllaDB).
pub const CLIENT_ROUTES_CHANGE: &str = "CLIENT_ROUTES_CHANGE";

/// Something happened in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A node joined, left or moved.
    Topology {
        /// What happened.
        change: TopologyChange,
        /// The address of the node for clients.
        address: SocketAddr,
    },
    /// A node went up or down.
    Status {
        /// What happened.
        change: StatusChange,
        /// The address of the node for clients.
        address: SocketAddr,
    },
    /// The schema changed.
    Schema(SchemaChange),
    /// Private-link routes changed. The two lists go together pairwise when they are of one length.
    ClientRoutes {
        /// What happened; `UPDATE_NODES` is the only known change.
        change: String,
        /// The ids of the connections concerned.
        connection_ids: Vec<String>,
        /// The host ids concerned, as text.
        host_ids: Vec<String>,
    },
    /// An event of a type that is not known.
    Unknown {
        /// Its type.
        event_type: String,
    },
}

/// What happened to a node's place in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyChange {
    /// It joined.
    New,
    /// It left.
    Removed,
    /// It has other tokens.
    Moved,
    /// Something that is not known.
    Other(String),
}

/// What happened to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusChange {
    /// It answers.
    Up,
    /// It does not.
    Down,
    /// Something that is not known.
    Other(String),
}

/// A change of the schema, told by an event or by the result of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaChange {
    /// What happened.
    pub change: SchemaChangeKind,
    /// What it happened to.
    pub target: SchemaTarget,
}

/// What happened to a part of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaChangeKind {
    /// It was created.
    Created,
    /// It was altered.
    Updated,
    /// It was dropped.
    Dropped,
    /// Something that is not known.
    Other(String),
}

/// A part of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaTarget {
    /// A keyspace.
    Keyspace {
        /// Its name.
        keyspace: String,
    },
    /// A table, view or index.
    Table {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        name: String,
    },
    /// A user-defined type.
    Type {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        name: String,
    },
    /// A function.
    Function {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        name: String,
        /// The types of its arguments.
        arguments: Vec<String>,
    },
    /// An aggregate.
    Aggregate {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        name: String,
        /// The types of its arguments.
        arguments: Vec<String>,
    },
    /// Something that is not known.
    Other {
        /// What it is, as the server calls it.
        target: String,
        /// Its keyspace.
        keyspace: String,
    },
}

impl SchemaTarget {
    /// The keyspace that it is, or is in.
    #[must_use]
    pub fn keyspace(&self) -> &str {
        match self {
            Self::Keyspace { keyspace }
            | Self::Table { keyspace, .. }
            | Self::Type { keyspace, .. }
            | Self::Function { keyspace, .. }
            | Self::Aggregate { keyspace, .. }
            | Self::Other { keyspace, .. } => keyspace,
        }
    }
}

impl Event {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        Ok(match reader.string("the type of an event")? {
            TOPOLOGY_CHANGE => {
                let change = match reader.string("a change of topology")? {
                    "NEW_NODE" => TopologyChange::New,
                    "REMOVED_NODE" => TopologyChange::Removed,
                    "MOVED_NODE" => TopologyChange::Moved,
                    other => TopologyChange::Other(other.to_owned()),
                };
                let address = reader.inet("the address of a node")?;
                Self::Topology { change, address }
            }
            STATUS_CHANGE => {
                let change = match reader.string("a change of status")? {
                    "UP" => StatusChange::Up,
                    "DOWN" => StatusChange::Down,
                    other => StatusChange::Other(other.to_owned()),
                };
                let address = reader.inet("the address of a node")?;
                Self::Status { change, address }
            }
            SCHEMA_CHANGE => Self::Schema(SchemaChange::read(reader)?),
            CLIENT_ROUTES_CHANGE => Self::ClientRoutes {
                change: reader.string("a change of routes")?.to_owned(),
                connection_ids: reader.string_list("the connection ids of routes")?,
                host_ids: reader.string_list("the host ids of routes")?,
            },
            other => Self::Unknown { event_type: other.to_owned() },
        })
    }
}

impl SchemaChange {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, ParseError> {
        let change = match reader.string("a change of the schema")? {
            "CREATED" => SchemaChangeKind::Created,
            "UPDATED" => SchemaChangeKind::Updated,
            "DROPPED" => SchemaChangeKind::Dropped,
            other => SchemaChangeKind::Other(other.to_owned()),
        };
        let target = reader.string("the target of a schema change")?;
        let keyspace = reader.string("the keyspace of a schema change")?.to_owned();
        let mut name = || {
            let name = reader.string("the name in a schema change")?;
            Ok(name.to_owned())
        };
        let target = match target {
            "KEYSPACE" => SchemaTarget::Keyspace { keyspace },
            "TABLE" => SchemaTarget::Table { keyspace, name: name()? },
            "TYPE" => SchemaTarget::Type { keyspace, name: name()? },
            "FUNCTION" => SchemaTarget::Function {
                keyspace,
                name: name()?,
                arguments: reader.string_list("the argument types of a function")?,
            },
            "AGGREGATE" => SchemaTarget::Aggregate {
                keyspace,
                name: name()?,
                arguments: reader.string_list("the argument types of an aggregate")?,
            },
            other => SchemaTarget::Other { target: other.to_owned(), keyspace },
        };
        Ok(Self { change, target })
    }
}
