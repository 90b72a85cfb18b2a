//! `ordain evidence pack`: from a file, a document or a command to an evidence packet.

use crate::clock::{now_ms, parse_time};
use crate::document::document_failure;
use crate::document::{Made, emit, load};
use crate::exit::{self, Failure, Outcome};
use crate::input::Source;
use crate::report::{YELLOW, printable, write_hint};
use base64ct::{Base64UrlUnpadded, Encoding};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ed25519_dalek::{Signer, SigningKey};
use ordain_agent::{Trial, evidence_of};
use ordain_canon::{Canonicalizer, PatchHash, PayloadHash, SHA256_PREFIX, Value};
use ordain_spec::action::RUNNER_SENSOR;
use ordain_spec::evidence::ExecutionEvidence;
use ordain_spec::packet::{EvidencePacket, PacketType};
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;
use ordain_spec::run::RunResult;
use ordain_spec::{Facts, verify_as};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Args)]
#[command(
    group(clap::ArgGroup::new("observed").required(true).args(["file", "payload", "run", "argv"])),
    after_help = exit::help_with("\
Examples:
  ordain evidence pack --sensor ci --file target/release/app -o evidence/app.json
  ordain evidence pack --sensor crm --payload contact.json --key crm.key
  ordain evidence pack --sensor ci -- cargo test --workspace
  ordain evidence pack --sensor ordain-sandbox --run .ordain/runs/RUN --key runner.key

The command is run as it is, without a sandbox. Its exit code is part of what was observed.
With --key and -o the public key is shown, for the policy's sensors.toml. A new key:
  (umask 077; head -c 32 /dev/urandom | basenc --base64url | tr -d = > ci.key)", &[
    Outcome::Ok.means("a packet was made"),
    Outcome::Failed.means("an error"),
])
)]
pub(crate) struct Pack {
    /// The sensor that observed: a name in the policy's sensors.toml
    #[arg(long, value_name = "ID")]
    pub(crate) sensor: String,
    /// The kind of sensor
    #[arg(long, value_name = "TYPE", default_value = "cli")]
    pub(crate) sensor_type: String,
    /// The packet's id; one made of the hash of the payload when absent
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The kind of observation, such as api_response [default: by its origin]
    #[arg(long = "type", value_name = "TYPE", value_parser = packet_types())]
    pub(crate) packet_type: Option<ordain_spec::packet::PacketType>,
    /// When it was observed, in milliseconds since 1970 or as 2026-01-05T12:00:00Z; the machine's time when absent
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) now: Option<u64>,
    /// Sign with the Ed25519 key in this file: 32 bytes in base64url
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Write the packet to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Observe this file: its name, its hash and its size
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Take this JSON object for the payload as it is; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) payload: Option<PathBuf>,
    /// Take what a run in the sandbox came to, by its folder: for a runner that has a user and a key of its own
    #[arg(long, value_name = "DIR", conflicts_with_all = ["id", "packet_type", "now"])]
    pub(crate) run: Option<PathBuf>,
    /// Observe what this command prints and how it ends
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) argv: Vec<String>,
}

/// Bytes of each output stream that go into a packet.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// Digits of the payload's hash in an id that nobody gave.
const ID_DIGITS: usize = 16;

/// The types of evidence packets by name.
fn packet_types() -> impl TypedValueParser<Value = PacketType> {
    PossibleValuesParser::new(PACKET_TYPES)
        .try_map(|name| serde_json::from_value(serde_json::Value::String(name)))
}

const PACKET_TYPES: [&str; 13] = [
    "dom_snapshot",
    "url_observation",
    "form_state",
    "selection",
    "api_response",
    "webhook_payload",
    "file_hash",
    "diff_observation",
    "timestamp",
    "environment",
    "approval",
    "attestation",
    "aggregate",
];

pub(super) fn run(args: &Pack, json: bool) -> Result<Outcome, Failure> {
    let key = args.key.as_deref().map(read_key).transpose()?;
    if let Some(folder) = &args.run {
        let packet = observe_run(folder, &args.sensor, json)?;
        let id = packet.evidence_id.as_str().to_owned();
        let packet_type = packet.packet_type;
        // A packet that could not be written would not pass the check below.
        let packet = serde_json::to_value(&packet).unwrap_or_default();
        return hand_out(args, packet, id, packet_type, key.as_ref(), json);
    }
    let (payload, packet_type) = match (&args.file, &args.payload) {
        (Some(path), _) => (observe_file(path)?, PacketType::FileHash),
        (None, Some(path)) => (observe_document(path)?, PacketType::ApiResponse),
        (None, None) => (observe_command(&args.argv)?, PacketType::Environment),
    };
    let at_ms = args.now.unwrap_or_else(now_ms);
    let mut canon = Canonicalizer::new();
    let payload_hash = PayloadHash::of(&mut canon, &payload)?.to_string();
    let digits = payload_hash.trim_start_matches(SHA256_PREFIX).get(..ID_DIGITS).unwrap_or_default();
    let id = args.id.clone().unwrap_or_else(|| format!("ev-{digits}"));
    let packet_type = args.packet_type.unwrap_or(packet_type);
    let packet = json!({
        "evidence_id": id,
        "packet_type": packet_type,
        "sensor_id": args.sensor,
        "sensor_type": args.sensor_type,
        "observed_at_ms": at_ms,
        "received_at_ms": at_ms,
        "payload": payload,
        "payload_hash": payload_hash,
    });
    hand_out(args, packet, id, packet_type, key.as_ref(), json)
}

/// Signs a packet, if there is a key, and hands it out.
fn hand_out(
    args: &Pack,
    mut packet: Json,
    id: String,
    packet_type: PacketType,
    key: Option<&SigningKey>,
    json: bool,
) -> Result<Outcome, Failure> {
    let mut canon = Canonicalizer::new();
    if let Some(key) = key {
        let signature = Base64UrlUnpadded::encode_string(&key.sign(canon.value(&packet)?).to_bytes());
        let members = packet.as_object_mut();
        members.map(|members| members.insert("sensor_signature".to_owned(), json!(signature)));
    }
    check(&packet)?;
    let signed = match key {
        Some(key) => {
            let public = Base64UrlUnpadded::encode_string(key.verifying_key().as_bytes());
            format!("signed, public key {public}")
        }
        None => "not signed".to_owned(),
    };
    let made = Made {
        title: format!("evidence packet {id}"),
        name: ("id", id),
        summary: format!("{}, {signed}", crate::wording::word(&packet_type)),
    };
    emit(&packet, args.output.as_deref(), json, made)?;
    Ok(Outcome::Ok)
}

/// The packet that `ordain apply` binds to the proposal of this run: the same id and content, so that the
/// runner's own is found there.
fn observe_run(folder: &Path, sensor: &str, json: bool) -> Result<EvidencePacket, Failure> {
    if sensor != RUNNER_SENSOR {
        return Err(Failure::Usage(format!("runs are evidence of the sensor `{RUNNER_SENSOR}`")));
    }
    let result = load::<RunResult>(&folder.join("result.json"), json)?.document;
    let plan = load::<Proposal>(&folder.join("plan.json"), json)?.document;
    let evidence = load::<ExecutionEvidence>(&folder.join("evidence.json"), json)?.document;
    let patch = load::<PatchSet>(&folder.join("patch.json"), json)?.document;
    let patch_hash = PatchHash::of(&mut Canonicalizer::new(), &*patch)?.to_string();
    Ok(evidence_of(&Trial { result: &result, plan: &plan, evidence: &evidence }, &patch_hash)?)
}

/// No packet is handed out that would not be taken.
fn check(packet: &Json) -> Result<(), Failure> {
    let refused = |problem: String| Failure::Document { path: "the packet".to_owned(), problem };
    let mut canon = Canonicalizer::new();
    let text = canon.value(packet)?;
    let value = Value::read(text).map_err(|error| refused(error.to_string()))?;
    match verify_as::<EvidencePacket>(&Facts::default(), &value) {
        Ok(_) => Ok(()),
        Err(report) => {
            let wrong =
                report.violations().iter().map(|it| format!("{} at `{}`: {}", it.rule, it.path, it.message));
            Err(refused(wrong.collect::<Vec<_>>().join("; ")))
        }
    }
}

fn observe_file(path: &Path) -> Result<Json, Failure> {
    let name = path.display().to_string();
    let failure = |error| Failure::File { path: name.clone(), error };
    let problem = |problem: &str| Failure::Document { path: name.clone(), problem: problem.to_owned() };
    let shown = path.to_str().ok_or_else(|| problem("has a name that is not UTF-8"))?;
    if path.is_dir() {
        return Err(problem("is a folder, not a file"));
    }
    let content = Stream::read(Some(File::open(path).map_err(failure)?)).map_err(failure)?;
    Ok(json!({"path": shown, "bytes": content.bytes, "sha256": content.sha256()}))
}

fn observe_document(path: &Path) -> Result<Json, Failure> {
    let source = Source::of(path);
    let text = source.text()?;
    let value = text.read(&text.json).map_err(|wrong| document_failure(&source, &wrong))?;
    let problem = |problem: String| Failure::Document { path: source.name(), problem };
    if value.as_object().is_none() {
        return Err(problem(format!("a payload is an object, and this is {}", value.kind())));
    }
    value.to_typed().map_err(|error| problem(error.to_string()))
}

/// Runs a command and takes what it prints. Both streams are read to their ends, so that it is never held up,
/// and hashed as a whole; of each only the beginning is kept.
fn observe_command(argv: &[String]) -> Result<Json, Failure> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err(Failure::Usage("a command is missing after `--`".to_owned()));
    };
    let failure = |error| Failure::File { path: program.clone(), error };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failure)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = std::thread::scope(|scope| {
        let stderr = scope.spawn(|| Stream::read(stderr));
        let stdout = Stream::read(stdout);
        let lost = || std::io::Error::other("its standard error could not be read");
        (stdout, stderr.join().unwrap_or_else(|_| Err(lost())))
    });
    let status = child.wait().map_err(failure)?;
    let mut payload = Map::new();
    payload.insert("command".to_owned(), json!(argv));
    payload.insert("exit_code".to_owned(), json!(status.code()));
    if let Some(signal) = status.signal() {
        payload.insert("signal".to_owned(), json!(signal));
    }
    for (name, stream) in [("stdout", stdout), ("stderr", stderr)] {
        let stream = stream.map_err(failure)?;
        if stream.bytes > stream.kept.len() as u64 {
            payload.insert(format!("{name}_bytes"), json!(stream.bytes));
            payload.insert(format!("{name}_truncated"), json!(true));
        }
        payload.insert(name.to_owned(), json!(String::from_utf8_lossy(beginning(&stream))));
        payload.insert(format!("{name}_sha256"), json!(stream.sha256()));
    }
    Ok(Json::Object(payload))
}

/// A stream that was read to its end.
#[derive(Default)]
struct Stream {
    kept: Vec<u8>,
    bytes: u64,
    hasher: Sha256,
}

impl Stream {
    fn read(stream: Option<impl Read>) -> std::io::Result<Self> {
        let mut all = Self::default();
        let Some(mut stream) = stream else { return Ok(all) };
        let mut buffer = vec![0; OUTPUT_BYTES_MAX];
        loop {
            let read = match stream.read(&mut buffer) {
                Ok(0) => return Ok(all),
                Ok(read) => buffer.get(..read).unwrap_or_default(),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            all.hasher.update(read);
            all.bytes += read.len() as u64;
            let room = OUTPUT_BYTES_MAX - all.kept.len();
            all.kept.extend(read.iter().take(room));
        }
    }

    fn sha256(self) -> String {
        let digits: String = self.hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{SHA256_PREFIX}{digits}")
    }
}

/// The kept bytes, without half a character at the cut.
fn beginning(stream: &Stream) -> &[u8] {
    let kept = stream.kept.as_slice();
    let end = match std::str::from_utf8(kept) {
        Err(error) if error.error_len().is_none() && stream.bytes > kept.len() as u64 => error.valid_up_to(),
        _ => kept.len(),
    };
    kept.get(..end).unwrap_or(kept)
}

/// An Ed25519 seed in base64url.
fn read_key(path: &Path) -> Result<SigningKey, Failure> {
    let name = path.display().to_string();
    let metadata = std::fs::metadata(path).map_err(|error| Failure::File { path: name.clone(), error })?;
    if metadata.permissions().mode() & 0o077 != 0 {
        let warning = format!("{name}: other users can read this key");
        let mut stderr = anstream::stderr().lock();
        let _ = writeln!(stderr, "{YELLOW}warning:{YELLOW:#} {}", printable(&warning));
        let _ = write_hint(&mut stderr, Some(&format!("run `chmod 600 {name}`")));
    }
    let bytes = Source::of(path).bytes()?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let seed =
        Base64UrlUnpadded::decode_vec(text.trim()).ok().and_then(|seed| <[u8; 32]>::try_from(seed).ok());
    // Do not print the content of the file: it may be a key in another form.
    let problem = || Failure::Document {
        path: name.clone(),
        problem: "is not a key: expected 32 bytes in base64url without padding, 43 characters".to_owned(),
    };
    Ok(SigningKey::from_bytes(&seed.ok_or_else(problem)?))
}
