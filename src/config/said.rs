//! What a session has said once and need not say again.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// More than this is never remembered; then everything may be said again.
const MOST: usize = 4096;

/// Warnings that were given; a clone is the same memory, and other settings for a session inherit it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    before: Arc<Mutex<HashSet<String>>>,
}

impl Said {
    /// Whether this is the first time that it is said.
    pub(crate) fn first(&self, what: impl Into<String>) -> bool {
        let mut before = self.lock();
        if before.len() >= MOST {
            before.clear();
        }
        before.insert(what.into())
    }

    /// What begins so is over: should it come back, it is said again.
    pub(crate) fn forget_all(&self, begin: &str) {
        self.lock().retain(|what| !what.starts_with(begin));
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
