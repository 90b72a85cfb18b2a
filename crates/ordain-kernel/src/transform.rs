//! From an intent to a bundle.

use crate::answer::{Answers, apply};
use crate::brief::{acceptance, brief, criteria, request_of};
use crate::derive::{derive_id, derive_whole};
use crate::intake::{Accepted, accept};
use crate::node::{Leaf, Tree, Work, sort_questions};
use crate::outcome::{Refusal, RefusalCode, Transformed};
use crate::question::{Candidate, candidates, drop_answered, quoted};
use ordain_canon::{Canonicalizer, ContentHash, DeriveError, DerivedId, Value, compare_utf16};
use ordain_clarity::Genre;
use ordain_clarity::contradiction::{Contradiction, contradictions, contradictions_with};
use ordain_clarity::detect::Hit;
use ordain_clarity::excerpt::excerpt;
use ordain_clarity::findings::{Brought, Finding, Part, Reading, raw_score};
use ordain_clarity::requirement::requirements;
use ordain_clarity::rules::{CLARIFY_SCORE, Effect, QUESTIONS_MAX, index_of};
use ordain_spec::bundle::{Bundle, BundleStats, BundleStatus, ContextNode, Output, OutputType, Question};
use ordain_spec::intent::Context;
use std::collections::BTreeSet;

/// The version of the bundle format that is written.
const SCHEMA_VERSION: &str = "0.1.0";
/// The version of the kernel, and of the clarity rules as its build metadata. It changes whenever a golden bundle does.
pub const KERNEL_VERSION: &str = "0.2.0+clarity.2";

/// Makes a bundle of an intent, or asks, or refuses. `document_bytes` is the length of the intent's text.
///
/// ```
/// use ordain_canon::Value;
/// use ordain_kernel::{Transformed, transform};
/// let intent = Value::read(br#"{"goal": "Make it better"}"#).unwrap();
/// let Transformed::Clarify(bundle) = transform(&intent, 26) else { panic!() };
/// assert!(bundle.unresolved_questions[0].text.contains("“Make it better”"));
/// ```
pub fn transform(intent: &Value<'_>, document_bytes: usize) -> Transformed {
    match accept(intent, document_bytes).and_then(|accepted| make(&accepted)) {
        Ok(bundle) if bundle.status == BundleStatus::Complete => Transformed::Bundle(bundle),
        Ok(bundle) => Transformed::Clarify(bundle),
        Err(refusal) => Transformed::Refuse(refusal),
    }
}

/// The output of the kernel always has a canonical form; should it ever not, that is a refusal and not a
/// panic.
fn internal(error: DeriveError) -> Refusal {
    Refusal::new(RefusalCode::InvalidIntent, format!("the result cannot be written: {error}"))
}

fn make(intent: &Accepted) -> Result<Bundle, Refusal> {
    let mut canon = Canonicalizer::new();
    let context = &intent.context;
    let files: Vec<String> = context.files.iter().flatten().map(|it| it.path.clone()).collect();
    let checks = context.tests.as_ref().is_some_and(|it| !it.is_empty())
        || context.commands.as_ref().is_some_and(|it| !it.is_empty());
    let brought = Brought { files: &files, checks, said: &intent.said };
    let reading = Reading::new(&intent.goal, &intent.constraints);
    let mut findings = reading.findings(brought);
    drop_answered(&reading, &intent.said, &mut findings);
    let demands = requirements(&reading.goal);
    let read: Vec<_> = reading.constraints.iter().map(requirements).collect();
    let contradictions = contradictions_with(&read, &demands);
    let candidates = candidates(&mut canon, &reading, &intent.constraints, &findings, &contradictions)
        .map_err(internal)?;
    let answers = apply(&candidates, &reading.goal, &intent.constraints, context.answers.as_ref())?;
    refuse_new_contradictions(intent, &answers, &contradictions)?;
    let findings = open_findings(findings, &contradictions, &candidates, &answers, intent.constraints.len());
    let asked = asked(reading.genre, &findings, &candidates, &answers);
    let work = Work {
        goal: &intent.goal,
        constraints: &intent.constraints,
        reading: &reading,
        demands: &demands,
        requirements: &read,
        findings: &findings,
        candidates: &candidates,
        answers: &answers,
        asked: &asked,
        files: &files,
    };
    let tree = work.tree(&mut canon).map_err(internal)?;
    let outputs = outputs(&mut canon, &work, &tree, context).map_err(internal)?;
    bundle(&mut canon, intent, &work, tree, outputs).map_err(internal)
}

/// An answer may not make constraints contradict each other that did not before.
fn refuse_new_contradictions(
    intent: &Accepted,
    answers: &Answers,
    known: &[Contradiction],
) -> Result<(), Refusal> {
    if answers.settled.is_empty() {
        return Ok(());
    }
    // Where they stand: the constraints as they are now, then what the answers add.
    let now = |at: usize, text: &String| match answers.dropped.contains(&at) {
        true => String::new(),
        false => answers.fill(Part::Constraint(at), 0, answers.replaced.get(&at).unwrap_or(text)),
    };
    let mut texts: Vec<String> =
        intent.constraints.iter().enumerate().map(|(at, text)| now(at, text)).collect();
    let added = answers.settled.iter().filter_map(|it| it.constraint.clone());
    texts.extend(added);
    let read: Vec<_> = texts.iter().map(|it| requirements(&ordain_clarity::text::Text::new(it))).collect();
    let known: BTreeSet<&[usize]> = known.iter().map(|it| it.constraints.as_slice()).collect();
    let new = contradictions(&read).into_iter().find(|it| {
        let touched = it.constraints.iter().any(|at| texts.get(*at) != intent.constraints.get(*at));
        touched && !known.contains(it.constraints.as_slice())
    });
    match new {
        None => Ok(()),
        Some(it) => {
            let quotes: Vec<String> =
                it.sentences.iter().map(|it| format!("“{}”", excerpt(it, 120))).collect();
            let message =
                format!("with this answer {} cannot hold together: {}", quotes.join(" and "), it.reason);
            Err(Refusal::new(RefusalCode::InvalidAnswer, message))
        }
    }
}

/// The open points after the answers, and the points that they settle.
fn open_findings(
    findings: Vec<Finding>,
    contradictions: &[Contradiction],
    candidates: &[Candidate],
    answers: &Answers,
    constraints: usize,
) -> Vec<Finding> {
    let settled: Vec<&Candidate> =
        answers.settled.iter().filter_map(|it| candidates.get(it.candidate)).collect();
    let placeholder = const { index_of("placeholder") };
    let anonymous = |it: &&&Candidate| it.rule == placeholder && !it.named_gap;
    let places: BTreeSet<(Part, usize)> =
        settled.iter().filter(anonymous).map(|it| (it.part, it.start)).collect();
    let words: BTreeSet<(usize, String)> =
        settled.iter().filter(|it| !anonymous(it)).map(|it| (it.rule, it.words.to_lowercase())).collect();
    let resolved: BTreeSet<&[usize]> =
        settled.iter().filter_map(|it| Some(it.contradiction.as_ref()?.constraints.as_slice())).collect();
    let answered = |finding: &Finding| {
        let place = (finding.part, finding.hit.start);
        (finding.rule == placeholder && places.contains(&place))
            || words.contains(&(finding.rule, quoted(finding).to_lowercase()))
    };
    let dropped =
        |finding: &Finding| matches!(finding.part, Part::Constraint(at) if answers.dropped.contains(&at));
    let mut open: Vec<Finding> = findings.into_iter().filter(|it| !answered(it) && !dropped(it)).collect();
    let resolved = |it: &Contradiction| resolved.contains(it.constraints.as_slice());
    // A constraint that another answer has emptied no longer contradicts.
    let left = |it: &Contradiction| it.constraints.iter().filter(|at| !answers.dropped.contains(at)).count();
    open.extend(
        contradictions.iter().filter(|it| !resolved(it) && (it.constraints.len() == 1 || left(it) > 1)).map(
            |it| {
                let part = Part::Constraint(it.constraints.first().copied().unwrap_or_default());
                Finding { rule: const { index_of("contradiction") }, part, hit: Hit::default() }
            },
        ),
    );
    // An answer says something definite: what it says counts, how it says it does not.
    for (at, settled) in answers.settled.iter().enumerate() {
        let text = ordain_clarity::text::Text::new(&settled.answer);
        let mut hits = Vec::new();
        ordain_clarity::detect::find_all(&text, &mut hits);
        let part = Part::Constraint(constraints + at);
        let facts = hits.into_iter().map(|(rule, hit)| Finding { rule, part, hit });
        open.extend(facts.filter(|it| it.is(Effect::Settles)));
    }
    open
}

/// Which candidates are asked: hard ones always, soft ones when the intent is unclear; the most important ones.
fn asked(genre: Genre, findings: &[Finding], candidates: &[Candidate], answers: &Answers) -> Vec<usize> {
    let soft: Vec<&Finding> = findings.iter().filter(|it| !it.is(Effect::Hard)).collect();
    let unclear = raw_score(genre, &soft) >= i32::from(CLARIFY_SCORE);
    let stands = |candidate: &Candidate| match &candidate.contradiction {
        Some(it) => {
            it.constraints.len() == 1
                || it.constraints.iter().filter(|at| !answers.dropped.contains(at)).count() > 1
        }
        None => !matches!(candidate.part, Part::Constraint(at) if answers.dropped.contains(&at)),
    };
    let mut asked: Vec<(usize, &Candidate)> = candidates
        .iter()
        .enumerate()
        .filter(|(at, it)| !answers.settles(*at) && stands(it) && (it.is_hard() || (unclear && it.askable)))
        .collect();
    asked.sort_by(|left, right| {
        let (left, right) = (&left.1.question, &right.1.question);
        right.priority.cmp(&left.priority).then_with(|| left.id.cmp(&right.id))
    });
    asked.truncate(QUESTIONS_MAX);
    // A question that fits every text is worth asking only beside one that does not.
    let generic = const { [index_of("no-acceptance"), index_of("unqualified")] };
    if asked.iter().all(|(_, it)| generic.contains(&it.rule)) {
        asked.clear();
    }
    asked.into_iter().map(|(at, _)| at).collect()
}

fn half_up(sum: u64, count: u64) -> u8 {
    if count == 0 {
        return 0;
    }
    u8::try_from(((2 * sum + count) / (2 * count)).min(100)).unwrap_or(100)
}

fn outputs(
    canon: &mut Canonicalizer,
    work: &Work<'_>,
    tree: &Tree<'_>,
    context: &Context,
) -> Result<Vec<Output>, DeriveError> {
    let mut outputs = Vec::new();
    let folder = free_folder(work.files);
    let names = folder_names(&tree.leaves);
    for (leaf, name) in tree.leaves.iter().zip(&names) {
        let below = if tree.leaves.len() == 1 { folder.clone() } else { format!("{folder}/{name}") };
        let node = &leaf.node;
        let sure = u64::from(100 - node.entropy.entropy_score) + u64::from(node.density.density_score);
        let confidence = half_up(sure, 2);
        let criteria = criteria(leaf, context);
        let text = brief(work, leaf, context, &criteria, tree.leaves.len());
        let facts = acceptance(work, leaf, &criteria);
        for (output_type, file, content) in
            [(OutputType::Instruction, "brief.md", text), (OutputType::Config, "acceptance.json", facts)]
        {
            outputs.push(Output {
                id: String::new(),
                output_type,
                path: format!("{below}/{file}"),
                content_hash: ContentHash::of(content.as_bytes()).into(),
                content,
                source_constraints: node.constraints.clone(),
                confidence,
            });
        }
    }
    for file in context.files.iter().flatten() {
        outputs.push(Output {
            id: String::new(),
            output_type: OutputType::File,
            path: file.path.clone(),
            content_hash: ContentHash::of(file.content.as_bytes()).into(),
            content: file.content.clone(),
            source_constraints: Vec::new(),
            confidence: 100,
        });
    }
    outputs.sort_by(|left, right| compare_utf16(&left.path, &right.path));
    for output in &mut outputs {
        let covered =
            Covered { output_type: output.output_type, path: &output.path, content: &output.content };
        output.id = derive_id(canon, DerivedId::Output, &covered)?;
    }
    Ok(outputs)
}

/// The content that the id of an output covers.
#[derive(serde::Serialize)]
struct Covered<'o> {
    #[serde(rename = "type")]
    output_type: OutputType,
    path: &'o str,
    content: &'o str,
}

/// Where briefs go: `context`, unless the intent has a file or a folder of that name.
fn free_folder(files: &[String]) -> String {
    let taken: BTreeSet<String> =
        files.iter().filter_map(|it| it.split('/').next()).map(str::to_lowercase).collect();
    let names = std::iter::once("context".to_owned()).chain((2..).map(|number| format!("context-{number}")));
    // There are more names than files, so one is free.
    names.take(files.len() + 1).find(|name| !taken.contains(name)).unwrap_or_default()
}

/// Words of a folder's name.
const NAME_WORDS_MAX: usize = 5;

/// A name for the folder of each leaf, from its goal; no two are the same.
fn folder_names(leaves: &[Leaf<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, leaf) in leaves.iter().enumerate() {
        let words =
            request_of(leaf).split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
        let slug: Vec<String> = words.take(NAME_WORDS_MAX).map(str::to_ascii_lowercase).collect();
        let name = if slug.is_empty() { format!("part-{}", at + 1) } else { slug.join("-") };
        let taken = names.contains(&name);
        names.push(if taken { format!("{name}-{}", at + 1) } else { name });
    }
    names
}

fn bundle(
    canon: &mut Canonicalizer,
    intent: &Accepted,
    work: &Work<'_>,
    tree: Tree<'_>,
    outputs: Vec<Output>,
) -> Result<Bundle, DeriveError> {
    let mut terminal_nodes: Vec<ContextNode> = tree.leaves.into_iter().map(|leaf| leaf.node).collect();
    terminal_nodes.sort_by(|left, right| left.id.cmp(&right.id));
    let mut questions: Vec<Question> =
        work.asked.iter().filter_map(|at| work.candidates.get(*at)).map(|it| it.question.clone()).collect();
    sort_questions(&mut questions);
    let leaves = terminal_nodes.len() as u64;
    let total =
        |score: fn(&ContextNode) -> u8| terminal_nodes.iter().map(|it| u64::from(score(it))).sum::<u64>();
    let inner = u64::from(!tree.root.children.is_empty());
    let mut bundle = Bundle {
        id: String::new(),
        schema_version: SCHEMA_VERSION.to_owned(),
        kernel_version: KERNEL_VERSION.to_owned(),
        source_intent_hash: intent.hash.clone(),
        status: if questions.is_empty() { BundleStatus::Complete } else { BundleStatus::Incomplete },
        stats: BundleStats {
            total_nodes: leaves + inner,
            terminal_nodes: leaves,
            max_depth: inner,
            total_outputs: outputs.len() as u64,
            unresolved_count: questions.len() as u64,
            avg_terminal_entropy: half_up(total(|it| it.entropy.entropy_score), leaves),
            avg_terminal_density: half_up(total(|it| it.density.density_score), leaves),
        },
        root_node: tree.root,
        terminal_nodes,
        outputs,
        unresolved_questions: questions,
    };
    bundle.id = derive_whole(canon, DerivedId::Bundle, &bundle)?;
    Ok(bundle)
}
