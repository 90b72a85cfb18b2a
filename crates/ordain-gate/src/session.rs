//! People who signed in to the console: they look, and they decide with signatures only.

use super::caller::Caller;
use super::error::GateError;
use super::open::Gate;
use ordain_api::Role;
use std::collections::BTreeSet;

impl Gate {
    /// A user of this machine who signed in to the console. A session that somebody copies gives away what it shows,
    /// and decides nothing.
    pub async fn caller_of_session(&self, user: &str) -> Result<Caller, GateError> {
        let caller = self.caller_of_user(user).await?;
        if self.is_agent(&caller.principal).await? {
            let problem = format!("the policies in force say that `{}` is an agent", caller.principal);
            return Err(GateError::Forbidden(problem));
        }
        let roles = BTreeSet::from([Role::Approver, Role::Auditor]);
        Ok(Caller { roles, sensors: Some(BTreeSet::new()), may_halt: true, in_session: true, ..caller })
    }
}

impl Caller {
    /// Whether it is a session of the console, whose verdicts and owner acts are signed.
    pub fn in_session(&self) -> bool {
        self.in_session
    }
}
