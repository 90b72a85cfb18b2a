//! One plan in the sandbox: from what is at its targets to the evidence.

use crate::error::RunError;
use crate::event::Event;
use crate::evidence::{Occasion, evidence};
use crate::outcome::Tried;
use crate::request::World;
use crate::trial::{Trial, blocked};
use ordain_harness::apply::{Base, Problem};
use ordain_harness::sandbox::{Report, StepEvent};
use ordain_spec::Verified;
use ordain_spec::plan::Proposal;
use ordain_spec::profile::Profile;
use std::path::Path;

/// Where and how a plan is tried.
pub(crate) struct Attempt<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) profile: &'a Profile,
    pub(crate) allow_landlock_only: bool,
    pub(crate) world: &'a World<'a>,
}

impl Attempt<'_> {
    pub(crate) fn try_it(
        &self,
        plan: &Verified<Proposal>,
        base: &Base,
        problems: &[Problem],
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<Tried, RunError> {
        let mut trial = Trial::new(plan, self.profile, self.workspace, blocked(plan, base, problems))?;
        if self.allow_landlock_only {
            trial.session.allow_landlock_only();
        }
        let started_ms = (self.world.now_ms)();
        let report = if trial.stopped { None } else { Some(self.session(&trial, watch)?) };
        let completed_ms = (self.world.now_ms)().max(started_ms);
        let occasion = Occasion { started_ms, completed_ms, executor: self.world.executor, base };
        let evidence = evidence(plan, &trial, report.as_ref(), &occasion)?;
        Ok(Tried { evidence, report })
    }

    fn session(&self, trial: &Trial, watch: &mut dyn FnMut(Event<'_>)) -> Result<Report, RunError> {
        let total = trial.session.steps.len();
        let lines: Vec<String> =
            trial.session.steps.iter().map(|step| ordain_spec::shown_command(&step.argv)).collect();
        let command = |step: usize| lines.get(step).map(String::as_str).unwrap_or_default();
        let mut tell = |event: StepEvent| match event {
            StepEvent::Began { step } => {
                if let Some(purpose) = trial.purposes.get(step) {
                    let (number, command) = (step + 1, command(step));
                    watch(Event::Began { number, total, command, purpose: *purpose });
                }
            }
            StepEvent::Ended { step, status, end, duration_ms } => {
                let (number, command) = (step + 1, command(step));
                watch(Event::Ended { number, total, command, status, end: &end, duration_ms });
            }
        };
        Ok((self.world.sandbox)(&trial.session, &mut tell)?)
    }
}
