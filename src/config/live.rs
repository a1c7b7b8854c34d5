//! Settings that may be replaced while they are in use.

use std::{fmt, sync::Arc};

use arc_swap::{ArcSwap, Guard};
use tokio::sync::watch;

use super::Config;

/// The settings in force; cheap to clone, and every clone sees a replacement.
#[derive(Clone)]
pub(crate) struct LiveConfig {
    shared: Arc<Shared>,
}

struct Shared {
    config: ArcSwap<Config>,
    replaced: watch::Sender<()>,
}

impl LiveConfig {
    pub(crate) fn new(config: Arc<Config>) -> Self {
        Self { shared: Arc::new(Shared { config: ArcSwap::new(config), replaced: watch::Sender::new(()) }) }
    }

    /// The settings of now, to be kept for one use.
    pub(crate) fn get(&self) -> Arc<Config> {
        self.shared.config.load_full()
    }

    /// The same without counting a reference; for a look in passing.
    #[inline]
    pub(crate) fn load(&self) -> Guard<Arc<Config>> {
        self.shared.config.load()
    }

    /// Replaces them, and tells those who watch.
    pub(crate) fn replace(&self, config: Arc<Config>) {
        self.shared.config.store(config);
        self.shared.replaced.send_replace(());
    }

    /// Changes with every replacement from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.shared.replaced.subscribe()
    }
}

impl fmt::Debug for LiveConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
