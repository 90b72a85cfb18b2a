//! One shape for every step of the gate: read, decide, write everything in one transaction, and answer from
//! what was written.

use super::caller::{Author, Caller, SeenToken};
use super::clock::Clock;
use super::error::GateError;
use super::limits::{CLOCKS_APART_MS_MAX, TRIES_MAX};
use super::open::Gate;
use super::owner::session_id;
use super::records::{CONTROL_ID, Control, CountedSession, CountedStatement, Stored};
use ordain_api::{Entry, Event};
use ordain_canon::{Canonicalizer, ContentHash};
use ordain_spec::statement::{How, Signed};
use ordain_store::{Change, Committed, End, Guard, NewRecord, Packed, StoreError, Writes};
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use tokio::sync::oneshot;

/// The result of one attempt at a step.
pub(crate) enum Step<T> {
    /// Nothing has to be written.
    Done(T),
    /// This has to be written, as long as the guards hold.
    Write {
        guards: Vec<Guard>,
        /// Kept with the step's first entry.
        documents: Vec<Vec<u8>>,
        build: Build<T>,
    },
}

type Build<T> = Box<dyn FnOnce(&mut Writing) -> Result<T, GateError> + Send>;

impl<T> Step<T> {
    pub(crate) fn write(
        guards: Vec<Guard>,
        documents: Vec<Vec<u8>>,
        build: impl FnOnce(&mut Writing) -> Result<T, GateError> + Send + 'static,
    ) -> Self {
        Self::Write { guards, documents, build: Box::new(build) }
    }
}

/// How an attempt reads the records that nearly every step depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// From memory, where they are known. The guards of what is written notice that they have changed.
    Cached,
    /// From the store.
    Fresh,
}

/// The writes of a step, but for its documents. It is made in the writer's turn, when the step's place on the
/// ledger is known, and everybody waits for it: whatever does not depend on that place is made before.
pub(crate) struct Writing {
    /// When it is written, in milliseconds since 1970: not before the last entry, of whatever node.
    pub(crate) at_ms: u64,
    author: Author,
    /// The signature of the step's first entry.
    signed: Vec<Signed>,
    /// How the step was signed, if it was.
    signed_step: Option<How>,
    first_index: u64,
    /// How often the gate's own state has changed.
    changes: u64,
    marks: Vec<(usize, u64)>,
    entries: Vec<Entry>,
    documents: Vec<Vec<u8>>,
    records: Vec<NewRecord>,
}

impl Writing {
    /// Adds an entry, and gives its index.
    pub(crate) fn event(&mut self, event: Event) -> u64 {
        let index = self.next_index();
        let how = self.signed_step.unwrap_or(self.author.how);
        let mut entry = Entry::of(self.at_ms, &self.author.by, how, event);
        entry.signed = std::mem::take(&mut self.signed);
        if entry.event.changes_gate() {
            self.changes += 1;
            entry.changes = Some(self.changes);
            self.marks.push((self.entries.len(), self.changes));
        }
        self.entries.push(entry);
        index
    }

    /// The step is signed: the statements stand on its first entry, and each counts this once.
    pub(crate) fn sign(&mut self, signed: Vec<Signed>) -> Result<(), GateError> {
        let index = self.next_index();
        for statement in &signed {
            self.put(statement.statement_hash().to_string().as_str(), &CountedStatement { index })?;
            if let Some(id) = session_id(statement) {
                self.put(id.as_str(), &CountedSession { index })?;
            }
        }
        self.signed_step = signed.first().map(|signed| signed.method.how());
        self.signed = signed;
        Ok(())
    }

    /// The principal that causes it.
    pub(crate) fn by(&self) -> &str {
        &self.author.by
    }

    /// The index of the next entry.
    pub(crate) fn next_index(&self) -> u64 {
        self.first_index + self.entries.len() as u64
    }

    /// Keeps a document that later steps name too.
    pub(crate) fn share(&mut self, document: Vec<u8>) {
        self.documents.push(document);
    }

    pub(crate) fn put<R: Stored>(&mut self, id: &R::Id, record: &R) -> Result<(), GateError> {
        let id = id.as_ref();
        let body = serde_json::to_string(record).map_err(|error| {
            GateError::Damaged(format!("the {} `{id}` cannot be written: {error}", R::KIND))
        })?;
        let state = record.state().to_owned();
        self.records.push(NewRecord { kind: R::KIND.to_owned(), id: id.to_owned(), state, body });
        Ok(())
    }

    /// Refuses what was judged too long ago: it may not be true any more, and is judged again.
    pub(crate) fn check_judged_at(&self, now_ms: u64) -> Result<(), GateError> {
        if self.at_ms.saturating_sub(now_ms) <= CLOCKS_APART_MS_MAX {
            return Ok(());
        }
        Err(conflict("time", now_ms.to_string(), self.at_ms))
    }

    fn into_writes(mut self) -> Result<Writes, GateError> {
        if let Some(last) = self.entries.last_mut() {
            last.changes = Some(self.changes);
        }
        let mut canon = Canonicalizer::new();
        let entries = self.entries.iter().map(|entry| Ok(canon.value(entry)?.to_vec()));
        let entries = entries.collect::<Result<Vec<_>, GateError>>()?;
        Ok(Writes { documents: self.documents, records: self.records, entries, marks: self.marks })
    }
}

impl Gate {
    /// Attempts a step of a caller until nobody else has changed what it read. The first attempt may use
    /// cached records: if it fails for any reason, it is made again from the store, so that nobody is refused
    /// for what was true a moment ago.
    pub(crate) async fn transact<T, A>(
        &self,
        caller: &Caller,
        mut attempt: impl FnMut(Reading) -> A,
    ) -> Result<T, GateError>
    where
        T: Send + 'static,
        A: Future<Output = Result<Step<T>, GateError>>,
    {
        let mut reading = Reading::Cached;
        let mut token = caller.token.clone();
        for _ in 0..TRIES_MAX {
            let changes = self.ledger_state(|state| state.number());
            let step = match attempt(reading).await {
                Err(error) if reading == Reading::Fresh || matches!(error, GateError::Store(_)) => {
                    return Err(error);
                }
                Err(_) => {
                    reading = Reading::Fresh;
                    continue;
                }
                Ok(step) => step,
            };
            match step {
                Step::Done(answer) => {
                    self.confirm(caller).await?;
                    return Ok(answer);
                }
                Step::Write { mut guards, documents, build } => {
                    guards.extend(token.iter().flat_map(SeenToken::guards));
                    match self.commit(caller.author(), changes, guards, &documents, build).await {
                        Err(GateError::Store(StoreError::Conflict { kind, .. })) => {
                            reading = Reading::Fresh;
                            if kind == Control::KIND {
                                self.read_control().await?;
                            }
                            token = self.check_token(caller).await?;
                        }
                        done => return done,
                    }
                }
            }
        }
        Err(busy())
    }

    /// Writes a step that was begun when the gate's own state had changed so often, and gives what its build came to.
    async fn commit<T: Send + 'static>(
        &self,
        author: Author,
        changes: u64,
        guards: Vec<Guard>,
        documents: &[Vec<u8>],
        build: Build<T>,
    ) -> Result<T, GateError> {
        let attached = if documents.is_empty() { None } else { Some(Packed::of(documents)?) };
        let (answer, mut answered) = oneshot::channel();
        let clock = self.clock.clone();
        let build = move |end: End<'_>| match write(end, author, changes, &clock, build) {
            Ok((writes, result)) => {
                let _nobody_waits = answer.send(Ok((result, !writes.marks.is_empty())));
                writes
            }
            Err(error) => {
                let _nobody_waits = answer.send(Err(error));
                Writes::default()
            }
        };
        let committed = self.store.commit(Change { guards, attached, build: Box::new(build) }).await;
        match (answered.try_recv(), committed) {
            (Ok(Err(refused)), _) => Err(refused),
            (_, Err(error)) => Err(error.into()),
            (Ok(Ok((result, changed_gate))), Ok(Committed { size, .. })) => {
                self.shared.size_seen.fetch_max(size, Ordering::Relaxed);
                if changed_gate {
                    // If this fails, so does the next step, which tells its own caller.
                    let _later = self.read_control().await;
                }
                Ok(result)
            }
            (Err(_), Ok(_)) => Err(StoreError::Closed.into()),
        }
    }
}

/// Entries get their time in the writer's turn. A step that was begun earlier and is written later, or on a
/// node whose clock is behind, would otherwise stand on the ledger with an earlier time than the entry before
/// it.
///
/// The last entry says how often the gate's own state has changed. If that is not what the step was begun
/// with, its guards are not enough: somebody may have put a record back under the version that it had.
fn write<T>(
    end: End<'_>,
    author: Author,
    changes: u64,
    clock: &Clock,
    build: Build<T>,
) -> Result<(Writes, T), GateError> {
    let counted = end.last.map_or(Some(0), changes_of);
    if counted != Some(changes) {
        return Err(conflict(Control::KIND, CONTROL_ID.to_owned(), counted.unwrap_or_default()));
    }
    let last_ms = end.last.map(time_of).unwrap_or_default();
    clock.check(last_ms)?;
    clock.saw(last_ms);
    let mut writing = Writing {
        at_ms: clock.now_ms(),
        author,
        signed: Vec::new(),
        signed_step: None,
        first_index: end.index,
        changes,
        marks: Vec::new(),
        entries: Vec::new(),
        documents: Vec::new(),
        records: Vec::new(),
    };
    let result = build(&mut writing)?;
    Ok((writing.into_writes()?, result))
}

/// When an entry was written; 0 for anything that is not an entry.
pub(crate) fn time_of(entry: &[u8]) -> u64 {
    /// Where canonical entries have their time.
    const START: &[u8] = b"{\"at_ms\":";
    if let Some(rest) = entry.strip_prefix(START) {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = rest.get(..digits).and_then(|digits| std::str::from_utf8(digits).ok());
        return text.and_then(|text| text.parse().ok()).unwrap_or_default();
    }
    #[derive(Deserialize)]
    struct Time {
        at_ms: u64,
    }
    serde_json::from_slice::<Time>(entry).map_or(0, |time| time.at_ms)
}

/// How often the gate's own state had changed, as an entry says; none if it does not say.
pub(crate) fn changes_of(entry: &[u8]) -> Option<u64> {
    /// No text of an entry has this: a quotation mark inside one has a backslash before it.
    const NAME: &[u8] = b",\"changes\":";
    let at = entry.windows(NAME.len()).position(|window| window == NAME)?;
    let rest = entry.get(at + NAME.len()..)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(rest.get(..digits)?).ok()?.parse().ok()
}

/// The document's canonical bytes, and the hash that names it.
pub(crate) fn document(value: &impl Serialize) -> Result<(ContentHash, Vec<u8>), GateError> {
    let bytes = Canonicalizer::new().value(value)?.to_vec();
    Ok((ContentHash::of(&bytes), bytes))
}

pub(crate) fn conflict(kind: &str, id: String, version: u64) -> GateError {
    StoreError::Conflict { kind: kind.to_owned(), id, version }.into()
}

pub(crate) fn busy() -> GateError {
    GateError::Unavailable("too many others changed the same thing at the same time".to_owned())
}
