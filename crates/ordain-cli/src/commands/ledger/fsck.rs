//! `ordain ledger fsck`, and the check of a local ledger that `ledger verify` shares with it.

use super::{OtherGate, entries};
use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose, read_note, runtime};
use crate::output::print_json;
use crate::progress::Progress;
use crate::report::{GREEN, RED, printable};
use crate::wording::{count, shell_word};
use clap::Args;
use ordain_api::Audit;
use ordain_gate::NamedNote;
use ordain_store::Store;
use std::io::Write;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
With --server or the service, the server checks its own store, and its answer is taken for true. `ordain ledger verify --server` and \
`ordain replay --server` check what can be checked without believing it.", &[
    Outcome::Ok.means("the ledger and the records are sound"),
    Outcome::Failed.means("something is damaged; the first bad entry is named"),
    Outcome::NoResult.means("they could not be checked"),
]))]
pub(crate) struct LedgerFsck {
    /// A checkpoint from elsewhere that the ledger must still agree with; may be given several times
    #[arg(long = "checkpoint", value_name = "FILE")]
    pub(crate) checkpoints: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) other: OtherGate,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &LedgerFsck, json: bool) -> Result<Outcome, Failure> {
    if args.other.is_served(&args.connect)? {
        return check_server(args, json);
    }
    check(&args.other, &args.checkpoints, Depth::Records, json)
}

/// Lets a server check its own store.
fn check_server(args: &LedgerFsck, json: bool) -> Result<Outcome, Failure> {
    if !args.checkpoints.is_empty() {
        let server = args.connect.server.as_ref().map(|url| format!(" --server {url}")).unwrap_or_default();
        let files: Vec<String> = args
            .checkpoints
            .iter()
            .map(|path| format!(" --checkpoint {}", shell_word(&path.display().to_string())))
            .collect();
        let hint = format!(
            "run `ordain ledger verify{server}{} --key VERIFIER` with the server's key",
            files.concat()
        );
        let problem =
            "`--checkpoint` compares with a store, and the server answers only for itself".to_owned();
        return Err(Failure::Usage(problem).with_hint(hint));
    }
    let audit = Gateway::open(&args.connect, Purpose::Look)?.client().fsck()?;
    told(&audit, &compared(&audit), json)
}

/// How far a check goes.
#[derive(Clone, Copy)]
pub(super) enum Depth {
    Ledger,
    Records,
}

/// Checks what is stored without changing anything: the policies are not loaded and nothing is recorded.
pub(super) fn check(
    other: &OtherGate,
    checkpoints: &[PathBuf],
    depth: Depth,
    json: bool,
) -> Result<Outcome, Failure> {
    let place = other.place()?;
    place.check_there()?;
    let runtime = runtime(1)?;
    let mut notes = notes(checkpoints)?;
    let kept = place.signed()?;
    notes.extend(kept.map(|(path, note)| NamedNote { name: path.display().to_string(), note, own: true }));
    let keyring = place.existing_keyring()?;
    let mut progress = Progress::new("entries", None);
    let mut before = 0;
    let audit = runtime.block_on(async {
        let store = Store::open_to_read(&place.location).await?;
        let verifiers = ordain_gate::verifiers(&store, keyring.as_ref()).await?;
        let mut step = |done: u64, _: u64| {
            progress.add(usize::try_from(done - before).unwrap_or_default());
            before = done;
        };
        let audit = match depth {
            Depth::Ledger => ordain_gate::audit(&store, &verifiers, &notes, &mut step).await?,
            Depth::Records => ordain_gate::fsck(&store, &verifiers, &notes, &mut step).await?,
        };
        store.close().await?;
        Ok::<Audit, ordain_gate::GateError>(audit)
    })?;
    drop(progress);
    told(&audit, &compared(&audit), json)
}

/// The parts of a store that were compared besides the entries.
fn compared(audit: &Audit) -> String {
    let checkpoints = match audit.checkpoints {
        0 => "no checkpoint is at hand to compare with".to_owned(),
        1 => "agrees with a checkpoint".to_owned(),
        number => format!("agrees with {number} checkpoints"),
    };
    format!("{}, {checkpoints}", count(audit.documents.unwrap_or_default(), "document"))
}

pub(super) fn notes(paths: &[PathBuf]) -> Result<Vec<NamedNote>, Failure> {
    let named = |path: &PathBuf| {
        Ok(NamedNote { name: path.display().to_string(), note: read_note(path)?, own: false })
    };
    paths.iter().map(named).collect()
}

/// `of_what`: what was compared besides the entries.
pub(super) fn told(audit: &Audit, of_what: &str, json: bool) -> Result<Outcome, Failure> {
    let outcome = match (audit.damage.is_empty(), audit.unusable.is_empty()) {
        (true, true) => Outcome::Ok,
        (true, false) => Outcome::NoResult,
        (false, _) => Outcome::Failed,
    };
    if json {
        print_json(audit)?;
        return Ok(outcome);
    }
    let mut stdout = anstream::stdout().lock();
    if outcome == Outcome::Ok {
        writeln!(
            stdout,
            "{GREEN}verified{GREEN:#}  {}, {of_what}; root {}",
            entries(audit.size),
            audit.root
        )?;
        return Ok(outcome);
    }
    if !audit.damage.is_empty() {
        writeln!(stdout, "{RED}damaged{RED:#}  {}", count(audit.damage.len() as u64, "problem"))?;
    }
    for damage in &audit.damage {
        let place = damage.index.map_or_else(|| "the ledger".to_owned(), |index| format!("entry {index}"));
        writeln!(stdout, "  {place}: {}", printable(&damage.problem))?;
    }
    if !audit.unusable.is_empty() {
        writeln!(stdout, "{RED}not verified{RED:#}  {}", count(audit.unusable.len() as u64, "doubt"))?;
        for problem in &audit.unusable {
            writeln!(stdout, "  {}", printable(problem))?;
        }
        writeln!(
            stdout,
            "  Where a key was rotated, or several nodes sign, every key is needed; `ordain keys list` shows them."
        )?;
    }
    Ok(outcome)
}
