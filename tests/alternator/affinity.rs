//! Which writes have affinity, and what their keys hash to.

use messina::alternator::{
    affinity::{KeyValue, Mode, ReturnValues, Write, WriteFacts, WriteIsolation, murmur},
    plan::QueryPlan,
};

use crate::support::{numbered, numbers};

/// alternator 6.3: every recorded hash, and the order it leads to over ten nodes and over three.
#[test]
fn hash_vectors() {
    use KeyValue::{B, N, S};
    let rows: [(KeyValue<'_>, i64, [usize; 10], [usize; 3]); 14] = [
        (S("hello"), 8815023923555918238, [8, 7, 4, 2, 6, 1, 3, 5, 10, 9], [1, 2, 3]),
        (S(""), 8849112093580131862, [9, 3, 7, 5, 1, 6, 10, 8, 2, 4], [1, 2, 3]),
        (S("user_123"), -4025731529809423594, [2, 3, 10, 8, 1, 9, 6, 7, 4, 5], [2, 3, 1]),
        (S("こんにちは"), -8746014667889746860, [5, 4, 8, 2, 9, 1, 10, 6, 7, 3], [1, 2, 3]),
        (S("12345"), -6122888897254035317, [10, 9, 1, 3, 5, 6, 7, 8, 4, 2], [2, 1, 3]),
        (N("42"), -5061732451827723051, [2, 6, 1, 9, 10, 4, 5, 3, 7, 8], [2, 3, 1]),
        (N("-12345"), 2496798676881075539, [9, 3, 4, 5, 7, 8, 10, 6, 2, 1], [1, 2, 3]),
        (N("3.14159"), 2139945193071104172, [6, 9, 7, 8, 2, 4, 10, 5, 1, 3], [1, 3, 2]),
        (N("1.23E10"), -8571981415737439826, [4, 5, 7, 1, 3, 2, 6, 10, 8, 9], [1, 2, 3]),
        (N("12345"), -3190731486301745196, [1, 2, 5, 10, 3, 4, 7, 9, 6, 8], [2, 3, 1]),
        (B(&[1, 2, 3]), 5026299041734804437, [10, 5, 1, 2, 9, 4, 7, 3, 8, 6], [3, 1, 2]),
        (B(&[]), 8244620721157455449, [1, 7, 4, 10, 2, 3, 9, 5, 8, 6], [3, 1, 2]),
        (B(&[0xff, 0x00, 0x80]), 14533934253577680, [6, 8, 5, 10, 7, 3, 2, 1, 9, 4], [3, 2, 1]),
        (B(b"12345"), -3752463870508600385, [7, 9, 10, 3, 1, 2, 8, 6, 5, 4], [2, 3, 1]),
    ];
    for (key, hash, ten, three) in rows {
        assert_eq!(key.hash(), hash, "{key:?}");
        assert_eq!(numbers(&mut QueryPlan::seeded(hash), &numbered(10, 8043), 10), ten, "{key:?}");
        assert_eq!(numbers(&mut QueryPlan::seeded(hash), &numbered(3, 8043), 3), three, "{key:?}");
    }
    assert_ne!(N("1").hash(), N("1.0").hash(), "the text counts");
}

/// alternator 6.3: the hash without a tag; the last bytes are unsigned.
/// alternator 8: no two keys fall together because of signed bytes (J 38, G 64; ALB 165, 167).
#[test]
fn raw_hashes() {
    let rows: [(&[u8], u64); 6] = [
        (b"", 0),
        (b"test", 0xac7d_28cc_74bd_e19d),
        (b"hello", 0xcbd8_a7b3_41bd_9b02),
        (b"user_123", 0x1048_32bf_621f_0137),
        (b"0123456789abcdef", 0x4be0_6d94_cf4a_d1a7),
        (&[0xff, 0x80, 0x7f, 0x00], 0x3408_b0fb_e4cb_130c),
    ];
    for (bytes, hash) in rows {
        assert_eq!(murmur(bytes), hash, "{bytes:?}");
    }
}

/// alternator 6.3: single letters and the node they lead to first.
#[test]
fn letters() {
    let rows = [
        ("A", -2383153709139220372, [9, 5, 3]),
        ("B", -8880973645683867973, [6, 2, 2]),
        ("C", -5675093061515431433, [2, 3, 2]),
        ("D", -5990760786663784816, [2, 3, 2]),
        ("E", -6446679803962145511, [7, 3, 2]),
        ("F", 6162531583419444615, [7, 3, 2]),
        ("G", 1867825375319328181, [3, 4, 3]),
        ("H", -398632289423454253, [9, 5, 1]),
    ];
    for (key, hash, firsts) in rows {
        assert_eq!(KeyValue::S(key).hash(), hash, "{key}");
        let reached = [10, 5, 3].map(|count| numbers(&mut QueryPlan::seeded(hash), &numbered(count, 8000), 1)[0]);
        assert_eq!(reached, firsts, "{key}");
    }
}

/// alternator 6.5: the mapping is no consistent hashing: a node more among ten moves about nine of ten keys.
#[test]
fn remapping() {
    let (ten, eleven) = (numbered(10, 8000), numbered(11, 8000));
    let moved = (0..3_000).filter(|i| {
        let hash = KeyValue::S(&format!("key{i}")).hash();
        numbers(&mut QueryPlan::seeded(hash), &ten, 1) != numbers(&mut QueryPlan::seeded(hash), &eleven, 1)
    });
    assert!((2_600..2_850).contains(&moved.count()));
}

/// alternator 6.1: what has affinity where only writes that read first have it.
#[test]
fn read_modify_write() {
    let put_or_delete = |facts: WriteFacts<'_>| {
        let applies = Mode::Rmw.applies(Write::Put, &facts);
        assert_eq!(applies, Mode::Rmw.applies(Write::Delete, &facts));
        applies
    };
    let update = |facts: WriteFacts<'_>| Mode::Rmw.applies(Write::Update, &facts);
    let plain = WriteFacts::default();
    assert!(!put_or_delete(plain) && !update(plain));
    for facts in [
        WriteFacts { condition_expression: Some("attribute_exists(a)"), ..plain },
        WriteFacts { expected: 1, ..plain },
        WriteFacts { return_values: ReturnValues::AllOld, ..plain },
        WriteFacts { return_values: ReturnValues::UpdatedOld, ..plain },
        WriteFacts { return_values: ReturnValues::AllNew, ..plain },
    ] {
        assert!(put_or_delete(facts) && update(facts), "{facts:?}");
    }
    for facts in
        [WriteFacts { update_expression: Some("SET a = :a"), ..plain }, WriteFacts { updates_by_value: true, ..plain }]
    {
        assert!(update(facts) && !put_or_delete(facts), "{facts:?}");
    }
    let new = WriteFacts { return_values: ReturnValues::UpdatedNew, ..plain };
    assert!(!update(new), "UPDATED_NEW does not qualify an update");
    let empty = WriteFacts { condition_expression: Some(""), update_expression: Some(""), ..plain };
    assert!(!put_or_delete(empty) && !update(empty), "empty texts are absent");
    assert!(!Mode::Rmw.applies_to_batch());
}

/// alternator 6.1: the other modes, and how the server's write isolation leads to a mode.
#[test]
fn modes() {
    let rmw = WriteFacts { expected: 1, ..WriteFacts::default() };
    for write in [Write::Put, Write::Delete, Write::Update] {
        assert!(Mode::AnyWrite.applies(write, &WriteFacts::default()));
        assert!(!Mode::None.applies(write, &rmw));
    }
    assert!(Mode::AnyWrite.applies_to_batch() && !Mode::None.applies_to_batch());
    assert_eq!(Mode::from(WriteIsolation::OnlyRmwUsesLwt), Mode::Rmw);
    assert_eq!(Mode::from(WriteIsolation::AlwaysUseLwt), Mode::AnyWrite);
    assert_eq!(Mode::from(WriteIsolation::ForbidRmw), Mode::None);
    assert_eq!(Mode::from(WriteIsolation::UnsafeRmw), Mode::None);
    assert_eq!(Mode::default(), Mode::None);
}
