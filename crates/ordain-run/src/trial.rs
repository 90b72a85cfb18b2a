//! From a plan to a session of the sandbox: files, commands and tests in their order.

use crate::error::RunError;
use crate::event::Purpose;
use crate::verified::verified;
use ordain_canon::Value;
use ordain_harness::apply::{ApplyError, Base, Problem};
use ordain_harness::sandbox::{Session, Step, Write};
use ordain_kernel::{Transformed, plan, transform};
use ordain_spec::bundle::Bundle;
use ordain_spec::plan::{ActionType, Proposal, ProposedAction, TestType};
use ordain_spec::profile::Profile;
use ordain_spec::split_command;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A plan, ready to be tried.
pub(crate) struct Trial {
    pub(crate) session: Session,
    /// The purpose of each step of the session.
    pub(crate) purposes: Vec<Purpose>,
    /// File actions that cannot be carried out in this workspace, by position, and why.
    pub(crate) blocked: BTreeMap<usize, String>,
    /// A required one is among them: nothing is tried.
    pub(crate) stopped: bool,
}

impl Trial {
    pub(crate) fn new(
        plan: &Proposal,
        profile: &Profile,
        workspace: &Path,
        blocked: BTreeMap<usize, String>,
    ) -> Result<Self, RunError> {
        let session = Session::new(workspace, profile.clone());
        let required = |at: &usize| plan.actions.get(*at).is_some_and(|action| action.required);
        let stopped = blocked.keys().any(required);
        let mut trial = Self { session, purposes: Vec::new(), blocked, stopped };
        for (position, action) in plan.actions.iter().enumerate() {
            match action.action_type {
                _ if trial.blocked.contains_key(&position) => {}
                ActionType::CreateFile | ActionType::ModifyFile | ActionType::DeleteFile => {
                    trial.session.writes.push(Write {
                        path: action.target.clone(),
                        content: action.content.as_ref().map(|text| text.clone().into_bytes()),
                        after_steps: trial.session.steps.len(),
                        required: action.required,
                    });
                }
                ActionType::Test if named_test(plan, action).is_some() => {}
                ActionType::ExecuteCommand => {
                    trial.step(&action.target, action.required, Purpose::Action(position), false)?;
                }
                // A command before it must not prepare its end in a start-up file or a stale build.
                ActionType::Validate | ActionType::Test => {
                    trial.step(&action.target, action.required, Purpose::Action(position), true)?;
                }
            }
        }
        for (position, test) in plan.acceptance_tests.iter().enumerate() {
            if test.test_type == TestType::CommandSuccess {
                trial.step(&test.target, false, Purpose::Test(position), true)?;
            }
        }
        trial.session.inspect = inspected(plan).into_iter().map(str::to_owned).collect();
        Ok(trial)
    }

    fn step(&mut self, line: &str, required: bool, purpose: Purpose, fresh: bool) -> Result<(), RunError> {
        let argv = split_command(line).map_err(|error| RunError::Command(line.to_owned(), error))?;
        self.session.steps.push(Step { argv, timeout_ms: None, required, fresh });
        self.purposes.push(purpose);
        Ok(())
    }

    /// The step that an acceptance test became.
    pub(crate) fn step_of_test(&self, position: usize) -> Option<usize> {
        self.purposes.iter().position(|purpose| *purpose == Purpose::Test(position))
    }
}

/// The acceptance test that a `test` action names. Such an action ends as the test does.
pub(crate) fn named_test(plan: &Proposal, action: &ProposedAction) -> Option<usize> {
    match action.action_type {
        ActionType::Test => plan.acceptance_tests.iter().position(|test| test.id == action.target),
        _ => None,
    }
}

pub(crate) fn is_file_action(action: &ProposedAction) -> bool {
    use ActionType::{CreateFile, DeleteFile, ModifyFile};
    matches!(action.action_type, CreateFile | ModifyFile | DeleteFile)
}

/// The paths to look at afterwards: what was written or deleted, and what tests are about.
fn inspected(plan: &Proposal) -> BTreeSet<&str> {
    let written = plan.actions.iter().filter(|action| is_file_action(action));
    let tested = plan.acceptance_tests.iter().filter(|test| test.test_type != TestType::CommandSuccess);
    written.map(|it| it.target.as_str()).chain(tested.map(|it| it.target.as_str())).collect()
}

/// The state of these paths of a workspace, and why some of them cannot be looked at.
pub(crate) fn look<'p>(
    workspace: &Path,
    paths: impl IntoIterator<Item = &'p str>,
) -> Result<(Base, Vec<Problem>), RunError> {
    let paths: BTreeSet<&str> = paths.into_iter().collect();
    match Base::read(workspace, paths.iter().copied()) {
        Ok(base) => Ok((base, Vec::new())),
        Err(ApplyError::Refused(problems)) => {
            let wrong: BTreeSet<&str> = problems.iter().map(|it| it.path.as_str()).collect();
            let base = Base::read(workspace, paths.difference(&wrong).copied())?;
            Ok((base, problems))
        }
        Err(error) => Err(error.into()),
    }
}

/// The file actions that an apply would refuse, found before anything runs.
pub(crate) fn blocked(plan: &Proposal, base: &Base, problems: &[Problem]) -> BTreeMap<usize, String> {
    let problems: BTreeMap<&str, &Problem> = problems.iter().map(|it| (it.path.as_str(), it)).collect();
    let mut blocked = BTreeMap::new();
    for (position, action) in plan.actions.iter().enumerate().filter(|(_, action)| is_file_action(action)) {
        let target = &action.target;
        let there = base.files.get(target).is_some_and(Option::is_some);
        let problem = match (problems.get(target.as_str()), action.action_type) {
            (Some(problem), _) => problem.to_string(),
            (None, ActionType::CreateFile) if there => {
                format!("`{target}` is there already; to replace it, the plan has to modify it")
            }
            (None, ActionType::ModifyFile) if !there => {
                format!(
                    "`{target}` is to be modified and is not there; to make it, the plan has to create it"
                )
            }
            (None, ActionType::DeleteFile) if !there => {
                format!("`{target}` is to be deleted and is not there")
            }
            _ => continue,
        };
        blocked.insert(position, problem);
    }
    blocked
}

/// A plan whose only action is this command, so that its evidence is about a proposal like any other.
pub fn plan_of_command(argv: &[String]) -> Result<Proposal, RunError> {
    let intent = json!({"goal": "Run one command in the sandbox", "context": {"commands": [{"argv": argv}]}});
    let text = crate::verified::canonical(&intent)?;
    let unplanned = |problem: String| RunError::Unplanned(problem);
    let intent = Value::read(&text).map_err(|error| unplanned(error.to_string()))?;
    let bundle = match transform(&intent, text.len()) {
        Transformed::Bundle(bundle) | Transformed::Clarify(bundle) => verified::<Bundle>(&bundle)?,
        Transformed::Refuse(refusal) => return Err(unplanned(refusal.to_string())),
    };
    let plan = plan(&bundle, &intent, &BTreeSet::new())?;
    let command = plan.actions.iter().find(|action| action.action_type == ActionType::ExecuteCommand);
    match command.map(|action| split_command(&action.target)) {
        Some(Ok(planned)) if planned == argv => Ok(plan),
        // A plan holds text in Unicode's normal form C.
        _ => Err(unplanned("an argument is not in Unicode's normal form C".to_owned())),
    }
}
