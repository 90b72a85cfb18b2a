//! Separation of duties that only tokens tell: who made whose token, and which names one token holds.

use super::caller::Caller;
use super::error::GateError;
use super::ids::TokenId;
use super::open::Gate;
use super::policy::Loaded;
use super::records::{Action, Token};
use ordain_api::{NewToken, Role};
use ordain_spec::approval::Approval;
use std::collections::BTreeSet;

/// All tokens that ever were. One that was revoked or has expired counts too: its owner once had both names in hand.
pub(crate) struct Ties<'l> {
    tokens: Vec<(TokenId, Token)>,
    loaded: &'l Loaded,
}

impl Gate {
    pub(crate) async fn ties<'l>(&self, loaded: &'l Loaded) -> Result<Ties<'l>, GateError> {
        // As the ledger has them: a row that somebody removed unties nobody.
        self.read_control().await?;
        let of_ledger = |(id, token): (&TokenId, &Token)| (id.clone(), token.clone());
        let tokens = self.ledger_state(|state| state.tokens().iter().map(of_ledger).collect());
        Ok(Ties { tokens, loaded })
    }
}

impl Ties<'_> {
    fn person(&self, name: &str) -> String {
        self.loaded.set.person(name).to_lowercase()
    }

    /// The people whose names a token holds.
    fn people(&self, token: &Token) -> BTreeSet<String> {
        [&token.principal].into_iter().chain(&token.names).map(|name| self.person(name)).collect()
    }

    /// The people behind some names, and everybody whom a token makes one with them.
    fn joined(&self, names: &[&str]) -> BTreeSet<String> {
        let people: BTreeSet<String> = names.iter().map(|name| self.person(name)).collect();
        let of_tokens = self.tokens.iter().map(|(_, token)| self.people(token));
        let tied = of_tokens.filter(|held| !held.is_disjoint(&people)).flatten();
        tied.chain(people.iter().cloned()).collect()
    }

    /// Nobody approves their own proposal, whatever the name they proposed it under: the policy knows which
    /// names are one person's, and a token makes its principal and its names one.
    pub(crate) fn check_not_own(&self, caller: &Caller, action: &Action) -> Result<(), GateError> {
        let proposers = self.joined(&[&action.submitted_by, &action.actor]);
        if !proposers.contains(&self.person(&caller.principal)) {
            return Ok(());
        }
        Err(GateError::Forbidden(format!(
            "`{}` proposed this as `{}`, and nobody approves or rejects their own proposal",
            caller.principal, action.actor
        )))
    }

    /// The maker of a token holds its secret. So its approval does not count for proposals of its maker, nor
    /// of those who made the maker's tokens.
    pub(crate) fn check_not_made_by_proposer(
        &self,
        caller: &Caller,
        action: &Action,
    ) -> Result<(), GateError> {
        let Some(own) = &caller.token else { return Ok(()) };
        let proposers = self.joined(&[&action.submitted_by, &action.actor]);
        let mut open: Vec<&Token> =
            self.tokens.iter().filter(|(id, _)| *id == own.id).map(|(_, it)| it).collect();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        while let Some(token) = open.pop() {
            let maker = self.person(&token.created_by);
            if proposers.contains(&maker) {
                return Err(GateError::Forbidden(format!(
                    "`{}` made the token of `{}`, or of whoever made it, and proposed this as `{}`; another operator must make it",
                    token.created_by, caller.principal, action.actor
                )));
            }
            if seen.insert(maker.clone()) {
                let of_maker =
                    self.tokens.iter().map(|(_, it)| it).filter(|it| self.people(it).contains(&maker));
                open.extend(of_maker);
            }
        }
        Ok(())
    }

    /// Two approvals by names that one token holds are one approval.
    pub(crate) fn check_not_joined(&self, caller: &Caller, given: &[Approval]) -> Result<(), GateError> {
        let mut own = self.joined(&[&caller.principal]);
        // The policies themselves know what one person's names are.
        own.remove(&self.person(&caller.principal));
        let same = given.iter().find(|approval| own.contains(&self.person(approval.approver.as_str())));
        match same {
            Some(other) => Err(GateError::Forbidden(format!(
                "a token holds the names of `{}` and `{}`, which has decided already: they count as one",
                caller.principal,
                other.approver.as_str()
            ))),
            None => Ok(()),
        }
    }
}

/// A token that holds the names of two approvers would approve twice.
pub(crate) fn check_joins_no_approvers(loaded: &Loaded, new: &NewToken) -> Result<(), GateError> {
    if !new.roles.contains(&Role::Approver) {
        return Ok(());
    }
    let names = [&new.principal].into_iter().chain(&new.names);
    let approvers = names.filter(|name| loaded.set.is_approver(name));
    let mut people: Vec<(&str, &str)> =
        approvers.map(|name| (loaded.set.person(name), name.as_str())).collect();
    people.sort_unstable();
    people.dedup_by_key(|(person, _)| *person);
    match people.as_slice() {
        [(_, one), (_, other), ..] => Err(GateError::invalid(
            "/names",
            format!("joins `{one}` and `{other}`, whom the policies name as two approvers"),
        )),
        _ => Ok(()),
    }
}
