//! `ordain hash`.

use crate::arguments::Lines;
use crate::document::document_failure;
use crate::exit::{self, Failure, Outcome};
use crate::input::Unreadable;
use crate::lines::each;
use clap::{Args, ValueEnum};
use ordain_canon::{
    ActionHash, BundleHash, Canonicalizer, ContentHash, DecisionHash, EvidenceHash, IntentHash, NoteHash,
    PacketHash, PatchHash, PlanHash, ReadError, Value,
};
use ordain_spec::{Kind, document_text, intent};
use std::io::Write;

#[derive(ValueEnum, Clone, Copy)]
pub(crate) enum HashOf {
    /// A bundle: canonical JSON and a line feed
    Bundle,
    /// A plan proposal
    Plan,
    /// A patch set
    Patch,
    /// An action proposal, as approvals and decisions name it
    Action,
    /// An evidence packet
    Packet,
    /// A decision
    Decision,
    /// A note proposal, without its `hash`
    Note,
    /// Execution evidence, without what was `observed`
    Evidence,
    /// An intent: normalized, canonical JSON and a line feed
    Intent,
    /// The raw bytes of a file (with --jsonl: of a JSON string)
    Content,
}

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Hash {
    #[command(flatten)]
    pub(crate) lines: Lines,
    /// Which hash
    #[arg(long = "kind", value_enum, value_name = "WHAT")]
    pub(crate) what: HashOf,
}

pub(crate) fn run(args: &Hash, json: bool) -> Result<Outcome, Failure> {
    each(
        &args.lines,
        |canon, source| {
            // Content is what the file holds, whatever that is.
            let hash = if let HashOf::Content = args.what {
                ContentHash::of(&source.bytes()?).to_string()
            } else {
                let text = source.text()?;
                let hash = text.checked().and_then(|json| hash_text(canon, args.what, json));
                hash.map_err(|wrong| document_failure(source, &wrong))?
            };
            print_line("hash", &hash, json)
        },
        |canon, line, output| {
            let hash = match args.what {
                HashOf::Content => match Value::read(line)? {
                    Value::String(content) => ContentHash::of(content.as_bytes()).to_string(),
                    other => {
                        return Err(problem(format!(
                            "expected a string with the content, found {}",
                            other.kind()
                        )));
                    }
                },
                what => hash_text(canon, what, line)?,
            };
            write_line("hash", &hash, json, output);
            Ok(())
        },
    )
}

pub(super) fn problem(message: String) -> Unreadable {
    Unreadable { pointer: String::new(), message, offset: None }
}

fn hash_text(canon: &mut Canonicalizer, what: HashOf, text: &[u8]) -> Result<String, Unreadable> {
    fn named<T: ToString>(hash: Result<T, ReadError>) -> Result<String, Unreadable> {
        Ok(hash?.to_string())
    }
    match what {
        HashOf::Bundle => named(BundleHash::of_text(canon, text)),
        HashOf::Plan => named(PlanHash::of_text(canon, text)),
        HashOf::Patch => named(PatchHash::of_text(canon, text)),
        HashOf::Action => named(ActionHash::of_text(canon, text)),
        HashOf::Packet => named(PacketHash::of_text(canon, text)),
        HashOf::Decision => named(DecisionHash::of_text(canon, text)),
        HashOf::Note => named(NoteHash::of_text(canon, text)),
        HashOf::Evidence => named(EvidenceHash::of_text(canon, text)),
        HashOf::Content => Ok(ContentHash::of(text).to_string()),
        HashOf::Intent => {
            let document = Value::read(document_text(Kind::Intent, text))?;
            let normal = intent::normalize(&document).map_err(|error| problem(error.to_string()))?;
            let hash = IntentHash::of(canon, &normal).map_err(|error| problem(error.to_string()))?;
            Ok(hash.to_string())
        }
    }
}

pub(super) fn print_line(name: &'static str, value: &str, json: bool) -> Result<(), Failure> {
    let mut line = Vec::new();
    write_line(name, value, json, &mut line);
    line.push(b'\n');
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&line)?;
    Ok(stdout.flush()?)
}

/// Hashes and ids are plain ASCII: nothing to escape.
pub(super) fn write_line(name: &'static str, value: &str, json: bool, output: &mut Vec<u8>) {
    let line = if json { format!("{{\"{name}\":\"{value}\"}}") } else { value.to_owned() };
    output.extend_from_slice(line.as_bytes());
}
