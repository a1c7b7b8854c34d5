//! `messina probe --alternator`.

use crate::support::probe;

/// driver 7.9: what a build cannot do is said as such, with exit code 2.
#[tokio::test]
async fn says_what_is_not_there() {
    let ran = probe(&["127.0.0.1:1", "--alternator"]).await;
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("not in this build"), "{ran:?}");
}
