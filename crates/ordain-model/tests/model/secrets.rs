//! A key is seen by its provider and by nobody else.

use crate::support::{
    Act, Folder, KEY, LIMITS, Scripted, WIRES, ask, complete, done, environment, good, http, provider,
    settings,
};
use ordain_model::{ModelError, ProviderName, Settings};
use serde_json::json;
use std::path::Path;

/// A provider that repeats the key in every place that ends up in a message.
#[tokio::test]
async fn no_error_repeats_the_key() {
    for wire in WIRES {
        let answers = [
            http(
                "401 Unauthorized",
                "",
                &json!({"error": {"message": format!("wrong key: {KEY}")}}).to_string(),
            ),
            http("403 Forbidden", "", &json!({"error": format!("Bearer {KEY}")}).to_string()),
            http("400 Bad Request", "", &format!("x-api-key: {KEY} is not known")),
            // Cut in the middle of the key by the limit of a message.
            http("404 Not Found", "", &format!("{}{KEY}", "x ".repeat(95))),
            http("429 Too Many Requests", "retry-after: 90\r\n", KEY),
            http("500 Internal Server Error", "retry-after: 90\r\n", KEY),
            http("302 Found", &format!("location: /{KEY}\r\n"), KEY),
            http("200 OK", "", KEY),
            http(
                "200 OK",
                "",
                &json!({"error": KEY, "choices": KEY, "content": KEY, "message": KEY}).to_string(),
            ),
            http("200 OK", "", &good(wire, "{}", KEY).to_string()),
            Act::Send(format!("{KEY}\r\n\r\n").into_bytes()),
            Act::Send(format!("HTTP/1.1 200 {KEY}\r\n{KEY}\r\n\r\n").into_bytes()),
        ];
        for answer in answers {
            let server = Scripted::new(vec![answer]).await;
            let provider = provider(wire, &server.url);
            let (outcome, usage) = complete(&provider, "anything").await;
            let error = outcome.unwrap_err();
            for said in
                [error.to_string(), format!("{error:?}"), format!("{provider:?}"), format!("{usage:?}")]
            {
                assert!(!said.contains(KEY) && !said.contains(&KEY[..12]), "{said}");
            }
            assert!(server.requests()[0].contains(KEY), "it was sent");
        }
    }
}

#[tokio::test]
async fn a_refusal_that_repeats_the_key_is_redacted() {
    let mut body = good(ProviderName::OpenAi, "", "stop");
    body["choices"][0]["message"]["refusal"] = json!(format!("I was given {KEY} and sk-0123456789abcdef"));
    let server = Scripted::new(vec![http("200 OK", "", &body.to_string())]).await;
    let (answer, _) = complete(&provider(ProviderName::OpenAi, &server.url), "anything").await;
    assert!(
        matches!(answer, Err(ModelError::Filtered { message, .. }) if message == "I was given *** and ***")
    );
}

/// A recording has no key, neither ours nor one that somebody typed, and what the run got is what a replay gives.
#[tokio::test]
async fn no_recording_has_a_key() {
    for wire in WIRES {
        let folder = Folder::new();
        let text = format!("{{\"title\": \"{KEY}\", \"other\": \"sk-0123456789abcdef\"}}");
        let server =
            Scripted::new(vec![http("200 OK", "", &good(wire, &text, done(wire)).to_string())]).await;
        let mut settings = settings(wire, &server.url);
        settings.record = Some("recorded".into());
        let provider = settings.provider(environment(&settings), &folder.0, &[]).unwrap();
        let mut ask = ask("anything");
        ask.prompt = format!("my key is {KEY} or sk-0123456789abcdef");
        let deadline = std::time::Instant::now() + LIMITS.request;
        let answer = provider.complete(&ask, deadline, &mut Default::default()).await.unwrap();
        assert_eq!(answer.text, "{\"title\": \"***\", \"other\": \"***\"}");
        let recorded = folder.0.join("recorded");
        for entry in std::fs::read_dir(&recorded).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(!text.contains(KEY) && !text.contains("sk-") && !text.contains("127.0.0.1"), "{text}");
        }
        let replay = Settings { fixtures: Some(recorded), ..Settings::default() };
        let replay = replay.provider(|_| None, Path::new("."), &[]).unwrap();
        let again = replay.complete(&ask, deadline, &mut Default::default()).await.unwrap();
        assert_eq!(again, answer);
        assert_eq!(replay.recorded(), Some(vec!["my key is *** or ***".to_owned()]));
    }
}

#[test]
fn a_provider_redacts_for_others() {
    let provider = provider(ProviderName::OpenAi, "http://127.0.0.1:1");
    assert_eq!(provider.redact(&format!("{KEY} and sk-0123456789abcdef")), "*** and ***");
    assert_eq!(ordain_model::redact("sk-0123456789abcdef"), "***");
}
