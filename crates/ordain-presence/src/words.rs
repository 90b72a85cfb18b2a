//! Words for a passphrase that nobody has to think of.

use std::io;
use zeroize::Zeroizing;

const CONSONANTS: &[u8; 16] = b"bdfghklmnprstvwz";
const VOWELS: &[u8; 5] = b"aeiou";
/// How many words there are in a passphrase.
const COUNT: usize = 6;
/// A word is two syllables of a consonant and a vowel.
const SYLLABLES: usize = 2;

/// Six random words such as `bado kelu`, 75 bits in all.
pub fn generated_words() -> io::Result<Zeroizing<String>> {
    let mut words = Zeroizing::new(String::with_capacity(COUNT * 5));
    for number in 0..COUNT * SYLLABLES {
        if number > 0 && number % SYLLABLES == 0 {
            words.push(' ');
        }
        words.push(letter(CONSONANTS)?);
        words.push(letter(VOWELS)?);
    }
    Ok(words)
}

/// Four words for some bytes, the same everywhere: 50 bits of their hash, to be compared by a person.
pub fn four_words(bytes: &[u8]) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, bytes);
    let first = hash.as_ref().first_chunk::<8>().copied().unwrap_or_default();
    let mut number = u64::from_be_bytes(first);
    let mut words = String::with_capacity(4 * 5);
    for syllable in 0..4 * SYLLABLES {
        if syllable > 0 && syllable % SYLLABLES == 0 {
            words.push(' ');
        }
        let rest = usize::try_from(number % 80).unwrap_or_default();
        number /= 80;
        for letter in [CONSONANTS.get(rest / VOWELS.len()), VOWELS.get(rest % VOWELS.len())] {
            words.extend(letter.copied().map(char::from));
        }
    }
    words
}

/// Letters that cannot be taken for each other.
const CLEAR_LETTERS: &[u8; 20] = b"abcdefghkmnprstuvwxy";

/// Three random letters, to be shown and typed.
pub fn three_letters() -> io::Result<String> {
    (0..3).map(|_| letter(CLEAR_LETTERS)).collect()
}

/// Any letter, each as likely as the others.
fn letter(letters: &[u8]) -> io::Result<char> {
    let count = u8::try_from(letters.len()).unwrap_or(u8::MAX);
    let end = u8::MAX - u8::MAX % count;
    loop {
        let mut random = [0];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let [byte] = random;
        if byte < end
            && let Some(letter) = letters.get(usize::from(byte % count))
        {
            return Ok(char::from(*letter));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use crate::Passphrase;
    use std::collections::BTreeSet;

    #[test]
    fn three_letters_are_hard_to_guess() {
        let seen: BTreeSet<String> = (0..500).map(|_| three_letters().unwrap()).collect();
        assert!(seen.len() > 400 && seen.iter().all(|letters| letters.len() == 3), "{}", seen.len());
    }

    #[test]
    fn four_words_are_those_of_the_console() {
        // As `fourWords` in console/words.js makes them; a test of the browser compares as well.
        assert_eq!(four_words(b"abc"), "wura bako wedu zati");
        assert_ne!(four_words(b"abd"), four_words(b"abc"));
    }

    #[test]
    fn six_words_are_a_passphrase() {
        let mut seen = BTreeSet::new();
        for _ in 0..200 {
            let words = generated_words().unwrap();
            assert_eq!(words.split(' ').map(str::len).collect::<Vec<_>>(), [4; 6], "{}", *words);
            assert!(Passphrase::new(words.as_bytes().to_vec()).is_ok());
            seen.insert(words.to_string());
        }
        assert_eq!(seen.len(), 200);
        let letters: BTreeSet<char> = seen.iter().flat_map(|words| words.chars()).collect();
        assert_eq!(letters.len(), CONSONANTS.len() + VOWELS.len() + 1);
    }
}
