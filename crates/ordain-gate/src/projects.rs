//! Putting on record that a folder belongs to the gate. Which folder it is stands in the registry.

use super::caller::Caller;
use super::claim::Claim;
use super::error::GateError;
use super::open::Gate;
use super::transaction::{Reading, Step};
use ordain_api::{Event, NewProject, OwnerAct};

impl Gate {
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
            let (project_id, path) = (project_id.to_owned(), new.path.clone());
            Ok(Step::write(authorized.guards(), Vec::new(), move |writing| {
                authorized.write(writing)?;
                writing.event(Event::ProjectRegistered { project_id, path });
                Ok(())
            }))
        };
        self.transact(caller, attempt).await
    }
}
