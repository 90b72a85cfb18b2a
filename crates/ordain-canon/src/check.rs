//! Recognises text that is canonical already, so that it can be hashed where it lies.

use crate::limits::{DEPTH_MAX, DOCUMENT_BYTES_MAX, KEY_BYTES_MAX};
use crate::number::{parse_number, scan_number, with_number_text};
use crate::order::compare_utf16_bytes;
use crate::scan::{ascii_run_end, plain_run_end};
use std::cmp::Ordering;

/// Whether the text is one document that the strict reader takes and the canonical writer would write just so.
///
/// A `false` says nothing about why; reading the text does.
///
/// ```
/// assert!(ordain_canon::is_canonical(br#"{"a":1,"b":[]}"#));
/// assert!(!ordain_canon::is_canonical(br#"{"b":[],"a":1}"#));
/// ```
pub fn is_canonical(text: &[u8]) -> bool {
    let mut check = Check { text, at: 0, depth: 0, passed: |_: &[u8]| {}, handed: 0 };
    check.document().is_some()
}

/// [`is_canonical`], with each stretch of the text handed to `passed` soon after it was read, while it is still in
/// the cache. Where the answer is `false`, some of it was handed out for nothing.
pub(crate) fn is_canonical_with(text: &[u8], passed: impl FnMut(&[u8])) -> bool {
    let mut check = Check { text, at: 0, depth: 0, passed, handed: 0 };
    let canonical = check.document().is_some();
    if canonical {
        check.hand_over(text.len());
    }
    canonical
}

/// How much text is read before it is handed on.
const STRETCH: usize = 16 * 1024;

/// `None` throughout: not canonical, or not even JSON.
struct Check<'a, P> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    passed: P,
    handed: usize,
}

/// A key, between its quotes.
#[derive(Clone, Copy)]
struct Key<'a> {
    bytes: &'a [u8],
    escaped: bool,
}

impl<'a, P: FnMut(&[u8])> Check<'a, P> {
    fn document(&mut self) -> Option<()> {
        (self.text.len() <= DOCUMENT_BYTES_MAX).then_some(())?;
        self.value()?;
        (self.at == self.text.len()).then_some(())
    }

    #[cold]
    fn hand_over(&mut self, end: usize) {
        (self.passed)(self.text.get(self.handed..end).unwrap_or_default());
        self.handed = end;
    }

    #[inline(always)]
    fn next(&mut self) -> Option<u8> {
        let byte = self.text.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    fn value(&mut self) -> Option<()> {
        match self.text.get(self.at)? {
            b'"' => {
                self.at += 1;
                self.string().map(|_| ())
            }
            b'{' => self.object(),
            b'[' => self.array(),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => None,
        }
    }

    fn literal(&mut self, word: &[u8]) -> Option<()> {
        let end = self.at + word.len();
        (self.text.get(self.at..end)? == word).then(|| self.at = end)
    }

    fn number(&mut self) -> Option<()> {
        let start = self.at;
        let token = scan_number(self.text, start).ok()?;
        self.at = token.end;
        if token.plain {
            return Some(());
        }
        let digits = self.text.get(start..token.end)?;
        let number = parse_number(digits).ok()?;
        with_number_text(number, |canonical| canonical.as_bytes() == digits).then_some(())
    }

    fn enter(&mut self) -> Option<()> {
        self.at += 1;
        self.depth += 1;
        (self.depth <= DEPTH_MAX).then_some(())
    }

    fn array(&mut self) -> Option<()> {
        self.enter()?;
        if self.text.get(self.at) == Some(&b']') {
            self.at += 1;
        } else {
            loop {
                self.value()?;
                match self.next()? {
                    b',' => {}
                    b']' => break,
                    _ => return None,
                }
            }
        }
        self.depth -= 1;
        Some(())
    }

    fn object(&mut self) -> Option<()> {
        self.enter()?;
        if self.text.get(self.at) == Some(&b'}') {
            self.at += 1;
        } else {
            let mut last: Option<Key<'a>> = None;
            loop {
                if self.next()? != b'"' {
                    return None;
                }
                let key = self.string()?;
                if last.is_some_and(|last| last.compare(key) != Ordering::Less) || key.is_too_long() {
                    return None;
                }
                last = Some(key);
                if self.next()? != b':' {
                    return None;
                }
                self.value()?;
                match self.next()? {
                    b',' => {}
                    b'}' => break,
                    _ => return None,
                }
            }
        }
        self.depth -= 1;
        Some(())
    }

    /// Passes a string; the opening quote is behind.
    #[inline]
    fn string(&mut self) -> Option<Key<'a>> {
        let start = self.at;
        let mut at = ascii_run_end(self.text, start);
        let (mut escaped, mut wide) = (false, false);
        loop {
            if at - self.handed > STRETCH {
                self.hand_over(at);
            }
            match self.text.get(at)? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    at = self.canonical_escape_end(at)?;
                }
                0x80.. => wide = true,
                _ => return None,
            }
            at = if wide { plain_run_end(self.text, at) } else { ascii_run_end(self.text, at) };
        }
        let bytes = self.text.get(start..at)?;
        if wide && std::str::from_utf8(bytes).is_err() {
            return None;
        }
        self.at = at + 1;
        Some(Key { bytes, escaped })
    }

    #[inline]
    fn canonical_escape_end(&self, at: usize) -> Option<usize> {
        match self.text.get(at + 1)? {
            b'n' | b'"' | b'\\' | b't' | b'r' | b'b' | b'f' => Some(at + 2),
            b'u' => {
                let [b'0', b'0', tens @ b'0'..=b'1', ones @ (b'0'..=b'9' | b'a'..=b'f')] =
                    self.text.get(at + 2..at + 6)?
                else {
                    return None;
                };
                let has_short_form = *tens == b'0' && matches!(ones, b'8' | b'9' | b'a' | b'c' | b'd');
                (!has_short_form).then_some(at + 6)
            }
            _ => None,
        }
    }
}

impl Key<'_> {
    /// Escapes count as what they mean.
    fn is_too_long(self) -> bool {
        let long = self.bytes.len() > KEY_BYTES_MAX;
        long && (!self.escaped || crate::reader::decode(self.bytes).len() > KEY_BYTES_MAX)
    }

    fn compare(self, other: Key<'_>) -> Ordering {
        compare_keys(self.bytes, self.escaped, other.bytes, other.escaped)
    }
}

/// UTF-16 order of two keys as they stand between quotes in canonical text.
#[inline]
pub(crate) fn compare_keys(left: &[u8], left_escaped: bool, right: &[u8], right_escaped: bool) -> Ordering {
    if !left_escaped && !right_escaped {
        return compare_utf16_bytes(left, right);
    }
    let (left, right) = (crate::reader::decode(left), crate::reader::decode(right));
    compare_utf16_bytes(left.as_bytes(), right.as_bytes())
}
