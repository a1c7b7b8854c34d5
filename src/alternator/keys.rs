//! Which writes have affinity, and what is known of their tables.

use std::sync::{Mutex, PoisonError};

use tokio::{task::JoinSet, time::Instant};

use super::affinity::{KeyName, KeyNames, Mode};

#[derive(Debug)]
pub(super) struct Keys {
    pub(super) mode: Mode,
    names: Mutex<KeyNames>,
    /// Lookups end with the client.
    lookups: Mutex<JoinSet<()>>,
}

impl Keys {
    pub(super) fn new(mode: Mode, names: KeyNames) -> Self {
        Self { mode, names: Mutex::new(names), lookups: Mutex::default() }
    }

    pub(super) fn spawn(&self, lookup: impl Future<Output = ()> + Send + 'static) {
        let mut lookups = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        while lookups.try_join_next().is_some() {}
        lookups.spawn(lookup);
    }

    pub(super) fn close(&self) {
        self.lookups.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }

    pub(super) fn with<T>(&self, use_names: impl FnOnce(&mut KeyNames) -> T) -> T {
        use_names(&mut self.names.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn look_up(&self, table: &str) -> KeyName {
        self.with(|names| names.look_up(table, Instant::now()))
    }

    pub(super) fn forget(&self, table: &str) {
        self.with(|names| names.forget(table));
    }
}
