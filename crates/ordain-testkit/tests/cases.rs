//! The generated cases are a healthy mix, and every rule of the gate and of evidence is reached.

use ordain_testkit::cases::{CASES_PER_FOLDER, case};
use ordain_testkit::model::{ModelFolder, decide_with};
use std::collections::BTreeMap;

const CASES: u64 = 5_000;

#[test]
fn every_outcome_and_every_rule_is_reached() {
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut rules: BTreeMap<String, u64> = BTreeMap::new();
    let mut folder: Option<(u64, Result<ModelFolder, String>)> = None;
    for seed in 0..CASES {
        let case = case(seed);
        if folder.as_ref().is_none_or(|(number, _)| *number != case.folder_number) {
            folder = Some((case.folder_number, ModelFolder::read(&case.folder)));
        }
        match &folder {
            Some((_, Ok(folder))) => {
                let answer = decide_with(folder, &case.input());
                *outcomes.entry(answer.outcome.name()).or_default() += 1;
                for (rule, ..) in answer.reasons {
                    let key = if rule == "G12" { format!("{rule} {}", answer.outcome.name()) } else { rule };
                    *rules.entry(key).or_default() += 1;
                }
            }
            Some((number, Err(problem))) => {
                if !case.folder.contains_key("spoilt.cedar") && seed % CASES_PER_FOLDER == 0 {
                    println!("folder {number}: {problem:.300}");
                }
                *outcomes.entry("refused folder").or_default() += 1;
            }
            None => {}
        }
    }
    println!("{outcomes:#?}\n{rules:#?}");
    for outcome in ["ALLOW", "HOLD", "DENY"] {
        assert!(outcomes.get(outcome).is_some_and(|count| *count > CASES / 10), "{outcome}: {outcomes:?}");
    }
    assert!(outcomes.get("refused folder").is_some_and(|count| *count < CASES / 10), "{outcomes:?}");
    let evidence = [1, 2, 3, 4, 5, 6, 10, 11, 12, 20, 21].map(|number| format!("V-EVID-{number:03}"));
    let gate = (1..=15).filter(|number| *number != 12).map(|number| format!("G{number}"));
    let proposal =
        [0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 14, 15, 16].map(|number| format!("V-PROP-{number:03}"));
    let others = ["PARSE", "G12 ALLOW", "G12 HOLD", "G12 DENY"].map(str::to_owned);
    for rule in evidence.into_iter().chain(gate).chain(proposal).chain(others) {
        // A packet without an id is one that nothing refers to.
        assert!(rules.contains_key(&rule) || rule == "V-EVID-001", "{rule} is never broken");
    }
}
