//! Two programs that nobody here wrote play the provider: npm's `aimock` speaks all three APIs, PyPI's `llmock` two of
//! them, and it judges how its client behaved.

use crate::program::{Program, llmock};
use crate::support::{Folder, LIMITS, WIRES, ask, complete, path, provider};
use ordain_model::{Limits, ModelError, Provider, ProviderName, Usage};
use serde_json::{Value as Json, json};
use std::process::Command;
use std::time::{Duration, Instant};

/// An aimock with these fixtures, and how many requests of an API it has seen.
struct Aimock {
    program: Program,
    _folder: Folder,
}

impl Aimock {
    fn new(fixtures: Json) -> Self {
        let folder = Folder::new();
        Self { program: Program::aimock(&folder.0, &fixtures), _folder: folder }
    }

    fn provider(&self, wire: ProviderName) -> Provider {
        provider(wire, &self.program.url)
    }

    fn seen(&self, wire: ProviderName) -> usize {
        let journal = self.program.get("/__aimock/journal");
        journal
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["path"].as_str().unwrap().ends_with(path(wire)))
            .count()
    }
}

fn text_for(message: &str, text: &str) -> Json {
    json!({"match": {"userMessage": message}, "response": {"content": text}})
}

fn error_for(message: &str, status: u16, position: Option<u32>, retry_after: Option<u32>) -> Json {
    let mut fixture = json!({
        "match": {"userMessage": message},
        "response": {"error": {"message": "that did not work", "type": "some_error"}, "status": status},
    });
    if let Some(position) = position {
        fixture["match"]["sequenceIndex"] = json!(position);
    }
    if let Some(seconds) = retry_after {
        fixture["response"]["retryAfter"] = json!(seconds);
    }
    fixture
}

#[tokio::test]
async fn texts_come_through_as_they_are() {
    let texts = [
        ("valid", "{\"title\": \"A note\"}"),
        ("fenced", "```json\n{\"title\": \"A note\"}\n```"),
        ("prefixed", "Here it is:\n\n{\"title\": \"A note\"}"),
        ("unknown key", "{\"title\": \"A note\", \"mood\": \"good\"}"),
        ("prose", "I would rather talk about the weather. Ünï ☂ \"quoted\" \\ \u{202e}"),
    ];
    let aimock = Aimock::new(texts.iter().map(|(name, text)| text_for(name, text)).collect());
    for wire in WIRES {
        let provider = aimock.provider(wire);
        for (name, text) in texts {
            let (answer, usage) = complete(&provider, name).await;
            assert_eq!(answer.unwrap().text, text, "{wire:?}");
            assert_eq!((usage.attempts, usage.retries, usage.provider_code), (1, 0, Some(200)), "{wire:?}");
        }
        assert_eq!(aimock.seen(wire), texts.len());
    }
}

#[tokio::test]
async fn tokens_add_up_over_a_request() {
    let aimock = Aimock::new(json!([{
        "match": {"userMessage": "count"},
        "response": {"content": "{}", "usage": {
            "prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34,
            "input_tokens": 30, "output_tokens": 4, "prompt_eval_count": 30, "eval_count": 4}},
    }]));
    for wire in [ProviderName::OpenAi, ProviderName::Anthropic] {
        let provider = aimock.provider(wire);
        let mut usage = Usage::default();
        for _ in 0..2 {
            let deadline = Instant::now() + LIMITS.request;
            provider.complete(&ask("count"), deadline, &mut usage).await.unwrap();
        }
        assert_eq!((usage.attempts, usage.tokens_in, usage.tokens_out), (2, 60, 8), "{wire:?}");
        assert!(usage.latency > Duration::ZERO);
    }
}

/// aimock's Ollama always ends with `stop`; `faults` has that case.
#[tokio::test]
async fn a_truncated_answer_is_its_own_error() {
    let aimock = Aimock::new(json!([{
        "match": {"userMessage": "long"},
        "response": {"content": "{\"title\": \"A valid but unfinished ans\"}", "finishReason": "length"},
    }]));
    for wire in [ProviderName::OpenAi, ProviderName::Anthropic] {
        let (answer, usage) = complete(&aimock.provider(wire), "long").await;
        assert!(matches!(answer, Err(ModelError::Truncated { .. })), "{wire:?}: {answer:?}");
        assert_eq!(usage.attempts, 1, "{wire:?}");
        assert_eq!(aimock.seen(wire), 1);
    }
}

#[tokio::test]
async fn a_filter_is_its_own_error() {
    let aimock = Aimock::new(json!([
        {"match": {"userMessage": "bad for openai"}, "response": {"content": "", "finishReason": "content_filter"}},
        {"match": {"userMessage": "bad for anthropic"}, "response": {"content": "", "finishReason": "refusal"}},
    ]));
    for (wire, text) in
        [(ProviderName::OpenAi, "bad for openai"), (ProviderName::Anthropic, "bad for anthropic")]
    {
        let (answer, usage) = complete(&aimock.provider(wire), text).await;
        assert!(matches!(answer, Err(ModelError::Filtered { .. })), "{wire:?}: {answer:?}");
        assert_eq!(usage.attempts, 1);
    }
}

#[tokio::test]
async fn too_many_requests_once_is_tried_again_after_the_wait() {
    for wire in WIRES {
        let aimock = Aimock::new(json!([error_for("busy", 429, Some(0), Some(1)), text_for("busy", "{}"),]));
        let start = Instant::now();
        let (answer, usage) = complete(&aimock.provider(wire), "busy").await;
        assert_eq!(answer.unwrap().text, "{}", "{wire:?}");
        assert_eq!((usage.attempts, usage.retries, usage.provider_code), (2, 1, Some(200)), "{wire:?}");
        // At least as long as was asked for; no upper bound is asserted.
        assert!(start.elapsed() >= Duration::from_secs(1));
        assert_eq!(aimock.seen(wire), 2);
    }
}

#[tokio::test]
async fn too_many_requests_twice_is_busy() {
    let aimock = Aimock::new(json!([error_for("busy", 429, None, Some(1))]));
    for wire in WIRES {
        let (answer, usage) = complete(&aimock.provider(wire), "busy").await;
        let Err(ModelError::Busy { retry_after, message, provider }) = answer else {
            panic!("{wire:?}: {answer:?}")
        };
        assert_eq!(retry_after, Some(Duration::from_secs(1)));
        assert_eq!(message, "that did not work");
        assert!(provider.contains(" at 127.0.0.1:"), "{provider}");
        assert_eq!((usage.attempts, usage.retries, usage.provider_code), (2, 1, Some(429)));
        assert_eq!(aimock.seen(wire), 2);
    }
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_is_not_waited() {
    let aimock = Aimock::new(json!([error_for("busy", 429, None, Some(90))]));
    for wire in WIRES {
        let (answer, usage) = complete(&aimock.provider(wire), "busy").await;
        let Err(ModelError::Busy { retry_after, .. }) = answer else { panic!("{wire:?}: {answer:?}") };
        assert_eq!(retry_after, Some(Duration::from_secs(90)));
        assert_eq!((usage.attempts, usage.retries), (1, 0));
        assert_eq!(aimock.seen(wire), 1);
    }
}

#[tokio::test]
async fn problems_of_the_provider_are_tried_twice() {
    let statuses = [500, 503, 529];
    let fixtures = statuses.map(|status| error_for(&format!("status {status}"), status, None, None));
    let aimock = Aimock::new(json!(fixtures));
    for wire in WIRES {
        let provider = aimock.provider(wire);
        for status in statuses {
            let (answer, usage) = complete(&provider, &format!("status {status}")).await;
            let Err(ModelError::Unavailable { status: got, message, .. }) = answer else {
                panic!("{answer:?}")
            };
            assert_eq!((got, message.as_str()), (Some(status), "that did not work"), "{wire:?}");
            assert_eq!((usage.attempts, usage.retries, usage.provider_code), (2, 1, Some(status)));
        }
        assert_eq!(aimock.seen(wire), 2 * statuses.len());
    }
}

#[tokio::test]
async fn a_problem_that_passes_is_no_error() {
    for wire in WIRES {
        let aimock = Aimock::new(json!([error_for("hiccup", 503, Some(0), None), text_for("hiccup", "{}")]));
        let (answer, usage) = complete(&aimock.provider(wire), "hiccup").await;
        assert_eq!(answer.unwrap().text, "{}");
        assert_eq!((usage.attempts, usage.retries, usage.provider_code), (2, 1, Some(200)), "{wire:?}");
    }
}

#[tokio::test]
async fn what_is_refused_is_not_tried_again() {
    let statuses = [400, 401, 403, 404, 422];
    let fixtures = statuses.map(|status| error_for(&format!("status {status}"), status, None, None));
    let aimock = Aimock::new(json!(fixtures));
    for wire in WIRES {
        let provider = aimock.provider(wire);
        for status in statuses {
            let (answer, usage) = complete(&provider, &format!("status {status}")).await;
            let Err(ModelError::Refused { status: got, message, .. }) = answer else { panic!("{answer:?}") };
            assert_eq!((got, message.as_str()), (status, "that did not work"), "{wire:?}");
            assert_eq!((usage.attempts, usage.retries), (1, 0));
        }
        assert_eq!(aimock.seen(wire), statuses.len());
    }
}

fn chaos_for(message: &str, chaos: Json) -> Json {
    json!({"match": {"userMessage": message}, "response": {"content": "{}"}, "chaos": chaos})
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_a_timeout() {
    let aimock = Aimock::new(json!([chaos_for("slow", json!({"latencyMs": 30_000}))]));
    let quick = Limits { call: Duration::from_millis(300), ..LIMITS };
    for wire in WIRES {
        // The call's own limit leaves time for another.
        let provider = aimock.provider(wire).with_limits(quick);
        let (answer, usage) = complete(&provider, "slow").await;
        assert!(matches!(answer, Err(ModelError::Timeout { .. })), "{wire:?}: {answer:?}");
        assert_eq!((usage.attempts, usage.retries, usage.provider_code), (2, 1, None));
        // The deadline does not.
        let provider = aimock.provider(wire);
        let mut usage = Usage::default();
        let deadline = Instant::now() + Duration::from_millis(300);
        let answer = provider.complete(&ask("slow"), deadline, &mut usage).await;
        assert!(matches!(answer, Err(ModelError::Timeout { .. })), "{wire:?}: {answer:?}");
        assert_eq!((usage.attempts, usage.retries), (1, 0));
        // And one that has passed allows no call at all.
        let answer = provider.complete(&ask("slow"), deadline, &mut usage).await;
        assert!(matches!(answer, Err(ModelError::Timeout { .. })), "{wire:?}: {answer:?}");
        assert_eq!(usage.attempts, 1);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_malformed() {
    let aimock = Aimock::new(json!([chaos_for("break", json!({"disconnectRate": 1}))]));
    for wire in WIRES {
        let (answer, usage) = complete(&aimock.provider(wire), "break").await;
        let Err(ModelError::Malformed { problem, .. }) = answer else { panic!("{wire:?}: {answer:?}") };
        assert!(problem.starts_with("broke off: "), "{problem}");
        assert_eq!((usage.attempts, usage.retries, usage.provider_code), (1, 0, None));
        assert_eq!(aimock.seen(wire), 1);
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_is_malformed() {
    let aimock = Aimock::new(json!([chaos_for("garbage", json!({"malformedRate": 1}))]));
    for wire in WIRES {
        let (answer, usage) = complete(&aimock.provider(wire), "garbage").await;
        let Err(ModelError::Malformed { problem, .. }) = answer else { panic!("{wire:?}: {answer:?}") };
        assert_eq!(problem, "is not JSON");
        assert_eq!((usage.attempts, usage.provider_code), (1, Some(200)));
        assert_eq!(aimock.seen(wire), 1);
    }
}

#[tokio::test]
async fn an_answer_of_twenty_megabytes_is_refused() {
    let aimock = Aimock::new(json!([text_for("huge", &"x".repeat(20 << 20))]));
    for wire in WIRES {
        let (answer, usage) = complete(&aimock.provider(wire), "huge").await;
        let Err(ModelError::Malformed { problem, .. }) = answer else { panic!("{wire:?}") };
        assert_eq!(problem, "is longer than 4 MiB");
        assert_eq!(usage.attempts, 1);
    }
}

/// An llmock that is told how to fail.
struct Llmock(Program);

impl Llmock {
    fn new() -> Self {
        Self(Program::llmock())
    }

    fn providers(&self) -> [(ProviderName, Provider); 2] {
        let anthropic = format!("{}/anthropic", self.0.url);
        [
            (ProviderName::OpenAi, provider(ProviderName::OpenAi, &self.0.url)),
            (ProviderName::Anthropic, provider(ProviderName::Anthropic, &anthropic)),
        ]
    }

    fn will(&self, behaviors: Json) {
        self.0.post("/_llmock/scenario", &json!({"behaviors": behaviors}));
    }

    /// The mock's judgement of its clients: `report` fails if one of them misbehaved, with `--strict` also on
    /// warnings.
    fn verdict(&self) -> Json {
        let report = Command::new(llmock())
            .args(["report", "--strict", "--json", "--url", &self.0.url])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&report.stdout).into_owned();
        assert!(report.status.success(), "{said}{}", String::from_utf8_lossy(&report.stderr));
        serde_json::from_str(&said).unwrap()
    }
}

#[tokio::test]
async fn llmock_finds_nothing_to_complain_about() {
    let llmock = Llmock::new();
    let providers = llmock.providers();
    for (wire, provider) in &providers {
        llmock.will(json!([{"type": "reply", "text": "{\"title\": \"A note\"}"}]));
        let (answer, usage) = complete(provider, "valid").await;
        assert_eq!(answer.unwrap().text, "{\"title\": \"A note\"}", "{wire:?}");
        assert_eq!(usage.attempts, 1);
        assert!(usage.tokens_in > 0 && usage.tokens_out > 0, "{usage:?}");

        llmock.will(json!([{"type": "reply", "text": "{\"title\": \"A no", "finish_reason": "length"}]));
        let (answer, usage) = complete(provider, "truncated").await;
        assert!(matches!(answer, Err(ModelError::Truncated { .. })), "{wire:?}: {answer:?}");
        assert_eq!(usage.attempts, 1);

        llmock.will(
            json!([{"type": "fail", "status": 429, "retry_after": 1}, {"type": "reply", "text": "{}"}]),
        );
        let (answer, usage) = complete(provider, "busy once").await;
        assert_eq!(answer.unwrap().text, "{}", "{wire:?}");
        assert_eq!((usage.attempts, usage.retries), (2, 1));

        llmock.will(json!([{"type": "fail", "status": 429, "retry_after": 1, "times": 2}]));
        let (answer, usage) = complete(provider, "busy twice").await;
        assert!(matches!(answer, Err(ModelError::Busy { retry_after: Some(_), .. })), "{wire:?}: {answer:?}");
        assert_eq!((usage.attempts, usage.retries), (2, 1));

        for status in [500, 503, 529] {
            llmock.will(json!([{"type": "fail", "status": status, "times": 2}]));
            let (answer, usage) = complete(provider, &format!("status {status}")).await;
            let Err(ModelError::Unavailable { status: got, .. }) = answer else {
                panic!("{wire:?}: {answer:?}")
            };
            assert_eq!((got, usage.attempts, usage.retries), (Some(status), 2, 1));
        }

        for status in [400, 401, 404] {
            llmock.will(json!([{"type": "fail", "status": status}]));
            let (answer, usage) = complete(provider, &format!("status {status}")).await;
            let Err(ModelError::Refused { status: got, .. }) = answer else { panic!("{wire:?}: {answer:?}") };
            assert_eq!((got, usage.attempts, usage.retries), (status, 1, 0));
        }
    }
    let verdict = llmock.verdict();
    // For each API: one good, one truncated, twice two because of 429, three times two, and three that are refused.
    assert_eq!((&verdict["calls"], &verdict["attempts"]), (&json!(2 * 10), &json!(2 * 15)), "{verdict}");
}

/// The judge itself can tell: a client that comes back too early is found, so its silence above means something.
#[tokio::test]
async fn llmock_would_complain() {
    let llmock = Llmock::new();
    llmock.will(json!([{"type": "fail", "status": 401, "times": 2}]));
    let [(_, provider), _] = llmock.providers();
    for _ in 0..2 {
        let (answer, _) = complete(&provider, "again").await;
        assert!(matches!(answer, Err(ModelError::Refused { .. })));
    }
    let report =
        Command::new(crate::program::llmock()).args(["report", "--url", &llmock.0.url]).output().unwrap();
    assert_eq!(report.status.code(), Some(1));
}
