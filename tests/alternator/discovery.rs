//! Whose lists are believed: seeds, responders, failed hosts, empty answers.

use messina::alternator::{
    discovery::{Finding, Reply},
    live_nodes::{Basis, NoRoute},
    localnodes::{BodyError, Listed},
    scope::{Scope, ScopeChain},
};

use crate::{
    support::node,
    world::{Host::*, World, at, data_center, number, sorted},
};

fn all(nodes: &[u8]) -> crate::world::Host {
    Lists(nodes.to_vec())
}

/// alternator 3.8.1: a seed that dies leaves with the first cycle that somebody answers, and comes back with its list.
/// alternator A3: it is never put back after a successful cycle, and stays somebody to ask.
#[test]
fn dead_seed_leaves() {
    let mut world = World::new(
        &[1, 2, 3],
        ScopeChain::default(),
        [(1, all(&[1, 2, 3])), (2, all(&[1, 2, 3])), (3, all(&[1, 2, 3]))],
    );
    assert_eq!(sorted(world.live.routing().iter()), [1, 2, 3], "the seeds, before anything is discovered");
    assert_eq!(world.routes(), [1, 2, 3]);
    world.set(1, Refuses);
    world.set(2, all(&[2, 3]));
    world.set(3, all(&[2, 3]));
    for _ in 0..5 {
        assert_eq!(world.routes(), [2, 3]);
        assert!(world.asked().contains(&1), "it is asked still");
    }
    world.set(1, all(&[1, 2, 3]));
    assert_eq!(world.routes(), [1, 2, 3]);
}

/// alternator 3.8.2: a seed dead from the start does not keep the others back.
#[test]
fn dead_from_the_start() {
    for chain in [ScopeChain::default(), data_center("one")] {
        let mut world = World::new(&[1, 2], chain, [(2, all(&[2, 3])), (3, all(&[2, 3]))]);
        assert_eq!(world.routes(), [2, 3]);
    }
}

/// alternator 3.8.3: all dead, then one comes back that is no seed: the nodes last known are asked.
/// alternator A3: if nobody answers, the seeds are restored, quarantined, beside the nodes last known.
#[test]
fn all_dead_then_one_known() {
    let mut world = World::new(&[1], ScopeChain::default(), [(1, all(&[2, 3])), (2, all(&[2, 3])), (3, all(&[2, 3]))]);
    assert_eq!(world.routes(), [2, 3], "and the seed is not among them");
    world.hosts.clear();
    let change = world.cycle();
    assert_eq!(sorted(world.live.routing().iter()), [1, 2, 3]);
    assert_eq!((world.live.basis(), change.rebased), (&Basis::LastResort, true));
    assert_eq!((sorted(&change.added), sorted(&change.quarantined)), (vec![1], vec![1]));
    let again = world.cycle();
    assert_eq!(again, Default::default(), "nothing changes while it stays so");
    world.set(3, all(&[3]));
    assert_eq!(world.routes(), [3], "and the seed is gone again");
    assert_eq!(*world.live.basis(), Basis::Scope(Scope::cluster()));
}

/// alternator 3.8.4: all dead and all addresses new: the seed's name leads to them.
/// alternator 3.8.5: of the addresses of a name each is tried, in every cycle anew.
/// alternator 8: a name with several addresses (J 144; ALB 14, 105, 106).
#[test]
fn names() {
    let seed = node("http://db.example.com:8000");
    let mut world =
        World::with_seeds(vec![seed.clone()], ScopeChain::default(), [(2, all(&[2, 3])), (3, all(&[2, 3]))]);
    world.names.insert("db.example.com".to_owned(), vec![1, 2]);
    assert!(world.candidates().iter().all(|candidate| candidate.node == seed && candidate.dial.is_some()));
    assert_eq!(world.routes(), [2, 3]);
    world.hosts = [(7, all(&[7, 8])), (8, all(&[7, 8]))].into();
    world.names.insert("db.example.com".to_owned(), vec![7]);
    assert_eq!(world.routes(), [7, 8]);
}

/// alternator A1: at most eight addresses of a name in one cycle, not always the same ones; an address known already is
/// asked once.
#[test]
fn eight_addresses() {
    let mut world = World::with_seeds(vec![node("http://db:8000")], ScopeChain::default(), []);
    world.names.insert("db".to_owned(), (1..=50).collect());
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..50 {
        let hosts: Vec<_> = world.candidates().iter().map(|candidate| number(&candidate.host())).collect();
        assert_eq!(hosts.len(), 8);
        seen.extend(hosts);
    }
    assert!(seen.len() > 40, "{}", seen.len());
    world.names.insert("db".to_owned(), vec![1, 2]);
    world.set(1, all(&[1, 3]));
    world.set(3, all(&[1, 3]));
    assert_eq!(world.routes(), [1, 3]);
    let mut hosts: Vec<_> = world.candidates().iter().map(|candidate| number(&candidate.host())).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, [1, 2, 3]);
}

/// alternator A4: who answers without listing itself takes no requests, and is asked in later cycles.
#[test]
fn responder_missing_from_its_list() {
    for chain in [ScopeChain::default(), data_center("one")] {
        let mut world = World::new(&[1], chain, [(1, all(&[2])), (2, all(&[3])), (3, all(&[3]))]);
        world.cycle();
        world.seeds.clear();
        world.hosts.remove(&1);
        world.cycle();
        assert_eq!(sorted(world.live.routing().iter()), [3], "neither the seed nor 2");
        world.set(2, all(&[2, 3]));
        world.set(3, Refuses);
        assert_eq!(world.routes(), [2], "2 was remembered");
    }
}

/// alternator A5: a host that failed in this cycle is left out though another lists it, and returns quarantined.
/// alternator A8: it stays somebody to ask.
#[test]
fn failed_but_listed() {
    let list = all(&[1, 2, 3]);
    let mut world = World::new(&[1], ScopeChain::default(), [(1, list.clone()), (2, list.clone()), (3, list.clone())]);
    world.cycle();
    world.set(3, Refuses);
    let change = world.cycle();
    assert_eq!((sorted(world.live.routing().iter()), sorted(&change.removed)), (vec![1, 2], vec![3]));
    world.seeds.clear();
    assert_eq!(world.routes(), [1, 2]);
    assert!(world.asked().contains(&3));
    assert_eq!(sorted(world.live.remembered()), [3]);
    world.set(3, list);
    let change = world.cycle();
    assert_eq!((sorted(&change.added), sorted(&change.quarantined)), (vec![3], vec![3]));
    assert_eq!(world.live.remembered().count(), 0);
}

/// alternator 3.8.7: one empty answer among lists is no fallback; all empty or all silent are; and back.
/// alternator 8: a scope falls back on errors too (J 83, 84).
#[test]
fn fallback() {
    let chain = data_center("two").then(Scope::cluster()).unwrap();
    let knows = Knows(vec![1], vec![4, 5]);
    let mut world = World::new(&[1, 4, 5], chain, [(1, Empty), (4, knows.clone()), (5, knows.clone())]);
    let two = Basis::Scope(Scope::data_center("two").unwrap());
    for _ in 0..20 {
        assert_eq!(world.routes(), [4, 5]);
        assert_eq!(*world.live.basis(), two);
    }
    let nothing = Knows(vec![1], vec![]);
    world.hosts = [(1, nothing.clone()), (4, nothing.clone()), (5, nothing.clone())].into();
    let change = world.cycle();
    assert_eq!((sorted(world.live.routing().iter()), change.rebased), (vec![1], true), "all empty");
    world.hosts = [(1, nothing)].into();
    assert_eq!(world.routes(), [1]);
    world.hosts = [(1, knows.clone()), (4, knows.clone()), (5, knows)].into();
    assert_eq!(world.routes(), [4, 5], "every cycle starts with the first scope");
    assert_eq!(*world.live.basis(), two);
}

/// alternator A2: each scope asks every known host, those that failed for an earlier scope included, before the next.
#[test]
fn every_scope_asks_everybody() {
    let chain = data_center("one").then(Scope::data_center("two").unwrap()).unwrap().then(Scope::cluster()).unwrap();
    let mut world = World::new(&[1, 2, 3, 4], chain.clone(), []);
    assert_eq!(world.verdict().finding, Finding::Silence);
    let asked = world.asked.borrow();
    for (scope, asked) in chain.scopes().iter().zip(asked.chunks(4)) {
        assert!(asked.iter().all(|(_, of)| of == scope));
        let mut hosts: Vec<_> = asked.iter().map(|(host, _)| *host).collect();
        hosts.sort_unstable();
        assert_eq!(hosts, [1, 2, 3, 4]);
    }
    assert_eq!(asked.len(), 12);
}

/// alternator 3.8.8: under a strict scope nothing outside of it takes a request, whatever happens, and the error is told.
/// alternator A10: strictness is a property of the chain.
/// alternator A3: no seed is a last resort there.
#[test]
fn strict_scope() {
    let mut world = World::new(&[1, 2], data_center("two"), []);
    assert_eq!(world.live.no_route(), Some(NoRoute::Undiscovered), "from the start");
    assert_eq!(world.routes(), [0_u8; 0], "nobody answers");
    assert_eq!(world.live.no_route(), Some(NoRoute::Undiscovered));
    world.set(1, Knows(vec![1, 2], vec![4, 5]));
    assert_eq!(world.routes(), [4, 5]);
    assert_eq!(world.live.no_route(), None);
    world.hosts.clear();
    assert_eq!(world.routes(), [4, 5], "silence says nothing: health decides of those known");
    assert_eq!(*world.live.basis(), Basis::Scope(Scope::data_center("two").unwrap()));
    assert!(world.live.no_route().is_none());
}

/// alternator 3.5: a strict scope that is empty as everybody says who can be reached clears the list.
/// alternator A8: empty is not failed.
#[test]
fn strict_scope_emptied() {
    let mut world =
        World::new(&[1, 2], data_center("two"), [(1, Knows(vec![1], vec![4])), (2, Knows(vec![1], vec![4]))]);
    world.cycle();
    world.hosts = [(1, Knows(vec![1], vec![]))].into();
    assert_eq!(world.routes(), [0_u8; 0], "one says so, the others cannot be reached");
    assert_eq!(world.live.no_route(), Some(NoRoute::Empty));
    assert_eq!(*world.live.basis(), Basis::Cleared);
    world.set(1, Knows(vec![1], vec![4]));
    world.set(4, Knows(vec![1], vec![4]));
    assert_eq!(world.routes(), [4]);
}

/// alternator A8: with the cluster in the chain, empty answers of everybody take nothing away.
#[test]
fn empty_cluster_keeps() {
    let mut world = World::new(&[1], ScopeChain::default(), [(1, all(&[1, 2])), (2, all(&[1, 2]))]);
    world.cycle();
    world.hosts = [(1, Empty), (2, Empty)].into();
    assert_eq!(world.cycle(), Default::default());
    assert_eq!(sorted(world.live.routing().iter()), [1, 2]);
}

/// alternator 8: the cluster's scope is the union of what all say, since each lists its own data centre (C# 31, C++ 31,
/// R 97).
/// alternator 3.2: a data centre absent at the start is found later, through a seed, while the other answers.
#[test]
fn union_of_data_centres() {
    let mut world = World::new(&[1, 4], ScopeChain::default(), [(1, all(&[1, 2])), (2, all(&[1, 2]))]);
    assert_eq!(world.routes(), [1, 2]);
    world.set(4, all(&[4, 5]));
    world.set(5, all(&[4, 5]));
    assert_eq!(world.routes(), [1, 2, 4, 5]);
}

/// alternator A8: a list is kept apart from an empty one and from a body that says nothing.
/// alternator 3.2: a wrong status or garbage is not an empty list.
#[test]
fn result_classes() {
    let listed = |nodes: Vec<_>| Listed { nodes, ..Listed::default() };
    assert_eq!(Reply::from(Ok(listed(vec![at(1)]))), Reply::Nodes(vec![at(1)]));
    assert_eq!(Reply::from(Ok(listed(Vec::new()))), Reply::Empty);
    assert_eq!(Reply::from(Err(BodyError::NoneValid)), Reply::Failed);
}
