//! From findings to questions: one for each thing that is unclear, with the words that it is about.

use crate::derive::derive_id;
use ordain_canon::{Canonicalizer, DeriveError, DerivedId, sort_utf16};
use ordain_clarity::class::Class;
use ordain_clarity::contradiction::Contradiction;
use ordain_clarity::excerpt::{excerpt, excerpt_of};
use ordain_clarity::findings::{Finding, Part, Reading};
use ordain_clarity::lexicon::{ALIASES, QUALITY_MEASURES};
use ordain_clarity::placeholder::is_named;
use ordain_clarity::quantity::quantities;
use ordain_clarity::rules::{Ask, CLARITY_RULES, ClarityRule, Effect, SOFT_QUESTIONS_MAX, index_of};
use ordain_clarity::text::{Kind, Text, stem};
use ordain_spec::bundle::{AnswerType, Question};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;

/// A question that could be asked.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) question: Question,
    pub(crate) rule: usize,
    /// Where its words stand.
    pub(crate) part: Part,
    pub(crate) start: usize,
    pub(crate) words: String,
    /// Whether it is a placeholder with a name, which is the same wherever it stands.
    pub(crate) named_gap: bool,
    /// The constraints of which one holds, for a contradiction.
    pub(crate) contradiction: Option<Contradiction>,
    /// Whether it is among those that are asked when the intent is unclear; others are stated as assumptions.
    pub(crate) askable: bool,
}

impl Candidate {
    pub(crate) fn rule(&self) -> Option<&'static ClarityRule> {
        CLARITY_RULES.get(self.rule)
    }

    pub(crate) fn is_hard(&self) -> bool {
        self.rule().is_some_and(|rule| rule.effect == Effect::Hard)
    }

    /// The assumption in the brief when it is not asked.
    pub(crate) fn assumption(&self) -> Option<String> {
        let template = self.rule()?.ask.as_ref()?.assumption?;
        Some(template.replace("{}", &self.words))
    }
}

/// The answer to a contradiction that is not one.
pub const KEEP_ALL: &str = "keep all";

/// How many characters of a constraint are quoted in a question.
const QUOTE_CHARS_MAX: usize = 120;
/// How many constraints of a contradiction are quoted in its text; all of them are options.
const QUOTES_MAX: usize = 4;

/// Everything that could be asked about an intent, in the order of the text. It depends on the goal and the
/// constraints alone, so that answers never change the id of a question.
pub(crate) fn candidates(
    canon: &mut Canonicalizer,
    reading: &Reading<'_>,
    constraints: &[String],
    findings: &[Finding],
    contradictions: &[Contradiction],
) -> Result<Vec<Candidate>, DeriveError> {
    let placeholder = const { index_of("placeholder") };
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut gaps = Gaps::of(reading, findings);
    for finding in findings {
        let Some((rule, ask)) = finding.rule().and_then(|rule| Some((rule, rule.ask.as_ref()?))) else {
            continue;
        };
        let is_gap = finding.rule == placeholder;
        let words = quoted(finding);
        let named_gap = is_gap && is_named(&finding.hit.words);
        let mut text = ask.text.replace("{}", &words);
        let same = if is_gap && !named_gap { String::new() } else { words.to_lowercase() };
        if !same.is_empty() && !seen.insert((finding.rule, same)) {
            continue;
        }
        if is_gap && let Some(inside) = reading.text(finding.part) {
            text = format!("What should stand in place of {}?", gaps.quoted(inside, finding));
        }
        let mut options = finding.hit.options.clone();
        sort_utf16(&mut options);
        options.dedup();
        let question = question(canon, rule, ask, text, ask.why.to_owned(), options)?;
        candidates.push(Candidate {
            question,
            rule: finding.rule,
            part: finding.part,
            start: finding.hit.start,
            words,
            named_gap,
            contradiction: None,
            askable: rule.effect == Effect::Hard,
        });
    }
    for contradiction in contradictions {
        candidates.extend(of_contradiction(canon, constraints, contradiction)?);
    }
    rank_by_place(&mut candidates);
    choose_askable(&mut candidates);
    Ok(candidates)
}

/// How far questions of one hard rule may differ in priority: less than the rules differ from each other.
const RANKS_MAX: u8 = 4;

/// Among questions of one hard rule, what stands first in the text is asked first.
fn rank_by_place(candidates: &mut [Candidate]) {
    let mut ranks: BTreeMap<usize, u8> = BTreeMap::new();
    for candidate in candidates.iter_mut().filter(|it| it.is_hard()) {
        let rank = ranks.entry(candidate.rule).or_default();
        candidate.question.priority -= (*rank).min(RANKS_MAX);
        *rank = rank.saturating_add(1);
    }
}

/// The words of a finding as a question quotes them. Those of a placeholder are replaced and so stay as they stand.
pub(crate) fn quoted(finding: &Finding) -> String {
    match finding.rule == const { index_of("placeholder") } {
        true => finding.hit.words.clone(),
        false => excerpt(&finding.hit.words, QUOTE_CHARS_MAX),
    }
}

/// The gaps that a question would quote in the same way, counted.
#[derive(Default)]
struct Gaps {
    /// How many there are, and how many have got their number.
    counts: BTreeMap<(String, String), (usize, usize)>,
}

impl Gaps {
    fn of(reading: &Reading<'_>, findings: &[Finding]) -> Self {
        let mut gaps = Self::default();
        for finding in findings.iter().filter(|it| it.rule == const { index_of("placeholder") }) {
            if let Some(text) = reading.text(finding.part) {
                gaps.counts.entry(Self::key(text, finding)).or_default().0 += 1;
            }
        }
        gaps
    }

    fn key(text: &Text<'_>, finding: &Finding) -> (String, String) {
        (around(text, finding), finding.hit.words.clone())
    }

    /// `“TBD” in “The port is TBD”`, with its number where several would be quoted like that.
    fn quoted(&mut self, text: &Text<'_>, finding: &Finding) -> String {
        let key = Self::key(text, finding);
        let (count, numbered) = self.counts.get(&key).copied().unwrap_or_default();
        let number = if count > 1 { format!(" (number {})", numbered + 1) } else { String::new() };
        let quoted = format!("“{}”{number} in “{}”", key.1, key.0);
        self.counts.insert(key, (count, numbered + 1));
        quoted
    }
}

/// The sentence around a gap, or of a long one what is near the gap.
fn around(text: &Text<'_>, finding: &Finding) -> String {
    let start = finding.hit.start;
    let Some(range) = sentence_around(text, start) else { return finding.hit.words.clone() };
    let sentence = text.sentence_text(&range);
    if sentence.chars().nth(QUOTE_CHARS_MAX).is_none() {
        return excerpt(sentence.trim_end_matches('.'), QUOTE_CHARS_MAX);
    }
    let begin = text.tokens.get(range.start).map_or(0, |it| it.start);
    let before = text.source.get(begin..start).unwrap_or_default();
    let tail: Vec<char> = before.chars().rev().take(QUOTE_CHARS_MAX / 2).collect();
    let tail: String = tail.into_iter().rev().collect();
    let tail = tail.split_once(' ').map_or(tail.as_str(), |(_, rest)| rest);
    let rest = text.source.get(start..).unwrap_or_default();
    format!("…{}", excerpt_of(tail.chars().chain(rest.chars()), QUOTE_CHARS_MAX))
}

fn of_contradiction(
    canon: &mut Canonicalizer,
    constraints: &[String],
    contradiction: &Contradiction,
) -> Result<Option<Candidate>, DeriveError> {
    let index = const { index_of("contradiction") };
    let Some((rule, ask)) = CLARITY_RULES.get(index).and_then(|rule| Some((rule, rule.ask.as_ref()?))) else {
        return Ok(None);
    };
    // Inside one constraint its sentences are the choice, elsewhere the constraints.
    let mut options: Vec<String> = match contradiction.constraints.as_slice() {
        [_] => contradiction.sentences.clone(),
        many => many.iter().filter_map(|at| constraints.get(*at)).cloned().collect(),
    };
    options.extend(contradiction.of_goal.iter().cloned());
    sort_utf16(&mut options);
    options.dedup();
    let mut quotes: Vec<String> =
        options.iter().take(QUOTES_MAX).map(|it| format!("“{}”", excerpt(it, QUOTE_CHARS_MAX))).collect();
    if options.len() > QUOTES_MAX {
        quotes.push(format!("{} more", options.len() - QUOTES_MAX));
    }
    let words = quotes.join(" or ");
    let single = options.len() < 2;
    let mut why = format!("{} Here {}.", ask.why, contradiction.reason);
    if !single {
        let _ = write!(why, " If they can hold together, answer `{KEEP_ALL}`.");
        options.push(KEEP_ALL.to_owned());
        sort_utf16(&mut options);
    }
    let text = if single {
        format!("{words} contradicts itself: what holds?")
    } else {
        ask.text.replace("{}", &words)
    };
    let mut question = question(canon, rule, ask, text, why, if single { Vec::new() } else { options })?;
    if single {
        question.expected_answer_type = AnswerType::Text;
        question.id = id_of(canon, &question)?;
    }
    Ok(Some(Candidate {
        question,
        rule: index,
        part: Part::Constraint(contradiction.constraints.first().copied().unwrap_or_default()),
        start: 0,
        words,
        named_gap: false,
        contradiction: Some(contradiction.clone()),
        askable: true,
    }))
}

fn question(
    canon: &mut Canonicalizer,
    rule: &ClarityRule,
    ask: &Ask,
    text: String,
    why_needed: String,
    options: Vec<String>,
) -> Result<Question, DeriveError> {
    let mut question = Question {
        id: String::new(),
        text,
        expected_answer_type: ask.answer,
        why_needed,
        information_gain: rule.points.saturating_mul(4).clamp(4, 100),
        priority: ask.priority,
        options: (!options.is_empty()).then_some(options),
    };
    question.id = id_of(canon, &question)?;
    Ok(question)
}

fn id_of(canon: &mut Canonicalizer, question: &Question) -> Result<String, DeriveError> {
    /// The content that the id of a question covers.
    #[derive(serde::Serialize)]
    struct Covered<'q> {
        text: &'q str,
        expected_answer_type: AnswerType,
        why_needed: &'q str,
        #[serde(skip_serializing_if = "Option::is_none")]
        options: Option<&'q [String]>,
    }
    let covered = Covered {
        text: &question.text,
        expected_answer_type: question.expected_answer_type,
        why_needed: &question.why_needed,
        options: question.options.as_deref(),
    };
    derive_id(canon, DerivedId::Question, &covered)
}

/// How many questions of one rule are asked.
const OF_ONE_RULE_MAX: usize = 2;

/// Marks the soft questions that are worth asking: the most important ones, not two about the same words, not many
/// of one kind.
fn choose_askable(candidates: &mut [Candidate]) {
    // As long as nobody knows what the goal is about, nothing else is worth asking.
    if candidates.iter().any(|it| {
        it.rule == const { index_of("no-object") } || it.rule == const { index_of("nothing-concrete") }
    }) {
        return;
    }
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|at| {
        let candidate = candidates.get(*at);
        (std::cmp::Reverse(candidate.map(|it| it.question.priority)), candidate.map(|it| (it.part, it.start)))
    });
    let mut taken: Vec<(Part, usize, usize, usize)> = Vec::new();
    for at in order {
        if taken.len() == SOFT_QUESTIONS_MAX {
            break;
        }
        let Some(candidate) = candidates.get_mut(at).filter(|it| !it.is_hard()) else { continue };
        let (start, end) = (candidate.start, candidate.start + candidate.words.len());
        // A question about the whole goal is about no words in particular; one that asks for more about its thing
        // is idle when another asks about something in it.
        let whole = candidate.rule == const { index_of("no-acceptance") };
        let measured = const { [index_of("quality"), index_of("superlative"), index_of("unqualified")] };
        let idle = (candidate.rule == const { index_of("unqualified") }
            && taken.iter().any(|it| it.0 == Part::Goal))
            || (whole && taken.iter().any(|it| it.0 == Part::Goal && measured.contains(&it.3)));
        let overlaps = |other: &&(Part, usize, usize, usize)| {
            other.0 == candidate.part && start < other.2 && other.1 < end
        };
        let of_rule = taken.iter().filter(|other| other.3 == candidate.rule).count();
        if !idle && of_rule < OF_ONE_RULE_MAX && (whole || taken.iter().find(overlaps).is_none()) {
            candidate.askable = true;
            let span = if whole { (usize::MAX, usize::MAX) } else { (start, end) };
            taken.push((candidate.part, span.0, span.1, candidate.rule));
        }
    }
}

/// Drops findings whose question is answered elsewhere in the intent: what is said is never asked.
pub(crate) fn drop_answered(reading: &Reading<'_>, said: &[(String, String)], findings: &mut Vec<Finding>) {
    const ANSWERABLE: [usize; 9] = [
        index_of("quality"),
        index_of("superlative"),
        index_of("amount"),
        index_of("size"),
        index_of("loophole"),
        index_of("unnamed"),
        index_of("some-source"),
        index_of("personal"),
        index_of("alternative"),
    ];
    if !findings.iter().any(|it| ANSWERABLE.contains(&it.rule)) {
        return;
    }
    let mut facts = Said::of(reading);
    // `ticket: ABC-1` names the ticket that the goal speaks of.
    for key in said.iter().flat_map(|(key, _)| {
        KEYS.iter()
            .find(|(it, _)| it == key)
            .map_or(&[][..], |(_, nouns)| nouns)
            .iter()
            .copied()
            .chain([key.as_str()])
    }) {
        facts.named.insert(stem(&key.to_lowercase()).into_owned(), None);
    }
    // A sentence may have many findings.
    let mut measured: BTreeMap<(Part, usize), bool> = BTreeMap::new();
    findings.retain(|finding| {
        let Some(rule) = finding.rule() else { return true };
        match rule.id {
            "quality" if facts.measures(&finding.hit.words) => false,
            "quality" | "superlative" | "amount" | "size" | "loophole" => {
                let Some(text) = reading.text(finding.part) else { return true };
                let Some(range) = sentence_around(text, finding.hit.start) else { return true };
                let entry = measured.entry((finding.part, range.start));
                !*entry.or_insert_with(|| stems_of(text, &range).any(|it| facts.measured.contains(&it)))
            }
            "unnamed" | "some-source" | "personal" => {
                let noun = finding
                    .hit
                    .words
                    .split_whitespace()
                    .next_back()
                    .map(|it| stem(&it.to_lowercase()).into_owned());
                !noun.is_some_and(|noun| facts.named_elsewhere(finding.part, &noun))
            }
            "alternative" => {
                let named = finding.hit.options.iter().take(2);
                let settled = named.filter(|it| facts.chosen(finding.part, it)).count();
                settled != 1
            }
            _ => true,
        }
    });
}

/// Nouns for which a key of the context stands.
static KEYS: &[(&str, &[&str])] = &[
    ("repo", &["repository", "project", "codebase"]),
    ("repository", &["repo", "project", "codebase"]),
    ("ticket", &["issue", "task", "story"]),
    ("issue", &["ticket", "bug"]),
    ("url", &["website", "page", "site", "endpoint"]),
    ("file", &["document", "spreadsheet"]),
];

/// The literal words of the intent.
struct Said {
    /// The stems of constraints that give a figure.
    measured: BTreeSet<String>,
    /// The quantities that the figures of the constraints measure.
    figures: BTreeSet<&'static str>,
    /// Words in a sentence with a literal: in which part, or in several.
    named: BTreeMap<String, Option<Part>>,
    /// Words of sentences without `or`: in which part, or in several.
    words: BTreeMap<String, Option<Part>>,
}

impl Said {
    fn of(reading: &Reading<'_>) -> Self {
        let mut said = Self {
            measured: BTreeSet::new(),
            figures: BTreeSet::new(),
            named: BTreeMap::new(),
            words: BTreeMap::new(),
        };
        for (part, text) in reading.parts() {
            for range in &text.sentences {
                let sentence = text.sentence(range);
                let words = || sentence.iter().filter(|it| it.is_word());
                if part != Part::Goal
                    && (0..sentence.len()).any(|at| ordain_clarity::detect::is_measure(sentence, at))
                {
                    let weighty = words().filter(|it| !it.has(Class::WEIGHTLESS));
                    said.figures.extend(quantities(sentence, false).list.iter().map(|it| it.measures));
                    said.measured.extend(weighty.map(|it| stem(&it.lower).into_owned()));
                }
                if sentence.iter().any(|it| matches!(it.kind, Kind::Path | Kind::Quote | Kind::Code)) {
                    words().for_each(|it| note(&mut said.named, stem(&it.lower).into_owned(), part));
                }
                if !words().any(|it| it.is("or")) {
                    for it in sentence.iter().filter(|it| it.is_word() || it.kind == Kind::Identifier) {
                        let lower = it.lower.to_lowercase();
                        let name = ALIASES
                            .iter()
                            .find(|(alias, _)| *alias == lower)
                            .map_or(lower.as_str(), |(_, name)| name);
                        note(&mut said.words, name.to_owned(), part);
                    }
                }
            }
        }
        said
    }

    /// Whether a constraint gives a figure of the kind that measures this quality.
    fn measures(&self, quality: &str) -> bool {
        let quality = quality.to_lowercase();
        let kinds = QUALITY_MEASURES.iter().filter(|(words, _)| words.contains(&quality.as_str()));
        kinds.flat_map(|(_, kinds)| *kinds).any(|kind| self.figures.contains(kind))
    }

    fn named_elsewhere(&self, part: Part, noun: &str) -> bool {
        self.named.get(noun).is_some_and(|it| *it != Some(part))
    }

    fn chosen(&self, part: Part, option: &str) -> bool {
        let option = option.to_lowercase();
        let name =
            ALIASES.iter().find(|(alias, _)| *alias == option).map_or(option.as_str(), |(_, name)| name);
        self.words.get(name).is_some_and(|it| *it != Some(part))
    }
}

fn note(words: &mut BTreeMap<String, Option<Part>>, word: String, part: Part) {
    words.entry(word).and_modify(|it| *it = it.filter(|it| *it == part)).or_insert(Some(part));
}

/// The sentence around a place.
fn sentence_around(text: &Text<'_>, start: usize) -> Option<Range<usize>> {
    let begins = |range: &Range<usize>| text.tokens.get(range.start).map_or(usize::MAX, |it| it.start);
    let after = text.sentences.partition_point(|range| begins(range) <= start);
    text.sentences.get(after.checked_sub(1)?).cloned()
}

/// The stems of the words of a sentence that carry weight.
fn stems_of(text: &Text<'_>, range: &Range<usize>) -> impl Iterator<Item = String> {
    let weighty = text.sentence(range).iter().filter(|it| it.is_word() && !it.has(Class::WEIGHTLESS));
    weighty.map(|it| stem(&it.lower).into_owned())
}
