//! From a bundle and its intent to a plan proposal.

use crate::derive::derive_whole;
use crate::outcome::Refusal;
use crate::stated::stated_tests;
use ordain_canon::{
    BundleHash, Canonicalizer, ContentHash, DeriveError, DerivedId, IntentHash, ReadError, SHA256_PREFIX,
    TypeError, Value, WriteError, compare_utf16,
};
use ordain_clarity::excerpt::{counted, excerpt};
use ordain_spec::bundle::{Bundle, BundleStatus, Output, OutputType};
use ordain_spec::intent::{Context, Intent, IntentCommand, IntentTest, NormalizeError, normalize};
use ordain_spec::plan::{AcceptanceTest, ActionType, Proposal, ProposedAction, TestType};
use ordain_spec::{CommandError, Facts, Report, SourceBundle, Verified, clashes, join_command, verify_as};
use std::collections::BTreeSet;

/// The version of the format that is written.
pub(crate) const SCHEMA_VERSION: &str = "1.0.0";
/// Files come before all commands, so that a plan's patch set needs no order of its own.
const ORDER_OF_FILES: u64 = 0;
const GOAL_CHARS_SHOWN: usize = 80;
const COMMAND_CHARS_SHOWN: usize = 120;
const TEST_ID_DIGITS: usize = 16;

/// No plan can be made.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The intent breaks rules.
    #[error("the intent is not valid: {}", first_of(.0))]
    Intent(Report),
    /// The intent has no normal form.
    #[error("the intent is not valid: {0}")]
    Normalize(#[from] NormalizeError),
    /// The bundle was made from something else.
    #[error(
        "the bundle was made from another intent, whose hash is `{named}`; this one has `{found}`: use that \
         intent, or transform this one"
    )]
    AnotherIntent {
        /// The id in the bundle.
        named: String,
        /// The id that the intent's content gives.
        found: String,
    },
    /// The maker of the bundle did not finish.
    #[error("the bundle has the status `error`: transform the intent again")]
    BundleFailed,
    /// A command belongs into the intent, where it is an argument vector.
    #[error(
        "the output `{0}` is a command; a plan takes commands only from `context.commands` of the intent"
    )]
    CommandOutput(String),
    /// Outputs that cannot all be there.
    #[error("outputs of the bundle meet in one file: {}", .0.join("; "))]
    Clash(Vec<String>),
    /// An argument vector has no command line.
    #[error("command {position} of the intent cannot run: {error}")]
    Command {
        /// Counted from 0, as in `context.commands`.
        position: usize,
        /// Why.
        error: CommandError,
    },
    /// The patch set was made for something else.
    #[error("the patch set was made for another bundle than `{0}`")]
    AnotherBundle(String),
    /// Nothing is left to try.
    #[error("the patch set changes nothing, and the bundle has no command")]
    NothingToTry,
    /// The kernel refuses the intent that it made itself.
    #[error("{0}")]
    Refused(Refusal),
    /// The plan breaks rules, as with an output whose content has a NUL character.
    #[error("the plan would not be valid: {}", first_of(.0))]
    Invalid(Report),
    /// The context does not have its type, although its rules hold.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// An id cannot be derived.
    #[error(transparent)]
    Derive(#[from] DeriveError),
    /// The plan has no canonical form: it is too long.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The plan cannot be read again.
    #[error(transparent)]
    Read(#[from] ReadError),
}

fn first_of(report: &Report) -> String {
    let more = report.violations().len().saturating_sub(1);
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    let first = report.violations().first();
    first.map(|it| format!("{} at `{}`: {}{more}", it.rule, it.path, it.message)).unwrap_or_default()
}

/// The plan proposal for a bundle: its outputs as files to write, files that the intent deletes, then the
/// commands of the intent in their order, and what must hold afterwards. `existing` holds the paths that
/// exist; they are modified, all others created.
///
/// Commands and tests are not in the bundle, so the intent is needed too, and must be the one that the bundle names.
pub fn plan(
    bundle: &Verified<Bundle>,
    intent: &Value<'_>,
    existing: &BTreeSet<String>,
) -> Result<Proposal, PlanError> {
    let canon = &mut Canonicalizer::new();
    let (goal, context) = read_intent(canon, bundle, intent)?;
    check_outputs(bundle, context.delete.as_deref().unwrap_or_default())?;
    let commands = context.commands.unwrap_or_default();
    let briefs = context.write_briefs.unwrap_or_default();
    let outputs: Vec<&Output> =
        bundle.outputs.iter().filter(|output| briefs || !is_brief(output, &bundle.outputs)).collect();
    let mut actions = file_actions(canon, &outputs, existing)?;
    actions.extend(delete_actions(canon, context.delete.unwrap_or_default())?);
    actions.extend(command_actions(canon, &commands)?);
    actions
        .sort_by(|left, right| left.order.cmp(&right.order).then_with(|| compare_utf16(&left.id, &right.id)));
    let acceptance_tests =
        acceptance_tests(canon, &outputs, context.tests.unwrap_or_default(), stated_tests(bundle))?;
    let effectful = |action: &ProposedAction| {
        matches!(action.action_type, ActionType::DeleteFile | ActionType::ExecuteCommand)
    };
    let mut proposal = Proposal {
        id: String::new(),
        schema_version: SCHEMA_VERSION.to_owned(),
        source_bundle_id: bundle.id.clone(),
        source_bundle_hash: BundleHash::of(canon, &**bundle)?.into(),
        summary: plan_summary(&goal, &actions, acceptance_tests.len()),
        requires_approval: bundle.status != BundleStatus::Complete || actions.iter().any(effectful),
        confidence: average_half_up(bundle.outputs.iter().map(|output| output.confidence)),
        actions,
        acceptance_tests,
    };
    proposal.id = derive_whole(canon, DerivedId::Plan, &proposal)?;
    verified(canon, bundle, &proposal)
}

/// The normalized goal and the known part of the normalized context.
pub(crate) fn read_intent(
    canon: &mut Canonicalizer,
    bundle: &Bundle,
    intent: &Value<'_>,
) -> Result<(String, Context), PlanError> {
    verify_as::<Intent>(&Facts::default(), intent).map_err(PlanError::Intent)?;
    let normal = normalize(intent)?;
    let found = IntentHash::of(canon, &normal)?;
    if !found.is(bundle.source_intent_hash.as_str()) {
        let named = bundle.source_intent_hash.as_str().to_owned();
        return Err(PlanError::AnotherIntent { named, found: found.to_string() });
    }
    // Verified again, since NFC can make a `;` of another character, and the plan takes the normal form.
    let checked = verify_as::<Intent>(&Facts::default(), &normal).map_err(PlanError::Intent)?;
    let context = normal.get("context").map(Value::to_typed).transpose()?.unwrap_or_default();
    Ok((checked.into_inner().goal, context))
}

/// Cases that the rules of bundles allow and a plan cannot have.
fn check_outputs(bundle: &Bundle, deletes: &[String]) -> Result<(), PlanError> {
    if bundle.status == BundleStatus::Error {
        return Err(PlanError::BundleFailed);
    }
    if let Some(command) = bundle.outputs.iter().find(|output| output.output_type == OutputType::Command) {
        return Err(PlanError::CommandOutput(command.path.clone()));
    }
    let outputs = bundle.outputs.iter().map(|output| output.path.as_str());
    let paths: Vec<&str> = outputs.chain(deletes.iter().map(String::as_str)).collect();
    match clash_messages(&paths) {
        messages if messages.is_empty() => Ok(()),
        messages => Err(PlanError::Clash(messages)),
    }
}

/// The problem with writing all these paths, for people.
pub(crate) fn clash_messages(paths: &[&str]) -> Vec<String> {
    let message = |(at, other, clash): (usize, usize, ordain_spec::Clash)| {
        Some(clash.message(paths.get(at)?, paths.get(other)?))
    };
    clashes(paths).into_iter().filter_map(message).collect()
}

fn file_actions(
    canon: &mut Canonicalizer,
    outputs: &[&Output],
    existing: &BTreeSet<String>,
) -> Result<Vec<ProposedAction>, PlanError> {
    let mut actions = Vec::new();
    for output in outputs {
        let (action_type, verb) = match existing.contains(&output.path) {
            true => (ActionType::ModifyFile, "Replace"),
            false => (ActionType::CreateFile, "Create"),
        };
        let what = match output.output_type {
            OutputType::File => "file",
            OutputType::Command => "command",
            OutputType::Config => "configuration",
            OutputType::Instruction => "instruction",
            OutputType::Schema => "schema",
        };
        let size = counted(output.content.len(), "byte");
        actions.push(with_id(
            canon,
            ProposedAction {
                id: String::new(),
                action_type,
                target: output.path.clone(),
                content: Some(output.content.clone()),
                expected_hash: Some(ContentHash::of(output.content.as_bytes()).into()),
                required: true,
                description: format!("{verb} {} ({what}, {size})", output.path),
                order: ORDER_OF_FILES,
            },
        )?);
    }
    Ok(actions)
}

/// That a file to delete is there is for whoever carries the plan out to find.
fn delete_actions(canon: &mut Canonicalizer, paths: Vec<String>) -> Result<Vec<ProposedAction>, PlanError> {
    let action = |path: String| ProposedAction {
        id: String::new(),
        action_type: ActionType::DeleteFile,
        description: format!("Delete {path}"),
        target: path,
        content: None,
        expected_hash: None,
        required: true,
        order: ORDER_OF_FILES,
    };
    paths.into_iter().map(|path| with_id(canon, action(path))).collect()
}

/// Each command has an order of its own: commands run as the intent lists them, and two equal ones stay two actions.
fn command_actions(
    canon: &mut Canonicalizer,
    commands: &[IntentCommand],
) -> Result<Vec<ProposedAction>, PlanError> {
    let mut actions = Vec::new();
    for (position, command) in commands.iter().enumerate() {
        let line = join_command(&command.argv).map_err(|error| PlanError::Command { position, error })?;
        actions.push(with_id(
            canon,
            ProposedAction {
                id: String::new(),
                action_type: ActionType::ExecuteCommand,
                description: format!("Run {}", excerpt(&line, COMMAND_CHARS_SHOWN)),
                target: line,
                content: None,
                expected_hash: None,
                required: command.required.unwrap_or(true),
                order: ORDER_OF_FILES + 1 + position as u64,
            },
        )?);
    }
    Ok(actions)
}

pub(crate) fn with_id(
    canon: &mut Canonicalizer,
    mut action: ProposedAction,
) -> Result<ProposedAction, PlanError> {
    action.id = derive_whole(canon, DerivedId::Action, &action)?;
    Ok(action)
}

/// Whether an output is a brief, or the facts beside one: for whoever does the work, and no part of it.
pub fn is_brief(output: &Output, outputs: &[Output]) -> bool {
    let beside =
        |path: &str| outputs.iter().any(|it| it.output_type == OutputType::Instruction && it.path == path);
    match output.output_type {
        OutputType::Instruction => output.path.ends_with("/brief.md"),
        OutputType::Config => output
            .path
            .strip_suffix("/acceptance.json")
            .is_some_and(|folder| beside(&format!("{folder}/brief.md"))),
        OutputType::File | OutputType::Command | OutputType::Schema => false,
    }
}

/// One for the hash of each output, those of the intent, and the commands that the bundle states as criteria.
/// They are what the harness runs after the actions, so none of them becomes a `test` action as well.
pub(crate) fn acceptance_tests(
    canon: &mut Canonicalizer,
    outputs: &[&Output],
    of_intent: Vec<IntentTest>,
    stated: Vec<IntentTest>,
) -> Result<Vec<AcceptanceTest>, PlanError> {
    let of_outputs = outputs.iter().map(|output| IntentTest {
        name: format!("{} has the planned content", output.path),
        test_type: TestType::HashMatch,
        target: output.path.clone(),
        expected: ContentHash::of(output.content.as_bytes()).to_string(),
        required: Some(true),
    });
    let mut tests = Vec::new();
    let known = |line: &str| {
        of_intent.iter().any(|it| {
            it.test_type == TestType::CommandSuccess && it.target == line && it.required != Some(false)
        })
    };
    // A test that the intent brings says the same.
    let stated: Vec<IntentTest> = stated.into_iter().filter(|it| !known(&it.target)).collect();
    let others = of_outputs.chain(of_intent.clone()).map(|it| (it, false));
    for (mut test, stated) in others.chain(stated.into_iter().map(|it| (it, true))) {
        // Said or left out, it means the same and so gives the same id.
        let required = *test.required.get_or_insert(true);
        let id = test_id(canon, &test)?;
        let IntentTest { name, test_type, target, expected, .. } = test;
        tests.push(AcceptanceTest { id, name, test_type, target, expected, required, stated });
    }
    tests.sort_by(|left, right| compare_utf16(&left.id, &right.id));
    // The same test twice says nothing new.
    tests.dedup();
    Ok(tests)
}

/// A test of an intent has all fields of an acceptance test but the id.
fn test_id(canon: &mut Canonicalizer, test: &IntentTest) -> Result<String, WriteError> {
    let hash = ContentHash::of(canon.value(test)?).to_string();
    let digits: String = hash.trim_start_matches(SHA256_PREFIX).chars().take(TEST_ID_DIGITS).collect();
    Ok(format!("test_{digits}"))
}

/// As in `Add a changelog: 2 files to create, 1 to change, 1 command, 3 tests`.
pub(crate) fn plan_summary(goal: &str, actions: &[ProposedAction], tests: usize) -> String {
    let count = |wanted| actions.iter().filter(|action| action.action_type == wanted).count();
    let (created, modified) = (count(ActionType::CreateFile), count(ActionType::ModifyFile));
    let (deleted, commands) = (count(ActionType::DeleteFile), count(ActionType::ExecuteCommand));
    let mut parts = Vec::new();
    if created > 0 {
        parts.push(format!("{} to create", counted(created, "file")));
    }
    match (created, modified) {
        (_, 0) => {}
        (0, _) => parts.push(format!("{} to change", counted(modified, "file"))),
        _ => parts.push(format!("{modified} to change")),
    }
    parts.extend((deleted > 0).then(|| format!("{} to delete", counted(deleted, "file"))));
    parts.extend((commands > 0).then(|| counted(commands, "command")));
    parts.extend((tests > 0).then(|| counted(tests, "test")));
    if parts.is_empty() {
        parts.push("nothing to do".to_owned());
    }
    let goal = excerpt(goal, GOAL_CHARS_SHOWN);
    let goal = goal.trim_end_matches(['.', ':', ' ']);
    format!("{}: {}", if goal.is_empty() { "Plan" } else { goal }, parts.join(", "))
}

/// The average of nothing is 0.
pub(crate) fn average_half_up(scores: impl ExactSizeIterator<Item = u8>) -> u8 {
    let count = scores.len() as u64;
    let sum: u64 = scores.map(u64::from).sum();
    let average = (2 * sum + count).checked_div(2 * count).unwrap_or_default();
    u8::try_from(average).unwrap_or(u8::MAX).min(100)
}

/// The plan, once no rule objects to it.
pub(crate) fn verified(
    canon: &mut Canonicalizer,
    bundle: &Bundle,
    plan: &Proposal,
) -> Result<Proposal, PlanError> {
    let text = canon.value(bundle)?.to_vec();
    let source = SourceBundle::of(&Value::read(&text)?)?;
    let text = canon.value(plan)?.to_vec();
    let facts = Facts { bundle: Some(&source), ..Facts::default() };
    verify_as::<Proposal>(&facts, &Value::read(&text)?).map(Verified::into_inner).map_err(PlanError::Invalid)
}
