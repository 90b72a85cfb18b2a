//! Counting what a real process executes. Instructions are counted, not seconds: the count is the same on a busy
//! machine.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Files of this process so far, so that each has a name of its own.
static FILES: AtomicUsize = AtomicUsize::new(0);

/// Instructions that `ordain` executes with these arguments and a file of that text, as valgrind counts them.
pub fn instructions(arguments: &[&str], text: &str) -> u64 {
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("ordain-growth-{}-{number}.json", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let collected = collected(Command::new("valgrind"), &[arguments, &[file.to_str().unwrap()]].concat());
    std::fs::remove_file(&file).unwrap();
    collected
}

/// The same with these arguments alone; the command says where it runs.
pub fn collected(mut valgrind: Command, arguments: &[&str]) -> u64 {
    let output = valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", env!("CARGO_BIN_EXE_ordain")])
        .args(arguments)
        .output()
        .expect("valgrind runs; `cargo xtask test` installs it");
    let report = String::from_utf8_lossy(&output.stderr);
    let line = report.lines().find(|line| line.contains("Collected :")).unwrap_or_else(|| panic!("{report}"));
    line.split_whitespace().last().unwrap().parse().unwrap()
}

/// From 1× to 2× to 4×: twice the step costs twice as much. Starting the process costs the same each time and drops
/// out. n log n over this range would be 2.2.
pub fn check(name: &str, count: impl Fn(usize) -> u64) {
    let [one, two, four] = [1, 2, 4].map(count);
    let growth = (four as f64 - two as f64) / (two as f64 - one as f64);
    assert!(growth < 2.5, "{name}: {one}, {two}, {four} instructions, growth {growth:.2}");
}
