//! Evidence: packets come from sensors, and stay.

use super::caller::Caller;
use super::conflict::Conflict;
use super::error::GateError;
use super::ids::EvidenceId;
use super::open::Gate;
use super::records::{Evidence, Versioned};
use super::transaction::{Reading, Step};
use ordain_api::{Event, EvidenceReceipt, FieldError};
use ordain_canon::{Canonicalizer, ContentHash, Value};
use ordain_spec::name::violation;
use ordain_spec::{Facts, Kind, verify_value};

impl Gate {
    /// Puts an evidence packet on record. The same one again changes nothing; another with the same id is refused.
    pub async fn receive(&self, caller: &Caller, text: &[u8]) -> Result<EvidenceReceipt, GateError> {
        let document = Value::read(text)?;
        let now_ms = i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX);
        // How old it may be depends on the proposal that it is for.
        let facts = Facts { now_ms: Some(now_ms), freshness_ms: i64::MAX, ..Facts::default() };
        let report = verify_value(Kind::Packet, &facts, &document);
        let mut errors: Vec<FieldError> = Vec::new();
        for violation in report.violations() {
            let rule_id = Some(violation.rule.name().to_string());
            let (path, message) = (violation.path.clone(), violation.message.clone());
            errors.push(FieldError { path, message, rule_id });
        }
        let text_of = |field: &str| document.get(field).and_then(Value::as_str).unwrap_or_default();
        for field in ["evidence_id", "sensor_id"] {
            let problem = violation(text_of(field)).filter(|_| errors.is_empty());
            errors.extend(problem.map(|problem| FieldError {
                path: format!("/{field}"),
                message: format!("`{field}` {problem}"),
                rule_id: None,
            }));
        }
        if !errors.is_empty() {
            return Err(GateError::Invalid { message: "this is not an evidence packet".to_owned(), errors });
        }
        let (id, sensor_id) = (text_of("evidence_id").to_owned(), text_of("sensor_id").to_owned());
        if !caller.carries_for(&sensor_id) {
            return Err(GateError::Forbidden(format!(
                "the token of `{}` may not speak for the sensor `{sensor_id}`",
                caller.principal
            )));
        }
        self.check_at_the_door(&document, &id, &sensor_id).await?;
        let bytes = Canonicalizer::new().value(&document)?.to_vec();
        let packet_document = ContentHash::of(&bytes);
        let receipt = |ledger_index: u64, new: bool| EvidenceReceipt {
            evidence_id: id.clone(),
            packet_hash: packet_document.to_string(),
            ledger_index,
            new,
        };
        let attempt = |_| {
            let bytes = bytes.clone();
            let (id, sensor_id) = (id.clone(), sensor_id.clone());
            async move {
                let record_id = EvidenceId::new(id.as_str());
                let known = Versioned::<Evidence>::read(&self.store, &record_id).await?;
                if let Some(known) = &known.body {
                    if known.sensor_id != sensor_id {
                        return Err(Conflict::Taken { id }.into());
                    }
                    if known.packet_document != packet_document {
                        return Err(Conflict::OtherPacket { evidence_id: id }.into());
                    }
                    return Ok(Step::Done((known.received_index, false)));
                }
                Ok(Step::write(vec![known.guard()], Vec::new(), move |writing| {
                    let received_index = writing.event(Event::EvidenceReceived {
                        evidence_id: id,
                        sensor_id: sensor_id.clone(),
                        packet_document: packet_document.to_string(),
                    });
                    writing.share(bytes);
                    writing.put(&record_id, &Evidence { packet_document, sensor_id, received_index })?;
                    Ok((received_index, true))
                }))
            }
        };
        let (ledger_index, new) = self.transact(caller, attempt).await?;
        Ok(receipt(ledger_index, new))
    }

    /// Evidence that no decision could ever count is not recorded: a packet without the signature that the
    /// policies demand, or with a wrong one. And ids that begin with the name of a sensor and a colon are
    /// that sensor's, so that nobody else can take them.
    async fn check_at_the_door(
        &self,
        packet: &Value<'_>,
        id: &str,
        sensor_id: &str,
    ) -> Result<(), GateError> {
        let (_, control) = self.control(Reading::Cached).await?;
        if control.policy.is_none() {
            return Ok(());
        }
        let loaded = self.policies(&control).await?;
        let owner = id.split_once(':').map(|(owner, _)| owner).filter(|owner| *owner != sensor_id);
        if let Some(owner) = owner.filter(|owner| loaded.set.knows_sensor(owner)) {
            return Err(GateError::invalid("/evidence_id", format!("belongs to the sensor `{owner}`")));
        }
        match loaded.set.signature_problem(packet) {
            None => Ok(()),
            Some(violation) => Err(GateError::Invalid {
                message: format!("the signature of `{sensor_id}` is missing or wrong"),
                errors: vec![FieldError {
                    path: violation.path,
                    message: violation.message,
                    rule_id: Some(violation.rule.name().to_string()),
                }],
            }),
        }
    }
}
