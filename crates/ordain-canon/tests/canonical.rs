//! The canonical form: RFC 8785's own examples, strict reading, and the laws that hold for every document.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

use ordain_canon::{Canonicalizer, ReadErrorKind, Value, is_canonical, span_of};
use proptest::prelude::*;
use serde_json::json;

fn canon(text: &str) -> String {
    let mut canonicalizer = Canonicalizer::new();
    String::from_utf8(canonicalizer.text(text.as_bytes()).unwrap().to_vec()).unwrap()
}

#[track_caller]
fn refused(text: impl AsRef<[u8]>) -> (ReadErrorKind, usize, String) {
    let text = text.as_ref();
    let error = Canonicalizer::new().text(text).map(<[u8]>::to_vec).unwrap_err();
    assert_eq!(Value::read(text).unwrap_err(), error, "tree and text disagree");
    assert!(!is_canonical(text));
    (error.kind, error.place.offset, error.pointer)
}

#[test]
fn rfc_8785_section_3_2_2() {
    let text = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let expected = r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#;
    assert_eq!(canon(text), expected);
}

#[test]
fn rfc_8785_section_3_2_3_sorts_by_utf16() {
    let text = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",
        "1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    let values: Vec<String> = match Value::read(canon(text).as_bytes()).unwrap() {
        Value::Object(members) => {
            members.iter().map(|(_, value)| value.as_str().unwrap().to_owned()).collect()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(
        values,
        [
            "Carriage Return",
            "One",
            "Control",
            "Latin Small Letter O With Diaeresis",
            "Euro Sign",
            "Emoji: Grinning Face",
            "Hebrew Letter Dalet With Dagesh"
        ]
    );
}

/// RFC 8785 appendix B, each double by its bits. The writer is right for all of them, also for those that the
/// strict reader refuses.
#[test]
fn rfc_8785_appendix_b() {
    for (bits, expected) in [
        (0x0000000000000000_u64, "0"),
        (0x8000000000000000, "0"),
        (0x0000000000000001, "5e-324"),
        (0x8000000000000001, "-5e-324"),
        (0x7fefffffffffffff, "1.7976931348623157e+308"),
        (0xffefffffffffffff, "-1.7976931348623157e+308"),
        (0x4340000000000000, "9007199254740992"),
        (0xc340000000000000, "-9007199254740992"),
        (0x4430000000000000, "295147905179352830000"),
        (0x44b52d02c7e14af5, "9.999999999999997e+22"),
        (0x44b52d02c7e14af6, "1e+23"),
        (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
        (0x444b1ae4d6e2ef4e, "999999999999999700000"),
        (0x444b1ae4d6e2ef4f, "999999999999999900000"),
        (0x444b1ae4d6e2ef50, "1e+21"),
        (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
        (0x3eb0c6f7a0b5ed8d, "0.000001"),
        (0x41b3de4355555553, "333333333.3333332"),
        (0x41b3de4355555554, "333333333.33333325"),
        (0x41b3de4355555555, "333333333.3333333"),
        (0x41b3de4355555556, "333333333.3333334"),
        (0x41b3de4355555557, "333333333.33333343"),
        (0xbecbf647612f3696, "-0.0000033333333333333333"),
        (0x43143ff3c1cb0959, "1424953923781206.2"),
    ] {
        let mut canonicalizer = Canonicalizer::new();
        let written = canonicalizer.value(&f64::from_bits(bits)).unwrap();
        assert_eq!(std::str::from_utf8(written).unwrap(), expected, "{bits:016x}");
    }
    assert!(Canonicalizer::new().value(&f64::NAN).is_err());
    assert!(Canonicalizer::new().value(&f64::NEG_INFINITY).is_err());
}

#[test]
fn objects_out_of_order_at_every_depth() {
    let text =
        r#"{"z":{"b":[{"y":1,"x":{"d":4,"c":3}}],"a":{}},"m":1,"a":{"q":[],"p":[{"k":1,"j":2},{"a":1}]}}"#;
    let expected =
        r#"{"a":{"p":[{"j":2,"k":1},{"a":1}],"q":[]},"m":1,"z":{"a":{},"b":[{"x":{"c":3,"d":4},"y":1}]}}"#;
    assert_eq!(canon(text), expected);
    assert_eq!(canon(expected), expected);
}

#[test]
fn keys_with_escapes_sort_by_what_they_mean() {
    assert_eq!(canon(r#"{"a":1,"\n":2,"\"":3,"!":4,"\u0061b":5}"#), r#"{"\n":2,"!":4,"\"":3,"a":1,"ab":5}"#);
}

#[test]
fn strict_reading_says_what_and_where() {
    use ReadErrorKind as Kind;
    let unexpected = |byte, expected| Kind::Unexpected { byte, expected };
    for (text, kind, offset, pointer) in [
        ("", Kind::UnexpectedEnd, 0, ""),
        ("\u{feff}{}", Kind::ByteOrderMark, 0, ""),
        ("{} x", Kind::TrailingData, 3, ""),
        (r#"{"a":1,"a":2}"#, Kind::DuplicateKey("a".into()), 7, "/a"),
        (r#"{"b":[{"x":1,"\u0078":2}]}"#, Kind::DuplicateKey("x".into()), 13, "/b/0/x"),
        (r#"{"b":1,"a":2,"b":3,"a":4}"#, Kind::DuplicateKey("b".into()), 13, "/b"),
        (r#"{"a/b":["\ud800"]}"#, Kind::LoneSurrogate, 9, "/a~1b/0"),
        (r#"["\udc00"]"#, Kind::LoneSurrogate, 2, "/0"),
        (r#"["\ud800\u0041"]"#, Kind::LoneSurrogate, 2, "/0"),
        (r#"["\x"]"#, Kind::InvalidEscape, 2, "/0"),
        (r#"["\u00g0"]"#, Kind::InvalidEscape, 6, "/0"),
        ("[\"a\nb\"]", Kind::ControlCharacter(b'\n'), 3, "/0"),
        ("[1,NaN]", unexpected(b'N', "a value"), 3, "/1"),
        ("[1,-Infinity]", unexpected(b'I', "a number as JSON writes it"), 4, "/1"),
        ("[1,]", unexpected(b']', "a value"), 3, "/1"),
        ("{\"a\":1,}", unexpected(b'}', "a key in quotes"), 7, ""),
        ("{a:1}", unexpected(b'a', "a key in quotes"), 1, ""),
        ("[01]", unexpected(b'1', "a number as JSON writes it"), 2, "/0"),
        ("[1e999]", Kind::InfiniteNumber, 1, "/0"),
        (r#"{"n":9007199254740992}"#, Kind::InexactInteger, 5, "/n"),
        ("tru", Kind::UnexpectedEnd, 3, ""),
    ] {
        assert_eq!(refused(text), (kind, offset, pointer.to_owned()), "{text}");
    }
    assert_eq!(refused(b"[\"a\xff\"]"), (Kind::InvalidUtf8, 3, "/0".into()));
    assert_eq!(refused(b"[\"\xed\xa0\x80\"]").0, Kind::InvalidUtf8);
    assert_eq!(refused(b"[\xff]"), (unexpected(0xff, "a value"), 1, "/0".into()));
}

#[test]
fn limits() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(canon(&nested(128)), nested(128));
    assert_eq!(refused(nested(129)).0, ReadErrorKind::TooDeep);
    assert_eq!(refused("[".repeat(1_000_000)).0, ReadErrorKind::TooDeep);
    assert_eq!(refused("{\"a\":".repeat(1_000_000)).0, ReadErrorKind::TooDeep);

    let key = |bytes: usize| format!(r#"{{"{}":1}}"#, "k".repeat(bytes));
    assert_eq!(canon(&key(1024)), key(1024));
    assert_eq!(refused(key(1025)).0, ReadErrorKind::KeyTooLong);
    // Escapes count as what they mean: 1,024 line feeds are 1,024 bytes.
    let escaped = |count: usize| format!(r#"{{"{}":1}}"#, r"\n".repeat(count));
    assert_eq!(canon(&escaped(1024)), escaped(1024));
    assert!(is_canonical(escaped(1024).as_bytes()));
    assert_eq!(refused(escaped(1025)).0, ReadErrorKind::KeyTooLong);
}

#[test]
fn places_count_lines_and_characters() {
    let error = Value::read("{\n  \"a\": 1,\n  \"ö€\": x\n}".as_bytes()).unwrap_err();
    assert_eq!((error.place.line, error.place.column, error.pointer.as_str()), (3, 9, "/ö€"));
    assert_eq!(error.to_string(), "expected a value, found `x` at line 3, column 9 (byte 23)");
}

#[test]
fn spans_show_the_member_or_its_nearest_ancestor() {
    let text = r#"{"a": [10, {"b": "x", "c": [1]}], "a/b": true}"#;
    let shown = |pointer: &str| &text[span_of(text.as_bytes(), pointer)];
    assert_eq!(shown(""), text);
    assert_eq!(shown("/a/0"), "10");
    assert_eq!(shown("/a/1/b"), r#""b": "x""#);
    assert_eq!(shown("/a/1/c/0"), "1");
    assert_eq!(shown("/a/1/missing"), r#"{"b": "x", "c": [1]}"#);
    assert_eq!(shown("/a~1b"), r#""a/b": true"#);
    assert_eq!(shown("/ab"), text);
}

#[test]
fn truncation_at_every_byte_is_an_error() {
    let text = r#"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",{"b":null}],"c":"ö€😀"}"#;
    for end in 0..text.len() {
        let cut = &text.as_bytes()[..end];
        assert!(Value::read(cut).is_err() && !is_canonical(cut), "{end}");
        assert!(Canonicalizer::new().text(cut).is_err(), "{end}");
    }
}

#[test]
fn serialize_and_text_agree_on_every_shape() {
    #[derive(serde::Serialize)]
    enum Shape {
        Unit,
        Newtype(u8),
        Tuple(i64, f64),
        Struct { b: Option<char>, a: () },
    }
    let value =
        (Shape::Unit, Shape::Newtype(7), Shape::Tuple(-1, 0.5), Shape::Struct { b: Some('"'), a: () });
    let mut canonicalizer = Canonicalizer::new();
    let written = String::from_utf8(canonicalizer.value(&value).unwrap().to_vec()).unwrap();
    assert_eq!(written, r#"["Unit",{"Newtype":7},{"Tuple":[-1,0.5]},{"Struct":{"a":null,"b":"\""}}]"#);
    assert!(canonicalizer.value(&u64::MAX).is_err());
    assert!(canonicalizer.value(&std::collections::BTreeMap::from([(1, 2)])).is_err());
}

fn document() -> impl Strategy<Value = serde_json::Value> {
    let text = prop_oneof!["[a-c]{0,3}", "\\PC{0,12}", "[\\x00-\\x1f\"\\\\/\u{e000}\u{fb33}\u{1f600}]{0,4}"];
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|value| json!(value)),
        any::<f64>()
            .prop_filter("readable", |n| n.is_finite() && !(9007199254740992.0..1e21).contains(&n.abs()))
            .prop_map(|n| json!(n)),
        (-1_000_000_i64..1_000_000).prop_map(|n| json!(n)),
        text.clone().prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(6, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(|elements| json!(elements)),
            prop::collection::vec((text.clone(), inner), 0..12)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Writes a document as a careless author would: members in any order, blanks, needless escapes.
fn scrawl(value: &serde_json::Value, seed: &mut u64, out: &mut String) {
    let mut roll = |sides: u64| {
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*seed >> 33) % sides
    };
    out.push_str(["", " ", "\n\t"][roll(3) as usize]);
    match value {
        serde_json::Value::String(text) => scrawl_string(text, &mut roll, out),
        serde_json::Value::Array(elements) => {
            out.push('[');
            for (position, element) in elements.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                scrawl(element, seed, out);
            }
            out.push_str(" ]");
        }
        serde_json::Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            for position in (1..members.len()).rev() {
                members.swap(position, roll(position as u64 + 1) as usize);
            }
            out.push('{');
            for (position, (key, value)) in members.into_iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                let mut roll = |sides: u64| {
                    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (*seed >> 33) % sides
                };
                scrawl_string(key, &mut roll, out);
                out.push_str(" :");
                scrawl(value, seed, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
    out.push_str(" \r");
}

fn scrawl_string(text: &str, roll: &mut impl FnMut(u64) -> u64, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        if (character as u32) < 0x20 || character == '"' || character == '\\' || roll(4) == 0 {
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.push_str(&if roll(2) == 0 { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") });
            }
        } else {
            out.push(character);
        }
    }
    out.push('"');
}

/// RFC 8785 as an obvious, slow program.
fn model(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::Array(elements) => {
            out.push('[');
            for (position, element) in elements.iter().enumerate() {
                out.push_str(if position > 0 { "," } else { "" });
                model(element, out);
            }
            out.push(']');
        }
        serde_json::Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| key.encode_utf16().collect::<Vec<_>>());
            out.push('{');
            for (position, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if position > 0 { "," } else { "" });
                model(&json!(key), out);
                out.push(':');
                model(value, out);
            }
            out.push('}');
        }
        serde_json::Value::Number(number) => {
            ordain_canon::with_number_text(number.as_f64().unwrap(), |text| out.push_str(text));
        }
        // For strings serde_json writes the escapes of RFC 8785.
        other => out.push_str(&other.to_string()),
    }
}

/// 2,000 cases every day; `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(2_000),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn one_document_has_one_form(document in document(), seed: u64) {
        let mut expected = String::new();
        model(&document, &mut expected);
        let mut scrawled = String::new();
        scrawl(&document, &mut { seed }, &mut scrawled);
        let mut canonicalizer = Canonicalizer::new();
        // Any spelling, the tree, and the serialized value come to the same bytes, and those are a fixed point.
        let from_text = canonicalizer.text(scrawled.as_bytes()).unwrap().to_vec();
        prop_assert_eq!(std::str::from_utf8(&from_text).unwrap(), &expected);
        prop_assert_eq!(canonicalizer.value(&document).unwrap(), &from_text[..]);
        let tree = Value::read(scrawled.as_bytes()).unwrap();
        prop_assert_eq!(canonicalizer.value(&tree).unwrap(), &from_text[..]);
        prop_assert_eq!(canonicalizer.text(&from_text).unwrap(), &from_text[..]);
        prop_assert!(is_canonical(&from_text));
        prop_assert!(tree.same_as(&Value::read(&from_text).unwrap()));
    }

    #[test]
    fn damaged_text_is_judged_alike(document in document(), at: prop::sample::Index, byte: u8) {
        let mut text = String::new();
        model(&document, &mut text);
        let mut text = text.into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        let mut canonicalizer = Canonicalizer::new();
        match (Value::read(&text), canonicalizer.text(&text)) {
            (Ok(tree), Ok(from_text)) => {
                let from_text = from_text.to_vec();
                prop_assert_eq!(is_canonical(&text), from_text == text);
                prop_assert_eq!(canonicalizer.value(&tree).unwrap(), &from_text[..]);
            }
            (Err(tree), Err(text_error)) => {
                prop_assert_eq!(tree, text_error);
                prop_assert!(!is_canonical(&text));
            }
            (tree, text) => prop_assert!(false, "{:?} {:?}", tree, text),
        }
    }
}
