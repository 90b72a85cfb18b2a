//! A passphrase, wiped when it is dropped.

use zeroize::Zeroizing;

/// How many characters a passphrase has at least.
pub const CHARACTERS_MIN: usize = 12;

/// A passphrase. It has no `Debug` and no `Clone`.
pub struct Passphrase(Zeroizing<Vec<u8>>);

/// Why a passphrase is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PassphraseError {
    /// It is too short.
    #[error("the passphrase has fewer than {CHARACTERS_MIN} characters")]
    Short,
    /// It is not text.
    #[error("the passphrase is not UTF-8")]
    NotText,
    /// The second time it was another.
    #[error("the two passphrases differ")]
    Different,
}

impl Passphrase {
    /// A passphrase that is long enough.
    pub fn new(bytes: Vec<u8>) -> Result<Self, PassphraseError> {
        let bytes = Zeroizing::new(bytes);
        let text = std::str::from_utf8(&bytes).map_err(|_| PassphraseError::NotText)?;
        if text.chars().count() < CHARACTERS_MIN {
            return Err(PassphraseError::Short);
        }
        Ok(Self(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether both are the same.
    pub fn is(&self, other: &Self) -> bool {
        *self.0 == *other.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_not_bytes() {
        let made = |text: &str| Passphrase::new(text.as_bytes().to_vec()).err();
        assert_eq!(made("twelve chars"), None);
        assert_eq!(made("eleven char"), Some(PassphraseError::Short));
        assert_eq!(made("äöüäöüäöüäö"), Some(PassphraseError::Short));
        assert_eq!(Passphrase::new(vec![0xff; 20]).err(), Some(PassphraseError::NotText));
    }
}
