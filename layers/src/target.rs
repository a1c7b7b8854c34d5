//! The facts a layer may read of a target, one small trait per fact.
//!
//! A target is whatever a stack is called with. Everything else about it (role, protocol version, expected
//! host id) is invisible here and reaches the handshake inside the target itself.

use std::{ops::RangeInclusive, sync::Arc};

use crate::address::{Address, HostAddr, Name};

/// Where to dial. Read by the resolve layer and by error texts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say where to dial",
    note = "implement `messina_layers::Dial` for the target type the stack is called with"
)]
pub trait Dial {
    /// The name or socket address, with the port wanted. No lookup happens here.
    fn address(&self) -> Address;
}

/// Which server the peer has to prove to be. Read by the TLS layer only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say whether and for which name to use TLS",
    note = "implement `messina_layers::ServerIdentity`; its default answers \"no TLS\""
)]
pub trait ServerIdentity {
    /// What to ask of the server, or `None` for a plain connection (the default).
    fn tls(&self) -> Option<TlsIdentity> {
        None
    }
}

/// The local ports to bind. Read by the TCP connector only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say from which local ports to connect",
    note = "implement `messina_layers::LocalBind`; its default leaves the choice to the system"
)]
pub trait LocalBind {
    /// The ports allowed, or `None` to let the system choose (the default).
    fn ports(&self) -> Option<LocalPorts> {
        None
    }
}

/// A target that can be held to one address. Written by the pin layer only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be pinned to an address",
    note = "wrap the target in `messina_layers::Pinned`, implement `Pinnable`, or leave out `PinLayer`"
)]
pub trait Pinnable {
    /// Holds the target to `addr`, in place of any earlier pin.
    fn pin_to(&mut self, addr: HostAddr);
}

impl Dial for Address {
    fn address(&self) -> Address {
        self.clone()
    }
}

impl ServerIdentity for Address {}

impl LocalBind for Address {}

/// Whom a TLS server has to prove to be, and with which settings it is asked.
#[derive(Clone, Debug, Default)]
pub struct TlsIdentity {
    /// The name sent in the hello (SNI); `None` sends the first accepted name, or none.
    pub sni: Option<Name>,
    /// What the certificate has to be valid for.
    pub accept: Accept,
    /// Whose TLS sessions may be resumed: only those of connections with the same text here, and the same names.
    /// Say what tells servers apart that share a name or a proxy; `None` shares by name.
    pub session_scope: Option<Arc<str>>,
    /// The settings of this target, in place of the layer's.
    #[cfg(feature = "rustls")]
    pub config: Option<crate::tls::TlsConfig>,
}

impl TlsIdentity {
    /// The certificate has to be valid for `name`, which is sent as SNI too.
    #[must_use]
    pub fn named(name: Name) -> Self {
        Self { accept: Accept::Names(vec![name]), ..Self::default() }
    }

    /// The certificate has to be valid for the address really dialled.
    #[must_use]
    pub fn dialled() -> Self {
        Self::default()
    }
}

/// What a certificate has to be valid for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Accept {
    /// The IP address that was really dialled.
    #[default]
    Dialled,
    /// One of these names.
    Names(Vec<Name>),
}

/// Local ports to try in turn: every `step`-th port of a range, from a random one on, once around.
///
/// ScyllaDB's shard-aware port reads the shard from the client's port: shard = port modulo shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalPorts {
    range: RangeInclusive<u16>,
    modulus: u16,
    remainder: u16,
}

impl LocalPorts {
    /// The ports `p` of `range` with `p % modulus == remainder`; a modulus of 0 counts as 1.
    #[must_use]
    pub fn new(range: RangeInclusive<u16>, modulus: u16, remainder: u16) -> Self {
        let modulus = modulus.max(1);
        Self { range, modulus, remainder: remainder % modulus }
    }

    /// Any port of `range`.
    #[must_use]
    pub fn any(range: RangeInclusive<u16>) -> Self {
        Self::new(range, 1, 0)
    }

    /// The allowed ports, from the one that `random` picks on, wrapping once; port 0 is never among them.
    pub fn from_random(&self, random: u64) -> impl Iterator<Item = u16> + use<> {
        let (low, high) = (u32::from((*self.range.start()).max(1)), u32::from(*self.range.end()));
        let (step, remainder) = (u32::from(self.modulus), u32::from(self.remainder));
        let first = low + (remainder + step - low % step) % step;
        let count = if first > high { 0 } else { (high - first) / step + 1 };
        let start = if count == 0 { 0 } else { (random % u64::from(count)) as u32 };
        (0..count).filter_map(move |i| u16::try_from(first + (start + i) % count * step).ok())
    }
}
