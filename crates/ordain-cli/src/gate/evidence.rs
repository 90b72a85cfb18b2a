//! `ordain evidence add`.

use super::print_json;
use crate::args::EvidenceAdd;
use crate::canon::document_failure;
use crate::exit::{Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::input::Source;
use crate::report::{GREEN, printable};
use ordain_api::EvidenceReceipt;
use ordain_canon::{Canonicalizer, Value};
use std::io::Write;

pub(crate) fn add(args: &EvidenceAdd, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write, json)?;
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
            let reply = gateway.raw("POST", "/v1/evidence", Some(canon.value(packet)?.to_vec()))?;
            let received: EvidenceReceipt = super::read(&reply.body)?;
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
