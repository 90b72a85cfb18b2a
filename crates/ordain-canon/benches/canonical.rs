//! Canonical JSON beside raw SHA-256 and beside `serde_json_canonicalizer`, all in one run on one thread.
//!
//! Every line is a share of the speed at which SHA-256 alone hashes the same bytes: 1.00 would be free. Where strings
//! are long, hashing is most of the work for everybody; the last column leaves it out.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

use ordain_canon::{BundleHash, Canonicalizer, PatchHash};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rounds of all contestants in turn; the best round of each counts, so that a busy neighbour does not.
const ROUNDS: usize = 15;
const ROUND_TIME: Duration = Duration::from_millis(60);

struct Contest<'a> {
    name: &'static str,
    bytes: usize,
    run: Box<dyn FnMut() + 'a>,
    best: f64,
}

fn contest<'a>(name: &'static str, bytes: usize, run: impl FnMut() + 'a) -> Contest<'a> {
    Contest { name, bytes, run: Box::new(run), best: f64::INFINITY }
}

fn measure(contests: &mut [Contest<'_>]) {
    for _ in 0..ROUNDS {
        for contest in contests.iter_mut() {
            let (start, mut times) = (Instant::now(), 0_u32);
            while times == 0 || start.elapsed() < ROUND_TIME {
                (contest.run)();
                times += 1;
            }
            contest.best = contest.best.min(start.elapsed().as_secs_f64() / f64::from(times));
        }
    }
}

/// An action proposal of about 1 KB.
fn proposal() -> Value {
    json!({
        "proposal_id": "550e8400-e29b-41d4-a716-446655440000", "ts_ms": 1705171200000_u64, "actor": "agent-sales-001",
        "action_type": "write",
        "target": {"resource_type": "crm_record", "resource_id": "contact-12345", "domain": "salesforce.com",
            "constraints": {"allowed_fields": ["email", "phone", "notes"], "forbidden_fields": ["ssn", "credit_card"]}},
        "parameters": {"updates": {"email": "new@example.com", "notes": "Updated via automation"}},
        "preconditions": [{"field": "record_exists", "operator": "eq", "value": true, "evidence_ref": "evidence-001"}],
        "risk_envelope": {"allowed_side_effects": ["audit_log_entry"],
            "forbidden_effects": ["email_notification", "workflow_trigger"], "max_affected_records": 1,
            "reversible_required": true},
        "rollback_semantics": {"strategy": "compensating_action", "deadline_ms": 1705171800000_u64, "action": {"action_type": "write",
            "target": {"resource_type": "crm_record", "resource_id": "contact-12345", "domain": "salesforce.com", "constraints": {}},
            "parameters": {"updates": {"email": "old@example.com"}}}},
        "time_window": {"valid_from_ms": 1705171200000_u64, "valid_until_ms": 1705171500000_u64, "max_duration_ms": 30000},
        "approval_class": "none"
    })
}

/// A tree of about 5 MB: many small objects, arrays and numbers.
fn tree() -> Value {
    let node = |n: u64| {
        json!({"id": format!("node_{n:016x}"), "goal": "Import the customer file", "parent_id": null, "children": [],
            "status": "terminal", "constraints": ["must keep the order of rows", "must not drop a column"],
            "entropy": {"unresolved_refs": n % 7, "schema_gaps": n % 3, "contradiction_count": 0, "branching_factor": 1,
                "entropy_score": n % 101},
            "density": {"concrete_constraints": 2, "specified_outputs": 1, "constraint_depth": 0.5 + (n % 10) as f64,
                "density_score": n % 101}})
    };
    Value::Array((0..10_500).map(node).collect())
}

/// A patch set of about 50 MB whose files repeat a line.
fn strings(line: &str) -> Value {
    let content = line.repeat(1_000_000 / line.len());
    let operations: Vec<Value> = (0..50)
        .map(|n| json!({"op": "create", "path": format!("src/file_{n:03}.rs"), "content": content}))
        .collect();
    json!({"operations": operations, "patch_schema_version": "1.0.0"})
}

/// One paragraph a line, as in notes.
const PROSE: &str = "A gate that decides on facts has to read them first. It reads the proposal, the policy, the evidence \
    and the approvals, and it reads all of them the same way every time, so that whoever asks again later, on another \
    machine and with another program, comes to the same answer. Where a text could be read in two ways it is not read \
    at all: the sender is told what is unclear and where, and may say it again. That costs a round trip now and saves \
    an argument later, when nobody remembers what was meant and the only thing left is what was written down.\n";

/// Short lines with quotes, as in programs.
const SOURCE: &str =
    "        let total: u64 = orders.iter().map(|order| order.cents).sum(); // \"all\" of them\n";

fn case(name: &str, value: &Value) {
    let canonical = Canonicalizer::new().value(value).unwrap().to_vec();
    let arbitrary = shuffled(value);
    let mut checker = Canonicalizer::new();
    let mut writer = Canonicalizer::new();
    let mut serializer = Canonicalizer::new();
    let (bytes, text) = (canonical.len(), canonical.as_slice());
    let mut contests = [
        contest("raw SHA-256", bytes, || {
            black_box(Sha256::digest(black_box(text)));
        }),
        contest("canonical text → hash", bytes, || {
            black_box(PatchHash::of_text(&mut checker, black_box(text)).unwrap());
        }),
        contest("any text → canonical → hash", bytes, || {
            black_box(BundleHash::of_text(&mut writer, black_box(arbitrary.as_bytes())).unwrap());
        }),
        contest("`Serialize` value → canonical → hash", bytes, || {
            black_box(PatchHash::of(&mut serializer, black_box(value)).unwrap());
        }),
        contest("peer: canonical text → value → canonical → hash", bytes, || {
            let value: Value = serde_json::from_slice(black_box(text)).unwrap();
            black_box(Sha256::digest(serde_json_canonicalizer::to_vec(&value).unwrap()));
        }),
        contest("peer: any text → value → canonical → hash", bytes, || {
            let value: Value = serde_json::from_str(black_box(&arbitrary)).unwrap();
            black_box(Sha256::digest(serde_json_canonicalizer::to_vec(&value).unwrap()));
        }),
        contest("peer: `Serialize` value → canonical → hash", bytes, || {
            black_box(Sha256::digest(serde_json_canonicalizer::to_vec(black_box(value)).unwrap()));
        }),
    ];
    measure(&mut contests);
    let raw = contests[0].best;
    println!(
        "\n| {name}, {} bytes | MB/s | share of SHA-256 | times its peer | both without the hash |",
        canonical.len()
    );
    println!("|---|---|---|---|---|");
    for (position, contest) in contests.iter().enumerate() {
        let speed = contest.bytes as f64 / contest.best / 1e6;
        let (peer, without_hash) = match position {
            1..=3 => {
                let peer = contests[position + 3].best;
                (format!("{:.1}", peer / contest.best), format!("{:.1}", (peer - raw) / (contest.best - raw)))
            }
            _ => ("–".to_owned(), "–".to_owned()),
        };
        println!("| {} | {speed:.0} | {:.2} | {peer} | {without_hash} |", contest.name, raw / contest.best);
    }
}

/// The same document as a person would keep it: indented, members in reverse order.
fn shuffled(value: &Value) -> String {
    fn write(value: &Value, indent: usize, out: &mut String) {
        let line = |out: &mut String, indent: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", indent));
        };
        match value {
            Value::Array(elements) if !elements.is_empty() => {
                out.push('[');
                for (position, element) in elements.iter().enumerate() {
                    out.push_str(if position > 0 { "," } else { "" });
                    line(out, indent + 1);
                    write(element, indent + 1, out);
                }
                line(out, indent);
                out.push(']');
            }
            Value::Object(members) if !members.is_empty() => {
                out.push('{');
                for (position, (key, value)) in members.iter().rev().enumerate() {
                    out.push_str(if position > 0 { "," } else { "" });
                    line(out, indent + 1);
                    out.push_str(&format!("\"{key}\": "));
                    write(value, indent + 1, out);
                }
                line(out, indent);
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
    }
    let mut out = String::new();
    write(value, 0, &mut out);
    out
}

fn main() {
    case("1 KB proposal", &proposal());
    case("5 MB tree", &tree());
    case("50 MB of long strings (prose)", &strings(PROSE));
    case("50 MB of long strings (source code)", &strings(SOURCE));
}
