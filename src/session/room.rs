//! Waiting for a node that takes one more request.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use crate::connection::Connection;
use crate::pool::Node;

/// Waits until one of the saturated nodes has room, and takes that node out.
///
/// The handle holds the room. `None` once none of them is connected any more.
pub(super) async fn wait_for_room(full: &mut Vec<Arc<Node>>) -> Option<(Arc<Node>, Connection)> {
    let mut waiting: Vec<_> = full
        .iter()
        .flat_map(|node| node.connections().into_iter().map(|one| (Arc::clone(node), Connection::clone(&*one))))
        .collect();
    let (node, handle) = poll_fn(|cx| {
        let mut place = 0;
        while let Some((_, handle)) = waiting.get_mut(place) {
            match handle.poll_room(cx) {
                Poll::Ready(Ok(())) => return Poll::Ready(Some(waiting.swap_remove(place))),
                Poll::Ready(Err(_)) => drop(waiting.swap_remove(place)),
                Poll::Pending => place += 1,
            }
        }
        if waiting.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    })
    .await?;
    full.retain(|other| other.host_id() != node.host_id());
    Some((node, handle))
}
