//! Clients by their tokens, and what is known about each of their sessions.

use crate::abilities::Abilities;
use crate::definitions::Definitions;
use crate::gatekeeper::Gatekeeper;
use crate::limits::{GUESTS_MAX, SESSIONS_MAX, TOKEN_TRUST};
use crate::message::IdKey;
use crate::relay::{Event, OpenRound};
use crate::tasks::Tasks;
use ordain_api::UseOutcome;
use ordain_canon::ContentHash;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The owner of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bearer {
    /// A principal who may call tools.
    Agent(String),
    /// Somebody who lacks the roles for that.
    Other,
    /// Nobody: the token does not count.
    Nobody,
}

/// Knows whom a token belongs to.
pub trait Doorkeeper: Send + Sync + 'static {
    /// The owner of a token.
    fn bearer(&self, token: &str) -> Result<Bearer, String>;
    /// The gate, asked with this token.
    fn gatekeeper(&self, token: &str, principal: &str) -> Result<Gatekeeper, String>;
}

/// A client that showed a token.
pub(super) struct Guest {
    pub(super) principal: String,
    pub(super) gatekeeper: Arc<Gatekeeper>,
    checked_at: Mutex<Instant>,
    used_at: Mutex<Instant>,
}

/// Whether a client comes in.
pub(super) enum Admission {
    Guest(Arc<Guest>),
    /// Its token is one of the gate, and not for this.
    Forbidden,
    Unknown,
}

/// The clients that were here.
pub(super) struct Guests {
    doorkeeper: Arc<dyn Doorkeeper>,
    known: Mutex<BTreeMap<ContentHash, Arc<Guest>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Guests {
    pub(super) fn new(doorkeeper: Arc<dyn Doorkeeper>) -> Self {
        Self { doorkeeper, known: Mutex::default() }
    }

    /// The client whose token was checked a moment ago.
    pub(super) fn trusted(&self, token: &str) -> Option<Arc<Guest>> {
        let guest = locked(&self.known).get(&ContentHash::of(token.as_bytes())).cloned()?;
        let is_recent = locked(&guest.checked_at).elapsed() < TOKEN_TRUST;
        is_recent.then(|| {
            *locked(&guest.used_at) = Instant::now();
            guest
        })
    }

    /// Asks the gate about a token.
    pub(super) fn admit(&self, token: &str) -> Result<Admission, String> {
        let hash = ContentHash::of(token.as_bytes());
        let principal = match self.doorkeeper.bearer(token)? {
            Bearer::Agent(principal) => principal,
            bearer => {
                locked(&self.known).remove(&hash);
                return Ok(if bearer == Bearer::Other { Admission::Forbidden } else { Admission::Unknown });
            }
        };
        let known = locked(&self.known).get(&hash).cloned();
        if let Some(guest) = known.filter(|guest| guest.principal == principal) {
            *locked(&guest.checked_at) = Instant::now();
            *locked(&guest.used_at) = Instant::now();
            return Ok(Admission::Guest(guest));
        }
        let gatekeeper = self.doorkeeper.gatekeeper(token, &principal)?;
        let now = Instant::now();
        let guest = Arc::new(Guest {
            principal,
            gatekeeper: Arc::new(gatekeeper),
            checked_at: Mutex::new(now),
            used_at: Mutex::new(now),
        });
        let mut known = locked(&self.known);
        if known.len() >= GUESTS_MAX {
            let oldest = known.iter().min_by_key(|(_, guest)| *locked(&guest.used_at));
            let oldest = oldest.map(|(hash, _)| *hash);
            oldest.and_then(|hash| known.remove(&hash));
        }
        known.insert(hash, Arc::clone(&guest));
        Ok(Admission::Guest(guest))
    }
}

/// The client's side of a session; without sessions, all that a principal does.
pub(super) struct Peer {
    pub(super) principal: String,
    pub(super) state: Mutex<PeerState>,
    pub(super) tasks: Tasks,
    used_at: Mutex<Instant>,
}

#[derive(Default)]
pub(super) struct PeerState {
    pub(super) definitions: Definitions,
    pub(super) abilities: Abilities,
    pub(super) revision: Option<String>,
    /// Calls in which the server asked something, by what a further round of them looks like.
    pub(super) rounds: BTreeMap<String, KeptRound>,
    /// Calls under way, by the ids of their requests.
    pub(super) calls: BTreeMap<IdKey, Under>,
    /// Questions that the gateway asked, by their ids.
    pub(super) questions: BTreeMap<String, Sender<Json>>,
}

/// A call that goes on when the client has answered the server's question.
pub(super) struct KeptRound {
    pub(super) round: OpenRound,
    pub(super) guest: Arc<Guest>,
}

impl KeptRound {
    /// The server said that the call is not complete, and nobody completes it.
    pub(super) fn leave(self) -> Result<(), String> {
        let OpenRound { used, began } = self.round;
        let reason = "the server asked something, and nobody answered";
        self.guest.gatekeeper.report(&used, UseOutcome::Failed, reason, began.elapsed())
    }
}

/// A call under way.
pub(super) enum Under {
    /// The gate is asked, or people are.
    Undecided { is_cancelled: bool },
    /// The server has it; its answer may come on another stream of the session.
    Sent(tokio::sync::mpsc::UnboundedSender<Event>),
}

impl Peer {
    pub(super) fn state(&self) -> MutexGuard<'_, PeerState> {
        locked(&self.state)
    }
}

/// The sessions. Revisions without sessions have one for each principal.
#[derive(Default)]
pub(super) struct Peers {
    sessions: Mutex<BTreeMap<String, Arc<Peer>>>,
    principals: Mutex<BTreeMap<String, Arc<Peer>>>,
}

impl Peers {
    fn fresh(principal: &str) -> Arc<Peer> {
        Arc::new(Peer {
            principal: principal.to_owned(),
            state: Mutex::default(),
            tasks: Tasks::default(),
            used_at: Mutex::new(Instant::now()),
        })
    }

    fn add(peers: &mut BTreeMap<String, Arc<Peer>>, name: &str, peer: &Arc<Peer>) {
        if peers.len() >= SESSIONS_MAX {
            let oldest = peers.iter().filter(|(_, peer)| peer.state().calls.is_empty());
            let oldest = oldest.min_by_key(|(_, peer)| *locked(&peer.used_at)).map(|(name, _)| name.clone());
            oldest.and_then(|name| peers.remove(&name));
        }
        peers.insert(name.to_owned(), Arc::clone(peer));
    }

    /// The session of a principal; nothing if it is unknown or somebody else's.
    pub(super) fn session(&self, id: &str, principal: &str) -> Option<Arc<Peer>> {
        let peer = locked(&self.sessions).get(id).cloned()?;
        *locked(&peer.used_at) = Instant::now();
        (peer.principal == principal).then_some(peer)
    }

    /// A session that the server has begun. A server that gives the same id to two principals has one session less.
    pub(super) fn begin(&self, id: &str, principal: &str, state: PeerState) {
        let peer = Self::fresh(principal);
        *peer.state() = state;
        Self::add(&mut locked(&self.sessions), id, &peer);
    }

    pub(super) fn end(&self, id: &str) {
        locked(&self.sessions).remove(id);
    }

    /// Every round that nobody has answered.
    pub(super) fn rounds(&self) -> Vec<KeptRound> {
        let sessions = locked(&self.sessions);
        let principals = locked(&self.principals);
        let peers = sessions.values().chain(principals.values());
        peers.flat_map(|peer| std::mem::take(&mut peer.state().rounds).into_values()).collect()
    }

    pub(super) fn of_principal(&self, principal: &str) -> Arc<Peer> {
        let mut principals = locked(&self.principals);
        if let Some(peer) = principals.get(principal) {
            *locked(&peer.used_at) = Instant::now();
            return Arc::clone(peer);
        }
        let peer = Self::fresh(principal);
        Self::add(&mut principals, principal, &peer);
        peer
    }
}
