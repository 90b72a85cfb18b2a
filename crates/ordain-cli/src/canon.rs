//! `ordain canon`.

use crate::args::Canon;
use crate::exit::{Failure, Outcome};
use crate::input::{Source, Unreadable};
use crate::lines;
use crate::verify::{Checked, too_long, write_report};
use ordain_canon::Canonicalizer;
use ordain_spec::RuleId;
use std::io::Write;

pub(crate) fn run(args: &Canon) -> Result<Outcome, Failure> {
    each(
        &args.lines,
        |canon, source| {
            let text = source.text()?;
            let document = text.read(&text.json).map_err(|wrong| document_failure(source, &wrong))?;
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(canon.value(&document)?)?;
            Ok(stdout.flush()?)
        },
        |canon, line, output| {
            output.extend_from_slice(canon.text(line)?);
            Ok(())
        },
    )
}

pub(crate) fn document_failure(source: &Source, wrong: &Unreadable) -> Failure {
    let place = if wrong.pointer.is_empty() { String::new() } else { format!(", in `{}`", wrong.pointer) };
    Failure::Document { path: source.name(), problem: format!("{}{place}", wrong.message) }
}

/// Runs `one` on the file, or `each_line` on every line of standard input.
pub(crate) fn each(
    args: &crate::args::Lines,
    one: impl FnOnce(&mut Canonicalizer, &Source) -> Result<(), Failure>,
    each_line: impl Fn(&mut Canonicalizer, &[u8], &mut Vec<u8>) -> Result<(), Unreadable> + Sync,
) -> Result<Outcome, Failure> {
    let source = args.file.as_deref().map(Source::of);
    if !args.jsonl {
        one(&mut Canonicalizer::new(), &source.unwrap_or(Source::Stdin))?;
        return Ok(Outcome::Ok);
    }
    let work = || {
        let mut canon = Canonicalizer::new();
        let each_line = &each_line;
        move |line: Result<&[u8], lines::TooLong>, output: &mut Vec<u8>| {
            let start = output.len();
            let refused = match line {
                Ok(line) => match each_line(&mut canon, line, output) {
                    Ok(()) => return Outcome::Ok,
                    Err(wrong) => Checked::refused(RuleId::Parse, wrong, Outcome::Failed),
                },
                Err(lines::TooLong) => too_long(),
            };
            output.truncate(start);
            write_report(&mut canon, &refused.report, output);
            Outcome::Failed
        }
    };
    match source {
        None | Some(Source::Stdin | Source::Folder(..) | Source::Run(_)) => {
            lines::run(std::io::stdin().lock(), std::io::stdout(), work)
        }
        Some(Source::File(path)) => {
            let failure = |error| Failure::File { path: path.display().to_string(), error };
            lines::run(std::fs::File::open(&path).map_err(failure)?, std::io::stdout(), work)
        }
    }
}
