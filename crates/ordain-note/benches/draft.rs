//! The work of the service on a draft besides waiting for a model: from the request's bytes to the verified
//! proposal, next to reading and hashing the answer alone, in turn.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark may fail loudly"
)]

use ordain_canon::{Canonicalizer, NoteHash, Value};
use ordain_model::{Embedded, Settings};
use ordain_note::{Drafter, Request};
use serde_json::json;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

const ROUNDS: usize = 41;
const TIMES: u32 = 20;
const PROMPT: &str = "a note about tides";

fn main() {
    let vault = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ordain-note-bench");
    fs::create_dir_all(vault.join("km")).unwrap();
    let routing = "routes:\n  - id: sea\n    pattern: 'sea/*.md'\n    required_sections: [Summary]\n";
    fs::write(vault.join("km/routing.yaml"), routing).unwrap();
    fs::create_dir_all(vault.join("sea")).unwrap();
    fs::write(
        vault.join("sea/moon.md"),
        format!("---\ntitle: Moon\nstatus: draft\n---\n# Moon\n\n{}", "light ".repeat(500)),
    )
    .unwrap();
    println!("µs for one draft, a vault with routing and one note as context; median of {ROUNDS} rounds");
    println!("{:>14} {:>12} {:>12} {:>8}", "answer bytes", "read + hash", "draft", "times");
    for chars in [1_000, 10_000, 100_000] {
        row(&vault, chars);
    }
    fs::remove_dir_all(&vault).unwrap();
}

fn row(vault: &Path, chars: usize) {
    let answer = json!({
        "version": 1,
        "target": {"route_id": "sea", "path": "sea/tides.md"},
        "frontmatter": {"title": "Tides", "status": "draft", "tags": ["sea"]},
        "body": {"content_md": format!("# Tides\n\n## Summary\n\n{}", "Twice a day, by the moon.\n".repeat(chars / 26))},
        "governance": {"related_links": [], "rationale": "We live at the sea."},
    })
    .to_string();
    let answer: &'static str = answer.leak();
    let examples: Embedded = vec![(PROMPT, answer)].leak();
    let provider = Settings::default().provider(|_| None, Path::new("."), examples).unwrap();
    let drafter = Drafter::new(provider, vault, false);
    let body = json!({"prompt": PROMPT, "contextRefs": ["sea/moon.md"]}).to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut figures: [Vec<Duration>; 2] = Default::default();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..TIMES {
            let document = Value::read(black_box(answer.as_bytes())).unwrap();
            black_box(NoteHash::of(&mut Canonicalizer::new(), &document).unwrap());
        }
        figures[0].push(start.elapsed() / TIMES);
        let start = Instant::now();
        for _ in 0..TIMES {
            let request = Request::read(black_box(body.as_bytes())).unwrap();
            black_box(runtime.block_on(drafter.draft(&request, "c")).unwrap());
        }
        figures[1].push(start.elapsed() / TIMES);
    }
    let [floor, draft] = figures.map(|mut figures| {
        figures.sort();
        figures[ROUNDS / 2].as_secs_f64() * 1e6
    });
    println!("{:>14} {floor:>12.1} {draft:>12.1} {:>8.1}", answer.len(), draft / floor);
}
