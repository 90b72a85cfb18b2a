//! Owner acts on a gate with an owner: every operation that writes needs a signed statement, unless the table
//! says otherwise.

use ed25519_dalek::SigningKey;
use ordain_api::{NewApproverKey, OPERATIONS, OwnerAct};
use ordain_gate::{Caller, Clock, Gate, Keyring, Settings};
use ordain_server::App;
use ordain_spec::statement::{Signed, Statement};
use ordain_store::{Location, Store};
use serde_json::Value as Json;

/// The public key of the seed `[1; 32]`.
const PUBLIC: &str = "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w";

#[tokio::test]
async fn every_owner_act_is_refused_without_a_statement() {
    let store = Store::open(&Location::Memory).await.unwrap();
    let keyring = Keyring::ephemeral().unwrap();
    let gate = Gate::open(store, keyring, Clock::system(), Settings::default()).await.unwrap();
    let key = SigningKey::from_bytes(&[1; 32]);
    let new = NewApproverKey {
        principal: "ann".to_owned(),
        public_key: PUBLIC.to_owned(),
        owner: true,
        passkey: None,
    };
    let terms = gate.act_terms(OwnerAct::EnrolApproverKey.name()).await.unwrap();
    let statement = Statement::Act(terms.statement("ann", &new.subject(), 0));
    let signed = Signed::sign(&statement, &key).unwrap();
    let ann = Caller::local("ann").with_statements(vec![signed]);
    gate.enrol_approver_key(&ann, &new).await.unwrap();
    let app = App::new(gate);
    let mut refused = 0;
    for operation in OPERATIONS.iter().filter(|operation| operation.is_owner_act()) {
        let path = operation.path(&[("id", "x")]);
        let body = operation.body.as_ref().map(|_| b"{}".to_vec());
        let reply = app.call(Caller::local("ann"), operation.method.name(), &path, body).await;
        let problem: Json = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!((reply.status, &problem["code"]), (403, &"presence".into()), "{}", operation.id.name());
        refused += 1;
    }
    assert!(refused >= 7, "{refused} owner acts");
}
