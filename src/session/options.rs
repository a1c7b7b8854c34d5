//! How a statement is to be run.

use std::sync::Arc;
use std::time::Duration;

use scylla_cql_core::frame::types::{Consistency, SerialConsistency};

use super::{PagingState, Profile};
use crate::config::Config;
use crate::policy::{BalancingPolicy, RetryPolicy, SpeculativePolicy};
use crate::protocol::Payload;

/// What a statement says of its own; the rest comes from the session's settings.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    pub(super) consistency: Option<Consistency>,
    pub(super) serial_consistency: Option<SerialConsistency>,
    pub(super) page_size: Option<i32>,
    pub(super) timeout: Option<Duration>,
    pub(super) idempotent: Option<bool>,
    pub(super) timestamp: Option<i64>,
    pub(super) now_in_seconds: Option<i32>,
    pub(super) tracing: bool,
    pub(super) payload: Option<Arc<Payload>>,
    pub(super) paging_state: Option<PagingState>,
    pub(super) profile: Option<Profile>,
    pub(super) retry: Option<Arc<dyn RetryPolicy>>,
}

/// What holds for a request: its own word, else its profile's, else the session's.
impl Options {
    pub(super) fn consistency(&self, config: &Config) -> Consistency {
        let own = self.consistency.or_else(|| self.profile.as_ref()?.inner.consistency);
        own.unwrap_or(config.consistency)
    }

    pub(super) fn serial_consistency(&self, config: &Config) -> SerialConsistency {
        let own = self.serial_consistency.or_else(|| self.profile.as_ref()?.inner.serial_consistency);
        own.unwrap_or(config.serial_consistency)
    }

    pub(super) fn page_size(&self, config: &Config) -> i32 {
        self.page_size.or_else(|| self.profile.as_ref()?.inner.page_size).unwrap_or(config.page_size)
    }

    pub(super) fn timeout(&self, config: &Config) -> Duration {
        self.timeout.or_else(|| self.profile.as_ref()?.inner.timeout).unwrap_or(config.request_timeout)
    }

    pub(super) fn idempotent(&self, config: &Config) -> bool {
        let own = self.idempotent.or_else(|| self.profile.as_ref()?.inner.idempotent);
        own.unwrap_or(config.default_idempotence)
    }

    pub(super) fn retry_policy<'a>(&'a self, config: &'a Config) -> &'a dyn RetryPolicy {
        let own = self.retry.as_deref().or_else(|| self.profile.as_ref()?.inner.retry.as_deref());
        own.unwrap_or(&*config.retry_policy)
    }

    #[inline]
    pub(super) fn balancing<'a>(&'a self, config: &'a Config) -> Option<&'a dyn BalancingPolicy> {
        let profile = self.profile.as_ref().and_then(|profile| profile.inner.balancing.as_deref());
        profile.or(config.balancing.as_deref())
    }

    pub(super) fn speculation<'a>(&'a self, config: &'a Config) -> Option<&'a Arc<dyn SpeculativePolicy>> {
        match &self.profile {
            Some(profile) if profile.inner.speculation.is_some() => profile.inner.speculation.as_ref(),
            _ => config.speculation.as_ref(),
        }
    }
}

/// The setters of whatever has an `options_mut`.
macro_rules! option_setters {
    () => {
        /// Sets how many replicas must take part; the session's is `LOCAL_QUORUM` unless it says otherwise.
        #[must_use]
        pub fn with_consistency(mut self, consistency: ::scylla_cql_core::frame::types::Consistency) -> Self {
            self.options_mut().consistency = Some(consistency);
            self
        }

        /// Sets the same for the Paxos phase of a conditional write; the session's is `LOCAL_SERIAL` unless it says otherwise.
        #[must_use]
        pub fn with_serial_consistency(
            mut self,
            consistency: ::scylla_cql_core::frame::types::SerialConsistency,
        ) -> Self {
            self.options_mut().serial_consistency = Some(consistency);
            self
        }

        /// Limits the whole request, and each fetch of a further page; the session's is 10 s unless it says otherwise.
        #[must_use]
        pub fn with_timeout(mut self, timeout: ::std::time::Duration) -> Self {
            self.options_mut().timeout = Some(timeout);
            self
        }

        /// Says whether it does no harm to execute this twice; a request whose outcome is unknown is tried again
        /// only then. Not idempotent unless the session says otherwise.
        #[must_use]
        pub fn with_idempotence(mut self, idempotent: bool) -> Self {
            self.options_mut().idempotent = Some(idempotent);
            self
        }

        /// Decides by this policy what follows a try that failed.
        #[must_use]
        pub fn with_retry_policy(mut self, policy: impl $crate::policy::RetryPolicy) -> Self {
            self.options_mut().retry = Some(::std::sync::Arc::new(policy));
            self
        }

        /// Takes from this profile what the request itself does not say.
        #[must_use]
        pub fn with_profile(mut self, profile: &$crate::session::Profile) -> Self {
            self.options_mut().profile = Some(profile.clone());
            self
        }

        /// Sets the write timestamp, in microseconds since 1970; the session's generator makes one by default.
        #[must_use]
        pub fn with_timestamp(mut self, microseconds: i64) -> Self {
            self.options_mut().timestamp = Some(microseconds);
            self
        }

        /// Sets the time that the server takes for now, in seconds since 1970: what expires, and what has expired; needs
        /// protocol v5.
        #[must_use]
        pub fn with_now_in_seconds(mut self, seconds: i32) -> Self {
            self.options_mut().now_in_seconds = Some(seconds);
            self
        }

        /// Asks the server to trace the request; the result has the id of the trace.
        #[must_use]
        pub fn with_tracing(mut self, tracing: bool) -> Self {
            self.options_mut().tracing = tracing;
            self
        }

        /// Sends named bytes to the server's query handler; needs protocol v4.
        #[must_use]
        pub fn with_payload(mut self, payload: $crate::session::Payload) -> Self {
            self.options_mut().payload = Some(::std::sync::Arc::new(payload));
            self
        }
    };
}

/// The setters of what gives rows.
macro_rules! paging_setters {
    () => {
        /// Sets how many rows a page may have, at least 1; the session's is 5000 unless it says otherwise.
        #[must_use]
        pub fn with_page_size(mut self, rows: i32) -> Self {
            self.options_mut().page_size = Some(rows);
            self
        }

        /// Begins at the page after the one that gave this paging state; `None` begins at the first.
        #[must_use]
        pub fn with_paging_state(
            mut self,
            state: impl ::std::convert::Into<::std::option::Option<$crate::session::PagingState>>,
        ) -> Self {
            self.options_mut().paging_state = state.into();
            self
        }
    };
}

pub(super) use {option_setters, paging_setters};
