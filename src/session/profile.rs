//! Execution profiles: ways to run requests, named once.

use std::sync::Arc;
use std::time::Duration;

use scylla_cql_core::frame::types::{Consistency, SerialConsistency};

use crate::policy::{BalancingPolicy, RetryPolicy, SpeculativePolicy};

/// A named set of options that many statements share; immutable and cheap to clone.
///
/// A statement's own options come before those of its profile, and these before the session's.
///
/// ```
/// use std::time::Duration;
/// use messina::{Consistency, Profile, Statement, policy::Fallthrough};
///
/// let reports = Profile::new("reports")
///     .with_consistency(Consistency::One)
///     .with_timeout(Duration::from_secs(60))
///     .with_retry_policy(Fallthrough);
/// let statement = Statement::new("SELECT id FROM ks.users").with_profile(&reports);
/// ```
#[derive(Clone, Debug)]
pub struct Profile {
    pub(super) inner: Arc<Inner>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Inner {
    name: String,
    pub(super) consistency: Option<Consistency>,
    pub(super) serial_consistency: Option<SerialConsistency>,
    pub(super) page_size: Option<i32>,
    pub(super) timeout: Option<Duration>,
    pub(super) idempotent: Option<bool>,
    pub(super) retry: Option<Arc<dyn RetryPolicy>>,
    pub(super) balancing: Option<Arc<dyn BalancingPolicy>>,
    pub(super) speculation: Option<Arc<dyn SpeculativePolicy>>,
}

impl Profile {
    /// A profile that says nothing yet.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { inner: Arc::new(Inner { name: name.into(), ..Inner::default() }) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Sets how many replicas must take part.
    #[must_use]
    pub fn with_consistency(self, consistency: Consistency) -> Self {
        self.change(|inner| inner.consistency = Some(consistency))
    }

    /// Sets the same for the Paxos phase of conditional writes.
    #[must_use]
    pub fn with_serial_consistency(self, consistency: SerialConsistency) -> Self {
        self.change(|inner| inner.serial_consistency = Some(consistency))
    }

    /// Sets how many rows a page may have, at least 1.
    #[must_use]
    pub fn with_page_size(self, rows: i32) -> Self {
        self.change(|inner| inner.page_size = Some(rows))
    }

    /// Limits a whole request, and each fetch of a further page.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.change(|inner| inner.timeout = Some(timeout))
    }

    /// Says whether it does no harm to execute these requests twice.
    #[must_use]
    pub fn with_idempotence(self, idempotent: bool) -> Self {
        self.change(|inner| inner.idempotent = Some(idempotent))
    }

    /// Decides by this policy what follows a try that failed.
    #[must_use]
    pub fn with_retry_policy(self, policy: impl RetryPolicy) -> Self {
        self.change(|inner| inner.retry = Some(Arc::new(policy)))
    }

    /// Decides by this policy when an idempotent request is also sent to another node.
    #[must_use]
    pub fn with_speculation(self, policy: impl SpeculativePolicy) -> Self {
        self.change(|inner| inner.speculation = Some(Arc::new(policy)))
    }

    /// Chooses by this policy the node of each try.
    #[must_use]
    pub fn with_balancing_policy(self, policy: impl BalancingPolicy) -> Self {
        self.change(|inner| inner.balancing = Some(Arc::new(policy)))
    }

    fn change(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.inner));
        self
    }
}
