//! How to log in.

use std::{fmt, net::SocketAddr};

/// What an authenticator may know of the server; nothing is looked up for it, forward or reverse.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuthContext<'a> {
    /// The host as it was configured: a name where there is one.
    pub host: &'a str,
    /// The address of the connection.
    pub peer: SocketAddr,
    /// The class name of the server's authenticator.
    pub authenticator: &'a str,
}

impl<'a> AuthContext<'a> {
    /// What an authenticator is started with.
    #[must_use]
    pub fn new(host: &'a str, peer: SocketAddr, authenticator: &'a str) -> Self {
        Self { host, peer, authenticator }
    }
}

/// Logs in at a server that asks for it. Shared by all connections of a session.
pub trait Authenticator: fmt::Debug + Send + Sync {
    /// Begins a login on one connection.
    ///
    /// # Errors
    /// If this authenticator does not serve the server's class; the connect fails at this address.
    fn start(&self, context: &AuthContext<'_>) -> Result<Box<dyn AuthenticatorSession>, AuthError>;
}

/// One login on one connection (CQL specification v4, section 4.1.2).
pub trait AuthenticatorSession: Send {
    /// The first token.
    ///
    /// # Errors
    /// If none can be made.
    fn initial(&mut self) -> Result<Vec<u8>, AuthError>;

    /// Answers a challenge. A login that never ends is cut by the driver.
    ///
    /// # Errors
    /// If the challenge cannot be answered.
    fn challenge(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        let _ = token;
        Err(AuthError::new("the server sent a challenge, which this authenticator does not expect"))
    }

    /// The login succeeded; the server's last token.
    ///
    /// # Errors
    /// If the token proves that the server is not the right one.
    fn success(&mut self, token: &[u8]) -> Result<(), AuthError> {
        let _ = token;
        Ok(())
    }
}

/// Why an authenticator gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthError(String);

impl AuthError {
    /// One sentence; never a secret.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for AuthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for AuthError {}

/// User name and password, as SASL PLAIN without an authorization id.
#[derive(Clone)]
pub struct PlainText {
    user: String,
    password: String,
}

impl PlainText {
    /// Logs in as `user`.
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self { user: user.into(), password: password.into() }
    }
}

impl Authenticator for PlainText {
    fn start(&self, _context: &AuthContext<'_>) -> Result<Box<dyn AuthenticatorSession>, AuthError> {
        Ok(Box::new(self.clone()))
    }
}

impl AuthenticatorSession for PlainText {
    fn initial(&mut self) -> Result<Vec<u8>, AuthError> {
        if self.user.contains('\0') || self.password.contains('\0') {
            return Err(AuthError::new("user name or password has a zero byte, which SASL PLAIN cannot carry"));
        }
        Ok([b"\0", self.user.as_bytes(), b"\0", self.password.as_bytes()].concat())
    }
}

impl fmt::Debug for PlainText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainText").field("user", &self.user).finish_non_exhaustive()
    }
}
