//! Checking a dossier offline: nothing that it says is believed but what follows from the ledger's key.

use super::effects::EffectKeys;
use super::error::GateError;
use super::judge::Inputs;
use super::ledger::note_verifier;
use super::replay::{Again, loaded_of};
use ordain_api::{DOSSIER_SCHEMA_VERSION, Dossier, Entry, Event};
use ordain_canon::{Canonicalizer, ContentHash};
use ordain_decision::{PublicKey, PublicKeys, verify_permit};
use ordain_ledger::{Checkpoint, Hash, NoteVerifier, SignedNote, verify_inclusion};
use ordain_spec::approval::Approval;
use ordain_spec::decision::{Decision, Outcome};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// The result of checking a dossier.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct DossierReport {
    /// The action.
    pub action_id: String,
    /// The ledger's name.
    pub origin: String,
    /// The number of entries that the checkpoint was signed over.
    pub size: u64,
    /// Entries that are proven to be on the ledger.
    pub entries: u64,
    /// Documents that have their hashes.
    pub documents: u64,
    /// Decisions that were made again and came out the same.
    pub decisions: u64,
    /// Verdicts whose signature was checked.
    pub signatures: u64,
    /// The parts that are not in it, and so could not be checked.
    pub withheld: Vec<String>,
    /// Everything that is wrong.
    pub problems: Vec<String>,
}

/// Checks the bytes of a dossier with the keys of its ledger.
pub fn check_dossier(bytes: &[u8], keys: &[NoteVerifier]) -> DossierReport {
    let mut report = DossierReport::default();
    let dossier: Dossier = match serde_json::from_slice(bytes) {
        Ok(dossier) => dossier,
        Err(error) => {
            report.problems.push(format!("is not a dossier: {error}"));
            return report;
        }
    };
    let mut canon = Canonicalizer::new();
    let written = canon.value(&dossier).map(|text| [text, b"\n"].concat());
    if written.ok().as_deref() != Some(bytes) {
        report.problems.push("is not written canonically, with one line feed at its end".to_owned());
    }
    if dossier.dossier_schema_version != DOSSIER_SCHEMA_VERSION {
        report.problems.push(format!("has the version `{}`", dossier.dossier_schema_version));
    }
    report.action_id.clone_from(&dossier.action_id);
    report.withheld.clone_from(&dossier.withheld);
    let mut check = Check { dossier: &dossier, entries: Vec::new(), named: BTreeSet::new(), report };
    check.tree(keys);
    check.named_documents();
    check.life();
    check.report
}

struct Check<'d> {
    dossier: &'d Dossier,
    /// Those that can be read, whether or not they are proven.
    entries: Vec<(u64, Entry)>,
    /// Hashes and digests that something in the dossier names.
    named: BTreeSet<String>,
    report: DossierReport,
}

impl Check<'_> {
    fn wrong(&mut self, problem: impl Into<String>) {
        self.report.problems.push(problem.into());
    }

    /// The checkpoint is signed, and every entry is in the tree.
    fn tree(&mut self, keys: &[NoteVerifier]) {
        let dossier = self.dossier;
        let origin = keys.first().map(NoteVerifier::name).unwrap_or_default();
        let opened =
            SignedNote::parse(&dossier.checkpoint).map_err(|error| error.to_string()).and_then(|note| {
                let head = Checkpoint::open(&note, keys, origin).map_err(|error| error.to_string())?;
                let known = note.verify(keys).map(|known| known.len()).unwrap_or_default();
                let lines = dossier.checkpoint.lines().filter(|line| line.starts_with('—')).count();
                if known != lines || note.to_string() != dossier.checkpoint {
                    return Err("it has signatures by keys that were not given".to_owned());
                }
                Ok(head)
            });
        let head = match opened {
            Ok(head) => head,
            Err(problem) => return self.wrong(format!("the checkpoint: {problem}")),
        };
        (self.report.origin, self.report.size) = (head.origin.clone(), head.size);
        let mut last = None;
        for it in &dossier.entries {
            let index = it.index;
            if last.is_some_and(|last| index <= last) {
                self.wrong(format!("entry {index} is out of order"));
            }
            last = Some(index);
            let hashes: Result<Vec<Hash>, _> = it.proof.iter().map(|hash| Hash::parse(hash)).collect();
            let leaf = Hash::of_leaf(it.entry.as_bytes());
            let proven = hashes
                .is_ok_and(|hashes| verify_inclusion(leaf, index, head.size, &hashes, head.root).is_ok());
            if proven {
                self.report.entries += 1;
            } else {
                self.wrong(format!("entry {index} is not proven to be on the ledger"));
            }
            match serde_json::from_str::<Entry>(&it.entry) {
                Ok(entry) => self.entries.push((index, entry)),
                Err(error) => self.wrong(format!("entry {index} cannot be read: {error}")),
            }
        }
    }

    /// Every document and view has its hash, and is named; what is named is there, or withheld.
    fn named_documents(&mut self) {
        let dossier = self.dossier;
        for (hash, text) in dossier.documents.iter().chain(&dossier.views) {
            if ContentHash::of(text.as_bytes()).is(hash) {
                self.report.documents += 1;
            } else {
                self.wrong(format!("{hash} is not the hash of its text"));
            }
        }
        let mut named: BTreeSet<String> = BTreeSet::new();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for (_, entry) in &self.entries {
            named.extend(entry.event.documents().into_iter().map(str::to_owned));
            match &entry.event {
                Event::Decided { inputs_document, .. } | Event::PermitSpent { inputs_document, .. } => {
                    if let Some(inputs) = self.find::<Inputs>(inputs_document) {
                        let hashes = [inputs.files_document, inputs.proposal_document].into_iter();
                        let hashes = hashes.chain(inputs.keys_document).chain(inputs.evidence_documents);
                        named.extend(hashes.chain(inputs.approval_documents).map(|hash| hash.to_string()));
                    }
                }
                Event::Approved { approval_document, .. } | Event::Rejected { approval_document, .. } => {
                    if let Some(approval) = self.find::<Approval>(approval_document) {
                        seen.insert(approval.view_digest.as_str().to_owned());
                    }
                }
                _ => {}
            }
        }
        let withheld: BTreeSet<&String> = dossier.withheld.iter().collect();
        if !dossier.withheld.is_sorted() || withheld.len() != dossier.withheld.len() {
            self.wrong("`withheld` is not sorted");
        }
        for (there, named) in [(&dossier.documents, &named), (&dossier.views, &seen)] {
            for hash in there.keys().filter(|hash| !named.contains(*hash)) {
                self.wrong(format!("{hash} is named by nothing"));
            }
            for hash in named.iter().filter(|hash| there.contains_key(*hash) == withheld.contains(hash)) {
                self.wrong(format!("{hash} is missing, or both there and withheld"));
            }
        }
        for hash in &dossier.withheld {
            if !named.contains(hash) && !seen.contains(hash) {
                self.wrong(format!("{hash} is withheld and named by nothing"));
            }
        }
        self.named = named;
    }

    fn find<T: DeserializeOwned>(&self, hash: &str) -> Option<T> {
        serde_json::from_str(self.dossier.documents.get(hash)?).ok()
    }

    /// The entries follow from each other: submitted, approved, decided, permitted, used.
    fn life(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        let mut proposal = None;
        let mut approvals: Vec<String> = Vec::new();
        let mut policies: Vec<(&str, &str)> = Vec::new();
        let mut announced: BTreeSet<&str> = BTreeSet::new();
        let (mut decided, mut minted, mut used) = (false, None, 0);
        // The effects of a rejection follow from the inputs of the decision beside it.
        let mut rejected: Option<&[String]> = None;
        for (index, entry) in &entries {
            let index = *index;
            let is_grant = matches!(entry.event, Event::Granted { .. });
            if !is_grant && entry.event.action_id().is_some_and(|id| id != self.dossier.action_id) {
                self.wrong(format!("entry {index} is about another action"));
            }
            match &entry.event {
                Event::PolicyChanged { policy_hash, files_document } => {
                    policies.push((files_document, policy_hash));
                }
                Event::EvidenceReceived { packet_document: document, .. }
                | Event::ApproverKeyEnrolled { keys_document: document, .. }
                | Event::ApproverKeyRevoked { keys_document: document, .. } => {
                    announced.insert(document);
                }
                Event::ServerPinned { pins_document: document, .. }
                | Event::ToolBlocked { pins_document: document, .. }
                | Event::ServerListed { pins_document: Some(document), .. } => {
                    announced.insert(document);
                }
                Event::Granted { grant_document, .. } => drop(announced.insert(grant_document)),
                Event::KeyRotated { .. } => {}
                Event::Submitted { proposal_document, .. } => proposal = Some(proposal_document),
                Event::Approved { approval_document, .. } | Event::Rejected { approval_document, .. } => {
                    if let Event::Rejected { effect_keys, .. } = &entry.event {
                        rejected = Some(effect_keys);
                    }
                    approvals.push(approval_document.clone());
                    self.verdict(index, entry, &entries, approval_document, proposal);
                }
                Event::Decided { decision_document, inputs_document, .. }
                | Event::PermitSpent { decision_document, inputs_document, .. } => {
                    decided = true;
                    let made = self.inputs(inputs_document, proposal, &approvals, &policies, &announced);
                    let effects = match &entry.event {
                        Event::PermitSpent { effect_keys, .. } => Some(effect_keys.as_slice()),
                        _ => rejected.take(),
                    };
                    let made = made.and_then(|inputs| {
                        self.decided(&entry.event, decision_document, &inputs, &policies, effects)
                    });
                    if let Err(problem) = made {
                        self.wrong(format!("entry {index}: {problem}"));
                    }
                    if let Event::PermitSpent { permit_id, number, .. } = &entry.event {
                        used += 1;
                        if minted != Some(permit_id) || *number != used {
                            self.wrong(format!("entry {index} uses a permit out of turn"));
                        }
                    }
                }
                Event::PermitMinted { permit_id, permit_document, key_id, .. } => {
                    minted = Some(permit_id);
                    if let Err(problem) = self.permit(&entries, permit_id, permit_document, key_id, proposal)
                    {
                        self.wrong(format!("entry {index}: {problem}"));
                    }
                }
                Event::PermitSettled { permit_id, number, .. } => {
                    if minted != Some(permit_id) || *number > used {
                        self.wrong(format!("entry {index} settles a use that no entry spends"));
                    }
                }
                Event::Superseded { .. }
                | Event::Expired { .. }
                | Event::Observed { .. }
                | Event::Applied { .. }
                | Event::Undone { .. } => {}
                _ => self.wrong(format!("entry {index} does not belong to the action")),
            }
        }
        self.steps(&entries);
        if proposal.is_none() || !decided {
            self.wrong("the entries do not submit and decide the action");
        }
    }

    /// A proposal and a verdict are decided at once, and a permit follows an ALLOW: none of these entries is left out.
    fn steps(&mut self, entries: &[(u64, Entry)]) {
        let at = |index: Option<u64>| {
            entries.iter().find(|(at, _)| Some(*at) == index).map(|(_, entry)| &entry.event)
        };
        for (index, entry) in entries {
            let whole = match &entry.event {
                Event::Submitted { .. } | Event::Approved { .. } | Event::Rejected { .. } => {
                    matches!(at(index.checked_add(1)), Some(Event::Decided { .. }))
                }
                Event::PermitMinted { .. } => {
                    let allow = Outcome::Allow;
                    matches!(at(index.checked_sub(1)), Some(Event::Decided { outcome, .. }) if *outcome == allow)
                }
                _ => true,
            };
            if !whole {
                self.wrong(format!("the decision beside entry {index} is missing"));
            }
        }
    }

    /// The inputs of a decision are what the entries before it say.
    fn inputs(
        &self,
        document: &str,
        proposal: Option<&String>,
        approvals: &[String],
        policies: &[(&str, &str)],
        announced: &BTreeSet<&str>,
    ) -> Result<Inputs, String> {
        let inputs: Inputs = self.find(document).ok_or("the inputs of the decision cannot be read")?;
        let given: Vec<String> = inputs.approval_documents.iter().map(ToString::to_string).collect();
        if proposal.is_none_or(|proposal| !inputs.proposal_document.is(proposal)) {
            return Err("decides on another proposal than was submitted".to_owned());
        }
        if given != approvals {
            return Err("decides by other approvals than were given".to_owned());
        }
        if policies.last().is_none_or(|(files, _)| !inputs.files_document.is(files)) {
            return Err("decides by policies that no entry before it puts in force".to_owned());
        }
        let grant = inputs.grant.as_ref().map(|grant| &grant.grant_document);
        let rests_on = inputs.evidence_documents.iter().chain(&inputs.keys_document);
        let mut rests_on = rests_on.chain(&inputs.pins_document).chain(grant);
        if rests_on.any(|hash| !announced.contains(hash.to_string().as_str())) {
            return Err(
                "decides by evidence, keys, pins or a grant that no entry before it announces".to_owned()
            );
        }
        Ok(inputs)
    }

    /// The decision is the one that its inputs lead to, and the effects beside it are those of its proposal.
    fn decided(
        &mut self,
        event: &Event,
        document: &str,
        inputs: &Inputs,
        policies: &[(&str, &str)],
        effects: Option<&[String]>,
    ) -> Result<(), String> {
        let decision: Decision = self.find(document).ok_or("the decision cannot be read")?;
        if let Event::Decided { outcome, .. } = event
            && decision.outcome != *outcome
        {
            return Err("has another outcome than its document".to_owned());
        }
        if policies.last().is_none_or(|(_, hash)| decision.policy_hash.as_str() != *hash) {
            return Err("is decided under other policies than its entries name".to_owned());
        }
        let dossier = self.dossier;
        let is_there = |hash: &ContentHash| dossier.documents.contains_key(&hash.to_string());
        let rests_on = [inputs.proposal_document, inputs.files_document].into_iter();
        let grant = inputs.grant.as_ref().map(|grant| grant.grant_document);
        let rests_on = rests_on.chain(inputs.keys_document).chain(grant);
        let mut rests_on =
            rests_on.chain(inputs.evidence_documents.clone()).chain(inputs.approval_documents.clone());
        if !rests_on.all(|hash| is_there(&hash)) {
            // It is among what is withheld, which the report says.
            return Ok(());
        }
        let find = |hash: &ContentHash| -> Result<Vec<u8>, GateError> {
            Ok(dossier
                .documents
                .get(&hash.to_string())
                .map(|text| text.clone().into_bytes())
                .unwrap_or_default())
        };
        let again = find(&inputs.files_document).and_then(|files| {
            let loaded = loaded_of(inputs.files_document, &files)?;
            if loaded.set.hash().to_string() != decision.policy_hash.as_str() {
                let problem = "this version of ordain reads the policies otherwise than the one that decided";
                return Err(GateError::Unavailable(problem.to_owned()));
            }
            let again = Again::of(inputs, find)?;
            Ok((again.decide(&loaded, inputs)?, EffectKeys::by_inputs(&loaded, inputs, &again.proposal)))
        });
        match again {
            Ok((_, Some(keys))) if effects.is_some_and(|effects| keys.texts() != effects) => {
                return Err("names other effects than its proposal has".to_owned());
            }
            Ok((now, _)) if now.decision_document.is(document) => self.report.decisions += 1,
            Ok((now, _)) => {
                return Err(format!("comes out as {} when it is decided again", now.decision.outcome.name()));
            }
            Err(GateError::Unavailable(problem)) => {
                self.report.withheld.push(format!("{document}: {problem}"))
            }
            Err(error) => return Err(format!("cannot be decided again: {error}")),
        }
        Ok(())
    }

    /// A verdict is about this proposal, by who caused the entry, and signed if it says so.
    fn verdict(
        &mut self,
        index: u64,
        entry: &Entry,
        entries: &[(u64, Entry)],
        document: &str,
        proposal: Option<&String>,
    ) {
        let Some(approval) = self.find::<Approval>(document) else {
            return self.wrong(format!("entry {index}: the verdict cannot be read"));
        };
        if proposal.is_none_or(|proposal| approval.proposal_hash.as_str() != proposal) {
            self.wrong(format!("entry {index}: the verdict is about another proposal"));
        }
        if approval.approver.as_str() != entry.by {
            self.wrong(format!("entry {index}: the verdict is by somebody else"));
        }
        let shown = self.dossier.views.get(approval.view_digest.as_str());
        let view = shown.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
        let fits = |view: &serde_json::Value| {
            view.get("action_id").and_then(|it| it.as_str()) == Some(&self.dossier.action_id)
                && view.get("proposal_hash").and_then(|it| it.as_str()) == proposal.map(String::as_str)
        };
        if view.is_some_and(|view| !fits(&view)) {
            self.wrong(format!("entry {index}: what was shown is not about this action"));
        }
        let signed = match (approval.signed(), entry.signed.first()) {
            (None, None) => return,
            (Some(Ok(signed)), Some(on_entry)) if signed == *on_entry => signed,
            _ => {
                return self
                    .wrong(format!("entry {index}: another statement was signed than the verdict says"));
            }
        };
        let key = entries.iter().find_map(|(at, entry)| match &entry.event {
            Event::ApproverKeyEnrolled { key_id, principal, public_key, passkey, .. }
                if *key_id == signed.key_id && principal == approval.approver.as_str() && *at < index =>
            {
                Some((public_key, passkey.as_deref()))
            }
            _ => None,
        });
        match key.map(|(key, passkey)| signed.verify(key, passkey)) {
            Some(Ok(_)) => self.report.signatures += 1,
            Some(Err(error)) => self.wrong(format!("entry {index}: the signature of the verdict: {error}")),
            None => self.wrong(format!("entry {index}: the key of the verdict is not enrolled")),
        }
    }

    /// The permit is signed by a key of the ledger, and is for this proposal.
    fn permit(
        &self,
        entries: &[(u64, Entry)],
        id: &str,
        document: &str,
        key: &str,
        proposal: Option<&String>,
    ) -> Result<(), String> {
        let announced = entries.iter().find_map(|(_, entry)| match &entry.event {
            Event::KeyRotated { key_id, public_key, .. } if key_id == key => Some(public_key),
            _ => None,
        });
        let announced = announced.ok_or("no entry announces the key of the permit")?;
        if note_verifier(&self.report.origin, announced).is_none() {
            return Err("the key of the permit cannot be read".to_owned());
        }
        let Some(token) = self.dossier.documents.get(document) else { return Ok(()) };
        let public = PublicKey::parse(announced).map_err(|error| error.to_string())?;
        let keys = PublicKeys::from([(public.id(), public)]);
        let minted = super::permits::Minted::of(token.clone()).ok_or("the permit cannot be read")?;
        let at_ms = minted.claims.window_ms().map_err(|error| error.to_string())?.0;
        let claims =
            verify_permit(token, &keys, &minted.claims.aud, at_ms).map_err(|error| error.to_string())?;
        let fits = claims.jti == id && proposal == Some(&claims.proposal_hash);
        if fits { Ok(()) } else { Err("the permit is for something else".to_owned()) }
    }
}
