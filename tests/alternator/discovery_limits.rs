//! The limits of a cycle, and what comes too late.

use std::time::Duration;

use messina::alternator::{
    discovery::{Candidate, Cycle, CycleLimits, Finding, Question, Reply, Step, Verdict},
    live_nodes::LiveNodes,
    scope::{Scope, ScopeChain},
};
use tokio::time::Instant;

use crate::{
    support::node,
    world::{
        Host::{Hangs, Lists},
        World, at, data_center, number, sorted,
    },
};

const SECOND: Duration = Duration::from_secs(1);

fn candidates(count: u8) -> Vec<Candidate> {
    (1..=count).map(|i| Candidate { node: at(i), dial: None }).collect()
}

fn cycle(chain: ScopeChain, count: u8, now: Instant) -> Cycle {
    Cycle::new(1, chain, candidates(count), CycleLimits::default(), now)
}

/// All questions that may be out now.
fn ask(cycle: &mut Cycle, now: Instant) -> Vec<Question> {
    let mut questions = Vec::new();
    while let Step::Ask(question) = cycle.step(now) {
        questions.push(question);
    }
    questions
}

fn done(cycle: &mut Cycle, now: Instant) -> Verdict {
    match cycle.step(now) {
        Step::Done(verdict) => verdict,
        other => panic!("{other:?}"),
    }
}

/// alternator A2: two or three at a time; the next is asked when one has replied.
#[test]
fn three_at_a_time() {
    let now = Instant::now();
    let mut cycle = cycle(ScopeChain::default(), 5, now);
    let first = ask(&mut cycle, now);
    assert_eq!(first.iter().map(|question| number(&question.candidate.node)).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(matches!(cycle.step(now), Step::Wait(until) if until == first[0].deadline));
    cycle.reply(first[1].ticket, Reply::Failed);
    let next = ask(&mut cycle, now);
    assert_eq!(next.iter().map(|question| number(&question.candidate.node)).collect::<Vec<_>>(), [4]);
}

/// alternator 3.5: the first list decides in a data centre; who has not replied then is neither good nor bad.
#[test]
fn first_list_decides() {
    let now = Instant::now();
    let mut cycle = cycle(data_center("one"), 5, now);
    let questions = ask(&mut cycle, now);
    cycle.reply(questions[2].ticket, Reply::Empty);
    cycle.reply(questions[0].ticket, Reply::Nodes(vec![at(1), at(2)]));
    let verdict = done(&mut cycle, now);
    let scope = Scope::data_center("one").unwrap();
    assert_eq!(verdict.finding, Finding::Nodes { scope, nodes: vec![at(1), at(2)], partial: false });
    assert_eq!((sorted(&verdict.answered), sorted(&verdict.failed)), (vec![1, 3], vec![]));
    cycle.reply(questions[1].ticket, Reply::Failed);
    assert_eq!(done(&mut cycle, now), verdict, "late replies change nothing");
}

/// alternator A2: one deadline for each attempt: what is not answered by then has failed, a late answer is dropped.
#[test]
fn deadline_of_an_attempt() {
    let now = Instant::now();
    let mut cycle = cycle(ScopeChain::default(), 2, now);
    let questions = ask(&mut cycle, now);
    assert_eq!(questions[0].deadline, now + 5 * SECOND);
    cycle.reply(questions[1].ticket, Reply::Nodes(vec![at(1), at(2)]));
    let just_before = now + 5 * SECOND - Duration::from_millis(1);
    assert!(matches!(cycle.step(just_before), Step::Wait(_)));
    let verdict = done(&mut cycle, now + 5 * SECOND);
    let scope = Scope::cluster();
    assert_eq!(verdict.finding, Finding::Nodes { scope, nodes: vec![at(2)], partial: true });
    assert_eq!(sorted(&verdict.failed), [1]);
    cycle.reply(questions[0].ticket, Reply::Nodes(vec![at(9)]));
    assert_eq!(done(&mut cycle, now + 6 * SECOND), verdict);
}

/// alternator A2: one deadline for the cycle, whatever hangs.
/// alternator 3.5: the time is divided over scopes and hosts, so that all of them are asked.
/// alternator 3.2: a host that hangs does not stall discovery.
#[test]
fn deadline_of_the_cycle() {
    let chain = data_center("one").then(Scope::data_center("two").unwrap()).unwrap().then(Scope::cluster()).unwrap();
    let mut world = World::new(&[], chain, (1..=30).map(|i| (i, Hangs)));
    world.seeds = (1..=30).map(at).collect();
    let from = world.now;
    assert_eq!(world.verdict().finding, Finding::Silence);
    assert!(world.now - from <= 30 * SECOND, "{:?}", world.now - from);
    assert_eq!(world.asked().len(), 90, "every host in every scope");
    world.set(30, Lists(vec![30]));
    assert_eq!(world.routes(), [30]);
}

/// alternator A2: when the cycle's time is over, what was listed so far counts.
#[test]
fn out_of_time() {
    let now = Instant::now();
    let limits = CycleLimits::default().with_cycle(SECOND).with_parallel(0).with_attempt(SECOND);
    let mut cycle = Cycle::new(1, ScopeChain::default(), candidates(3), limits, now);
    let question = ask(&mut cycle, now).remove(0);
    cycle.reply(question.ticket, Reply::Nodes(vec![at(1), at(2), at(3)]));
    let question = ask(&mut cycle, now).remove(0);
    assert!(question.deadline < now + SECOND, "not all of what is left");
    let verdict = done(&mut cycle, now + SECOND);
    let scope = Scope::cluster();
    assert_eq!(verdict.finding, Finding::Nodes { scope, nodes: vec![at(1), at(3)], partial: true });
}

/// alternator 3.7: a first list is there before a seed that hangs has used up its time.
#[test]
fn list_so_far() {
    let now = Instant::now();
    let chain = ScopeChain::default();
    let mut cycle = cycle(chain.clone(), 2, now);
    let questions = ask(&mut cycle, now);
    assert_eq!(cycle.so_far(), None);
    cycle.reply(questions[1].ticket, Reply::Nodes(vec![at(2), at(3)]));
    let verdict = cycle.so_far().unwrap();
    let start = LiveNodes::new([at(1), at(2)], &chain);
    let (live, _) = start.apply(&verdict).unwrap();
    assert_eq!(sorted(live.routing().iter()), [2, 3]);
    cycle.reply(questions[0].ticket, Reply::Nodes(vec![at(1)]));
    let (live, change) = live.apply(&done(&mut cycle, now)).unwrap();
    assert_eq!((sorted(live.routing().iter()), sorted(&change.added)), (vec![1, 2, 3], vec![1]));
    assert_eq!(cycle.so_far(), None, "the verdict is there");
}

/// alternator 3.2: without anybody to ask a cycle ends at once.
#[test]
fn nobody_to_ask() {
    let now = Instant::now();
    assert_eq!(done(&mut cycle(ScopeChain::default(), 0, now), now).finding, Finding::Silence);
}

/// alternator 3.5: hosts whose lists name only hosts that failed are no reason to send requests there.
#[test]
fn only_failed_ones_listed() {
    let now = Instant::now();
    let mut cycle = cycle(data_center("one"), 2, now);
    let questions = ask(&mut cycle, now);
    cycle.reply(questions[0].ticket, Reply::Failed);
    cycle.reply(questions[1].ticket, Reply::Nodes(vec![at(1)]));
    assert_eq!(done(&mut cycle, now).finding, Finding::Unclear);
}

/// alternator A5: a listed name counts as failed when all of its addresses failed, not when one of them did.
#[test]
fn names_with_failed_addresses() {
    let now = Instant::now();
    let name = node("http://db.example.com:8000");
    let addressed = |i| Candidate { node: name.clone(), dial: Some(([10, 0, 0, i], 8000).into()) };
    for (second, kept) in [(Reply::Failed, 1), (Reply::Empty, 2)] {
        let all = vec![addressed(1), addressed(2), Candidate { node: at(3), dial: None }];
        let mut cycle = Cycle::new(1, ScopeChain::default(), all, CycleLimits::default(), now);
        let questions = ask(&mut cycle, now);
        cycle.reply(questions[0].ticket, Reply::Failed);
        cycle.reply(questions[1].ticket, second);
        cycle.reply(questions[2].ticket, Reply::Nodes(vec![name.clone(), at(3)]));
        let Finding::Nodes { nodes, .. } = done(&mut cycle, now).finding else { panic!("no nodes") };
        assert_eq!(nodes.len(), kept, "{nodes:?}");
    }
}
