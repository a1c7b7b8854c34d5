//! Opening further connections of a session: the stack, and what the first connection latched.

use std::sync::Arc;

use messina_layers::{BoxConnect, Pinned};

use super::{Accepted, Open};
use crate::{config::Config, endpoint::Endpoint, protocol::ProtocolVersion};

/// What every connection after the first is opened with; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Opener {
    pub(crate) stack: BoxConnect<Open, Accepted>,
    pub(crate) config: Arc<Config>,
    /// The cluster's name, which must be found again.
    pub(crate) cluster: Arc<str>,
    /// The version, which is spoken from now on.
    pub(crate) version: ProtocolVersion,
}

impl Opener {
    /// A target in this cluster, of which nothing else is known yet.
    pub(crate) fn target(&self, endpoint: Pinned<Endpoint>) -> Open {
        Open::new(endpoint, Arc::clone(&self.config))
            .expecting_cluster(Arc::clone(&self.cluster))
            .with_version(self.version)
    }
}
