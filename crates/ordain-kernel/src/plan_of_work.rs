//! From the patch set of a work order to the plan that tries it: the bundle's criteria, whatever the patch set brings.

use crate::derive::derive_whole;
use crate::plan::{
    PlanError, SCHEMA_VERSION, acceptance_tests, average_half_up, plan, plan_summary, read_intent, verified,
    with_id,
};
use crate::plan_of_patch::{action, test};
use crate::protected::{Protection, protection};
use ordain_canon::{BundleHash, Canonicalizer, ContentHash, DerivedId, Value, WriteError, compare_utf16};
use ordain_spec::bundle::Bundle;
use ordain_spec::intent::{Context, IntentTest};
use ordain_spec::patch::{PatchOp, PatchOperation, PatchSet};
use ordain_spec::plan::{ActionType, Proposal, ProposedAction, TestType};
use ordain_spec::{Sha256, Verified, split_command};
use std::collections::{BTreeMap, BTreeSet};

/// The hash of a bundle as plans and patch sets name it.
pub fn bundle_hash(bundle: &Bundle) -> Result<Sha256, WriteError> {
    Ok(BundleHash::of(&mut Canonicalizer::new(), bundle)?.into())
}

/// The plan that tries a patch set that was made for a bundle: the operations of the patch set, then the
/// commands of the intent, and every test that the bundle's own plan has, but for those of texts that are
/// only for the agent.
pub fn plan_of_work(
    bundle: &Verified<Bundle>,
    intent: &Value<'_>,
    set: &PatchSet,
) -> Result<Proposal, PlanError> {
    let canon = &mut Canonicalizer::new();
    let hash: Sha256 = BundleHash::of(canon, &**bundle)?.into();
    if set.source_bundle_hash.as_ref() != Some(&hash) {
        return Err(PlanError::AnotherBundle(bundle.id.clone()));
    }
    let (goal, context) = read_intent(canon, bundle, intent)?;
    let ordered = plan(bundle, intent, &BTreeSet::new())?;
    let mut actions = Vec::new();
    for operation in &set.operations {
        actions.push(with_id(canon, action(operation))?);
    }
    actions.extend(ordered.actions.into_iter().filter(|action| !is_file(action)));
    if actions.is_empty() {
        return Err(PlanError::NothingToTry);
    }
    actions
        .sort_by(|left, right| left.order.cmp(&right.order).then_with(|| compare_utf16(&left.id, &right.id)));
    let brought: BTreeSet<&str> = context.files.iter().flatten().map(|file| file.path.as_str()).collect();
    let only_told =
        |path: &str| bundle.outputs.iter().any(|output| output.path == path) && !brought.contains(path);
    let of_operations: Vec<IntentTest> = set.operations.iter().filter_map(test).collect();
    let own = acceptance_tests(canon, &[], of_operations, Vec::new())?;
    let mut tests = ordered.acceptance_tests;
    tests.retain(|test| test.test_type != TestType::HashMatch || !only_told(&test.target));
    tests.extend(own);
    tests.sort_by(|left, right| compare_utf16(&left.id, &right.id));
    tests.dedup_by(|left, right| left.id == right.id);
    let effectful = |action: &ProposedAction| {
        matches!(action.action_type, ActionType::DeleteFile | ActionType::ExecuteCommand)
    };
    let mut made = Proposal {
        id: String::new(),
        schema_version: SCHEMA_VERSION.to_owned(),
        source_bundle_id: bundle.id.clone(),
        source_bundle_hash: hash,
        summary: plan_summary(&goal, &actions, tests.len()),
        requires_approval: actions.iter().any(effectful),
        confidence: average_half_up(bundle.outputs.iter().map(|output| output.confidence)),
        actions,
        acceptance_tests: tests,
    };
    made.id = derive_whole(canon, DerivedId::Plan, &made)?;
    verified(canon, bundle, &made)
}

fn is_file(action: &ProposedAction) -> bool {
    use ActionType::{CreateFile, DeleteFile, ModifyFile};
    matches!(action.action_type, CreateFile | ModifyFile | DeleteFile)
}

/// A patch set without what an agent did to protected files.
#[derive(Clone, PartialEq, Debug)]
pub struct PutBack {
    /// The rest.
    pub set: PatchSet,
    /// The protected files that the agent changed, sorted.
    pub protected: Vec<String>,
}

/// Puts protected files back. Those that existed before stay as they were, also files that a criterion runs
/// unless the intent's words name them. Files of the intent are as the intent has them. New files that change
/// how builds and tests run are left out unless the words name them.
pub fn put_back(bundle: &Verified<Bundle>, intent: &Value<'_>, set: &PatchSet) -> Result<PutBack, PlanError> {
    let canon = &mut Canonicalizer::new();
    let (_, context) = read_intent(canon, bundle, intent)?;
    let rules = Rules::of(bundle, intent, &context)?;
    let mut kept = Vec::new();
    let mut protected = Vec::new();
    for operation in &set.operations {
        match rules.judge(operation) {
            Judged::Keep => kept.push(operation.clone()),
            Judged::Drop => protected.push(operation.path.clone()),
            Judged::Replace(content) => {
                protected.push(operation.path.clone());
                kept.push(replaced(operation, content));
            }
        }
    }
    let total_bytes = kept.iter().filter_map(|operation| operation.size_bytes).sum();
    Ok(PutBack { set: PatchSet { operations: kept, total_bytes, ..set.clone() }, protected })
}

/// Files that the intent deletes and the patch set does not.
pub fn undone(intent: &Value<'_>, set: &PatchSet) -> Vec<String> {
    let deleted = |path: &str| set.operations.iter().any(|it| it.op == PatchOp::Delete && it.path == path);
    let context = intent.get("context");
    let paths = context.and_then(|it| it.get("delete")).and_then(Value::as_array).unwrap_or_default();
    let paths = paths.iter().filter_map(Value::as_str);
    paths.filter(|path| !deleted(path)).map(str::to_owned).collect()
}

fn replaced(operation: &PatchOperation, content: Option<String>) -> PatchOperation {
    let op = match (operation.op, &content) {
        (_, None) => PatchOp::Delete,
        (PatchOp::Create, Some(_)) => PatchOp::Create,
        (PatchOp::Modify | PatchOp::Delete, Some(_)) => PatchOp::Modify,
    };
    PatchOperation {
        op,
        path: operation.path.clone(),
        expected_hash: content.as_ref().map(|text| ContentHash::of(text.as_bytes()).into()),
        size_bytes: content.as_ref().map(|text| text.len() as u64),
        content,
        order: operation.order,
    }
}

enum Judged {
    Keep,
    Drop,
    Replace(Option<String>),
}

struct Rules<'i> {
    files: BTreeMap<&'i str, &'i str>,
    deletes: BTreeSet<&'i str>,
    /// Files that a criterion runs.
    run: BTreeSet<String>,
    /// Names in the goal and the constraints, but for those in criteria.
    named: BTreeSet<String>,
}

impl<'i> Rules<'i> {
    fn of(bundle: &Verified<Bundle>, intent: &Value<'_>, context: &'i Context) -> Result<Self, PlanError> {
        let ordered = plan(bundle, intent, &BTreeSet::new())?;
        let commands = ordered.actions.iter().filter(|action| !is_file(action)).map(|action| &action.target);
        let tests = ordered.acceptance_tests.iter();
        let tests = tests.filter(|test| test.test_type == TestType::CommandSuccess).map(|test| &test.target);
        let mut run = BTreeSet::new();
        let mut lines = Vec::new();
        for line in commands.chain(tests) {
            for word in split_command(line).unwrap_or_default() {
                let module = word.replace('.', "/");
                run.extend([
                    format!("{module}.py"),
                    format!("{module}/__init__.py"),
                    format!("{module}/__main__.py"),
                ]);
                run.insert(word.strip_prefix("./").unwrap_or(&word).to_owned());
            }
            lines.push(line.clone());
        }
        // A criterion in the words names what judges the work, not what the work is about.
        let words = |value: Option<&Value<'_>>| {
            let text = value.and_then(Value::as_str).unwrap_or_default().to_owned();
            lines.iter().fold(text, |text, line| text.replace(line.as_str(), " "))
        };
        let mut said = vec![words(intent.get("goal"))];
        let constraints = intent.get("constraints").and_then(Value::as_array).unwrap_or_default();
        said.extend(constraints.iter().map(|it| words(Some(it))));
        let of_path = |character: char| character.is_alphanumeric() || "._-/".contains(character);
        let mut named = BTreeSet::new();
        for text in &said {
            for word in text.split(|character| !of_path(character)) {
                let word = word.trim_end_matches(['.', '/']).trim_start_matches("./");
                named.insert(word.to_lowercase());
            }
        }
        Ok(Self {
            files: context.files.iter().flatten().map(|it| (it.path.as_str(), it.content.as_str())).collect(),
            deletes: context.delete.iter().flatten().map(String::as_str).collect(),
            run,
            named,
        })
    }

    fn judge(&self, operation: &PatchOperation) -> Judged {
        let path = operation.path.as_str();
        if let Some(content) = self.files.get(path) {
            let same = operation.content.as_deref() == Some(content);
            return if same { Judged::Keep } else { Judged::Replace(Some((*content).to_owned())) };
        }
        if self.deletes.contains(path) {
            let same = operation.op == PatchOp::Delete;
            return if same { Judged::Keep } else { Judged::Replace(None) };
        }
        let shapes = |kind| matches!(kind, Protection::TestConfiguration | Protection::BuildScript);
        match (protection(path), operation.op) {
            (Some(kind), PatchOp::Create) if shapes(kind) && !self.is_named(path) => Judged::Drop,
            (_, PatchOp::Create) => Judged::Keep,
            (Some(_), _) => Judged::Drop,
            (None, _) if self.run.contains(path) && !self.is_named(path) => Judged::Drop,
            (None, _) => Judged::Keep,
        }
    }

    fn is_named(&self, path: &str) -> bool {
        let path = path.to_lowercase();
        let file = path.rsplit('/').next().unwrap_or(&path);
        self.named.contains(&path) || self.named.contains(file)
    }
}
