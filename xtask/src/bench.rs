//! `cargo xtask bench`: measures, each figure beside a peer in the same run.

use crate::process::{cargo, command, run as run_command};
use crate::{Result, bench_model, no_arguments, postgres, tools};

const BENCHES: &[(&str, &str)] = &[
    ("ordain-canon", "canonical"),
    ("ordain-spec", "verify"),
    ("ordain-spec", "statements"),
    ("ordain-kernel", "transform"),
    ("ordain-bench", "decide"),
    ("ordain-store", "append"),
    ("ordain-bench", "serve"),
    ("ordain-bench", "gateway"),
    ("ordain-harness", "sandbox"),
    ("ordain-harness", "apply"),
    ("ordain-vault", "index"),
    ("ordain-note", "draft"),
];

/// Holds up every sync of a program and its children, by about as much as a disk in a data centre takes for one.
const SLOW_SYNCS: &[&str] = &[
    "strace",
    "--follow-forks",
    "--seccomp-bpf",
    "--quiet=all",
    "--trace=fdatasync,fsync",
    "--inject=fdatasync,fsync:delay_exit=850",
    "--output=/dev/null",
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments == ["--model"] {
        return bench_model::run();
    }
    no_arguments(arguments)?;
    tools::debian_package("bwrap", "bubblewrap")?;
    tools::debian_package("strace", "strace")?;
    let peer = tools::ctrlrun()?;
    let server = postgres::Server::start(&[])?;
    for (package, bench) in BENCHES {
        println!("==> {package}: {bench}");
        let mut bench = cargo(&["bench", "--package", package, "--bench", bench]);
        run_command(bench.env(postgres::VARIABLE, server.url()).env("ORDAIN_CTRLRUN", &peer))?;
    }
    // The program that is installed: the wanted figure is about it.
    println!("==> ordain-cli: hook");
    run_command(&mut cargo(&["bench", "--profile", "dist", "--package", "ordain-cli", "--bench", "hook"]))?;
    drop(server);
    println!("==> ordain-store: append, with every sync held up by 0.85 ms");
    let server = postgres::Server::start(SLOW_SYNCS)?;
    let append = ["cargo", "bench", "--package", "ordain-store", "--bench", "append", "--", "appends"];
    let mut bench = command("env", &[SLOW_SYNCS, &append].concat());
    Ok(run_command(bench.env(postgres::VARIABLE, server.url()))?)
}
