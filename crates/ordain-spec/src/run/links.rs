//! RL1–RL11: what must hold between the files of a run's folder. Checking it takes the files and the kernel.

use crate::rule::RuleId;

/// A link between files.
pub struct Link {
    /// Its name.
    pub id: RuleId,
    /// The statement that holds in a folder that is whole.
    pub title: &'static str,
    /// The reason for the rule.
    pub about: &'static str,
}

/// The folder has exactly the files that its result implies.
pub const FILES: RuleId = RuleId::Link(1);
/// The folder has the name of its run.
pub const NAME: RuleId = RuleId::Link(2);
/// The run started with the document that the result names.
pub const ORIGIN: RuleId = RuleId::Link(3);
/// The bundle is what the kernel makes of it.
pub const BUNDLE: RuleId = RuleId::Link(4);
/// The plan is what the kernel makes of it.
pub const PLAN: RuleId = RuleId::Link(5);
/// The patch set is that of the plan.
pub const PATCH: RuleId = RuleId::Link(6);
/// The base has the paths of the patch set.
pub const BASE: RuleId = RuleId::Link(7);
/// The evidence is about this plan and this run.
pub const EVIDENCE: RuleId = RuleId::Link(8);
/// The verdict follows.
pub const VERDICT: RuleId = RuleId::Link(9);
/// Outputs are as the evidence says.
pub const OUTPUT: RuleId = RuleId::Link(10);

/// Each round of a work order is what the result says.
pub const ROUNDS: RuleId = RuleId::Link(11);

/// All links.
#[rustfmt::skip]
pub static LINKS: &[Link] = &[
    Link {
        id: FILES,
        title: "the folder has the files that its result implies, in canonical form, and no others",
        about: "A file that is missing cannot be checked, and one more could be taken for a part of the run. Documents are in canonical\nform without a line feed, so that the hash of a file is the hash of the document.",
    },
    Link {
        id: NAME,
        title: "the folder and the run have one name, which begins with the time of its start",
        about: "A run that is shown under another name, or is said to have started at another time, is another run.",
    },
    Link {
        id: ORIGIN,
        title: "the intent, or what was brought instead, is the one that the result names",
        about: "The result names the intent, the plan or the patch set by its hash. If it is exchanged afterwards, the verdict is\nabout something else.",
    },
    Link {
        id: BUNDLE,
        title: "the bundle is the one that the result names and the kernel makes",
        about: "The kernel makes the bundle of the intent again, or of the patch set that was brought, and compares: the same input gives\nthe same bytes. The briefs are those of the bundle. A run of another kernel version is not made again, and a warning says so.",
    },
    Link {
        id: PLAN,
        title: "the plan is the one that was brought or that the kernel makes",
        about: "The kernel makes the plan again from the bundle, the intent and the base, or from the patch set that was brought. So a\ncommand or a test that was taken out of it is found.",
    },
    Link {
        id: PATCH,
        title: "the patch set is the one that was brought or that the plan gives",
        about: "The files that were tried must be the files that will be applied. `ordain verify PATCH --plan PLAN` checks this for two\nfiles alone.",
    },
    Link {
        id: BASE,
        title: "the base has exactly the paths that the patch set is about",
        about: "By the base an apply knows whether somebody edited a file since the run. A changed base would let it overwrite that edit.\nTargets that could not be looked at are not in it; then their actions did not succeed. The evidence names the base.",
    },
    Link {
        id: EVIDENCE,
        title: "the evidence is about this plan, was made in this run, and has the hash that the result names",
        about: "Evidence of another plan, under another policy, by another kernel or from another time says nothing about this run.",
    },
    Link {
        id: VERDICT,
        title: "the verdict is the one that follows from the other files",
        about: "Whether it is accepted and why is worked out again from the plan and the evidence; questions and a refusal from the\nintent. Nothing is believed because the result says so.",
    },
    Link {
        id: OUTPUT,
        title: "the output of commands has the hashes that the evidence names",
        about: "People read the output to learn why something failed. It must be what the command really wrote, as far as it was kept.",
    },
    Link {
        id: ROUNDS,
        title: "each round of a work order has the patch set, the evidence and the verdict that the result names",
        about: "The protected files are those that the result names. The plans of both trees are made again from the bundle, the intent and the patch set of each round, and the verdict from the\nevidence. So criteria that were taken out, a protected file that was not put back, or a round that was left out is found.",
    },
];
