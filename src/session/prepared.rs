//! Prepared statements.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use bytes::Bytes;
use scylla_cql_core::frame::response::result::{ColumnSpec, PartitionKeyIndex, PreparedMetadata, TableSpec};
use scylla_cql_core::serialize::row::SerializeRow;

use super::Request;
use super::options::{Options, option_setters, paging_setters};
use super::request::Bound;
use crate::error::{Error, Kind};
use crate::pool::{Routing, TableTablets};
use crate::protocol::request::Prepare;
use crate::protocol::response::{self, ResultMetadata};
use crate::protocol::{Dialect, Values};
use crate::topology::ReplicaSets;

/// A prepared statement; cheap to clone.
///
/// A node that does not know it (any more) is told again, without the caller's doing. The columns of its results are
/// kept and follow the server: from v5 on, and with ScyllaDB's metadata ids, the server leaves them out until they
/// change; on v4 it repeats them with every page, since a server of that version does not tell a client whose columns
/// are out of date.
#[derive(Clone, Debug)]
pub struct Prepared {
    inner: Arc<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    shared: Arc<Shared>,
    options: Options,
}

/// What is the same whatever the options.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) text: Arc<str>,
    pub(super) keyspace: Option<Arc<str>>,
    /// The keyspace that the session had.
    prepared_in: Option<Arc<str>>,
    pub(super) id: Bytes,
    metadata: PreparedMetadata,
    /// In the key's order, not the markers'.
    partition_key: Vec<PartitionKeyIndex>,
    is_lwt: bool,
    pub(super) known: ArcSwap<Known>,
    /// Those of its table; none where it binds nothing.
    pub(super) tablets: Option<Arc<TableTablets>>,
    route: ArcSwap<Route>,
}

/// Where the replicas of its data stand, as of one routing table.
#[derive(Debug, Default)]
pub(super) struct Route {
    generation: u64,
    pub(super) sets: Option<Arc<ReplicaSets>>,
}

/// What is known of the results.
#[derive(Debug)]
pub(super) struct Known {
    /// What the server calls these columns, where it does.
    pub(super) id: Option<Bytes>,
    pub(super) metadata: Arc<ResultMetadata>,
}

impl Shared {
    /// What tells a node of the statement again; `now` is the session's keyspace. Where that is another one by now, only v5
    /// can say in which keyspace the names are.
    pub(super) fn prepare<'a>(&'a self, now: Option<&str>, dialect: Dialect) -> Prepare<'a> {
        let elsewhere = self.prepared_in.as_deref().filter(|before| Some(*before) != now);
        let elsewhere = elsewhere.filter(|_| dialect.version.has_keyspace_option());
        Prepare { text: &self.text, keyspace: self.keyspace.as_deref().or(elsewhere) }
    }
}

impl Prepared {
    pub(super) fn new(
        text: Arc<str>,
        (keyspace, prepared_in): (Option<Arc<str>>, Option<Arc<str>>),
        options: Options,
        answer: response::Prepared,
        tablets: impl FnOnce(&TableSpec<'_>) -> Arc<TableTablets>,
    ) -> Self {
        let known = Known { id: answer.result_metadata_id, metadata: answer.result_metadata };
        let mut partition_key = answer.metadata.pk_indexes.clone();
        partition_key.sort_by_key(|part| part.sequence);
        let shared = Shared {
            tablets: answer.metadata.col_specs.first().map(|marker| tablets(marker.table_spec())),
            partition_key,
            text,
            keyspace,
            prepared_in,
            id: answer.id,
            metadata: answer.metadata,
            is_lwt: answer.is_lwt,
            known: ArcSwap::from_pointee(known),
            route: ArcSwap::default(),
        };
        Self { inner: Arc::new(Inner { shared: Arc::new(shared), options }) }
    }

    option_setters!();
    paging_setters!();

    /// Serializes values for the bind markers, once: the request may be sent often and from many tasks.
    ///
    /// # Errors
    /// [`Kind::Values`] when the values do not fit.
    pub fn bind(&self, values: impl SerializeRow) -> Result<Request, Error> {
        Ok(Request::new(self.bound(&values)?))
    }

    /// The text it was prepared from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.inner.shared.text
    }

    /// What the server knows it by.
    #[must_use]
    pub fn id(&self) -> &[u8] {
        &self.inner.shared.id
    }

    /// The bind markers in their order.
    #[must_use]
    pub fn markers(&self) -> &[ColumnSpec<'static>] {
        &self.inner.shared.metadata.col_specs
    }

    /// Which bind markers make up the partition key, in the key's order; none if the key is not bound as a whole.
    pub(super) fn partition_key(&self) -> &[PartitionKeyIndex] {
        &self.inner.shared.partition_key
    }

    /// The replicas of its keyspace in this table.
    #[inline]
    pub(super) fn route(&self, routing: &Routing) -> Guard<Arc<Route>> {
        let route = self.inner.shared.route.load();
        if route.generation == routing.generation() {
            return route;
        }
        drop(route);
        self.look_up_route(routing)
    }

    #[cold]
    fn look_up_route(&self, routing: &Routing) -> Guard<Arc<Route>> {
        let keyspace = self.markers().first().map(|marker| marker.table_spec().ks_name());
        let sets = keyspace.and_then(|keyspace| routing.replicas(keyspace)).map(Arc::clone);
        self.inner.shared.route.store(Arc::new(Route { generation: routing.generation(), sets }));
        self.inner.shared.route.load()
    }

    /// The columns of its results as they are known now; none for what gives no rows.
    #[must_use]
    pub fn result_metadata(&self) -> Arc<ResultMetadata> {
        Arc::clone(&self.inner.shared.known.load().metadata)
    }

    /// Whether the server marked it as conditional (ScyllaDB).
    #[must_use]
    pub fn is_lwt(&self) -> bool {
        self.inner.shared.is_lwt
    }

    pub(super) fn bound(&self, values: &(impl SerializeRow + ?Sized)) -> Result<Bound, Error> {
        match Values::serialize(self.markers(), values) {
            Ok(values) => Ok(Bound::prepared(self.clone(), values)),
            Err(error) => {
                Err(Error::new(Kind::Values, "cannot bind the values").with_source(Arc::new(error) as Arc<_>))
            }
        }
    }

    /// The same statement with these options.
    pub(super) fn with_options(&self, options: Options) -> Self {
        Self { inner: Arc::new(Inner { shared: Arc::clone(&self.inner.shared), options }) }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    pub(super) fn options(&self) -> &Options {
        &self.inner.options
    }

    pub(super) fn options_mut(&mut self) -> &mut Options {
        &mut Arc::make_mut(&mut self.inner).options
    }
}

impl Shared {
    /// Takes over what PREPARE said when it was sent again.
    pub(super) fn prepared_again(&self, answer: response::Prepared) {
        self.learn(answer.result_metadata_id, answer.result_metadata);
    }

    /// From now on the results have these columns.
    pub(super) fn learn(&self, id: Option<Bytes>, metadata: Arc<ResultMetadata>) {
        self.known.store(Arc::new(Known { id, metadata }));
    }
}
