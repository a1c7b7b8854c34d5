//! Tablets: which one holds a token, what a new one takes the place of, and reading them.

use messina::topology::{Tablet, Tablets, Token};
use proptest::prelude::*;
use uuid::Uuid;

fn tablet(first: i64, last: i64, host: u128) -> Tablet {
    Tablet::new(Token(first), Token(last), [(Uuid::from_u128(host), 0)]).unwrap()
}

fn ranges(tablets: &Tablets) -> Vec<(i64, i64)> {
    tablets.iter().map(|tablet| (tablet.first().0, tablet.last().0)).collect()
}

/// driver 2.1: the first token is not part of a tablet, the last one is.
#[test]
fn the_ends_of_a_range() {
    let tablets = Tablets::default().with(tablet(10, 20, 1));
    let holds = |token| tablets.of(Token(token)).is_some();
    assert_eq!([10, 11, 20, 21].map(holds), [false, true, true, false]);
    let all = Tablets::default().with(tablet(i64::MIN, i64::MAX, 1));
    assert!([i64::MIN + 1, 0, i64::MAX].iter().all(|token| all.of(Token(*token)).is_some()));
    assert!(Tablets::default().of(Token(0)).is_none());
    assert!(Tablet::new(Token(5), Token(5), []).is_err() && Tablet::new(Token(6), Token(5), []).is_err());
}

/// driver 2.1: a new tablet takes the place of every one that it overlaps, and of no neighbour.
#[test]
fn what_a_new_one_replaces() {
    let three = [(0, 10), (10, 20), (20, 30)];
    let before = three.iter().fold(Tablets::default(), |tablets, (first, last)| tablets.with(tablet(*first, *last, 1)));
    assert_eq!(ranges(&before), three);
    let with = |first, last| ranges(&before.with(tablet(first, last, 2)));
    assert_eq!(with(10, 20), three, "moved");
    assert_eq!(with(10, 15), [(0, 10), (10, 15), (20, 30)], "split");
    assert_eq!(with(0, 20), [(0, 20), (20, 30)], "merged");
    assert_eq!(with(9, 11), [(9, 11), (20, 30)]);
    assert_eq!(with(30, 40), [(0, 10), (10, 20), (20, 30), (30, 40)]);
    assert_eq!(with(-5, 0), [(-5, 0), (0, 10), (10, 20), (20, 30)]);
    assert_eq!(with(-5, 45), [(-5, 45)]);
    assert_eq!(before.with(tablet(10, 20, 2)).of(Token(15)).unwrap().replicas(), [(Uuid::from_u128(2), 0)]);
}

/// driver 2.1: tablets on a node that is gone are forgotten.
#[test]
fn nodes_that_are_gone() {
    let tablets = Tablets::default().with(tablet(0, 10, 1)).with(tablet(10, 20, 2)).with(tablet(20, 30, 1));
    let left = tablets.known(|host_id| host_id != Uuid::from_u128(2));
    assert_eq!(ranges(&left), [(0, 10), (20, 30)]);
}

/// As many bytes as a length says, in front of them that length.
fn sized(bytes: &[u8]) -> Vec<u8> {
    [&i32::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
}

fn payload(first: &[u8], last: &[u8], replicas: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut list = i32::try_from(replicas.len()).unwrap().to_be_bytes().to_vec();
    for (host_id, shard) in replicas {
        list.extend(sized(&[sized(host_id), sized(shard)].concat()));
    }
    [sized(first), sized(last), sized(&list)].concat()
}

/// cql 6: `tuple<bigint, bigint, list<tuple<uuid, int>>>`.
#[test]
fn reading() {
    let (one, two) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let replicas: [(&[u8], &[u8]); 2] = [(one.as_bytes(), &[0, 0, 0, 7]), (two.as_bytes(), &[0, 0, 1, 0])];
    let bytes = payload(&(-5_i64).to_be_bytes(), &8_i64.to_be_bytes(), &replicas);
    let read = Tablet::read(&bytes).unwrap();
    assert_eq!((read.first(), read.last(), read.replicas()), (Token(-5), Token(8), &[(one, 7), (two, 256)][..]));
    for length in 0..bytes.len() {
        assert!(Tablet::read(&bytes[..length]).is_err(), "cut after {length} bytes");
    }
    let wrong = |shard: &[u8]| Tablet::read(&payload(&[0; 8], &[1; 8], &[(one.as_bytes(), shard)])).unwrap_err();
    assert!(wrong(&[0xff; 4]).to_string().contains("shard"), "negative");
    assert!(wrong(&[0, 1, 0, 0]).to_string().contains("shard"), "more than any node has");
    assert!(Tablet::read(&payload(&[1; 8], &[0; 8], &[])).is_err(), "from a token down to a lesser one");
    // A count of two thousand million replicas that are not there.
    let lie = [sized(&[0; 8]), sized(&[1; 8]), sized(&[0x7f, 0xff, 0xff, 0xff])].concat();
    assert!(Tablet::read(&lie).is_err());
}

/// What every token of a small ring belongs to.
#[derive(Clone, Debug, Default)]
struct Naive(Vec<(i64, i64, u128)>);

impl Naive {
    fn learn(&mut self, first: i64, last: i64, host: u128) {
        let overlaps = |(from, to, _): &(i64, i64, u128)| (*from + 1..=*to).any(|token| first < token && token <= last);
        self.0.retain(|old| !overlaps(old));
        self.0.push((first, last, host));
    }

    fn of(&self, token: i64) -> Option<u128> {
        self.0.iter().find(|(first, last, _)| *first < token && token <= *last).map(|(.., host)| *host)
    }
}

proptest! {
    /// driver 2.1: whatever the server tells in whatever order, every token is held by what a plain list says.
    #[test]
    fn as_a_plain_list(
        told in proptest::collection::vec((-20_i64..20, 1_i64..15, 0_u128..4), 0..30),
        gone in 0_u128..4,
    ) {
        let (mut naive, mut tablets) = (Naive::default(), Tablets::default());
        for (first, length, host) in told {
            naive.learn(first, first + length, host);
            tablets = tablets.with(tablet(first, first + length, host));
            prop_assert_eq!(tablets.len(), naive.0.len());
            for token in -22..37 {
                let host = tablets.of(Token(token)).map(|tablet| tablet.replicas()[0].0.as_u128());
                prop_assert_eq!(host, naive.of(token), "token {}", token);
            }
        }
        naive.0.retain(|(.., host)| *host != gone);
        let left = tablets.known(|host_id| host_id.as_u128() != gone);
        for token in -22..37 {
            prop_assert_eq!(left.of(Token(token)).is_some(), naive.of(token).is_some());
        }
    }

    /// design 6: no bytes make reading panic.
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = Tablet::read(&bytes);
    }
}
