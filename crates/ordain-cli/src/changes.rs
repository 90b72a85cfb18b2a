//! Changes of files, as `apply`, `undo` and `note` show them.

use crate::exit::{Failure, Outcome};
use crate::output::print_json;
use crate::report::{BOLD, GREEN, RED, YELLOW, printable};
use crate::unified::{self, Reader};
use crate::wording::count;
use anstyle::Style;
use ordain_canon::ContentHash;
use ordain_harness::apply::{Applied, ApplyError, Change, ChangedFile, Problem};
use ordain_spec::patch::PatchOp;
use serde_json::json;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Prints what speaks against a change, one line for each; other failures are told where all are.
pub(crate) fn told<T>(result: Result<T, ApplyError>, json: bool) -> Result<T, Failure> {
    let (word, said, problems) = match result {
        Ok(value) => return Ok(value),
        Err(ApplyError::Refused(problems)) => ("refused", "nothing was changed", problems),
        Err(ApplyError::RolledBack(problem)) => {
            ("rolled back", "everything is as it was before", vec![problem])
        }
        Err(error) => return Err(error.into()),
    };
    if json {
        print_json(&json!({"applied": null, "because": word, "problems": problems}))?;
    } else {
        let mut stderr = anstream::stderr().lock();
        let found = count(problems.len() as u64, "problem");
        writeln!(stderr, "{RED}{word}{RED:#}  {said}: {found}")?;
        for Problem { path, problem } in &problems {
            writeln!(stderr, "  {BOLD}{}{BOLD:#}  {}", printable(path), printable(problem))?;
        }
    }
    Err(Failure::Reported)
}

pub(crate) fn show_applied(applied: &Applied, workspace: &Path, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(&json!({"applied": applied}));
    }
    let mut stdout = anstream::stdout().lock();
    let Some(record) = &applied.record else {
        writeln!(
            stdout,
            "{GREEN}nothing to change{GREEN:#}  every file is already as the patch set wants it"
        )?;
        return Ok(stdout.flush()?);
    };
    let files = count(applied.files.len() as u64, "file");
    writeln!(stdout, "{GREEN}applied{GREEN:#}  {files}, as {record}")?;
    write_files(&mut stdout, &applied.files)?;
    let place = match workspace {
        here if here == Path::new(".") => String::new(),
        there => format!(" --workspace {}", printable(&there.display().to_string())),
    };
    writeln!(stdout, "take it back with: ordain undo{place}")?;
    Ok(stdout.flush()?)
}

pub(crate) fn write_files(out: &mut impl Write, files: &[ChangedFile]) -> io::Result<()> {
    /// More than that are counted.
    const LISTED_MAX: usize = 100;
    files.iter().take(LISTED_MAX).try_for_each(|file| write_file(out, file.op, &file.path))?;
    match files.len().saturating_sub(LISTED_MAX) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more"),
    }
}

fn write_file(out: &mut impl Write, op: PatchOp, path: &str) -> io::Result<()> {
    let (style, sign): (Style, char) = match op {
        PatchOp::Create => (GREEN, '+'),
        PatchOp::Modify => (YELLOW, '~'),
        PatchOp::Delete => (RED, '-'),
    };
    writeln!(out, "  {style}{sign}{style:#} {}", printable(path))
}

pub(crate) fn show_changes(changes: &[Change], json: bool) -> Result<Outcome, Failure> {
    if json {
        let hash = |side: &Option<Vec<u8>>| side.as_ref().map(|bytes| ContentHash::of(bytes).to_string());
        let file = |change: &Change| json!({"path": change.path, "before": hash(&change.before), "after": hash(&change.after)});
        print_json(&json!({"would_change": changes.iter().map(file).collect::<Vec<_>>()}))?;
        return Ok(Outcome::Ok);
    }
    let colours = anstream::ColorChoice::global() == anstream::ColorChoice::Always;
    if colours || io::stdout().is_terminal() {
        unified::write(&mut io::BufWriter::new(anstream::stdout().lock()), changes, Reader::Person)?;
    } else {
        // As it is, byte for byte: a stream that takes colours out would take out of the contents what looks like one.
        unified::write(&mut io::BufWriter::new(io::stdout().lock()), changes, Reader::Program)?;
    }
    Ok(Outcome::Ok)
}
