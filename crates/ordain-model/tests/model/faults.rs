//! Faults that neither aimock nor llmock can make. The provider is a few lines of TCP in `support`: refusals
//! in each API's own words, Ollama's truncation, `Retry-After` as a date and on 503, redirects. Bodies lie
//! about their length, never end or never come; fields are missing; and at one address nobody listens.

use crate::support::{Act, LIMITS, Scripted, WIRES, ask, complete, done, good, http, provider};
use ordain_model::{Limits, ModelError, ProviderName, Usage};
use serde_json::{Value as Json, json};
use std::time::{Duration, Instant, SystemTime};

/// The result of one answer.
async fn outcome(wire: ProviderName, act: Act) -> (Result<String, ModelError>, Usage) {
    let server = Scripted::new(vec![act]).await;
    let (answer, usage) = complete(&provider(wire, &server.url), "anything").await;
    assert_eq!(server.requests().len(), 1, "{wire:?}");
    (answer.map(|answer| answer.text), usage)
}

async fn problem(wire: ProviderName, act: Act) -> String {
    match outcome(wire, act).await {
        (Err(ModelError::Malformed { problem, .. }), Usage { attempts: 1, retries: 0, .. }) => problem,
        other => panic!("{wire:?}: {other:?}"),
    }
}

/// The same with every API, together, where a test has to wait.
async fn at_once<F: Future<Output = ()> + Send + 'static>(test: impl Fn(ProviderName) -> F) {
    let tests = WIRES.map(|wire| tokio::spawn(test(wire)));
    for test in tests {
        test.await.unwrap();
    }
}

fn ok(body: &Json) -> Act {
    http("200 OK", "", &body.to_string())
}

#[tokio::test]
async fn how_an_answer_ended_counts_first() {
    for (wire, finish) in [
        (ProviderName::OpenAi, "length"),
        (ProviderName::Anthropic, "max_tokens"),
        (ProviderName::Anthropic, "model_context_window_exceeded"),
        (ProviderName::Ollama, "length"),
    ] {
        // The text is complete JSON, and still the answer is not.
        let (answer, usage) = outcome(wire, ok(&good(wire, "{}", finish))).await;
        assert!(matches!(answer, Err(ModelError::Truncated { tokens: 7, .. })), "{wire:?}: {answer:?}");
        assert_eq!((usage.tokens_in, usage.tokens_out), (11, 7), "it was paid for");
    }
    for wire in WIRES {
        let (answer, _) = outcome(wire, ok(&good(wire, "{}", done(wire)))).await;
        assert_eq!(answer.as_deref(), Ok("{}"));
    }
}

#[tokio::test]
async fn a_refusal_is_told_in_its_own_words() {
    let mut refused = good(ProviderName::OpenAi, "", "stop");
    refused["choices"][0]["message"] =
        json!({"role": "assistant", "content": null, "refusal": "I cannot do that."});
    let mut filtered = good(ProviderName::OpenAi, "", "content_filter");
    filtered["choices"][0]["message"]["content"] = Json::Null;
    let cases = [
        (ProviderName::OpenAi, refused, "I cannot do that."),
        (ProviderName::OpenAi, filtered, ""),
        (ProviderName::Anthropic, good(ProviderName::Anthropic, "I won't.", "refusal"), "I won't."),
    ];
    for (wire, body, words) in cases {
        let (answer, usage) = outcome(wire, ok(&body)).await;
        let Err(ModelError::Filtered { message, .. }) = answer else { panic!("{wire:?}: {answer:?}") };
        assert_eq!((message.as_str(), usage.attempts), (words, 1));
    }
}

#[tokio::test]
async fn thoughts_are_no_part_of_the_text() {
    let mut body = good(ProviderName::Anthropic, "", "end_turn");
    body["content"] = json!([
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "text", "text": "{\"a\":"},
        {"type": "text", "text": "1}"},
    ]);
    let (answer, _) = outcome(ProviderName::Anthropic, ok(&body)).await;
    assert_eq!(answer.as_deref(), Ok("{\"a\":1}"));
}

#[tokio::test]
async fn answers_that_no_api_describes_are_malformed() {
    let mut cases: Vec<(ProviderName, Json, &str)> = Vec::new();
    for wire in WIRES {
        cases.push((wire, json!([]), "is not as its API describes it"));
        cases.push((wire, json!({}), "is not as its API describes it"));
        cases.push((wire, good(wire, "{}", "tool_use"), "ended with `tool_use`"));
        let mut silent = good(wire, "{}", "");
        match wire {
            ProviderName::OpenAi => silent["choices"][0]["finish_reason"] = Json::Null,
            ProviderName::Anthropic => silent["stop_reason"] = Json::Null,
            _ => silent["done_reason"] = Json::Null,
        }
        cases.push((wire, silent, "does not say how it ended"));
    }
    let mut no_choice = good(ProviderName::OpenAi, "{}", "stop");
    no_choice["choices"] = json!([]);
    let mut no_text = good(ProviderName::OpenAi, "{}", "stop");
    no_text["choices"][0]["message"]["content"] = Json::Null;
    let mut no_block = good(ProviderName::Anthropic, "{}", "end_turn");
    no_block["content"] = json!([]);
    let mut part = good(ProviderName::Ollama, "{}", "stop");
    part["done"] = json!(false);
    cases.push((ProviderName::OpenAi, no_choice, "has no choice"));
    cases.push((ProviderName::OpenAi, no_text, "has no text"));
    cases.push((ProviderName::Anthropic, no_block, "has no text"));
    cases.push((ProviderName::Ollama, part, "is only a part of one"));
    for (wire, body, expected) in cases {
        let problem = problem(wire, ok(&body)).await;
        assert!(problem.starts_with(expected), "{wire:?} {body}: {problem}");
    }
}

#[tokio::test]
async fn bodies_that_break_are_malformed() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    for wire in WIRES {
        let body = good(wire, "{}", done(wire)).to_string();
        // Shorter than it says.
        let cut = format!("{head}content-length: {}\r\n\r\n{body}", body.len() + 1);
        // A chunk that does not end.
        let chunk = format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}", body.len() + 9);
        // No HTTP, and nothing at all.
        for bytes in [cut, chunk, "SSH-2.0-OpenSSH_9\r\n".to_owned(), String::new()] {
            let problem = problem(wire, Act::Send(bytes.clone().into_bytes())).await;
            assert!(problem.starts_with("broke off: "), "{wire:?} {bytes:?}: {problem}");
        }
        assert_eq!(problem(wire, http("200 OK", "", "")).await, "is not JSON");
        assert_eq!(problem(wire, http("200 OK", "", &format!("{body}}}"))).await, "is not JSON");
        assert_eq!(
            problem(wire, Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n\xff\xfe".to_vec())).await,
            "is not JSON"
        );
        assert_eq!(problem(wire, http("204 No Content", "", "")).await, "has the status 204");
    }
}

#[tokio::test]
async fn a_body_without_end_is_left_after_the_limit() {
    let part = "x".repeat(64 << 10);
    for wire in WIRES {
        let chunked = Act::Flood {
            head: b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
            again: format!("{:x}\r\n{part}\r\n", part.len()).into_bytes(),
        };
        let until_closed =
            Act::Flood { head: b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), again: part.clone().into_bytes() };
        // Nothing of this one is read, because its length is known.
        let announced =
            Act::Hang(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 20 << 20).into_bytes());
        for act in [chunked, until_closed, announced] {
            assert_eq!(problem(wire, act).await, "is longer than 4 MiB", "{wire:?}");
        }
        // The same with an error: its beginning is quoted, and short.
        let error =
            Act::Flood { head: b"HTTP/1.1 418 Teapot\r\n\r\n".to_vec(), again: part.clone().into_bytes() };
        let (answer, _) = outcome(wire, error).await;
        let Err(ModelError::Refused { status: 418, message, .. }) = answer else { panic!("{answer:?}") };
        assert!(message.chars().count() <= 201, "{message}");
    }
}

#[tokio::test]
async fn a_body_that_stops_coming_is_a_timeout() {
    at_once(|wire| async move {
        let hang = Act::Hang(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_vec());
        let server = Scripted::new(vec![hang.clone(), hang]).await;
        let limits = Limits { call: Duration::from_secs(2), ..LIMITS };
        let (answer, usage) = complete(&provider(wire, &server.url).with_limits(limits), "anything").await;
        assert!(matches!(answer, Err(ModelError::Timeout { .. })), "{wire:?}: {answer:?}");
        assert_eq!((usage.attempts, usage.retries, usage.provider_code), (2, 1, Some(200)));
        assert_eq!(server.requests().len(), 2);
    })
    .await;
}

/// The status is enough to know what happened.
#[tokio::test]
async fn an_error_whose_body_stops_coming_is_that_error() {
    for wire in WIRES {
        let hang =
            Act::Hang(b"HTTP/1.1 429 Busy\r\nretry-after: 90\r\ncontent-length: 100\r\n\r\nso far".to_vec());
        let (answer, usage) = outcome(wire, hang).await;
        let Err(ModelError::Busy { message, .. }) = answer else { panic!("{wire:?}: {answer:?}") };
        assert_eq!((message.as_str(), usage.attempts, usage.provider_code), ("so far", 1, Some(429)));
    }
}

#[tokio::test]
async fn what_a_model_does_not_take_can_be_left_out() {
    for (wire, said, setting) in [
        (ProviderName::OpenAi, "Unsupported value: 'temperature' does not support 0", "deterministic"),
        (ProviderName::OpenAi, "This response_format type is unavailable now", "structured"),
        (ProviderName::Anthropic, "output_config.format: not supported by this model", "structured"),
        (ProviderName::Ollama, "invalid JSON schema in format", "structured"),
    ] {
        let body = json!({"error": {"message": said}});
        let (answer, _) = outcome(wire, http("400 Bad Request", "", &body.to_string())).await;
        let Err(ModelError::Refused { message, .. }) = answer else { panic!("{wire:?}: {answer:?}") };
        assert_eq!(message, format!("{said} (`{setting} = false` in [model] of ordain.toml leaves it out)"));
    }
    let body = json!({"error": {"message": "`temperature` is deprecated"}});
    let (answer, _) = outcome(ProviderName::Anthropic, http("400 Bad Request", "", &body.to_string())).await;
    assert!(
        matches!(answer, Err(ModelError::Refused { message, .. }) if message == "`temperature` is deprecated")
    );
}

#[tokio::test]
async fn a_wish_on_503_counts_and_may_be_a_date() {
    at_once(|wire| async move {
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3));
        let server = Scripted::new(vec![
            http("503 Service Unavailable", &format!("retry-after: {date}\r\n"), "{}"),
            ok(&good(wire, "{}", done(wire))),
        ])
        .await;
        let start = Instant::now();
        let (answer, usage) = complete(&provider(wire, &server.url), "anything").await;
        assert_eq!(answer.unwrap().text, "{}");
        assert_eq!((usage.attempts, usage.retries), (2, 1));
        // A date has whole seconds, and some time has passed already: of three at least one remains.
        assert!(start.elapsed() >= Duration::from_secs(1));

        let date = httpdate::fmt_http_date(SystemTime::now() + 2 * LIMITS.request);
        let far = format!("retry-after: {date}\r\n");
        let (answer, usage) = outcome(wire, http("503 Service Unavailable", &far, "{}")).await;
        let Err(ModelError::Unavailable { retry_after: Some(wait), .. }) = answer else {
            panic!("{answer:?}")
        };
        assert!(wait > LIMITS.request, "{wait:?}");
        assert_eq!(usage.attempts, 1);
    })
    .await;
}

#[tokio::test]
async fn redirects_are_not_followed() {
    for wire in WIRES {
        let target = Scripted::new(vec![ok(&good(wire, "{}", done(wire)))]).await;
        let location = format!("location: {}/elsewhere\r\n", target.url);
        for status in ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
            let (answer, usage) = outcome(wire, http(status, &location, "")).await;
            let Err(ModelError::Refused { message, .. }) = answer else { panic!("{answer:?}") };
            assert!(message.contains("redirects are not followed"), "{message}");
            assert_eq!(usage.attempts, 1);
        }
        assert!(target.requests().is_empty());
    }
}

#[tokio::test]
async fn where_nobody_listens_nothing_is_tried_again() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for wire in WIRES {
        for url in [format!("http://{free}"), format!("https://{free}"), "https://ordain.invalid".to_owned()]
        {
            let (answer, usage) = complete(&provider(wire, &url), "anything").await;
            let Err(ModelError::Unavailable { status: None, message, .. }) = answer else {
                panic!("{url}: {answer:?}")
            };
            assert!(!message.is_empty());
            assert_eq!((usage.attempts, usage.retries, usage.provider_code), (1, 0, None));
        }
    }
}

/// Plain text behind an https address is not TLS, so no request with a key is ever written.
#[tokio::test]
async fn https_is_spoken_where_it_is_asked_for() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut first = [0; 1024];
        let read = stream.read(&mut first).await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        first[..read].to_vec()
    });
    let (answer, _) =
        complete(&provider(ProviderName::OpenAi, &format!("https://{address}")), "anything").await;
    assert!(matches!(answer, Err(ModelError::Unavailable { status: None, .. })), "{answer:?}");
    // A TLS record with a handshake in it.
    assert_eq!(seen.await.unwrap()[..2], [22, 3]);
}

/// A caller that stops waiting stops the call: the connection is closed.
#[tokio::test]
async fn a_dropped_question_hangs_up() {
    for wire in WIRES {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider = provider(wire, &format!("http://{}", listener.local_addr().unwrap()));
        let question = tokio::spawn(async move {
            let mut usage = Usage::default();
            provider.complete(&ask("anything"), Instant::now() + LIMITS.request, &mut usage).await
        });
        let (mut stream, _) = listener.accept().await.unwrap();
        question.abort();
        let mut rest = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest).await.unwrap();
    }
}
