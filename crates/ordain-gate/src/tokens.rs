//! Tokens: a random secret for each principal. The store has only hashes of them.

use super::caller::{Caller, SeenToken};
use super::claim::Claim;
use super::conflict::Conflict;
use super::duties::check_joins_no_approvers;
use super::error::GateError;
use super::ids::TokenId;
use super::keyring::{KeyringError, random, random_hex};
use super::limits::TOKENS_MAX;
use super::open::Gate;
use super::records::{Token, Versioned, list};
use super::status::token_status;
use super::transaction::{Reading, Step};
use base64ct::{Base64UrlUnpadded, Encoding};
use ordain_api::limits::NAMES_MAX;
use ordain_api::{Event, NewSecret, NewToken, OwnerAct, TokenStatus};
use ordain_canon::{ContentHash, is_lower_hex};
use ordain_spec::Sha256;
use ordain_spec::name::violation;
use ordain_spec::statement::How;
use std::collections::BTreeSet;
use subtle::ConstantTimeEq;

/// The start of every token, so that it can be found where it should not be.
const PREFIX: &str = "ordain";
const SECRET_CHARACTERS: usize = 43;
const ID_DIGITS: usize = 16;

/// The secret of a new token. The client that asks for the token makes it, and the gate gets its hash.
pub struct TokenSecret {
    id: String,
    secret: String,
}

impl TokenSecret {
    /// A random one.
    pub fn random() -> Result<Self, GateError> {
        let no_random = |error: KeyringError| GateError::Unavailable(error.to_string());
        let id = random_hex::<8>().map_err(no_random)?;
        let secret = Base64UrlUnpadded::encode_string(&random::<32>().map_err(no_random)?);
        Ok(Self { id, secret })
    }

    /// The hash that the gate gets.
    pub fn new_secret(&self) -> NewSecret {
        let secret_hash = Sha256::from(ContentHash::of(self.secret.as_bytes()));
        NewSecret { token_id: self.id.clone(), secret_hash }
    }

    /// The token itself.
    pub fn token(&self) -> String {
        format!("{PREFIX}_{}_{}", self.id, self.secret)
    }
}

impl Gate {
    /// Makes a token. If the caller names no secret, the gate makes one: it is in the answer, and nowhere else.
    pub async fn create_token(
        &self,
        caller: &Caller,
        new: &NewToken,
    ) -> Result<(TokenStatus, Option<String>), GateError> {
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
        let (_, control) = self.control(Reading::Fresh).await?;
        if control.policy.is_some() {
            let loaded = self.policies(&control).await?;
            check_joins_no_approvers(&loaded, new)?;
        }
        if list::<Token>(&self.store, Some("valid")).await?.len() >= TOKENS_MAX {
            return Err(Conflict::TooManyTokens { max: TOKENS_MAX }.into());
        }
        let now_ms = self.clock.now_ms();
        if new.expires_at_ms.is_some_and(|expires_at_ms| expires_at_ms <= now_ms) {
            return Err(GateError::invalid("/expires_at_ms", "is in the past"));
        }
        // An owner signs the id and the hash of the secret too, so that nobody puts others in their place.
        let (made, secret) = match &new.secret {
            Some(secret) => (None, secret.clone()),
            None if control.keys.is_some() => {
                let problem = "is missing: on a gate with an owner, whoever asks makes the secret";
                return Err(GateError::invalid("/secret", problem));
            }
            None => {
                let made = TokenSecret::random()?;
                let secret = made.new_secret();
                (Some(made), secret)
            }
        };
        if !is_lower_hex(&secret.token_id, ID_DIGITS) {
            let problem = format!("must be {ID_DIGITS} hexadecimal digits");
            return Err(GateError::invalid("/secret/token_id", problem));
        }
        let Some(secret_hash) = ContentHash::parse(secret.secret_hash.as_str()) else {
            return Err(GateError::invalid("/secret/secret_hash", "must be a `sha256:` hash"));
        };
        let id = TokenId::new(secret.token_id.as_str());
        let new = NewToken { secret: Some(secret), ..new.clone() };
        let token = Token {
            principal: new.principal.clone(),
            names: new.names.iter().cloned().collect(),
            roles: new.roles.iter().copied().collect(),
            secret_hash,
            created_by: caller.principal.clone(),
            created_at_ms: now_ms,
            expires_at_ms: new.expires_at_ms,
            revoked_at_ms: None,
            created_index: 0,
        };
        let attempt = |_| {
            let (id, token, new) = (id.clone(), token.clone(), new.clone());
            async move {
                let (_, control) = self.control(Reading::Fresh).await?;
                let from = self.state_before(OwnerAct::CreateToken, &control)?;
                let claim = Claim::of(OwnerAct::CreateToken, new.subject(), from);
                let authorized = self.authorize(caller, &control, &claim).await?;
                let known = Versioned::<Token>::read(&self.store, &id).await?;
                if known.body.is_some() {
                    return Err(Conflict::TokenExists { token_id: id.to_string() }.into());
                }
                let mut guards = vec![known.guard()];
                guards.extend(authorized.guards());
                Ok(Step::write(guards, Vec::new(), move |writing| {
                    authorized.write(writing)?;
                    let created_index = writing.event(Event::TokenCreated {
                        token_id: id.to_string(),
                        principal: token.principal.clone(),
                        names: token.names.clone(),
                        roles: token.roles.clone(),
                        // A hash over 256 random bits: nobody finds them by it.
                        secret_hash: token.secret_hash.to_string(),
                        expires_at_ms: token.expires_at_ms,
                    });
                    let token = Token { created_at_ms: writing.at_ms, created_index, ..token };
                    writing.put(&id, &token)?;
                    Ok(token_status(id, token))
                }))
            }
        };
        let status = self.transact(caller, attempt).await?;
        Ok((status, made.map(|made| made.token())))
    }

    /// Revokes a token, at once and on every node. Again it changes nothing.
    pub async fn revoke_token(&self, caller: &Caller, token_id: &str) -> Result<TokenStatus, GateError> {
        let attempt = |_| async {
            let id = TokenId::new(token_id);
            let known = Versioned::<Token>::read(&self.store, &id).await?;
            let Some(mut token) = known.body.clone() else {
                return Err(GateError::Unknown(format!("no token `{token_id}`")));
            };
            if token.revoked_at_ms.is_some() {
                return Ok(Step::Done(token_status(id, token)));
            }
            let (_, control) = self.control(Reading::Fresh).await?;
            let from = self.state_before(OwnerAct::RevokeToken, &control)?;
            let claim = Claim::of(OwnerAct::RevokeToken, token_id.to_owned(), from);
            let authorized = self.authorize(caller, &control, &claim).await?;
            let mut guards = vec![known.guard()];
            guards.extend(authorized.guards());
            Ok(Step::write(guards, Vec::new(), move |writing| {
                authorized.write(writing)?;
                writing.event(Event::TokenRevoked { token_id: id.to_string() });
                token.revoked_at_ms = Some(writing.at_ms);
                writing.put(&id, &token)?;
                Ok(token_status(id, token))
            }))
        };
        self.transact(caller, attempt).await
    }

    /// The owner of a token. Every refusal says the same: strangers are not told which tokens exist.
    pub async fn authenticate(&self, token: &str) -> Result<Caller, GateError> {
        let (id, secret) = parts(token).ok_or_else(refused)?;
        let known = Versioned::<Token>::read(&self.store, &id).await?;
        self.remember_token(&known);
        let control_version = self.check_token_counts(&known, Reading::Fresh).await?;
        self.owner(known, secret, control_version, false)
    }

    /// The owner of a token, for a step that writes: if the token is known, the store is not asked, because
    /// the write is refused when the token has changed since. A refusal for another reason calls for
    /// [`Gate::confirm`].
    pub async fn authenticate_to_write(&self, token: &str) -> Result<Caller, GateError> {
        let (id, secret) = parts(token).ok_or_else(refused)?;
        if let Some(known) = self.read_cached(|cached| cached.tokens.get(&id).cloned())
            && let Ok(control_version) = self.check_token_counts(&known, Reading::Cached).await
        {
            return self.owner(known, secret, control_version, true);
        }
        self.authenticate(token).await
    }

    fn remember_token(&self, known: &Versioned<Token>) {
        let now_ms = self.clock.now_ms();
        let is_valid = known.body.as_ref().is_some_and(|token| token.holds_at(now_ms));
        self.write_cached(|cached| {
            if is_valid && cached.tokens.len() < TOKENS_MAX {
                cached.tokens.insert(known.id.clone(), known.clone());
            } else {
                cached.tokens.remove(&known.id);
            }
        });
    }

    fn owner(
        &self,
        Versioned { id, version, body }: Versioned<Token>,
        secret: &str,
        control_version: u64,
        from_memory: bool,
    ) -> Result<Caller, GateError> {
        let known = body.ok_or_else(refused)?;
        let hash = ContentHash::of(secret.as_bytes());
        let same: bool = hash.as_bytes().ct_eq(known.secret_hash.as_bytes()).into();
        if !same || !known.holds_at(self.clock.now_ms()) {
            return Err(refused());
        }
        let mut names: BTreeSet<String> = known.names.into_iter().collect();
        names.insert(known.principal.clone());
        let roles = known.roles.into_iter().collect();
        Ok(Caller {
            principal: known.principal,
            sensors: Some(names.clone()),
            names,
            agents: BTreeSet::new(),
            roles,
            token: Some(SeenToken { id, version, control_version, from_memory }),
            how: How::Token,
            signed: Vec::new(),
            project: None,
            signs_only: false,
            may_halt: false,
            outside_projects: false,
            in_session: false,
        })
    }

    /// A token counts only as the ledger has it, and on a gate with an owner only if an owner's key signed
    /// it. Gives the version of the gate's own record by which it was checked.
    async fn check_token_counts(&self, known: &Versioned<Token>, reading: Reading) -> Result<u64, GateError> {
        let known_version = match reading {
            Reading::Cached => self.read_cached(|cached| Some(cached.control.as_ref()?.version)),
            Reading::Fresh => None,
        };
        let version = match known_version {
            Some(version) => version,
            None => self.control(Reading::Fresh).await?.0.version,
        };
        let counts = self.ledger_state(|state| match (&known.body, state.token(&known.id)) {
            (Some(token), Some(on_ledger)) => token == on_ledger && state.has_force(token.created_index),
            _ => false,
        });
        if counts { Ok(version) } else { Err(refused()) }
    }

    /// That the caller's token has not ended meanwhile; gives it as it is now.
    pub(super) async fn check_token(&self, caller: &Caller) -> Result<Option<SeenToken>, GateError> {
        let Some(SeenToken { id, .. }) = &caller.token else { return Ok(None) };
        let known = Versioned::<Token>::read(&self.store, id).await?;
        self.remember_token(&known);
        if !known.body.as_ref().is_some_and(|token| token.holds_at(self.clock.now_ms())) {
            return Err(refused());
        }
        let control_version = self.check_token_counts(&known, Reading::Fresh).await?;
        let Versioned { id, version, .. } = known;
        Ok(Some(SeenToken { id, version, control_version, from_memory: false }))
    }

    /// That the caller's token has not ended meanwhile, for somebody who waits.
    pub async fn check_still_holds(&self, caller: &Caller) -> Result<(), GateError> {
        self.check_token(caller).await.map(drop)
    }

    /// Before an answer for which nothing was written: a token that was read from memory is read again.
    pub async fn confirm(&self, caller: &Caller) -> Result<(), GateError> {
        if caller.token.as_ref().is_some_and(|token| token.from_memory) {
            self.check_token(caller).await?;
        }
        Ok(())
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

fn parts(token: &str) -> Option<(TokenId, &str)> {
    let (id, secret) = token.strip_prefix(PREFIX)?.strip_prefix('_')?.split_once('_')?;
    (is_lower_hex(id, ID_DIGITS) && secret.len() == SECRET_CHARACTERS).then(|| (TokenId::new(id), secret))
}
