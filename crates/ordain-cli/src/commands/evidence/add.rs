//! `ordain evidence add`.

use crate::arguments::Connect;
use crate::document::document_failure;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::input::Source;
use crate::output::print_json;
use crate::report::{GREEN, printable};
use clap::Args;
use ordain_canon::{Canonicalizer, Value};
use std::io::Write;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct EvidenceAdd {
    /// Evidence packets: files with one or with an array of them; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &EvidenceAdd, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let mut canon = Canonicalizer::new();
    for path in &args.files {
        let source = Source::of(path);
        let text = source.text()?;
        let document = text.read(&text.json).map_err(|wrong| document_failure(&source, &wrong))?;
        let packets = match document {
            Value::Array(packets) => packets,
            packet => vec![packet],
        };
        for packet in &packets {
            let received = gateway.client().add_evidence(canon.value(packet)?)?;
            if json {
                print_json(&received)?;
            } else {
                let said = format!(
                    "{}, {}, entry {}",
                    received.evidence_id, received.packet_hash, received.ledger_index
                );
                writeln!(anstream::stdout(), "{GREEN}on record{GREEN:#}  {}", printable(&said))?;
            }
        }
    }
    Ok(Outcome::Ok)
}
