//! RL1–RL10: what must hold between the files of a run's folder. Whoever can read them and ask the kernel checks it.

use crate::rule::RuleId;

/// A link between files.
pub struct Link {
    /// Its name.
    pub id: RuleId,
    /// What holds in a folder that is whole, as a statement.
    pub title: &'static str,
}

/// The folder has exactly the files that its result implies.
pub const FILES: RuleId = RuleId::Link(1);
/// The folder has the name of its run.
pub const NAME: RuleId = RuleId::Link(2);
/// What the run started with is what the result names.
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

/// All links.
#[rustfmt::skip]
pub static LINKS: &[Link] = &[
    Link { id: FILES, title: "the folder has the files that its result implies, in canonical form, and no others" },
    Link { id: NAME, title: "the folder and the run have one name, which begins with the time of its start" },
    Link { id: ORIGIN, title: "the intent, or what was brought instead, is the one that the result names" },
    Link { id: BUNDLE, title: "the bundle is the one that the result names and the kernel makes" },
    Link { id: PLAN, title: "the plan is the one that was brought or that the kernel makes" },
    Link { id: PATCH, title: "the patch set is the one that was brought or that the plan gives" },
    Link { id: BASE, title: "the base has exactly the paths that the patch set is about" },
    Link { id: EVIDENCE, title: "the evidence is about this plan, was made in this run, and has the hash that the result names" },
    Link { id: VERDICT, title: "the verdict is the one that follows from the other files" },
    Link { id: OUTPUT, title: "what commands wrote has the hashes that the evidence names" },
];
