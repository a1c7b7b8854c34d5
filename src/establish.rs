//! The one place where a CQL connection attempt is assembled.
//!
//! [`connect`] builds the whole stack, from the name of a contact point to a connection that is logged in,
//! identified and, for a control connection, registered for events. Nothing shared is written inside an attempt:
//! what it learned comes back by value in [`Accepted`], and latching it is the caller's business.

mod accept;
mod auth;
mod error;
mod handshake;
mod identify;
mod limited;
mod negotiate;
mod notes;
mod open;
mod opener;
mod prepare;
mod reason;
mod register;
mod round;
mod seams;
mod steps;
mod tls;

use messina_layers::{
    AttemptLayer, BoxConnect, Candidate, HandshakeLayer, TlsLayer, Transport, connect_stack_with, error::BoxError,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tower::{Layer, Service, ServiceBuilder, util::BoxCloneSyncService};

use self::{
    accept::AcceptLayer, handshake::CqlHandshake, identify::IdentifyLayer, limited::Limited,
    negotiate::negotiate_layer, notes::LapLayer, prepare::PrepareLayer, register::RegisterLayer, round::RememberLayer,
};
pub use self::{
    accept::Accepted,
    error::{LoginRefused, NotWanted, UnexpectedAnswer, VersionRefused, WrongCluster, WrongHost},
    open::Open,
    seams::{BoxAttempt, BoxConnector, BoxIo, BoxResolver, Io, Leaf, Seams},
};
pub(crate) use self::{
    handshake::use_keyspace,
    notes::Notes,
    opener::Opener,
    reason::reason,
    round::{FailedBefore, Round},
    seams::{boxed_attempt, boxed_connect, boxed_connector, boxed_resolver},
};
pub use crate::topology::{BoxIdentity, IdentityRequest, SystemLocal};
use crate::{config::Config, error::stage, metrics::ConnectMetrics};

/// Builds the stack that every connection of a session is opened through.
///
/// The upper half is [`messina_layers::connect_stack_with`]; the attempt below it is assembled here.
#[must_use]
pub fn connect(config: &Config, seams: Seams) -> BoxConnect<Open, Accepted> {
    let attempt = attempts(config, &seams);
    let Seams { resolver, connect, .. } = seams;
    let stack = connect_stack_with(attempt, resolver, config.connect, RememberLayer);
    // Above the lookup: a route has to be known before its name can be resolved.
    let stack = BoxConnect::new(PrepareLayer.layer(stack));
    // The user's connect seam stands outside everything: once per connect, whatever the number of addresses.
    match connect {
        Some(layer) => seams::guarded(layer(stack)),
        None => stack,
    }
}

/// The lower half alone: one attempt at one address, inside the user's candidate seam.
pub(crate) fn attempts(config: &Config, seams: &Seams) -> BoxAttempt {
    let identity = seams.identity.clone();
    let attempt = match seams.leaf.clone() {
        Leaf::Tcp => attempt(config, config.tcp.clone(), identity),
        // What the application brings may not hang.
        Leaf::Custom(connector) => attempt(config, Limited::new(connector, config.connect_timeout), identity),
        Leaf::Layered(layer) => {
            let connector = layer(seams::boxed_tcp(config.tcp.clone()));
            attempt(config, Limited::new(connector, config.connect_timeout), identity)
        }
    };
    // The user's candidate seam stands outside our observation of an attempt: once per address.
    match &seams.candidate {
        Some(layer) => layer(attempt),
        None => attempt,
    }
}

/// One attempt at one address, from the outside in, with the reason why each layer stands where it does.
fn attempt<C, IO>(config: &Config, connector: C, identity: BoxIdentity) -> BoxAttempt
where
    C: Service<Candidate<Open>, Response = Transport<Open, IO>> + Clone + Send + Sync + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError> + 'static,
    IO: AsyncRead + AsyncWrite + Unpin + Send + Sync + 'static,
{
    BoxCloneSyncService::new(
        ServiceBuilder::new()
            // Outermost, so that span and counters cover everything one address costs.
            .layer(AttemptLayer::new())
            // Counts who was turned down, and spawns the driver: only a connection that passed everything below gets a task.
            .layer(AcceptLayer::new(ConnectMetrics::new(&config.metrics)))
            // After identity, so that a refused candidate never registers for events.
            .layer(RegisterLayer)
            // After the handshake, while the remaining candidates are still held: a refusal costs this address alone.
            .layer(IdentifyLayer::new(identity))
            // Around transport and handshake: another version needs a new connection to the same address.
            .layer(negotiate_layer())
            // Each of its steps has its own limit, and waiting for the turn has the holder's, so none is set here.
            .layer(HandshakeLayer::new(CqlHandshake).without_timeout())
            // Notes the end of TLS for those who look on.
            .layer(LapLayer(stage::TLS))
            // Always present; plain where the target asks for no TLS.
            .layer(TlsLayer::new().with_timeout(config.tls_timeout))
            .layer(LapLayer(stage::TCP))
            .service(connector),
    )
}
