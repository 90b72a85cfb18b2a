//! `cargo xtask test`: everything that CI runs.

use crate::process::{cargo, run as run_command};
use crate::{Error, Result, fmt, generate, layers, lint, postgres, prose, tools};
use std::time::Instant;

/// All but the benches, which have no tests: the peers that they measure against would have everything built with other
/// features than it has in the program.
const TESTED: &[&str] = &["--workspace", "--exclude", "ordain-bench"];

/// Arguments after `--` go to nextest.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let nextest: &[String] = match arguments.split_first() {
        None => &[],
        Some((first, rest)) if first == "--" => rest,
        Some((first, _)) => return Err(Error::Usage(format!("unknown argument `{first}`"))),
    };
    let mut steps = Steps::default();
    steps.step("tools", install_tools);
    steps.step("format", fmt::check);
    steps.step("lint", lint::check);
    steps.step("generated files", generate::check);
    steps.step("layers", layers::check);
    steps.step("prose", prose::check);
    // Without what only tests need, which could hide that something is missing.
    steps.step("the program alone", || run_command(&mut cargo(&["check"])));
    steps.step("examples in documentation", || run_command(cargo(&["test", "--doc"]).args(TESTED)));
    let mut server = None;
    steps.step("PostgreSQL", || {
        server = Some(postgres::Server::start(&[])?);
        Ok(())
    });
    let url = server.as_ref().map(postgres::Server::url).unwrap_or_default();
    steps.step("tests", || {
        let mut tests = cargo(&["nextest", "run", "--no-fail-fast"]);
        let python = tools::python_environment()?;
        run_command(
            tests.args(TESTED).args(nextest).env(postgres::VARIABLE, url).env(tools::PYTHON_VARIABLE, python),
        )
    });
    drop(server);
    steps.finish()
}

fn install_tools() -> std::result::Result<(), String> {
    let attempts = [
        tools::cargo_subcommand("nextest"),
        tools::debian_package("node", "nodejs"),
        tools::npm_packages(&[
            ("jose", "5.9.6"),
            ("@copilotkit/aimock", "1.43.0"),
            ("@openai/codex", "0.166.0"),
            ("openapi-typescript", "7.13.0"),
            ("openapi-fetch", "0.17.0"),
            ("typescript", "5.9.3"),
            ("playwright-core", "1.65.1"),
            ("axe-core", "4.14.0"),
            ("preact", "11.2.0"),
            ("htm", "3.1.1"),
            ("@modelcontextprotocol/server-everything", "2026.8.31"),
            ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
        ]),
        tools::coding_agents(),
        tools::debian_package("chromium", "chromium"),
        tools::debian_package("valgrind", "valgrind"),
        tools::debian_package("pytest-3", "python3-pytest"),
        tools::python_module("jwt", "python3-jwt"),
        tools::python_module("cryptography", "python3-cryptography"),
        tools::python_module("yaml", "python3-yaml"),
        tools::go(),
        tools::go_library("golang.org/x/mod/sumdb/note", "golang-golang-x-mod-dev"),
        tools::debian_package("git", "git"),
        tools::debian_package("make", "make"),
        tools::debian_package("strace", "strace"),
        tools::debian_package("unshare", "util-linux"),
        tools::debian_package("systemd-analyze", "systemd"),
        tools::postgresql().map(|_| ()),
        tools::python_environment().map(|_| ()),
        tools::mcp_environment(),
        tools::mcp_suite(),
        tools::debian_package("setfattr", "attr"),
    ];
    let errors: Vec<String> = attempts.into_iter().filter_map(std::result::Result::err).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}

/// Steps that all run, whatever became of the ones before.
#[derive(Default)]
pub(crate) struct Steps {
    failed: Vec<(String, String)>,
    count: usize,
}

impl Steps {
    pub(crate) fn step(&mut self, name: &str, work: impl FnOnce() -> std::result::Result<(), String>) {
        println!("==> {name}");
        let start = Instant::now();
        let result = work();
        let seconds = start.elapsed().as_secs_f64();
        self.count += 1;
        match result {
            Ok(()) => println!("    {name}: {seconds:.1} s"),
            Err(error) => {
                println!("    {name}: FAILED after {seconds:.1} s");
                self.failed.push((name.to_owned(), error));
            }
        }
    }

    pub(crate) fn finish(self) -> Result<()> {
        if self.failed.is_empty() {
            println!("==> all {} steps passed", self.count);
            return Ok(());
        }
        println!("==> {} of {} steps failed", self.failed.len(), self.count);
        for (name, error) in &self.failed {
            println!("    {name}: {}", error.replace('\n', "\n      "));
        }
        let names: Vec<&str> = self.failed.iter().map(|(name, _)| name.as_str()).collect();
        Err(Error::Failed(format!("failed: {}", names.join(", "))))
    }
}
