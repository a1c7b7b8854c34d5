//! Finding out the partition key's name of a table.

use std::time::Duration;

use messina::alternator::affinity::{KeyName, KeyNames, LookupError, LookupOptions};
use tokio::time::Instant;

const COOLDOWN: Duration = Duration::from_secs(300);

fn names() -> KeyNames {
    KeyNames::new(LookupOptions::default().with_seed(1))
}

/// alternator 6.2: a miss is asked for once per table at a time; what was found is known.
#[test]
fn asked_for_once() {
    let now = Instant::now();
    let mut names = names();
    assert_eq!(names.look_up("t", now), KeyName::Ask("t".into()));
    assert_eq!(names.look_up("t", now), KeyName::Unknown, "one at a time");
    assert_eq!(names.look_up("u", now), KeyName::Ask("u".into()), "per table");
    names.found("t", "pk");
    assert_eq!(names.look_up("t", now), KeyName::Known("pk".into()));
    assert_eq!(names.look_up("u", now), KeyName::Unknown);
    assert_eq!(names.look_up("", now), KeyName::Unknown, "no table, no question");
}

/// alternator 6.2: a table is the same under its name and under its ARN.
#[test]
fn arn() {
    let now = Instant::now();
    let mut names = names();
    let arns = ["arn:aws:dynamodb:us-east-1:123456789012:table/t", "arn:scylla:alternator:ks:scylla:table/t/index/i"];
    assert_eq!(names.look_up(arns[0], now), KeyName::Ask("t".into()));
    assert_eq!(names.look_up("t", now), KeyName::Unknown);
    names.found(arns[1], "pk");
    for table in ["t", arns[0], arns[1]] {
        assert_eq!(names.look_up(table, now), KeyName::Known("pk".into()));
    }
    let mut given = self::names().with_given(arns[0], "own").unwrap();
    assert_eq!(given.look_up("t", now), KeyName::Known("own".into()));
}

/// alternator 6.2: a name the user gives is never asked for; an empty one is refused when it is given.
/// alternator 8: an empty table name or key is refused (JS 37, 44).
#[test]
fn given() {
    let now = Instant::now();
    let mut names = names().with_given("t", "pk").unwrap();
    names.forget("t");
    assert_eq!(names.failed("t", LookupError::Permanent, now), None);
    assert_eq!(names.look_up("t", now), KeyName::Known("pk".into()));
    for (table, attribute) in [("", "pk"), ("t", ""), ("arn:aws:dynamodb:r:1:table/", "pk")] {
        let error = self::names().with_given(table, attribute).unwrap_err();
        assert!(error.to_string().contains(&format!("{table:?}")), "{error}");
    }
}

/// alternator 6.2: after a failure that stays, five minutes of rest.
#[test]
fn permanent_failures() {
    let now = Instant::now();
    let mut names = names();
    names.look_up("t", now);
    assert_eq!(names.failed("t", LookupError::Permanent, now), None, "no other try");
    assert_eq!(names.look_up("t", now + COOLDOWN - Duration::from_millis(1)), KeyName::Unknown);
    assert_eq!(names.look_up("t", now + COOLDOWN), KeyName::Ask("t".into()));
    for status in [400, 403, 404, 413] {
        assert_eq!(LookupError::of_status(status), LookupError::Permanent, "{status}");
    }
    for status in [429, 500, 502, 503, 504] {
        assert_eq!(LookupError::of_status(status), LookupError::Transient, "{status}");
    }
}

/// alternator 6.2: a failure that may pass is tried again, four times in all, and then without a rest.
/// alternator 2.2: from 100 milliseconds, doubling, varied by 20 %.
#[test]
fn transient_failures() {
    let now = Instant::now();
    let mut names = names();
    names.look_up("t", now);
    for expected in [100, 200, 400] {
        let delay = names.failed("t", LookupError::Transient, now).unwrap().as_millis();
        assert!((expected * 8 / 10..=expected * 12 / 10).contains(&delay), "{delay} for {expected}");
        assert_eq!(names.look_up("t", now), KeyName::Unknown, "still under way");
    }
    assert_eq!(names.failed("t", LookupError::Transient, now), None);
    assert_eq!(names.look_up("t", now), KeyName::Ask("t".into()), "no rest");
    let mut once = KeyNames::new(LookupOptions::default().with_tries(0));
    once.look_up("t", now);
    assert_eq!(once.failed("t", LookupError::Transient, now), None);
}

/// alternator 6.2: a table created anew may have another key: what is known is forgotten, a late answer dropped.
#[test]
fn forgotten() {
    let now = Instant::now();
    let mut names = names();
    names.look_up("t", now);
    names.found("t", "old");
    names.forget("t");
    names.found("t", "old");
    assert_eq!(names.look_up("t", now), KeyName::Ask("t".into()));
    names.found("t", "new");
    assert_eq!(names.look_up("t", now), KeyName::Known("new".into()));
    assert_eq!(names.failed("t", LookupError::Transient, now), None, "nothing under way");
    assert_eq!(names.look_up("t", now), KeyName::Known("new".into()));
}

/// alternator 6.2: what is remembered is bounded; tables that rest no longer make room.
#[test]
fn bounded() {
    let now = Instant::now();
    let mut names = names();
    for i in 0..10_000 {
        names.look_up(&format!("t{i}"), now);
    }
    assert_eq!(names.look_up("more", now), KeyName::Unknown);
    names.failed("t7", LookupError::Permanent, now);
    assert_eq!(names.look_up("more", now + COOLDOWN), KeyName::Ask("more".into()));
}
