//! Which approvals count (G13, G15), and what is asked of them (V-PROP-014, G14).

use super::folder::{ModelFolder, ModelPolicy};
use ordain_canon::Value;
use ordain_spec::action::ApprovalClass;
use ordain_spec::approval::{Approval, Verdict};
use ordain_spec::statement::{ApproverKeys, Assurance, NO_KEYS};
use ordain_spec::{Facts, Kind, verify_value};
use std::collections::{BTreeMap, BTreeSet};

const FUTURE_MS_MAX: i64 = 5_000;
const AGE_MS_MAX: i64 = 24 * 60 * 60 * 1_000;

/// The proposal and time that an approval must fit.
pub(super) struct Eligible<'f> {
    pub(super) folder: &'f ModelFolder,
    pub(super) proposal_hash: String,
    pub(super) actor_person: String,
    /// Ids of actors.
    pub(super) in_scope: BTreeSet<String>,
    /// The least that the permits in scope ask of each approver: an assurance, and a number of approvals.
    pub(super) asked: BTreeMap<String, (Assurance, u64)>,
    /// Whether each of the documents that are there is valid. A signature is slow to check, and they are
    /// counted many times.
    pub(super) valid: Vec<bool>,
    pub(super) now_ms: i64,
    /// So many of the documents are there; those after them are imagined, as good as they can be.
    pub(super) given: usize,
}

/// The approvals of a proposal.
#[derive(Default)]
pub(super) struct Counted {
    /// Ids, in the order in which they count.
    pub(super) approvers: Vec<String>,
    /// How sure it is of each that they approved.
    pub(super) persons: BTreeMap<String, Assurance>,
    pub(super) rejected: bool,
    /// Whether a document was ignored.
    pub(super) ignored: bool,
}

impl Eligible<'_> {
    pub(super) fn count(&self, documents: &[Value<'_>]) -> Counted {
        let mut counted = Counted::default();
        let mut approvals: Vec<(Approval, bool)> = Vec::new();
        for (index, document) in documents.iter().enumerate() {
            let valid = self.valid.get(index).copied().unwrap_or_else(|| is_valid(document, &NO_KEYS));
            match self.eligible(document).filter(|_| valid) {
                None => counted.ignored = true,
                Some(approval) if approval.verdict == Verdict::Reject => counted.rejected = true,
                Some(approval) => approvals.push((approval, index >= self.given)),
            }
        }
        approvals.sort_by_key(|(approval, _)| (approval.at_ms, approval.approver.as_str().to_owned()));
        for (approval, imagined) in approvals {
            let at_ms = i64::try_from(approval.at_ms).unwrap_or(i64::MAX);
            let id = approval.approver.as_str();
            let timely = at_ms <= self.now_ms + FUTURE_MS_MAX && at_ms >= self.now_ms - AGE_MS_MAX;
            let assurance = if imagined { Assurance::Presence } else { approval.assurance() };
            let signed = matches!(assurance, Assurance::Recent | Assurance::Presence);
            let person = self.folder.person(id);
            let owner = !signed && self.folder.owns(person, &self.actor_person);
            let (least, number) = self.asked.get(id).copied().unwrap_or((Assurance::Local, 1));
            let fits = timely && !owner && suffices(assurance, least, number);
            // The same person again counts only if it is surer this time.
            match counted.persons.get(person) {
                None if fits => {}
                Some(before) if fits && rank_of(*before) < rank_of(assurance) => {
                    counted.approvers.retain(|other| self.folder.person(other) != person);
                }
                _ => {
                    counted.ignored = true;
                    continue;
                }
            }
            counted.persons.insert(person.to_owned(), assurance);
            counted.approvers.push(id.to_owned());
        }
        counted
    }

    /// 1 to 5 of the contract.
    fn eligible(&self, document: &Value<'_>) -> Option<Approval> {
        let approval: Approval = document.to_typed().ok()?;
        let id = approval.approver.as_str();
        let eligible = approval.proposal_hash.as_str() == self.proposal_hash
            && self.folder.people.contains_key(id)
            && self.in_scope.contains(id)
            && self.folder.person(id) != self.actor_person;
        eligible.then_some(approval)
    }
}

/// Whether a document is an approval that its rules let pass.
pub(super) fn is_valid(document: &Value<'_>, keys: &ApproverKeys) -> bool {
    let facts = Facts { approver_keys: Some(keys), ..Facts::default() };
    verify_value(Kind::Approval, &facts, document).ok()
}

/// So many approvals from these people.
pub(super) struct Demand {
    /// The permit that makes it; without one it is the proposal's own.
    pub(super) permit: Option<String>,
    pub(super) number: u64,
    pub(super) assurance: Assurance,
    pub(super) people: BTreeSet<String>,
}

/// The order that the contract gives them.
fn rank_of(assurance: Assurance) -> u8 {
    match assurance {
        Assurance::Local => 0,
        Assurance::Login => 1,
        Assurance::Recent => 2,
        Assurance::Presence => 3,
    }
}

/// Whether an approval is sure enough. A recent signature counts only where no other approval is asked for.
fn suffices(given: Assurance, least: Assurance, number: u64) -> bool {
    rank_of(given) >= rank_of(least) && !(given == Assurance::Recent && number > 1)
}

impl Demand {
    pub(super) fn met_by(&self, persons: &BTreeMap<String, Assurance>) -> bool {
        let given = self.people.iter().filter_map(|person| persons.get(person));
        at_least(given.filter(|given| suffices(**given, self.assurance, self.number)).count(), self.number)
    }

    /// Whether somebody approved, and not surely enough for this.
    pub(super) fn finds_weak(&self, persons: &BTreeMap<String, Assurance>) -> bool {
        let mut given = self.people.iter().filter_map(|person| persons.get(person));
        given.any(|given| !suffices(*given, self.assurance, self.number))
    }

    pub(super) fn possible(&self) -> bool {
        at_least(self.people.len(), self.number)
    }
}

fn at_least(count: usize, number: u64) -> bool {
    u64::try_from(count).unwrap_or_default() >= number
}

/// The demands of the matching permits and of the proposal together.
pub(super) struct Demands {
    pub(super) all: Vec<Demand>,
    pub(super) class: ApprovalClass,
    pub(super) required: u64,
    /// The proposal says `threshold`, and no permit says how many.
    pub(super) threshold_unknown: bool,
}

/// The number that a class alone implies.
pub(super) fn own_number(class: ApprovalClass) -> u64 {
    match class {
        ApprovalClass::None | ApprovalClass::Threshold => 0,
        ApprovalClass::Single => 1,
        ApprovalClass::Dual => 2,
    }
}

fn rank(class: ApprovalClass) -> u8 {
    match class {
        ApprovalClass::None => 0,
        ApprovalClass::Single => 1,
        ApprovalClass::Dual => 2,
        ApprovalClass::Threshold => 3,
    }
}

pub(super) fn demands(eligible: &Eligible<'_>, permits: &[&ModelPolicy], own: ApprovalClass) -> Demands {
    if permits.is_empty() {
        return Demands { all: Vec::new(), class: own, required: own_number(own), threshold_unknown: false };
    }
    let people = |policy: &&ModelPolicy| {
        let persons = policy.approvers.iter().map(|id| eligible.folder.person(id).to_owned());
        persons.filter(|person| *person != eligible.actor_person).collect::<BTreeSet<String>>()
    };
    let mut all = Vec::new();
    for policy in permits.iter().filter(|policy| policy.demand > 0) {
        all.push(Demand {
            permit: Some(policy.id.clone()),
            number: policy.demand,
            assurance: policy.assurance,
            people: people(policy),
        });
    }
    let thresholds = permits.iter().filter(|policy| policy.class == ApprovalClass::Threshold);
    let largest = thresholds.map(|policy| policy.demand).max();
    let number = match own {
        ApprovalClass::Threshold => largest.unwrap_or_default(),
        other => own_number(other),
    };
    if number > 0 && permits.iter().all(|policy| policy.demand < number) {
        let strictest = permits.iter().map(|policy| policy.assurance).max_by_key(|it| rank_of(*it));
        all.push(Demand {
            permit: None,
            number,
            assurance: strictest.unwrap_or(Assurance::Local),
            people: permits.iter().flat_map(people).collect(),
        });
    }
    let classes = permits.iter().map(|policy| policy.class).chain([own]);
    Demands {
        class: classes.max_by_key(|class| rank(*class)).unwrap_or(own),
        required: all.iter().map(|demand| demand.number).max().unwrap_or_default(),
        threshold_unknown: own == ApprovalClass::Threshold && largest.is_none(),
        all,
    }
}
