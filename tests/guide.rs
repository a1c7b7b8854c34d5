//! The guide keeps its word.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::{fs, path::Path};

/// driver 2.1: each feature names its test, or says that it is not there yet; each test that is named is there.
#[test]
fn every_feature_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("src/guide/features.md")).unwrap();
    let mut named = 0;
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<_> = row.split(" | ").collect();
        let ours = cells[1];
        let tests: Vec<_> = ours.split('`').filter_map(|word| word.split_once("::")).collect();
        let is_head = cells[0] == "| Feature" || ours.trim() == "|";
        assert!(is_head || !tests.is_empty() || ours.starts_with("not yet"), "{row}");
        for (file, test) in tests {
            let text = fs::read_to_string(root.join(format!("tests/{file}.rs")))
                .unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(text.contains(&format!("fn {test}(")), "{file}::{test}, of {}", cells[0]);
            named += 1;
        }
    }
    assert!(named > 80, "{named} tests are named");
}

/// connect 143: a page on the resolution of addresses, by the layers that do it.
/// connect 144: notes on what is different: names stay names, the option that does nothing, the fall-back and its cost, no
/// DOWN for what was never a node, one error entry per contact point, and the contract of hooks.
#[test]
fn what_the_pages_must_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide");
    let said = |page: &str, words: &[&str]| {
        let text = fs::read_to_string(root.join(page)).unwrap();
        for word in words {
            assert!(text.contains(word), "{page} does not speak of {word:?}");
        }
    };
    let layers = ["stays a name", "ResolveLayer", "ShuffleCapLayer", "FallbackLayer", "PinLayer", "250 ms"];
    said("address_resolution.md", &layers);
    let notes = [
        "keep what they got",
        "advanced.resolve-contact-points",
        "fallback-to-original-contact-points",
        "one error entry per contact point",
        "DOWN",
        "costs",
        "hook of yours",
    ];
    said("coming_from_other_drivers.md", &notes);
}
