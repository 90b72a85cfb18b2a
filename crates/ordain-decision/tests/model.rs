//! The decision kernel against the slow model of `ordain-testkit`, which was written from the contracts alone.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test may fail loudly"
)]

use ordain_canon::Value;
use ordain_decision::{Case, PolicySet, decide_text};
use ordain_spec::decision::{Decision, Outcome};
use ordain_testkit::cases::{self, CASES_PER_FOLDER};
use ordain_testkit::model::{ModelAnswer, ModelFolder, ModelReason, decide_with};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

const CASES: u64 = 10_000;
const CASES_SOAK: u64 = 1_000_000;
/// Differences that are printed before the test gives up.
const SHOWN_MAX: usize = 10;

/// `ORDAIN_SEED` looks at one case alone.
#[test]
fn the_kernel_and_the_model_agree() {
    let one = std::env::var("ORDAIN_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let soak = std::env::var_os("ORDAIN_SOAK").is_some();
    let count = if soak { CASES_SOAK } else { CASES };
    let folders = match one {
        Some(seed) => seed / CASES_PER_FOLDER..seed / CASES_PER_FOLDER + 1,
        None => 0..count / CASES_PER_FOLDER,
    };
    // Everyday tests run beside others; the soak has the machine to itself.
    let threads = if soak { std::thread::available_parallelism().map_or(1, usize::from) as u64 } else { 1 };
    let shown = AtomicUsize::new(0);
    let start = std::time::Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (folders, shown) = (folders.clone().filter(move |it| it % threads == thread), &shown);
            scope.spawn(move || compare(folders, one, shown));
        }
    });
    if soak {
        println!("{count} cases in {:.0} s, {threads} threads", start.elapsed().as_secs_f64());
    }
    assert_eq!(shown.into_inner(), 0, "differences");
}

fn compare(folders: impl Iterator<Item = u64>, one: Option<u64>, shown: &AtomicUsize) {
    for folder in folders {
        let seeds = folder * CASES_PER_FOLDER..(folder + 1) * CASES_PER_FOLDER;
        let files = cases::case(seeds.start).folder;
        match (PolicySet::load(&files), ModelFolder::read(&files)) {
            (Ok(policies), Ok(model)) => {
                for seed in seeds.filter(|seed| one.is_none_or(|one| one == *seed)) {
                    let differs = differs(seed, &policies, &model, one.is_some());
                    shown.fetch_add(usize::from(differs), Ordering::Relaxed);
                }
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(problem)) => {
                shown.fetch_add(1, Ordering::Relaxed);
                println!("folder of seed {}: the model alone refuses it: {problem:.600}", seeds.start);
            }
            (Err(problems), Ok(_)) => {
                shown.fetch_add(1, Ordering::Relaxed);
                println!("folder of seed {}: the kernel alone refuses it: {problems:?}", seeds.start);
            }
        }
        let shown = shown.load(Ordering::Relaxed);
        assert!(shown < SHOWN_MAX, "{shown} differences up to seed {}", (folder + 1) * CASES_PER_FOLDER);
    }
}

fn differs(seed: u64, policies: &PolicySet, model: &ModelFolder, always_show: bool) -> bool {
    let case = cases::case(seed);
    let given = Case {
        document: &Value::Null,
        policies,
        evidence: &case.evidence,
        approvals: &case.approvals,
        approver_keys: &case.approver_keys,
        now_ms: case.now_ms.unsigned_abs(),
        halted: case.halted,
        workspace: None,
    };
    let kernel = decide_text(&case.proposal, &given).decision;
    let model = decide_with(model, &case.input());
    let same = comparable(&kernel) == model;
    if !same || always_show {
        let answer = comparable(&kernel);
        let head =
            |it: &ModelAnswer| format!("{:?} {:?} {} {:?}", it.outcome, it.class, it.required, it.have);
        let only = |one: &ModelAnswer, other: &ModelAnswer| format!("{:?}", &one.reasons - &other.reasons);
        println!("seed {seed}\n  kernel {} only {}", head(&answer), only(&answer, &model));
        println!("  model  {} only {}", head(&model), only(&model, &answer));
        if always_show {
            case.folder.iter().for_each(|(name, text)| println!("--- {name}\n{text}"));
            println!("--- proposal\n{}", String::from_utf8_lossy(&case.proposal));
            let json = |value| serde_json::to_string(value).unwrap();
            case.evidence.iter().for_each(|packet| println!("--- evidence\n{}", json(packet)));
            case.approvals.iter().for_each(|approval| println!("--- approval\n{}", json(approval)));
            println!("--- at {} halted {}\n{kernel:#?}", case.now_ms, case.halted);
        }
    }
    !same
}

/// A decision without its messages. The nearest misses of a default deny are left out: the model does not
/// look for them.
fn comparable(decision: &Decision) -> ModelAnswer {
    let reasons: BTreeSet<ModelReason> = decision
        .reasons
        .iter()
        .filter(|it| it.rule_id != "G12" || it.policies.is_empty() || decision.outcome != Outcome::Deny)
        .map(|it| (it.rule_id.clone(), it.path.clone(), it.policies.clone()))
        .collect();
    ModelAnswer {
        outcome: decision.outcome,
        class: decision.approvals.class,
        required: decision.approvals.required,
        have: decision.approvals.have.clone(),
        reasons,
    }
}
