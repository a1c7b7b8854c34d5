//! Whether the nodes agree on the schema.

use std::time::Duration;

use uuid::Uuid;

/// What a wait for schema agreement found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaAgreement {
    /// Whether all nodes that are connected had one version.
    pub agreed: bool,
    /// The versions seen at the last look, each once; empty if no look succeeded.
    pub versions: Vec<Uuid>,
    /// How long it took.
    pub elapsed: Duration,
}

impl SchemaAgreement {
    pub(crate) fn new(versions: Vec<Uuid>, elapsed: Duration) -> Self {
        Self { agreed: versions.len() == 1, versions, elapsed }
    }
}
