//! Evidence: packets come from sensors, and stay.

use super::caller::Caller;
use super::error::GateError;
use super::limits::TRIES_MAX;
use super::open::{Gate, Step, busy};
use super::records::{Evidence, Held, put};
use super::submit::name_problem;
use ordain_api::EvidenceReceipt;
use ordain_api::{Entry, Event, FieldError, Role};
use ordain_canon::{Canonicalizer, ContentHash, Value};
use ordain_spec::{Facts, Kind, verify_value};
use ordain_store::StoreError;

impl Gate {
    /// Puts an evidence packet on record. The same one again changes nothing; another with the same id is refused.
    pub async fn receive(&self, caller: &Caller, text: &[u8]) -> Result<EvidenceReceipt, GateError> {
        caller.must_be(&[Role::Sensor])?;
        let document = Value::read(text)?;
        let now_ms = i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX);
        // How old it may be depends on the proposal that it is for.
        let facts = Facts { now_ms: Some(now_ms), freshness_ms: i64::MAX, ..Facts::default() };
        let report = verify_value(Kind::Packet, &facts, &document);
        let mut faults: Vec<FieldError> = Vec::new();
        for it in report.violations() {
            let rule_id = Some(it.rule.name().to_string());
            faults.push(FieldError { path: it.path.clone(), message: it.message.clone(), rule_id });
        }
        let text_of = |field: &str| document.get(field).and_then(Value::as_str).unwrap_or_default();
        for field in ["evidence_id", "sensor_id"] {
            let problem = name_problem(text_of(field)).filter(|_| faults.is_empty());
            faults.extend(problem.map(|problem| FieldError {
                path: format!("/{field}"),
                message: format!("`{field}` {problem}"),
                rule_id: None,
            }));
        }
        if !faults.is_empty() {
            return Err(GateError::Invalid { message: "this is no evidence packet".to_owned(), faults });
        }
        let (id, sensor_id) = (text_of("evidence_id").to_owned(), text_of("sensor_id").to_owned());
        if !caller.holds(&sensor_id) {
            return Err(GateError::Forbidden(format!(
                "the token of `{}` may not speak for the sensor `{sensor_id}`",
                caller.principal
            )));
        }
        let bytes = Canonicalizer::new().value(&document)?.to_vec();
        let packet_document = ContentHash::of(&bytes).to_string();
        for _ in 0..TRIES_MAX {
            let held = Held::<Evidence>::read(&self.store, &id).await?;
            if let Some(known) = &held.body {
                if known.packet_document != packet_document {
                    return Err(GateError::Conflict(format!(
                        "there is another packet `{id}` already; what was observed anew needs a new id"
                    )));
                }
                let ledger_index = known.received_index;
                return Ok(EvidenceReceipt {
                    evidence_id: id,
                    packet_hash: packet_document,
                    ledger_index,
                    new: false,
                });
            }
            let entry = Entry::of(
                self.clock.now_ms(),
                &caller.principal,
                Event::EvidenceReceived {
                    evidence_id: id.clone(),
                    sensor_id: sensor_id.clone(),
                    packet_document: packet_document.clone(),
                },
            );
            let (record_id, sensor_id, document, bytes) =
                (id.clone(), sensor_id.clone(), packet_document.clone(), bytes.clone());
            let build = move |index: u64| {
                let evidence = Evidence { packet_document: document, sensor_id, received_index: index };
                Ok(Step {
                    documents: vec![bytes],
                    records: vec![put(&record_id, &evidence)],
                    entries: vec![entry],
                })
            };
            match self.commit(vec![held.guard()], build).await {
                Err(GateError::Store(StoreError::Conflict { .. })) => {}
                Err(error) => return Err(error),
                Ok(committed) => {
                    let ledger_index = committed.first_index;
                    return Ok(EvidenceReceipt {
                        evidence_id: id,
                        packet_hash: packet_document,
                        ledger_index,
                        new: true,
                    });
                }
            }
        }
        Err(busy())
    }
}
