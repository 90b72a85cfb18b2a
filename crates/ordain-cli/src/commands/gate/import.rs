//! `ordain gate import`.

use super::export::{DATABASE, FILES, copy_store};
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{read_note, runtime};
use crate::output::print_json;
use crate::report::{GREEN, printable};
use crate::signing::confirm_owner;
use clap::Args;
use ordain_gate::{Clock, Gate, GateError, Keyring, Settings, check_grown};
use ordain_ledger::SignedNote;
use ordain_state::{GateSettings, Home, open_private, write_private};
use ordain_store::{Location, Store};
use serde_json::json;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain gate import /media/backup/shop-gate --project ~/shop
  ordain gate import /media/backup/shop-gate --checkpoint last.txt", &[
    Outcome::Ok.means("imported"),
    Outcome::Failed.means("the copy is older than a checkpoint, or an error; nothing changed"),
]))]
pub(crate) struct GateImport {
    /// The folder that `gate export` wrote
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Register this folder with the gate
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// A checkpoint from elsewhere that the copy must agree with; may be given several times
    #[arg(long = "checkpoint", value_name = "FILE")]
    pub(crate) checkpoints: Vec<PathBuf>,
}

pub(super) fn run(args: &GateImport, json: bool) -> Result<Outcome, Failure> {
    let home = Home::from_environment()?;
    let settings = settings(&args.dir)?;
    let known = home.gate(&settings.id);
    if known.path().is_dir() {
        confirm_owner(&known, &format!("replace gate {} by {}", settings.id, args.dir.display()))?;
    }
    let mut notes = Vec::new();
    for path in [known.checkpoint(), args.dir.join("checkpoint")] {
        if path.exists() {
            notes.push(read_note(&path)?);
        }
    }
    for path in &args.checkpoints {
        notes.push(read_note(path)?);
    }
    check(&args.dir, &settings, &notes)?;
    let project =
        args.project.as_ref().map(|dir| ordain_state::Project::of(dir, settings.id.clone())).transpose()?;
    if known.path().is_dir() {
        known.write_settings(&settings)?;
    } else {
        home.create_gate(&settings)?;
    }
    // The store before the key and the checkpoint: whatever is broken off here is refused, and can be imported again.
    if settings.store.is_none() {
        let staged = known.path().join("ordain.db.import");
        let _ = std::fs::remove_file(&staged);
        copy_store(&args.dir.join(DATABASE), &staged)?;
        put_in_place(&staged, &known.database())?;
    }
    for name in FILES.into_iter().filter(|name| *name != "gate.json") {
        if let Some(text) = text(&args.dir.join(name))? {
            write_private(&known.path().join(name), &text)?;
        }
    }
    if let Some(project) = project {
        home.change_registry(|registry| match registry.at(&project.path) {
            Some(there) if there.gate == project.gate => Ok(()),
            _ => registry.add(&home, project),
        })?;
    }
    if json {
        print_json(&json!({"gate": settings.id, "state": known.path()}))?;
    } else {
        let state = known.path().display().to_string();
        writeln!(
            anstream::stdout(),
            "{GREEN}imported{GREEN:#}  gate {} to {}",
            settings.id,
            printable(&state)
        )?;
    }
    Ok(Outcome::Ok)
}

fn settings(dir: &Path) -> Result<GateSettings, Failure> {
    let path = dir.join("gate.json");
    let wrong = |problem: String| Failure::Document { path: path.display().to_string(), problem };
    let text = text(&path)?.ok_or_else(|| {
        wrong("is missing".to_owned()).with_hint("name a folder that `ordain gate export` wrote")
    })?;
    serde_json::from_str(&text).map_err(|error| wrong(format!("cannot be read: {error}")))
}

fn text(path: &Path) -> Result<Option<String>, Failure> {
    let Some(mut file) = open_private(path)? else { return Ok(None) };
    let mut text = String::new();
    let failure = |error| Failure::File { path: path.display().to_string(), error };
    file.read_to_string(&mut text).map_err(failure)?;
    Ok(Some(text))
}

/// That the store belongs to the key, and has everything that the checkpoints signed.
fn check(dir: &Path, settings: &GateSettings, notes: &[SignedNote]) -> Result<(), Failure> {
    let keyring = Keyring::open_existing(dir).map_err(|error| Failure::Server(error.to_string()))?;
    let keyring = keyring.ok_or_else(|| Failure::Document {
        path: dir.join("signing.key").display().to_string(),
        problem: "is missing, and the store is refused without it".to_owned(),
    })?;
    let location = match &settings.store {
        Some(url) => Location::Postgres(url.clone()),
        None => Location::File(dir.join(DATABASE)),
    };
    runtime(1)?.block_on(async {
        let store = Store::open_to_read(&location).await.map_err(GateError::from)?;
        let gate = Gate::open_to_look(store, keyring.clone(), Clock::system(), Settings::default()).await?;
        for note in notes {
            let grown = check_grown(gate.store(), Some(&keyring), note).await;
            grown.map_err(|error| match error {
                GateError::Damaged(problem) => Failure::Damaged { path: location.to_string(), problem },
                error => error.into(),
            })?;
        }
        gate.store().clone().close().await.map_err(GateError::from)?;
        Ok(())
    })
}

/// Replaces a store that nobody uses.
fn put_in_place(staged: &Path, database: &Path) -> Result<(), Failure> {
    let failure = |error| Failure::File { path: database.display().to_string(), error };
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    if std::fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0) {
        let problem = "somebody uses this store, or stopped without closing it".to_owned();
        let failure = Failure::Document { path: database.display().to_string(), problem };
        return Err(failure.with_hint("stop the server, run `ordain status`, then import again"));
    }
    std::fs::rename(staged, database).map_err(failure)
}
