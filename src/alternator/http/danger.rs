//! TLS without a part of its checks, under names that say so.

use messina_layers::{TlsConfig, rustls::RootCertStore};

use super::HttpOptions;

impl HttpOptions {
    /// **Trusts whoever answers**: the connection is encrypted, and may be to anybody. For trials only; each use is
    /// logged as a warning.
    #[must_use]
    pub fn dangerously_trust_any_certificate(mut self) -> Self {
        self.tls = TlsConfig::builder().dangerous_trust_all().build().ok();
        self
    }

    /// **Accepts certificates of these authorities for any name**: whoever has one of them may be at the other end.
    /// [`with_accepted_name`](Self::with_accepted_name) is the safe way to certificates without addresses. Each use is
    /// logged as a warning. Without an authority there is no TLS, and no connection.
    #[must_use]
    pub fn dangerously_accept_any_name(mut self, roots: RootCertStore) -> Self {
        self.tls = TlsConfig::builder().roots(roots).dangerous_any_name().build().ok();
        self
    }
}
