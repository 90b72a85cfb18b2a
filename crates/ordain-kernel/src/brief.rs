//! The text for a person or an agent: a brief for each leaf, and the same facts for programs beside it.

use crate::concern::OPENERS;
use crate::node::{Leaf, Work};
use crate::stated::stated_commands;
use ordain_canon::compare_utf16;
use ordain_clarity::excerpt::{counted, excerpt};
use ordain_clarity::lexicon::Category;
use ordain_clarity::quantity::Bound;
use ordain_clarity::requirement::Requirement;
use ordain_clarity::strength::Modality;
use ordain_spec::bundle::{AnswerType, Question};
use ordain_spec::intent::Context;
use ordain_spec::plan::TestType;
use ordain_spec::shown_command;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 90;
/// The remark about a text that the rules cannot read.
const NOT_JUDGED: &str = "The goal is not in English, and its clarity was not judged";
/// More assumptions than this nobody reads.
const ASSUMPTIONS_MAX: usize = 6;

/// The brief of a leaf, in Markdown.
pub(crate) fn brief(
    work: &Work<'_>,
    leaf: &Leaf<'_>,
    context: &Context,
    criteria: &[Criterion],
    siblings: usize,
) -> String {
    let node = &leaf.node;
    let title = title(work, request_of(leaf));
    let mut text = format!("# {title}\n");
    let goal = node.goal.trim();
    if goal.contains('\n') {
        // Its own headings and lists must not mix with those of the brief.
        text.push('\n');
        quote(&mut text, goal);
    } else if goal.trim_end_matches('.') != title {
        let _ = write!(text, "\n{goal}\n");
    }
    if siblings > 1 {
        let whole = work.answers.fill(ordain_clarity::findings::Part::Goal, 0, work.goal);
        let _ = write!(text, "\nOne of {} of this goal:\n\n", counted(siblings, "part"));
        quote(&mut text, &whole);
    }
    let stated = |wanted: Option<Modality>| -> Vec<&str> {
        let of_kind = leaf.requirements.iter().filter(|(_, read)| kind(read) == wanted);
        of_kind.map(|(constraint, _)| &**constraint).collect()
    };
    section(&mut text, "Must", &stated(Some(Modality::Must)));
    section(&mut text, "Prohibitions", &stated(Some(Modality::MustNot)));
    section(&mut text, "Should", &stated(Some(Modality::Should)));
    section(&mut text, "May", &stated(Some(Modality::May)));
    let criteria: Vec<&str> = criteria.iter().map(|it| it.text.as_str()).collect();
    section(&mut text, "Done when", &criteria);
    section(&mut text, "Files", &files(leaf, context));
    section(&mut text, "Settled by answers", &settled(work, leaf));
    let mut assumed = assumptions(work, leaf);
    if !work.reading.english {
        assumed.insert(0, format!("{NOT_JUDGED}."));
    }
    section(&mut text, "Assumptions", &assumed);
    if !node.unresolved_questions.is_empty() {
        text.push_str("\n## Open questions\n\n");
        node.unresolved_questions
            .iter()
            .enumerate()
            .for_each(|(at, it)| open_question(&mut text, at + 1, it));
    }
    // Only text can be written to a file.
    text.replace('\0', "\u{fffd}")
}

fn quote(text: &mut String, quoted: &str) {
    for line in quoted.lines() {
        let _ = writeln!(text, "> {line}");
    }
}

fn section(text: &mut String, title: &str, items: &[impl AsRef<str>]) {
    if items.is_empty() {
        return;
    }
    let _ = write!(text, "\n## {title}\n\n");
    for item in items {
        // An item of several lines stays one item.
        text.push_str("- ");
        for (number, line) in item.as_ref().split('\n').enumerate() {
            text.push_str(if number > 0 { "\n  " } else { "" });
            text.push_str(line);
        }
        text.push('\n');
    }
}

/// The goal of a leaf from the request on that it is named after, without `also` and the like.
pub(crate) fn request_of<'l>(leaf: &'l Leaf<'_>) -> &'l str {
    let goal = &leaf.node.goal;
    let rest = goal.get(leaf.title_start..).unwrap_or(goal);
    let mut request = rest;
    while let Some((word, after)) = request.split_once([' ', ',']) {
        let opens = OPENERS.contains(&word.trim_end_matches(',').to_lowercase().as_str());
        if !(opens || word.is_empty()) || after.trim().is_empty() {
            break;
        }
        request = after.trim_start();
    }
    request
}

/// The first sentence of a goal, in one line.
fn title(work: &Work<'_>, goal: &str) -> String {
    let read;
    let known = &work.reading.goal;
    let text = if known.source == goal {
        known
    } else {
        read = ordain_clarity::text::Text::new(goal);
        &read
    };
    let sentences = text.sentences.iter().map(|range| text.sentence_text(range));
    let first =
        sentences.map(|it| it.trim_start_matches(['#', ' '])).find(|it| !it.is_empty()).unwrap_or(goal);
    let mut characters = excerpt(first.trim_end_matches(['.', ':', ';', '!']), TITLE_CHARS_MAX)
        .chars()
        .collect::<Vec<_>>()
        .into_iter();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// Under which heading a constraint stands; none for one that says when the work is done.
fn kind(read: &[Requirement]) -> Option<Modality> {
    if read.first().is_some_and(|it| it.acceptance) {
        return None;
    }
    let first = read.first().map_or(Modality::Must, |it| it.modality);
    // A sentence that forbids one thing and demands another is listed with the demands.
    let mixed = read.iter().any(|it| it.mixed || it.modality != first);
    Some(if mixed { Modality::Must } else { first })
}

/// A way to tell that the work is done.
#[derive(Serialize)]
pub(crate) struct Criterion {
    kind: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    argv: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<bool>,
}

/// The intent's conditions for being done; a repeated check is listed once.
pub(crate) fn criteria(leaf: &Leaf<'_>, context: &Context) -> Vec<Criterion> {
    let tests = context.tests.iter().flatten();
    let tested =
        |line: &str| tests.clone().any(|it| it.test_type == TestType::CommandSuccess && it.target == line);
    let mut checks = Vec::new();
    for command in context.commands.iter().flatten() {
        let required = command.required.unwrap_or(true);
        let line = shown_command(&command.argv);
        if !tested(&line) {
            let text = format!("`{line}` exits with 0{}", optional(required));
            let criterion = Criterion {
                kind: "command",
                text,
                argv: Some(command.argv.clone()),
                required: Some(required),
            };
            checks.push((line, criterion));
        }
    }
    for test in tests.clone() {
        let required = test.required.unwrap_or(true);
        let check = match test.test_type {
            TestType::FileExists => format!("`{}` exists", test.target),
            TestType::CommandSuccess => format!("`{}` exits with 0", test.target),
            TestType::HashMatch => format!("`{}` has the hash `{}`", test.target, test.expected),
            TestType::ContentMatch => format!("`{}` has exactly the expected content", test.target),
        };
        let text = format!("{}: {check}{}", test.name, optional(required));
        checks.push((
            test.target.clone(),
            Criterion { kind: "test", text, argv: None, required: Some(required) },
        ));
    }
    let mut criteria = Vec::new();
    for (constraint, read) in
        leaf.requirements.iter().filter(|(_, read)| read.first().is_some_and(|it| it.acceptance))
    {
        let stated = ["Done when: ", "Done when ", "Acceptance: "]
            .iter()
            .find_map(|it| constraint.strip_prefix(it))
            .unwrap_or(constraint.as_ref());
        let bare = stated.trim_end_matches('.').trim_end_matches(" passes").trim_matches('`');
        // `X passes` says no more than the check that runs X.
        if read.len() > 1 || !checks.iter().any(|(line, _)| line == bare) {
            let commands = stated_commands(&ordain_clarity::text::Text::new(constraint));
            let command = commands.first().filter(|_| commands.len() == 1);
            let argv = command.and_then(|it| ordain_spec::split_command(&it.line).ok());
            let required = command.map(|it| it.required);
            criteria.push(Criterion { kind: "stated", text: stated.to_owned(), argv, required });
        }
    }
    criteria.extend(checks.into_iter().map(|(_, criterion)| criterion));
    criteria
}

fn optional(required: bool) -> &'static str {
    if required { "" } else { " (optional)" }
}

fn files(leaf: &Leaf<'_>, context: &Context) -> Vec<String> {
    let brought = context.files.iter().flatten();
    let mut files: Vec<String> = brought
        .clone()
        .map(|it| format!("`{}` comes with this bundle ({})", it.path, counted(it.content.len(), "byte")))
        .collect();
    let stated = leaf.requirements.iter().flat_map(|(_, read)| read.iter().filter(|it| !it.negative));
    let mut named: Vec<&str> = stated.flat_map(|it| it.paths.iter().map(String::as_str)).collect();
    named.extend(&leaf.paths);
    named.sort();
    named.dedup();
    let known: BTreeSet<&str> = brought.map(|it| it.path.as_str()).collect();
    let new = named.into_iter().filter(|path| is_file(path) && !known.contains(path));
    files.extend(new.map(|path| format!("`{path}` is named above")));
    files
}

/// A path in a workspace, rather than a URL, a route or an address.
fn is_file(path: &str) -> bool {
    ordain_clarity::literal::has_extension(path)
        && !path.contains("://")
        && !path.starts_with('/')
        && !path.contains(['@', '{', '?', '*'])
}

fn settled(work: &Work<'_>, leaf: &Leaf<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for settled in &work.answers.settled {
        let Some(candidate) = work.candidates.get(settled.candidate) else { continue };
        // An answer that became a constraint is listed with the constraints.
        if settled.constraint.is_some() {
            continue;
        }
        let here = leaf.candidates.binary_search(&settled.candidate).is_ok()
            || candidate.contradiction.is_some()
            || settled.constraint.as_ref().is_some_and(|it| {
                leaf.node.constraints.binary_search_by(|other| compare_utf16(other, it)).is_ok()
            });
        if !here {
            continue;
        }
        let answer = match (candidate.question.expected_answer_type, settled.answer.as_str()) {
            (AnswerType::Boolean, "true") => "yes",
            (AnswerType::Boolean, _) => "no",
            (_, answer) => answer,
        };
        lines.push(format!("{} — {answer}", candidate.question.text));
        let dropped = candidate.contradiction.iter().flat_map(|it| &it.constraints);
        for at in dropped.filter(|at| work.answers.dropped.contains(at)) {
            lines.extend(work.constraints.get(*at).map(|it| format!("Dropped: {it}")));
        }
    }
    lines
}

fn assumptions(work: &Work<'_>, leaf: &Leaf<'_>) -> Vec<String> {
    let mut open: Vec<_> = leaf
        .candidates
        .iter()
        .filter(|at| !work.asked.contains(at) && !work.answers.settles(**at))
        .filter_map(|at| work.candidates.get(*at))
        .collect();
    open.sort_by_key(|it| (std::cmp::Reverse(it.question.priority), it.part, it.start));
    let mut lines = Vec::new();
    let mut spans: Vec<(ordain_clarity::findings::Part, usize, usize)> = Vec::new();
    for candidate in open {
        let (start, end) = (candidate.start, candidate.start + candidate.words.len());
        let told = spans.iter().any(|(part, from, to)| *part == candidate.part && start < *to && *from < end);
        if lines.len() == ASSUMPTIONS_MAX || told {
            continue;
        }
        if let Some(assumption) = candidate.assumption() {
            spans.push((candidate.part, start, end));
            lines.push(format!("{assumption} (otherwise answer `{}`)", candidate.question.id));
        }
    }
    lines
}

fn open_question(text: &mut String, number: usize, question: &Question) {
    let _ = writeln!(text, "{number}. {} (`{}`)", question.text, question.id);
    let _ = writeln!(text, "   {}", question.why_needed);
    for option in question.options.iter().flatten() {
        let _ = writeln!(text, "   - {}", option.replace('\n', " "));
    }
}

/// The same for programs.
#[derive(Serialize)]
struct Acceptance<'a> {
    goal: &'a str,
    node: &'a str,
    /// Why the clarity of the goal was not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_judged: Option<&'static str>,
    criteria: &'a [Criterion],
    requirements: Vec<Stated<'a>>,
    open_questions: Vec<&'a str>,
}

#[derive(Serialize)]
struct Stated<'a> {
    text: &'a str,
    modality: Modality,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    quantities: Vec<Figure<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    paths: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    technologies: Vec<Technology<'a>>,
}

#[derive(Serialize)]
struct Figure<'a> {
    text: &'a str,
    bound: Bound,
}

#[derive(Serialize)]
struct Technology<'a> {
    name: &'a str,
    category: Category,
}

/// `acceptance.json` of a leaf.
pub(crate) fn acceptance(work: &Work<'_>, leaf: &Leaf<'_>, criteria: &[Criterion]) -> String {
    let node = &leaf.node;
    let requirements = leaf.requirements.iter().flat_map(|(_, read)| read.iter()).map(|it| Stated {
        text: &it.text,
        modality: it.modality,
        actor: it.actor.as_deref(),
        action: it.action.as_deref(),
        object: it.object.as_deref(),
        condition: it.condition.as_deref(),
        quantities: it.quantities.iter().map(|it| Figure { text: &it.text, bound: it.bound }).collect(),
        paths: &it.paths,
        technologies: it
            .technologies
            .iter()
            .filter(|it| !it.name.starts_with('.'))
            .map(|it| Technology { name: &it.name, category: it.category })
            .collect(),
    });
    let document = Acceptance {
        goal: &node.goal,
        node: &node.id,
        not_judged: (!work.reading.english).then_some(NOT_JUDGED),
        criteria,
        requirements: requirements.collect(),
        open_questions: node.unresolved_questions.iter().map(|it| it.id.as_str()).collect(),
    };
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}
