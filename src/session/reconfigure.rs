//! Other settings for a session that runs.

use std::sync::Arc;

use super::Session;
use crate::config::Config;
use crate::error::Error;

impl Session {
    /// Goes on with these settings: connections, checks and plans made from now on follow them, and pools get their size.
    ///
    /// What is open stays open. Parts that came from code when the session was built stay what they were, since a
    /// settings file cannot name them: authenticator, TLS, address translator, policies, and the application's layers.
    /// [`OPTIONS`](crate::config::OPTIONS) says which options may change.
    ///
    /// # Errors
    /// `Kind::Config` for the first option that is fixed and has another value than before; then nothing changes.
    pub fn reconfigure(&self, config: Config) -> Result<(), Error> {
        let _one_at_a_time = self.inner.settings.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let config = Arc::new(config.in_place_of(&self.inner.config.load())?);
        match &self.inner.opener {
            Some(opener) => opener.reconfigure(config),
            None => self.inner.config.replace(config),
        }
        tracing::info!("the settings were replaced");
        Ok(())
    }
}
