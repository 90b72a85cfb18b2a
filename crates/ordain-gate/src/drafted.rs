//! Notes that models drafted: each is on the ledger before its requester gets it.

use super::caller::Caller;
use super::error::GateError;
use super::open::Gate;
use super::transaction::Step;
use ordain_api::Event;
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
        let bytes = Canonicalizer::new().value(&**note)?.to_vec();
        let event = Event::Drafted {
            proposal_id: note.id.clone(),
            note_document: ContentHash::of(&bytes).to_string(),
            model: model.to_owned(),
            attempts,
        };
        let attempt = |_| {
            let (event, bytes) = (event.clone(), bytes.clone());
            async move { Ok(Step::write(Vec::new(), vec![bytes], move |writing| Ok(writing.event(event)))) }
        };
        self.transact(caller, attempt).await
    }
}
