//! `messina demo`: ends by itself, and its exit code says whether every step held.

use crate::support::messina;

/// connect 117, report 1: on one screen: dead addresses are passed over, killed nodes and a moved name are survived.
#[tokio::test]
async fn every_step_holds() {
    let ran = messina(["demo"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("Every step held."), "{ran:?}");
}
