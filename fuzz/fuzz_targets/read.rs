//! Any bytes: the three ways to read a text agree, and what is canonical stays as it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ordain_canon::{Canonicalizer, Value, is_canonical};

fuzz_target!(|text: &[u8]| {
    let mut canon = Canonicalizer::new();
    let value = Value::read(text);
    let canonical = canon.text(text).map(<[u8]>::to_vec);
    let (value, canonical) = match (value, canonical) {
        (Ok(value), Ok(canonical)) => (value, canonical),
        (Err(by_value), Err(by_text)) => {
            assert_eq!(by_value, by_text, "two readers give two errors");
            assert!(!is_canonical(text), "refused text passes as canonical");
            return;
        }
        (value, canonical) => panic!("one reader takes it: {:?}, {:?}", value.err(), canonical.err()),
    };
    let written = canon.value(&value).expect("a value that was read can be written");
    assert_eq!(written, canonical, "the value and its text have two canonical forms");
    assert_eq!(is_canonical(text), canonical == text, "is_canonical is wrong about the text");
    assert!(is_canonical(&canonical), "the canonical form is not canonical");
    assert_eq!(canon.text(&canonical).expect("the canonical form can be read"), canonical);
    // `text` returns canonical text as it is, so the writer is asked as well.
    let again = Value::read(&canonical).expect("the canonical form can be read");
    assert!(again.same_as(&value), "writing changed the value");
    assert_eq!(canon.value(&again).expect("it can be written again"), canonical);
});
