//! `messina demo`: ends by itself, and its exit code says whether every step held.

use crate::support::{messina, messina_with};

/// connect 117, report 1: on one screen: dead addresses are passed over, killed nodes and a moved name are survived.
#[tokio::test]
async fn every_step_holds() {
    let ran = messina(["demo"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("Every step held."), "{ran:?}");
    for said in ["given up: another address won", "is down", "moved from", "every node is connected again within"] {
        assert!(ran.out.contains(said), "{said}: {ran:?}");
    }
}

/// Where a system has no loopback address but one, nodes differ by port, and every step holds all the same.
#[tokio::test]
async fn every_step_holds_on_one_address() {
    let ran = messina_with(["demo"], &[("MESSINA_DEMO_ONE_ADDRESS", "1")]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("127.0.0.1:") && ran.out.contains("Every step held."), "{ran:?}");
}
