//! Numbers of entries as text: one way to write each.

use crate::limits::SIZE_MAX;

/// A decimal number up to [`SIZE_MAX`], without sign or leading zeros.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let leading_zero = text.len() > 1 && text.starts_with('0');
    if !digits || leading_zero {
        return None;
    }
    text.parse().ok().filter(|number| *number <= SIZE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_spelling() {
        assert_eq!(parse("0"), Some(0));
        assert_eq!(parse("10"), Some(10));
        assert_eq!(parse("9223372036854775807"), Some(SIZE_MAX));
        for bad in ["", "00", "01", "+1", "-0", " 1", "1 ", "1_0", "٣", "9223372036854775808", "1e3", "0x1"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
