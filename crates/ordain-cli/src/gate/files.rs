//! Changes of files go through the gate where a project has one.

use crate::arguments::Connect;
use crate::changes::told;
use crate::commands::submit;
use crate::exit::{Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::project::Project;
use crate::report;
use ordain_agent::{Acted, Agent, AgentError, FileOutcome, GatedWorkspace, Interrupted, Note};
use ordain_harness::apply::OpenUse;
use std::path::Path;

/// The caller, the workspace and the gate.
pub(crate) struct Asker<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) connect: &'a Connect,
    pub(crate) actor: Option<&'a str>,
    pub(crate) json: bool,
}

/// A gate that has to be asked.
pub(crate) struct Gated<'a> {
    asker: &'a Asker<'a>,
    project: Option<Project>,
    /// Whether the person at the terminal proposes, unless somebody else is named.
    by_person: bool,
}

/// The result of a change that the gate was asked about.
pub(crate) enum Changed {
    /// It was tried.
    Tried(Acted),
    /// The gate did not permit it, which was shown.
    Not(Outcome),
}

impl Asker<'_> {
    /// The gate that changes of this workspace go through: a server that was named, or the one that is registered.
    pub(crate) fn gate(&self) -> Result<Option<Gated<'_>>, Failure> {
        // Nobody can change something that is not a folder; the command that tries says so.
        let project = if self.workspace.is_dir() { Project::registered_above(self.workspace)? } else { None };
        let named = self.connect.server.is_some();
        Ok((named || project.is_some()).then_some(Gated { asker: self, project, by_person: false }))
    }
}

impl Gated<'_> {
    /// The same gate, to which the person at the terminal proposes, unless somebody else is named.
    pub(crate) fn by_person(self) -> Self {
        Self { by_person: true, ..self }
    }

    /// Opens the gate, and makes a change through it.
    pub(crate) fn change(
        self,
        change: impl FnOnce(&GatedWorkspace<'_>, &mut dyn FnMut(Note)) -> Result<FileOutcome, AgentError>,
    ) -> Result<Changed, Failure> {
        let Self { asker: &Asker { workspace, connect, actor, json }, project, by_person } = self;
        let actor = match (actor, &project) {
            (Some(actor), _) => Some(actor.to_owned()),
            (None, Some(project)) if !by_person => project.actor()?,
            (None, _) => None,
        };
        let place = project.as_ref().map(|project| project.path_within(workspace)).transpose()?;
        let gateway = Gateway::open_about(workspace, project, connect, Purpose::Decide)?;
        let unnamed = || if by_person { gateway.principal() } else { gateway.default_actor() };
        let actor = actor.unwrap_or_else(unnamed);
        let gated = GatedWorkspace {
            client: gateway.client(),
            server: gateway.server(),
            folder: workspace,
            place: &place.unwrap_or_default(),
            actor: &actor,
        };
        match change(&gated, &mut show_note) {
            Ok(FileOutcome::Tried(acted)) => Ok(Changed::Tried(acted)),
            Ok(FileOutcome::NotPermitted(status)) => {
                submit::show(gateway.client(), &status, json)?;
                Ok(Changed::Not(submit::outcome(&status)))
            }
            Err(AgentError::Apply(error)) => told(Err(error), json),
            Err(error) => Err(error.into()),
        }
    }
}

/// Says that there is no gate.
pub(crate) fn say_nobody_was_asked() {
    report::note(
        "no gate is registered for this folder: no policy was asked, and nothing goes on a ledger",
        None,
    );
}

/// Reports the changes whose commands ended before they could. A failure to do so stops no command.
pub(crate) fn report_interrupted(workspace: &Path, connect: &Connect) {
    let server = connect.server.as_deref().map(|url| url.trim_end_matches('/'));
    let interrupted = Interrupted::find(workspace, server, &mut show_note);
    if interrupted.is_empty() {
        return;
    }
    let reported = Project::registered_above(workspace)
        .and_then(|project| Gateway::open_about(workspace, project, connect, Purpose::Write))
        .and_then(|gateway| {
            let agent = Agent { client: gateway.client(), server: gateway.server() };
            Ok(interrupted.report(agent, workspace, &mut show_note)?)
        });
    if let Err(failure) = reported {
        let text = format!("a change was interrupted, and cannot be reported now: {}", failure.text());
        report::note(&text, failure.hint());
    }
}

fn show_note(note: Note) {
    let name = |open: &OpenUse| format!("use {} of {}", open.number, open.permit_id);
    match note {
        Note::Reported { open, made } => {
            let outcome = if made { "it was done" } else { "nothing was changed" };
            let text = format!("{} was interrupted and is reported now: {outcome}", name(&open));
            report::note(&text, None);
        }
        Note::Settled { open, detail } => {
            report::note(&format!("{} was interrupted: {detail}", name(&open)), None);
        }
        Note::Waits { open, made } => {
            let outcome = if made { "it was done" } else { "nothing was changed" };
            let text = format!("{} was interrupted, and its deadline has passed: {outcome}", name(&open));
            report::note(&text, Some("an owner says so with `ordain approve`"));
        }
        Note::OtherGate { open } => {
            let server = open.server.as_ref().map(|url| format!(" --server {url}")).unwrap_or_default();
            let text = format!("{} was interrupted and is not reported yet", name(&open));
            report::note(&text, Some(&format!("run `ordain recover{server}`")));
        }
        _ => {}
    }
}
