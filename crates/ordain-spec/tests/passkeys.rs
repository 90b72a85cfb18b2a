//! Passkeys: an assertion counts for one statement, one page and one verified person, and for nothing else.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

use base64ct::{Base64UrlUnpadded, Encoding};
use ed25519_dalek::{Signer, SigningKey};
use ordain_canon::ContentHash;
use ordain_spec::approval::{Approval, Verdict};
use ordain_spec::statement::{
    ApprovalStatement, ApproverKey, ApproverKeys, Assurance, KeyError, Passkey, PasskeyAlgorithm, Session,
    SignatureError, SignatureMethod, Signed, Statement,
};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value as Json, json};

const ORIGIN: &str = "http://0123456789abcdef.localhost:7171";
const HOST: &str = "0123456789abcdef.localhost";

/// An authenticator, made of two libraries that nothing else of a passkey uses to sign.
enum Authenticator {
    Es256(EcdsaKeyPair),
    Eddsa(SigningKey),
}

impl Authenticator {
    fn both() -> [Self; 2] {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, document.as_ref(), &random).unwrap();
        [Self::Es256(pair), Self::Eddsa(SigningKey::from_bytes(&[7; 32]))]
    }

    fn public(&self) -> String {
        match self {
            Self::Es256(pair) => Base64UrlUnpadded::encode_string(pair.public_key().as_ref()),
            Self::Eddsa(key) => Base64UrlUnpadded::encode_string(key.verifying_key().as_bytes()),
        }
    }

    fn passkey(&self) -> Passkey {
        Passkey {
            aaguid: "0".repeat(32),
            algorithm: match self {
                Self::Es256(_) => PasskeyAlgorithm::Es256,
                Self::Eddsa(_) => PasskeyAlgorithm::Eddsa,
            },
            backed_up: false,
            backup_eligible: true,
            credential_id: "AAEC".to_owned(),
            origin: ORIGIN.to_owned(),
            rp_id: HOST.to_owned(),
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Es256(pair) => pair.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
            Self::Eddsa(key) => key.sign(message).to_bytes().to_vec(),
        }
    }

    fn key(&self) -> ApproverKey {
        ApproverKey {
            key_id: self.passkey().key_id(&self.public()).unwrap(),
            principal: "alice".to_owned(),
            public_key: self.public(),
            passkey: Some(self.passkey()),
            owner: false,
            enrolled_index: 3,
            revoked_index: None,
        }
    }

    /// An assertion of these parts.
    fn assert(&self, statement: &str, host: &str, flags: u8, client: &Json) -> Signed {
        let client = client.to_string().into_bytes();
        let mut data = ContentHash::of(host.as_bytes()).as_bytes().to_vec();
        data.extend([flags, 0, 0, 0, 9]);
        let signature = self.sign(&[data.as_slice(), ContentHash::of(&client).as_bytes()].concat());
        self.signed(statement, &[&data, &client, &signature])
    }

    fn signed(&self, statement: &str, parts: &[&[u8]]) -> Signed {
        let parts: Vec<String> = parts.iter().map(|part| Base64UrlUnpadded::encode_string(part)).collect();
        let key_id = self.passkey().key_id(&self.public()).unwrap();
        Signed {
            statement: statement.to_owned(),
            method: SignatureMethod::Webauthn,
            key_id,
            signature: parts.join("."),
        }
    }

    fn verify(&self, signed: &Signed) -> Result<Statement, SignatureError> {
        signed.verify(&self.public(), Some(&self.passkey()))
    }
}

/// The person is there and was verified; the key can be copied.
const FLAGS: u8 = 0b1101;

fn client(statement: &str) -> Json {
    let challenge = Base64UrlUnpadded::encode_string(ContentHash::of(statement.as_bytes()).as_bytes());
    json!({"type": "webauthn.get", "challenge": challenge, "origin": ORIGIN, "crossOrigin": false, "other": 1})
}

fn hash(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

fn statement() -> ApprovalStatement {
    ApprovalStatement {
        origin: "ordain/0123456789abcdef".to_owned(),
        principal: "alice".to_owned(),
        action_id: "p1".to_owned(),
        proposal_hash: hash('a'),
        view_digest: hash('b'),
        verdict: Verdict::Approve,
        scope: "once".to_owned(),
        assurance: Assurance::Presence,
        session: None,
        reason_hash: ordain_spec::statement::reason_hash("fine"),
        at_ms: 1_800_000_000_000,
        not_after_ms: 1_800_000_600_000,
        nonce: "bm9uY2U".to_owned(),
    }
}

fn text(statement: ApprovalStatement) -> String {
    Statement::Approval(statement).text().unwrap()
}

#[test]
fn an_assertion_over_the_statement_counts() {
    for authenticator in Authenticator::both() {
        let text = text(statement());
        let signed = authenticator.assert(&text, HOST, FLAGS, &client(&text));
        assert_eq!(authenticator.verify(&signed), Ok(Statement::Approval(statement())));
        let keys = ApproverKeys { keys: vec![authenticator.key()] };
        assert!(keys.verify(&signed).is_ok());
        // It says nothing with another key, another method or somebody else's name.
        for other in Authenticator::both() {
            assert!(
                signed.verify(&other.public(), Some(&other.passkey())).is_err()
                    || other.public() == authenticator.public()
            );
        }
        let plain = Signed { method: SignatureMethod::Ed25519, ..signed.clone() };
        assert_eq!(authenticator.verify(&plain), Err(SignatureError::Method(SignatureMethod::Ed25519)));
        let keys =
            ApproverKeys { keys: vec![ApproverKey { principal: "bob".to_owned(), ..authenticator.key() }] };
        assert!(matches!(keys.verify(&signed), Err(KeyError::OtherPrincipal { .. })));
    }
}

#[test]
fn each_changed_field_of_the_statement_is_refused() {
    let changes: [fn(&mut ApprovalStatement); 11] = [
        |it| it.origin.push('0'),
        |it| it.principal = "mallory".to_owned(),
        |it| it.action_id = "p2".to_owned(),
        |it| it.proposal_hash = hash('c'),
        |it| it.view_digest = hash('c'),
        |it| it.verdict = Verdict::Reject,
        |it| it.scope = hash('c'),
        |it| it.reason_hash = hash('c'),
        |it| it.at_ms += 1,
        |it| it.not_after_ms += 1,
        |it| it.nonce.push('A'),
    ];
    for authenticator in Authenticator::both() {
        let signed = authenticator.assert(&text(statement()), HOST, FLAGS, &client(&text(statement())));
        for change in changes {
            let mut changed = statement();
            change(&mut changed);
            let changed = Signed { statement: text(changed), ..signed.clone() };
            let said = authenticator.verify(&changed).unwrap_err().to_string();
            assert!(said.contains("challenge"), "{said}");
        }
    }
}

#[test]
fn another_page_another_host_and_an_unverified_person_are_refused() {
    for authenticator in Authenticator::both() {
        let text = text(statement());
        let refused = |host: &str, flags: u8, client: Json, says: &str| {
            let said = authenticator
                .verify(&authenticator.assert(&text, host, flags, &client))
                .unwrap_err()
                .to_string();
            assert!(said.contains(says), "{said}");
        };
        let with = |name: &str, value: Json| {
            let mut client = client(&text);
            client[name] = value;
            client
        };
        refused("localhost", FLAGS, client(&text), "another host");
        refused(HOST, 0b1001, client(&text), "verified");
        refused(HOST, 0b1100, client(&text), "verified");
        refused(HOST, 0b0101, client(&text), "copied");
        refused(HOST, FLAGS | 1 << 6, client(&text), "another form");
        refused(HOST, FLAGS, with("type", json!("webauthn.create")), "not an assertion");
        refused(
            HOST,
            FLAGS,
            with("origin", json!("http://0123456789abcdef.localhost:7172")),
            "another origin",
        );
        refused(HOST, FLAGS, with("origin", json!("http://evil.localhost")), "another origin");
        refused(HOST, FLAGS, with("crossOrigin", json!(true)), "somebody else");
        refused(HOST, FLAGS, with("topOrigin", json!("http://evil.example")), "somebody else");
        refused(HOST, FLAGS, with("challenge", json!("AAAA")), "challenge");
        refused(HOST, FLAGS, json!([]), "cannot be read");
        // A key that stays unlocked is not a passkey.
        let session = Session { id: "0".repeat(32), started_at_ms: 1_800_000_000_000, number: 1 };
        let recent =
            ApprovalStatement { assurance: Assurance::Recent, session: Some(session), ..statement() };
        let recent = Statement::Approval(recent).text().unwrap();
        let signed = authenticator.assert(&recent, HOST, FLAGS, &client(&recent));
        assert!(authenticator.verify(&signed).unwrap_err().to_string().contains("presence"));
    }
}

/// Every bit of the three parts is covered: by the signature, or by its one spelling.
#[test]
fn every_changed_bit_of_a_signature_is_refused() {
    for authenticator in Authenticator::both() {
        let text = text(statement());
        let signed = authenticator.assert(&text, HOST, FLAGS, &client(&text));
        let parts: Vec<Vec<u8>> =
            signed.signature.split('.').map(|part| Base64UrlUnpadded::decode_vec(part).unwrap()).collect();
        for part in 0..3 {
            for bit in 0..parts[part].len() * 8 {
                let mut changed = parts.clone();
                changed[part][bit / 8] ^= 1 << (bit % 8);
                let changed = authenticator.signed(&text, &[&changed[0], &changed[1], &changed[2]]);
                assert!(authenticator.verify(&changed).is_err(), "part {part}, bit {bit}");
            }
        }
        for other in [
            "",
            ".",
            "..",
            "...",
            "AA.AA",
            &format!("{}.", signed.signature),
            &format!("{}=", signed.signature),
        ] {
            let other = Signed { signature: other.to_owned(), ..signed.clone() };
            assert!(authenticator.verify(&other).is_err());
        }
    }
}

#[test]
fn an_approval_carries_the_assertion_and_gives_the_statement() {
    for authenticator in Authenticator::both() {
        let text = text(statement());
        let signed = authenticator.assert(&text, HOST, FLAGS, &client(&text));
        let approval: Approval = serde_json::from_value(json!({
            "proposal_hash": hash('a'), "approver": "alice", "verdict": "approve", "reason": "fine",
            "view_digest": hash('b'), "at_ms": 1_800_000_000_000_u64,
            "signature": {"method": "webauthn", "key_id": signed.key_id, "origin": "ordain/0123456789abcdef",
                "action_id": "p1", "scope": "once", "assurance": "presence", "not_after_ms": 1_800_000_600_000_u64,
                "nonce": "bm9uY2U", "signature": signed.signature},
        }))
        .unwrap();
        assert_eq!(approval.signed(), Some(Ok(signed)));
        assert_eq!(approval.assurance(), Assurance::Presence);
    }
}

#[test]
fn only_a_passkey_of_one_address_is_enrolled() {
    let [authenticator, _] = Authenticator::both();
    let good = authenticator.passkey();
    assert_eq!(good.violation(), None);
    let of = |origin: &str, host: &str| Passkey {
        origin: origin.to_owned(),
        rp_id: host.to_owned(),
        ..good.clone()
    };
    assert_eq!(of("https://gate.example:8443", "gate.example").violation(), None);
    for passkey in [
        of("http://gate.example", "gate.example"),
        of("https://gate.example", "example"),
        of("https://gate.example:8443/", "gate.example"),
        of("https://gate.example:", "gate.example"),
        of("https://", ""),
        of("http://localhost:7171", "localhost"),
        of("https://Gate.example", "Gate.example"),
        Passkey { aaguid: "0".repeat(31), ..good.clone() },
        Passkey { credential_id: "A".to_owned(), ..good.clone() },
        Passkey { credential_id: String::new(), ..good.clone() },
        Passkey { backed_up: true, backup_eligible: false, ..good.clone() },
    ] {
        assert!(passkey.violation().is_some(), "{passkey:?}");
    }
    let es256 = Passkey { algorithm: PasskeyAlgorithm::Es256, ..good };
    for key in ["", "AAAA", &"A".repeat(87)] {
        assert!(es256.key_id(key).is_err());
    }
}
