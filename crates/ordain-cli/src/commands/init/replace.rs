//! `ordain init --replace`: a new gate for a project whose gate nobody can change any more, because the keys
//! of its owners are lost.
//!
//! An agent can make a terminal of its own. So this command takes nothing from the old gate: a person moves
//! its folder aside by hand, which only the user can do to whom the gate belongs, and which ordain does not
//! do.

use super::gate::{NewGate, absolute};
use crate::exit::Failure;
use crate::gateway::{approver_keys_of, location_of, read_note, runtime};
use crate::prompt;
use crate::report::{self, printable};
use crate::signing;
use ordain_api::{Event, ReplacedGate};
use ordain_gate::{Clock, Gate, GateError, Keyring, Settings, check_grown};
use ordain_presence::{KeyFile, Terminal, protect_process};
use ordain_state::{GateFolder, Home};
use ordain_store::Store;
use std::path::Path;

/// Makes the new gate and registers it in the place of the old one.
pub(super) fn run(dir: &Path, store: Option<&str>) -> Result<(), Failure> {
    let home = Home::from_environment()?;
    let folder = absolute(dir)?;
    let Some(project) = home.registry()?.at(&folder).cloned() else {
        let problem = "no gate is registered for this folder".to_owned();
        let failure = Failure::Document { path: dir.display().to_string(), problem };
        return Err(failure.with_hint("run `ordain init`, or name the project's own folder"));
    };
    let old = home.replaced_gate(&project.gate);
    check_moved(&home.gate(&project.gate), &old)?;
    check_other_key(&old)?;
    let new = NewGate::of(home, store)?;
    let replaced = last_words(&old)?;
    confirm(&folder, &replaced)?;
    let id = new.replace(&project.path, replaced)?;
    old.retire(&id)?;
    let said = format!("gate {id} took the place of {}, which is kept in {}", old.id(), old.path().display());
    report::note(&said, Some("look at your policies, then run `ordain policy push`; none are in force"));
    Ok(())
}

/// That a person took the old gate out of use.
fn check_moved(gate: &GateFolder, aside: &GateFolder) -> Result<(), Failure> {
    if gate.path().symlink_metadata().is_err() && aside.path().is_dir() {
        return Ok(());
    }
    let problem = format!("the gate {} is in use; nothing was changed", gate.id());
    let failure = Failure::Document { path: gate.path().display().to_string(), problem };
    let hint = format!(
        "an owner's key changes it. If every owner's key is lost, stop what runs on it, move its folder aside and try again: \
         `mv {} {}`",
        gate.path().display(),
        aside.path().display()
    );
    Err(failure.with_hint(hint))
}

/// That the key which will own the new gate is not the one that is said to be lost.
fn check_other_key(old: &GateFolder) -> Result<(), Failure> {
    let path = signing::key_path()?;
    let Ok(file) = KeyFile::open(&path) else { return Ok(()) };
    let public = signing::public_text(&file);
    // A record that cannot be read does not keep its gate from being replaced.
    let owners = approver_keys_of(old).unwrap_or_default();
    if !owners.iter().any(|key| key.owner && key.is_in_force() && key.public_key == public) {
        return Ok(());
    }
    let problem = "is the key of an owner of the old gate; nothing was changed".to_owned();
    let failure = Failure::Document { path: path.display().to_string(), problem };
    let hint = format!(
        "if you know its passphrase, put the gate's folder back and use it; if not, move it away: `mv {0} {0}.lost`",
        path.display()
    );
    Err(failure.with_hint(hint))
}

/// The state of the old ledger at its end.
fn last_words(old: &GateFolder) -> Result<ReplacedGate, Failure> {
    let location = location_of(old)?;
    let keyring = Keyring::open_existing(old.path()).map_err(|error| Failure::Server(error.to_string()))?;
    let kept = old.checkpoint();
    let kept = if kept.exists() { Some(read_note(&kept)?) } else { None };
    runtime(1)?.block_on(async {
        let store = Store::open_to_read(&location).await.map_err(GateError::from)?;
        if let Some(kept) = &kept {
            check_grown(&store, keyring.as_ref(), kept).await?;
        }
        let first = store.entries(0, 1).await.map_err(GateError::from)?;
        let entry =
            first.first().and_then(|row| serde_json::from_slice::<ordain_api::Entry>(&row.bytes).ok());
        let Some(Event::Opened { origin, .. }) = entry.map(|entry| entry.event) else {
            return Err(GateError::Damaged("the first entry does not begin a ledger".to_owned()).into());
        };
        // The end of it, or what was signed last.
        let signed = match keyring {
            Some(keyring) => {
                let (clock, settings) = (Clock::system(), Settings::default());
                match Gate::open_to_look(store.clone(), keyring, clock, settings).await {
                    Ok(gate) => gate.checkpoint().await.ok(),
                    Err(_) => None,
                }
            }
            None => None,
        };
        let Some(checkpoint) = signed.or(kept) else {
            let problem =
                "has neither a key nor a checkpoint: nobody can tell what its ledger was".to_owned();
            return Err(Failure::Document { path: old.path().display().to_string(), problem });
        };
        store.close().await.map_err(GateError::from)?;
        Ok(ReplacedGate { gate_id: old.id().to_string(), origin, checkpoint: checkpoint.to_string() })
    })
}

/// Says what is about to happen, and has the person type the folder's name.
fn confirm(folder: &Path, replaced: &ReplacedGate) -> Result<(), Failure> {
    protect_process()?;
    let mut terminal = Terminal::open().map_err(signing::terminal_failure)?;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = format!(
        "\nThis makes a NEW gate for {}, in the place of {}.\n\
         Nothing of the old one carries over: no policy, no token, no approval, no permit, no key.\n\
         Hooks and clients that know the old gate refuse the new one until you set them up again.\n\n",
        printable(&folder.display().to_string()),
        replaced.gate_id,
    );
    prompt::say(&mut terminal, &text)?;
    let asked = format!("Type the name of the folder (`{}`) to go on: ", printable(&name));
    let typed = prompt::ask(&mut terminal, &asked)?;
    if typed == name {
        return Ok(());
    }
    Err(Failure::Usage("that is not the name of the folder; nothing was changed".to_owned()))
}
