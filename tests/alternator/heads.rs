//! How long the head of an answer may be.

use messina::alternator::BalanceOptions;
use messina::testkit::http::{HttpCluster, HttpReply};

use crate::http_support::{builder, call, ready};

/// alternator A14: an answer with a head far beyond 64 KiB is refused, though its body would be short; a shorter head is read.
#[tokio::test]
async fn a_long_head() {
    let cluster = HttpCluster::start(1).await.unwrap();
    let options = BalanceOptions::default().with_max_attempts(1);
    let alternator = ready(builder(&cluster, &[0]).balance(options)).await;
    let with_header = |length: usize| {
        let text = "x".repeat(length);
        cluster.node(0).answer(move |_| HttpReply::new(200, "{}").with_header("x-long", &text));
    };
    with_header(32 << 10);
    assert_eq!(call(&alternator, "GetItem", "{}").await.unwrap(), (200, "{}".to_owned()));
    with_header(300 << 10);
    let wrong = call(&alternator, "GetItem", "{}").await.unwrap_err();
    assert!(format!("{wrong:?}").contains("TooLarge"), "{wrong:?}");
}
