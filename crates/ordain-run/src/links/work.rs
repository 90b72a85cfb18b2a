//! RL11: the rounds of a work order, made again from what each of them has.

use super::folder::Folder;
use super::trial::check_outputs;
use crate::artefacts::{EVIDENCE, PATCH, RESULT, agent_file, restored_file, round_file};
use crate::verified::evidence_hash;
use crate::work::{Trees, round_verdict};
use ordain_canon::{Canonicalizer, PatchHash, PlanHash, Value};
use ordain_kernel::{KERNEL_VERSION, bundle_hash};
use ordain_spec::bundle::Bundle;
use ordain_spec::evidence::ExecutionEvidence;
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;
use ordain_spec::run::{RunResult, Verdict, WorkOrder, WorkRound, links};
use ordain_spec::{Facts, Sha256, Verified};
use std::collections::BTreeSet;

/// The files that rounds may have, and those that they must have. The output of commands is a matter of the
/// evidence.
pub(super) fn expected(work: &WorkOrder) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut required, mut allowed) = (BTreeSet::new(), BTreeSet::new());
    for (number, round) in (1..).zip(&work.rounds) {
        if round.patch_hash.is_some() && round.evidence_hash.is_some() {
            required.extend([PATCH, EVIDENCE].map(|name| round_file(number, name)));
        }
        if round.restored_evidence_hash.is_some() {
            required.insert(restored_file(number, EVIDENCE));
        }
        if !round.accepted {
            required.insert(round_file(number, "feedback.md"));
        }
        allowed.extend(["stdout.txt", "stderr.txt"].map(|name| agent_file(number, name)));
    }
    (required, allowed)
}

/// Checks all rounds, and that the result repeats the last one.
pub(super) fn check(
    folder: &mut Folder<'_>,
    result: &RunResult,
    work: &WorkOrder,
    bundle: &Verified<Bundle>,
    intent: &[u8],
) {
    if bundle_hash(bundle).is_ok_and(|hash| hash != work.bundle_hash) {
        let message = "is not the hash of bundle.json".to_owned();
        folder.wrong(links::ROUNDS, RESULT, "/work/bundle_hash", message);
    }
    let Ok(intent) = Value::read(intent) else { return };
    for (position, round) in work.rounds.iter().enumerate() {
        let mut checked = CheckedRound { folder, result, bundle, intent: &intent, position, round };
        checked.check();
    }
    let Some(last) = work.rounds.last() else { return };
    let decision = Verdict {
        accepted: last.accepted,
        reasons: last.reasons.clone(),
        validated_by_kernel: last.evidence_hash.is_some(),
    };
    super::kernel::check_verdict(folder, result, &decision);
    let hash = folder.document::<PatchSet>(PATCH, &Facts { profile: &result.policy, ..Facts::default() });
    let hash = hash.and_then(|set| patch_hash(&set));
    if last.evidence_hash.is_some() && hash != last.patch_hash {
        let message = "is not the patch set of the last round".to_owned();
        folder.wrong(links::ROUNDS, PATCH, "", message);
    }
}

fn patch_hash(set: &PatchSet) -> Option<Sha256> {
    PatchHash::of(&mut Canonicalizer::new(), set).ok().map(Into::into)
}

struct CheckedRound<'c, 'f> {
    folder: &'c mut Folder<'f>,
    result: &'c RunResult,
    bundle: &'c Verified<Bundle>,
    intent: &'c Value<'c>,
    position: usize,
    round: &'c WorkRound,
}

impl CheckedRound<'_, '_> {
    fn number(&self) -> usize {
        self.position + 1
    }

    fn wrong(&mut self, field: &str, message: &str) {
        let path = format!("/work/rounds/{}/{field}", self.position);
        self.folder.wrong(links::ROUNDS, RESULT, &path, message.to_owned());
    }

    fn check(&mut self) {
        if self.round.evidence_hash.is_none() {
            return;
        }
        let (patch, evidence) = (round_file(self.number(), PATCH), round_file(self.number(), EVIDENCE));
        let facts = Facts { profile: &self.result.policy, ..Facts::default() };
        let Some(set) = self.folder.document::<PatchSet>(&patch, &facts) else { return };
        if patch_hash(&set) != self.round.patch_hash {
            self.wrong("patch_hash", "is not the hash of the patch set of this round");
        }
        let Some(evidence) = self.evidence(&evidence, self.round.evidence_hash.as_ref(), "evidence_hash")
        else {
            return;
        };
        check_outputs(self.folder, &round_file(self.number(), ""), Some(&evidence));
        let restored = match &self.round.restored_evidence_hash {
            None => None,
            hash => {
                let file = restored_file(self.number(), EVIDENCE);
                let found = self.evidence(&file, hash.as_ref(), "restored_evidence_hash");
                check_outputs(self.folder, &restored_file(self.number(), ""), found.as_deref());
                found
            }
        };
        // Another kernel plans otherwise; that it is another one is said elsewhere.
        if self.result.kernel_version.as_str() == KERNEL_VERSION {
            self.check_verdict(&set, &evidence, restored.as_ref());
        }
    }

    fn evidence(
        &mut self,
        file: &str,
        named: Option<&Sha256>,
        field: &str,
    ) -> Option<Verified<ExecutionEvidence>> {
        let evidence = self.folder.document::<ExecutionEvidence>(file, &Facts::default())?;
        if evidence_hash(&evidence).ok().as_ref() != named {
            self.wrong(field, "is not the hash of the evidence of this round");
        }
        Some(evidence)
    }

    fn check_verdict(
        &mut self,
        set: &PatchSet,
        evidence: &Verified<ExecutionEvidence>,
        restored: Option<&Verified<ExecutionEvidence>>,
    ) {
        let trees = match Trees::of(self.bundle, self.intent, set) {
            Ok(trees) => trees,
            Err(error) => return self.wrong("patch_hash", &format!("the patch set has no plan: {error}")),
        };
        if trees.put_back.protected != self.round.protected {
            self.wrong("protected", "are not the protected files that the patch set changes");
        }
        self.about(&trees.plan, evidence, &round_file(self.number(), EVIDENCE));
        match (&trees.restored, restored) {
            (Some(plan), Some(evidence)) => {
                self.about(plan, evidence, &restored_file(self.number(), EVIDENCE));
            }
            (None, None) => {}
            _ => self.wrong(
                "restored_evidence_hash",
                "does not fit the protected files that the patch set changes",
            ),
        }
        let (accepted, reasons) = round_verdict(&trees, evidence, restored);
        // An agent that did not end well is said first, and is nothing that the files show.
        let by_agent = format!("the agent {}", self.round.agent.as_str());
        let failed = self.round.reasons.first() == Some(&by_agent) && !self.round.accepted;
        let said = self.round.reasons.get(usize::from(failed)..).unwrap_or_default();
        if said != reasons || (self.round.accepted != accepted && !failed) {
            self.wrong("reasons", "are not what follows from the evidence of this round");
        }
    }

    /// The evidence is about the plan that the kernel makes.
    fn about(&mut self, plan: &Proposal, evidence: &ExecutionEvidence, file: &str) {
        let hash = PlanHash::of(&mut Canonicalizer::new(), plan);
        if evidence.proposal_id.as_str() != plan.id
            || !hash.is_ok_and(|hash| hash.is(evidence.proposal_hash.as_str()))
        {
            let message =
                format!("is about another plan than `{}`, which the bundle and the patch set give", plan.id);
            self.folder.wrong(links::ROUNDS, file, "/proposal_id", message);
        }
    }
}
