//! The session: statements in, rows out.

mod builder;

use std::{
    fmt,
    sync::{Arc, Mutex},
};

pub use self::builder::SessionBuilder;
use crate::{config::Config, control::Control, pool::Nodes};

/// A connected client; cheap to clone, and all clones are the same session.
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

struct Inner {
    config: Arc<Config>,
    nodes: Nodes,
    // Taken at close; dropping it ends the control connection and those of the nodes.
    control: Mutex<Option<Control>>,
}

impl Session {
    /// Begins a new session.
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }

    pub(crate) fn assemble(config: Arc<Config>, nodes: Nodes, control: Control) -> Self {
        Self { inner: Arc::new(Inner { config, nodes, control: Mutex::new(Some(control)) }) }
    }

    /// The settings it was built with.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.inner.config
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let control = self.inner.control.try_lock().is_ok_and(|control| control.is_some());
        f.debug_struct("Session")
            .field("nodes", &self.inner.nodes.all().len())
            .field("open", &control)
            .finish_non_exhaustive()
    }
}
