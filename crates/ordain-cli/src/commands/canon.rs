//! `ordain canon`.

use crate::arguments::Lines;
use crate::document::document_failure;
use crate::exit::{self, Failure, Outcome};
use crate::lines::each;
use clap::Args;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Canon {
    #[command(flatten)]
    pub(crate) lines: Lines,
}

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
