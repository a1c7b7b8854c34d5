//! Bodies of `/localnodes`.

use messina::alternator::{
    localnodes::{BodyError, Limits, Listed, Parser},
    node::{Node, Scheme},
};
use proptest::prelude::*;

fn read(body: &[u8], pieces: usize) -> Result<Listed, BodyError> {
    let mut parser = Parser::new(Scheme::Http, 8000);
    for piece in body.chunks(pieces) {
        parser.push(piece)?;
    }
    parser.finish()
}

/// What a body holds, the same in whatever pieces it arrives.
fn parsed(body: &str) -> Result<Listed, BodyError> {
    let whole = read(body.as_bytes(), usize::MAX);
    for pieces in 1..4 {
        assert_eq!(read(body.as_bytes(), pieces), whole, "{body}");
    }
    whole
}

fn hosts(body: &str) -> Vec<String> {
    parsed(body).unwrap().nodes.iter().map(|node| node.address().host()).collect()
}

fn malformed(body: &str) {
    assert!(matches!(parsed(body), Err(BodyError::Malformed { .. })), "{body}: {:?}", parsed(body));
}

/// alternator 4.3: an empty array, with blanks or without, is a list without nodes, not a failure.
/// alternator A8: empty and failed are different results.
#[test]
fn empty() {
    for body in ["[]", " [ ] ", "\r\n[\t\n]\n", "[]\n"] {
        assert_eq!(parsed(body), Ok(Listed::default()), "{body:?}");
    }
}

/// alternator 4.2: bare addresses, and IPv6 without brackets becomes a node with them.
#[test]
fn addresses() {
    assert_eq!(hosts(r#"["10.0.0.1","10.0.0.2"]"#), ["10.0.0.1", "10.0.0.2"]);
    let listed = parsed(r#"["2001:DB8::1", "[2001:db8::2]", "Node-A.example.com"]"#).unwrap();
    let canonical: Vec<_> = listed.nodes.iter().map(Node::canonical).collect();
    let expected = ["http://[2001:db8::1]:8000", "http://[2001:db8::2]:8000", "http://node-a.example.com:8000"];
    assert_eq!(canonical, expected);
}

/// alternator 4.3: `null` is a failure.
/// alternator 4.3: so are bodies that are no array, an empty one, and HTML.
#[test]
fn not_an_array() {
    for body in ["null", r#"{"nodes":[]}"#, "", "  ", "<html></html>", "\"a\"", "1", "]"] {
        malformed(body);
    }
}

/// alternator 4.3: blanks and escapes are read.
#[test]
fn blanks_and_escapes() {
    assert_eq!(hosts(r#"["node\u0031.example.com"]"#), ["node1.example.com"]);
    assert_eq!(hosts("\n[ \"a\" ,\r\n\t\"b\" ]\n"), ["a", "b"]);
    assert_eq!(hosts(r#"["\u0061\u002Eb"]"#), ["a.b"]);
    // These are text, and no host.
    for entry in [r#""\"\\\/\b\f\n\r\t""#, r#""\ud83d\ude00""#, "\"\u{1F600}\"", r#""\u00e9""#] {
        let listed = parsed(&format!(r#"["a", {entry}]"#)).unwrap();
        assert_eq!((listed.nodes.len(), listed.invalid), (1, 1), "{entry}");
    }
    for entry in [r#""\x""#, r#""\u12""#, r#""\u12g4""#, r#""\u+123""#, "\"a\nb\"", "\"a\tb\"", "\"\0\""] {
        malformed(&format!("[{entry}]"));
    }
}

/// alternator 4.3: a string that is no Unicode text fails the body.
/// alternator 3.5: invalid UTF-8 is a failure.
#[test]
fn not_unicode() {
    for entry in
        [r#""\ud83d""#, r#""\ude00""#, r#""\ud83dx""#, r#""\ud83d\n""#, r#""\ud83d\ud83d""#, r#""\ud83d\u0041""#]
    {
        let result = parsed(&format!("[\"a\",{entry}]"));
        assert!(matches!(result, Err(BodyError::NotText { .. })), "{entry}: {result:?}");
    }
    for bytes in [&b"[\"\xff\"]"[..], b"[\"\xc3\"]", b"[\"\xed\xa0\x80\"]"] {
        assert!(matches!(read(bytes, 1), Err(BodyError::NotText { .. })));
    }
    assert_eq!(read(b"\xef\xbb\xbf[]", 1), Err(BodyError::Malformed { at: 0 }));
}

/// alternator 4.3: bytes after the array, a missing comma, a body that ends too early.
#[test]
fn malformed_bodies() {
    for body in [
        "[]x",
        "[][]",
        "[],",
        r#"["a"]]"#,
        r#"["a" "b"]"#,
        r#"["a",]"#,
        "[,]",
        r#"[,"a"]"#,
        r#"["a",,"b"]"#,
        "[",
        r#"["a"#,
        r#"["a""#,
        r#"["a","#,
        r#"["a\"#,
        r#"["a\u00"#,
        r#"['a']"#,
        "[a]",
    ] {
        malformed(body);
    }
    assert_eq!(parsed(r#"["a" "b"]"#), Err(BodyError::Malformed { at: 5 }));
    assert_eq!(parsed(r#"["a","#), Err(BodyError::Malformed { at: 5 }), "the length of what ended");
}

/// alternator 4.3: an entry that is no string fails the body, even beside valid ones.
#[test]
fn entries_that_are_no_strings() {
    for (body, at) in [("[1]", 1), ("[{}]", 1), ("[null]", 1), ("[true]", 1), ("[[]]", 1), (r#"["a", -1]"#, 6)] {
        assert_eq!(parsed(body), Err(BodyError::NotAString { at }), "{body}");
    }
}

/// alternator 4.3: an entry that is no host is passed over and counted; if there is no other, the body fails.
#[test]
fn invalid_hosts() {
    let long = "a".repeat(1000);
    for bad in ["bad host", "", "http://a", "a/b", "10.0.0", "a..b", "[::1", "-1:2:3", long.as_str()] {
        let listed = parsed(&format!(r#"["a", "{bad}", "b"]"#)).unwrap();
        assert_eq!((listed.nodes.len(), listed.invalid, listed.other_port), (2, 1, 0), "{bad}");
        assert_eq!(parsed(&format!(r#"["{bad}"]"#)), Err(BodyError::NoneValid), "{bad}");
    }
}

/// alternator 4.3: a port is accepted if it is the configured one; an entry with another is passed over and counted.
#[test]
fn ports() {
    assert_eq!(hosts(r#"["a:8000", "[::1]:8000"]"#), ["a", "::1"]);
    let listed = parsed(r#"["node-a:9000", "b"]"#).unwrap();
    assert_eq!((listed.nodes.len(), listed.invalid, listed.other_port), (1, 0, 1));
    assert_eq!(parsed(r#"["node-a:9000"]"#), Err(BodyError::NoneValid));
    assert_eq!(parsed(r#"["a:0", "b"]"#).unwrap().invalid, 1);
}

/// alternator 4.3: duplicates count once, in the first one's place, after canonicalisation.
#[test]
fn duplicates() {
    assert_eq!(hosts(r#"["B", "a", "b", "a:8000", "A", "b:8000", "::1", "0:0::1"]"#), ["B", "a", "::1"]);
}

/// alternator 4.3: an unspecified address is no host.
#[test]
fn unspecified() {
    for address in ["0.0.0.0", "::", "0:0::0", "[::]", "::ffff:0.0.0.0"] {
        let listed = parsed(&format!(r#"["{address}", "10.0.0.1"]"#)).unwrap();
        assert_eq!((listed.nodes.len(), listed.invalid), (1, 1), "{address}");
        assert_eq!(parsed(&format!(r#"["{address}"]"#)), Err(BodyError::NoneValid));
    }
}

/// alternator A14: 1 MiB of body and 10,000 nodes; what is over them is a failure and is not held.
#[test]
fn limits() {
    let list = |nodes: usize| {
        let entries: Vec<_> = (0..nodes).map(|i| format!(r#""10.1.{}.{}""#, i / 256, i % 256)).collect();
        format!("[{}]", entries.join(","))
    };
    assert_eq!(read(list(10_000).as_bytes(), 4096).unwrap().nodes.len(), 10_000);
    assert_eq!(read(list(10_001).as_bytes(), 4096), Err(BodyError::TooMany));
    let padded = |length: usize| format!("[{}]", " ".repeat(length - 2)).into_bytes();
    assert_eq!(read(&padded(1 << 20), 4096), Ok(Listed::default()));
    assert_eq!(read(&padded((1 << 20) + 1), 4096), Err(BodyError::TooLong));
    let mut parser = Parser::new(Scheme::Http, 8000);
    let endless = [b'a'; 4096];
    parser.push(b"[\"").unwrap();
    let pushed = (0..).take_while(|_| parser.push(&endless).is_ok()).count();
    assert_eq!(pushed, 255, "an endless string ends with the limit");
    let small = Parser::new(Scheme::Http, 8000).with_limits(Limits::default().with_bytes(5).with_nodes(1));
    assert_eq!(small.clone().push(br#"["a"]"#), Ok(()));
    assert_eq!(small.clone().push(br#"["a" ]"#), Err(BodyError::TooLong));
    let duplicates = Limits::default().with_nodes(1);
    assert_eq!(Parser::new(Scheme::Http, 1).with_limits(duplicates).push(br#"["a","A"]"#), Ok(()), "counted once");
}

/// alternator 3.5: once a body has failed it stays so.
#[test]
fn failure_stays() {
    let mut parser = Parser::new(Scheme::Http, 8000);
    let error = parser.push(b"[1]").unwrap_err();
    assert_eq!(parser.push(b"[]"), Err(error));
    assert_eq!(parser.finish(), Err(error));
    assert!(error.to_string().contains("byte 1"), "{error}");
}

proptest! {
    /// alternator A14: no bytes panic, and pieces make no difference.
    #[test]
    fn any_bytes(body in proptest::collection::vec(any::<u8>(), 0..200), pieces in 1_usize..9) {
        prop_assert_eq!(read(&body, usize::MAX), read(&body, pieces));
    }

    /// alternator 4.3: the same for what is almost a list.
    #[test]
    fn almost_a_list(body in r#"[\[\]", \\u0-9a-d:.n]{0,40}"#, pieces in 1_usize..9) {
        prop_assert_eq!(read(body.as_bytes(), usize::MAX), read(body.as_bytes(), pieces));
    }

    /// alternator 4.3: every list of addresses comes back in its order.
    #[test]
    fn round_trip(addresses in proptest::collection::hash_set(1_u32.., 0..50)) {
        let addresses: Vec<_> = addresses.into_iter().map(|ip| std::net::Ipv4Addr::from(ip).to_string()).collect();
        prop_assert_eq!(hosts(&format!("{addresses:?}")), addresses);
    }
}
