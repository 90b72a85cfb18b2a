//! Findings of the clarity rules that take more than a list of words.

use crate::class::Class;
use crate::lexicon::OPEN_ENDS;
use crate::quantity::is_unit;
use crate::rules::{CLARITY_RULES, Find};
use crate::text::{Kind, Text, Token, class_of};

/// Words in a text that a rule found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hit {
    /// Where they start in the text.
    pub start: usize,
    /// The words of the text.
    pub words: String,
    /// The options, where the text offers some.
    pub options: Vec<String>,
}

fn hit(text: &Text<'_>, first: &Token<'_>, last: &Token<'_>) -> Hit {
    Hit { start: first.start, words: text.between(first, last).to_owned(), options: Vec::new() }
}

/// Whether a noun phrase ends before this word.
pub fn ends_phrase(token: &Token<'_>) -> bool {
    token.has(Class::PHRASE_END)
}

/// How many words of a noun phrase are quoted.
const PHRASE_WORDS_MAX: usize = 3;

/// The last token of the noun phrase that starts behind `from`, or `from` itself.
fn phrase_end<'s, 't>(tokens: &'s [Token<'t>], from: usize) -> Option<&'s Token<'t>> {
    let mut last = tokens.get(from)?;
    for token in tokens.iter().skip(from + 1).take(PHRASE_WORDS_MAX) {
        let ends = token.kind == Kind::Mark || (token.is_word() && token.has(Class::PHRASE_END));
        if ends {
            break;
        }
        last = token;
    }
    Some(last)
}

/// Runs all rules that look at one text. `found` gets the position of the rule in the table with each hit.
pub fn find_all(text: &Text<'_>, found: &mut Vec<(usize, Hit)>) {
    find_words(text, found);
    let mut hits = Vec::new();
    for (index, rule) in CLARITY_RULES.iter().enumerate() {
        if let Find::Pattern(find) = rule.find {
            find(text, &mut hits);
            found.extend(hits.drain(..).map(|hit| (index, hit)));
        }
    }
}

fn find_words(text: &Text<'_>, found: &mut Vec<(usize, Hit)>) {
    let tokens = &text.tokens;
    // For each rule the token up to which it has matched, so that a longer phrase hides the shorter ones inside it.
    let mut matched = vec![0_usize; CLARITY_RULES.len()];
    for (position, token) in tokens.iter().enumerate() {
        if token.entry.phrases.is_empty() || !token.is_word() {
            continue;
        }
        for (words, rule) in &token.entry.phrases {
            if matched.get(*rule).is_some_and(|end| position < *end) {
                continue;
            }
            let window = tokens.get(position..position + words.len()).unwrap_or_default();
            if window.len() != words.len() || !window.iter().zip(words).all(|(token, word)| token.is(word)) {
                continue;
            }
            let end = position + words.len();
            if let Some(matched) = matched.get_mut(*rule) {
                *matched = end;
            }
            let with_phrase =
                CLARITY_RULES.get(*rule).is_some_and(|rule| matches!(rule.find, Find::Phrases(_)));
            let last = match with_phrase {
                true => phrase_end(tokens, end - 1),
                false => tokens.get(end - 1),
            };
            if let Some(last) = last {
                found.push((*rule, hit(text, token, last)));
            }
        }
    }
}

/// A goal in which nothing but verbs, pronouns and filling stands.
pub fn no_object(text: &Text<'_>, found: &mut Vec<Hit>) {
    let tokens = &text.tokens;
    let empty = |(position, token): (usize, &Token<'_>)| match token.kind {
        Kind::Mark => true,
        Kind::Word => {
            // Behind an article a verb is a noun: `Fix the export`.
            let before = position.checked_sub(1).and_then(|at| tokens.get(at));
            let noun = before
                .is_some_and(|it| matches!(&*it.lower, "the" | "a" | "an" | "our" | "my" | "your" | "this"));
            token.has(Class::EMPTY_GOAL) || (!noun && token.has(Class::REQUEST_VERB))
        }
        _ => false,
    };
    // A number or a ticket alone names nothing that can be read here.
    let only_id = matches!(tokens.as_slice(), [one] if one.kind == Kind::Number || one.text.contains(|it: char| it.is_ascii_digit()));
    // One noun is an object: `Changelog`. A marked gap is a matter of its own rule.
    if let (Some(first), Some(last)) = (tokens.first(), tokens.last())
        && (only_id || tokens.iter().enumerate().all(empty))
        && !text.source.contains(['<', '{', '[', '_'])
        && !text.source.contains("??")
    {
        found.push(hit(text, first, last));
    }
}

/// `A or B` outside conditions, with what there is to choose from.
pub fn alternatives(text: &Text<'_>, found: &mut Vec<Hit>) {
    if !text.class.has(Class::OR) {
        return;
    }
    for range in &text.sentences {
        let sentence = text.sentence(range);
        let class = class_of(sentence);
        if class.has(Class::OR_DESCRIBES) || !class.has(Class::OR) {
            continue;
        }
        let either = sentence.iter().any(|token| token.is("either"));
        for (position, token) in sentence.iter().enumerate() {
            if !token.has(Class::OR) || !token.is_word() {
                continue;
            }
            let (Some(left), Some(right)) =
                (position.checked_sub(1).and_then(|at| sentence.get(at)), sentence.get(position + 1))
            else {
                continue;
            };
            let nameable = |token: &Token<'_>| {
                token.kind != Kind::Mark
                    && token.kind != Kind::Number
                    && !(token.is_word()
                        && token.has(Class::REQUEST_VERB.or(Class::OR_INSIDE).or(Class::PHRASE_END)))
            };
            // Two names, or an explicit `either`: other uses of `or` mostly describe, they do not ask to choose.
            let named = |token: &Token<'_>| token.is_literal() || token.is_capitalized();
            if nameable(left) && nameable(right) && (either || (named(left) && named(right))) {
                // The author of `A or B` may mean both.
                let bare = |it: &Token<'_>| it.text.trim_matches('`').to_owned();
                let options = vec![bare(left), bare(right), "both".to_owned(), "either".to_owned()];
                let first =
                    position.checked_sub(2).and_then(|at| sentence.get(at)).filter(|it| it.is("either"));
                found.push(Hit { options, ..hit(text, first.unwrap_or(left), right) });
            }
        }
    }
}

pub fn open_lists(text: &Text<'_>, found: &mut Vec<Hit>) {
    let tokens = &text.tokens;
    for (position, token) in tokens.iter().enumerate().filter(|(_, it)| it.has(Class::OPENS_LIST_END)) {
        for (words, only_at_end) in OPEN_ENDS {
            let window = tokens.get(position..position + words.len()).unwrap_or_default();
            let matches = window.len() == words.len()
                && window.iter().zip(*words).all(|(it, word)| it.is_word() && it.is(word));
            let next = tokens.get(position + words.len());
            let ends = next.is_none_or(|it| it.kind == Kind::Mark);
            // `etc/hosts` is a path.
            let joined = next.is_some_and(|it| it.text.starts_with('/'));
            if let (true, Some(last)) = (matches && !joined && (!only_at_end || ends), window.last()) {
                found.push(hit(text, token, last));
            }
        }
    }
}

/// `from a website`, `of an Excel file`: a preposition, an indefinite article, and something that exists already.
pub fn some_source(text: &Text<'_>, found: &mut Vec<Hit>) {
    let tokens = &text.tokens;
    for (position, _) in tokens.iter().enumerate().filter(|(_, it)| it.has(Class::INTO_SOURCE)) {
        let Some(article) = tokens.get(position + 1).filter(|it| it.has(Class::ARTICLE)) else { continue };
        let Some(last) = phrase_end(tokens, position + 1) else { continue };
        let phrase = tokens.iter().skip(position + 2).take_while(|it| it.start <= last.start);
        let (mut named, mut noun) = (false, false);
        for token in phrase {
            named |= token.is_literal();
            noun |= token.is_word() && token.has(Class::SOURCE);
        }
        if noun && !named {
            found.push(hit(text, article, last));
        }
    }
}

pub fn advice(text: &Text<'_>, found: &mut Vec<Hit>) {
    let tokens = &text.tokens;
    let advice = Class::ADVICE.or(Class::HELP);
    for (position, token) in tokens.iter().enumerate().filter(|(_, it)| it.has(advice)) {
        let help = token.has(Class::HELP)
            && tokens.get(position + 1).is_some_and(|it| matches!(&*it.lower, "me" | "us"));
        let noun = matches!(&*token.lower, "plan" | "guide" | "schedule" | "routine");
        let definite = noun
            && position
                .checked_sub(1)
                .and_then(|at| tokens.get(at))
                .is_some_and(|it| it.is("the") || it.is("query") || it.is("terraform"));
        if token.is_word() && (help || token.has(Class::ADVICE)) && !definite {
            let from = if help { position + 1 } else { position };
            if let Some(last) = phrase_end(tokens, from) {
                found.push(hit(text, token, last));
            }
        }
    }
}

/// Words of quality in sentences that give no figure.
pub fn quality(text: &Text<'_>, found: &mut Vec<Hit>) {
    if !text.class.has(Class::QUALITY) {
        return;
    }
    for range in &text.sentences {
        let sentence = text.sentence(range);
        if !class_of(sentence).has(Class::QUALITY)
            || sentence.iter().enumerate().any(|(position, _)| is_measure(sentence, position))
        {
            continue;
        }
        for (position, token) in sentence.iter().enumerate().filter(|(_, it)| it.has(Class::QUALITY)) {
            let after = sentence.get(position + 1);
            // `as well as`, `clean up`, `quick sort`, and names such as `Secure` inside a sentence.
            let joined = after.is_some_and(|next| match &*token.lower {
                "well" => next.is("as"),
                "clean" => next.is("up"),
                "quick" => next.is("sort"),
                _ => false,
            }) || (token.is_capitalized() && position > 0);
            if token.is_word() && !joined {
                found.push(hit(text, token, token));
            }
        }
    }
}

/// A number with a unit, a percentage, or a number behind a bound.
pub fn is_measure(sentence: &[Token<'_>], position: usize) -> bool {
    let Some(token) = sentence.get(position).filter(|it| it.kind == Kind::Number) else { return false };
    let next = sentence.get(position + 1);
    let before = position.checked_sub(1).and_then(|at| sentence.get(at));
    let bound = before.is_some_and(|it| {
        matches!(
            &*it.lower,
            "<" | ">"
                | "≤"
                | "≥"
                | "="
                | "than"
                | "least"
                | "most"
                | "to"
                | "$"
                | "€"
                | "within"
                | "under"
                | "over"
                | "below"
                | "above"
                | "exceed"
        )
    });
    next.is_some_and(is_unit) || (bound && !token.text.contains(':'))
}

pub fn superlatives(text: &Text<'_>, found: &mut Vec<Hit>) {
    let tokens = &text.tokens;
    for (position, token) in tokens.iter().enumerate() {
        let superlative = token.has(Class::SUPERLATIVE);
        let ends_like_one = token.lower.len() > 5 && token.lower.ends_with("est");
        if !(superlative || ends_like_one) || !token.is_word() {
            continue;
        }
        let before = position.checked_sub(1).and_then(|at| tokens.get(at));
        let at_most = before.is_some_and(|it| it.is("at") || it.kind == Kind::Number);
        let listed = superlative && !at_most;
        // `fastest`, `cheapest`: a word on -est behind `the`; `test`, `request` and `latest` are none.
        let formed = ends_like_one
            && !token.has(Class::ENDS_LIKE_SUPERLATIVE)
            && before.is_some_and(|it| matches!(&*it.lower, "the" | "their" | "its" | "your" | "my"));
        if listed || formed {
            let last = phrase_end(tokens, position).unwrap_or(token);
            found.push(hit(text, token, last));
        }
    }
}

/// `a script`, `some file`: counted, not asked about.
pub fn indefinite(text: &Text<'_>, found: &mut Vec<Hit>) {
    for pair in text.tokens.windows(2) {
        if let [article, noun] = pair
            && article.has(Class::ARTICLE)
            && noun.is_word()
            && !noun.is_capitalized()
        {
            found.push(hit(text, article, noun));
        }
    }
}

pub fn passive(text: &Text<'_>, found: &mut Vec<Hit>) {
    let tokens = &text.tokens;
    for (position, token) in tokens.iter().enumerate().filter(|(_, it)| it.has(Class::BE)) {
        let adverb = tokens.get(position + 1).is_some_and(|it| it.lower.ends_with("ly"));
        let Some(verb) = tokens.get(position + 1 + usize::from(adverb)) else { continue };
        let participle =
            ["ed", "wn", "en", "pt", "ilt", "ade", "und", "ent"].iter().any(|it| verb.lower.ends_with(it));
        if verb.is_word() && verb.lower.len() > 4 && participle {
            found.push(hit(text, token, verb));
        }
    }
}

/// Numbers that count something; the number of a section does not.
pub fn numbers(text: &Text<'_>, found: &mut Vec<Hit>) {
    for (position, token) in text.tokens.iter().enumerate() {
        let section =
            || position == 0 || text.sentences.binary_search_by_key(&position, |range| range.start).is_ok();
        let counts = match token.kind {
            Kind::Number => !(token.text.contains('.') && section()),
            Kind::Word => token.entry.number.is_some(),
            _ => false,
        };
        if counts {
            found.push(hit(text, token, token));
        }
    }
}

pub fn quotes(text: &Text<'_>, found: &mut Vec<Hit>) {
    found.extend(text.tokens.iter().filter(|it| it.kind == Kind::Quote).map(|it| hit(text, it, it)));
}

pub fn code(text: &Text<'_>, found: &mut Vec<Hit>) {
    let is_code = |it: &&Token<'_>| matches!(it.kind, Kind::Code | Kind::Path | Kind::Identifier);
    found.extend(text.tokens.iter().filter(is_code).map(|it| hit(text, it, it)));
}

/// Words with a capital letter that no sentence start explains.
pub fn names(text: &Text<'_>, found: &mut Vec<Hit>) {
    for pair in text.tokens.windows(2) {
        let [before, token] = pair else { continue };
        if !token.is_word() || !token.is_capitalized() {
            continue;
        }
        let inside =
            before.is_word() || before.kind == Kind::Number || matches!(before.text, "," | "(" | "/" | "-");
        let acronym = token.text.len() > 1 && token.text.chars().all(char::is_uppercase);
        if !token.is("i")
            && !token.has(Class::COMMON_ABBREVIATION)
            && !token.lower.starts_with("i'")
            && (inside || acronym)
            && token.text.len() > 1
        {
            found.push(hit(text, token, token));
        }
    }
}

/// `the capital of Tasmania`: an article, at most three words, a preposition, and nothing indefinite behind it.
pub fn definite(text: &Text<'_>, found: &mut Vec<Hit>) {
    let tokens = &text.tokens;
    for (position, token) in tokens.iter().enumerate().filter(|(_, it)| it.has(Class::THE)) {
        for ahead in 2..=4 {
            let Some(preposition) = tokens.get(position + ahead) else { break };
            if preposition.kind == Kind::Mark {
                break;
            }
            if matches!(&*preposition.lower, "of" | "in" | "for" | "between" | "from" | "by" | "at" | "on") {
                let next = tokens.get(position + ahead + 1);
                let open = next.is_none_or(|it| {
                    matches!(&*it.lower, "a" | "an" | "some" | "any" | "my" | "our" | "your")
                });
                if !open {
                    found.push(hit(text, token, preposition));
                }
                break;
            }
        }
    }
}

pub fn periods(text: &Text<'_>, found: &mut Vec<Hit>) {
    let tokens = &text.tokens;
    for (position, token) in tokens.iter().enumerate() {
        let year = token.kind == Kind::Number
            && token.text.len() == 4
            && (token.text.starts_with("19") || token.text.starts_with("20"));
        let unit = |it: &Token<'_>| {
            matches!(
                &*it.lower,
                "day"
                    | "days"
                    | "week"
                    | "weeks"
                    | "month"
                    | "months"
                    | "year"
                    | "years"
                    | "decade"
                    | "century"
                    | "quarter"
            )
        };
        let span = token.has(Class::SPAN)
            && (tokens.get(position + 1).is_some_and(unit) || tokens.get(position + 2).is_some_and(unit));
        if year || span {
            found.push(hit(text, token, token));
        }
    }
}

/// Sentences that say when the work is done, or that something passes.
pub fn acceptance(text: &Text<'_>, found: &mut Vec<Hit>) {
    for range in &text.sentences {
        let sentence = text.sentence(range);
        let class = class_of(sentence);
        let checked = || class.has(Class::CHECK) && is_checked(sentence);
        if (is_acceptance(sentence, class) || checked() || crate::requirement::is_criterion(sentence, class))
            && let (Some(first), Some(last)) = (sentence.first(), sentence.last())
        {
            found.push(hit(text, first, last));
        }
    }
}

/// Whether a sentence names a way to check the result, without saying that the work is done then.
fn is_checked(sentence: &[Token<'_>]) -> bool {
    let word =
        |at: usize| sentence.get(at).filter(|it| it.is_word()).map(|it| &*it.lower).unwrap_or_default();
    let words = sentence.iter().enumerate().filter(|(_, it)| it.has(Class::CHECK) && it.is_word());
    words.map(|(at, _)| at).any(|at| match (word(at), word(at + 1)) {
        ("unit" | "integration" | "regression" | "property" | "acceptance" | "end-to-end" | "e2e" | "snapshot" | "load", next) => {
            next.starts_with("test")
        }
        ("reports" | "report" | "finds", "no") | ("no", "warnings" | "violations" | "regressions") => true,
        ("is", "clean") | ("covered" | "verified" | "measured" | "reviewed" | "approved" | "tested", "by" | "with" | "in") => true,
        ("byte", "for") | ("same", "results" | "output" | "result") | ("test", "coverage" | "asserts" | "included" | "case" | "cases") => true,
        ("coverage" | "identical", _) => true,
        ("add" | "include" | "write", "a" | "tests") => word(at + 1) == "tests" || (word(at + 2).starts_with("test") && !word(at + 3).is_empty()),
        _ => false,
    })
}

/// Whether a sentence says when the work is done. `class` is that of its tokens.
pub(crate) fn is_acceptance(sentence: &[Token<'_>], class: Class) -> bool {
    let word = |at: usize| sentence.get(at).map(|it| &*it.lower).unwrap_or_default();
    let opening = matches!(
        (word(0), word(1)),
        ("done", "when" | "if" | "once" | "means" | ":")
            | ("acceptance" | "dod", _)
            | ("success", "criterion" | "criteria")
            | ("expected", "result" | "results")
            | ("accepted", "when" | "if")
            | ("success", "is" | "means" | ":")
            | ("definition", "of")
            | ("complete", "when")
            | ("finished", "when")
            | ("verify", "that")
            | ("verified", "by")
            | ("given", _)
    ) && (word(0) != "given" || sentence.iter().any(|it| it.is("then")));
    let numbered = word(1) == ":" && word(0).starts_with("ac") && word(0).len() <= 4 && word(0) != "acl";
    let finished = matches!(
        (word(0), word(1), word(2), word(3)),
        ("the" | "this", "work" | "task" | "ticket" | "story", "is", "done" | "finished" | "complete")
    );
    let checked = |it: &Token<'_>| it.is_literal() || it.lower.starts_with("test") || it.has(Class::CHECKED);
    let passes = || {
        let subject = sentence.iter().position(checked).unwrap_or(sentence.len());
        let verbs = sentence.iter().enumerate().skip(subject + 1).filter(|(_, it)| it.has(Class::PASSES));
        verbs.into_iter().any(|(position, token)| {
            !token.is("exits") || sentence.get(position + 1).is_some_and(|it| it.is("0") || it.is("with"))
        })
    };
    opening || numbered || finished || (class.has(Class::PASSES) && passes())
}
