//! Texts of peers, as they are printed.

use std::{fmt, sync::Arc, time::Duration};

use messina_layers::{
    Address, AttemptError, ConnectError, Stage,
    error::{FailedAttempt, chain, printable},
};

/// An error with this text, and one that caused it.
#[derive(Debug)]
struct Said(String, Option<Box<Said>>);

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Said {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.1.as_deref().map(|error| error as _)
    }
}

/// report 23: causes stand on one line, whatever a peer put into its text.
#[test]
fn control_characters_are_escaped() {
    let said = "two\nlines\r\u{1b}[2J\u{7}\0\u{9b}\u{2028}\u{202e}";
    let error = Said(said.into(), Some(Box::new(Said("tab\there, \"quoted\", bücher \\n".into(), None))));
    assert_eq!(
        chain(&error).to_string(),
        "two\\nlines\\r\\u{1b}[2J\\u{7}\\u{0}\\u{9b}\\u{2028}\\u{202e}: tab\\there, \"quoted\", bücher \\n"
    );
    assert_eq!(printable("plain").to_string(), "plain");

    let target: Address = "10.0.0.1:9042".parse().unwrap();
    let attempt = AttemptError::new(Stage::HANDSHAKE, error);
    let failed = vec![FailedAttempt::new("10.0.0.1:9042".parse().unwrap(), attempt, Duration::ZERO)];
    let report = ConnectError::Exhausted { target: target.clone(), failed }.report().to_string();
    assert_eq!(report.lines().count(), 2, "{report:?}");
    let source = Arc::new(Said("a\u{1b}b".into(), None));
    let report = ConnectError::Resolve { target, source, elapsed: Duration::ZERO }.report().to_string();
    assert!(report.ends_with("a\\u{1b}b"), "{report:?}");
}

/// report 23: and are not longer than can be read.
#[test]
fn long_texts_are_cut() {
    let fits = "ü".repeat(500);
    assert_eq!(printable(&fits).to_string(), fits);
    let long = "ü".repeat(60_000);
    let error = Said(long.clone(), Some(Box::new(Said(format!("{long}!"), None))));
    let cut = |length: usize| format!("{fits}... (the first 500 of {length} characters)");
    assert_eq!(chain(&error).to_string(), format!("{}: {}", cut(60_000), cut(60_001)));
}
