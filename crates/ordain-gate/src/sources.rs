//! Sources: what a host says about a call. They go on record beside the action, and nothing is decided by them.

use super::error::GateError;
use super::ids::EvidenceId;
use super::limits::SOURCES_BYTES_MAX;
use super::open::Gate;
use super::records::{Evidence, Versioned};
use super::transaction::Writing;
use ordain_api::{Event, FieldError};
use ordain_canon::{Canonicalizer, ContentHash, PayloadHash, Value};
use ordain_spec::action::HOOK_SENSOR;
use ordain_spec::packet::{EvidencePacket, PacketType};
use ordain_spec::{NonEmpty, Sha256};
use ordain_store::Guard;

/// A packet of the sensor `ordain-hook`, ready to be written.
pub(crate) struct Sources {
    evidence_id: EvidenceId,
    known: Versioned<Evidence>,
    packet: Vec<u8>,
}

impl Sources {
    /// The call in a document, and its sources if it brings some.
    pub(crate) fn split<'d, 'v>(
        document: &'d Value<'v>,
    ) -> Result<(&'d Value<'v>, Option<&'d Value<'v>>), GateError> {
        let Some(call) = document.get("call") else { return Ok((document, None)) };
        let error = |path: String, message: &str| GateError::Invalid {
            message: "this is not a call with its sources".to_owned(),
            errors: vec![FieldError { path, message: message.to_owned(), rule_id: None }],
        };
        let members = document.as_object().unwrap_or_default();
        if let Some((other, _)) = members.iter().find(|(name, _)| name != "call" && name != "sources") {
            return Err(error(format!("/{other}"), "unknown field"));
        }
        match document.get("sources") {
            Some(sources @ Value::Object(_)) => Ok((call, Some(sources))),
            _ => Err(error("/sources".to_owned(), "must be there, and an object")),
        }
    }

    pub(crate) fn guard(&self) -> Guard {
        self.known.guard()
    }

    pub(crate) fn write(self, writing: &mut Writing) -> Result<(), GateError> {
        let Self { evidence_id, known: _, packet } = self;
        let packet_document = ContentHash::of(&packet);
        let received_index = writing.event(Event::EvidenceReceived {
            evidence_id: evidence_id.to_string(),
            sensor_id: HOOK_SENSOR.to_owned(),
            packet_document: packet_document.to_string(),
        });
        writing.share(packet);
        let sensor_id = HOOK_SENSOR.to_owned();
        writing.put(&evidence_id, &Evidence { packet_document, sensor_id, received_index })
    }
}

impl Gate {
    /// The packet with the sources of a call; nothing if it is on record already.
    pub(crate) async fn sources(
        &self,
        call_id: &str,
        payload: &Value<'_>,
        now_ms: u64,
    ) -> Result<Option<Sources>, GateError> {
        let evidence_id = format!("{HOOK_SENSOR}:{call_id}");
        let record_id = EvidenceId::new(evidence_id.as_str());
        let known = Versioned::<Evidence>::read(&self.store, &record_id).await?;
        if known.body.is_some() {
            return Ok(None);
        }
        let mut canon = Canonicalizer::new();
        let payload_hash = Sha256::from(PayloadHash::of(&mut canon, payload)?);
        let text = canon.value(payload)?;
        if text.len() > SOURCES_BYTES_MAX {
            let problem = format!("the sources have more than {SOURCES_BYTES_MAX} bytes");
            return Err(GateError::invalid("/sources", problem));
        }
        let damaged = |error: serde_json::Error| GateError::invalid("/sources", error.to_string());
        let payload = serde_json::from_slice(text).map_err(damaged)?;
        let packet = EvidencePacket {
            evidence_id: NonEmpty::of(evidence_id),
            packet_type: PacketType::Environment,
            sensor_id: NonEmpty::of(HOOK_SENSOR.to_owned()),
            sensor_type: NonEmpty::of("hook".to_owned()),
            observed_at_ms: now_ms,
            received_at_ms: now_ms,
            payload,
            payload_hash,
            context: None,
            sensor_signature: None,
        };
        Ok(Some(Sources { evidence_id: record_id, known, packet: canon.value(&packet)?.to_vec() }))
    }
}
