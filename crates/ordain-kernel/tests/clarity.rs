//! How well the transform tells unclear requests from clear ones, on labelled requests. The figures are those of
//! `docs/benchmarks.md`; a rule that makes them worse fails here.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail loudly")]
#![allow(clippy::disallowed_methods, reason = "a test reads its data")]

use ordain_canon::Value;
use ordain_kernel::{Transformed, transform};
use serde_json::{Value as Json, json};

struct Judged {
    unclear: bool,
    score: u8,
    asks: bool,
}

fn judged(set: &str) -> Vec<Judged> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/clarify");
    let mut judged = Vec::new();
    for file in ["dev.jsonl", "own.jsonl", "stories.jsonl", "stubs.jsonl"] {
        for line in std::fs::read_to_string(folder.join(file)).unwrap().lines() {
            let item: Json = serde_json::from_str(line).unwrap();
            if item["set"] == set && item["part"] != "sealed" {
                let goal: String = item["goal"].as_str().unwrap().chars().take(10_000).collect();
                let text = json!({"goal": goal}).to_string();
                let made = transform(&Value::read(text.as_bytes()).unwrap(), text.len());
                judged.push(Judged {
                    unclear: item["unclear"] == 1,
                    score: made.bundle().unwrap().root_node.entropy.entropy_score,
                    asks: matches!(made, Transformed::Clarify(_)),
                });
            }
        }
    }
    judged
}

/// How often an unclear request scores above a clear one; ties are half. Every pair is looked at: slow and obvious.
fn auc(judged: &[Judged]) -> f64 {
    let of = |unclear: bool| judged.iter().filter(move |it| it.unclear == unclear).map(|it| it.score);
    let pairs = of(true).flat_map(|high| of(false).map(move |low| (high, low)));
    let (mut won, mut count) = (0.0, 0.0);
    for (high, low) in pairs {
        won += if high > low {
            1.0
        } else if high == low {
            0.5
        } else {
            0.0
        };
        count += 1.0;
    }
    won / count
}

fn share_asked(judged: &[Judged], unclear: bool) -> f64 {
    let of: Vec<_> = judged.iter().filter(|it| it.unclear == unclear).collect();
    of.iter().filter(|it| it.asks).count() as f64 / of.len() as f64
}

#[test]
fn unclear_requests_score_higher_and_few_clear_ones_are_asked_about() {
    for (set, auc_least, caught_least, mistaken_most) in [
        ("IN3", 0.81, 0.43, 0.10),
        ("ARTA", 0.69, 0.35, 0.10),
        ("AmbigSWE", 0.95, 0.78, 0.08),
        ("own", 0.86, 0.38, 0.04),
        ("stories", 0.70, 0.30, 0.10),
        ("stubs", 0.70, 0.40, 0.10),
    ] {
        let judged = judged(set);
        let (auc, caught, mistaken) = (auc(&judged), share_asked(&judged, true), share_asked(&judged, false));
        assert!(auc >= auc_least, "{set}: AUC {auc:.3}, expected {auc_least}");
        assert!(caught >= caught_least, "{set}: asks about {caught:.2} of the unclear ones");
        assert!(mistaken <= mistaken_most, "{set}: asks about {mistaken:.2} of the clear ones");
    }
}
