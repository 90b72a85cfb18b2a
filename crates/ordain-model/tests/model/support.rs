//! Providers on ports of their own, and questions for them.

use ordain_model::{
    Answer, Ask, Limits, ModelError, Provider, ProviderName, Role, Schema, Settings, Turn, Usage,
};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// The key that every provider gets. It must be seen nowhere but in a request.
pub const KEY: &str = "planted-key-of-ordain";

/// All three APIs.
pub const WIRES: [ProviderName; 3] = [ProviderName::OpenAi, ProviderName::Anthropic, ProviderName::Ollama];

/// Short enough for a test, and long enough for a slow machine.
pub const LIMITS: Limits = Limits {
    request: Duration::from_secs(60),
    call: Duration::from_secs(30),
    retries: 1,
    backoff: Duration::from_millis(10),
};

/// A folder that goes with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("model-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The path after the base URL in an API's requests.
pub fn path(wire: ProviderName) -> &'static str {
    match wire {
        ProviderName::OpenAi => "/chat/completions",
        ProviderName::Anthropic => "/v1/messages",
        ProviderName::Ollama => "/api/chat",
        ProviderName::Replay => panic!("there is no request"),
    }
}

pub fn settings(wire: ProviderName, url: &str) -> Settings {
    // OpenAI's version is part of the address, as others have it elsewhere.
    let base = if wire == ProviderName::OpenAi { format!("{url}/v1") } else { url.to_owned() };
    Settings {
        provider: Some(wire),
        base_url: Some(base),
        model: Some("some-model".to_owned()),
        ..Settings::default()
    }
}

/// An environment with a key, which names the address of these settings: a file alone does not say where a key goes.
pub fn environment(settings: &Settings) -> impl Fn(&str) -> Option<String> + use<> {
    let base_url = settings.base_url.clone();
    move |name: &str| match name {
        "ORDAIN_MODEL_KEY" => Some(KEY.to_owned()),
        "ORDAIN_MODEL_BASE_URL" => base_url.clone(),
        _ => None,
    }
}

/// A provider at any address.
pub fn provider(wire: ProviderName, url: &str) -> Provider {
    let settings = settings(wire, url);
    settings.provider(environment(&settings), Path::new("."), &[]).unwrap().with_limits(LIMITS)
}

pub fn ask(text: &str) -> Ask {
    let schema = json!({
        "type": "object",
        "properties": {"title": {"type": "string", "maxLength": 40}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["title"],
    });
    Ask {
        prompt: text.to_owned(),
        system: "You answer in JSON.".to_owned(),
        turns: vec![Turn { role: Role::User, text: text.to_owned() }],
        schema: Some(Schema { name: "note".to_owned(), value: schema }),
    }
}

/// Asks once, with a deadline that no test reaches.
pub async fn complete(provider: &Provider, text: &str) -> (Result<Answer, ModelError>, Usage) {
    let mut usage = Usage::default();
    let answer = provider.complete(&ask(text), Instant::now() + LIMITS.request, &mut usage).await;
    (answer, usage)
}

/// A provider that is written here, for faults that no other program has: it reads a request, sends the next of its
/// replies as it is, byte by byte, and closes the connection.
pub struct Scripted {
    pub url: String,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// The reaction of a scripted provider to a request.
#[derive(Clone)]
pub enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes again and again, until the other side has enough.
    Flood { head: Vec<u8>, again: Vec<u8> },
    /// Sends these bytes and then nothing, without closing.
    Hang(Vec<u8>),
}

impl Scripted {
    pub async fn new(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        tokio::spawn(async move {
            for act in acts {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read_request(&mut stream).await;
                seen.lock().unwrap().push(request);
                tokio::spawn(async move {
                    match act {
                        Act::Send(bytes) => {
                            let _ = stream.write_all(&bytes).await;
                            let _ = stream.shutdown().await;
                        }
                        Act::Flood { head, again } => {
                            let mut sent = stream.write_all(&head).await;
                            while sent.is_ok() {
                                sent = stream.write_all(&again).await;
                            }
                        }
                        Act::Hang(bytes) => {
                            let _ = stream.write_all(&bytes).await;
                            // Ends when the other side closes.
                            let _ = stream.read(&mut [0]).await;
                        }
                    }
                });
            }
        });
        Self { url, requests }
    }

    /// All requests so far, as they came.
    pub fn requests(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|request| String::from_utf8(request.clone()).unwrap()).collect()
    }
}

/// Head and body, whose length the head says.
async fn read_request(stream: &mut tokio::net::TcpStream) -> Vec<u8> {
    let mut request = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
        if let Some(end) = text.find("\r\n\r\n") {
            let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if request.len() >= end + 4 + length {
                return request;
            }
        }
        let mut part = [0; 4096];
        let read = stream.read(&mut part).await.unwrap();
        assert_ne!(read, 0, "the request broke off");
        request.extend_from_slice(&part[..read]);
    }
}

/// A whole HTTP answer.
pub fn http(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    Act::Send(
        format!("HTTP/1.1 {status}\r\n{headers}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
            .into_bytes(),
    )
}

/// A good answer of an API, with a text and the word for how it ended.
pub fn good(wire: ProviderName, text: &str, finish: &str) -> Json {
    match wire {
        ProviderName::OpenAi => json!({
            "id": "1", "object": "chat.completion",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        }),
        ProviderName::Anthropic => json!({
            "id": "1", "type": "message", "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "stop_reason": finish,
            "usage": {"input_tokens": 11, "output_tokens": 7},
        }),
        ProviderName::Ollama => json!({
            "model": "some-model", "message": {"role": "assistant", "content": text},
            "done": true, "done_reason": finish, "prompt_eval_count": 11, "eval_count": 7,
        }),
        ProviderName::Replay => panic!("there is no request"),
    }
}

/// The word for an answer that is complete.
pub fn done(wire: ProviderName) -> &'static str {
    if wire == ProviderName::Anthropic { "end_turn" } else { "stop" }
}
