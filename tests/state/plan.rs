//! The reconnection plan, explained.

use messina::{
    session::{FallbackReason, LeftOut, PlannedEntry, ReconnectionPlan},
    testkit::{Fault, NameAnswer, Stage},
    topology::Refusal,
};

use crate::support::{World, full, until};

fn contact_points(plan: &ReconnectionPlan) -> Vec<&str> {
    let names = plan.entries.iter().filter_map(|entry| match entry {
        PlannedEntry::ContactPoint { name, .. } => Some(&**name),
        _ => None,
    });
    names.collect()
}

/// driver 7.10: nodes first, those with a connection before the others, then the contact points as they were written; each
/// says why it is there.
/// connect 125, 129: composed without a lookup: the resolver is not asked.
#[tokio::test(start_paused = true)]
async fn entries_in_order() {
    let world = World::new(|cluster| cluster.nodes(3).fault(1, Stage::Tcp, Fault::Refuse)).await;
    let session = world.builder().contact_point("other.test:9043").build().await.unwrap();
    until(&session, |state| state.nodes.iter().filter(|node| !node.connections.is_empty()).count() == 2).await;
    world.names.answer("db.test", NameAnswer::Silence);
    let asked = world.names.total();

    let plan = session.explain_plan();
    let refused = world.cluster.node(1).host_id().unwrap();
    let nodes: Vec<_> = plan
        .entries
        .iter()
        .filter_map(|entry| match entry {
            PlannedEntry::Node { host_id, connected, .. } => Some((*host_id == refused, *connected)),
            _ => None,
        })
        .collect();
    assert_eq!(nodes, [(false, true), (false, true), (true, false)], "{plan}");
    assert_eq!(contact_points(&plan), ["db.test:9042", "other.test:9043"], "{plan}");
    assert!(
        plan.entries[3..]
            .iter()
            .all(|entry| matches!(entry, PlannedEntry::ContactPoint { why: FallbackReason::Wanted, .. }))
    );
    assert!(plan.left_out.is_empty(), "{plan}");
    let text = plan.to_string();
    for said in
        ["it has a connection", "it has no connection", "fallback-to-original-contact-points is on", "other.test:9043"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(world.names.total(), asked, "nothing was looked up");
}

/// driver 7.10: what is left out says why: the contact points by a setting, a node because it is forced down, one because
/// of the node filter.
#[tokio::test(start_paused = true)]
async fn what_is_left_out() {
    let world = World::new(|cluster| {
        cluster
            .nodes(3)
            .node(1, |facts| facts.cluster_name = "foreign".into())
            .node(2, |facts| facts.rack = Some("spare".into()))
    })
    .await;
    let builder = world.builder().fallback_to_contact_points(false);
    let session = builder.node_filter(|node| node.rack.as_deref() != Some("spare")).build().await.unwrap();
    until(&session, |state| state.nodes.iter().any(|node| node.last_error.is_some())).await;

    let plan = session.explain_plan();
    assert_eq!(plan.entries.len(), 1, "{plan}");
    let of = |index: usize, wanted: Refusal| {
        let id = world.cluster.node(index).host_id().unwrap();
        plan.left_out.iter().any(
            |left_out| matches!(left_out, LeftOut::Node { host_id, reason, .. } if *host_id == id && *reason == wanted),
        )
    };
    assert!(of(1, Refusal::ForcedDown) && of(2, Refusal::Ignored), "{plan}");
    assert!(plan.left_out.contains(&LeftOut::FallbackIsOff), "{plan}");
    assert!(
        plan.to_string().contains("left out: the contact points: fallback-to-original-contact-points is off"),
        "{plan}"
    );
}

/// driver 7.10: a closed session looks for nothing.
#[tokio::test(start_paused = true)]
async fn after_close() {
    let world = World::new(|cluster| cluster).await;
    let session = world.builder().build().await.unwrap();
    until(&session, full).await;
    session.close().await;
    let plan = session.explain_plan();
    assert!(plan.entries.is_empty() && plan.to_string() == "no control connection is looked for", "{plan}");
}
