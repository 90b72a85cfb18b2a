//! UTF-16 order, computed on UTF-8.

use std::cmp::Ordering;

/// Compares two strings by their UTF-16 code units, as RFC 8785 and JavaScript's `<` do.
///
/// ```
/// use ordain_canon::compare_utf16;
/// // U+1F600 is a surrogate pair and so comes before U+FB33, although its code point is larger.
/// assert!(compare_utf16("\u{1F600}", "\u{FB33}").is_lt());
/// ```
pub fn compare_utf16(left: &str, right: &str) -> Ordering {
    compare_utf16_bytes(left.as_bytes(), right.as_bytes())
}

/// [`compare_utf16`] on bytes that are known to be UTF-8.
#[inline]
pub(crate) fn compare_utf16_bytes(left: &[u8], right: &[u8]) -> Ordering {
    let common = left.len().min(right.len());
    let mut at = 0;
    while let (Some(a), Some(b)) = (chunk(left, at), chunk(right, at)) {
        if a != b {
            break;
        }
        at += 8;
    }
    while at < common {
        match (left.get(at), right.get(at)) {
            (Some(a), Some(b)) if a != b => return rank(*a).cmp(&rank(*b)),
            _ => at += 1,
        }
    }
    left.len().cmp(&right.len())
}

#[inline(always)]
fn chunk(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<8>()?))
}

/// UTF-8 bytes order as code points do. UTF-16 differs in one place: surrogate pairs (lead bytes F0 to F4) come
/// before U+E000 to U+FFFF (lead bytes EE and EF). The first byte in which two strings differ decides, and where
/// one is such a lead byte the other is a lead byte too.
#[inline(always)]
fn rank(byte: u8) -> u8 {
    match byte {
        0xee | 0xef => byte + 0x10,
        _ => byte,
    }
}

/// The first eight bytes as a number that orders as [`compare_utf16`] does. Strings that hold U+0000 are beyond it,
/// since a shorter string is filled up with zeros.
#[inline]
pub(crate) fn utf16_prefix(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    match bytes.first_chunk::<8>() {
        Some(chunk) => first = *chunk,
        None => first.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = *byte),
    }
    let word = u64::from_be_bytes(first);
    if word & 0x8080_8080_8080_8080 == 0 { word } else { u64::from_be_bytes(first.map(rank)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_encode_utf16(
            prefix in "\\PC{0,20}",
            left in "[a\u{e9}\u{d7ff}\u{e000}\u{fb33}\u{ffff}\u{10000}\u{1f600}\u{10ffff}]{0,4}",
            right in "[a\u{e9}\u{d7ff}\u{e000}\u{fb33}\u{ffff}\u{10000}\u{1f600}\u{10ffff}]{0,4}",
        ) {
            let (left, right) = (format!("{prefix}{left}"), format!("{prefix}{right}"));
            let expected = left.encode_utf16().cmp(right.encode_utf16());
            prop_assert_eq!(compare_utf16(&left, &right), expected);
        }
    }
}
