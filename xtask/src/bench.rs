//! `cargo xtask bench`: measures, each figure beside a peer in the same run.

use crate::process::{cargo, run as run_command};
use crate::{Result, bench_model, no_arguments, postgres, tools};

const BENCHES: &[(&str, &str)] = &[
    ("ordain-canon", "canonical"),
    ("ordain-spec", "verify"),
    ("ordain-kernel", "transform"),
    ("ordain-bench", "decide"),
    ("ordain-store", "append"),
    ("ordain-bench", "serve"),
    ("ordain-harness", "sandbox"),
    ("ordain-harness", "apply"),
    ("ordain-vault", "index"),
    ("ordain-note", "draft"),
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments == ["--model"] {
        return bench_model::run();
    }
    no_arguments(arguments)?;
    tools::debian_package("bwrap", "bubblewrap")?;
    let server = postgres::Server::start()?;
    for (package, bench) in BENCHES {
        println!("==> {package}: {bench}");
        let mut bench = cargo(&["bench", "--package", package, "--bench", bench]);
        run_command(bench.env(postgres::VARIABLE, server.url()))?;
    }
    Ok(())
}
