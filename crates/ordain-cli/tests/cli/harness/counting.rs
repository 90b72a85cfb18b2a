//! Counting what a real process executes. Instructions are counted, not seconds: the count is the same on a busy
//! machine.

use super::TempFile;
use std::process::Command;

/// Instructions that `ordain` executes with these arguments and a file of that text, as valgrind counts them.
pub(crate) fn instructions(arguments: &[&str], text: &str) -> u64 {
    let file = TempFile::new("document.json", text);
    collected(Command::new("valgrind"), &[arguments, &[file.path()]].concat())
}

/// The same with these arguments alone; the command says where it runs.
pub(crate) fn collected(mut valgrind: Command, arguments: &[&str]) -> u64 {
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
pub(crate) fn check(name: &str, count: impl Fn(usize) -> u64) {
    let [one, two, four] = [1, 2, 4].map(count);
    assert!(one < two && two < four, "{name}: {one}, {two}, {four} instructions: more takes no more");
    let growth = (four as f64 - two as f64) / (two as f64 - one as f64);
    assert!(growth < 2.5, "{name}: {one}, {two}, {four} instructions, growth {growth:.2}");
}
