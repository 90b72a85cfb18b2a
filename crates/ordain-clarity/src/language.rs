//! Whether a text is English. The rules read nothing else, and must not take for clear what they cannot read.

use crate::class::Class;
use crate::text::Text;

/// Words of other languages that English does not have.
#[rustfmt::skip]
pub(crate) static FOREIGN: &[&str] = &[
    "aber", "alle", "als", "auch", "auf", "aus", "bei", "beim", "bitte", "das", "dass", "dem", "den", "der", "die", "diese", "dieser", "durch", "ein", "eine", "einen", "einer", "eines", "für",
    "ist", "kann", "mach", "mit", "muss", "müssen", "nach", "nicht", "nur", "oder", "ohne", "schneller", "sein", "sich", "sie", "sind", "soll", "sollen", "und", "unsere", "vom", "von", "werden", "wird", "wir", "zum", "zur",
    "aux", "avec", "ce", "cette", "dans", "des", "doit", "du", "elle", "est", "et", "faire", "il", "la", "le", "les", "leur", "mais", "nous", "ou", "par", "pas", "plus", "pour", "qui", "sans", "sont", "sur", "une", "vous",
    "al", "como", "con", "cuando", "del", "desde", "el", "ella", "en", "es", "esta", "este", "favor", "hacer", "hasta", "las", "lo", "los", "muy", "más", "para", "pero", "por", "que", "se", "sin", "sobre", "su", "todos", "un", "una", "y",
    "che", "di", "della", "delle", "gli", "non", "nella", "per", "sono", "uno", "é", "è",
    "ao", "aos", "com", "da", "dos", "em", "isso", "mais", "não", "nas", "nos", "os", "pelo", "são", "também", "uma", "você",
    "aan", "een", "het", "ik", "maar", "moet", "naar", "niet", "ook", "op", "te", "van", "voor", "wij", "zijn",
    "att", "av", "det", "ett", "för", "inte", "med", "och", "på", "som", "till", "är",
    "jest", "nie", "oraz", "się", "aby", "dla", "przez",
];

/// Words that show English.
const ENGLISH: Class = Class::WEIGHTLESS
    .or(Class::REQUEST_VERB)
    .or(Class::NO_IMPERATIVE)
    .or(Class::MORE_VERB)
    .or(Class::EMPTY_GOAL);

/// Whether the rules can read a text. Code, names and numbers count for nothing; a text of nothing else is
/// taken for English.
pub fn is_english(text: &Text<'_>) -> bool {
    let (mut known, mut foreign, mut words) = (0_usize, 0_usize, 0_usize);
    for token in text.tokens.iter().filter(|it| it.is_word()) {
        words += 1;
        let word = &*token.lower;
        let english = token.has(ENGLISH);
        // Letters that no English word has; a name may have one.
        let strange = !word.is_ascii() && word.chars().any(|it| it.is_alphabetic() && !it.is_ascii());
        if strange || (token.has(Class::FOREIGN) && !(english && word.len() < 3)) {
            foreign += 1 + usize::from(strange && !word.bytes().any(|it| it.is_ascii_alphabetic()));
        } else if english {
            known += 1;
        }
    }
    // One foreign word is a name.
    foreign <= known.max(usize::from(words > 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_and_not() {
        for text in [
            "Fix the login",
            "Rename `total` to `sum`",
            "README",
            "",
            "1.2.3",
            "Deploy to São Paulo",
            "Add a café to the map of Málaga",
            "Fix typo",
            "Update naïve matcher",
            "Improve performance",
            "hello, how are you?",
            "Add an en/de switch to the footer",
        ] {
            assert!(is_english(&Text::new(text)), "{text}");
        }
        for text in [
            "优化一下系统",
            "Arregla el error por favor",
            "Mach die Anwendung schneller und schöner",
            "Corrige le bug dans la page de connexion",
            "Исправь ошибку входа",
            "ログインのエラーを直してください",
            "Correggi gli errori della pagina",
            "Corrija o erro de login, por favor, e não mude os testes",
            "Maak de pagina sneller en mooier voor het team",
            "أصلح خطأ تسجيل الدخول",
        ] {
            assert!(!is_english(&Text::new(text)), "{text}");
        }
    }
}
