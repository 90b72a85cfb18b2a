//! `ordain verify` on the folder of a run.

use crate::commands::verify::FileReport;
use crate::exit::{Failure, Outcome};
use crate::report::{self, GREEN, RED, printable};
use ordain_canon::Canonicalizer;
use ordain_run::{CheckedFile, verify_run_folder};
use std::io::Write;
use std::path::Path;

/// Prints what was found about each file; gives how the folder as a whole is.
pub(crate) fn verify(out: &mut impl Write, folder: &Path, json: bool) -> Result<Outcome, Failure> {
    let failure = |error| Failure::File { path: folder.display().to_string(), error };
    let files = verify_run_folder(folder).map_err(failure)?;
    for file in &files {
        let name = folder.join(&file.file).display().to_string();
        if json {
            let line = FileReport { file: Some(name), report: &file.report };
            out.write_all(Canonicalizer::new().value(&line)?)?;
            out.write_all(b"\n")?;
        } else {
            show(out, &name, file)?;
        }
    }
    if !json {
        let broken = files.iter().filter(|file| !file.report.ok()).count();
        let folder = folder.display().to_string();
        let folder = printable(&folder);
        match broken {
            0 => writeln!(
                out,
                "{GREEN}whole{GREEN:#}  {folder}: run, {} files, every link holds",
                files.len()
            )?,
            1 => writeln!(out, "{RED}broken{RED:#}  {folder}: run, 1 of {} files is wrong", files.len())?,
            _ => writeln!(
                out,
                "{RED}broken{RED:#}  {folder}: run, {broken} of {} files are wrong",
                files.len()
            )?,
        }
    }
    let whole = files.iter().all(|file| file.report.ok());
    Ok(if whole { Outcome::Ok } else { Outcome::Violations })
}

fn show(out: &mut impl Write, name: &str, file: &CheckedFile) -> std::io::Result<()> {
    let what = match file.kind {
        Some(kind) => kind.title(),
        None if file.file.starts_with("output/") => "output",
        None if file.file == "base.json" => "base",
        None if file.file.starts_with("intent.") => "intent",
        None => "file",
    };
    let name = printable(name);
    if file.report.ok() {
        writeln!(out, "{GREEN}valid{GREEN:#}  {name}: {what}")?
    } else {
        writeln!(out, "{RED}invalid{RED:#}  {name}: {what}")?
    }
    report::findings(out, &file.report)
}
