//! A resolver that answers from a table.

use std::{
    collections::HashMap,
    fmt,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
};

use tower_service::Service;

use super::Resolved;
use crate::address::{Address, Name};

/// Answers names from a table and socket addresses with themselves.
///
/// ```
/// use messina_layers::{FixedResolver, Name};
///
/// let resolver = FixedResolver::new().with(
///     Name::new("db.test")?,
///     ["127.0.0.1", "127.0.0.2"].map(|ip| ip.parse::<std::net::IpAddr>().unwrap()),
/// );
/// # let _ = resolver;
/// # Ok::<(), messina_layers::AddressError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct FixedResolver {
    table: Arc<HashMap<Name, Vec<Resolved>>>,
}

impl FixedResolver {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same table with `name` answered by `addrs`, in this order.
    #[must_use]
    pub fn with(mut self, name: Name, addrs: impl IntoIterator<Item: Into<Resolved>>) -> Self {
        Arc::make_mut(&mut self.table).insert(name, addrs.into_iter().map(Into::into).collect());
        self
    }
}

impl Service<Address> for FixedResolver {
    type Response = Vec<Resolved>;
    type Error = FixedError;
    type Future = Ready<Result<Vec<Resolved>, FixedError>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), FixedError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Address) -> Self::Future {
        ready(match address {
            Address::Socket(addr) => Ok(vec![addr.into()]),
            Address::Name(name, _) => self.table.get(&name).cloned().ok_or(FixedError { name }),
        })
    }
}

/// The table has no such name.
#[derive(Clone, Debug)]
pub struct FixedError {
    name: Name,
}

impl fmt::Display for FixedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name {} is not in the fixed table", self.name)
    }
}

impl std::error::Error for FixedError {}
