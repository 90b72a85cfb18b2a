//! How each action and each test of a plan ended.

use crate::event::Purpose;
use crate::trial::{Trial, is_file_action, named_test};
use ordain_canon::ContentHash;
use ordain_harness::sandbox::{End, FileState, Report, StepReport};
use ordain_spec::evidence::ActionStatus;
use ordain_spec::plan::{AcceptanceTest, ActionType, Proposal, ProposedAction, TestType};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// How an action ended.
#[derive(Clone)]
pub(crate) struct Ended {
    pub(crate) status: ActionStatus,
    exit_code: Option<i64>,
    produced: Vec<(String, String)>,
    /// For people, where the status does not say it.
    pub(crate) problem: Option<String>,
}

impl Ended {
    fn new(status: ActionStatus) -> Self {
        Self { status, exit_code: None, produced: Vec::new(), problem: None }
    }

    fn failed(problem: String) -> Self {
        Self { problem: Some(problem), ..Self::new(ActionStatus::Failure) }
    }

    pub(crate) fn of_step(step: &StepReport) -> Self {
        let produced = step.produced.iter().map(|file| (file.path.clone(), file.sha256.clone()));
        Self {
            exit_code: step.exit_code(),
            produced: produced.collect(),
            problem: step_problem(step),
            ..Self::new(step.status())
        }
    }

    pub(crate) fn json(&self, action: &ProposedAction) -> Json {
        let file = |(path, sha256): &(String, String)| json!({"path": path, "sha256": sha256});
        let produced: Vec<Json> = self.produced.iter().map(file).collect();
        let mut result = json!({"action_id": action.id, "status": self.status, "produced": produced});
        if let (Some(code), Some(fields)) = (self.exit_code, result.as_object_mut()) {
            fields.insert("exit_code".to_owned(), code.into());
        }
        result
    }
}

/// Details that a status and an exit code do not carry.
fn step_problem(step: &StepReport) -> Option<String> {
    match &step.end {
        End::Skipped => None,
        End::Exited { .. } if step.violations.is_empty() => None,
        End::Exited { .. } => Some(step.violations.join("; ")),
        end => Some(end.to_string()),
    }
}

/// How a test ended.
pub(crate) struct Outcome {
    pub(crate) passed: bool,
    pub(crate) actual: Option<String>,
}

/// Everything that was found.
pub(crate) struct Found<'f> {
    pub(crate) plan: &'f Proposal,
    pub(crate) trial: &'f Trial,
    pub(crate) report: Option<&'f Report>,
}

impl Found<'_> {
    /// One for each action and each test of the plan, in its order.
    pub(crate) fn results(&self) -> (Vec<Ended>, Vec<Outcome>) {
        let steps: &[StepReport] = self.report.map(|report| report.steps.as_slice()).unwrap_or_default();
        let files: BTreeMap<&str, &FileState> = self
            .report
            .iter()
            .flat_map(|report| &report.inspected)
            .map(|it| (it.path.as_str(), &it.state))
            .collect();
        let mut stopped = self.report.is_none();
        let mut actions: Vec<Ended> = Vec::new();
        for (position, action) in self.plan.actions.iter().enumerate() {
            let ended = match (self.trial.blocked.get(&position), self.step(position)) {
                (Some(problem), _) => Ended::failed(problem.clone()),
                (None, Some(step)) => steps
                    .get(step)
                    .filter(|_| !stopped)
                    .map_or(Ended::new(ActionStatus::Skipped), Ended::of_step),
                _ if stopped => Ended::new(ActionStatus::Skipped),
                _ if is_file_action(action) => self.file(action, &files),
                // A `test` action that names an acceptance test: its turn comes below.
                _ => Ended::new(ActionStatus::Skipped),
            };
            let goes_on = ended.status == ActionStatus::Success || named_test(self.plan, action).is_some();
            stopped |= action.required && !goes_on;
            actions.push(ended);
        }
        let tests: Vec<Outcome> = (0..self.plan.acceptance_tests.len())
            .filter_map(|position| Some((position, self.plan.acceptance_tests.get(position)?)))
            .map(|(position, test)| match stopped {
                true => Outcome { passed: false, actual: None },
                false => self.test(position, test, steps, &files),
            })
            .collect();
        for (action, ended) in self.plan.actions.iter().zip(&mut actions) {
            if let (false, Some(test)) = (stopped, named_test(self.plan, action)) {
                *ended = self.named(test, steps, &tests);
            }
        }
        (actions, tests)
    }

    fn step(&self, action: usize) -> Option<usize> {
        self.trial.purposes.iter().position(|purpose| *purpose == Purpose::Action(action))
    }

    /// A file action leaves what is at its target in the end: that is what was tried, whoever wrote it last.
    fn file(&self, action: &ProposedAction, files: &BTreeMap<&str, &FileState>) -> Ended {
        let failed = self.report.iter().flat_map(|report| &report.failed_writes);
        if let Some(failed) = failed.into_iter().find(|it| it.path == action.target) {
            return Ended::failed(format!("`{}` cannot be written: {}", failed.path, failed.problem));
        }
        let mut ended = Ended::new(ActionStatus::Success);
        match files.get(action.target.as_str()) {
            Some(FileState::File { sha256, .. }) => {
                let planned = action.content.as_deref().map(|text| ContentHash::of(text.as_bytes()));
                if planned.is_none_or(|planned| !planned.is(sha256)) {
                    ended.problem = Some(format!("a command has changed `{}`", action.target));
                }
                ended.produced.push((action.target.clone(), sha256.clone()));
            }
            Some(FileState::Missing) if action.action_type == ActionType::DeleteFile => {}
            Some(FileState::Missing) | None => {
                ended.problem = Some(format!("a command has deleted `{}`", action.target));
            }
            Some(FileState::Other) => {
                let problem = format!("a command has put something else than a file at `{}`", action.target);
                return Ended::failed(problem);
            }
        }
        ended
    }

    fn test(
        &self,
        position: usize,
        test: &AcceptanceTest,
        steps: &[StepReport],
        files: &BTreeMap<&str, &FileState>,
    ) -> Outcome {
        let missing = FileState::Missing;
        let state = files.get(test.target.as_str()).copied().unwrap_or(&missing);
        match (test.test_type, state) {
            (TestType::CommandSuccess, _) => {
                let step = self.trial.step_of_test(position).and_then(|step| steps.get(step));
                let Some(step) = step else { return Outcome { passed: false, actual: None } };
                let passed = step.status() == ActionStatus::Success;
                let code = step.exit_code().map(|code| code.to_string());
                Outcome { passed, actual: code.or_else(|| step_problem(step)) }
            }
            (TestType::FileExists, state) => {
                let passed = matches!(state, FileState::File { .. });
                Outcome { passed, actual: Some(passed.to_string()) }
            }
            (TestType::HashMatch, FileState::File { sha256, .. }) => {
                Outcome { passed: *sha256 == test.expected, actual: Some(sha256.clone()) }
            }
            (TestType::ContentMatch, FileState::File { sha256, .. }) => {
                let passed = ContentHash::of(test.expected.as_bytes()).is(sha256);
                Outcome { passed, actual: Some(sha256.clone()) }
            }
            (TestType::HashMatch, FileState::Missing) => {
                Outcome { passed: false, actual: Some("no file".to_owned()) }
            }
            (TestType::HashMatch, FileState::Other) => {
                Outcome { passed: false, actual: Some("something else than a file".to_owned()) }
            }
            // A text could be what was expected.
            (TestType::ContentMatch, _) => Outcome { passed: false, actual: None },
        }
    }

    fn named(&self, test: usize, steps: &[StepReport], tests: &[Outcome]) -> Ended {
        let step = self.trial.step_of_test(test).and_then(|step| steps.get(step));
        match (step, tests.get(test)) {
            (Some(step), _) => Ended { produced: Vec::new(), ..Ended::of_step(step) },
            (None, Some(outcome)) if outcome.passed => Ended::new(ActionStatus::Success),
            _ => Ended::new(ActionStatus::Failure),
        }
    }
}
