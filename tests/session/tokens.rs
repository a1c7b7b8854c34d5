//! Tokens: what a request hashes to, against another driver and against known values.

use messina::testkit::{Prime, rows};
use messina::topology::{Murmur3, Token};
use messina::{Batch, Request};
use proptest::prelude::*;
use scylla::routing::partitioner::{Murmur3Partitioner, Partitioner};

use crate::support::start;

/// driver 2.1: known tokens of the Murmur3 partitioner.
#[test]
fn known_tokens() {
    for (key, token) in [
        ("test", -6017608668500074083),
        ("xd", 4507812186440344727),
        ("primary_key", -1632642444691073360),
        ("kremówki", 4354931215268080151),
    ] {
        assert_eq!(Murmur3::token(key.as_bytes()), Token(token), "{key}");
    }
    assert_eq!(Murmur3::token(b""), Token(0));
}

proptest! {
    /// driver 2.1: any bytes, in any pieces, have the token that another driver gives them.
    #[test]
    fn tokens_are_those_of_another_driver(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let expected = Murmur3Partitioner.hash_one(&bytes).value();
        prop_assert_eq!(Murmur3::token(&bytes).0, expected);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut hasher = Murmur3::new();
        let mut done = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            hasher.write(&bytes[done..cut]);
            done = cut;
        }
        prop_assert_eq!(hasher.finish().0, expected);
    }
}

/// driver 2.1: a request has the token of its partition key, whatever the order of the markers; one whose key is not
/// bound as a whole has none.
#[tokio::test(start_paused = true)]
async fn requests_have_tokens() {
    let (cluster, session) = start(1).await;
    let one = Prime::new("SELECT v FROM ks.one WHERE id = ?").params("id int").partition_key([0]);
    let two = Prime::new("UPDATE ks.two SET v = ? WHERE b = ? AND a = ?")
        .params("v text, b text, a int")
        .partition_key([2, 1]);
    let none = Prime::new("SELECT v FROM ks.two WHERE a = ? ALLOW FILTERING").params("a int");
    for prime in [one, two, none] {
        cluster.prime(prime, rows!["v text"; ("x",)]);
    }
    let one = session.prepare("SELECT v FROM ks.one WHERE id = ?").await.unwrap();
    let token = one.bind((7,)).unwrap().token();
    assert_eq!(token, Some(Murmur3::token(&7_i32.to_be_bytes())));
    assert_eq!(one.bind((None::<i32>,)).unwrap().token(), None);

    let two = session.prepare("UPDATE ks.two SET v = ? WHERE b = ? AND a = ?").await.unwrap();
    let bound: Request = two.bind(("v", "bee", 7)).unwrap();
    assert_eq!(bound.token(), Some(Murmur3::token(b"\0\x04\0\0\0\x07\0\0\x03bee\0")));

    let none = session.prepare("SELECT v FROM ks.two WHERE a = ? ALLOW FILTERING").await.unwrap();
    assert_eq!(none.bind((7,)).unwrap().token(), None);

    let batch = Batch::unlogged().with("UPDATE ks.log SET v = 1 WHERE a = 1", ()).with(&two, ("v", "bee", 7));
    assert_eq!(session.bind_batch(&batch).await.unwrap().token(), bound.token());
}
