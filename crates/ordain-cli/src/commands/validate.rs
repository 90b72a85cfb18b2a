//! `ordain validate`.

use crate::document::{check_stdin_once, load};
use crate::exit::{self, Failure, Outcome};
use crate::report::{BOLD, GREEN, RED, YELLOW, printable};
use anstyle::Style;
use clap::Args;
use ordain_canon::Canonicalizer;
use ordain_kernel::{Recommendation, Validation, validate};
use ordain_spec::evidence::ExecutionEvidence;
use ordain_spec::plan::Proposal;
use std::io::Write;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help(&[
    Outcome::Ok.means("accept"),
    Outcome::Failed.means("review, reject, or an error"),
]))]
pub(crate) struct Validate {
    /// The execution evidence; `-` is standard input
    #[arg(value_name = "EVIDENCE")]
    pub(crate) evidence: PathBuf,
    /// The plan proposal that was tried; `-` is standard input
    #[arg(long, value_name = "PLAN")]
    pub(crate) plan: PathBuf,
}

pub(crate) fn run(args: &Validate, json: bool) -> Result<Outcome, Failure> {
    check_stdin_once(&[&args.evidence, &args.plan])?;
    let evidence = load::<ExecutionEvidence>(&args.evidence, json)?;
    let plan = load::<Proposal>(&args.plan, json)?;
    let validation = validate(&evidence.document, &plan.document);
    let mut stdout = anstream::stdout().lock();
    if json {
        stdout.write_all(Canonicalizer::new().value(&validation)?)?;
        stdout.write_all(b"\n")?;
    } else {
        show(&mut stdout, &evidence.source.name(), &validation)?;
    }
    stdout.flush()?;
    Ok(match validation.recommendation {
        Recommendation::Accept => Outcome::Ok,
        Recommendation::Review | Recommendation::Reject => Outcome::Failed,
    })
}

fn style_of(recommendation: Recommendation) -> Style {
    match recommendation {
        Recommendation::Accept => GREEN,
        Recommendation::Review => YELLOW,
        Recommendation::Reject => RED,
    }
}

fn show(out: &mut impl Write, name: &str, validation: &Validation) -> std::io::Result<()> {
    let style = style_of(validation.recommendation);
    let count = match validation.reasons.len() {
        0 => "the plan was carried out".to_owned(),
        1 => "1 reason".to_owned(),
        count => format!("{count} reasons"),
    };
    writeln!(out, "{style}{}{style:#}  {}: {count}", validation.recommendation.name(), printable(name))?;
    for reason in &validation.reasons {
        let style = style_of(reason.recommendation);
        let (code, message) = (reason.criterion.name(), printable(&reason.message));
        writeln!(out, "  {style}{code}{style:#}  {BOLD}{}{BOLD:#}  {message}", reason.path)?;
    }
    Ok(())
}
