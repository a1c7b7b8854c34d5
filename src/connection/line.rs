//! The line of handles that wait for room on a connection, first come first served.

use std::collections::VecDeque;
use std::task::Waker;

/// Waiting handles in the order they came.
///
/// A place is had by counting: with room for `n` requests the first `n` in the line may go. Nobody is handed anything, so a
/// handle that leaves the line costs the others nothing.
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: VecDeque<(u64, Option<Waker>)>,
    next: u64,
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Stands at the end and gives the ticket.
    pub(super) fn join(&mut self, waker: Waker) -> u64 {
        let ticket = self.next;
        self.next += 1;
        self.waiting.push_back((ticket, Some(waker)));
        ticket
    }

    /// How many stand before this ticket.
    pub(super) fn place(&self, ticket: u64) -> Option<usize> {
        // Tickets only grow.
        self.waiting.binary_search_by_key(&ticket, |(other, _)| *other).ok()
    }

    /// Leaves another waker at a place; gives the old one, to be dropped without the lock.
    pub(super) fn renew(&mut self, place: usize, waker: Waker) -> Option<Waker> {
        self.waiting.get_mut(place)?.1.replace(waker)
    }

    /// Leaves the line; gives the waker, to be dropped without the lock.
    pub(super) fn leave(&mut self, place: usize) -> Option<Waker> {
        self.waiting.remove(place)?.1
    }

    /// The waker of whoever stands at this place.
    pub(super) fn waker(&mut self, place: usize) -> Option<Waker> {
        self.waiting.get_mut(place)?.1.take()
    }
}
