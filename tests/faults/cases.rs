//! The faults of each stage, and what must come of them.

use std::{io::ErrorKind, time::Duration};

use messina::testkit::{Answer, Fault, Rule, Wrong, rows};

use crate::{
    given::{Given, asks_for_a_login, asks_for_no_login, does_not_compress, event, no_routes},
    support::LIMIT,
};

/// What must come of a fault at the first contact.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expect {
    /// Nothing but a delay.
    Fine(Duration),
    /// The address fails at this stage, after this long and so many dials.
    Fails { at: &'static str, after: Duration, dials: usize },
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) rule: Rule,
    pub(crate) expect: Expect,
    pub(crate) given: Given,
}

/// A limit as cases write it.
const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Case {
    fn given(mut self, given: Given) -> Self {
        self.given = given;
        self
    }

    /// Whether a version is refused: down a ladder where the node is not known, at once and for good where it is.
    pub(crate) fn refuses_version(&self) -> bool {
        matches!(self.expect, Expect::Fails { dials: 3, .. })
    }

    /// The stage at which the address fails, and after how long.
    pub(crate) fn failure(&self) -> Option<(&'static str, Duration)> {
        match self.expect {
            Expect::Fine(_) => None,
            Expect::Fails { at, after, .. } => Some((at, after)),
        }
    }

    /// How much later an address that does not fail lets us in.
    pub(crate) fn delay(&self) -> Duration {
        match self.expect {
            Expect::Fine(delay) => delay,
            Expect::Fails { .. } => Duration::ZERO,
        }
    }

    /// The cause must say what was wrong.
    pub(crate) fn told(&self, at: &str, cause: &str) -> Result<(), String> {
        let tls = at == "tls";
        let in_the_open = ["options", "startup"].contains(&at);
        let word = match self.rule.fault() {
            Fault::Refuse | Fault::Reset => "connection re",
            Fault::Fail(_) => "address not available",
            Fault::ThenClose => "the peer closed it",
            Fault::Answer(answer) if *answer == asks_for_a_login() => "(Some.Authenticator), but no credentials",
            Fault::Close | Fault::Cut(_) if tls => "handshake eof",
            Fault::Close | Fault::Cut(0) => "the peer closed it",
            Fault::Cut(_) => "in the middle of an answer",
            Fault::Silence | Fault::Half | Fault::Delay(_) => "no answer within 5s",
            Fault::Wrong(Wrong::Garbage) if tls => "corrupt message",
            Fault::Wrong(Wrong::Garbage) if in_the_open => "this looks like HTTP",
            Fault::Wrong(Wrong::Garbage | Wrong::Crc) => "checksum mismatch in a segment's",
            Fault::Wrong(Wrong::Stream) => "on stream 341, where nothing was asked",
            Fault::Wrong(Wrong::Length(length)) if *length > 1 << 28 => "more than the limit of 268435456",
            Fault::Wrong(Wrong::Version(_)) => "protocol version",
            Fault::Wrong(Wrong::Challenge) => "challenge",
            Fault::Wrong(_) => "",
            _ => TEXTS.into_iter().find(|text| format!("{:?}", self.rule).contains(text)).unwrap_or_default(),
        };
        match cause.contains(word) && !cause.is_empty() {
            true => Ok(()),
            false => Err(format!("the cause is {cause:?}, without {word:?}")),
        }
    }
}

/// What servers say in these cases.
const TEXTS: [&str; 8] = [
    "boom",
    "too much to do",
    "still joining",
    "no such code",
    "wrong password",
    "does not exist",
    "Unknown compression algorithm",
    "CLIENT_ROUTES_CHANGE",
];

const NOW: Duration = Duration::ZERO;

fn fails(rule: impl Into<Rule>, at: &'static str, after: Duration) -> Case {
    Case { rule: rule.into(), expect: Expect::Fails { at, after, dials: 1 }, given: Given::Login }
}

fn fine(rule: impl Into<Rule>, after: Duration) -> Case {
    Case { rule: rule.into(), expect: Expect::Fine(after), given: Given::Login }
}

pub(crate) fn tcp() -> Vec<Case> {
    vec![
        fails(Fault::Refuse, "tcp", NOW),
        // No local port is left.
        fails(Fault::Fail(ErrorKind::AddrNotAvailable), "tcp", NOW),
        fails(Fault::Silence, "tcp", LIMIT),
        fails(Fault::Delay(LIMIT + millis(1)), "tcp", LIMIT),
        fine(Fault::Delay(millis(100)).times(1), millis(100)),
        fails(Fault::Reset, "options", NOW),
        fails(Fault::Close, "options", NOW),
        fails(Fault::Half, "options", LIMIT),
        fails(Fault::Cut(0), "options", NOW),
        fails(Fault::Wrong(Wrong::Garbage), "options", NOW),
    ]
}

pub(crate) fn tls() -> Vec<Case> {
    vec![
        fails(Fault::Refuse, "tls", NOW),
        fails(Fault::Reset, "tls", NOW),
        fails(Fault::Close, "tls", NOW),
        fails(Fault::ThenClose, "options", NOW),
        fails(Fault::Silence, "tls", LIMIT),
        fails(Fault::Half, "tls", LIMIT),
        fails(Fault::Cut(0), "tls", NOW),
        fails(Fault::Cut(40), "tls", NOW),
        fails(Fault::Wrong(Wrong::Garbage), "tls", NOW),
        fails(Fault::Delay(LIMIT + millis(1)), "tls", LIMIT),
        fine(Fault::Delay(millis(100)).times(1), millis(100)),
    ]
}

/// What goes wrong in the same way wherever a request waits for its answer.
fn common(at: &'static str) -> Vec<Case> {
    let mut cases: Vec<Case> = [
        Fault::Refuse,
        Fault::Reset,
        Fault::Close,
        Fault::Cut(0),
        Fault::Cut(5),
        Fault::Wrong(Wrong::Garbage),
        Fault::Wrong(Wrong::Stream),
        Fault::Wrong(Wrong::Opcode),
        Fault::Wrong(Wrong::Length(0x2000_0000)),
        Fault::Wrong(Wrong::Length(u32::MAX)),
        Fault::Wrong(Wrong::Framing),
        Fault::Answer(Answer::raw(0x7F, [])),
        Fault::Answer(Answer::raw(0x00, [])),
        Fault::Answer(Answer::void()),
        Fault::error(0x0000, "boom"),
        Fault::error(0x1001, "too much to do"),
        Fault::error(0x1002, "still joining"),
        Fault::error(0x7777, "no such code"),
    ]
    .map(|fault| fails(fault, at, NOW))
    .into();
    cases.extend([
        fails(Fault::Silence, at, LIMIT),
        fails(Fault::Half, at, LIMIT),
        fails(Fault::Delay(LIMIT + millis(1)), at, LIMIT),
        fine(Fault::Delay(millis(100)).times(1), millis(100)),
    ]);
    cases
}

/// An answer that never comes whole: in a segment it is damage, in the open it may still come.
fn unfinished(at: &'static str, in_segments: bool) -> [Case; 2] {
    let after = if in_segments { NOW } else { LIMIT };
    [fails(Fault::Wrong(Wrong::Length(4096)), at, after), fails(Fault::Wrong(Wrong::Length(1 << 20)), at, after)]
}

/// A refusal of every version: down the ladder on this address, then the next one.
fn version_refused(at: &'static str) -> Case {
    let expect = Expect::Fails { at, after: NOW, dials: 3 };
    Case { rule: Fault::Wrong(Wrong::Version(5)).into(), expect, given: Given::Login }
}

pub(crate) fn options() -> Vec<Case> {
    let mut cases = common("options");
    cases.extend(unfinished("options", false));
    cases.extend([
        version_refused("options"),
        fails(Fault::ThenClose, "startup", NOW),
        fine(event(), NOW),
        fine(Fault::Answer(does_not_compress()), NOW).given(Given::Compression),
    ]);
    cases
}

pub(crate) fn startup() -> Vec<Case> {
    let mut cases = common("startup");
    cases.extend(unfinished("startup", false));
    cases.extend([
        version_refused("startup"),
        fails(Fault::ThenClose, "auth", NOW),
        fine(event(), NOW),
        // Asks for a login where none is configured, and for none where one is.
        fails(Fault::Answer(asks_for_a_login()), "auth", NOW).given(Given::NoLogin),
        fine(Fault::Answer(asks_for_no_login()), NOW),
        // Refuses what it offered.
        fails(Fault::error(0x000A, "Unknown compression algorithm: lz4"), "startup", NOW).given(Given::Compression),
    ]);
    cases
}

pub(crate) fn auth() -> Vec<Case> {
    let mut cases = common("auth");
    cases.extend(unfinished("auth", true));
    cases.extend([
        fails(Fault::ThenClose, "cluster", NOW),
        fine(event(), NOW),
        fails(Fault::error(0x0100, "wrong password"), "auth", NOW),
        fails(Fault::Wrong(Wrong::Challenge), "auth", NOW),
        fails(Fault::Wrong(Wrong::Crc), "auth", NOW),
    ]);
    cases
}

pub(crate) fn cluster() -> Vec<Case> {
    let mut cases = common("cluster");
    cases.extend(unfinished("cluster", true));
    cases.extend([
        fails(Fault::ThenClose, "keyspace", NOW),
        fine(event(), NOW),
        fails(Fault::Wrong(Wrong::Crc), "cluster", NOW),
        fails(Fault::Answer(rows!["cluster_name text"].into()), "cluster", NOW),
        fails(Fault::Answer(rows!["cluster_name text"; (None::<&str>,)].into()), "cluster", NOW),
        fails(Fault::Answer(rows!["cluster_name int"; (7,)].into()), "cluster", NOW),
    ]);
    cases
}

pub(crate) fn keyspace() -> Vec<Case> {
    let mut cases = common("keyspace");
    cases.extend(unfinished("keyspace", true));
    cases.extend([
        fails(Fault::Wrong(Wrong::Crc), "keyspace", NOW),
        fails(Fault::error(0x2200, "Keyspace 'ks' does not exist"), "keyspace", NOW),
    ]);
    cases
}

pub(crate) fn identity() -> Vec<Case> {
    let mut cases = common("identity");
    cases.extend(unfinished("identity", true));
    cases.extend([
        fails(Fault::ThenClose, "register", NOW),
        fine(event(), NOW),
        fails(Fault::Wrong(Wrong::Crc), "identity", NOW),
        fails(Fault::Wrong(Wrong::Version(5)), "identity", NOW),
        fails(Fault::Answer(rows!["host_id uuid"].into()), "identity", NOW),
        fails(Fault::Answer(rows!["host_id text"; ("not an id",)].into()), "identity", NOW),
        fails(Fault::Answer(rows!["data_center text"; ("dc1",)].into()), "identity", NOW),
    ]);
    cases
}

pub(crate) fn register() -> Vec<Case> {
    let mut cases = common("register");
    cases.extend(unfinished("register", true));
    cases.extend([
        fine(event(), NOW),
        // About an event that nobody asked for; about one that was asked for, and again after it is not any more.
        fails(no_routes(), "register", NOW),
        fails(no_routes(), "register", NOW).given(Given::Routes),
        fine(no_routes().times(1), NOW).given(Given::Routes),
        fails(Fault::Wrong(Wrong::Crc), "register", NOW),
        fails(Fault::Wrong(Wrong::Version(5)), "register", NOW),
        fails(Fault::error(0x000A, "Invalid value 'SCHEMA_CHANGE' for Type"), "register", NOW),
        fine(Fault::error(0x000A, "Invalid value 'SCHEMA_CHANGE' for Type").times(1), NOW),
    ]);
    cases
}
