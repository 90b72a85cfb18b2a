//! Verifying beside a bare parse, in one run on one thread, and the memory that a large patch set takes.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark may fail loudly"
)]

use ordain_spec::{Facts, Kind, verify_text};
use ordain_testkit::{large_bundle, large_patch_set, vectors};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rounds of both contestants in turn; the best round of each counts, so that a busy neighbour does not.
const ROUNDS: usize = 15;
const ROUND_TIME: Duration = Duration::from_millis(80);

fn best(contestants: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; contestants.len()];
    for _ in 0..ROUNDS {
        for (best, run) in best.iter_mut().zip(contestants.iter_mut()) {
            let (start, mut times) = (Instant::now(), 0_u32);
            while times == 0 || start.elapsed() < ROUND_TIME {
                run();
                times += 1;
            }
            *best = best.min(start.elapsed().as_secs_f64() / f64::from(times));
        }
    }
    best
}

fn compare(name: &str, kind: Kind, text: &str) {
    let facts = Facts::default();
    let report = verify_text(kind, &facts, text.as_bytes()).unwrap();
    assert!(report.ok(), "{name}: {:?}", report.violations().first());
    let times = best(&mut [
        &mut || {
            black_box(serde_json::from_str::<serde_json::Value>(black_box(text)).unwrap());
        },
        &mut || {
            black_box(verify_text(kind, &facts, black_box(text.as_bytes())).unwrap());
        },
    ]);
    let speed = |time: f64| text.len() as f64 / time / 1e6;
    println!(
        "| {name}, {} bytes | {:.0} | {:.0} | {:.2} |",
        text.len(),
        speed(times[0]),
        speed(times[1]),
        times[1] / times[0]
    );
}

/// Peak memory of a process that reads and verifies the file, in bytes.
fn peak_memory(path: &std::path::Path) -> usize {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .arg("--peak")
        .arg(path)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

fn print_peak(path: &str) {
    let text = std::fs::read(path).unwrap();
    let report = verify_text(Kind::Patch, &Facts { profile: &dev(), ..Facts::default() }, &text).unwrap();
    assert!(report.ok(), "{:?}", report.violations().first());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kib: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
    println!("{}", kib * 1024);
}

fn dev() -> ordain_spec::profile::Profile {
    ordain_spec::profile::Profile::built_in("dev").unwrap()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, flag, path] = args.as_slice()
        && flag == "--peak"
    {
        return print_peak(path);
    }
    println!(
        "\n| document | serde_json to `Value`, MB/s | read and verified, MB/s | times the bare parse |\n|---|---|---|---|"
    );
    compare("patch set of 10,000 operations, 1 line each", Kind::Patch, &large_patch_set(10_000, 1));
    compare("patch set of 10,000 operations, 20 lines each", Kind::Patch, &large_patch_set(10_000, 20));
    compare("bundle of 2,000 nodes", Kind::Bundle, &large_bundle(2_000));
    let plan = vectors().into_iter().find(|it| it.kind == Kind::Plan && it.rule == "PR9").unwrap();
    compare("plan of three actions", Kind::Plan, &plan.file("accept.json").unwrap());

    let text = large_patch_set(7_200, 100);
    let path = std::env::temp_dir().join(format!("ordain-bench-{}.json", std::process::id()));
    std::fs::write(&path, &text).unwrap();
    let peak = peak_memory(&path);
    std::fs::remove_file(&path).unwrap();
    println!("\n| patch set in a file | peak memory | times its size |\n|---|---|---|");
    println!("| {} bytes | {peak} bytes | {:.2} |", text.len(), peak as f64 / text.len() as f64);
}
