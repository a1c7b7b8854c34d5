//! A connection whose routes are followed.

use std::{fmt, sync::Arc};

use messina_layers::{Address, AddressError, Name};

/// A connection whose routes are ours: its id, and, if need be, the host that its routes lead through.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RouteConnection {
    id: Arc<str>,
    host: Option<Address>,
}

impl RouteConnection {
    /// The connection of this id; the table tells where its routes lead.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), host: None }
    }

    /// Dials `host`, a name or an IP literal, in place of the address in the table; the port is still the table's.
    ///
    /// # Errors
    /// If it is neither, or has a port.
    pub fn via(id: impl Into<Arc<str>>, host: &str) -> Result<Self, AddressError> {
        // Any port will do: it is replaced by that of each route.
        Ok(Self { id: id.into(), host: Some(Address::new(host, 1)?) })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The host that is dialled in place of the address in the table.
    #[must_use]
    pub fn host(&self) -> Option<&Address> {
        self.host.as_ref()
    }

    /// The name that is dialled in place of the address in the table, where it is one.
    #[must_use]
    pub fn host_name(&self) -> Option<&Name> {
        self.host.as_ref().and_then(Address::name)
    }
}

/// `id` or `id=host`, as a settings file writes it.
impl fmt::Display for RouteConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) => write!(f, "{}={}", self.id, host.host()),
            None => f.write_str(&self.id),
        }
    }
}
