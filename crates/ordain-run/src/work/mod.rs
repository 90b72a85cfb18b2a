//! Work orders: a copy of the workspace for an agent, rounds of trials, and a run that says what came of them.

mod brief;
mod feedback;
mod folder;
mod judge;

use crate::artefacts::{
    Artefacts, BASE, BUNDLE, EVIDENCE, INTENT, PATCH, PLAN, RESULT, agent_file, restored_file, round_file,
};
use crate::attempt::Attempt;
use crate::chain::{RUN_SCHEMA_VERSION, bundle_ref, execution_ref};
use crate::error::RunError;
use crate::event::Event;
use crate::outcome::{Planned, Tried};
use crate::request::World;
use crate::run_id::run_id;
use crate::trial::look;
use crate::verified::{evidence_hash, file_hash, judged, verified};
use ordain_canon::time::rfc3339;
use ordain_canon::{Canonicalizer, ContentHash, PatchHash, Value};
use ordain_harness::apply::Base;
use ordain_harness::worktree::{Snapshot, copy_workspace};
use ordain_harness::{git, prepare_run_folder, write_run_folder};
use ordain_kernel::{
    KERNEL_VERSION, PlanError, PutBack, Transformed, bundle_hash, plan_of_work, put_back, transform, undone,
};
use ordain_spec::bundle::Bundle;
use ordain_spec::patch::{PatchOp, PatchSet, PatchSource, patch_of_changes};
use ordain_spec::profile::Profile;
use ordain_spec::run::{IntentRef, ResultKind, RunResult, Verdict, WorkOrder as WorkDocument, WorkRound};
use ordain_spec::{Facts, NonEmpty, Nullable, Sha256, Verified};
use std::path::{Path, PathBuf};

pub use folder::{OrderFile, WorkFolder};
pub(crate) use judge::{Trees, round_verdict};

/// An order that is ready for an agent.
pub struct WorkOrder {
    /// Where the copy and the brief are.
    pub folder: WorkFolder,
    /// The bundle that the order is about.
    pub bundle: Verified<Bundle>,
    /// Its hash, as patch sets name it.
    pub bundle_hash: Sha256,
    intent: Vec<u8>,
    intent_path: String,
    workspace: PathBuf,
    profile: Profile,
    allow_landlock_only: bool,
    start: Snapshot,
    started_ms: u64,
    rounds: Vec<Round>,
}

/// How an agent ended, and what it wrote.
#[derive(Default)]
pub struct AgentWords {
    /// In words.
    pub end: String,
    /// The first of its standard output.
    pub stdout: Vec<u8>,
    /// The first of its standard error.
    pub stderr: Vec<u8>,
    /// Why the round fails whatever is in the copy, as when the agent did not end by itself.
    pub failed: bool,
}

/// One round, judged.
pub struct Round {
    /// As the result has it.
    pub document: WorkRound,
    /// For the agent; empty if nothing is wrong.
    pub feedback: String,
    /// The plan, where there is a patch set that could be tried.
    pub planned: Option<Planned>,
    /// The trial on the agent's tree.
    pub tried: Option<Tried>,
    restored: Option<Tried>,
    validated: bool,
    agent: AgentWords,
}

/// The order is over.
pub struct WorkRun {
    /// The result, as it is in the folder.
    pub result: Verified<RunResult>,
    /// The folder, relative to the workspace.
    pub folder: PathBuf,
    /// The last round.
    pub round: Round,
}

impl WorkOrder {
    /// Takes an order up: its intent must have a complete bundle.
    pub fn new(file: OrderFile, folder: WorkFolder, start: Snapshot, now_ms: u64) -> Result<Self, RunError> {
        let OrderFile { workspace, intent_path, intent, profile, allow_landlock_only } = file;
        let text = crate::verified::canonical(&intent)?;
        let value = Value::read(&text).map_err(|error| RunError::Order(error.to_string()))?;
        let bundle: Verified<Bundle> = match transform(&value, text.len()) {
            Transformed::Bundle(bundle) => verified(&bundle)?,
            Transformed::Clarify(_) => {
                return Err(RunError::Order("the intent has open questions".to_owned()));
            }
            Transformed::Refuse(refusal) => return Err(RunError::Order(refusal.to_string())),
        };
        let bundle_hash = bundle_hash(&bundle)?;
        Ok(Self {
            folder,
            bundle,
            bundle_hash,
            intent: text,
            intent_path,
            workspace,
            profile,
            allow_landlock_only,
            start,
            started_ms: now_ms,
            rounds: Vec::new(),
        })
    }

    /// Makes the copy and the brief. The folder must be empty, and outside of the workspace.
    pub fn prepare(file: OrderFile, folder: &Path, now_ms: u64) -> Result<Self, RunError> {
        prepare_run_folder(&file.workspace)?;
        let folder = WorkFolder::make(folder, &file.workspace)?;
        // Nobody can go on with half of it. A file that `make` refuses was there before, and stays.
        Self::fill(file, folder.clone(), now_ms).inspect_err(|_| drop(folder.remove()))
    }

    fn fill(file: OrderFile, folder: WorkFolder, now_ms: u64) -> Result<Self, RunError> {
        let made = copy_workspace(&file.workspace, &folder.copy());
        let start =
            made.map_err(|error| RunError::Order(format!("the workspace cannot be copied: {error}")))?;
        folder.write_json("order.json", &file)?;
        folder.write_json("start.json", &start)?;
        let order = Self::new(file, folder, start, now_ms)?;
        order.bring_files()?;
        let (brief, acceptance) = brief::of(&order.bundle, &order.value()?)?;
        order.folder.write("brief.md", brief.as_bytes())?;
        order.folder.write_json("acceptance.json", &acceptance)?;
        Ok(order)
    }

    /// An order whose copy was made before.
    pub fn open(folder: &Path, now_ms: u64) -> Result<Self, RunError> {
        let folder = WorkFolder::open(folder)?;
        let (file, start) = (folder.read_json("order.json")?, folder.read_json("start.json")?);
        Self::new(file, folder, start, now_ms)
    }

    /// The workspace that the order is about.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    fn value(&self) -> Result<Value<'_>, RunError> {
        Value::read(&self.intent).map_err(|error| RunError::Order(error.to_string()))
    }

    /// Files that the intent brings are there for the agent, and those that it deletes are gone.
    fn bring_files(&self) -> Result<(), RunError> {
        let value = self.value()?;
        let context = value.get("context");
        let list =
            |name: &str| context.and_then(|it| it.get(name)).and_then(Value::as_array).unwrap_or_default();
        for file in list("files") {
            let field = |name: &str| file.get(name).and_then(Value::as_str).unwrap_or_default();
            self.folder.put(field("path"), Some(field("content").as_bytes()))?;
        }
        for path in list("delete").iter().filter_map(Value::as_str) {
            if !self.start.files.contains_key(path) {
                return Err(RunError::Order(format!("`{path}` is to be deleted, and is not there")));
            }
            self.folder.put(path, None)?;
        }
        Ok(())
    }

    /// The standard input of the agent: the brief, and in later rounds what was wrong.
    pub fn input(&self) -> Result<Vec<u8>, RunError> {
        let mut input = self.folder.read("brief.md")?;
        if let Some(round) = self.rounds.last() {
            input.extend_from_slice(b"\n\n---\n\n");
            input.extend_from_slice(round.feedback.as_bytes());
        }
        Ok(input)
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// Judges what is in the copy now: one more round.
    pub fn judge(
        &mut self,
        agent: AgentWords,
        world: &World<'_>,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<&Round, RunError> {
        let mut round = self.judged(agent, world, watch)?;
        if !round.document.accepted {
            round.feedback = feedback::of(&round, self.rounds.len() + 1);
            self.folder.write("feedback.md", round.feedback.as_bytes())?;
        }
        self.rounds.push(round);
        self.rounds.last().ok_or_else(|| RunError::Order("there is no round".to_owned()))
    }

    fn judged(
        &self,
        agent: AgentWords,
        world: &World<'_>,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<Round, RunError> {
        let end = if agent.end.is_empty() { "submitted".to_owned() } else { agent.end.clone() };
        let failed_by_itself = agent.failed.then(|| format!("the agent {end}"));
        let mut round = Round {
            document: WorkRound {
                agent: NonEmpty::of(end),
                patch_hash: None,
                evidence_hash: None,
                protected: Vec::new(),
                restored_evidence_hash: None,
                accepted: false,
                reasons: Vec::new(),
            },
            feedback: String::new(),
            planned: None,
            tried: None,
            restored: None,
            validated: false,
            agent,
        };
        let set = match self.patch_set() {
            Ok(set) => set,
            Err(reasons) => {
                round.document.reasons = failed_by_itself.into_iter().chain(reasons).collect();
                return Ok(round);
            }
        };
        round.document.patch_hash = Some(PatchHash::of(&mut Canonicalizer::new(), &*set)?.into());
        let value = self.value()?;
        let trees = Trees::of(&self.bundle, &value, &set)?;
        round.document.protected.clone_from(&trees.put_back.protected);
        let attempt = Attempt {
            workspace: &self.workspace,
            profile: &self.profile,
            allow_landlock_only: self.allow_landlock_only,
            world,
        };
        let base = self.base_of(&set)?;
        watch(Event::Planned(&trees.plan, &set));
        let tried = attempt.try_it(&trees.plan, &base, &[], watch)?;
        round.document.evidence_hash = Some(evidence_hash(&tried.evidence)?);
        if let Some(plan) = &trees.restored {
            watch(Event::PutBack(&trees.put_back.protected));
            let base = self.base_of(&trees.put_back.set)?;
            let restored = attempt.try_it(plan, &base, &[], watch)?;
            round.document.restored_evidence_hash = Some(evidence_hash(&restored.evidence)?);
            round.restored = Some(restored);
        }
        let restored = round.restored.as_ref().map(|tried| &tried.evidence);
        let (accepted, reasons) = round_verdict(&trees, &tried.evidence, restored);
        round.document.accepted = accepted && failed_by_itself.is_none();
        round.document.reasons = failed_by_itself.into_iter().chain(reasons).collect();
        round.validated = true;
        round.planned = Some(Planned { plan: trees.plan, patch: set, base });
        round.tried = Some(tried);
        Ok(round)
    }

    /// The changes in the copy as a patch set, or why they are none.
    fn patch_set(&self) -> Result<Verified<PatchSet>, Vec<String>> {
        let one = |problem: String| vec![problem];
        let copy = self.folder.copy();
        // Below the copy no link is followed; a copy that is one would bring in another folder.
        if copy.symlink_metadata().is_ok_and(|it| it.is_symlink()) {
            return Err(one("the copy was replaced by a symbolic link".to_owned()));
        }
        let after =
            Snapshot::take(&copy).map_err(|error| one(format!("the copy cannot be read: {error}")))?;
        let mut found = self.start.differences(&after);
        let changed: Vec<&str> = found.changed.iter().map(|it| it.path.as_str()).collect();
        let ignored = git::ignored(&self.workspace, &changed);
        found.leave_out(&ignored);
        if !found.problems.is_empty() {
            return Err(found.problems.iter().map(ToString::to_string).collect());
        }
        let (files, files_max) = (found.changed.len() as u64, self.profile.max_output_files);
        if files > files_max {
            return Err(one(format!("{files} files changed, and the profile allows {files_max}")));
        }
        let contents = found.contents(&copy, self.profile.max_total_output_bytes);
        let changes = contents.map_err(|error| one(error.to_string()))?;
        let made_of = changes.iter().map(|change| {
            let hash = change.after.as_ref().map(|bytes| ContentHash::of(bytes).to_string());
            (change.path.clone(), hash)
        });
        let made_of = Base { files: made_of.collect() };
        let hash = file_hash(&made_of).map_err(|error| one(error.to_string()))?;
        let id = NonEmpty::of(format!("work:{}", self.bundle.id));
        let source = PatchSource { id, hash, bundle: Some(self.bundle_hash.clone()) };
        let set = patch_of_changes(source, changes).map_err(|error| one(error.to_string()))?;
        if self.is_only_the_intents(&set).map_err(|error| one(error.to_string()))? {
            return Err(one("the agent changed nothing in the copy".to_owned()));
        }
        let facts = Facts { profile: &self.profile, ..Facts::default() };
        match judged::<PatchSet>(&facts, &set) {
            Ok(Ok(set)) => Ok(set),
            Ok(Err(report)) => {
                let said = report.violations().iter().map(|it| format!("{}: {}", it.rule, it.message));
                Err(said.collect())
            }
            Err(error) => Err(one(error.to_string())),
        }
    }

    fn is_only_the_intents(&self, set: &PatchSet) -> Result<bool, RunError> {
        let value = self.value()?;
        let context = value.get("context");
        let list =
            |name: &str| context.and_then(|it| it.get(name)).and_then(Value::as_array).unwrap_or_default();
        let brought = |path: &str, content: Option<&str>| {
            list("files").iter().any(|file| {
                let field = |name: &str| file.get(name).and_then(Value::as_str);
                field("path") == Some(path) && field("content") == content
            })
        };
        let deleted = |path: &str| list("delete").iter().any(|it| it.as_str() == Some(path));
        Ok(set.operations.iter().all(|operation| match operation.op {
            PatchOp::Delete => deleted(&operation.path),
            PatchOp::Create | PatchOp::Modify => brought(&operation.path, operation.content.as_deref()),
        }))
    }

    /// The state of the targets, which must be the one from when the copy was made.
    fn base_of(&self, set: &PatchSet) -> Result<Base, RunError> {
        let (base, problems) =
            look(&self.workspace, set.operations.iter().map(|operation| operation.path.as_str()))?;
        if let Some(problem) = problems.first() {
            return Err(RunError::Order(problem.to_string()));
        }
        let then = |path: &str| self.start.files.get(path).map(|file| file.sha256.clone());
        match base.files.iter().find(|(path, now)| then(path) != **now) {
            Some((path, _)) => Err(RunError::Changed(path.clone())),
            None => Ok(base),
        }
    }

    /// Ends the order: writes the folder of the run with all rounds.
    pub fn finish(mut self, random: [u8; 3], world: &World<'_>) -> Result<WorkRun, RunError> {
        let Some(last) = self.rounds.pop() else {
            return Err(RunError::Order("there is no round".to_owned()));
        };
        let run_id = run_id(self.started_ms, random);
        let mut files = Artefacts::default();
        let value = self.value()?;
        files.document(INTENT, &value)?;
        files.document(BUNDLE, &*self.bundle)?;
        for (number, round) in (1..).zip(self.rounds.iter().chain([&last])) {
            keep_round(&mut files, number, round)?;
        }
        if let (Some(planned), Some(tried)) = (&last.planned, &last.tried) {
            files.document(PLAN, &*planned.plan)?;
            files.document(PATCH, &*planned.patch)?;
            files.document(BASE, &planned.base)?;
            files.document(EVIDENCE, &*tried.evidence)?;
            if let Some(report) = &tried.report {
                files.outputs("", report);
            }
        }
        let time = |ms: u64| rfc3339(ms).unwrap_or_default();
        let rounds = self.rounds.iter().chain([&last]).map(|round| round.document.clone()).collect();
        let result = RunResult {
            run_schema_version: RUN_SCHEMA_VERSION.to_owned(),
            run_id: NonEmpty::of(run_id.clone()),
            started_at: time(self.started_ms),
            completed_at: time((world.now_ms)().max(self.started_ms)),
            kernel_version: NonEmpty::of(KERNEL_VERSION.to_owned()),
            policy: self.profile.clone(),
            intent: Nullable(Some(IntentRef { path: self.intent_path.clone(), sha256: file_hash(&value)? })),
            source: None,
            work: Some(WorkDocument { bundle_hash: self.bundle_hash.clone(), rounds }),
            bundle: Nullable(Some(bundle_ref(&self.bundle)?)),
            kernel_result_kind: ResultKind::Bundle,
            execution: Nullable(last.tried.as_ref().map(|it| execution_ref(&it.evidence)).transpose()?),
            decision: Verdict {
                accepted: last.document.accepted,
                reasons: last.document.reasons.clone(),
                validated_by_kernel: last.validated,
            },
            clarify_questions: None,
            refuse_reason: None,
        };
        let result = verified(&result)?;
        files.document(RESULT, &*result)?;
        let folder = write_run_folder(&self.workspace, &run_id, &files.0)?;
        Ok(WorkRun { result, folder, round: last })
    }
}

fn keep_round(files: &mut Artefacts, number: usize, round: &Round) -> Result<(), RunError> {
    let name = |file: &str| round_file(number, file);
    for (file, bytes) in [("stdout.txt", &round.agent.stdout), ("stderr.txt", &round.agent.stderr)] {
        if !bytes.is_empty() {
            files.text(&agent_file(number, file), bytes);
        }
    }
    if !round.feedback.is_empty() {
        files.text(&name("feedback.md"), round.feedback.as_bytes());
    }
    if let (Some(planned), Some(tried)) = (&round.planned, &round.tried) {
        files.document(&name(PATCH), &*planned.patch)?;
        files.document(&name(EVIDENCE), &*tried.evidence)?;
        if let Some(report) = &tried.report {
            files.outputs(&name(""), report);
        }
    }
    if let Some(tried) = &round.restored {
        files.document(&restored_file(number, EVIDENCE), &*tried.evidence)?;
        if let Some(report) = &tried.report {
            files.outputs(&restored_file(number, ""), report);
        }
    }
    Ok(())
}
