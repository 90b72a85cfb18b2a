//! The `ordain` command.

mod args;
mod exit;

mod clock;
mod gateway;
mod input;
mod lines;
mod page;
mod progress;
mod project;
mod report;
mod wording;

mod apply;
mod canon;
mod clarify;
mod decide;
mod diff;
mod document;
mod evidence;
mod facts;
mod gate;
mod hash;
mod init;
mod manual;
mod note;
mod patch;
mod plan;
mod policy;
mod proof;
mod rules;
mod run;
mod sandbox;
mod transform;
mod unified;
mod validate;
mod verify;
mod view;

use args::{Cli, Color, Command};
use clap::Parser;
use exit::{Failure, Outcome};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    ordain_harness::sandbox::enter_if_asked();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; a failure to print them is nobody's fault.
            let _ = error.print();
            return if error.use_stderr() { Outcome::Usage.into() } else { Outcome::Ok.into() };
        }
    };
    match cli.global.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    if let Some(workspace) = cli.workspace() {
        apply::recover(workspace);
        gate::files::report_interrupted(workspace, &args::Connect::of_environment());
    }
    let done = match &cli.command {
        Command::Verify(args) => verify::run(args, cli.global.json),
        Command::Show(args) => view::run(args, cli.global.json),
        Command::Diff(args) => diff::run(args, cli.global.json),
        Command::Transform(args) => transform::run(args, cli.global.json),
        Command::Clarify(args) => clarify::run(args, cli.global.json),
        Command::Plan(args) => plan::run(args, cli.global.json),
        Command::Patch(args) => patch::run(args, cli.global.json),
        Command::Validate(args) => validate::run(args, cli.global.json),
        Command::Run(args) => {
            run::run(args, cli.global.json).map_err(|failure| Failure::NoResult(Box::new(failure)))
        }
        Command::Apply(args) => apply::run(args, cli.global.json),
        Command::Undo(args) => apply::run_undo(args, cli.global.json),
        Command::Recover(args) => apply::run_recover(args, cli.global.json),
        Command::Note(args) => note::run(args, cli.global.json),
        Command::Sandbox(args) => sandbox::run(args, cli.global.json),
        Command::Decide(args) => decide::run(args, cli.global.json),
        Command::Policy(args) => policy::run(args, cli.global.json),
        Command::Evidence(args) => evidence::run(args, cli.global.json),
        Command::Submit(args) => gate::submit::run(args, cli.global.json),
        Command::Status(args) => gate::status::run(args, cli.global.json),
        Command::Approve(args) => gate::say::approve(args, cli.global.json),
        Command::Reject(args) => gate::say::reject(args, cli.global.json),
        Command::Permit(args) => gate::permit::run(args, cli.global.json),
        Command::Ledger(args) => gate::ledger::run(args, cli.global.json),
        Command::Replay(args) => gate::replay::run(args, cli.global.json),
        Command::Halt(args) => gate::operate::switch(args, "/v1/halt", cli.global.json),
        Command::Resume(args) => gate::operate::switch(args, "/v1/resume", cli.global.json),
        Command::Token(args) => gate::operate::token(args, cli.global.json),
        Command::Keys(args) => gate::operate::keys(args, cli.global.json),
        Command::Serve(args) => gate::serve::run(args, cli.global.json),
        Command::Init(args) => init::run(args, cli.global.json),
        Command::Canon(args) => canon::run(args),
        Command::Hash(args) => hash::run_hash(args, cli.global.json),
        Command::Id(args) => hash::run_id(args, cli.global.json),
        Command::Rules(args) => rules::run(args, cli.global.json),
        Command::Schema(args) => rules::schema(args, cli.global.json),
        Command::Completions(args) => manual::completions(args),
        Command::Man(args) => manual::man(args),
    };
    match done {
        Ok(outcome) => outcome.into(),
        Err(failure) if failure.was_reported() => failure.outcome().into(),
        Err(failure) => {
            let (red, plain) = (report::RED.render(), report::RED.render_reset());
            let _ = writeln!(anstream::stderr(), "{red}error:{plain} {}", failure.text());
            failure.outcome().into()
        }
    }
}
