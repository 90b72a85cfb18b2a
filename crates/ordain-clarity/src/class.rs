//! The lists that a word is in. Each token is looked up once, and the rules test a bit.

use crate::language::FOREIGN;
use crate::lexicon::{
    ADVICE, COMMON_ABBREVIATIONS, EMPTY_GOAL_WORDS, ENDS_LIKE_SUPERLATIVE, MORE_VERBS, NO_IMPERATIVE,
    NUMBER_WORDS, OPPOSITES, OR_DESCRIBES, OR_INSIDE, PHRASE_ENDS, QUALITIES, REQUEST_VERBS, SOURCES,
    SUPERLATIVES, TECHNOLOGIES, Technology, UNITS, Unit, WEIGHTLESS,
};
use crate::rules::{CLARITY_RULES, Find};
use crate::text::stem;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A set of lists.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Class(u128);

impl Class {
    pub const NONE: Self = Self(0);

    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the two have a list in common.
    pub const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }
}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $words:expr;)*) => {
        /// The position of the bit of each class.
        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "only counts the classes")]
        #[derive(Clone, Copy)]
        enum Bit { $($name),* }

        impl Class {
            $($(#[$doc])* pub const $name: Self = Self(1 << Bit::$name as u32);)*
        }

        static LISTS: &[(Class, &[&str])] = &[$((Class::$name, $words)),*];
    };
}

classes! {
    REQUEST_VERB = REQUEST_VERBS;
    MORE_VERB = MORE_VERBS;
    NO_IMPERATIVE = NO_IMPERATIVE;
    EMPTY_GOAL = EMPTY_GOAL_WORDS;
    WEIGHTLESS = WEIGHTLESS;
    PHRASE_END = PHRASE_ENDS;
    OR_INSIDE = OR_INSIDE;
    OR_DESCRIBES = OR_DESCRIBES;
    /// In the singular; the table has the plurals too.
    SOURCE = SOURCES;
    ADVICE = ADVICE;
    QUALITY = QUALITIES;
    COMMON_ABBREVIATION = COMMON_ABBREVIATIONS;
    SUPERLATIVE = SUPERLATIVES;
    ENDS_LIKE_SUPERLATIVE = ENDS_LIKE_SUPERLATIVE;
    FOREIGN = FOREIGN;
    OR = &["or"];
    HELP = &["help"];
    THE = &["the"];
    ARTICLE = &["a", "an", "some", "any"];
    BE = &["be", "is", "are", "was", "were", "been", "being"];
    OPENS_LIST_END = &["etc", "and", "among", "but", "or"];
    INTO_SOURCE = &["from", "in", "of", "on", "into", "within", "inside", "through"];
    SPAN = &["last", "past", "next", "previous"];
    ONE = &["one"];
    MONTH = MONTHS;
    /// Words that the phrase of a gap starts with, and words that are one.
    GAP = &["to", "not", "lorem", "is", "are", "will", "tbd", "tbc", "tba", "xx", "todo", "fixme", "xxx", "xxxx", "nn", "yy", "n", "x", "y"];
    TEMPLATE = crate::placeholder::TEMPLATES;
    /// Verbs and nouns behind which a choice may be missing.
    GAP_NOUN = &["script", "program", "service", "microservice", "library", "app", "application", "bot", "scraper", "daemon", "function",
        "database", "db", "datastore", "authentication", "login", "sign-in", "auth", "authenticate", "report", "export", "dump", "spreadsheet"];
    /// Words that a sentence about a check has.
    CHECK = &["unit", "integration", "regression", "property", "acceptance", "end-to-end", "e2e", "snapshot", "load", "reports", "report", "finds", "no", "is",
        "covered", "verified", "measured", "reviewed", "approved", "tested", "byte", "same", "test", "coverage", "identical", "add", "include", "write"];
    /// Verbs of what passes.
    PASSES = &["passes", "pass", "succeeds", "succeed", "green", "exits"];
    CHECKED = &["checks", "build", "suite", "lint", "ci"];
    METRIC = crate::requirement::METRICS;
    METRIC_VERB = &["must", "shall", "has", "reach", "reaches"];
    BOUND = crate::quantity::BOUND_WORDS;
    DAY_BOUND = crate::quantity::DAY_BOUND_WORDS;
    NUMBERED = crate::quantity::NUMBERED;
    /// Verbs that weigh nothing in what a sentence is about.
    MODAL = &["must", "shall", "should", "may", "can", "will", "could", "might", "needs", "ought"];
    /// Words that may say how strongly a sentence is meant.
    STRENGTH = &["must", "shall", "will", "may", "can", "could", "might", "should", "ought", "mustn't", "cannot", "can't", "won't", "shouldn't", "has", "have", "needs", "need"];
    /// Verbs that deny or may be denied.
    DENIES = &["is", "are", "does", "do", "never", "doesn't", "don't", "isn't", "aren't"];
    /// Modal verbs that a mixed sentence has two kinds of.
    MIXES = &["must", "shall", "should", "may"];
    /// Words that show that a sentence demands something.
    EXPLICIT = &["must", "shall", "should", "may", "cannot", "never"];
    CONDITION = &["if", "when", "unless", "while", "whenever", "until", "once", "during", "where"];
    /// The first words of `so that` and `in order`.
    PURPOSE = &["so", "in"];
    ONLY = &["only", "exclusively", "solely"];
    NONE_OF = &["no", "zero"];
    RELATIVE = &["that", "which", "who", "whose"];
    LEAD_END = &["in", "to", "for", "on", "into", "from", "with", "at", "via", "by", "during", "under"];
    OBJECT_END = crate::requirement::OBJECT_ENDS;
    LABEL = &["out", "not", "non-goal", "non-goals", "under", "refrain", "zero", "nice", "recommended", "where", "if", "ideally", "preferably", "prefer", "we",
        "nice-to-have", "would", "it", "optionally", "optional", "(", "bonus", "stretch", "feel", "you"];
    COST = &["cost", "costs", "budget", "spend"];
    DONE = &["done", "finished", "complete", "completed", "live", "merged", "released", "shipped"];
    COPULA = &["be", "is", "are", "=", ":", "equals", "equal"];
    ORDER = &["before", "after", "precedes", "precede", "follows", "first"];
    TAKES_PLACE = crate::relation::TAKES_PLACE;
    COLOR = crate::relation::COLORS;
    TYPE = crate::relation::TYPES;
    MADE_IN = &["written", "write", "implemented", "implement", "built", "build", "coded", "code", "developed", "develop", "rewrite", "rewritten", "reimplement", "stay",
        "stays", "remain", "remains", "kept"];
    HANDED = &["deliver", "delivered", "send", "sent", "store", "stored", "save", "saved", "returned", "return"];
    QUALIFIES = crate::findings::QUALIFIERS;
    ADDS_UP_SAID = crate::contradiction::ADDS_UP_SAID;
    RUNS_ON = crate::contradiction::RUNS_ON;
    ON_OR_WITH = &["on", "with"];
    SELECTS = crate::contradiction::SELECTS;
    PERMITS = &["acceptable", "allowed", "fine", "ok", "okay", "permitted", "tolerated"];
    STAYS = &["stay", "stays", "remain", "remains"];
    BOTH = &["both"];
    MONEY = &["$", "€"];
    /// Stems of words that have an opposite; the table adds them.
    OPPOSED = &[];
}

/// The months, in their order.
pub static MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The known classes of a word.
#[derive(Debug, Default)]
pub struct Entry {
    pub class: Class,
    /// The number that it is a word for, from two on.
    pub number: Option<f64>,
    pub unit: Option<&'static Unit>,
    pub technology: Option<&'static Technology>,
    /// Phrases of the rules that start with it, longest first, each with the rule that lists it.
    pub phrases: Vec<(Vec<&'static str>, usize)>,
}

/// Longer words are in no list.
const WORD_BYTES_MAX: usize = 20;
/// More than twice the words of all lists, so that most are found at the first look.
const SLOTS: usize = 8192;

struct Table {
    /// The position of an entry, or none.
    slots: Vec<u16>,
    entries: Vec<(&'static str, Entry)>,
}

const EMPTY: u16 = u16::MAX;

static UNKNOWN: Entry =
    Entry { class: Class::NONE, number: None, unit: None, technology: None, phrases: Vec::new() };

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut words: BTreeMap<&'static str, Entry> = BTreeMap::new();
    for (class, list) in LISTS {
        for word in *list {
            let entry = words.entry(word).or_default();
            entry.class = entry.class.or(*class);
        }
    }
    let plurals = SOURCES.iter().filter(|it| !it.ends_with('s')).map(|it| &*format!("{it}s").leak());
    for plural in plurals {
        let entry = words.entry(plural).or_default();
        entry.class = entry.class.or(Class::SOURCE);
    }
    for (one, other) in OPPOSITES {
        for word in [one, other] {
            let stem: &'static str = match stem(word) {
                Cow::Borrowed(stem) => stem,
                Cow::Owned(stem) => stem.leak(),
            };
            let entry = words.entry(stem).or_default();
            entry.class = entry.class.or(Class::OPPOSED);
        }
    }
    for (word, value) in NUMBER_WORDS.iter().filter(|(_, value)| *value > 1.0) {
        words.entry(word).or_default().number = Some(*value);
    }
    for unit in UNITS {
        for name in unit.names {
            words.entry(name).or_default().unit.get_or_insert(unit);
        }
    }
    for technology in TECHNOLOGIES {
        words.entry(technology.name).or_default().technology = Some(technology);
    }
    for (index, rule) in CLARITY_RULES.iter().enumerate() {
        let (Find::Words(list) | Find::Phrases(list)) = rule.find else { continue };
        for phrase in list {
            let phrase: Vec<&'static str> = phrase.split(' ').collect();
            if let Some(first) = phrase.first().copied() {
                words.entry(first).or_default().phrases.push((phrase, index));
            }
        }
    }
    for entry in words.values_mut() {
        entry
            .phrases
            .sort_by(|left, right| right.0.len().cmp(&left.0.len()).then_with(|| left.1.cmp(&right.1)));
    }
    let entries: Vec<(&'static str, Entry)> = words.into_iter().collect();
    let mut slots = vec![EMPTY; SLOTS];
    for (index, (word, _)) in entries.iter().enumerate() {
        let mut at = hash(word);
        while slots.get(at).is_some_and(|it| *it != EMPTY) {
            at = (at + 1) % SLOTS;
        }
        if let (Some(slot), Ok(index)) = (slots.get_mut(at), u16::try_from(index)) {
            *slot = index;
        }
    }
    Table { slots, entries }
});

/// FNV-1a, folded to a slot.
fn hash(word: &str) -> usize {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in word.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (hash ^ (hash >> 32)) as usize % SLOTS
}

/// The known classes of a word in lower case.
pub fn entry_of(word: &str) -> &'static Entry {
    if word.len() > WORD_BYTES_MAX {
        return &UNKNOWN;
    }
    let table: &'static Table = &TABLE;
    let mut at = hash(word);
    while let Some(slot) = table.slots.get(at).filter(|it| **it != EMPTY) {
        match table.entries.get(usize::from(*slot)) {
            Some((known, entry)) if *known == word => return entry,
            _ => at = (at + 1) % SLOTS,
        }
    }
    &UNKNOWN
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table stands in for the lists: it knows every word of them and no other.
    #[test]
    fn a_word_has_the_classes_of_its_lists() {
        let mut count = 0;
        for (class, list) in LISTS {
            for word in *list {
                assert!(entry_of(word).class.has(*class), "{word}");
                assert!(word.len() <= WORD_BYTES_MAX, "{word} is longer than {WORD_BYTES_MAX} bytes");
                count += 1;
            }
        }
        assert!(count > 1500 && TABLE.entries.len() < SLOTS / 2, "{count} {}", TABLE.entries.len());
        for (word, entry) in &TABLE.entries {
            for (class, list) in
                LISTS.iter().filter(|(class, _)| !class.has(Class::SOURCE.or(Class::OPPOSED)))
            {
                assert_eq!(entry.class.has(*class), list.contains(word), "{word}");
            }
        }
        assert_eq!(entry_of("defenestrate").class, Class::NONE);
        assert_eq!(entry_of("").class, Class::NONE);
        assert!(entry_of("files").class.has(Class::SOURCE) && entry_of("file").class.has(Class::SOURCE));
    }
}
