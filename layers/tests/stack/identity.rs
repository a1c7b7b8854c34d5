//! Pins: what they change and what they leave alone.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
};

use messina_layers::{
    Accept, Address, Candidates, Dial, FallbackLayer, HostAddr, LocalBind, LocalPorts, Pinnable, Pinned,
    ServerIdentity, TlsIdentity,
};
use proptest::prelude::*;
use tower::{Layer, ServiceExt};

use crate::support::{Servers, Step, addr, as_given, db, ip, name, stack, target};

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn any_pin() -> impl Strategy<Value = Option<HostAddr>> {
    proptest::option::of((any::<std::net::IpAddr>(), any::<u32>()).prop_map(|(ip, zone)| HostAddr::new(ip, zone)))
}

fn pinned<T>(target: T, pin: Option<HostAddr>) -> Pinned<T> {
    let mut pinned = Pinned::new(target);
    if let Some(pin) = pin {
        pinned.pin_to(pin);
    }
    pinned
}

fn any_name() -> impl Strategy<Value = Address> {
    // Few names in mixed case, so that equal ones are common.
    ("[aAbB]{1,2}", 1_u16..3).prop_map(|(name, port)| Address::new(&name, port).unwrap())
}

proptest! {
    /// connect 93: the pin takes no part in `Eq`, `Hash` and `Display`.
    #[test]
    fn equal_implies_equal_hash_whatever_the_pin(
        a in any_name(), b in any_name(), pin_a in any_pin(), pin_b in any_pin(),
    ) {
        let (left, right) = (pinned(a.clone(), pin_a), pinned(b.clone(), pin_b));
        prop_assert_eq!(left == right, a == b);
        if left == right {
            prop_assert_eq!(hash(&left), hash(&right));
        }
        prop_assert_eq!(left.to_string(), a.to_string());
        // The contract of `Borrow`: the same hash as what is borrowed.
        prop_assert_eq!(hash(&left), hash(&a));
    }

    /// connect 93: pinned and plain are interchangeable as map keys, both ways.
    /// connect D25: in both directions.
    #[test]
    fn pinned_and_plain_find_each_other(a in any_name(), b in any_name(), pin_a in any_pin(), pin_b in any_pin()) {
        let by_pinned = HashMap::from([(pinned(a.clone(), pin_a), 1)]);
        prop_assert_eq!(by_pinned.contains_key(&b), a == b);
        prop_assert_eq!(by_pinned.contains_key(&pinned(b.clone(), pin_b)), a == b);
        let by_plain = HashMap::from([(a.clone(), 1)]);
        prop_assert_eq!(by_plain.contains_key(pinned(b.clone(), pin_b).target()), a == b);
    }
}

/// connect 92: a target bound to one address.
/// connect 101: pinning again replaces the pin.
/// reviewer 67: pinning to the address it already has changes nothing and prints nothing twice.
#[test]
fn a_pin_is_replaced_and_removed() {
    let mut target = target();
    target.pin_to(addr(1).into());
    assert_eq!(target.pin(), Some(ip(1).into()));
    target.pin_to(addr(2).into());
    target.pin_to(addr(2).into());
    assert_eq!(target.pin(), Some(ip(2).into()));
    assert_eq!(target.to_string(), "db.test:9042");
    target.unpin();
    assert_eq!((target.pin(), target.address()), (None, db()));
    assert_eq!(Pinned::at(db(), ip(3).into()).address(), Address::Socket(addr(3)));
}

/// connect 94: the pin shows in what is dialled, never in `Display`.
#[test]
fn a_pinned_target_dials_the_pin_with_the_port_it_wants() {
    let zoned = HostAddr::new("fe80::1".parse().unwrap(), 7);
    let pinned = Pinned::at(db(), zoned);
    assert_eq!(pinned.address().to_string(), "[fe80::1%7]:9042");
    assert_eq!(pinned.to_string(), "db.test:9042");
    assert!(format!("{pinned:?}").contains("fe80::1"), "Debug shows both");
    // Another port, the same pin.
    assert_eq!(Pinned::at(db().with_port(19042), zoned).address().port(), 19042);
}

#[derive(Clone)]
struct Node;

impl Dial for Node {
    fn address(&self) -> Address {
        db()
    }
}

impl ServerIdentity for Node {
    fn tls(&self) -> Option<TlsIdentity> {
        Some(TlsIdentity::named(name()))
    }
}

impl LocalBind for Node {
    fn ports(&self) -> Option<LocalPorts> {
        Some(LocalPorts::any(1..=2))
    }
}

/// connect 100: a pinned copy keeps the configured name for TLS.
#[test]
fn the_other_facts_of_a_pinned_target_are_those_of_the_target() {
    let pinned = Pinned::at(Node, ip(1).into());
    assert_eq!(pinned.tls().unwrap().accept, Accept::Names(vec![name()]));
    assert_eq!(pinned.ports(), Some(LocalPorts::any(1..=2)));
    assert!(db().tls().is_none() && LocalBind::ports(&db()).is_none(), "an address asks for neither");
}

/// connect 92: the winner's address is written into the target.
/// connect 94: which address a connection is on shows in the established connection.
/// connect 101: pinned anew at every connect.
/// connect D23: every target is pinnable for one connection.
#[tokio::test(start_paused = true)]
async fn the_winner_is_pinned_and_a_pinned_target_dials_it_alone() {
    let servers = Servers::new([(2, Step::Accept), (3, Step::Accept)]);
    let stack = stack(&servers, [1, 2, 3], as_given());

    let established = stack.clone().oneshot(target()).await.unwrap();
    assert_eq!((established.addr, established.target.pin()), (addr(2), Some(ip(2).into())));
    assert_eq!(established.target, target(), "the pin is no part of identity");
    assert_eq!(servers.dialled(), [1, 2]);

    // The next connect of this target is held to the pin, whatever else the name has.
    servers.forget();
    let again = stack.clone().oneshot(established.target).await.unwrap();
    assert_eq!((again.addr, servers.dialled()), (addr(2), vec![2]));

    // A pin that died is not left for another address of the name.
    servers.forget();
    let dead = stack.clone().oneshot(Pinned::at(db(), ip(9).into())).await.unwrap_err();
    assert_eq!((dead.failed().len(), servers.dialled()), (1, vec![9]));

    let mut unpinned = again.target;
    unpinned.unpin();
    servers.forget();
    assert_eq!(stack.oneshot(unpinned).await.unwrap().target.pin(), Some(ip(2).into()));
    assert_eq!(servers.dialled(), [1, 2]);
}

/// connect 99: the newest target is used even if equal to the old one, since it holds the pin.
#[test]
fn equal_targets_differ_in_where_they_dial() {
    let (old, new) = (Pinned::at(db(), ip(1).into()), Pinned::at(db(), ip(2).into()));
    assert_eq!(old, new);
    assert_ne!(old.address(), new.address());
    let mut nodes = HashMap::from([(old, ())]);
    nodes.remove(&new);
    nodes.insert(new, ());
    assert_eq!(nodes.keys().next().unwrap().address(), Address::Socket(addr(2)));
}

/// connect 95: a target that cannot be pinned passes through a stack without the pin layer, with fallback.
/// connect D25: such a stack gives fallback and no pin.
/// connect D24: a resolver is switched off by leaving its layer out.
#[tokio::test(start_paused = true)]
async fn a_target_that_cannot_be_pinned_gets_fallback_and_no_pin() {
    let servers = Servers::new([(2, Step::Accept)]);
    let fallback = FallbackLayer::new().layer(servers.clone());
    let candidates = Candidates::new(Node, [addr(1), addr(2)]).ok().unwrap();
    let established = fallback.oneshot(candidates).await.ok().unwrap();
    assert_eq!((established.addr, established.connection.n, established.failed.len()), (addr(2), 2, 1));
    let _: Node = established.target;
}
