//! What an event about client routes asks to be read.

use std::{collections::BTreeSet, sync::Arc};

use uuid::Uuid;

use crate::{
    endpoint::{Covered, RouteConnection},
    protocol::response::Event,
    topology::Reaction,
};

/// The only change that is known.
const UPDATE_NODES: &str = "UPDATE_NODES";
/// More pairs than that are not asked for one by one: servers limit what one statement may ask for, often to a hundred.
const MOST_PAIRS: usize = 100;

/// Whether an event is about routes of ours.
pub(super) fn concerns_us(event: &Event, ours: &[RouteConnection]) -> Reaction {
    match event {
        Event::ClientRoutes { change, connection_ids, host_ids } => {
            if change != UPDATE_NODES || connection_ids.is_empty() || host_ids.is_empty() {
                // It names nothing in particular, or something that came after this driver was written.
                return Reaction::Refresh;
            }
            let is_ours = |id: &String| ours.iter().any(|ours| **ours.id() == **id);
            if connection_ids.iter().any(is_ours) { Reaction::Read } else { Reaction::Ignore }
        }
        _ => Reaction::Ignore,
    }
}

/// The routes to be read because of these events.
///
/// The two lists of an event are pairs where they are equally long; else every connection goes with every host, with a
/// warning. The read covers all connections found with all hosts found, which is never less, whatever was meant.
pub(super) fn covered_by(events: &[Event], ours: &[RouteConnection]) -> Covered {
    let (mut connections, mut hosts) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        let Event::ClientRoutes { connection_ids, host_ids, .. } = event else { continue };
        let ids: Vec<_> = connection_ids.iter().map(|id| own(id, ours)).collect();
        let parsed: Vec<_> = host_ids.iter().map(|text| host(text)).collect();
        let paired = ids.len() == parsed.len();
        if !paired {
            tracing::warn!(
                connections = ids.len(),
                hosts = parsed.len(),
                "an event about client routes has lists of different lengths; every connection is taken with every host"
            );
        }
        for (at, id) in ids.iter().enumerate() {
            let Some(id) = id else { continue };
            let with = if paired { &parsed[at..=at] } else { &parsed[..] };
            for host_id in with.iter().flatten() {
                connections.insert(Arc::clone(id));
                hosts.insert(*host_id);
            }
        }
    }
    if connections.len().saturating_mul(hosts.len()) > MOST_PAIRS {
        return Covered::All;
    }
    Covered::Some { connections, hosts }
}

fn own(id: &str, ours: &[RouteConnection]) -> Option<Arc<str>> {
    ours.iter().map(RouteConnection::id).find(|ours| ***ours == *id).cloned()
}

fn host(text: &str) -> Option<Uuid> {
    let parsed = Uuid::try_parse(text);
    if parsed.is_err() {
        tracing::warn!(host_id = text, "an event about client routes names a host id that is none; it is passed over");
    }
    parsed.ok()
}
