//! Canonical endpoints.

use std::error::Error as _;

use messina::alternator::{node::Node, nodes::NodeList};

use crate::support::node;

/// alternator 5.4: the canonical order, and of several spellings the first is the representative.
/// alternator A11: endpoints are ordered as URLs with their port.
#[test]
fn canonical_order() {
    type Row = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);
    let rows: [Row; 7] = [
        (
            &["http://A", "http://a:80", "http://a.example"],
            &["http://a", "http://a.example"],
            &["http://A", "http://a.example"],
        ),
        (
            &["http://A:80", "http://a", "http://a.example"],
            &["http://a", "http://a.example"],
            &["http://A:80", "http://a.example"],
        ),
        (&["https://B:443", "https://a"], &["https://a", "https://b"], &["https://a", "https://B:443"]),
        (&["HTTP://B:80", "http://a"], &["http://a", "http://b"], &["http://a", "HTTP://B:80"]),
        (
            &["http://user@b:80/path?x=y#fragment", "http://a"],
            &["http://a", "http://b"],
            &["http://a", "http://user@b:80/path?x=y#fragment"],
        ),
        (
            &["http://a:8080", "http://a.example:80", "http://a.example"],
            &["http://a.example", "http://a:8080"],
            &["http://a.example:80", "http://a:8080"],
        ),
        (
            &["HTTP://[2001:DB8::1]:80/path", "http://a"],
            &["http://[2001:db8::1]", "http://a"],
            &["HTTP://[2001:DB8::1]:80/path", "http://a"],
        ),
    ];
    for (input, canonical, shown) in rows {
        let list: NodeList = input.iter().map(|text| node(text)).collect();
        assert_eq!(list.iter().map(Node::canonical).collect::<Vec<_>>(), canonical, "{input:?}");
        assert_eq!(list.iter().map(Node::to_string).collect::<Vec<_>>(), shown, "{input:?}");
    }
}

/// alternator 5.4: one node, whatever its spelling, compares and hashes as one.
#[test]
fn equality() {
    assert_eq!(node("http://A:80"), node("HTTP://a/x"));
    assert_ne!(node("http://a"), node("https://a"));
    assert_ne!(node("http://a:81"), node("http://a"));
    let list: NodeList = ["http://b", "http://a"].map(node).into_iter().collect();
    assert_eq!(list.position(&node("HTTP://B:80")), Some(1));
    assert!(!list.contains(&node("http://c")));
}

/// alternator 8: a seed that is no URL of a node is refused with its text, an IPv6 seed works (JS 39, C# 44).
#[test]
fn refused_text() {
    assert_eq!(node("http://[::1]:8000").canonical(), "http://[::1]:8000");
    for text in
        ["", "a:8000", "ftp://a", "http://", "http://a:0", "http://a:70000", "http://a b", "http://[::1", "://a"]
    {
        let error = text.parse::<Node>().unwrap_err();
        assert_eq!(error.text(), text);
        assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
    }
    assert!("http://a:0".parse::<Node>().unwrap_err().source().is_some(), "the cause is told");
}

/// alternator 8: a seed has nothing that would be left out, its error says what is allowed, and no password is shown.
#[test]
fn seeds() {
    for text in ["http://a", "http://a/", "HTTPS://a:8043", "http://[::1]:8000"] {
        assert!(Node::from_seed(text).is_ok(), "{text}");
    }
    for text in [
        "http://u@a",
        "http://u:pw@a",
        "http://u:p@w@a/x",
        "http://u:p/w@a",
        "http://a/x",
        "http://a?x",
        "http://a/#x",
        "http://::1:80",
    ] {
        let error = Node::from_seed(text).unwrap_err().to_string();
        assert!(error.contains("`http://host:port` or `https://host:port`"), "{error}");
        assert!(!error.contains("pw") && !error.contains("p@w") && !error.contains("p/w"), "{error}");
    }
    assert_eq!(node("http://u:pw@b:80/").to_string(), "http://u:***@b:80/");
    let error = messina::alternator::Alternator::builder().seed("http://a/x").build().unwrap_err().to_string();
    assert!(error.contains("\"http://a/x\"") && error.contains("a path"), "{error}");
}

/// alternator A15: the name of an operation is letters and digits.
#[test]
fn names_of_operations() {
    for name in ["", "Get Item", "\u{fc}", "Get.Item"] {
        let error = messina::alternator::operation(name, "{}").unwrap_err().to_string();
        assert!(error.contains(&format!("{name:?}")) && error.contains("letters and digits"), "{error}");
    }
    assert!(messina::alternator::operation("GetItem2", "{}").is_ok());
}
