//! `ordain plan`.

use crate::args::Plan;
use crate::document::{Made, check_stdin_once, emit, load};
use crate::exit::{Failure, Outcome};
use ordain_kernel::plan;
use ordain_spec::bundle::{Bundle, Output};
use ordain_spec::intent::Intent;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

pub(crate) fn run(args: &Plan, json: bool) -> Result<Outcome, Failure> {
    check_stdin_once(&[&args.bundle, &args.intent])?;
    let bundle = load::<Bundle>(&args.bundle, json)?;
    let intent = load::<Intent>(&args.intent, json)?;
    let existing = existing(&args.workspace, &bundle.document.outputs)?;
    let proposal = plan(&bundle.document, &intent.value()?, &existing)
        .map_err(|error| Failure::Document { path: bundle.source.name(), problem: error.to_string() })?;
    let made = Made {
        title: format!("plan {}", proposal.id),
        name: ("id", proposal.id.clone()),
        summary: proposal.summary.clone(),
    };
    emit(&proposal, args.output.as_deref(), json, made)?;
    Ok(Outcome::Ok)
}

/// Which outputs are there already. A link counts as what it is, not as what it leads to.
fn existing(workspace: &Path, outputs: &[Output]) -> Result<BTreeSet<String>, Failure> {
    let refused =
        |path: &Path, problem: String| Failure::Document { path: path.display().to_string(), problem };
    match fs::metadata(workspace) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(refused(workspace, "the workspace is not a folder".to_owned())),
        Err(error) => return Err(refused(workspace, format!("the workspace cannot be read: {error}"))),
    }
    let mut existing = BTreeSet::new();
    for output in outputs {
        let path = workspace.join(&output.path);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                let problem =
                    "is a folder, but the bundle writes a file there; move it away, or use another \
                               workspace"
                        .to_owned();
                return Err(refused(&path, problem));
            }
            Ok(_) => drop(existing.insert(output.path.clone())),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                let problem =
                    "cannot be written: what should be a folder on the way to it is a file".to_owned();
                return Err(refused(&path, problem));
            }
            Err(error) => return Err(Failure::File { path: path.display().to_string(), error }),
        }
    }
    Ok(existing)
}
