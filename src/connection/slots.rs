//! The dense table of streams: who waits for which answer.

use std::task::Waker;

use crate::protocol::Envelope;

/// One stream of the connection.
#[derive(Debug)]
enum Slot {
    Free,
    /// A reply waits; `end` is where its request ends in all bytes ever queued.
    Waiting {
        waker: Option<Waker>,
        end: u64,
    },
    /// The answer is here and the reply has not taken it yet.
    Done(Envelope),
    /// The reply was dropped; the stream is not used again until its answer has come.
    Orphan,
}

/// Slots indexed by stream id, grown lazily.
#[derive(Debug, Default)]
pub(super) struct Slots {
    table: Vec<Slot>,
    free: Vec<u16>,
    waiting: usize,
    orphans: usize,
}

/// What a reply finds in its slot.
#[derive(Debug)]
pub(super) enum Polled {
    /// The answer; the slot is free again.
    Answered(Envelope),
    /// Nothing yet; the waker of the reply is in the slot.
    Waiting,
    /// Nothing yet, and the waker in the slot is not the one of now: come again with a fresh one.
    Stale,
}

/// What was in a slot that was given up.
#[derive(Debug)]
pub(super) struct Released(Slot);

impl Released {
    /// Whether the answer is still due, so that the stream cannot be used yet.
    pub(super) fn orphaned(&self) -> bool {
        matches!(self.0, Slot::Waiting { .. })
    }
}

/// An answer for a stream on which nothing was asked.
#[derive(Debug)]
pub(super) struct Unasked;

impl Slots {
    /// Takes a stream for a request that ends at `end`.
    ///
    /// The caller has checked that fewer than its limit (at most 32768) are used.
    #[inline]
    pub(super) fn take(&mut self, end: u64) -> u16 {
        let waiting = Slot::Waiting { waker: None, end };
        self.waiting += 1;
        match self.free.pop() {
            Some(stream) => {
                self.table[usize::from(stream)] = waiting;
                stream
            }
            None => {
                let stream = self.table.len() as u16;
                self.table.push(waiting);
                stream
            }
        }
    }

    /// The stream that the next [`take`](Self::take) gives.
    #[inline]
    pub(super) fn next(&self) -> u16 {
        match self.free.last() {
            Some(stream) => *stream,
            None => self.table.len() as u16,
        }
    }

    /// Streams that cannot be used for a new request.
    #[inline]
    pub(super) fn used(&self) -> usize {
        self.table.len() - self.free.len()
    }

    /// Streams whose reply still waits.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Streams whose answer is due, be it waited for or not.
    #[inline]
    pub(super) fn due(&self) -> usize {
        self.waiting + self.orphans
    }

    /// Streams given up whose answer is still due.
    #[inline]
    pub(super) fn orphans(&self) -> usize {
        self.orphans
    }

    /// Takes the answer of a stream, or leaves a waker for it.
    ///
    /// Wakers are code of others, so none is cloned or dropped here: `fresh` is left in the slot, and gives the one it replaces.
    #[inline]
    pub(super) fn poll(&mut self, stream: u16, current: &Waker, fresh: &mut Option<Waker>) -> Polled {
        let slot = &mut self.table[usize::from(stream)];
        match slot {
            Slot::Waiting { waker, .. } if fresh.is_some() => {
                std::mem::swap(waker, fresh);
                Polled::Waiting
            }
            Slot::Waiting { waker: Some(waker), .. } if waker.will_wake(current) => Polled::Waiting,
            Slot::Waiting { .. } => Polled::Stale,
            Slot::Done(_) => match std::mem::replace(slot, Slot::Free) {
                Slot::Done(envelope) => {
                    self.free.push(stream);
                    Polled::Answered(envelope)
                }
                _ => Polled::Waiting,
            },
            // A reply owns its stream until it is answered or dropped.
            Slot::Free | Slot::Orphan => Polled::Waiting,
        }
    }

    /// The wakers of those who wait for an answer to what was queued after one place and up to another.
    pub(super) fn take_wakers(&mut self, after: u64, up_to: u64, into: &mut Vec<Waker>) {
        for slot in &mut self.table {
            if let Slot::Waiting { waker, end } = slot
                && (after + 1..=up_to).contains(end)
            {
                into.extend(waker.take());
            }
        }
    }

    /// Where the request of a waiting stream ends; `None` once it is answered.
    pub(super) fn end(&self, stream: u16) -> Option<u64> {
        match self.table.get(usize::from(stream)) {
            Some(Slot::Waiting { end, .. }) => Some(*end),
            _ => None,
        }
    }

    /// Gives up a stream: its reply was dropped.
    ///
    /// What was in the slot is given back, to be dropped without the lock.
    pub(super) fn release(&mut self, stream: u16) -> Released {
        let slot = &mut self.table[usize::from(stream)];
        if matches!(slot, Slot::Waiting { .. }) {
            self.waiting -= 1;
            self.orphans += 1;
            Released(std::mem::replace(slot, Slot::Orphan))
        } else {
            self.free.push(stream);
            Released(std::mem::replace(slot, Slot::Free))
        }
    }

    /// Frees a waiting stream whose answer will never come: the connection ended.
    pub(super) fn forget(&mut self, stream: u16) -> Released {
        let slot = &mut self.table[usize::from(stream)];
        if matches!(slot, Slot::Waiting { .. }) {
            self.waiting -= 1;
        }
        self.free.push(stream);
        Released(std::mem::replace(slot, Slot::Free))
    }

    /// Puts an answer into its slot and gives the waker of who waits for it.
    #[inline]
    pub(super) fn answer(&mut self, stream: i16, envelope: Envelope) -> Result<Option<Waker>, Unasked> {
        let id = u16::try_from(stream).map_err(|_| Unasked)?;
        let slot = self.table.get_mut(usize::from(id)).ok_or(Unasked)?;
        match slot {
            Slot::Waiting { waker, .. } => {
                let waker = waker.take();
                *slot = Slot::Done(envelope);
                self.waiting -= 1;
                Ok(waker)
            }
            Slot::Orphan => {
                *slot = Slot::Free;
                self.free.push(id);
                self.orphans -= 1;
                Ok(None)
            }
            Slot::Free | Slot::Done(_) => Err(Unasked),
        }
    }

    /// Whether a reply waits on this stream.
    pub(super) fn is_waiting(&self, stream: i16) -> bool {
        u16::try_from(stream).is_ok_and(|id| self.end(id).is_some())
    }

    /// The stream of the one request that waits, for the time before acceptance.
    pub(super) fn any_waiting(&self) -> Option<i16> {
        self.table
            .iter()
            .position(|slot| matches!(slot, Slot::Waiting { .. }))
            .and_then(|stream| i16::try_from(stream).ok())
    }

    /// Takes the wakers of everyone who waits; the connection ended.
    pub(super) fn wakers(&mut self, into: &mut Vec<Waker>) {
        for slot in &mut self.table {
            if let Slot::Waiting { waker, .. } = slot {
                into.extend(waker.take());
            }
        }
    }
}
