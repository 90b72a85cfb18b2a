//! The findings of the clarity rules in an intent, and the entropy score that follows.

use crate::class::Class;
use crate::detect::{self, Hit};
use crate::excerpt::excerpt;
use crate::genre::{Genre, around_wish};
use crate::language::is_english;
use crate::lexicon::Category;
use crate::rules::{CLARITY_RULES, ClarityRule, Effect, index_of};
use crate::technology::Named;
use crate::text::{Text, Token};
use std::borrow::Borrow;

/// Where something was found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    Goal,
    /// The position of the constraint.
    Constraint(usize),
}

/// One finding of one rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Its position in the table.
    pub rule: usize,
    pub part: Part,
    pub hit: Hit,
}

impl Finding {
    pub fn rule(&self) -> Option<&'static ClarityRule> {
        CLARITY_RULES.get(self.rule)
    }

    pub fn is(&self, effect: Effect) -> bool {
        self.rule().is_some_and(|rule| rule.effect == effect)
    }
}

/// Further facts of the intent besides its texts.
#[derive(Clone, Copy, Default, Debug)]
pub struct Brought<'a> {
    /// The paths of the files that it brings.
    pub files: &'a [String],
    /// Whether it brings tests or commands that check the result.
    pub checks: bool,
    /// Keys and values of its context, such as `language` and `ticket`: each answers the question that its key names.
    pub said: &'a [(String, String)],
}

/// The texts of an intent, taken apart.
pub struct Reading<'t> {
    pub goal: Text<'t>,
    pub constraints: Vec<Text<'t>>,
    /// The form of the goal.
    pub genre: Genre,
    /// Whether the rules can read the goal.
    pub english: bool,
}

impl<'t> Reading<'t> {
    pub fn new(goal: &'t str, constraints: &'t [String]) -> Self {
        let goal = Text::new(goal);
        let (genre, english) = (Genre::of(&goal), is_english(&goal));
        Self { goal, constraints: constraints.iter().map(|it| Text::new(it)).collect(), genre, english }
    }

    pub fn text(&self, part: Part) -> Option<&Text<'t>> {
        match part {
            Part::Goal => Some(&self.goal),
            Part::Constraint(at) => self.constraints.get(at),
        }
    }

    pub fn parts(&self) -> impl Iterator<Item = (Part, &Text<'t>)> {
        let constraints = self.constraints.iter().enumerate().map(|(at, text)| (Part::Constraint(at), text));
        std::iter::once((Part::Goal, &self.goal)).chain(constraints)
    }

    /// Everything that is found in the texts, but for contradictions.
    pub fn findings(&self, brought: Brought<'_>) -> Vec<Finding> {
        // A constraint need not have what a goal may lack; and nobody asks for advice in a constraint.
        let of_goal = const { [index_of("no-object"), index_of("advice"), index_of("wish")] };
        let loophole = const { index_of("loophole") };
        let mut findings = Vec::new();
        let mut hits = Vec::new();
        let around = if self.genre == Genre::Story { around_wish(&self.goal) } else { Vec::new() };
        for (part, text) in self.parts() {
            detect::find_all(text, &mut hits);
            // A user story is judged by its wish; a gap is one wherever it is.
            if part == Part::Goal && !around.is_empty() {
                hits.retain(|(rule, hit)| {
                    let hard = CLARITY_RULES.get(*rule).is_some_and(|rule| rule.effect == Effect::Hard);
                    hard || !around.iter().any(|range| range.contains(&hit.start))
                });
            }
            let of_part = hits.drain(..).filter(|(rule, hit)| {
                // `Ideally …` says how strongly a constraint is meant; there is nothing to ask.
                let strength = *rule == loophole
                    && matches!(
                        &*hit.words.to_lowercase(),
                        "ideally"
                            | "preferably"
                            | "optionally"
                            | "nice to have"
                            | "where possible"
                            | "if possible"
                    );
                part == Part::Goal || !(strength || of_goal.contains(rule))
            });
            findings.extend(of_part.map(|(rule, hit)| Finding { rule, part, hit }));
        }
        self.find_gaps(brought, &mut findings);
        self.find_absences(brought, &mut findings);
        self.find_nothing(brought, &mut findings);
        match self.genre {
            Genre::Stub => crate::by_genre::find_in_stub(&self.goal, &mut findings),
            Genre::Story => crate::by_genre::find_in_story(&self.goal, &around, &mut findings),
            Genre::Issue | Genre::Requirement | Genre::Request => {}
        }
        findings
    }

    /// A goal that names nothing concrete and settles nothing, in any language.
    fn find_nothing(&self, brought: Brought<'_>, findings: &mut Vec<Finding>) {
        let (no_object, unqualified) = const { (index_of("no-object"), index_of("unqualified")) };
        // Where the words cannot be read, only tokens that are not words say something.
        let readable =
            const { [index_of("number"), index_of("quote"), index_of("code"), index_of("period")] };
        let settles = |it: &Finding| it.is(Effect::Settles) && (self.english || readable.contains(&it.rule));
        let names_something =
            findings.iter().any(|it| settles(it) || it.rule == no_object || it.is(Effect::Hard))
                || !brought.files.is_empty()
                || brought.checks
                || !brought.said.is_empty()
                || !self.constraints.is_empty();
        let content = |it: &&Token<'_>| it.is_word() && is_content(it) && !it.has(Class::REQUEST_VERB);
        let thin = findings.iter().any(|it| it.rule == unqualified)
            && self.goal.tokens.iter().filter(content).count() <= THIN_WORDS_MAX;
        // One noun is an object: `Changelog`.
        let one_word = self.english && self.goal.tokens.iter().filter(|it| it.is_word()).count() == 1;
        if names_something || one_word || (self.english && !thin && self.has_task()) {
            return;
        }
        let hit = Hit { start: 0, words: opening(&self.goal), options: Vec::new() };
        findings.push(Finding { rule: const { index_of("nothing-concrete") }, part: Part::Goal, hit });
    }

    /// Whether a sentence asks for something, with a word for what it is about.
    fn has_task(&self) -> bool {
        let modal =
            |it: &Token<'_>| matches!(&*it.lower, "shall" | "must" | "should" | "will" | "cannot" | "may");
        let demanded = self.genre == Genre::Requirement && self.goal.tokens.iter().any(modal);
        if demanded || matches!(self.genre, Genre::Story | Genre::Stub) {
            return true;
        }
        // `Malicious requests are rejected` says what is to be so.
        let mut passive = Vec::new();
        detect::passive(&self.goal, &mut passive);
        if !passive.is_empty() {
            return true;
        }
        let goal = &self.goal;
        goal.sentences.iter().any(|range| {
            let words: Vec<&Token<'_>> = goal.sentence(range).iter().filter(|it| it.is_word()).collect();
            let verb = words
                .iter()
                .position(|it| it.has(Class::REQUEST_VERB.or(Class::MORE_VERB).or(Class::ADVICE)));
            let asks = words.first().is_some_and(|it| {
                matches!(
                    &*it.lower,
                    "how" | "what" | "which" | "where" | "why" | "when" | "who" | "is" | "are" | "does"
                )
            });
            let wants = |it: &&Token<'_>| {
                matches!(&*it.lower, "want" | "need" | "needs" | "looking" | "help" | "like")
            };
            let wanted = if asks { Some(0) } else { words.iter().position(wants) };
            let from = verb.into_iter().chain(wanted).min();
            let content = |it: &&&Token<'_>| is_content(it);
            // A verb opens its request: `we should do something` has none.
            from.is_some_and(|from| {
                from <= VERB_WORDS_MAX && words.iter().skip(from + 1).filter(content).count() >= 2
            })
        })
    }

    /// A part that a program, a store, a login or an export needs and nobody named.
    fn find_gaps(&self, brought: Brought<'_>, findings: &mut Vec<Finding>) {
        // Most texts speak of nothing that needs a choice.
        if !self.parts().any(|(_, text)| text.class.has(Class::GAP_NOUN)) {
            return;
        }
        let named: Vec<&Named> = self.parts().flat_map(|(_, text)| text.technologies()).collect();
        for gap in GAPS {
            let by_file =
                brought.files.iter().filter_map(|path| path.rsplit_once('.')).any(|(_, extension)| {
                    crate::lexicon::EXTENSIONS
                        .iter()
                        .any(|(name, category)| *name == extension && *category == gap.category)
                });
            let by_context = brought.said.iter().any(|(key, _)| gap.answered_by(key));
            if by_file || by_context || named.iter().any(|it| gap.settled_by(it.category)) {
                continue;
            }
            let found = self.parts().find_map(|(part, text)| Some((part, gap.find(text)?)));
            if let Some((part, hit)) = found {
                findings.push(Finding { rule: index_of(gap.rule), part, hit });
            }
        }
    }

    fn find_absences(&self, brought: Brought<'_>, findings: &mut Vec<Finding>) {
        const SPECIFIC: [usize; 5] =
            [index_of("number"), index_of("quote"), index_of("code"), index_of("name"), index_of("period")];
        let has = |rules: &[usize]| findings.iter().any(|it| rules.contains(&it.rule));
        let specific = has(&SPECIFIC);
        let checked = has(&[const { index_of("acceptance") }]) || brought.checks;
        let whole = |rule: usize| Finding {
            rule,
            part: Part::Goal,
            hit: Hit { start: 0, words: opening(&self.goal), options: Vec::new() },
        };
        let mut absent = Vec::new();
        if !specific && brought.files.is_empty() {
            absent.push(whole(const { index_of("nothing-specific") }));
            let fact = has(&[const { index_of("fact") }]);
            if self.constraints.is_empty() && !fact && is_unqualified(&self.goal) {
                absent.push(whole(const { index_of("unqualified") }));
            }
        }
        if !checked {
            absent.push(whole(const { index_of("no-acceptance") }));
        }
        findings.extend(absent);
    }
}

/// Whether a word says what something is about.
fn is_content(token: &Token<'_>) -> bool {
    !token.has(Class::EMPTY_GOAL.or(Class::WEIGHTLESS))
}

/// Words for a thing about which nothing else is said.
const THIN_WORDS_MAX: usize = 2;

/// How many words may stand before the verb of a request.
const VERB_WORDS_MAX: usize = 6;

/// Words that say more about a thing: what it belongs to, what it does, under which condition.
#[rustfmt::skip]
pub(crate) static QUALIFIERS: &[&str] = &[
    "about", "after", "as", "at", "because", "before", "between", "by", "during", "for", "from", "how", "if", "in",
    "into", "of", "on", "since", "so", "than", "that", "through", "to", "unless", "until", "using", "when", "where",
    "which", "while", "who", "whose", "why", "with", "without",
];

/// How many words may follow the one preposition that says little: `to users`, `for the management`.
const TAIL_WORDS_MAX: usize = 3;

/// A request verb and a thing, and no word that says more about the thing than for whom it is.
fn is_unqualified(goal: &Text<'_>) -> bool {
    let words: Vec<&Token<'_>> = goal.tokens.iter().filter(|it| it.is_word()).collect();
    let asks = |it: &&&Token<'_>| {
        it.has(Class::REQUEST_VERB) || matches!(&*it.lower, "need" | "want" | "needs" | "wants" | "speed")
    };
    let mut qualifiers = words.iter().enumerate().filter(|(_, it)| it.has(Class::QUALIFIES));
    let idle = match (qualifiers.next(), qualifiers.next()) {
        (None, _) => true,
        (Some((at, it)), None) => {
            matches!(&*it.lower, "to" | "for" | "with") && words.len() - at <= TAIL_WORDS_MAX
        }
        _ => false,
    };
    idle && words.iter().any(|it| asks(&it))
}

/// How many characters of a goal are quoted.
const EXCERPT_CHARS_MAX: usize = 80;

/// The first sentence of a text.
fn opening(text: &Text<'_>) -> String {
    let sentence = text.sentences.first().map_or(text.source, |range| text.sentence_text(range));
    excerpt(sentence.trim_end_matches(['.', '!', '?', ';', ':']), EXCERPT_CHARS_MAX)
}

/// Something that needs a choice which nobody made.
struct Gap {
    rule: &'static str,
    category: Category,
    /// The sign that the choice is needed.
    nouns: &'static [&'static str],
    /// A verb that the same sentence must have.
    verbs: &'static [&'static str],
}

static GAPS: &[Gap] = &[
    Gap {
        rule: "gap-language",
        category: Category::Language,
        nouns: &[
            "script",
            "program",
            "service",
            "microservice",
            "library",
            "app",
            "application",
            "bot",
            "scraper",
            "daemon",
            "function",
        ],
        verbs: &["write", "create", "build", "develop", "implement", "make", "code", "generate"],
    },
    Gap {
        rule: "gap-database",
        category: Category::Database,
        nouns: &["database", "db", "datastore"],
        verbs: &[
            "store", "save", "persist", "create", "write", "build", "design", "set", "use", "add", "keep",
            "stores", "saves", "persists",
        ],
    },
    Gap {
        rule: "gap-authentication",
        category: Category::Authentication,
        nouns: &["authentication", "login", "sign-in", "auth", "authenticate"],
        verbs: &[
            "add",
            "implement",
            "build",
            "create",
            "support",
            "require",
            "requires",
            "need",
            "needs",
            "develop",
            "with",
            "must",
        ],
    },
    Gap {
        rule: "gap-format",
        category: Category::Format,
        nouns: &["report", "export", "dump", "spreadsheet"],
        verbs: &["export", "generate", "produce", "create", "write", "send", "output", "download"],
    },
];

impl Gap {
    /// A framework or a shell command settles the language too; a table of values settles a format.
    fn settled_by(&self, category: Category) -> bool {
        category == self.category || (self.category == Category::Language && category == Category::Framework)
    }

    /// Whether a key of the context is the answer.
    fn answered_by(&self, key: &str) -> bool {
        let key = key.to_lowercase();
        match self.category {
            Category::Language => matches!(key.as_str(), "language" | "lang" | "framework" | "stack"),
            Category::Database => matches!(key.as_str(), "database" | "db"),
            Category::Authentication => matches!(key.as_str(), "auth" | "authentication" | "login"),
            Category::Format => matches!(key.as_str(), "format" | "output_format"),
            _ => false,
        }
    }

    fn find(&self, text: &Text<'_>) -> Option<Hit> {
        text.sentences.iter().filter(|_| text.class.has(Class::GAP_NOUN)).find_map(|range| {
            let sentence = text.sentence(range);
            let is_verb = |it: &Token<'_>| self.verbs.contains(&&*it.lower);
            let verb = sentence.iter().position(is_verb)?;
            // The thing that is made, kept or asked for follows closely behind its verb.
            let nouns = sentence.iter().enumerate().skip(verb + 1).take(NOUN_DISTANCE_MAX);
            let (at, noun) = nouns.into_iter().find(|(at, it)| self.is_meant(sentence, *at, it))?;
            let before = at.checked_sub(1).and_then(|at| sentence.get(at));
            let article = before.filter(|it| it.is("a") || it.is("the") || it.is("an"));
            Some(Hit {
                start: noun.start,
                words: text.between(article.unwrap_or(noun), noun).to_owned(),
                options: Vec::new(),
            })
        })
    }

    /// Whether a token is the thing itself: not part of a path, of a longer noun such as `application code`,
    /// and without a name of its own, which says what it is.
    fn is_meant(&self, sentence: &[Token<'_>], at: usize, token: &Token<'_>) -> bool {
        let next = sentence.get(at + 1);
        let joined = |it: Option<&Token<'_>>| it.is_some_and(|it| it.text == "/" || it.text == "=");
        let before = at.checked_sub(1).and_then(|at| sentence.get(at));
        let longer = next.is_some_and(|it| it.is_word() && !it.is_capitalized() && !detect::ends_phrase(it));
        let own_name = next.is_some_and(Token::is_literal);
        token.is_word()
            && self.nouns.contains(&&*token.lower)
            && !joined(next)
            && !joined(before)
            && !longer
            && !own_name
    }
}

/// How far behind its verb a noun may stand.
const NOUN_DISTANCE_MAX: usize = 6;

/// How many findings of each rule there are, by its position in the table.
pub fn counts<F: Borrow<Finding>>(findings: &[F]) -> Vec<usize> {
    let mut counts = vec![0_usize; CLARITY_RULES.len()];
    for finding in findings.iter().map(F::borrow) {
        if let Some(count) = counts.get_mut(finding.rule) {
            *count += 1;
        }
    }
    counts
}

/// The entropy score: the base of the genre, what is unclear added, what is settled taken off. It may be
/// below 0 and over 100.
pub fn raw_score<F: Borrow<Finding>>(genre: Genre, findings: &[F]) -> i32 {
    let mut score = genre.level().base_score;
    for (rule, count) in CLARITY_RULES.iter().zip(counts(findings)) {
        let counted = count.min(rule.counted_in(genre));
        let points = i32::from(rule.points) * i32::try_from(counted).unwrap_or(i32::MAX);
        match rule.effect {
            Effect::Hard | Effect::Unclear => score += points,
            Effect::Settles => score -= points,
        }
    }
    score
}

/// Where the ends of the scale begin, which stretch for ever.
const ENDS: i32 = 8;

/// The entropy score as a node has it. Towards its ends the scale is pressed together and not cut off, so
/// that of two texts the less clear one keeps the higher score.
pub fn entropy_score<F: Borrow<Finding>>(genre: Genre, findings: &[F]) -> u8 {
    let raw = raw_score(genre, findings);
    let pressed = |beyond: i32| ENDS - ENDS * ENDS * 2 / (beyond + ENDS * 2);
    let score = if raw < ENDS {
        ENDS - pressed(ENDS - raw)
    } else if raw > 100 - ENDS {
        100 - ENDS + pressed(raw - (100 - ENDS))
    } else {
        raw
    };
    u8::try_from(score.clamp(0, 100)).unwrap_or_default()
}

/// For measuring rules one by one: the genre of a goal that stands alone, and how often each rule finds
/// something in it.
pub fn judged(goal: &str) -> (Genre, Vec<usize>) {
    let reading = Reading::new(goal, &[]);
    (reading.genre, counts(&reading.findings(Brought::default())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_tells_its_examples_apart() {
        let mut wrong = Vec::new();
        for (index, rule) in CLARITY_RULES.iter().enumerate() {
            let count = |text: &str| {
                let findings = Reading::new(text, &[]).findings(Brought::default());
                counts(&findings)[index]
            };
            let missed = rule.accept.iter().filter(|text| count(text) == 0);
            wrong.extend(missed.map(|text| format!("{} finds nothing in {text:?}", rule.id)));
            let mistaken = rule.reject.iter().filter(|text| count(text) > 0);
            wrong.extend(mistaken.map(|text| format!("{} finds something in {text:?}", rule.id)));
            assert!(
                rule.id == "contradiction" || (!rule.accept.is_empty() && !rule.reject.is_empty()),
                "{}",
                rule.id
            );
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn rules_are_named_once() {
        let mut ids: Vec<_> = CLARITY_RULES.iter().map(|rule| rule.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), CLARITY_RULES.len());
    }
}
