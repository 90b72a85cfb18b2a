//! Notes that models drafted: whoever was given one finds it on the ledger.

use super::caller::Caller;
use super::error::GateError;
use super::open::{Gate, Step};
use ordain_api::{Entry, Event, Role};
use ordain_canon::{Canonicalizer, ContentHash};
use ordain_spec::Verified;
use ordain_spec::note::Proposal;

impl Gate {
    /// Records a note proposal before its requester gets it. `attempts` are the calls of the model that it took.
    pub async fn drafted(
        &self,
        caller: &Caller,
        note: &Verified<Proposal>,
        model: &str,
        attempts: u32,
    ) -> Result<u64, GateError> {
        caller.must_be(&[Role::Actor])?;
        let bytes = Canonicalizer::new().value(&**note)?.to_vec();
        let event = Event::Drafted {
            proposal_id: note.id.clone(),
            note_document: ContentHash::of(&bytes).to_string(),
            model: model.to_owned(),
            attempts,
        };
        let entry = Entry::of(self.clock.now_ms(), &caller.principal, event);
        let step = move |_| Ok(Step { documents: vec![bytes], records: Vec::new(), entries: vec![entry] });
        Ok(self.commit(Vec::new(), step).await?.first_index)
    }
}
