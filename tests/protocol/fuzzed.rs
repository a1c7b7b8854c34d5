//! What the fuzz targets check, with 100,000 inputs each that are the same in every run: known answers, changed a little.

#[path = "../../fuzz/checks/responses.rs"]
mod responses;
#[path = "../../fuzz/checks/segments.rs"]
mod segments;
#[path = "../../fuzz/checks/values.rs"]
mod values;

use std::panic::catch_unwind;

use messina::protocol::SegmentEncoder;

use crate::golden::golden;
use crate::hostile::answers;
use crate::support::{bytes_of, hex, response};

const INPUTS: u64 = 100_000;

/// Values of bytes and lengths at which code tends to break.
const EDGES: [&[u8]; 7] = [&[0], &[0xFF], &[0x7F], &[0x80], &[0xFF; 4], &[0x7F, 0xFF, 0xFF, 0xFF], &[0, 0, 0, 1]];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }

    /// Changes a seed in one to eight places, sometimes by a piece of another.
    fn change(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(8) {
            let place = self.below(input.len());
            match self.below(7) {
                0 | 1 if !input.is_empty() => input[place] ^= 1 << self.below(8),
                2 if !input.is_empty() => input[place] = self.below(256) as u8,
                3 => {
                    let edge = EDGES[self.below(EDGES.len())];
                    let end = (place + edge.len()).min(input.len());
                    input.splice(place..end, edge.iter().copied());
                }
                4 => input.truncate(place),
                5 => {
                    let end = (place + self.below(16)).min(input.len());
                    input.drain(place..end);
                }
                _ => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len());
                    let to = (from + self.below(64)).min(other.len());
                    input.splice(place..place, other[from..to].iter().copied());
                }
            }
        }
        input
    }
}

fn run(seeds: &[Vec<u8>], check: fn(&[u8])) {
    for number in 0..INPUTS {
        let input = Random(number).change(seeds);
        let held = catch_unwind(|| check(&input));
        assert!(held.is_ok(), "input {number}: {input:02x?}");
    }
}

/// What Cassandra answered, one column each.
fn rows() -> impl Iterator<Item = Vec<u8>> {
    let lines = include_str!("cassandra_rows.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| hex(line.rsplit(" | ").next().unwrap()))
}

/// cql 1: 100,000 changed answers do no harm.
#[test]
fn answers_do_no_harm() {
    let mode = |seed: usize| (seed * 37) as u8;
    let known = answers().into_iter().map(|(opcode, flags, body)| (opcode.as_u8(), flags, golden(body)));
    let seeds = known.chain(rows().map(|body| (8, 0, body))).enumerate();
    let seeds = seeds.map(|(seed, (opcode, flags, body))| [vec![mode(seed), opcode, flags], body].concat());
    run(&seeds.collect::<Vec<_>>(), responses::check);
}

/// cql 1: 100,000 changed streams do no harm, and what is packed comes out as it went in.
#[test]
fn segments_do_no_harm() {
    let bodies = rows().map(|body| response(1, &body)).collect::<Vec<_>>();
    let mut seeds = Vec::new();
    for (mode, envelopes) in (0..8).cycle().zip(bodies.chunks(4)) {
        let mut stream = bytes_of(envelopes);
        if mode >> 1 == 0 {
            let plain = std::mem::take(&mut stream);
            SegmentEncoder::new(mode & 1 != 0).encode(&plain, &mut stream).unwrap();
        }
        // Round trips make long bodies of a few bytes.
        let (step, length) = if mode >> 1 == 2 { (1, 8) } else { (40, stream.len()) };
        seeds.push([&[mode, step], &stream[..length]].concat());
    }
    run(&seeds, segments::check);
}

/// cql 1: 100,000 changed types and values do no harm, and what is read can be sent again.
#[test]
fn values_do_no_harm() {
    let seeds = rows().map(|body| {
        // Kind, flags, columns, keyspace, table and name; type; one row; value.
        let mut rest = &body[12..];
        for _ in 0..3 {
            rest = &rest[2 + usize::from(u16::from_be_bytes([rest[0], rest[1]]))..];
        }
        let one_row = rest.windows(4).position(|window| window == [0, 0, 0, 1]).unwrap();
        let (typ, value) = (&rest[..one_row], rest.get(one_row + 8..).unwrap_or_default());
        [&[typ.len() as u8], typ, value].concat()
    });
    run(&seeds.collect::<Vec<_>>(), values::check);
}
