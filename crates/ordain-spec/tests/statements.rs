//! Statements: their exact bytes, and another implementation that agrees on every signed vector.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]
#![allow(clippy::disallowed_methods, reason = "a test may read files and run other programs")]

use ed25519_dalek::SigningKey;
use ordain_canon::Value;
use ordain_spec::approval::{Approval, Verdict};
use ordain_spec::statement::{
    ActStatement, ApprovalStatement, Assurance, Session, SignatureError, Signed, Statement, StatementError,
};
use ordain_spec::{Kind, verify_value};
use ordain_testkit::OwnedFacts;
use std::path::{Path, PathBuf};
use std::process::Command;

fn hash(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

fn approval() -> ApprovalStatement {
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
        reason_hash: hash('c'),
        at_ms: 1_800_000_000_000,
        not_after_ms: 1_800_000_600_000,
        nonce: "bm9uY2U".to_owned(),
    }
}

fn act() -> ActStatement {
    ActStatement {
        origin: "ordain/0123456789abcdef".to_owned(),
        principal: "alice".to_owned(),
        act: "push_policy".to_owned(),
        subject: hash('d'),
        from: "none".to_owned(),
        at_ms: 1_800_000_000_000,
        not_after_ms: 1_800_000_600_000,
        nonce: "bm9uY2U".to_owned(),
    }
}

#[test]
fn the_bytes_are_one_value_a_line() {
    let (a, b, c, d) = (hash('a'), hash('b'), hash('c'), hash('d'));
    assert_eq!(
        Statement::Approval(approval()).text().unwrap(),
        format!(
            "ordain/approval/v1\nordain/0123456789abcdef\nalice\np1\n{a}\n{b}\napprove\nonce\npresence\nnone\n{c}\n\
             1800000000000\n1800000600000\nbm9uY2U\n"
        )
    );
    assert_eq!(
        Statement::Act(act()).text().unwrap(),
        format!(
            "ordain/act/v1\nordain/0123456789abcdef\nalice\npush_policy\n{d}\nnone\n1800000000000\n\
             1800000600000\nbm9uY2U\n"
        )
    );
}

#[test]
fn only_the_exact_bytes_are_a_statement() {
    for statement in [Statement::Approval(approval()), Statement::Act(act())] {
        let text = statement.text().unwrap();
        assert_eq!(Statement::parse(&text).unwrap(), statement);
        let without_end = text.trim_end().to_owned();
        let two = format!("{text}more\n");
        let carriage = text.replace("alice\n", "alice\r\n");
        let zero = text.replace("\n1800000000000\n", "\n01800000000000\n");
        let other_form = text.replacen("ordain/", "ordain2/", 1);
        for wrong in [without_end, two, carriage, zero, other_form, String::new(), "\n".repeat(14)] {
            assert!(Statement::parse(&wrong).is_err(), "{wrong:?}");
        }
    }
    // A name with a line feed would move everything after it.
    let moved = ApprovalStatement { principal: "alice\np1".to_owned(), ..approval() };
    assert!(matches!(
        Statement::Approval(moved).text(),
        Err(StatementError::Field { field: "principal", .. })
    ));
    let weak = ApprovalStatement { assurance: Assurance::Local, ..approval() };
    assert!(matches!(
        Statement::Approval(weak).text(),
        Err(StatementError::Field { field: "assurance", .. })
    ));
    let scope = ApprovalStatement { scope: "always".to_owned(), ..approval() };
    assert!(matches!(Statement::Approval(scope).text(), Err(StatementError::Field { field: "scope", .. })));
}

/// A key that stays unlocked: 20 signatures and 15 minutes, and every signature says which it is.
#[test]
fn a_recent_statement_names_its_session_and_keeps_its_limits() {
    let session = |started_before_ms: u64, number: u64| Session {
        id: "0123456789abcdef".repeat(2),
        started_at_ms: approval().at_ms - started_before_ms,
        number,
    };
    let recent = |session: Option<Session>| {
        Statement::Approval(ApprovalStatement { assurance: Assurance::Recent, session, ..approval() })
    };
    for good in [session(0, 1), session(900_000, 20)] {
        let text = recent(Some(good.clone())).text().unwrap();
        assert!(text.contains(&format!("\nrecent\n{} {} {}\n", good.id, good.started_at_ms, good.number)));
        assert_eq!(Statement::parse(&text).unwrap(), recent(Some(good)));
    }
    let later = Session { started_at_ms: approval().at_ms + 1, ..session(0, 1) };
    let named = Session { id: "0123".to_owned(), ..session(0, 1) };
    let presence = Statement::Approval(ApprovalStatement { session: Some(session(0, 1)), ..approval() });
    let wrong = [session(0, 0), session(0, 21), session(900_001, 1), later, named];
    for statement in wrong.map(|session| recent(Some(session))).into_iter().chain([recent(None), presence]) {
        let refused = statement.text();
        assert!(matches!(refused, Err(StatementError::Field { field: "session", .. })), "{refused:?}");
    }
    let good = recent(Some(session(0, 1))).text().unwrap();
    for line in ["0123456789abcdef0123456789abcdef 1800000000000 01", "x", "a b c d", "none "] {
        let forged = good.replace("0123456789abcdef0123456789abcdef 1800000000000 1", line);
        assert!(Statement::parse(&forged).is_err(), "{line}");
    }
}

#[test]
fn a_signature_fits_its_statement_and_its_key_alone() {
    let (key, other) = (SigningKey::from_bytes(&[1; 32]), SigningKey::from_bytes(&[2; 32]));
    let public = |key: &SigningKey| {
        use base64ct::{Base64UrlUnpadded, Encoding};
        Base64UrlUnpadded::encode_string(key.verifying_key().as_bytes())
    };
    let signed = Signed::sign(&Statement::Approval(approval()), &key).unwrap();
    assert_eq!(signed.verify(&public(&key), None), Ok(Statement::Approval(approval())));
    assert!(matches!(signed.verify(&public(&other), None), Err(SignatureError::OtherKey(_))));
    let named = Signed { key_id: ordain_spec::statement::key_id(&public(&other)).unwrap(), ..signed.clone() };
    assert_eq!(named.verify(&public(&other), None), Err(SignatureError::Signature));
    let changed = Signed { statement: signed.statement.replace("approve", "reject"), ..signed.clone() };
    assert_eq!(changed.verify(&public(&key), None), Err(SignatureError::Signature));
    // A key of small order, with which a signature would fit many messages.
    assert_eq!(signed.verify(&"A".repeat(43), None), Err(SignatureError::Key));
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/approval")
}

/// The Python checker shares no code with us, and agrees on every signed vector.
#[test]
fn another_implementation_agrees_on_every_signed_vector() {
    let checker = vectors().join("../check_statements.py");
    let output = Command::new("python3").arg(checker).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut seen = 0;
    for line in text.lines() {
        let (path, theirs) = line.split_once(' ').unwrap();
        let file = vectors().join(path);
        let document = std::fs::read(&file).unwrap();
        let facts = std::fs::read(file.with_file_name("facts.json")).unwrap_or_else(|_| b"{}".to_vec());
        let (document, facts) = (Value::read(&document).unwrap(), Value::read(&facts).unwrap());
        let owned = OwnedFacts::of(&facts);
        let report = verify_value(Kind::Approval, &owned.facts(), &document);
        let rules: Vec<String> = report.violations().iter().map(|it| it.rule.name().into_owned()).collect();
        let ours = if rules.is_empty() { "ok".to_owned() } else { rules.join(",") };
        assert_eq!(ours, theirs, "{path}");
        assert!(document.to_typed::<Approval>().unwrap().signature.is_some());
        seen += 1;
    }
    assert!(seen >= 10, "{seen} vectors");
}
