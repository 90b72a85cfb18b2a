//! Finding the next interesting byte of a string, eight bytes at a time, in safe code.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
const QUOTE: u64 = LOW * 0x22;
const BACKSLASH: u64 = LOW * 0x5c;
const SPACE: u64 = LOW * 0x20;

/// The high bit of the first byte that is a quote, a backslash, a control character or not ASCII is set;
/// bits above it may be set wrongly by borrows, bits below it never are.
#[inline(always)]
fn special_or_wide(word: u64) -> u64 {
    let quote = (word ^ QUOTE).wrapping_sub(LOW);
    let backslash = (word ^ BACKSLASH).wrapping_sub(LOW);
    (word.wrapping_sub(SPACE) | quote | backslash | word) & HIGH
}

/// The same without the bytes that are not ASCII.
#[inline(always)]
fn special(word: u64) -> u64 {
    let quote = word ^ QUOTE;
    let backslash = word ^ BACKSLASH;
    let found = (word.wrapping_sub(SPACE) & !word)
        | (quote.wrapping_sub(LOW) & !quote)
        | (backslash.wrapping_sub(LOW) & !backslash);
    found & HIGH
}

/// Passes the spaces from `start` on, eight at a time; near the end of the text it may leave some.
#[inline(always)]
pub(crate) fn spaces_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(word) = word_at(bytes, at) {
        match word ^ SPACE {
            0 => at += 8,
            other => return at + (other.trailing_zeros() / 8) as usize,
        }
    }
    at
}

#[inline(always)]
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    let chunk = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*chunk))
}

#[inline(always)]
fn run_end(bytes: &[u8], start: usize, find: impl Fn(u64) -> u64, is_special: impl Fn(u8) -> bool) -> usize {
    let mut at = start;
    // Most strings end within two words; only longer ones are worth the wide loop.
    for _ in 0..2 {
        match word_at(bytes, at).map(&find) {
            Some(0) => at += 8,
            Some(found) => return at + (found.trailing_zeros() / 8) as usize,
            None => return tail_end(bytes, at, is_special),
        }
    }
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<32>()) {
        // Written so that the compiler makes it a handful of vector instructions.
        if block.iter().fold(0, |found, &byte| found | u8::from(is_special(byte))) != 0 {
            break;
        }
        at += 32;
    }
    while let Some(word) = word_at(bytes, at) {
        match find(word) {
            0 => at += 8,
            found => return at + (found.trailing_zeros() / 8) as usize,
        }
    }
    tail_end(bytes, at, is_special)
}

#[inline]
fn tail_end(bytes: &[u8], at: usize, is_special: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len())
}

/// Where the run of plain ASCII from `start` ends: at a quote, a backslash, a control character, a byte that is
/// not ASCII, or the end of the input.
#[inline]
pub(crate) fn ascii_run_end(bytes: &[u8], start: usize) -> usize {
    run_end(bytes, start, special_or_wide, |byte| {
        (byte < 0x20) | (byte == b'"') | (byte == b'\\') | (byte >= 0x80)
    })
}

/// Where the run of bytes that stand for themselves ends: at a quote, a backslash, a control character, or the
/// end of the input.
#[inline]
pub(crate) fn plain_run_end(bytes: &[u8], start: usize) -> usize {
    run_end(bytes, start, special, |byte| (byte < 0x20) | (byte == b'"') | (byte == b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_special_byte_at_every_position() {
        for len in 0..200 {
            for position in 0..len {
                for byte in 0..=255_u8 {
                    let mut text = vec![b'a'; len];
                    text[position] = byte;
                    let special = byte < 0x20 || byte == b'"' || byte == b'\\';
                    let plain = if special { position } else { len };
                    let ascii = if special || byte >= 0x80 { position } else { len };
                    assert_eq!((plain_run_end(&text, 0), ascii_run_end(&text, 0)), (plain, ascii));
                }
            }
        }
    }

    #[test]
    fn a_later_special_byte_never_hides_an_earlier_one() {
        for first in [0x00_u8, 0x1f, b'"', b'\\'] {
            for second in 0..=255_u8 {
                let mut text = vec![b'z'; 16];
                (text[3], text[4]) = (first, second);
                assert_eq!((plain_run_end(&text, 0), ascii_run_end(&text, 0)), (3, 3));
            }
        }
    }
}
