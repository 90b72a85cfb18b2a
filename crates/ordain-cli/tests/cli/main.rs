//! The real binary, as a user, an agent and an operator meet it: one module for each topic, one harness for all.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

mod harness;

mod agent;
mod apply;
mod apply_faults;
mod apply_races;
mod approving;
mod checkable;
mod commands;
mod console;
mod decide;
mod diff;
mod every_command;
mod evidence_pack;
mod exactly_once;
mod gate_files;
mod gate_files_server;
mod gate_look;
mod gate_status;
mod growth;
mod growth_transform;
mod hooks;
mod hooks_live;
mod hooks_observe;
mod identity;
mod init;
mod kernel_request;
mod kills;
mod ledger_server;
mod mcp;
mod mcp_clients;
mod mcp_http;
mod mcp_live;
mod mcp_pins;
mod mcp_suite;
mod note;
mod note_hostile;
mod ownership;
mod pages;
mod patches;
mod plan;
mod policy;
mod preface;
mod presence;
mod proposals;
mod robust;
mod run;
mod sandbox;
mod scan;
mod screens;
mod service;
mod service_live;
mod settling;
mod setup_remove;
mod show;
mod socket;
mod steady;
mod tamper;
mod terminal;
mod tls;
mod transform;
mod unavailable;
mod verify_owner;
mod work;

use std::collections::BTreeSet;
use std::path::Path;

/// A file that is not a module here is never compiled, and its tests never run.
#[test]
fn no_test_file_is_forgotten() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let names = |folder: &Path| -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert_eq!(names(&tests), BTreeSet::from(["cli".to_owned()]), "tests are modules of tests/cli/main.rs");
    let declared = include_str!("main.rs").lines();
    let declared = declared.filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let declared: BTreeSet<String> = declared.map(str::to_owned).collect();
    let found = names(&tests.join("cli"));
    let found =
        found.iter().map(|name| name.trim_end_matches(".rs").to_owned()).filter(|name| name != "main");
    assert_eq!(found.collect::<BTreeSet<_>>(), declared, "every file in tests/cli is a module of main.rs");
}
