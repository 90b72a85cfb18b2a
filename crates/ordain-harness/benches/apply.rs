//! Applying a patch set beside a plain loop that writes and syncs the same files, in one run.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark may fail loudly"
)]

use ordain_canon::Value;
use ordain_harness::apply::{Authority, Copies, apply, undo};
use ordain_spec::patch::{PatchOp, PatchSet};
use ordain_spec::{Facts, Verified, verify_as};
use ordain_state::Home;
use serde_json::json;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

const ROUNDS: usize = 5;
const FOLDERS: usize = 100;
const CONTENT_BYTES: usize = 1_000;

fn main() {
    let top = std::env::temp_dir().join(format!("ordain-bench-apply-{}", std::process::id()));
    println!("\nFiles of {CONTENT_BYTES} bytes in {FOLDERS} folders; median of {ROUNDS} rounds, seconds:\n");
    println!(
        "| operations | apply | undo | loop: write, sync | loop: write, no sync | times the syncing loop | µs each |"
    );
    println!("|---|---|---|---|---|---|---|");
    for count in [100, 1_000, 10_000] {
        for op in [PatchOp::Create, PatchOp::Modify] {
            row(&top, op, count);
        }
    }
    fs::remove_dir_all(&top).unwrap();
}

fn row(top: &Path, op: PatchOp, count: usize) {
    let patch = patch(op, count);
    let mut times: [Vec<f64>; 4] = Default::default();
    for round in 0..ROUNDS {
        let folder = |name: &str| {
            let path = top.join(format!("{name}-{round}"));
            if op == PatchOp::Modify {
                write_all(&path, &patch, "old", false);
            } else {
                fs::create_dir_all(&path).unwrap();
            }
            path
        };
        let (ours, synced, loose) = (folder("ours"), folder("synced"), folder("loose"));
        rustix::fs::sync();
        let operator = || Authority::local_operator(&Home::in_folder(top), &ours).unwrap();
        times[0].push(timed(|| drop(apply(&ours, &patch, None, operator()).unwrap())));
        times[1].push(timed(|| drop(undo(&ours, None, Copies::Refuse, operator()).unwrap())));
        times[2].push(timed(|| write_all(&synced, &patch, "new", true)));
        times[3].push(timed(|| write_all(&loose, &patch, "new", false)));
        [ours, synced, loose].iter().for_each(|path: &PathBuf| fs::remove_dir_all(path).unwrap());
    }
    let [apply, undo, synced, loose] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let (what, each) = (if op == PatchOp::Create { "create" } else { "modify" }, apply / count as f64 * 1e6);
    println!(
        "| {count} × {what} | {apply:.3} | {undo:.3} | {synced:.3} | {loose:.3} | {:.2} | {each:.0} |",
        apply / synced
    );
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn path(number: usize) -> String {
    format!("folder-{}/file-{number:05}.txt", number % FOLDERS)
}

fn content(word: &str) -> String {
    word.repeat(CONTENT_BYTES / word.len())
}

/// The steps of a careful script: a new file beside the old one, synced, renamed over it.
fn write_all(root: &Path, patch: &PatchSet, word: &str, sync: bool) {
    let content = content(word);
    for operation in &patch.operations {
        let path = root.join(&operation.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let beside = path.with_extension("tmp");
        let mut file = File::create(&beside).unwrap();
        file.write_all(content.as_bytes()).unwrap();
        if sync {
            file.sync_all().unwrap();
        }
        fs::rename(beside, path).unwrap();
    }
    if sync {
        for number in 0..FOLDERS.min(patch.operations.len()) {
            File::open(root.join(format!("folder-{number}"))).unwrap().sync_all().unwrap();
        }
    }
}

fn patch(op: PatchOp, count: usize) -> Verified<PatchSet> {
    let content = content("new");
    let mut paths: Vec<String> = (0..count).map(path).collect();
    paths.sort();
    let operations: Vec<_> =
        paths.iter().map(|path| json!({"op": op, "path": path, "content": content})).collect();
    let text = json!({
        "patch_schema_version": "1.0.0",
        "source_proposal_id": "bench",
        "source_proposal_hash": format!("sha256:{}", "0".repeat(64)),
        "operations": operations,
        "total_bytes": count * content.len(),
    })
    .to_string();
    verify_as(&Facts::default(), &Value::read(text.as_bytes()).unwrap()).unwrap()
}
