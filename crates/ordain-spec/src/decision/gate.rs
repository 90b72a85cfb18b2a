//! G1–G18: the rules of the gate, beyond those of a proposal and its evidence. The decision kernel checks them.

use crate::rule::RuleId;

/// The effect of a reason on the outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// It denies.
    Denies,
    /// It makes the proposal wait for approvals.
    Waits,
    /// It only says something.
    Tells,
}

/// A rule of the gate.
pub struct Gate {
    /// Its name.
    pub id: RuleId,
    /// The statement that holds when the rule is kept.
    pub title: &'static str,
    /// The reason for the rule, and the remedy when it is broken.
    pub about: &'static str,
}

impl Gate {
    /// The effect of a reason with this rule on the outcome, as the end of "it …".
    pub fn effect(&self) -> &'static str {
        let name = self.id.name();
        match (weight(&name, false), weight(&name, true)) {
            (Weight::Waits, _) => "waits",
            (Weight::Tells, _) => "tells",
            (Weight::Denies, Weight::Denies) => "denies",
            (Weight::Denies, _) => "denies, or tells with an ALLOW or a HOLD",
        }
    }
}

/// Nobody has halted the gate.
pub const HALT: RuleId = RuleId::Gate(1);
/// A KernelRequest maps to an action.
pub const MAPPED: RuleId = RuleId::Gate(2);
/// Names are what they look like.
pub const NAMES: RuleId = RuleId::Gate(3);
/// Required evidence is there.
pub const EVIDENCE: RuleId = RuleId::Gate(4);
/// Preconditions hold.
pub const PRECONDITION: RuleId = RuleId::Gate(5);
/// Effects are within the envelope.
pub const EFFECTS: RuleId = RuleId::Gate(6);
/// There is a way back.
pub const ROLLBACK: RuleId = RuleId::Gate(7);
/// Values that policies read have their types.
pub const TYPES: RuleId = RuleId::Gate(8);
/// A patch set can be judged.
pub const OPERATIONS: RuleId = RuleId::Gate(9);
/// No policy forbids.
pub const FORBID: RuleId = RuleId::Gate(10);
/// Policies can be evaluated.
pub const EVALUATION: RuleId = RuleId::Gate(11);
/// A policy permits.
pub const PERMIT: RuleId = RuleId::Gate(12);
/// Nobody rejected.
pub const REJECTED: RuleId = RuleId::Gate(13);
/// Enough people approved.
pub const APPROVALS: RuleId = RuleId::Gate(14);
/// Why an approval does not count.
pub const NOT_COUNTED: RuleId = RuleId::Gate(15);
/// An owner takes back what their agent changed.
pub const OWN_UNDO: RuleId = RuleId::Gate(16);
/// A tool of an MCP server is the approved one.
pub const PINNED: RuleId = RuleId::Gate(17);
/// A standing grant stands in for approvals.
pub const STANDING: RuleId = RuleId::Gate(18);

/// All of them.
#[rustfmt::skip]
pub static GATES: &[Gate] = &[
    Gate { id: HALT, title: "no operator has halted the gate", about: "A halt stops everything until an operator lifts it. Ask the operators; nothing about the proposal needs to change." },
    Gate { id: MAPPED, title: "a KernelRequest names a tool that the policy maps to an action", about: "Only the policy's `tools.toml` knows what a tool does and to what. Map the tool there, or send an action proposal. A\nparameter inside a longer text of the target, as in `contact-{id}`, has no `/`, `?`, `:` or the like, no blank and no\ninvisible character: it could lead elsewhere." },
    Gate { id: NAMES, title: "the actor, the domain and the resource type are what they look like", about: "A name that differs from a known one only in case, in an invisible character or by a look-alike letter would pass by a\npolicy about the known one. Use the known name, or one that cannot be taken for it." },
    Gate { id: EVIDENCE, title: "required evidence was given, once", about: "A binding that is required has its packet. Evidence that is not given does not exist." },
    Gate { id: PRECONDITION, title: "every precondition holds", about: "A missing field and a comparison of two types are false: absence proves nothing. No precondition is compared\nif there are more than 64." },
    Gate { id: EFFECTS, title: "the declared effects of the action are within the risk envelope", about: "The policy says which side effects an action has. Each must be in `allowed_side_effects` and in no `forbidden_effects`;\nwithout an envelope none is allowed." },
    Gate { id: ROLLBACK, title: "an action that must be reversible has a way back", about: "`reversible_required` needs `rollback_semantics` with a strategy other than `none`, or a `rollback` for this action in the\npolicy's `effects.toml`." },
    Gate { id: TYPES, title: "the parameters and constraints that the policy declares have their types", about: "Policies can only be trusted with values of the type they were checked for. Cedar has no floating point numbers: a\nnumber is a `Long` or a `decimal` with four decimals, and what fits neither is refused." },
    Gate { id: OPERATIONS, title: "a patch set lists its operations, and a file of the workspace is named by a plain path", about: "A patch set is judged by its strictest path, so each operation must name what it does and to which path. A path in another\nform, such as `./a`, `/a`, one with an invisible character or in decomposed Unicode, could be a protected one in disguise." },
    Gate { id: FORBID, title: "no policy forbids it", about: "A `forbid` wins over every `permit`. The reason names it." },
    Gate { id: EVALUATION, title: "every policy can be evaluated", about: "Cedar leaves out a policy that fails. Here it denies, because a `forbid` that cannot be evaluated must not become\npermission." },
    Gate { id: PERMIT, title: "a policy permits it", about: "An action that no policy permits is denied. The reasons name the policies that come closest and what is missing. With an\nALLOW or a HOLD they name the policies that permit." },
    Gate { id: REJECTED, title: "nobody who may approve has rejected it", about: "One rejection by an eligible approver is enough. Change the proposal: a new one has a new hash and starts anew." },
    Gate { id: APPROVALS, title: "enough people have approved", about: "The reasons name how many are missing and who can give them, what policies ask for included. With nothing else wrong the\nproposal is held." },
    Gate { id: NOT_COUNTED, title: "every approval that was given counts", about: "Says why an approval was not counted: for another proposal, too old, by the actor, by the same person twice, by somebody\nwho may not." },
    Gate { id: OWN_UNDO, title: "an owner takes back what their agent changed", about: "The person who answers for an agent undoes its changes of files with their own authority: with a signature of an\nowner's key, or as the OS user of a gate that nobody owns. Policies are not asked. The paths are among those that the change touched." },
    Gate { id: PINNED, title: "a tool of an MCP server is the one that an owner approved", about: "A call through `ordain mcp gateway` names the definition of its tool that the client was shown, and the command that started\nthe server. `mcp.toml` of the policies says whether they must be the approved ones; `ordain mcp diff` shows the difference, and\n`ordain mcp approve` approves. A blocked tool is denied in any case." },
    Gate { id: STANDING, title: "a standing grant stands in for the approvals", about: "With an ALLOW, the people who approved the same deed before also signed that it may be repeated: the reason names the grant\nand which of its uses this is. With a HOLD it says why a grant does not count: its time or its uses are over, the permit has\nanother text, or a key or an approver is gone. Then the action waits as ever." },
];

/// The effect of a reason with this rule on an outcome. With an ALLOW or a HOLD, [`PERMIT`] only informs.
pub fn weight(rule_id: &str, permitted: bool) -> Weight {
    let is = |id: RuleId| id.name() == rule_id;
    if is(APPROVALS) {
        Weight::Waits
    } else if is(NOT_COUNTED) || is(OWN_UNDO) || is(STANDING) || is(PERMIT) && permitted {
        Weight::Tells
    } else {
        Weight::Denies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_reads_as_statements() {
        for (number, gate) in (1..).zip(GATES) {
            assert_eq!(gate.id, RuleId::Gate(number));
            assert!(gate.title.split(' ').count() >= 3 && !gate.title.ends_with('.'), "{}", gate.title);
            assert!(gate.about.ends_with('.'), "{}", gate.about);
        }
        assert_eq!(GATES.len(), 18);
    }

    #[test]
    fn five_rules_do_not_simply_deny() {
        let others: Vec<_> = GATES.iter().filter(|gate| gate.effect() != "denies").collect();
        let others: Vec<_> = others.iter().map(|gate| (gate.id, gate.effect())).collect();
        let expected = [
            (PERMIT, "denies, or tells with an ALLOW or a HOLD"),
            (APPROVALS, "waits"),
            (NOT_COUNTED, "tells"),
            (OWN_UNDO, "tells"),
            (STANDING, "tells"),
        ];
        assert_eq!(others, expected);
    }
}
