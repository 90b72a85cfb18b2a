//! JSON numbers: the grammar, the values the strict reader refuses, and the ECMAScript form of RFC 8785.

use crate::limits::{INTEGER_REFUSED_END, INTEGER_REFUSED_START};

/// A number as a text spells it.
#[derive(Clone, Copy)]
pub(crate) struct NumberToken {
    pub(crate) end: usize,
    /// The digits are the canonical form already.
    pub(crate) plain: bool,
}

/// At most this many significant digits always survive the way to a double and back, so that no two such decimals
/// share a double and the shortest form of the double is the decimal itself.
const DIGITS_EXACT: usize = 15;

/// RFC 8785 writes smaller numbers with an exponent: `0.000001` but `1e-7`.
const LEADING_ZEROS_MAX: usize = 5;

#[inline(always)]
fn digits_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// Reads the number that starts at `start`, or says at which byte the grammar breaks.
#[inline]
pub(crate) fn scan_number(bytes: &[u8], start: usize) -> Result<NumberToken, usize> {
    let negative = bytes.get(start) == Some(&b'-');
    let whole = start + usize::from(negative);
    let whole_end = digits_end(bytes, whole);
    let zero = bytes.get(whole) == Some(&b'0');
    if whole_end == whole {
        return Err(whole);
    }
    if zero && whole_end > whole + 1 {
        return Err(whole + 1);
    }
    let mut end = whole_end;
    let mut plain = whole_end - whole <= DIGITS_EXACT && !(negative && zero);
    if bytes.get(end) == Some(&b'.') {
        let fraction = end + 1;
        end = digits_end(bytes, fraction);
        if end == fraction {
            return Err(fraction);
        }
        plain = plain_fraction(bytes.get(fraction..end).unwrap_or_default(), whole_end - whole, zero);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let mut exponent = end + 1;
        if matches!(bytes.get(exponent), Some(b'+' | b'-')) {
            exponent += 1;
        }
        end = digits_end(bytes, exponent);
        if end == exponent {
            return Err(exponent);
        }
        plain = false;
    }
    Ok(NumberToken { end, plain })
}

fn plain_fraction(fraction: &[u8], whole_digits: usize, whole_is_zero: bool) -> bool {
    let zeros = fraction.iter().take_while(|&&digit| digit == b'0').count();
    whole_digits + fraction.len() <= DIGITS_EXACT
        && fraction.last() != Some(&b'0')
        && !(whole_is_zero && zeros > LEADING_ZEROS_MAX)
}

/// Why the strict reader refuses a number that the grammar allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    Infinite,
    Inexact,
}

/// The double that a number token stands for, if the strict reader takes it.
pub(crate) fn parse_number(token: &[u8]) -> Result<f64, Refused> {
    // Digits, signs and one point or `e` are ASCII, and the grammar was checked: both steps succeed.
    let parsed = std::str::from_utf8(token).ok().and_then(|text| text.parse::<f64>().ok());
    let number = parsed.ok_or(Refused::Infinite)?;
    if number.is_infinite() {
        return Err(Refused::Infinite);
    }
    let size = number.abs();
    // Every double of that size is an integer.
    if (INTEGER_REFUSED_START..INTEGER_REFUSED_END).contains(&size) {
        return Err(Refused::Inexact);
    }
    // A number that is written below 10^21 and reaches it only by rounding was inexact too.
    if size == INTEGER_REFUSED_END && digits_before_point(token) <= DIGITS_OF_REFUSED_END {
        return Err(Refused::Inexact);
    }
    Ok(number)
}

/// 10^21 has one digit more.
const DIGITS_OF_REFUSED_END: i64 = 21;

/// How many digits the number has before its point when it is written without an exponent and without leading zeros.
fn digits_before_point(token: &[u8]) -> i64 {
    let mark = token.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(token.len());
    let (decimal, exponent) = token.split_at_checked(mark).unwrap_or((token, &[]));
    let exponent = exponent.get(1..).and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<i64>().ok());
    let decimal = decimal.strip_prefix(b"-").unwrap_or(decimal);
    let whole = decimal.iter().position(|byte| *byte == b'.').unwrap_or(decimal.len());
    let significant =
        decimal.iter().filter(|byte| **byte != b'.').position(|byte| *byte != b'0').unwrap_or_default();
    whole as i64 - significant as i64 + exponent.unwrap_or_default()
}

/// Calls `write` with the ECMAScript form of a finite double, which RFC 8785 makes canonical.
///
/// ```
/// # let mut text = String::new();
/// ordain_canon::with_number_text(1e21, |number| text.push_str(number));
/// assert_eq!(text, "1e+21");
/// ```
pub fn with_number_text<T>(number: f64, write: impl FnOnce(&str) -> T) -> T {
    debug_assert!(number.is_finite());
    write(ryu_js::Buffer::new().format_finite(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scan(text: &str) -> Result<(usize, bool), usize> {
        scan_number(text.as_bytes(), 0).map(|token| (token.end, token.plain))
    }

    #[test]
    fn grammar() {
        for (text, expected) in [
            ("0", Ok((1, true))),
            ("-0", Ok((2, false))),
            ("-1", Ok((2, true))),
            ("10,", Ok((2, true))),
            ("1.5", Ok((3, true))),
            ("1.50", Ok((4, false))),
            ("0.000001", Ok((8, true))),
            ("0.0000001", Ok((9, false))),
            ("1.0000001", Ok((9, true))),
            ("1e5", Ok((3, false))),
            ("1E+05", Ok((5, false))),
            ("123456789012345", Ok((15, true))),
            ("1234567890123456", Ok((16, false))),
            ("01", Err(1)),
            ("-", Err(1)),
            ("1.", Err(2)),
            ("1e", Err(2)),
            ("1e+", Err(3)),
            ("+1", Err(0)),
            (".5", Err(0)),
        ] {
            assert_eq!(scan(text), expected, "{text}");
        }
    }

    #[test]
    fn refusals() {
        for (text, expected) in [
            ("9007199254740991", Ok(9007199254740991.0)),
            ("9007199254740992", Err(Refused::Inexact)),
            ("-9007199254740992.5", Err(Refused::Inexact)),
            ("9007199254740991.9", Err(Refused::Inexact)),
            ("1e20", Err(Refused::Inexact)),
            ("999999999999999999999", Err(Refused::Inexact)),
            ("-999999999999999999999", Err(Refused::Inexact)),
            ("999999999999999934464", Err(Refused::Inexact)),
            ("9.99999999999999999999e20", Err(Refused::Inexact)),
            ("0.000999999999999999999999e24", Err(Refused::Inexact)),
            ("1000000000000000000000", Ok(1e21)),
            ("1000000000000000000001", Ok(1e21)),
            ("0.001E+24", Ok(1e21)),
            ("100e19", Ok(1e21)),
            ("1e21", Ok(1e21)),
            ("1e400", Err(Refused::Infinite)),
            ("1e-400", Ok(0.0)),
        ] {
            assert_eq!(parse_number(text.as_bytes()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn plain_means_canonical(text in "-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,17})?") {
            if let Ok((_, true)) = scan(&text) {
                let number: f64 = text.parse().unwrap();
                prop_assert_eq!(with_number_text(number, str::to_owned), text);
            }
        }
    }
}
