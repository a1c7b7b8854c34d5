//! The tablets of all tables that requests were prepared for.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::{ArcSwap, Guard};

use crate::topology::{Snapshot, Tablet, Tablets, schema::Schema};

/// The tablets of one table, read without a lock.
#[derive(Debug, Default)]
pub(crate) struct TableTablets {
    known: ArcSwap<Tablets>,
    /// Whether a tablet was ever told of: most tables have none, and requests then look no further.
    told: AtomicBool,
    /// Whether the session's schema has, or had, this table.
    listed: AtomicBool,
}

impl TableTablets {
    /// What is known; `None` while nothing was ever told.
    #[inline]
    pub(crate) fn load(&self) -> Option<Guard<Arc<Tablets>>> {
        self.told.load(Ordering::Acquire).then(|| self.known.load())
    }

    /// The server told of a tablet.
    pub(crate) fn learn(&self, tablet: &Tablet) {
        // Requests that were under way together are told the same.
        if self.known.load().of(tablet.last()) != Some(tablet) {
            self.known.rcu(|known| known.with(tablet.clone()));
            self.told.store(true, Ordering::Release);
        }
    }

    fn keep(&self, snapshot: &Snapshot) {
        self.known.rcu(|known| {
            let left = known.known(|host_id| snapshot.index(host_id).is_some());
            if left.len() == known.len() { Arc::clone(known) } else { Arc::new(left) }
        });
    }
}

/// The tablets by keyspace and table.
#[derive(Debug, Default)]
pub(crate) struct AllTablets {
    tables: Mutex<HashMap<(String, String), Arc<TableTablets>>>,
}

impl AllTablets {
    /// Those of a table, which are kept as long as somebody has them.
    pub(crate) fn of(&self, keyspace: &str, table: &str) -> Arc<TableTablets> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tables.entry((keyspace.to_owned(), table.to_owned())).or_default())
    }

    /// What is known of a table now.
    pub(crate) fn now(&self, keyspace: &str, table: &str) -> Arc<Tablets> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.get(&(keyspace.to_owned(), table.to_owned())).map(|table| table.known.load_full()).unwrap_or_default()
    }

    /// Forgets what nodes held that are gone, and what tables held that are dropped.
    pub(super) fn keep(&self, snapshot: &Snapshot, schema: &Schema) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.retain(|(keyspace, table), tablets| {
            let there = schema
                .keyspace(keyspace)
                .is_some_and(|keyspace| keyspace.tables.contains_key(table) || keyspace.views.contains_key(table));
            // The schema may be read of other keyspaces, or of none: only what it had before was dropped.
            if tablets.listed.swap(there, Ordering::Relaxed) && !there {
                tablets.known.store(Arc::default());
            } else {
                tablets.keep(snapshot);
            }
            Arc::strong_count(tablets) > 1
        });
    }
}
