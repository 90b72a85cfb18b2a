//! `cargo xtask soak`: tests with far more cases, and the fuzzers for far longer. Each part takes less than 40 minutes.

use crate::process::{cargo, run as run_command};
use crate::{Error, Result, fuzz, postgres, tools};
use std::process::Command;
use std::time::Instant;

const CASES: &str = "200000";
/// Each of these writes to a disk and waits for it.
const WORKSPACE_CASES: &str = "10000";
const FUZZ_SECONDS: u64 = 240;

/// A part that can run alone.
struct Part {
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<()>,
}

static PARTS: &[Part] = &[
    Part {
        name: "cases",
        about: "the pure crates: 200,000 cases of each property, a million decisions against the model",
        run: cases,
    },
    Part {
        name: "workspaces",
        about: "changes of files: 10,000 cases of each property, killed in every way twice, raced for links 1,500 times",
        run: workspaces,
    },
    Part { name: "stores", about: "SQLite and PostgreSQL, killed 50 times each", run: stores },
    Part {
        name: "servers",
        about: "servers on both stores: killed 50 times each, permits wanted by many, stores tampered with",
        run: servers,
    },
    Part { name: "memory", about: "a server that decides a million proposals", run: memory },
    Part {
        name: "mcp",
        about: "the gateway of MCP servers: killed 200 times, the public suite in both revisions, eight real servers",
        run: mcp,
    },
    Part { name: "http", about: "everything that the description of the interface allows, asked", run: http },
    Part { name: "panics", about: "a server with a bug, built as users build it", run: panics },
    Part {
        name: "agents",
        about: "Copilot CLI, Gemini CLI, Qwen Code and OpenCode behind the gate",
        run: agents,
    },
    Part { name: "fuzz", about: "each fuzz target for four minutes", run: fuzz_targets },
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments == ["--list"] {
        let width = PARTS.iter().map(|part| part.name.len()).max().unwrap_or_default();
        PARTS.iter().for_each(|part| println!("{:width$}  {}", part.name, part.about));
        return Ok(());
    }
    let chosen = chosen(arguments)?;
    tools::cargo_subcommand("nextest")?;
    let mut figures = Vec::new();
    let mut failed = Vec::new();
    for part in chosen {
        println!("==> {}: {}", part.name, part.about);
        let start = Instant::now();
        let result = (part.run)();
        if let Err(Error::Failed(message) | Error::Usage(message)) = &result {
            println!("{message}");
            failed.push(part.name);
        }
        let verdict = if result.is_ok() { "passed" } else { "FAILED" };
        figures.push(format!("{:10} {:>6.0} s  {verdict}", part.name, start.elapsed().as_secs_f64()));
    }
    println!("==> figures\n{}", figures.join("\n"));
    if failed.is_empty() { Ok(()) } else { Err(Error::Failed(format!("failed: {}", failed.join(", ")))) }
}

/// The named parts, or all of them.
fn chosen(names: &[String]) -> Result<Vec<&'static Part>> {
    if names.is_empty() {
        return Ok(PARTS.iter().collect());
    }
    let mut chosen = Vec::new();
    for name in names {
        let part = PARTS.iter().find(|part| part.name == name);
        chosen.push(part.ok_or_else(|| {
            let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
            Error::Usage(format!("`{name}` is neither `--list` nor one of the parts {}", known.join(", ")))
        })?);
    }
    Ok(chosen)
}

/// The tests of some packages, built as they are shipped.
fn tests(packages: &[&str], filter: &str) -> Command {
    let mut tests = cargo(&["nextest", "run", "--cargo-profile", "dist", "--no-fail-fast", "-E", filter]);
    for package in packages {
        tests.args(["--package", package]);
    }
    tests.env("ORDAIN_SOAK", "1");
    tests
}

/// Tests of the program by the modules that they are in.
fn program_tests(modules: &[&str]) -> String {
    format!("package(ordain-cli) & test(/^({})::/)", modules.join("|"))
}

fn cases() -> Result<()> {
    let packages = ["ordain-canon", "ordain-spec", "ordain-kernel", "ordain-decision"];
    Ok(run_command(tests(&packages, "all()").env("PROPTEST_CASES", CASES))?)
}

fn workspaces() -> Result<()> {
    let filter = format!("package(ordain-harness) + {}", program_tests(&["apply_faults", "apply_races"]));
    let mut tests = tests(&["ordain-harness", "ordain-cli"], &filter);
    Ok(run_command(tests.env("PROPTEST_CASES", WORKSPACE_CASES))?)
}

fn stores() -> Result<()> {
    with_postgres(tests(&["ordain-store"], "all()"))
}

fn servers() -> Result<()> {
    with_postgres(tests(&["ordain-cli"], &program_tests(&["exactly_once", "kills", "tamper"])))
}

fn memory() -> Result<()> {
    with_postgres(tests(&["ordain-cli"], &program_tests(&["steady"])))
}

fn mcp() -> Result<()> {
    tools::mcp_environment()?;
    tools::mcp_suite()?;
    tools::mcp_servers()?;
    Ok(run_command(&mut tests(&["ordain-cli"], &program_tests(&["mcp", "mcp_http", "mcp_suite"])))?)
}

fn http() -> Result<()> {
    let python = tools::python_environment()?;
    let mut tests = tests(&["ordain-server"], "test(strangers)");
    Ok(run_command(tests.env(tools::PYTHON_VARIABLE, python))?)
}

/// In programs: tests are built with `panic = "unwind"` whatever the profile says.
fn panics() -> Result<()> {
    for profile in ["release", "dist"] {
        let example = ["--package", "ordain-server", "--example", "panics"];
        run_command(cargo(&["run", "--profile", profile]).args(example))?;
    }
    Ok(())
}

fn agents() -> Result<()> {
    tools::agents_of_the_soak()?;
    Ok(run_command(&mut tests(&["ordain-cli"], &program_tests(&["hooks_live"])))?)
}

fn fuzz_targets() -> Result<()> {
    let figures = fuzz::fuzz(FUZZ_SECONDS, &[])?;
    fuzz::print(&figures);
    fuzz::problems(&figures)
}

fn with_postgres(mut tests: Command) -> Result<()> {
    let server = postgres::Server::start(&[])?;
    Ok(run_command(tests.env(postgres::VARIABLE, server.url()))?)
}

#[cfg(test)]
mod tests {
    use super::{PARTS, chosen, program_tests};
    use crate::Error;

    #[test]
    fn parts_are_chosen_by_name() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        assert_eq!(chosen(&[]).map(|parts| parts.len()).ok(), Some(PARTS.len()));
        let two = chosen(&names(&["fuzz", "stores"]));
        let two = two.map(|parts| parts.iter().map(|part| part.name).collect::<Vec<_>>());
        assert_eq!(two.ok(), Some(vec!["fuzz", "stores"]));
        let Err(Error::Usage(message)) = chosen(&names(&["stores", "store"])) else { unreachable!() };
        assert!(message.contains("`store`") && message.contains("cases, workspaces, stores"), "{message}");
    }

    #[test]
    fn tests_of_the_program_are_chosen_by_module() {
        assert_eq!(program_tests(&["kills", "steady"]), "package(ordain-cli) & test(/^(kills|steady)::/)");
    }
}
