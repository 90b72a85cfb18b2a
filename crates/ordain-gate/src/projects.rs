//! Putting on record that a folder belongs to the gate. The registry says which folder it is.

use super::caller::Caller;
use super::claim::Claim;
use super::error::GateError;
use super::open::Gate;
use super::transaction::{Reading, Step};
use ordain_api::{Event, NewProject, OwnerAct, RegisteredProject};

impl Gate {
    /// That a caller signed for a registration. Nothing is written, and nothing about other projects is told before.
    pub async fn check_may_register(&self, caller: &Caller, new: &NewProject) -> Result<(), GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        let from = self.state_before(OwnerAct::RegisterProject, &control)?;
        let claim = Claim::of(OwnerAct::RegisterProject, new.subject(), from);
        self.authorize(caller, &control, &claim).await.map(drop)
    }

    /// Records that a folder is registered as a project: an owner act. The caller changes the registry after it.
    pub async fn record_project(
        &self,
        caller: &Caller,
        new: &NewProject,
        project_id: &str,
    ) -> Result<(), GateError> {
        let attempt = |_| async {
            let (_, control) = self.control(Reading::Fresh).await?;
            let from = self.state_before(OwnerAct::RegisterProject, &control)?;
            let claim = Claim::of(OwnerAct::RegisterProject, new.subject(), from);
            let authorized = self.authorize(caller, &control, &claim).await?;
            let (project_id, NewProject { path, worktrees_of }) = (project_id.to_owned(), new.clone());
            Ok(Step::write(authorized.guards(), Vec::new(), move |writing| {
                authorized.write(writing)?;
                writing.event(Event::ProjectRegistered { project_id, path, worktrees_of });
                Ok(())
            }))
        };
        self.transact(caller, attempt).await
    }

    /// Records that a folder stops being a project: an owner act. The caller changes the registry after it.
    pub async fn forget_project(
        &self,
        caller: &Caller,
        project: &RegisteredProject,
    ) -> Result<(), GateError> {
        let attempt = |_| async {
            let (_, control) = self.control(Reading::Fresh).await?;
            let from = self.state_before(OwnerAct::ForgetProject, &control)?;
            let claim = Claim::of(OwnerAct::ForgetProject, project.project_id.clone(), from);
            let authorized = self.authorize(caller, &control, &claim).await?;
            let (project_id, path) = (project.project_id.clone(), project.path.clone());
            Ok(Step::write(authorized.guards(), Vec::new(), move |writing| {
                authorized.write(writing)?;
                writing.event(Event::ProjectForgotten { project_id, path });
                Ok(())
            }))
        };
        self.transact(caller, attempt).await
    }
}
