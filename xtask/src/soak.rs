//! `cargo xtask soak`: the tests with far more cases, then the fuzzers for far longer.

use crate::process::{cargo, run as run_command};
use crate::{Result, fuzz, no_arguments, postgres, tools};
use std::time::Instant;

const CASES: &str = "200000";
/// Each of these writes to a disk and waits for it.
const WORKSPACE_CASES: &str = "10000";
const WORKSPACE_TESTS: &str = "package(ordain-harness) + package(ordain-cli) & test(/^apply_faults::/)";
const HTTP_TESTS: &str = "test(strangers)";
const SERVER_TESTS: &str = "package(ordain-cli) & test(/^(exactly_once|kills|tamper|steady)::/)";
const FUZZ_SECONDS: u64 = 600;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    no_arguments(arguments)?;
    tools::cargo_subcommand("nextest")?;
    println!("==> tests with {CASES} cases");
    let start = Instant::now();
    let mut tests = cargo(&[
        "nextest",
        "run",
        "--release",
        "-p",
        "ordain-canon",
        "-p",
        "ordain-spec",
        "-p",
        "ordain-kernel",
        "-p",
        "ordain-decision",
    ]);
    let tests = run_command(tests.arg("--no-fail-fast").env("ORDAIN_SOAK", "1").env("PROPTEST_CASES", CASES));
    let seconds = start.elapsed().as_secs_f64();
    println!("==> workspaces: {WORKSPACE_CASES} cases, every way to be killed twice");
    let start = Instant::now();
    let mut workspaces = cargo(&["nextest", "run", "--release", "-E", WORKSPACE_TESTS]);
    let workspaces = run_command(
        workspaces.arg("--no-fail-fast").env("ORDAIN_SOAK", "1").env("PROPTEST_CASES", WORKSPACE_CASES),
    );
    let workspace_seconds = start.elapsed().as_secs_f64();
    println!("==> stores: killed 50 times each");
    let start = Instant::now();
    let server = postgres::Server::start(&[])?;
    let mut stores = cargo(&["nextest", "run", "--release", "-p", "ordain-store", "--no-fail-fast"]);
    let stores = run_command(stores.env("ORDAIN_SOAK", "1").env(postgres::VARIABLE, server.url()));
    println!(
        "==> servers: killed 50 times on each store, permits wanted by many, stores tampered with, a million decisions"
    );
    let mut servers = cargo(&["nextest", "run", "--release", "-E", SERVER_TESTS, "--no-fail-fast"]);
    let servers = run_command(servers.env("ORDAIN_SOAK", "1").env(postgres::VARIABLE, server.url()));
    drop(server);
    let store_seconds = start.elapsed().as_secs_f64();
    println!("==> the HTTP interface: asked everything that its description allows");
    let start = Instant::now();
    let mut http = cargo(&["nextest", "run", "--release", "-p", "ordain-server", "-E", HTTP_TESTS]);
    let python = tools::python_environment()?;
    let http = run_command(http.env("ORDAIN_SOAK", "1").env(tools::PYTHON_VARIABLE, python));
    let http_seconds = start.elapsed().as_secs_f64();
    let figures = fuzz::fuzz(FUZZ_SECONDS, &[])?;
    let verdict = |result: &std::result::Result<(), String>| if result.is_ok() { "passed" } else { "FAILED" };
    println!("==> figures\ntests     {CASES:>12} cases each, {seconds:.0} s  {}", verdict(&tests));
    println!(
        "workspaces {WORKSPACE_CASES:>11} cases each, {workspace_seconds:.0} s  {}",
        verdict(&workspaces)
    );
    println!("http {http_seconds:>28.0} s  {}", verdict(&http));
    println!("stores and servers {store_seconds:>14.0} s  {}, {}", verdict(&stores), verdict(&servers));
    fuzz::print(&figures);
    tests?;
    workspaces?;
    stores?;
    http?;
    servers?;
    fuzz::problems(&figures)
}
