//! The effect of answers: each belongs to a question and becomes part of the goal or of the constraints.

use crate::outcome::{Refusal, RefusalCode};
use crate::question::{Candidate, KEEP_ALL};
use ordain_clarity::excerpt::excerpt;
use ordain_clarity::findings::Part;
use ordain_clarity::placeholder::{GAP_OPENS, is_placeholder};
use ordain_clarity::text::{Text, Token};
use ordain_spec::bundle::AnswerType;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// An answer and the question that it settles.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    /// The position of the candidate.
    pub(crate) candidate: usize,
    /// As text.
    pub(crate) answer: String,
    /// The constraint that it adds.
    pub(crate) constraint: Option<String>,
}

/// The intent with its answers.
#[derive(Default, Debug)]
pub(crate) struct Answers {
    pub(crate) settled: Vec<Settled>,
    /// The positions of the candidates that are settled.
    positions: BTreeSet<usize>,
    /// Constraints that lost against another one, by position.
    pub(crate) dropped: BTreeSet<usize>,
    /// The replacement of a constraint that contradicts itself, by position.
    pub(crate) replaced: BTreeMap<usize, String>,
    filled: Filled,
}

impl Answers {
    pub(crate) fn settles(&self, candidate: usize) -> bool {
        self.positions.contains(&candidate)
    }

    /// Whether an answer replaces words of the text.
    pub(crate) fn fills(&self) -> bool {
        !(self.filled.places.is_empty() && self.filled.names.is_empty())
    }

    /// A text with its placeholders filled. `offset` is where it starts in its part.
    pub(crate) fn fill(&self, part: Part, offset: usize, text: &str) -> String {
        let (mut filled, mut done) = (String::new(), 0);
        for ((_, start), (words, value)) in self.filled.places.range((part, offset)..=(part, usize::MAX)) {
            let start = start - offset;
            if text.get(start..).is_some_and(|it| it.starts_with(words.as_str()))
                && let Some(before) = text.get(done..start)
            {
                self.filled.names_in(before, &mut filled);
                filled.push_str(value);
                done = start + words.len();
            }
        }
        self.filled.names_in(text.get(done..).unwrap_or_default(), &mut filled);
        filled
    }
}

/// Placeholders and their replacements.
#[derive(Default, Debug)]
struct Filled {
    /// Those without a name, by the place where they stand: their words and the value.
    places: BTreeMap<(Part, usize), (String, String)>,
    /// Those with a name of their own, which are the same wherever they stand.
    names: BTreeMap<String, String>,
    /// How long the names are.
    lengths: BTreeSet<usize>,
    /// Where a sentence of the goal ends before another one on its line.
    ends: BTreeSet<usize>,
}

/// Marks that end a sentence. A gap such as `???` may be one.
const SENTENCE_ENDS: [char; 3] = ['.', '!', '?'];

/// Without its mark such a sentence would run into the next one, and the leaves would say other sentences than the
/// root.
fn inner_ends(goal: &Text<'_>) -> BTreeSet<usize> {
    let ends = goal.sentences.iter().filter_map(|range| goal.sentence(range).last().map(Token::end));
    let goes_on = |end: &usize| {
        let rest = goal.source.get(*end..).unwrap_or_default();
        rest.lines().next().is_some_and(|line| !line.trim().is_empty())
    };
    ends.filter(goes_on).collect()
}

impl Filled {
    fn add(&mut self, candidate: &Candidate, value: String) {
        let words = candidate.words.clone();
        if candidate.named_gap {
            self.lengths.insert(words.len());
            self.names.insert(words, value);
        } else {
            self.add_at(candidate, value);
        }
    }

    /// Puts a value in place of the words of just this question.
    fn add_at(&mut self, candidate: &Candidate, mut value: String) {
        let end = candidate.start + candidate.words.len();
        let ended = candidate.words.ends_with(SENTENCE_ENDS) && !value.ends_with(SENTENCE_ENDS);
        if ended && candidate.part == Part::Goal && self.ends.contains(&end) {
            value.push('.');
        }
        self.places.insert((candidate.part, candidate.start), (candidate.words.clone(), value));
    }

    /// Appends a text to `filled`, with the value in place of each name. A value is not looked at again.
    fn names_in(&self, text: &str, filled: &mut String) {
        let mut rest = text;
        while let Some(at) = rest.find(GAP_OPENS) {
            let (before, here) = rest.split_at_checked(at).unwrap_or((rest, ""));
            filled.push_str(before);
            // The longest first: `{{name}` before `{name}`.
            let known = self.lengths.iter().rev().find_map(|length| {
                let (words, after) = here.split_at_checked(*length)?;
                Some((self.names.get(words)?.as_str(), after))
            });
            let (shown, after) = known.or_else(|| here.split_at_checked(1)).unwrap_or((here, ""));
            filled.push_str(shown);
            rest = after;
        }
        filled.push_str(rest);
    }
}

/// Matches answers with questions. One that fits no question, or is none, is refused.
pub(crate) fn apply(
    candidates: &[Candidate],
    goal: &Text<'_>,
    constraints: &[String],
    answers: Option<&BTreeMap<String, Json>>,
) -> Result<Answers, Refusal> {
    let mut result = Answers::default();
    if answers.is_some() {
        result.filled.ends = inner_ends(goal);
    }
    let by_id: BTreeMap<&str, usize> =
        candidates.iter().enumerate().map(|(at, it)| (it.question.id.as_str(), at)).collect();
    for (id, answer) in answers.into_iter().flatten() {
        let refuse =
            |problem: String| Err(Refusal::new(RefusalCode::InvalidAnswer, format!("{id}: {problem}")));
        let Some(position) = by_id.get(id.as_str()).copied() else {
            return refuse(
                "no question of this intent has this id; it may belong to an earlier wording: remove it from `context.answers`, and answer what is asked now".to_owned(),
            );
        };
        let Some(candidate) = candidates.get(position) else { continue };
        let text = match text_of(candidate, answer) {
            Ok(text) => text,
            Err(problem) => return refuse(problem),
        };
        result.add(position, candidate, constraints, text);
    }
    Ok(result)
}

/// How many characters of an answer an error repeats.
const SHOWN_CHARS_MAX: usize = 60;

/// The answer as text, if it fits the question.
fn text_of(candidate: &Candidate, answer: &Json) -> Result<String, String> {
    let question = &candidate.question;
    let scalar = |answer: &Json| match answer {
        Json::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    };
    let text = match (question.expected_answer_type, answer) {
        (AnswerType::Boolean, Json::Bool(value)) => value.to_string(),
        (AnswerType::Boolean, Json::String(word)) if matches!(&*word.to_lowercase(), "yes" | "true") => {
            "true".to_owned()
        }
        (AnswerType::Boolean, Json::String(word)) if matches!(&*word.to_lowercase(), "no" | "false") => {
            "false".to_owned()
        }
        (AnswerType::Text, Json::Bool(_)) => return Err("expected text, found true or false".to_owned()),
        (AnswerType::Choice, Json::String(text))
            if candidate.contradiction.is_some() && text.trim().eq_ignore_ascii_case(KEEP_ALL) =>
        {
            return Ok(KEEP_ALL.to_owned());
        }
        (AnswerType::Boolean, other) => {
            return Err(format!(
                "expected true or false, found `{}`",
                excerpt(&other.to_string(), SHOWN_CHARS_MAX)
            ));
        }
        (AnswerType::Choice, Json::String(text)) => {
            let options = question.options.as_deref().unwrap_or_default();
            return match options.iter().find(|it| *it == text) {
                Some(option) => Ok(option.clone()),
                None => Err(format!("`{}` is none of the options", excerpt(text, SHOWN_CHARS_MAX))),
            };
        }
        (AnswerType::Choice, other) => {
            return Err(format!(
                "expected one of the options as text, found `{}`",
                excerpt(&other.to_string(), SHOWN_CHARS_MAX)
            ));
        }
        (AnswerType::Number, Json::Number(number)) => number.to_string(),
        (AnswerType::Number, other) => {
            return Err(format!(
                "expected a number, found `{}`",
                excerpt(&other.to_string(), SHOWN_CHARS_MAX)
            ));
        }
        (_, Json::Array(values)) => {
            if let Some(gap) = values.iter().map(scalar).find(|it| is_placeholder(it)) {
                return Err(format!("`{}` is a placeholder, not an answer", excerpt(&gap, SHOWN_CHARS_MAX)));
            }
            values.iter().map(scalar).collect::<Vec<_>>().join(", ")
        }
        (_, other) => scalar(other),
    };
    match (text.is_empty(), answer) {
        (true, _) => Err("the answer is empty".to_owned()),
        (false, Json::String(_)) if is_placeholder(&text) => {
            Err(format!("`{}` is a placeholder, not an answer", excerpt(&text, SHOWN_CHARS_MAX)))
        }
        _ => Ok(text),
    }
}

/// The replacement of `A or B` when one of them was chosen, or both.
fn chosen(words: &str, answer: &str) -> String {
    let words = words.strip_prefix("either ").or_else(|| words.strip_prefix("Either ")).unwrap_or(words);
    let Some((left, right)) = words.split_once(" or ") else { return answer.to_owned() };
    let side = [left, right].into_iter().find(|it| it.trim_matches('`') == answer);
    match (answer, side) {
        ("both", _) => format!("{left} and {right}"),
        (_, Some(side)) => side.to_owned(),
        (_, None) => answer.to_owned(),
    }
}

impl Answers {
    fn add(&mut self, position: usize, candidate: &Candidate, constraints: &[String], answer: String) {
        let mut constraint = None;
        match (candidate.rule().map(|rule| rule.id), &candidate.contradiction) {
            (_, Some(_)) if answer == KEEP_ALL => {}
            (_, Some(contradiction)) => match contradiction.constraints.as_slice() {
                [only] => drop(self.replaced.insert(*only, answer.clone())),
                many => {
                    // The goal cannot be dropped: what holds instead stands beside it.
                    let lost = contradiction.of_goal.iter().find(|it| **it != answer);
                    constraint = lost.map(|it| format!("“{it}” does not hold; this does: {answer}"));
                    let others =
                        many.iter().filter(|at| constraints.get(**at).is_some_and(|it| *it != answer));
                    self.dropped.extend(others);
                }
            },
            (Some("placeholder"), _) => self.filled.add(candidate, answer.clone()),
            (Some("alternative"), _) if answer != "either" => {
                let value = chosen(&candidate.words, &answer);
                self.filled.add_at(candidate, value);
            }
            // An object that was missing belongs to the goal.
            (Some("no-object"), _) => {
                let value = format!("{}: {answer}", candidate.words.trim_end_matches(['.', '!', '?']));
                self.filled.add_at(candidate, value);
            }
            (Some("no-acceptance"), _) => constraint = Some(format!("Done when: {answer}")),
            (Some("loophole"), _) => {
                let holds = if answer == "true" { "it must hold" } else { "it need not hold" };
                constraint = Some(format!("“{}”: {holds}", candidate.words));
            }
            _ => constraint = Some(format!("“{}”: {answer}", candidate.words)),
        }
        self.positions.insert(position);
        self.settled.push(Settled { candidate: position, answer, constraint });
    }
}
