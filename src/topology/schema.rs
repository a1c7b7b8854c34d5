//! Keyspaces, tables and what else a schema consists of, as immutable values.

mod cql_type;
mod describe;
mod read;
mod words;

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use scylla_cql_core::frame::response::result::{ColumnType, UserDefinedType};
use uuid::Uuid;

pub(crate) use self::cql_type::native_name;
pub use self::{cql_type::TypeError, read::SchemaRows};
use super::{Skipped, Strategy};

/// The schema at one moment. It never changes.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    keyspaces: BTreeMap<String, Arc<Keyspace>>,
    skipped: Vec<Skipped>,
}

impl Schema {
    /// The keyspace of this name; names are case-sensitive.
    #[must_use]
    pub fn keyspace(&self, name: &str) -> Option<&Arc<Keyspace>> {
        self.keyspaces.get(name)
    }

    /// All keyspaces by name.
    pub fn keyspaces(&self) -> impl Iterator<Item = &Arc<Keyspace>> {
        self.keyspaces.values()
    }

    /// How many different ways of replication there are.
    pub(crate) fn strategies(&self) -> usize {
        self.keyspaces().map(|keyspace| keyspace.replication.strategy()).collect::<HashSet<_>>().len()
    }

    /// The table of this name.
    #[must_use]
    pub fn table(&self, keyspace: &str, table: &str) -> Option<&Arc<Table>> {
        self.keyspace(keyspace)?.tables.get(table)
    }

    /// Rows of the schema's tables that are not used, with the reason.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// The same with those keyspaces alone that are wanted.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&str) -> bool) -> Self {
        self.keyspaces.retain(|name, _| wanted(name));
        self
    }

    /// The same with one keyspace replaced, or gone where `other` does not have it.
    #[must_use]
    pub fn with_keyspace_of(&self, name: &str, other: &Self) -> Self {
        let mut keyspaces = self.keyspaces.clone();
        match other.keyspaces.get(name) {
            Some(keyspace) => keyspaces.insert(name.to_owned(), Arc::clone(keyspace)),
            None => keyspaces.remove(name),
        };
        let kept = self.skipped.iter().filter(|skipped| skipped.host.split('.').next() != Some(name));
        Self { keyspaces, skipped: kept.chain(&other.skipped).cloned().collect() }
    }
}

/// A keyspace with everything in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Keyspace {
    /// The name, as it is without quotes.
    pub name: String,
    /// Where copies of the data lie.
    pub replication: Replication,
    /// Whether writes go to the commit log.
    pub durable_writes: bool,
    /// Whether its data is in tablets (ScyllaDB).
    pub tablets: bool,
    /// Tables by name.
    pub tables: BTreeMap<String, Arc<Table>>,
    /// Materialized views by name.
    pub views: BTreeMap<String, Arc<View>>,
    /// User-defined types by name.
    pub types: BTreeMap<String, Arc<UserDefinedType<'static>>>,
    /// User-defined functions, several of which may share a name.
    pub functions: Vec<Function>,
    /// User-defined aggregates, several of which may share a name.
    pub aggregates: Vec<Aggregate>,
}

/// Where copies of a keyspace's data lie.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replication {
    /// `SimpleStrategy`: on so many nodes, clockwise.
    Simple(usize),
    /// `NetworkTopologyStrategy`: on so many nodes of each data centre, by name.
    NetworkTopology(BTreeMap<String, usize>),
    /// `EverywhereStrategy`: on every node.
    Everywhere,
    /// `LocalStrategy`: on the node that is asked.
    Local,
    /// Anything else, with its options.
    Other {
        /// The class name.
        class: String,
        /// The options.
        options: BTreeMap<String, String>,
    },
}

impl Replication {
    /// By which rules the replicas of a token are found.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        match self {
            Self::Simple(replicas) => Strategy::Simple { replicas: *replicas },
            Self::NetworkTopology(datacenters) => Strategy::NetworkTopology { datacenters: datacenters.clone() },
            Self::Everywhere => Strategy::Everywhere,
            Self::Local => Strategy::Local,
            Self::Other { class, .. } => Strategy::Other { class: class.clone() },
        }
    }
}

/// A table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    /// The keyspace.
    pub keyspace: String,
    /// The name, as it is without quotes.
    pub name: String,
    /// What the server knows it by.
    pub id: Option<Uuid>,
    /// Columns by name.
    pub columns: BTreeMap<String, Column>,
    /// The columns of the partition key, in its order.
    pub partition_key: Vec<String>,
    /// The clustering columns, in their order.
    pub clustering: Vec<String>,
    /// Secondary indexes by name.
    pub indexes: BTreeMap<String, Index>,
    /// The partitioner, where it is not the cluster's (ScyllaDB).
    pub partitioner: Option<String>,
    /// Its options, `WITH ..` in CQL, as CQL writes them.
    pub options: BTreeMap<String, String>,
}

/// A materialized view.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct View {
    /// The table whose rows it shows.
    pub base_table: String,
    /// Which of its rows.
    pub where_clause: Option<String>,
    /// Its columns and keys.
    pub table: Table,
}

/// A column of a table or view.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Column {
    /// The name, as it is without quotes.
    pub name: String,
    /// The type.
    pub typ: ColumnType<'static>,
    /// Its part in the key.
    pub kind: ColumnKind,
    /// Its place within the key, from 0 on.
    pub position: usize,
    /// Whether a clustering column is sorted from the greatest value on.
    pub descending: bool,
}

/// The part of a column in a table's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColumnKind {
    /// Of the partition key.
    PartitionKey,
    /// Of the clustering key.
    Clustering,
    /// One value per partition.
    Static,
    /// Anything else.
    Regular,
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Index {
    /// The name.
    pub name: String,
    /// `COMPOSITES`, `KEYS` or `CUSTOM`.
    pub kind: String,
    /// What is indexed.
    pub target: String,
    /// All options.
    pub options: BTreeMap<String, String>,
}

/// A user-defined function.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Function {
    /// The name.
    pub name: String,
    /// Names and types of the arguments.
    pub arguments: Vec<(String, ColumnType<'static>)>,
    /// What it returns.
    pub returns: ColumnType<'static>,
    /// The language that its body is written in.
    pub language: String,
    /// Its body.
    pub body: String,
    /// Whether it is called when an argument is null.
    pub called_on_null: bool,
}

/// A user-defined aggregate.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Aggregate {
    /// The name.
    pub name: String,
    /// Types of the arguments.
    pub arguments: Vec<ColumnType<'static>>,
    /// What it returns.
    pub returns: ColumnType<'static>,
    /// The function that takes a value into the state.
    pub state_function: String,
    /// The type of the state.
    pub state: ColumnType<'static>,
    /// The function that makes the result of the state.
    pub final_function: Option<String>,
    /// The state to begin with, as CQL writes it.
    pub initial: Option<String>,
}
