//! Opening a gate: a store, a key, the time, and the policies in force.

use super::clock::Clock;
use super::control::retired;
use super::error::GateError;
use super::keyring::{Keyring, random_hex};
use super::limits::{CLOCKS_APART_MS_MAX, READ_TRIES_MAX, TRIES_MAX};
use super::policy::Loaded;
use super::records::{CONTROL_ID, Control, Held, Key, put};
use ordain_api::{Entry, Event};
use ordain_canon::{Canonicalizer, ContentHash};
use ordain_decision::PublicKeys;
use ordain_store::{Change, Committed, End, Guard, Store, StoreError, Writes};
use serde::Deserialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::broadcast;

/// What can be set about a gate.
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
    pub(super) settings: Settings,
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    keyring: RwLock<Keyring>,
    pub(super) policies: RwLock<Option<Arc<Loaded>>>,
    changed: broadcast::Sender<String>,
    /// Whoever has it changes the key.
    pub(super) rotating: tokio::sync::Mutex<()>,
    /// As many entries as this process was told that there are. A ledger has no fewer later.
    pub(super) size_seen: AtomicU64,
}

/// How many changes a slow listener may miss before it has to look at everything again.
const LISTENERS_BEHIND_MAX: usize = 1_024;

/// What a step writes, before it knows its place on the ledger.
#[derive(Default)]
pub(super) struct Step {
    pub(super) documents: Vec<Vec<u8>>,
    pub(super) records: Vec<ordain_store::NewRecord>,
    pub(super) entries: Vec<Entry>,
}

impl Gate {
    /// Opens a gate on a store; on an empty one the ledger begins.
    pub async fn open(
        store: Store,
        keyring: Keyring,
        clock: Clock,
        settings: Settings,
    ) -> Result<Self, GateError> {
        let gate = Self::open_to_look(store, keyring.clone(), clock, settings).await?;
        gate.begin().await?;
        let keyring = gate.successor(&keyring).await?;
        gate.sign_with(keyring.clone());
        gate.register(&keyring, None, "ordain").await?;
        Ok(gate)
    }

    /// Opens a gate on a store to look at it: nothing is written, not even that the key is in use.
    pub async fn open_to_look(
        store: Store,
        keyring: Keyring,
        clock: Clock,
        settings: Settings,
    ) -> Result<Self, GateError> {
        let (changed, _) = broadcast::channel(LISTENERS_BEHIND_MAX);
        let shared = Shared {
            keyring: RwLock::new(keyring),
            policies: RwLock::new(None),
            changed,
            rotating: tokio::sync::Mutex::new(()),
            size_seen: AtomicU64::new(0),
        };
        let gate = Self { store, clock, settings, shared: Arc::new(shared) };
        gate.see_last_entry().await?;
        Ok(gate)
    }

    /// Nothing happens before what has happened.
    pub(super) async fn see_last_entry(&self) -> Result<(), GateError> {
        let head = self.store.head().await?;
        let Some(last) = head.size.checked_sub(1) else { return Ok(()) };
        for row in self.store.entries(last, 1).await? {
            self.clock.saw(time_of(&row.bytes));
        }
        Ok(())
    }

    async fn begin(&self) -> Result<(), GateError> {
        for _ in 0..TRIES_MAX {
            let control = Held::<Control>::read(&self.store, CONTROL_ID).await?;
            if control.body.is_some() {
                return Ok(());
            }
            let random = |error: super::keyring::KeyringError| GateError::Unavailable(error.to_string());
            let origin = format!("ordain/{}", random_hex::<8>().map_err(random)?);
            let salt = random_hex::<16>().map_err(random)?;
            let body = Control { origin: origin.clone(), salt, halt: None, policy: None };
            let entry = Entry::of(self.clock.now_ms(), "ordain", Event::Opened { origin });
            let step =
                Step { records: vec![put(CONTROL_ID, &body)], entries: vec![entry], ..Step::default() };
            match self.commit(vec![control.guard()], move |_| Ok(step)).await {
                Err(GateError::Store(StoreError::Conflict { .. })) => {}
                done => return done.map(drop),
            }
        }
        Err(busy())
    }

    /// Puts the public part of a key on record, if it is not there; in the place of another that is valid still.
    pub(super) async fn register(
        &self,
        keyring: &Keyring,
        retires: Option<&str>,
        by: &str,
    ) -> Result<(), GateError> {
        let public = keyring.public();
        let id = public.id();
        for _ in 0..TRIES_MAX {
            let known = Held::<Key>::read(&self.store, &id).await?;
            if let Some(known) = &known.body {
                return if known.is_valid() { Ok(()) } else { Err(retired(&id)) };
            }
            let now_ms = self.clock.now_ms();
            let key = Key { public_key: public.to_string(), created_at_ms: now_ms, retired_at_ms: None };
            let mut records = vec![put(&id, &key)];
            let mut guards = vec![known.guard()];
            if let Some(old_id) = retires {
                let old = Held::<Key>::read(&self.store, old_id).await?;
                guards.push(old.guard());
                let Some(mut old) = old.body.filter(Key::is_valid) else {
                    let problem = format!("the key {old_id} was rotated by another at the same time");
                    return Err(GateError::Conflict(problem));
                };
                old.retired_at_ms = Some(now_ms);
                records.push(put(old_id, &old));
            }
            let event = Event::KeyRotated {
                key_id: id.clone(),
                public_key: public.to_string(),
                retires: retires.map(str::to_owned),
            };
            let step = Step { records, entries: vec![Entry::of(now_ms, by, event)], ..Step::default() };
            match self.commit(guards, move |_| Ok(step)).await {
                Err(GateError::Store(StoreError::Conflict { .. })) => {}
                done => return done.map(drop),
            }
        }
        Err(busy())
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
    }

    /// The time, as the gate sees it, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// How far the machine's clock is behind what is on the ledger.
    pub fn clock_behind_ms(&self) -> u64 {
        self.clock.behind_ms()
    }

    /// The ids of actions as they change, on this node.
    pub fn changes(&self) -> broadcast::Receiver<String> {
        self.shared.changed.subscribe()
    }

    pub(super) fn tell(&self, action_id: &str) {
        // Nobody may be listening.
        let _ = self.shared.changed.send(action_id.to_owned());
    }

    pub(super) async fn control(&self) -> Result<(Held<Control>, Control), GateError> {
        let held = Held::<Control>::read(&self.store, CONTROL_ID).await?;
        let body = held
            .body
            .clone()
            .ok_or_else(|| GateError::Damaged("the gate's own record is missing".to_owned()))?;
        Ok((held, body))
    }

    /// All public keys that permits may be signed with.
    pub(super) async fn public_keys(&self) -> Result<PublicKeys, GateError> {
        let mut keys = PublicKeys::new();
        for key in self.list::<Key>(None).await? {
            if let Some(public) =
                key.body.and_then(|body| ordain_decision::PublicKey::parse(&body.public_key).ok())
                && public.id() == key.id
            {
                keys.insert(key.id, public);
            }
        }
        Ok(keys)
    }

    /// Writes a step. `build` gets the index of its first entry.
    pub(super) async fn commit(
        &self,
        guards: Vec<Guard>,
        build: impl FnOnce(u64) -> Result<Step, GateError> + Send + 'static,
    ) -> Result<Committed, GateError> {
        // What `build` makes is canonical JSON of our own types; that it can be written is checked before it is committed.
        let (refused, refusal) = std::sync::mpsc::sync_channel(1);
        let clock = self.clock.clone();
        let build = move |end: End<'_>| written(stamped(build(end.index)?, end.last, &clock)?);
        let change = Change {
            guards,
            build: Box::new(move |end| match build(end) {
                Ok(writes) => writes,
                Err(error) => {
                    let _ = refused.try_send(error);
                    Writes::default()
                }
            }),
        };
        let committed = self.store.commit(change).await;
        if let Ok(error) = refusal.try_recv() {
            return Err(error);
        }
        let committed = committed?;
        self.shared.size_seen.fetch_max(committed.size, Ordering::Relaxed);
        Ok(committed)
    }
}

/// Reads what a step that is written came to. That the store fails now does not mean that nothing was done.
pub(super) async fn came_to<T, R>(read: impl Fn() -> R) -> Result<T, GateError>
where
    R: Future<Output = Result<T, GateError>>,
{
    let mut tries = 1;
    loop {
        match read().await {
            // The connection may have been the one that broke.
            Err(GateError::Store(StoreError::Unavailable(_))) if tries < READ_TRIES_MAX => tries += 1,
            Err(error @ (GateError::Store(_) | GateError::Unavailable(_))) => {
                let problem = format!("what it came to cannot be read: {error}");
                return Err(StoreError::Uncertain(problem).into());
            }
            done => return done,
        }
    }
}

/// Entries get their time where one writer after the other has its turn, on all nodes: what was begun earlier and is written
/// later, or on a node whose clock is behind, would else stand on the ledger with an earlier time than the entry before it.
fn stamped(mut step: Step, last: Option<&[u8]>, clock: &Clock) -> Result<Step, GateError> {
    let last_ms = last.map(time_of).unwrap_or_default();
    clock.check(last_ms)?;
    clock.saw(last_ms);
    let now_ms = clock.now_ms();
    for entry in &mut step.entries {
        let decided = matches!(entry.event, Event::Decided { .. } | Event::PermitSpent { .. });
        if decided && now_ms - entry.at_ms.min(now_ms) > CLOCKS_APART_MS_MAX {
            // What was true so long ago need not be true: it is decided again.
            let (kind, id) = ("time".to_owned(), entry.at_ms.to_string());
            return Err(StoreError::Conflict { kind, id, version: now_ms }.into());
        }
        entry.at_ms = entry.at_ms.max(now_ms);
    }
    Ok(step)
}

/// When an entry was written; 0 of what is none.
pub(super) fn time_of(entry: &[u8]) -> u64 {
    #[derive(Deserialize)]
    struct Time {
        at_ms: u64,
    }
    serde_json::from_slice::<Time>(entry).map_or(0, |it| it.at_ms)
}

fn written(step: Step) -> Result<Writes, GateError> {
    let mut canon = Canonicalizer::new();
    let entries = step.entries.iter().map(|entry| Ok(canon.value(entry)?.to_vec()));
    let entries = entries.collect::<Result<Vec<_>, GateError>>()?;
    Ok(Writes { documents: step.documents, records: step.records, entries })
}

/// The document's canonical bytes, and the hash that names it.
pub(super) fn document(value: &impl serde::Serialize) -> Result<(String, Vec<u8>), GateError> {
    let bytes = Canonicalizer::new().value(value)?.to_vec();
    Ok((ContentHash::of(&bytes).to_string(), bytes))
}

pub(super) fn busy() -> GateError {
    GateError::Unavailable(
        "too many others changed the same thing at the same time; try again in a moment".to_owned(),
    )
}
