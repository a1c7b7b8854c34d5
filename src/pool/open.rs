//! Opening one connection to a node: at its shard-aware port, at its own address, wherever its name leads by now, and
//! by the way in; the first that leads to the very node that is meant.

use std::sync::Arc;

use messina_layers::{ConnectError, Dial, HostAddr, LocalPorts, Pinned};
use tower::ServiceExt;
use uuid::Uuid;

use super::gate::Gate;
use crate::{
    config::IdentifiedFallback,
    control::Way,
    endpoint::Endpoint,
    establish::{Accepted, Open, Opener},
};

/// What is wanted.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) host_id: Uuid,
    pub(super) endpoint: Pinned<Endpoint>,
    /// The port where these local ports lead to the shard that is wanted.
    pub(super) at_port: Option<(u16, LocalPorts)>,
    /// Where else to look, once nothing else leads to the node.
    pub(super) way: Option<Way>,
    /// The keyspace that it is to be in.
    pub(super) keyspace: Option<Arc<str>>,
}

/// How a connection came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// At the node's own address; a name led to this one.
    Own(HostAddr),
    /// At the port that was wanted.
    AtPort,
    /// At the node's own address, since the port that was wanted failed.
    NotAtPort(HostAddr),
    /// By the way in.
    Via,
}

/// A connection to the node that is meant.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) accepted: Accepted,
    pub(super) how: How,
}

/// Opens a connection; the error is that of the node's own address.
pub(super) async fn open(opener: Opener, gate: Gate, wanted: Wanted) -> Result<Opened, Arc<ConnectError>> {
    let _pass = gate.enter(|| opener.config().pool.max_connects).await;
    let target = |endpoint| opener.target(endpoint).in_keyspace(wanted.keyspace.clone());
    let own = target(wanted.endpoint.clone()).expecting_host(wanted.host_id);
    if let Some((port, from)) = &wanted.at_port {
        match connect(&opener, own.clone().at_port(*port, from.clone())).await {
            Ok((accepted, _)) => return Ok(Opened { accepted, how: How::AtPort }),
            Err(error) => {
                tracing::debug!(host_id = %wanted.host_id, port, %error, "the shard-aware port does not serve");
            }
        }
    }
    let error = match connect(&opener, own).await {
        Ok((accepted, addr)) => {
            let how = if wanted.at_port.is_some() { How::NotAtPort(addr) } else { How::Own(addr) };
            return Ok(Opened { accepted, how });
        }
        Err(error) => Arc::new(error),
    };
    if let Some(again) = expanded_again(&opener, &wanted)
        && let Ok((accepted, addr)) = connect(&opener, target(again).proving_host(wanted.host_id)).await
        && proved(&accepted, wanted.host_id)
    {
        return Ok(Opened { accepted, how: How::Own(addr) });
    }
    if let Some(way) = &wanted.way {
        let way_in = Pinned::at(way.endpoint.clone(), HostAddr::from(way.addr));
        // Who answers behind a name or a balancer has to be read.
        if let Ok((accepted, _)) = connect(&opener, target(way_in).proving_host(wanted.host_id)).await
            && proved(&accepted, wanted.host_id)
        {
            return Ok(Opened { accepted, how: How::Via });
        }
    }
    Err(error)
}

/// The node's name without its pin, where that is allowed and could lead elsewhere.
fn expanded_again(opener: &Opener, wanted: &Wanted) -> Option<Pinned<Endpoint>> {
    if opener.config().pool.identified_fallback != IdentifiedFallback::Verified {
        return None;
    }
    wanted.endpoint.pin()?;
    let endpoint = wanted.endpoint.target();
    endpoint.address().name()?;
    Some(endpoint.clone().into())
}

/// Whether it was read that this node answers; a stack of the application's may not have read it.
fn proved(accepted: &Accepted, host_id: Uuid) -> bool {
    accepted.node.as_ref().is_some_and(|node| node.host_id == host_id)
}

async fn connect(opener: &Opener, target: Open) -> Result<(Accepted, HostAddr), ConnectError> {
    let established = opener.stack().oneshot(target).await?;
    Ok((established.connection, established.addr.into()))
}
