//! Tokens: a random secret for each principal. The store has only hashes of them.

use super::caller::{Caller, Names};
use super::conflict::Conflict;
use super::error::GateError;
use super::keyring::{random, random_hex};
use super::limits::TOKENS_MAX;
use super::open::Gate;
use super::records::{Token, Versioned, list};
use super::status::token_status;
use super::transaction::Step;
use base64ct::{Base64UrlUnpadded, Encoding};
use ordain_api::limits::NAMES_MAX;
use ordain_api::{Event, NewToken, TokenStatus};
use ordain_canon::{ContentHash, is_lower_hex};
use ordain_spec::name::violation;
use std::collections::BTreeSet;
use subtle::ConstantTimeEq;

/// What every token starts with, so that it can be found where it should not be.
const PREFIX: &str = "ordain";
const SECRET_CHARACTERS: usize = 43;

impl Gate {
    /// Makes a token. Its secret is shown once, here.
    pub async fn create_token(
        &self,
        caller: &Caller,
        new: &NewToken,
    ) -> Result<(TokenStatus, String), GateError> {
        if let Some(problem) = violation(&new.principal) {
            return Err(GateError::invalid("/principal", format!("`principal` {problem}")));
        }
        if let Some(problem) = new.names.iter().find_map(|name| violation(name)) {
            return Err(GateError::invalid("/names", format!("a name {problem}")));
        }
        if new.names.len() > NAMES_MAX {
            return Err(GateError::invalid("/names", format!("has more than {NAMES_MAX} names")));
        }
        if new.roles.is_empty() {
            return Err(GateError::invalid(
                "/roles",
                "names no role, so that the token would be good for nothing",
            ));
        }
        if list::<Token>(&self.store, Some("valid")).await?.len() >= TOKENS_MAX {
            return Err(Conflict::TooManyTokens { max: TOKENS_MAX }.into());
        }
        let no_random = |error: super::keyring::KeyringError| GateError::Unavailable(error.to_string());
        let id = random_hex::<8>().map_err(no_random)?;
        let secret = Base64UrlUnpadded::encode_string(&random::<32>().map_err(no_random)?);
        let now_ms = self.clock.now_ms();
        if new.expires_at_ms.is_some_and(|expires_at_ms| expires_at_ms <= now_ms) {
            return Err(GateError::invalid("/expires_at_ms", "is in the past"));
        }
        let token = Token {
            principal: new.principal.clone(),
            names: new.names.iter().cloned().collect(),
            roles: new.roles.iter().copied().collect(),
            secret_hash: ContentHash::of(secret.as_bytes()),
            created_at_ms: now_ms,
            expires_at_ms: new.expires_at_ms,
            revoked_at_ms: None,
        };
        let attempt = |_| {
            let (id, token) = (id.clone(), token.clone());
            async move {
                let guard = Versioned::<Token>::absent(&id).guard();
                Ok(Step::write(vec![guard], move |writing| {
                    writing.event(Event::TokenCreated {
                        token_id: id.clone(),
                        principal: token.principal.clone(),
                        names: token.names.clone(),
                        roles: token.roles.clone(),
                        // Of 256 random bits: nobody finds them by their hash.
                        secret_hash: token.secret_hash.to_string(),
                        expires_at_ms: token.expires_at_ms,
                    });
                    let token = Token { created_at_ms: writing.at_ms, ..token };
                    writing.put(&id, &token)?;
                    Ok(token_status(&id, token))
                }))
            }
        };
        let status = self.transact(&caller.principal, attempt).await?;
        Ok((status, format!("{PREFIX}_{id}_{secret}")))
    }

    /// Revokes a token, at once and on every node. Again it changes nothing.
    pub async fn revoke_token(&self, caller: &Caller, token_id: &str) -> Result<TokenStatus, GateError> {
        let attempt = |_| async {
            let known = Versioned::<Token>::read(&self.store, token_id).await?;
            let Some(mut token) = known.body.clone() else {
                return Err(GateError::Unknown(format!("no token `{token_id}`")));
            };
            if token.revoked_at_ms.is_some() {
                return Ok(Step::Done(token_status(token_id, token)));
            }
            let token_id = token_id.to_owned();
            Ok(Step::write(vec![known.guard()], move |writing| {
                writing.event(Event::TokenRevoked { token_id: token_id.clone() });
                token.revoked_at_ms = Some(writing.at_ms);
                writing.put(&token_id, &token)?;
                Ok(token_status(&token_id, token))
            }))
        };
        self.transact(&caller.principal, attempt).await
    }

    /// The owner of a token. Every refusal says the same: strangers are not told which tokens exist.
    pub async fn authenticate(&self, token: &str) -> Result<Caller, GateError> {
        let (id, secret) = parts(token).ok_or_else(refused)?;
        let known = Versioned::<Token>::read(&self.store, id).await?.body.ok_or_else(refused)?;
        let hash = ContentHash::of(secret.as_bytes());
        let same: bool = hash.as_bytes().ct_eq(known.secret_hash.as_bytes()).into();
        if !same || !known.holds_at(self.clock.now_ms()) {
            return Err(refused());
        }
        let mut names: BTreeSet<String> = known.names.into_iter().collect();
        names.insert(known.principal.clone());
        let roles = known.roles.into_iter().collect();
        let token_id = Some(id.to_owned());
        Ok(Caller { principal: known.principal, names: Names::These(names), roles, token_id })
    }

    /// That the token of somebody who waits has not ended meanwhile.
    pub(super) async fn check_token(&self, caller: &Caller) -> Result<(), GateError> {
        let Some(id) = &caller.token_id else { return Ok(()) };
        let token = Versioned::<Token>::read(&self.store, id).await?.body;
        if token.is_some_and(|token| token.holds_at(self.clock.now_ms())) { Ok(()) } else { Err(refused()) }
    }
}

impl Token {
    fn holds_at(&self, now_ms: u64) -> bool {
        self.revoked_at_ms.is_none() && self.expires_at_ms.is_none_or(|expires_at_ms| now_ms < expires_at_ms)
    }
}

fn refused() -> GateError {
    GateError::Unauthenticated("the token is unknown or no longer valid".to_owned())
}

fn parts(token: &str) -> Option<(&str, &str)> {
    let (id, secret) = token.strip_prefix(PREFIX)?.strip_prefix('_')?.split_once('_')?;
    (is_lower_hex(id, 16) && secret.len() == SECRET_CHARACTERS).then_some((id, secret))
}
