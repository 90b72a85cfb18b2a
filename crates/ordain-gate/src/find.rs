//! Lists for people: the newest first, and only what they ask for. Each list goes along the index that fits
//! its question best, and its cost follows from what it gives.

use super::caller::Caller;
use super::error::GateError;
use super::index::{Term, rows_of};
use super::limits::{CLOCKS_APART_MS_MAX, PAGE_BYTES_MAX};
use super::open::Gate;
use super::records::{Action, CONTROL_ID, Control, Stored, Versioned};
use super::status::may_see;
use super::transaction::{Reading, time_of};
use super::view::Packets;
use ordain_api::limits::PAGE_MAX;
use ordain_api::{ActionState, ActionStatus, ActionsQuery, Entry, Event};
use ordain_store::Query;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::ops::Range;

/// Actions that are looked at for one page, at most.
const VISITS_MAX: usize = 2_000;
/// Records that are read at once, at least: those of one step are on one page.
const RECORDS_MIN: usize = 16;
/// Entries of one step, at most.
const STEP_ENTRIES_MAX: u64 = 16;

/// The index that leads to the actions of a list.
enum Driver {
    /// Records in these states, the last change first.
    States(Vec<ActionState>),
    /// Entries with these names.
    Names(Vec<Term>),
    /// All entries that submit, or that decide.
    Entries,
}

/// A list under way.
struct Finding<'a> {
    caller: &'a Caller,
    query: &'a ActionsQuery,
    control: Control,
    /// The entries of decisions under the policies that are asked for.
    decided: Option<Vec<Range<u64>>>,
    limit: usize,
    visits: usize,
    bytes: usize,
    found: Vec<ActionStatus>,
}

impl Finding<'_> {
    fn is_full(&self) -> bool {
        self.found.len() >= self.limit || self.visits >= VISITS_MAX || self.bytes >= PAGE_BYTES_MAX
    }
}

impl Gate {
    /// Actions that a query selects, the newest first, and where the next page begins, if there may be one.
    pub async fn find_actions(
        &self,
        caller: &Caller,
        query: &ActionsQuery,
        limit: usize,
    ) -> Result<(Vec<ActionStatus>, Option<u64>), GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        let size = self.store.head().await?.size;
        let start = match query.since_ms {
            Some(since_ms) => self.index_at(since_ms, size).await?,
            None => 0,
        };
        let until_ms = query.until_ms.map(|until_ms| until_ms.saturating_add(CLOCKS_APART_MS_MAX));
        let decided = match &query.policy {
            Some(policy) => Some(self.decided_under(policy, size).await?),
            None => None,
        };
        let mut finding = Finding {
            caller,
            query,
            control,
            decided,
            limit: limit.min(PAGE_MAX),
            visits: 0,
            bytes: 0,
            found: Vec::new(),
        };
        let driver = driver(query);
        // An action is decided and approved after it is submitted, but not before the end of the time that is
        // asked for.
        let by_submission = query.approver.is_none() && query.policy.is_none();
        let mut end = query.before.unwrap_or(u64::MAX);
        if let (Some(until_ms), true) = (until_ms, by_submission && !matches!(driver, Driver::States(_))) {
            end = end.min(self.index_at(until_ms, size).await?);
        }
        let next = match driver {
            Driver::States(states) => self.along_states(&mut finding, &states, start, end).await?,
            Driver::Names(terms) => self.along_names(&mut finding, &terms, start..end.min(size)).await?,
            Driver::Entries => self.along_entries(&mut finding, start..end.min(size)).await?,
        };
        Ok((finding.found, next))
    }

    async fn along_states(
        &self,
        finding: &mut Finding<'_>,
        states: &[ActionState],
        start: u64,
        end: u64,
    ) -> Result<Option<u64>, GateError> {
        let limit = finding.limit.max(RECORDS_MIN);
        let mut end = end;
        loop {
            let mut records = Vec::new();
            let mut full = false;
            for state in states {
                let query = Query {
                    kind: Action::KIND.to_owned(),
                    state: Some(state.name().to_owned()),
                    after: (end < i64::MAX as u64).then(|| (end, String::new())),
                    limit,
                    newest_first: true,
                };
                let page = self.store.records(&query).await?;
                full |= page.len() == limit;
                records.extend(page);
            }
            records.sort_by_key(|record| std::cmp::Reverse(record.changed_at));
            if full {
                // There may be more records of the last change.
                records.truncate(limit);
                let last = records.last().map(|record| record.changed_at);
                if records.first().map(|record| record.changed_at) != last {
                    records.retain(|record| Some(record.changed_at) != last);
                }
            }
            for record in records {
                if record.changed_at != end && finding.is_full() {
                    return Ok(Some(end));
                }
                if record.changed_at <= start {
                    return Ok(None);
                }
                end = record.changed_at;
                let Versioned { id, body, .. } = Versioned::<Action>::of(record)?;
                if let Some(action) = body {
                    self.consider(finding, &id, &action).await?;
                }
            }
            if !full {
                return Ok(None);
            }
        }
    }

    async fn along_names(
        &self,
        finding: &mut Finding<'_>,
        terms: &[Term],
        range: Range<u64>,
    ) -> Result<Option<u64>, GateError> {
        let mut end = range.end;
        while end > range.start {
            let wanted = finding.limit.saturating_sub(finding.found.len()).max(1);
            let places = self.places(terms, range.start..end, wanted).await?;
            for index in places.found {
                if finding.is_full() {
                    return Ok(Some(end));
                }
                end = index;
                self.consider_entry(finding, index).await?;
            }
            end = places.looked_down_to;
        }
        Ok(None)
    }

    async fn along_entries(
        &self,
        finding: &mut Finding<'_>,
        range: Range<u64>,
    ) -> Result<Option<u64>, GateError> {
        let ranges = match &finding.decided {
            Some(ranges) => ranges.clone(),
            None => vec![range.clone()],
        };
        for part in ranges.into_iter().rev() {
            let start = part.start.max(range.start);
            let mut end = part.end.min(range.end);
            while end > start {
                let few = finding.limit.saturating_sub(finding.found.len()).clamp(1, 64) as u64 * 4;
                let from = end.saturating_sub(few).max(start);
                for row in rows_of(&self.store, from..end).await?.into_iter().rev() {
                    if finding.is_full() {
                        return Ok(Some(end));
                    }
                    end = row.index;
                    let Ok(entry) = serde_json::from_slice::<Entry>(&row.bytes) else { continue };
                    let by_policy = finding.decided.is_some();
                    let wanted = match entry.event {
                        Event::Submitted { action_id, .. } if !by_policy => Some(action_id),
                        Event::Decided { action_id, .. } if by_policy => Some(action_id),
                        _ => None,
                    };
                    let Some(id) = wanted else { continue };
                    let action = Versioned::<Action>::read(&self.store, &id).await?.body;
                    // An action that was decided several times is listed with its last decision.
                    let action = action.filter(|action| !by_policy || action.decided_index == row.index);
                    if let Some(action) = action {
                        self.consider(finding, &id, &action).await?;
                    }
                }
            }
        }
        Ok(None)
    }

    /// Looks at the action of an entry that may have the names: a submission, or a verdict of the approver.
    async fn consider_entry(&self, finding: &mut Finding<'_>, index: u64) -> Result<(), GateError> {
        let Some(entry) = self.entry(index).await? else { return Ok(()) };
        let wanted = match (&finding.query.approver, &entry.event) {
            (Some(approver), Event::Approved { .. } | Event::Rejected { .. }) => *approver == entry.by,
            (None, Event::Submitted { .. }) => true,
            _ => false,
        };
        let Some(id) = entry.event.action_id().filter(|_| wanted) else { return Ok(()) };
        let Some(action) = Versioned::<Action>::read(&self.store, id).await?.body else { return Ok(()) };
        if finding.query.approver.is_some() {
            // Somebody may have signed again later; the action is listed once.
            for later in action.approvals.iter().filter(|approval| approval.index > index) {
                if self.entry(later.index).await?.is_some_and(|it| it.by == entry.by) {
                    return Ok(());
                }
            }
        }
        self.consider(finding, id, &action).await
    }

    /// An entry, if there is one that can be read.
    pub(crate) async fn entry(&self, index: u64) -> Result<Option<Entry>, GateError> {
        let row = self.store.entries(index, 1).await?.into_iter().find(|row| row.index == index);
        Ok(row.and_then(|row| serde_json::from_slice(&row.bytes).ok()))
    }

    /// Adds an action to the list, if it is what was asked for and the caller may see it.
    async fn consider(&self, finding: &mut Finding<'_>, id: &str, action: &Action) -> Result<(), GateError> {
        finding.visits += 1;
        let query = finding.query;
        let submitted = query.since_ms.unwrap_or(0)..query.until_ms.unwrap_or(u64::MAX);
        let by_record = may_see(finding.caller, action)
            && submitted.contains(&action.submitted_at_ms)
            && query.actor.as_ref().is_none_or(|actor| *actor == action.actor)
            && finding
                .decided
                .as_ref()
                .is_none_or(|ranges| ranges.iter().any(|range| range.contains(&action.decided_index)));
        if !by_record {
            return Ok(());
        }
        let control = &finding.control;
        let loaded = self.policies(control).await?;
        let status = self.status_of(finding.caller, id, action, &loaded, control, Packets::Hashed).await?;
        if selects(query, &status) {
            finding.bytes += serde_json::to_vec(&status).map_or(0, |text| text.len());
            finding.found.push(status);
        }
        Ok(())
    }

    /// The first entry that was written at this time or later. Entries are in the order of their time.
    pub(crate) async fn index_at(&self, at_ms: u64, size: u64) -> Result<u64, GateError> {
        let mut range = 0..size;
        while range.start < range.end {
            let middle = range.start + (range.end - range.start) / 2;
            let row = self.store.entries(middle, 1).await?.into_iter().find(|row| row.index == middle);
            let row = row.ok_or_else(|| GateError::Damaged(format!("entry {middle} is missing")))?;
            if time_of(&row.bytes) < at_ms {
                range.start = middle + 1;
            } else {
                range.end = middle;
            }
        }
        Ok(range.start)
    }

    /// The parts of the ledger where these policies were in force.
    async fn decided_under(&self, policy: &str, size: u64) -> Result<Vec<Range<u64>>, GateError> {
        let mut changes: Vec<(u64, bool)> = Vec::new();
        let mut mark = 0;
        loop {
            let view = self.store.marked_view(Control::KIND, CONTROL_ID, mark).await?;
            let Some(last) = view.marked.last().and_then(|row| row.mark) else { break };
            mark = last;
            for row in &view.marked {
                if let Ok(Entry { event: Event::PolicyChanged { policy_hash, .. }, .. }) =
                    serde_json::from_slice(&row.bytes)
                {
                    changes.push((row.index, policy_hash.starts_with(policy)));
                }
            }
        }
        let ends = changes.iter().skip(1).map(|(index, _)| *index).chain([size]);
        let ranges = changes.iter().zip(ends).filter(|((_, wanted), _)| *wanted);
        Ok(ranges.map(|((start, _), end)| *start..end).collect())
    }

    /// The entries about an action, in their order.
    pub(crate) async fn entries_of(&self, action_id: &str, action: &Action) -> Result<Vec<u64>, GateError> {
        let mut found = BTreeSet::new();
        let steps = action.approvals.iter().map(|approval| approval.index);
        for start in steps.chain([action.submitted_index, action.decided_index]) {
            for row in self.store.entries(start, STEP_ENTRIES_MAX as usize).await? {
                let entry = serde_json::from_slice::<Entry>(&row.bytes).ok();
                if entry.as_ref().and_then(|entry| entry.event.action_id()) != Some(action_id) {
                    break;
                }
                found.insert(row.index);
            }
        }
        let size = self.store.head().await?.size;
        let names = [Term::Action(action_id.to_owned())];
        for index in self.places(&names, action.submitted_index..size, usize::MAX).await?.found {
            let entry = self.entry(index).await?;
            if entry.is_some_and(|entry| entry.event.action_id() == Some(action_id)) {
                found.insert(index);
            }
        }
        Ok(found.into_iter().collect())
    }
}

/// Whether an action is what was asked for. Values that policies hide match nothing.
pub fn selects(query: &ActionsQuery, status: &ActionStatus) -> bool {
    let proposal = status.view.get("proposal");
    let text = |pointer: &str| proposal.and_then(|it| it.pointer(pointer)).and_then(Json::as_str);
    let is = |wanted: &Option<String>, found: Option<&str>| wanted.is_none() || wanted.as_deref() == found;
    let submitted = query.since_ms.unwrap_or(0)..query.until_ms.unwrap_or(u64::MAX);
    let by = |approver: &String| status.approvals.iter().any(|it| it.approver.as_str() == approver);
    query.state.is_none_or(|state| state == status.state)
        && submitted.contains(&status.submitted_at_ms)
        && is(&query.actor, Some(&status.actor))
        && is(&query.action_type, text("/action_type"))
        && is(&query.target, text("/target/resource_id"))
        && query.policy.as_ref().is_none_or(|hash| status.decision.policy_hash.as_str().starts_with(hash))
        && query.approver.as_ref().is_none_or(by)
}

/// Open actions are few; of the others, names lead to the fewest.
fn driver(query: &ActionsQuery) -> Driver {
    use ActionState::{Allowed, Expired, Held, Running, Unknown};
    if let Some(state @ (Held | Running | Unknown)) = query.state {
        return Driver::States(if state == Unknown { vec![Unknown, Running] } else { vec![state] });
    }
    if let Some(approver) = &query.approver {
        return Driver::Names(vec![Term::Approver(approver.clone())]);
    }
    let terms = [
        query.actor.clone().map(Term::Actor),
        query.action_type.clone().map(Term::ActionType),
        query.target.clone().map(Term::Target),
    ];
    let terms: Vec<Term> = terms.into_iter().flatten().collect();
    match query.state {
        _ if !terms.is_empty() => Driver::Names(terms),
        _ if query.policy.is_some() => Driver::Entries,
        Some(Expired) => Driver::States(vec![Expired, Held, Allowed]),
        Some(state) => Driver::States(vec![state]),
        None => Driver::Entries,
    }
}
