//! How a failed connect is to be taken, and what errors say.

use std::{error::Error, io, sync::Arc};

use messina_layers::{
    Address, AttemptError, BoxError, Class, ConnectError, FailedAttempt, Panicked, Scope, Stage, TimedOut, error::chain,
};
use proptest::prelude::*;

use crate::support::{addr, db, number, secs};

/// One letter per attempt: ordinary, auth, forces down, terminal.
fn failures(letters: &str) -> Vec<FailedAttempt> {
    let attempt = |(i, letter): (usize, char)| {
        let error = AttemptError::new(Stage::new("step"), letter.to_string());
        let error = match letter {
            'o' => error,
            'a' => error.with_scope(Scope::Suspect),
            'f' => error.forcing_down(),
            't' => error.with_scope(Scope::Endpoint),
            _ => unreachable!(),
        };
        FailedAttempt::new(addr(i as u8 + 1), error, secs(1))
    };
    letters.chars().enumerate().map(attempt).collect()
}

fn exhausted(letters: &str) -> ConnectError {
    ConnectError::Exhausted { target: db(), failed: failures(letters) }
}

fn surfaced(error: &ConnectError) -> String {
    error.surfaced().map_or_else(String::new, |attempt| attempt.error.cause().to_string())
}

/// connect 57: the mixture table.
/// connect D11: terminal, else auth, else forces down only if all do, else ordinary.
/// scenario S14: auth then timeout is classed by the list, not by the last.
/// reviewer 34: the whole list is classified.
#[test]
fn the_mixture_table() {
    for (letters, class, telling) in [
        ("o", Class::Ordinary, "o"),
        ("a", Class::Auth, "a"),
        ("f", Class::ForcesDown, "f"),
        ("ao", Class::Auth, "a"),
        ("fo", Class::Ordinary, "o"),
        ("fa", Class::Auth, "a"),
        ("ff", Class::ForcesDown, "f"),
        ("ofat", Class::Terminal, "t"),
    ] {
        let error = exhausted(letters);
        assert_eq!((error.class(), surfaced(&error).as_str()), (class, telling), "{letters}");
    }
}

proptest! {
    /// connect 37: the same failures in any order: the same class.
    #[test]
    fn the_class_does_not_depend_on_order(letters in "[oaft]{1,6}", seed in any::<u64>()) {
        let mut shuffled: Vec<char> = letters.chars().collect();
        shuffled.sort_by_key(|letter| u64::from(*letter).wrapping_mul(seed | 1).rotate_left(17));
        let permuted: String = shuffled.into_iter().collect();
        let (one, other) = (exhausted(&letters), exhausted(&permuted));
        prop_assert_eq!(one.class(), other.class());
        prop_assert_eq!(surfaced(&one), surfaced(&other));
    }
}

#[test]
fn a_connect_that_tried_nothing_is_ordinary() {
    let error = ConnectError::NoAddress { target: db() };
    assert_eq!((error.class(), error.surfaced().is_none(), error.untried()), (Class::Ordinary, true, 0));
    assert!(error.source().is_none() && error.failed().is_empty());
}

#[derive(Debug)]
struct Wrapped(BoxError);

impl std::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("wrapped")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

fn terminal() -> AttemptError {
    AttemptError::new(Stage::TLS, "no settings").with_scope(Scope::Endpoint)
}

/// Whoever knows better makes an `AttemptError`; layers of others do not hide it.
#[test]
fn an_attempt_error_comes_back_from_inside_others() {
    let wrappings: [BoxError; 4] = [
        terminal().into(),
        Wrapped(terminal().into()).into(),
        io::Error::other(terminal()).into(),
        Wrapped(io::Error::other(Wrapped(terminal().into())).into()).into(),
    ];
    for error in wrappings {
        let text = format!("{error:?}");
        let error = AttemptError::from_box(error, Stage::TCP);
        assert_eq!((error.stage(), error.scope()), (Stage::TLS, Scope::Endpoint), "{text}");
    }
    let unknown = AttemptError::from_box("anything".into(), Stage::TCP);
    assert_eq!((unknown.stage(), unknown.scope(), unknown.forces_down()), (Stage::TCP, Scope::Candidate, false));
}

/// connect 52: an `io::Error` is ordinary, whoever wraps it.
/// Our own descriptors exhausted is not: every address would fail so.
#[cfg(unix)]
#[test]
fn descriptors_exhausted_hold_for_every_address() {
    for (number, scope) in [(24, Scope::Endpoint), (23, Scope::Endpoint), (111, Scope::Candidate)] {
        let plain = AttemptError::from_box(io::Error::from_raw_os_error(number).into(), Stage::TCP);
        let wrapped = Wrapped(io::Error::from_raw_os_error(number).into());
        let wrapped = AttemptError::from_box(wrapped.into(), Stage::TCP);
        assert_eq!((plain.scope(), wrapped.scope()), (scope, scope), "{number}");
    }
}

#[test]
fn a_connect_error_comes_back_from_inside_others() {
    let unused = || -> Address { unreachable!() };
    let wrappings: [BoxError; 3] =
        [exhausted("ao").into(), Wrapped(exhausted("ao").into()).into(), io::Error::other(exhausted("ao")).into()];
    for error in wrappings {
        let error = ConnectError::from_box(error, unused);
        assert_eq!((error.class(), error.failed().len()), (Class::Auth, 2));
    }
    let other = ConnectError::from_box("anything".into(), db);
    assert!(matches!(other, ConnectError::NotReady { .. }));
    assert_eq!(other.report().to_string(), "connecting to db.test:9042 failed because its stack broke: anything");
}

/// No sentence repeats its cause; a chain says each thing once.
#[test]
fn errors_say_each_thing_once() {
    let attempt = FailedAttempt::new(addr(1), AttemptError::new(Stage::TCP, TimedOut::new(secs(5))), secs(5));
    assert_eq!(attempt.to_string(), "10.0.0.1:9042 failed at the tcp step after 5.0s");
    assert_eq!(chain(&attempt).to_string(), "10.0.0.1:9042 failed at the tcp step after 5.0s: no answer within 5s");
    assert_eq!(attempt.error.to_string(), "the tcp step failed");
    assert_eq!(attempt.error.find::<TimedOut>(), Some(&TimedOut::new(secs(5))));
    assert!(attempt.error.find::<Panicked>().is_none());
    assert_eq!(TimedOut::new(secs(5)).limit(), secs(5));

    let error = ConnectError::Exhausted { target: db(), failed: vec![attempt] };
    let lines = chain(&error).to_string();
    assert_eq!(lines.matches("10.0.0.1").count(), 1, "{lines}");
    assert_eq!(lines.matches("no answer").count(), 1, "{lines}");

    let shared: Arc<ConnectError> = Arc::new(error);
    assert_eq!(number(shared.failed()[0].addr), 1);
    assert_eq!(format!("{:>6}|{:?}", Stage::TLS, Stage::new("mine")), "   tls|Stage(mine)");
}
