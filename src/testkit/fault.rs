//! What a server does wrong, at which stage, and how often: plain values.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use super::{Answer, Push};

/// A step of a connection at which a fault can strike, in wire order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// The TCP connection itself.
    Tcp,
    /// The TLS handshake, on a cluster that speaks TLS.
    Tls,
    /// OPTIONS before STARTUP.
    Options,
    /// STARTUP.
    Startup,
    /// AUTH_RESPONSE.
    Auth,
    /// The read of the cluster name: a select of `cluster_name` alone from `system.local`.
    Cluster,
    /// `USE`.
    Keyspace,
    /// Any other read of `system.local`.
    Identity,
    /// REGISTER.
    Register,
    /// OPTIONS after STARTUP was answered.
    Heartbeat,
    /// A read of `system.peers` or `system.peers_v2`.
    Peers,
    /// A read of a table of `system_schema`.
    Schema,
    /// PREPARE.
    Prepare,
    /// Every other request: QUERY, EXECUTE, BATCH.
    Query,
}

/// One thing that goes wrong.
///
/// A fault is a value: it does the same thing each time it strikes. [`Fault::times`] and
/// [`Fault::after`] say how often and from when on; without them it strikes always.
///
/// ```
/// use std::time::Duration;
/// use messina::testkit::{Fault, Script, Stage};
///
/// let script = Script::new()
///     .at(Stage::Startup, Fault::Silence.times(1))      // the first STARTUP is not answered
///     .at(Stage::Startup, Fault::error(0x1001, "busy")) // every later one is refused
///     .at(Stage::Query, Fault::Delay(Duration::from_millis(20)).after(3));
/// # let _ = script;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// At [`Stage::Tcp`] the dial is refused; later the connection is reset.
    Refuse,
    /// At [`Stage::Tcp`] in a network of pipes the dial fails as the client's own system lets it fail:
    /// [`AddrNotAvailable`](io::ErrorKind::AddrNotAvailable) where no local port is left. Elsewhere as [`Refuse`](Self::Refuse).
    Fail(io::ErrorKind),
    /// The connection is reset (RST) in place of an answer.
    Reset,
    /// The connection is closed in good order (FIN) in place of an answer.
    Close,
    /// No answer, and the connection stays open. At [`Stage::Tcp`] the dial itself never ends.
    Silence,
    /// The right answer, this much later. Other requests are not held up.
    Delay(Duration),
    /// The right answer, but one after the other, each taking this long: a server that has too much to do.
    ///
    /// At [`Stage::Tcp`] and [`Stage::Tls`] a delay.
    InLine(Duration),
    /// The first half of the right answer, then nothing more on this connection.
    Half,
    /// This many bytes of the right answer, then the connection is closed.
    Cut(usize),
    /// The right answer, and then the connection is closed in good order; at [`Stage::Tls`] the handshake succeeds first.
    ThenClose,
    /// An event that nobody waits for, and then the right answer.
    ///
    /// At [`Stage::Tcp`] and [`Stage::Tls`], where there are no events, as [`Close`](Self::Close).
    EventFirst(Push),
    /// A wrong answer.
    Wrong(Wrong),
    /// This answer in place of the right one: an error, other rows, any opcode and body.
    Answer(Answer),
}

/// How an answer is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// A READY where something else is due, a SUPPORTED where READY is due.
    Opcode,
    /// The right answer on a stream that nobody asked on.
    Stream,
    /// Bytes that are no CQL at all.
    Garbage,
    /// A version error on stream 0 in the header of this protocol version.
    Version(u8),
    /// The right header, but a body length of this many bytes.
    Length(u32),
    /// The right answer with one flipped bit in its last byte: in v5 the payload check.
    Crc,
    /// A segment where a bare envelope is due, or the other way round.
    Framing,
    /// An AUTH_CHALLENGE, however often the client responds.
    Challenge,
}

impl Fault {
    /// A server ERROR with this code and text in place of the answer.
    pub fn error(code: i32, text: impl Into<String>) -> Self {
        Self::Answer(Answer::error(code, text))
    }

    /// Strikes `n` times, then no more.
    pub fn times(self, n: usize) -> Rule {
        Rule::from(self).times(n)
    }

    /// Lets the first `n` pass unharmed.
    pub fn after(self, n: usize) -> Rule {
        Rule::from(self).after(n)
    }
}

/// A fault with the number of times it strikes.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    fault: Fault,
    pass: usize,
    left: Option<usize>,
}

impl Rule {
    /// What strikes.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Strikes `n` times, then no more.
    pub fn times(mut self, n: usize) -> Self {
        self.left = Some(n);
        self
    }

    /// Lets the first `n` pass unharmed.
    pub fn after(mut self, n: usize) -> Self {
        self.pass = n;
        self
    }

    /// The fault if it always strikes: what a listener can be set to in advance.
    pub(super) fn always(&self) -> Option<&Fault> {
        (self.pass == 0 && self.left.is_none()).then_some(&self.fault)
    }
}

impl From<Fault> for Rule {
    fn from(fault: Fault) -> Self {
        Self { fault, pass: 0, left: None }
    }
}

/// The faults of one server: for each stage the rules, used up one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    rules: BTreeMap<Stage, Vec<Rule>>,
}

impl Script {
    /// No faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule behind the rules this stage has.
    pub fn at(mut self, stage: Stage, rule: impl Into<Rule>) -> Self {
        self.rules.entry(stage).or_default().push(rule.into());
        self
    }

    /// The rules of both, these first.
    pub(super) fn and(mut self, other: Self) -> Self {
        for (stage, rules) in other.rules {
            self.rules.entry(stage).or_default().extend(rules);
        }
        self
    }

    /// Puts one rule in place of the rules this stage has.
    pub(super) fn set(&mut self, stage: Stage, rule: Rule) {
        self.rules.insert(stage, vec![rule]);
    }

    pub(super) fn clear(&mut self, stage: Stage) {
        self.rules.remove(&stage);
    }

    /// The rule that holds at this stage now.
    pub(super) fn current(&self, stage: Stage) -> Option<&Rule> {
        self.rules.get(&stage)?.iter().find(|rule| rule.left != Some(0))
    }

    /// Something arrived at this stage: the fault that strikes it, if any, is counted as used.
    pub(super) fn strike(&mut self, stage: Stage) -> Option<Fault> {
        let rule = self.rules.get_mut(&stage)?.iter_mut().find(|rule| rule.left != Some(0))?;
        if rule.pass > 0 {
            rule.pass -= 1;
            return None;
        }
        if let Some(left) = &mut rule.left {
            *left -= 1;
        }
        Some(rule.fault.clone())
    }
}
