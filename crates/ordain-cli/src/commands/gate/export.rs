//! `ordain gate export`.

use super::{check_known, gate_id};
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Place, location_of, runtime};
use crate::output::print_json;
use crate::report::{GREEN, printable};
use clap::Args;
use ordain_gate::GateError;
use ordain_state::{GateFolder, GateId, Home, make_private_folder, open_private, write_private};
use ordain_store::{Location, Store};
use serde_json::json;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The files of an export, besides the store.
pub(super) const FILES: [&str; 3] = ["gate.json", "signing.key", "checkpoint"];
/// The store of an export, unless it is a database elsewhere.
pub(super) const DATABASE: &str = "ordain.db";

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain gate export /media/backup/shop-gate

The folder has the signing key and perhaps the password of a database: keep it as safe as the gate itself.", exit::PLAIN))]
pub(crate) struct GateExport {
    /// The folder to write, which must not be there
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// The gate [default: the one of this project]
    #[arg(long, value_name = "ID", value_parser = gate_id)]
    pub(crate) gate: Option<GateId>,
}

pub(super) fn run(args: &GateExport, json: bool) -> Result<Outcome, Failure> {
    let home = Home::from_environment()?;
    let gate = match &args.gate {
        Some(id) => {
            check_known(&home, id)?;
            home.gate(id)
        }
        None => Place::find()?.gate,
    };
    let path = args.dir.display().to_string();
    if args.dir.symlink_metadata().is_ok() {
        return Err(Failure::Document { path, problem: "exists already; nothing was written".to_owned() });
    }
    make_private_folder(&args.dir)?;
    write(&gate, &args.dir).inspect_err(|_| {
        // Half an export is none.
        let _ = std::fs::remove_dir_all(&args.dir);
    })?;
    if json {
        print_json(&json!({"gate": gate.id(), "folder": path}))?;
    } else {
        writeln!(anstream::stdout(), "{GREEN}exported{GREEN:#}  gate {} to {}", gate.id(), printable(&path))?;
    }
    Ok(Outcome::Ok)
}

fn write(gate: &GateFolder, dir: &Path) -> Result<(), Failure> {
    // The checkpoint first: the store only grows, so that the copy has at least what it signs.
    for name in FILES {
        let Some(mut file) = open_private(&gate.path().join(name))? else { continue };
        let mut text = String::new();
        let failure = |error| Failure::File { path: gate.path().join(name).display().to_string(), error };
        file.read_to_string(&mut text).map_err(failure)?;
        write_private(&dir.join(name), &text)?;
    }
    if let Location::File(from) = location_of(gate)? {
        copy_store(&from, &dir.join(DATABASE))?;
    }
    Ok(())
}

/// Copies a store as it is at this moment.
pub(super) fn copy_store(from: &Path, to: &Path) -> Result<(), Failure> {
    write_private(to, "")?;
    let copied = runtime(1)?.block_on(Store::copy_file(from, to));
    Ok(copied.map_err(GateError::from)?)
}
