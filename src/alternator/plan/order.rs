//! The order of a plan, made only as far as it is looked at.

use std::mem;

use super::{Generator, random::Stream};

/// How many nodes of an order are held without allocating.
const INLINE: usize = 8;

/// A shuffle that draws, for each place, one of the nodes that are left and puts the last of them in its stead.
///
/// Deciding the next place needs only the slots that earlier places touched: these are few, and held inline.
/// From the ninth place on the whole list of slots exists.
#[derive(Clone, Debug)]
pub(super) struct Order {
    nodes: u32,
    made: u32,
    draws: Draws,
    slots: Slots,
}

#[derive(Clone, Debug)]
pub(super) enum Draws {
    Seeded(Generator),
    Random(Stream),
}

#[derive(Clone, Debug)]
enum Slots {
    /// The nodes of the places made, and the slots that were written, with their node.
    Few { made: [u32; INLINE], written: [(u32, u32); INLINE] },
    /// The nodes not yet placed, then those placed, the first of them at the end.
    All(Vec<u32>),
}

impl Order {
    pub(super) fn new(nodes: u32, draws: Draws) -> Self {
        Self { nodes, made: 0, draws, slots: Slots::Few { made: [0; INLINE], written: [(0, 0); INLINE] } }
    }

    /// An order that is already known.
    pub(super) fn fixed(mut order: Vec<u32>, nodes: u32) -> Self {
        order.reverse();
        let made = order.len() as u32;
        Self { nodes: nodes.min(made), made, draws: Draws::Random(Stream::new(0)), slots: Slots::All(order) }
    }

    /// The node at a place; places are asked for from the first on, without gaps.
    pub(super) fn at(&mut self, place: u32) -> Option<u32> {
        if place >= self.nodes {
            return None;
        }
        while self.made <= place {
            self.make();
        }
        Some(match &self.slots {
            Slots::Few { made, .. } => made[place as usize],
            Slots::All(slots) => slots[(self.nodes - 1 - place) as usize],
        })
    }

    fn make(&mut self) {
        let left = self.nodes - self.made;
        let drawn = match &mut self.draws {
            Draws::Seeded(generator) => generator.below(left),
            Draws::Random(stream) => stream.below(left),
        };
        if self.made as usize == INLINE {
            self.spill();
        }
        match &mut self.slots {
            Slots::Few { made, written } => {
                let count = self.made as usize;
                let read = |slot: u32| {
                    let latest = written[..count].iter().rev().find(|(at, _)| *at == slot);
                    latest.map_or(slot, |(_, node)| *node)
                };
                made[count] = read(drawn);
                written[count] = (drawn, read(left - 1));
            }
            Slots::All(slots) => slots.swap(drawn as usize, left as usize - 1),
        }
        self.made += 1;
    }

    fn spill(&mut self) {
        let all = Slots::All((0..self.nodes).collect());
        if let (Slots::Few { written, .. }, Slots::All(slots)) = (mem::replace(&mut self.slots, all), &mut self.slots) {
            for (place, (drawn, _)) in written.into_iter().enumerate() {
                slots.swap(drawn as usize, self.nodes as usize - 1 - place);
            }
        }
    }
}

/// A set of places; the first 64 need no allocation.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    low: u64,
    high: Vec<u64>,
}

impl Places {
    pub(super) fn contains(&self, place: u32) -> bool {
        let (word, bit) = (place as usize / 64, 1 << (place % 64));
        let word = if word == 0 { Some(&self.low) } else { self.high.get(word - 1) };
        word.is_some_and(|word| word & bit != 0)
    }

    pub(super) fn insert(&mut self, place: u32) {
        let (word, bit) = (place as usize / 64, 1 << (place % 64));
        if word == 0 {
            self.low |= bit;
        } else {
            if self.high.len() < word {
                self.high.resize(word, 0);
            }
            self.high[word - 1] |= bit;
        }
    }

    pub(super) fn clear(&mut self) {
        self.low = 0;
        self.high.clear();
    }
}
