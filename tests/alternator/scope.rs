//! Scopes, chains of them, and their encoding.

use messina::alternator::scope::{Filters, Scope, ScopeChain, ScopeError};

fn dc(name: &str) -> Scope {
    Scope::data_center(name).unwrap()
}

/// alternator 4.1: each value is encoded once; the cluster has no query.
#[test]
fn encoding() {
    assert_eq!(Scope::cluster().path(), "/localnodes");
    assert_eq!(Scope::rack("dc", "1/blue").unwrap().path(), "/localnodes?dc=dc&rack=1%2Fblue");
    for (name, query) in [
        ("dc 1", "dc=dc%201"),
        ("dc&prod", "dc=dc%26prod"),
        ("a+b", "dc=a%2Bb"),
        ("a%20", "dc=a%2520"),
        ("é", "dc=%C3%A9"),
        ("a-b_c.d~e", "dc=a-b_c.d~e"),
    ] {
        assert_eq!(dc(name).path(), format!("/localnodes?{query}"));
    }
}

/// alternator 4.4: an empty name is refused, it would mean another scope.
#[test]
fn empty_names() {
    assert_eq!(Scope::data_center(""), Err(ScopeError::Empty("data centre")));
    assert_eq!(Scope::rack("dc", ""), Err(ScopeError::Empty("rack")));
    assert_eq!(Scope::rack("", "rack"), Err(ScopeError::Empty("data centre")));
}

/// alternator A10: whether requests may go anywhere is what the chain says.
/// alternator 2.1: at most 64 scopes, none twice.
#[test]
fn chains() {
    let rack = Scope::rack("dc", "r").unwrap();
    let chain = ScopeChain::only(rack.clone()).then(dc("dc")).unwrap();
    assert!(!chain.allows_cluster());
    let open = chain.clone().then(Scope::cluster()).unwrap();
    assert!(open.allows_cluster() && ScopeChain::default().allows_cluster());
    assert_eq!(open.scopes(), [rack.clone(), dc("dc"), Scope::cluster()]);
    assert_eq!(chain.clone().then(rack.clone()), Err(ScopeError::Twice(rack)));
    assert_eq!(open.then(dc("other")), Err(ScopeError::AfterCluster(dc("other"))));
    let long = (1..64).try_fold(ScopeChain::only(dc("0")), |chain, i| chain.then(dc(&i.to_string()))).unwrap();
    assert_eq!(long.then(dc("64")), Err(ScopeError::TooMany));
}

/// alternator 6.5: affinity under a rack is decided in its data centre, so that all racks choose the same node.
#[test]
fn wider_for_affinity() {
    let chain = ScopeChain::only(Scope::rack("dc", "a").unwrap()).then(Scope::rack("dc", "b").unwrap()).unwrap();
    assert_eq!(chain.for_affinity().scopes(), [dc("dc")]);
    let open = chain.then(dc("dc")).unwrap().then(Scope::cluster()).unwrap();
    assert_eq!(open.for_affinity().scopes(), [dc("dc"), Scope::cluster()]);
}

/// alternator 4.4: whether a node knows the filters: other sizes, the same size, no node at all.
/// alternator 8: an old server that ignores them is detected (JS 57).
#[test]
fn filters() {
    assert_eq!(Filters::of(3, 0), Filters::Known);
    assert_eq!(Filters::of(3, 3), Filters::Ignored);
    assert_eq!(Filters::of(0, 0), Filters::Unclear);
}
