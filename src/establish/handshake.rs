//! OPTIONS, then, in its turn, STARTUP, login, the cluster's name and the keyspace.
//!
//! Order and messages: CQL specification v4 and v5, sections 4.1 and 5 ("Compression"); the reading of version
//! errors is lenient, since a server answers a version that it does not speak in its own.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use messina_layers::{Transport, TurnGuard, error::AttemptError};
use scylla_cql_core::frame::types::Consistency;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;

use super::{
    Open, auth,
    error::{NotWanted, WrongCluster, WrongHost},
    steps::{Step, Steps},
};
use crate::{
    config::{Config, HostIdCheck},
    connection::{Compression, Opening},
    error::stage,
    protocol::{
        ProtocolVersion,
        request::{Options, Query, QueryParams, Startup},
        response::{Response, ResultResponse, ServerError, Supported},
    },
};

/// Sent as `DRIVER_NAME` in STARTUP.
const DRIVER_NAME: &str = "Messina";
/// The query that tells which cluster answers.
const CLUSTER_NAME: &str = "SELECT cluster_name FROM system.local WHERE key='local'";

/// A connection that is shaken hands with but not accepted: dropping it closes the socket.
pub(super) struct Greeted<IO> {
    pub(super) opening: Opening<IO>,
    pub(super) target: Open,
    pub(super) supported: Supported,
    pub(super) cluster_name: String,
    pub(super) compression: Option<Compression>,
    // Held until the attempt ends, so that no other of this connect logs in.
    pub(super) turn: TurnGuard,
}

/// The CQL handshake, as a service over any transport.
#[derive(Clone, Copy, Debug)]
pub(super) struct CqlHandshake;

impl<IO> Service<Transport<Open, IO>> for CqlHandshake
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Response = Greeted<IO>;
    type Error = AttemptError;
    type Future = CqlHandshakeFuture<IO>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), AttemptError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, transport: Transport<Open, IO>) -> Self::Future {
        // Boxed because an async block cannot be named; a handshake is round trips anyway.
        CqlHandshakeFuture(Box::pin(shake_hands(transport)))
    }
}

/// A handshake in progress; dropping it closes the socket.
pub(super) struct CqlHandshakeFuture<IO>(Pin<Box<dyn Future<Output = Step<Greeted<IO>>> + Send>>);

impl<IO> Future for CqlHandshakeFuture<IO> {
    type Output = Step<Greeted<IO>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl<IO> fmt::Debug for CqlHandshakeFuture<IO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CqlHandshakeFuture")
    }
}

async fn shake_hands<IO>(transport: Transport<Open, IO>) -> Step<Greeted<IO>>
where
    IO: AsyncRead + AsyncWrite + Unpin + Send,
{
    let Transport { target, io, peer, turn, .. } = transport;
    let config = Arc::clone(target.config());
    // v4 unless told otherwise: every server that matters reads it, and SUPPORTED may offer more.
    let first = target.asked().or(target.latched()).unwrap_or(ProtocolVersion::V4);
    let opening = Opening::new(io, peer, first, config.limits.clone());
    let mut steps = Steps { opening, dialect: first.into(), target, limit: config.init_timeout };

    let supported = match steps.ask(&Options, stage::OPTIONS).await? {
        Response::Supported(supported) => supported,
        other => return Err(steps.unexpected(stage::OPTIONS, "OPTIONS", other)),
    };
    steps.note(|noted| noted.supported = Some(supported.clone()));
    steps.check_host(&supported)?;
    let version = steps.version(&supported)?;
    steps.note(|noted| noted.version = Some(version));
    steps.dialect = supported.dialect(version);
    let compression = compression(&config, version, &supported);

    // From here on the server does work, and a wrong password counts: one attempt of a connect at a time. A connection
    // that ends while it waits makes room for the next address at once.
    let turn = steps.opening.run(turn.take()).await.map_err(|error| AttemptError::new(stage::STARTUP, error))?;
    if let Some(notes) = steps.target.notes() {
        notes.skip();
    }
    steps.opening.negotiate(steps.dialect, compression);
    let mut startup = Startup::new().with("DRIVER_NAME", DRIVER_NAME).with("DRIVER_VERSION", env!("CARGO_PKG_VERSION"));
    for (key, value) in &config.application {
        if let Some(value) = value {
            startup = startup.with(*key, value);
        }
    }
    if let Some(compression) = compression {
        startup = startup.with("COMPRESSION", name_of(compression));
    }
    for (key, value) in Supported::startup_options(steps.dialect) {
        startup = startup.with(key, value);
    }
    match steps.ask(&startup, stage::STARTUP).await? {
        Response::Ready => {}
        Response::Authenticate { authenticator } => auth::log_in(&mut steps, &authenticator).await?,
        other => return Err(steps.unexpected(stage::STARTUP, "STARTUP", other)),
    }
    let cluster_name = steps.cluster_name().await?;
    if let Some(keyspace) = steps.target.keyspace().cloned() {
        steps.limit = config.keyspace_timeout;
        steps.set_keyspace(&keyspace).await?;
    }
    let Steps { opening, target, .. } = steps;
    Ok(Greeted { opening, target, supported, cluster_name, compression, turn })
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Steps<IO> {
    /// Compares the host id that ScyllaDB tells in SUPPORTED with the expected one, before anything costs.
    fn check_host(&self, supported: &Supported) -> Step<()> {
        // Text that is no id tells nothing.
        let Some(actual) = supported.first("SCYLLA_HOST_ID").and_then(|text| text.parse().ok()) else { return Ok(()) };
        if let Some(reason) = self.target.admission().and_then(|admission| admission.host(actual)) {
            return Err(NotWanted::at(stage::ADOPTION, actual, reason));
        }
        let check = self.target.config().host_id_check;
        let proving = self.target.host_to_prove();
        let Some(expected) = self.target.expected_host().or(proving) else { return Ok(()) };
        if actual == expected || (check == HostIdCheck::Off && proving.is_none()) {
            return Ok(());
        }
        let wrong = WrongHost::Other { expected, actual };
        if check == HostIdCheck::Warn && proving.is_none() {
            if self.target.config().said.first(format!("{expected} is {actual}")) {
                tracing::warn!(peer.addr = %self.peer(), "{wrong}; the connection is used all the same");
            }
            return Ok(());
        }
        Err(AttemptError::new(stage::OPTIONS, wrong))
    }

    /// The configured, latched or asked version; else the highest common one, v4 where the server lists none.
    fn version(&self, supported: &Supported) -> Step<ProtocolVersion> {
        if let Some(version) = self.target.asked().or(self.target.latched()) {
            return Ok(version);
        }
        if !supported.lists_versions() {
            return Ok(ProtocolVersion::V4);
        }
        supported.highest_common_version(ProtocolVersion::V5).ok_or_else(|| {
            let listed = supported.get("PROTOCOL_VERSIONS").unwrap_or_default().join(", ");
            self.version_refused(stage::OPTIONS, format!("it lists {listed}"), Some(Vec::new()))
        })
    }

    async fn cluster_name(&mut self) -> Step<String> {
        let params = QueryParams { consistency: Consistency::One, ..QueryParams::default() };
        let rows = match self.ask(&Query::new(CLUSTER_NAME, params), stage::CLUSTER).await? {
            Response::Result(ResultResponse::Rows(rows)) => rows,
            other => return Err(self.unexpected(stage::CLUSTER, "the query for the cluster's name", other)),
        };
        let fail = |error: String| AttemptError::new(stage::CLUSTER, error);
        let mut names = rows.typed::<(Option<String>,)>().map_err(|error| fail(error.to_string()))?;
        let name = match names.next() {
            Some(row) => row.map_err(|error| fail(error.to_string()))?.0,
            None => None,
        };
        let actual = name.ok_or_else(|| fail("system.local has no cluster_name".into()))?;
        self.note(|noted| noted.cluster_name = Some(actual.clone()));
        match self.target.expected_cluster() {
            Some(expected) if **expected != *actual => {
                let wrong = WrongCluster { expected: expected.to_string(), actual };
                Err(AttemptError::new(stage::CLUSTER, wrong).forcing_down())
            }
            _ => Ok(actual),
        }
    }

    async fn set_keyspace(&mut self, keyspace: &str) -> Step<()> {
        let text = use_keyspace(keyspace);
        let params = QueryParams { consistency: Consistency::One, ..QueryParams::default() };
        match self.ask(&Query::new(&text, params), stage::KEYSPACE).await? {
            Response::Result(ResultResponse::SetKeyspace(_)) => Ok(()),
            other => Err(self.unexpected(stage::KEYSPACE, "USE", other)),
        }
    }
}

/// The statement that makes this the keyspace of a connection; the name is case-sensitive.
pub(crate) fn use_keyspace(name: &str) -> String {
    format!("USE \"{}\"", name.replace('"', "\"\""))
}

/// The compression to use: what is wanted, if the version and the server can do it.
fn compression(config: &Config, version: ProtocolVersion, supported: &Supported) -> Option<Compression> {
    let wanted = config.compression?;
    let offered = supported.get("COMPRESSION").unwrap_or_default();
    let by_version = wanted == Compression::Lz4 || version < ProtocolVersion::V5;
    if by_version && offered.iter().any(|name| name.eq_ignore_ascii_case(name_of(wanted))) {
        return Some(wanted);
    }
    if config.said.first("compression") {
        tracing::warn!(
            wanted = name_of(wanted),
            offered = offered.join(", "),
            %version,
            "the server cannot compress as wanted; going on without compression"
        );
    }
    None
}

/// As STARTUP and SUPPORTED write it.
fn name_of(compression: Compression) -> &'static str {
    match compression {
        Compression::Lz4 => "lz4",
        Compression::Snappy => "snappy",
    }
}

/// Whether a server error speaks of bad credentials (error code 0x0100).
pub(super) fn is_bad_credentials(error: &ServerError) -> bool {
    error.code == 0x0100
}
