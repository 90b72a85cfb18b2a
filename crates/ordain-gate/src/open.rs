//! Opening a gate: a store, a key, the time, and the policies in force.

use super::caller::Caller;
use super::clock::Clock;
use super::conflict::Conflict;
use super::error::GateError;
use super::ids::{KeyId, TokenId};
use super::in_force::LedgerState;
use super::keyring::{Keyring, KeyringError, random_hex};
use super::owner::Authorized;
use super::policy::{Basis, Loaded};
use super::records::{CONTROL_ID, Control, Key, Token, Versioned, list};
use super::transaction::{Reading, Step, time_of};
use ordain_api::{Event, ReplacedGate};
use ordain_decision::PublicKeys;
use ordain_store::{Guard, Store};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::sync::broadcast;

/// The settings of a gate.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The class of worker that permits are for.
    pub audience: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { audience: "worker".to_owned() }
    }
}

/// The gate. A cheap handle; all of them share one store.
#[derive(Clone)]
pub struct Gate {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) settings: Arc<Settings>,
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    keyring: RwLock<Keyring>,
    pub(super) policies: RwLock<Option<(Basis, Arc<Loaded>)>>,
    /// Earlier policies that actions were decided under.
    pub(super) earlier: Mutex<Vec<Arc<Loaded>>>,
    /// The gate's own state, as the ledger has it.
    pub(super) in_force: Mutex<LedgerState>,
    changed: broadcast::Sender<String>,
    /// Its holder changes the key. Inside: the key that the next rotation puts in force, if its terms were asked for.
    pub(super) rotating: tokio::sync::Mutex<Option<Keyring>>,
    /// The number of entries that this process has seen. A ledger has no fewer later.
    pub(super) size_seen: AtomicU64,
    /// Records that nearly every step depends on. A step that writes guards their versions, so that an old
    /// one does no harm.
    pub(super) cached: RwLock<Cached>,
}

#[derive(Default)]
pub(super) struct Cached {
    pub(super) control: Option<Versioned<Control>>,
    /// The guard of the key that signs, while that is valid.
    pub(super) key: Option<Guard>,
    keys: Option<Arc<PublicKeys>>,
    /// Valid tokens that were shown lately.
    pub(super) tokens: BTreeMap<TokenId, Versioned<Token>>,
}

/// The name of the gate where nobody else causes an entry.
pub(super) const GATE: &str = "ordain";
/// How many changes a slow listener may miss before it has to look at everything again.
const LISTENERS_BEHIND_MAX: usize = 1_024;

impl Gate {
    /// Opens a gate on a store; on an empty one the ledger begins. Any other store must know the key.
    pub async fn open(
        store: Store,
        keyring: Keyring,
        clock: Clock,
        settings: Settings,
    ) -> Result<Self, GateError> {
        Self::open_in_place_of(store, keyring, clock, settings, None).await
    }

    /// The same; a ledger that begins says whose place its gate takes.
    pub async fn open_in_place_of(
        store: Store,
        keyring: Keyring,
        clock: Clock,
        settings: Settings,
        replaces: Option<ReplacedGate>,
    ) -> Result<Self, GateError> {
        let gate = Self::bare(store, keyring.clone(), clock, settings).await?;
        gate.begin(replaces).await?;
        gate.check_key(&keyring).await?;
        let keyring = gate.successor(&keyring).await?;
        gate.sign_with(keyring.clone());
        gate.register(&keyring, None, &Caller::gate(GATE), None).await?;
        Ok(gate)
    }

    /// Opens a gate on a store to look at it: nothing is written, not even that the key is in use.
    pub async fn open_to_look(
        store: Store,
        keyring: Keyring,
        clock: Clock,
        settings: Settings,
    ) -> Result<Self, GateError> {
        let gate = Self::bare(store, keyring.clone(), clock, settings).await?;
        gate.check_key(&keyring).await?;
        Ok(gate)
    }

    pub(super) async fn bare(
        store: Store,
        keyring: Keyring,
        clock: Clock,
        settings: Settings,
    ) -> Result<Self, GateError> {
        let (changed, _) = broadcast::channel(LISTENERS_BEHIND_MAX);
        let shared = Shared {
            keyring: RwLock::new(keyring),
            policies: RwLock::new(None),
            earlier: Mutex::default(),
            in_force: Mutex::default(),
            changed,
            rotating: tokio::sync::Mutex::new(None),
            size_seen: AtomicU64::new(0),
            cached: RwLock::default(),
        };
        let gate = Self { store, clock, settings: Arc::new(settings), shared: Arc::new(shared) };
        gate.see_last_entry().await?;
        Ok(gate)
    }

    /// That the store was opened with this key: a store that came from elsewhere, or a key that did, is refused.
    async fn check_key(&self, keyring: &Keyring) -> Result<(), GateError> {
        let id = keyring.public().id();
        if Versioned::<Key>::read(&self.store, &KeyId::new(id.as_str())).await?.body.is_some() {
            return Ok(());
        }
        // Only the first entry of a ledger is without a key.
        if self.store.head().await?.size <= 1 && list::<Key>(&self.store, None).await?.is_empty() {
            return Ok(());
        }
        Err(GateError::ForeignKey { key_id: id })
    }

    /// The time is not before the last entry.
    async fn see_last_entry(&self) -> Result<(), GateError> {
        let head = self.store.head().await?;
        let Some(last) = head.size.checked_sub(1) else { return Ok(()) };
        for row in self.store.entries(last, 1).await? {
            self.clock.saw(time_of(&row.bytes));
        }
        Ok(())
    }

    async fn begin(&self, replaces: Option<ReplacedGate>) -> Result<(), GateError> {
        let attempt = |_| async {
            let known = self.read_control().await?;
            if known.body.is_some() {
                return Ok(Step::Done(()));
            }
            let random = |error: KeyringError| GateError::Unavailable(error.to_string());
            let origin = format!("ordain/{}", random_hex::<8>().map_err(random)?);
            let salt = random_hex::<16>().map_err(random)?;
            let nonce_key = random_hex::<32>().map_err(random)?;
            let (origin_of, observing) = (origin.clone(), Vec::new());
            let control = Control {
                origin: origin_of,
                salt,
                nonce_key,
                halt: None,
                policy: None,
                observing,
                keys: None,
            };
            let replaces = replaces.clone();
            Ok(Step::write(vec![known.guard()], Vec::new(), move |writing| {
                writing.event(Event::Opened { origin, replaces });
                writing.put(CONTROL_ID, &control)
            }))
        };
        self.transact(&Caller::gate(GATE), attempt).await
    }

    /// Puts the public part of a key on record, if it is not there; in the place of another that is still valid.
    pub(super) async fn register(
        &self,
        keyring: &Keyring,
        retires: Option<&KeyId>,
        by: &Caller,
        authorized: Option<&Authorized>,
    ) -> Result<Key, GateError> {
        let public = keyring.public();
        let id = KeyId::new(public.id());
        let attempt = |_| async {
            let known = self.key(&id).await?;
            if let Some(known) = known.body {
                return if known.is_valid() { Ok(Step::Done(known)) } else { Err(retired(id.as_str())) };
            }
            // A gate makes its first key known by itself. Every other one is an act of somebody.
            if authorized.is_none() && self.ledger_state(|state| state.has_gate_key()) {
                return Err(GateError::ForeignKey { key_id: id.to_string() });
            }
            let mut guards = vec![known.guard()];
            let mut old_key = None;
            if let Some(old_id) = retires {
                let old = self.key(old_id).await?;
                guards.push(old.guard());
                let Some(old) = old.body.filter(Key::is_valid) else {
                    return Err(Conflict::KeyRotated { key_id: old_id.to_string() }.into());
                };
                old_key = Some((old_id.clone(), old));
            }
            let (id, public_key) = (id.clone(), public.to_string());
            guards.extend(authorized.iter().flat_map(|authorized| authorized.guards()));
            let authorized = authorized.cloned().unwrap_or_default();
            Ok(Step::write(guards, Vec::new(), move |writing| {
                authorized.write(writing)?;
                let created_at_ms = writing.at_ms;
                let key = Key { public_key: public_key.clone(), created_at_ms, retired_at_ms: None };
                let retires = old_key.as_ref().map(|(old_id, _)| old_id.to_string());
                writing.event(Event::KeyRotated { key_id: id.to_string(), public_key, retires });
                writing.put(&id, &key)?;
                if let Some((old_id, mut old)) = old_key {
                    old.retired_at_ms = Some(created_at_ms);
                    writing.put(&old_id, &old)?;
                }
                Ok(key)
            }))
        };
        let registered = self.transact(by, attempt).await;
        self.write_cached(|cached| {
            cached.key = None;
            cached.keys = None;
        });
        registered
    }

    /// The store below it.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The key that signs now.
    pub fn keyring(&self) -> Keyring {
        self.shared.keyring.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on another key signs.
    pub(super) fn sign_with(&self, keyring: Keyring) {
        *self.shared.keyring.write().unwrap_or_else(PoisonError::into_inner) = keyring;
        self.write_cached(|cached| cached.key = None);
    }

    /// The time, as the gate sees it, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// How far the machine's clock is behind the ledger.
    pub fn clock_behind_ms(&self) -> u64 {
        self.clock.behind_ms()
    }

    /// The ids of actions as they change, on this node.
    pub fn changes(&self) -> broadcast::Receiver<String> {
        self.shared.changed.subscribe()
    }

    /// Tells those who wait that an action has changed.
    pub(super) fn notify(&self, action_id: &str) {
        if self.shared.changed.receiver_count() > 0 {
            // The last receiver may go at this moment.
            let _nobody_listens = self.shared.changed.send(action_id.to_owned());
        }
    }

    pub(super) fn read_cached<T>(&self, read: impl FnOnce(&Cached) -> T) -> T {
        read(&self.shared.cached.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn write_cached(&self, write: impl FnOnce(&mut Cached)) {
        write(&mut self.shared.cached.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// The gate's own record: its version, and its content.
    pub(super) async fn control(&self, reading: Reading) -> Result<(Versioned<Control>, Control), GateError> {
        let known = match reading {
            Reading::Cached => self.read_cached(|cached| cached.control.clone()),
            Reading::Fresh => None,
        };
        let mut control = match known {
            Some(control) => control,
            None => self.read_control().await?,
        };
        let body = control.body.take();
        let body = body.ok_or_else(|| GateError::Damaged("the gate's own record is missing".to_owned()))?;
        Ok((control, body))
    }

    /// All public keys that permits may be signed with. None is ever removed.
    pub(super) async fn public_keys(&self, reading: Reading) -> Result<Arc<PublicKeys>, GateError> {
        if reading == Reading::Cached
            && let Some(keys) = self.read_cached(|cached| cached.keys.clone())
        {
            return Ok(keys);
        }
        self.read_control().await?;
        let keys = Arc::new(self.keys_on_ledger());
        self.write_cached(|cached| cached.keys = Some(keys.clone()));
        Ok(keys)
    }
}

pub(super) fn retired(key_id: &str) -> GateError {
    Conflict::KeyRetired { key_id: key_id.to_owned() }.into()
}
