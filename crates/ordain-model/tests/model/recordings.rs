//! A recorded answer is given again: the same, and nothing else.

use crate::support::{
    Folder, LIMITS, Scripted, WIRES, ask, complete, done, environment, good, http, settings,
};
use ordain_model::{Ask, Embedded, ModelError, Provider, ProviderName, Role, Settings, Turn, Usage};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::time::Instant;

/// The key of `ask("a note")`, as Python makes it with `json.dumps(…, sort_keys=True)` and `hashlib`.
const A_NOTE: &str = "082d6c6685126b15ad7c920ca570161605d33cde5ccc32c74294f409a70e47a0";

fn replay(folder: &Path) -> Result<Provider, ModelError> {
    let settings = Settings {
        provider: Some(ProviderName::Replay),
        fixtures: Some(folder.to_owned()),
        ..Settings::default()
    };
    settings.provider(|_| None, Path::new("/nowhere"), &[])
}

fn files(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// Records these replies to one question.
async fn record(folder: &Folder, wire: ProviderName, reply: Json, ask: &Ask) -> Result<String, ModelError> {
    let server = Scripted::new(vec![http("200 OK", "", &reply.to_string())]).await;
    let mut settings = settings(wire, &server.url);
    settings.record = Some("recorded".into());
    let provider = settings.provider(environment(&settings), &folder.0, &[]).unwrap();
    let answer = provider.complete(ask, Instant::now() + LIMITS.request, &mut Usage::default()).await;
    answer.map(|answer| answer.text)
}

#[tokio::test]
async fn a_recording_answers_as_the_model_did() {
    for wire in WIRES {
        let folder = Folder::new();
        let text = "{\"title\": \"Ünï\\n\"}";
        assert_eq!(
            record(&folder, wire, good(wire, text, done(wire)), &ask("a note")).await.as_deref(),
            Ok(text)
        );

        let recorded = folder.0.join("recorded");
        let names = files(&recorded);
        assert_eq!(names.len(), 1, "{names:?}");
        let fixture: Json =
            serde_json::from_str(&std::fs::read_to_string(recorded.join(&names[0])).unwrap()).unwrap();
        let key = names[0].strip_suffix(".json").unwrap();
        // Nothing of the provider is in it: the same question has the same key, whoever was asked.
        assert_eq!(key, A_NOTE);
        assert_eq!(
            fixture,
            json!({
                "key": format!("sha256:{key}"), "prompt": "a note", "answer": text, "finish": "stop",
                "tokens_in": 11, "tokens_out": 7,
            })
        );

        let replay = replay(&recorded).unwrap();
        assert_eq!((replay.name(), replay.model()), ("replay", "replay"));
        let (answer, usage) = complete(&replay, "a note").await;
        assert_eq!(answer.unwrap().text, text);
        assert_eq!((usage.attempts, usage.retries, usage.tokens_in, usage.tokens_out), (1, 0, 11, 7));
        assert_eq!(usage.provider_code, None);
    }
}

#[tokio::test]
async fn another_question_is_not_answered() {
    let folder = Folder::new();
    let wire = ProviderName::OpenAi;
    for prompt in ["second note", "first note"] {
        record(&folder, wire, good(wire, "{}", "stop"), &ask(prompt)).await.unwrap();
    }
    // A repair of the first is recorded too, and its prompt is listed once.
    let mut repair = ask("first note");
    repair.turns.push(Turn { role: Role::Assistant, text: "{}".to_owned() });
    repair.turns.push(Turn { role: Role::User, text: "not good".to_owned() });
    record(&folder, wire, good(wire, "{\"better\":1}", "stop"), &repair).await.unwrap();

    let replay = replay(&folder.0.join("recorded")).unwrap();
    assert_eq!(replay.recorded(), Some(vec!["first note".to_owned(), "second note".to_owned()]));
    let changes: [fn(&mut Ask); 4] = [
        |ask| ask.system.push('!'),
        |ask| ask.turns[0].text.push('!'),
        |ask| ask.turns[0].role = Role::Assistant,
        |ask| ask.schema = None,
    ];
    for change in changes {
        let mut ask = ask("first note");
        change(&mut ask);
        let answer = replay.complete(&ask, Instant::now(), &mut Usage::default()).await;
        let known = vec!["first note".to_owned(), "second note".to_owned()];
        assert_eq!(answer, Err(ModelError::NotRecorded { known }));
    }
    // The prompt for people and the name of the schema do not belong to the question.
    let mut same = ask("first note");
    same.prompt = "something else".to_owned();
    same.schema.as_mut().unwrap().name = "other".to_owned();
    let answer = replay.complete(&same, Instant::now(), &mut Usage::default()).await;
    assert_eq!(answer.unwrap().text, "{}");
    let answer = replay.complete(&repair, Instant::now(), &mut Usage::default()).await;
    assert_eq!(answer.unwrap().text, "{\"better\":1}");
}

#[tokio::test]
async fn the_end_of_an_answer_is_recorded_as_well() {
    let folder = Folder::new();
    let wire = ProviderName::Anthropic;
    let cut = record(&folder, wire, good(wire, "{\"a", "max_tokens"), &ask("long")).await;
    assert!(matches!(cut, Err(ModelError::Truncated { .. })), "{cut:?}");
    let refused = record(&folder, wire, good(wire, "no", "refusal"), &ask("bad")).await;
    assert!(matches!(refused, Err(ModelError::Filtered { .. })), "{refused:?}");
    let replay = replay(&folder.0.join("recorded")).unwrap();
    assert!(matches!(complete(&replay, "long").await.0, Err(ModelError::Truncated { tokens: 7, .. })));
    assert!(
        matches!(complete(&replay, "bad").await.0, Err(ModelError::Filtered { message, .. }) if message == "no")
    );
}

#[tokio::test]
async fn the_last_recording_counts_and_nothing_is_left_beside_it() {
    let folder = Folder::new();
    let wire = ProviderName::Ollama;
    for text in ["one", "two"] {
        record(&folder, wire, good(wire, text, "stop"), &ask("a note")).await.unwrap();
    }
    let recorded = folder.0.join("recorded");
    assert_eq!(files(&recorded).len(), 1);
    assert_eq!(complete(&replay(&recorded).unwrap(), "a note").await.0.unwrap().text, "two");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_an_error() {
    let folder = Folder::new();
    std::fs::write(folder.0.join("recorded"), "a file").unwrap();
    let wire = ProviderName::OpenAi;
    let answer = record(&folder, wire, good(wire, "{}", "stop"), &ask("a note")).await;
    let Err(ModelError::Setup(problem)) = answer else { panic!("{answer:?}") };
    assert!(problem.starts_with("`record`: ") && problem.contains("cannot be written to"), "{problem}");
}

#[test]
fn recordings_that_are_none_are_named() {
    let folder = Folder::new();
    let problem = |text: &str| {
        std::fs::write(folder.0.join("broken.json"), text).unwrap();
        match replay(&folder.0) {
            Err(ModelError::Setup(problem)) => problem,
            other => panic!("{text}: {other:?}"),
        }
    };
    let fixture = |key: &str, answer: &str| {
        json!({"key": key, "prompt": "p", "answer": answer, "finish": "stop", "tokens_in": 0, "tokens_out": 0}).to_string()
    };
    let hash = format!("sha256:{}", "0".repeat(64));
    for text in
        ["", "[]", "{}", &fixture("sha256:0", "x"), &fixture(&hash, "x").replace("\"stop\"", "\"maybe\"")]
    {
        let problem = problem(text);
        assert!(problem.contains("broken.json: not a recorded completion: "), "{problem}");
    }
    std::fs::write(folder.0.join("another.json"), fixture(&hash, "y")).unwrap();
    assert!(problem(&fixture(&hash, "x")).contains("broken.json: another file has another answer"));
    std::fs::write(folder.0.join("broken.json"), vec![b' '; (8 << 20) + 1]).unwrap();
    let Err(ModelError::Setup(problem)) = replay(&folder.0) else { panic!() };
    assert!(problem.ends_with("broken.json: is longer than 8 MiB"), "{problem}");
    let Err(ModelError::Setup(problem)) = replay(&folder.0.join("missing")) else { panic!() };
    assert!(problem.starts_with("`fixtures`: "), "{problem}");
}

#[tokio::test]
async fn without_settings_the_program_replays_what_it_brings() {
    let embedded: Embedded = &[("a note", "{}")];
    let provider = Settings::default().provider(|_| None, Path::new("."), embedded).unwrap();
    assert_eq!(provider.recorded(), Some(vec!["a note".to_owned()]));
    assert_eq!(complete(&provider, "a note").await.0.unwrap().text, "{}");
    // In another context it is answered alike, but a repair of it is not.
    let mut other = ask("a note");
    other.turns[0].text.push_str(" and more");
    assert_eq!(provider.complete(&other, Instant::now(), &mut Usage::default()).await.unwrap().text, "{}");
    other.turns.push(Turn { role: Role::User, text: "not good".to_owned() });
    let repair = provider.complete(&other, Instant::now(), &mut Usage::default()).await;
    assert!(matches!(repair, Err(ModelError::NotRecorded { .. })), "{repair:?}");
    let (answer, usage) = complete(&provider, "another").await;
    assert_eq!(
        answer.unwrap_err().to_string(),
        "no answer is recorded for this prompt; recorded are `a note`"
    );
    assert_eq!(usage.attempts, 1);
}
