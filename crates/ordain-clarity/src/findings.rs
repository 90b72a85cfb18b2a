//! What the clarity rules find in an intent, and the entropy score that follows.

use crate::detect::{self, Hit};
use crate::excerpt::excerpt;
use crate::lexicon::Category;
use crate::rules::{BASE_SCORE, CLARITY_RULES, ClarityRule, Effect, index_of};
use crate::technology::{Named, technologies};
use crate::text::{Text, Token};

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

/// What else the intent says besides its texts.
#[derive(Clone, Copy, Default, Debug)]
pub struct Brought<'a> {
    /// The paths of the files that it brings.
    pub files: &'a [String],
    /// Whether it brings tests or commands that check the result.
    pub checks: bool,
}

/// The texts of an intent, taken apart.
pub struct Reading<'t> {
    pub goal: Text<'t>,
    pub constraints: Vec<Text<'t>>,
}

impl<'t> Reading<'t> {
    pub fn new(goal: &'t str, constraints: &'t [String]) -> Self {
        Self { goal: Text::new(goal), constraints: constraints.iter().map(|it| Text::new(it)).collect() }
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
        // What a goal may lack, a constraint need not have; and nobody asks for advice in a constraint.
        let of_goal = ["no-object", "advice", "wish"].map(index_of);
        let loophole = index_of("loophole");
        let mut findings = Vec::new();
        let mut hits = Vec::new();
        let mut named = Vec::new();
        for (part, text) in self.parts() {
            detect::find_all(text, &mut hits);
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
            named.extend(technologies(text));
        }
        self.find_gaps(&named, brought, &mut findings);
        self.find_absences(brought, &mut findings);
        findings
    }

    /// What a program, a store, a login or an export needs and nobody named.
    fn find_gaps(&self, named: &[Named], brought: Brought<'_>, findings: &mut Vec<Finding>) {
        for gap in GAPS {
            let by_file =
                brought.files.iter().filter_map(|path| path.rsplit_once('.')).any(|(_, extension)| {
                    crate::lexicon::EXTENSIONS
                        .iter()
                        .any(|(name, category)| *name == extension && *category == gap.category)
                });
            if by_file || named.iter().any(|it| gap.settled_by(it.category)) {
                continue;
            }
            let found = self.parts().find_map(|(part, text)| Some((part, gap.find(text)?)));
            if let Some((part, hit)) = found {
                findings.push(Finding { rule: index_of(gap.rule), part, hit });
            }
        }
    }

    fn find_absences(&self, brought: Brought<'_>, findings: &mut Vec<Finding>) {
        let has = |id: &str| findings.iter().any(|it| it.rule == index_of(id));
        let specific = ["number", "quote", "code", "name", "period"].iter().any(|id| has(id));
        let checked = has("acceptance") || brought.checks;
        let whole = |rule: &str| Finding {
            rule: index_of(rule),
            part: Part::Goal,
            hit: Hit { start: 0, words: opening(&self.goal), options: Vec::new() },
        };
        let mut absent = Vec::new();
        if !specific && brought.files.is_empty() {
            absent.push(whole("nothing-specific"));
            if self.constraints.is_empty() && !has("fact") && is_unqualified(&self.goal) {
                absent.push(whole("unqualified"));
            }
        }
        if !checked {
            absent.push(whole("no-acceptance"));
        }
        findings.extend(absent);
    }
}

/// Words that say more about a thing: what it belongs to, what it does, under which condition.
#[rustfmt::skip]
static QUALIFIERS: &[&str] = &[
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
        crate::lexicon::REQUEST_VERBS.contains(&*it.lower)
            || matches!(&*it.lower, "need" | "want" | "needs" | "wants" | "speed")
    };
    let mut qualifiers = words.iter().enumerate().filter(|(_, it)| QUALIFIERS.contains(&&*it.lower));
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
    /// What shows that the choice is needed.
    nouns: &'static [&'static str],
    /// A verb that must stand in the same sentence.
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

    fn find(&self, text: &Text<'_>) -> Option<Hit> {
        text.sentences.iter().find_map(|range| {
            let sentence = text.sentence(range);
            let is_verb = |it: &Token<'_>| self.verbs.contains(&&*it.lower);
            let verb = sentence.iter().position(is_verb)?;
            // What is made, kept or asked for stands close behind its verb.
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

    /// Whether a token is the thing itself: not part of a path, of a longer noun such as `application code`, and without
    /// a name of its own, which says what it is.
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
pub fn counts(findings: &[Finding]) -> Vec<usize> {
    let mut counts = vec![0_usize; CLARITY_RULES.len()];
    for finding in findings {
        if let Some(count) = counts.get_mut(finding.rule) {
            *count += 1;
        }
    }
    counts
}

/// The entropy score: the base, what is unclear added, what is settled taken off.
pub fn entropy_score(findings: &[Finding]) -> u8 {
    let mut score = BASE_SCORE;
    for (rule, count) in CLARITY_RULES.iter().zip(counts(findings)) {
        let counted = count.min(usize::from(rule.counts_max));
        let points = i32::from(rule.points) * i32::try_from(counted).unwrap_or(i32::MAX);
        match rule.effect {
            Effect::Hard | Effect::Unclear => score += points,
            Effect::Settles => score -= points,
        }
    }
    u8::try_from(score.clamp(0, 100)).unwrap_or_default()
}

/// For measuring rules one by one: the name of each rule and how often it finds something in a goal that stands alone.
pub fn rule_counts(goal: &str) -> Vec<(&'static str, usize)> {
    let findings = Reading::new(goal, &[]).findings(Brought::default());
    CLARITY_RULES.iter().map(|rule| rule.id).zip(counts(&findings)).collect()
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
