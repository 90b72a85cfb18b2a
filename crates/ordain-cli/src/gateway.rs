//! The way to the gate: a server, or the store of this project. Both take the same requests.

use crate::arguments::Connect;
use crate::exit::Failure;
use crate::input::Source;
use crate::policy_folder;
use crate::project::{CONFIG, Project};
use crate::report::{YELLOW, printable};
use ordain_canon::{ContentHash, SHA256_PREFIX};
use ordain_gate::{Caller, Clock, Gate, GateError, Keyring, Settings, check_grown};
use ordain_ledger::SignedNote;
use ordain_server::{App, Problem, Reply};
use ordain_store::{Location, Store, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::Runtime;

/// The file with the last signed head of the project's store, in the state folder.
const CHECKPOINT: &str = "checkpoint";

/// A way to the gate.
pub(crate) enum Gateway {
    /// The store of this project.
    Local(Box<Local>),
    /// A server.
    Remote(Remote),
}

/// What a command does with a store of this machine. A server decides for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It looks, and writes nothing.
    Look,
    /// It writes, and asks no policy.
    Write,
    /// It has something decided, by the policies of this project.
    Decide,
}

/// A gate in this process.
pub(crate) struct Local {
    pub(crate) runtime: Runtime,
    pub(crate) app: App,
    pub(crate) caller: Caller,
    /// Where the last signed head is kept.
    pub(crate) checkpoint: Option<PathBuf>,
    size_before: u64,
}

pub(crate) struct Remote {
    agent: ureq::Agent,
    url: String,
    token: String,
}

/// What a gate in this process needs.
pub(crate) struct Place {
    pub(crate) location: Location,
    pub(crate) state: Option<PathBuf>,
    pub(crate) policy: Option<PathBuf>,
    /// Whether it is the store that the project names, or one that a command does.
    own: bool,
    /// The file with the last signed head, in the state folder: each store has one.
    checkpoint: String,
}

impl Gateway {
    pub(crate) fn open(args: &Connect, purpose: Purpose, json: bool) -> Result<Self, Failure> {
        let project = if args.server.is_some() { None } else { Project::find()? };
        Self::open_in(project, args, purpose, json)
    }

    /// As seen from a project.
    pub(crate) fn open_in(
        project: Option<Project>,
        args: &Connect,
        purpose: Purpose,
        json: bool,
    ) -> Result<Self, Failure> {
        match &args.server {
            Some(url) => Remote::new(url, args).map(Self::Remote),
            None => {
                let local = Local::open_place(&Place::seen_from(project, args)?, &args.who(), purpose, json)?;
                Ok(Self::Local(Box::new(local)))
            }
        }
    }

    /// The server, if it is one.
    pub(crate) fn server(&self) -> Option<&str> {
        match self {
            Self::Local(_) => None,
            Self::Remote(remote) => Some(&remote.url),
        }
    }

    /// Sends a request and gives the answer's body.
    pub(crate) fn raw(&self, method: &str, path: &str, body: Option<Vec<u8>>) -> Result<Reply, Failure> {
        let reply = match self {
            Self::Local(local) => {
                local.runtime.block_on(local.app.call(local.caller.clone(), method, path, body))
            }
            Self::Remote(remote) => remote.send(method, path, body)?,
        };
        if (200..300).contains(&reply.status) {
            return Ok(reply);
        }
        match serde_json::from_slice::<Problem>(&reply.body) {
            Ok(Problem { code, .. }) if code == "no_route" => Err(Failure::Server(format!(
                "{} has no {path}; name the server by its address alone, as in https://gate.example, and check that it is of this version",
                self.server().map_or(Cow::Borrowed("the gate"), printable)
            ))),
            Ok(problem) => Err(Failure::Gate(Box::new(problem))),
            Err(_) => Err(Failure::Server(format!("the server answered with the status {}", reply.status))),
        }
    }

    /// Sends a request and reads the answer.
    pub(crate) fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, Failure> {
        let body = body.map(|body| serde_json::to_vec(body).unwrap_or_default());
        let reply = self.raw(method, path, body)?;
        serde_json::from_slice(&reply.body)
            .map_err(|error| Failure::Server(format!("the server's answer cannot be read: {error}")))
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.send("GET", path, None::<&()>)
    }

    pub(crate) fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Failure> {
        self.send("POST", path, Some(body))
    }
}

/// A name as a part of a path.
pub(crate) fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

impl Place {
    fn of_project(project: &Project) -> Self {
        Self {
            location: project.store(),
            state: Some(project.state()),
            policy: Some(project.policy()),
            own: true,
            checkpoint: CHECKPOINT.to_owned(),
        }
    }

    pub(crate) fn of(args: &Connect) -> Result<Self, Failure> {
        Self::seen_from(Project::find()?, args)
    }

    fn seen_from(project: Option<Project>, args: &Connect) -> Result<Self, Failure> {
        let policy = project.as_ref().map(Project::policy);
        match (&args.store, project) {
            (Some(store), project) => {
                let location = Location::parse(store);
                if matches!(location, Location::File(_)) && store.contains("://") {
                    let problem = "is no store; name a file, `memory`, or a database as postgres://…";
                    return Err(Failure::Usage(format!("{} {problem}", printable(&location.to_string()))));
                }
                let own = project.as_ref().is_none_or(|project| project.store() == location);
                let checkpoint = if own {
                    CHECKPOINT.to_owned()
                } else {
                    format!("{CHECKPOINT}-{}", digits(&location.to_string()))
                };
                let state = match (&location, project) {
                    (Location::Memory, _) => None,
                    (_, Some(project)) => Some(project.state()),
                    (Location::File(path), None) => Some(
                        path.parent()
                            .filter(|it| !it.as_os_str().is_empty())
                            .unwrap_or(Path::new("."))
                            .to_owned(),
                    ),
                    (Location::Postgres(_), None) => {
                        let problem = format!(
                            "there is no {CONFIG} here or above, so there is no place for the signing key; `ordain init` writes one"
                        );
                        return Err(Failure::Document { path: ".".to_owned(), problem });
                    }
                };
                Ok(Self { location, state, policy, own, checkpoint })
            }
            (None, Some(project)) => Ok(Self::of_project(&project)),
            (None, None) => {
                let problem = format!(
                    "there is no {CONFIG} here or above, and so no gate; `ordain init` writes one, or name a server with --server URL"
                );
                Err(Failure::Document { path: ".".to_owned(), problem })
            }
        }
    }

    pub(crate) fn keyring(&self) -> Result<Keyring, Failure> {
        let keyring = match &self.state {
            Some(folder) => Keyring::open(folder),
            None => Keyring::ephemeral(),
        };
        keyring.map_err(|error| Failure::Server(error.to_string()))
    }

    /// The key, if there is one; nothing is written.
    pub(crate) fn existing_keyring(&self) -> Result<Option<Keyring>, Failure> {
        let keyring = self.state.as_ref().map(|folder| Keyring::open_existing(folder)).transpose();
        keyring.map(Option::flatten).map_err(|error| Failure::Server(error.to_string()))
    }

    pub(crate) fn checkpoint(&self) -> Option<PathBuf> {
        self.state.as_ref().map(|folder| folder.join(&self.checkpoint))
    }

    /// The store, to go on with: not an older copy, nor another one, than what was signed last.
    pub(crate) async fn open_store(&self, keyring: &Keyring, purpose: Purpose) -> Result<Store, Failure> {
        let signed = self.signed()?;
        let unreachable = |error: StoreError| Failure::from(GateError::from(error));
        let opened = match purpose {
            Purpose::Look => Store::open_to_read(&self.location).await,
            Purpose::Write | Purpose::Decide => Store::open(&self.location).await,
        };
        let store = opened.map_err(unreachable)?;
        if let Some((path, note)) = signed
            && let Err(error) = check_grown(&store, Some(keyring), &note).await
        {
            return Err(match error {
                GateError::Damaged(problem) => Failure::Damaged {
                    path: self.location.to_string(),
                    problem: format!(
                        "{problem}; put the right one back, or, if you know why, move {} away",
                        path.display()
                    ),
                },
                error => error.into(),
            });
        }
        Ok(store)
    }

    /// The head that was signed last, and where it is kept.
    pub(crate) fn signed(&self) -> Result<Option<(PathBuf, SignedNote)>, Failure> {
        let Some(path) = self.checkpoint().filter(|path| path.exists()) else { return Ok(None) };
        let note = read_note(&path)?;
        Ok(Some((path, note)))
    }

    /// That there is something to look at.
    pub(crate) fn check_there(&self) -> Result<(), Failure> {
        match &self.location {
            Location::File(path) if !path.exists() => {
                let path = path.display().to_string();
                Err(match self.checkpoint().filter(|signed| signed.exists()) {
                    None => {
                        let problem = "there is no store yet; the first `ordain submit` makes one".to_owned();
                        Failure::Document { path, problem }
                    }
                    Some(signed) => {
                        let problem = format!(
                            "there is no store, and {} was signed over one; put it back, or, if you know why, move that file away",
                            signed.display()
                        );
                        Failure::Damaged { path, problem }
                    }
                })
            }
            _ => Ok(()),
        }
    }

    /// Makes the folders that a store and a key need, hidden from version control.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        let Some(state) = &self.state else { return Ok(()) };
        let failure = |error| Failure::File { path: state.display().to_string(), error };
        std::fs::create_dir_all(state).map_err(failure)?;
        let ignore = state.join(".gitignore");
        if !ignore.exists() {
            std::fs::write(&ignore, "*\n").map_err(failure)?;
        }
        Ok(())
    }
}

impl Local {
    fn open_place(place: &Place, who: &str, purpose: Purpose, json: bool) -> Result<Self, Failure> {
        let runtime = runtime(1)?;
        let caller = Caller::local(who);
        // What is gone with the command has to begin somewhere.
        if purpose == Purpose::Look && place.location != Location::Memory {
            place.check_there()?;
            let keyring = match place.existing_keyring()? {
                Some(keyring) => keyring,
                None => Keyring::ephemeral().map_err(|error| Failure::Server(error.to_string()))?,
            };
            let gate = runtime.block_on(async {
                let store = place.open_store(&keyring, purpose).await?;
                let opened = Gate::open_to_look(store, keyring, Clock::system(), Settings::default()).await;
                opened.map_err(Failure::from)
            })?;
            return Ok(Self { runtime, app: App::new(gate, None), caller, checkpoint: None, size_before: 0 });
        }
        place.prepare()?;
        let keyring = place.keyring()?;
        let gate = runtime.block_on(async {
            let store = place.open_store(&keyring, purpose).await?;
            let opened = Gate::open(store, keyring, Clock::system(), Settings::default()).await;
            opened.map_err(Failure::from)
        })?;
        if purpose == Purpose::Decide {
            put_in_force(place, &runtime, &gate, &caller, json)?;
        }
        runtime.block_on(gate.sweep())?;
        let size_before = runtime.block_on(gate.size())?;
        let app = App::new(gate, None);
        Ok(Self { runtime, app, caller, checkpoint: place.checkpoint(), size_before })
    }
}

/// Puts the project's policies in force on its own store. Another store has policies of its own, unless it is new.
fn put_in_force(
    place: &Place,
    runtime: &Runtime,
    gate: &Gate,
    caller: &Caller,
    json: bool,
) -> Result<(), Failure> {
    let Some(policy) = &place.policy else { return Ok(()) };
    if !place.own && runtime.block_on(gate.gate_status())?.policy_hash.is_some() {
        return Ok(());
    }
    let (path, files) = policy_folder::load_files(Some(policy), json)?;
    if runtime.block_on(gate.set_policy(caller, &files))? {
        let said =
            format!("the policies of {} are in force from now on; that is on the ledger", path.display());
        let _ = writeln!(anstream::stderr(), "{YELLOW}note:{YELLOW:#} {}", printable(&said));
    }
    Ok(())
}

/// What was written is signed, and the store is closed.
impl Drop for Local {
    fn drop(&mut self) {
        let gate = self.app.gate().clone();
        let (checkpoint, before) = (self.checkpoint.clone(), self.size_before);
        self.runtime.block_on(async {
            let grew = gate.size().await.is_ok_and(|size| size > before);
            if let Some(path) = checkpoint.filter(|path| grew || !path.exists()) {
                // The next command signs again; nothing depends on this one.
                let _ = gate.keep_checkpoint(&path).await;
            }
            let _ = gate.store().clone().close().await;
        });
    }
}

/// Bytes of an answer: a page of long entries is the longest that a server gives.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// A token goes to a server only where nobody else can read it: encrypted, or on this machine.
fn check_url(url: &str) -> Result<(), Failure> {
    let refused = |problem: &str| Err(Failure::Usage(format!("{} {problem}", printable(url))));
    let Ok(parsed) = url.parse::<ureq::http::Uri>() else { return refused("is no URL of a server") };
    let (Some(scheme), Some(authority)) = (parsed.scheme_str(), parsed.authority()) else {
        return refused("is no URL of a server, such as http://127.0.0.1:7171");
    };
    if authority.as_str().contains('@') {
        // A password may stand beside it, so that the URL is not shown.
        let problem = "the server's URL has a name in it, before an `@`; a token says who asks";
        return Err(Failure::Usage(problem.to_owned()));
    }
    let host = authority.host();
    let is_here = host.eq_ignore_ascii_case("localhost")
        || host == "[::1]"
        || host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    match scheme {
        "https" => Ok(()),
        "http" if is_here => Ok(()),
        "http" => {
            refused("would carry the token where others can read it; use https, or a server on this machine")
        }
        _ => refused("is no URL that this program can use; it takes https, and http on this machine"),
    }
}

/// A signed note in a file.
pub(crate) fn read_note(path: &Path) -> Result<SignedNote, Failure> {
    let bytes = Source::of(path).bytes()?;
    let text = String::from_utf8_lossy(&bytes);
    SignedNote::parse(&text).map_err(|error| Failure::Document {
        path: path.display().to_string(),
        problem: format!("is no checkpoint: {error}"),
    })
}

/// By which one store is told from another, in the name of a file.
fn digits(store: &str) -> String {
    let hash = ContentHash::of(store.as_bytes()).to_string();
    hash.trim_start_matches(SHA256_PREFIX).chars().take(12).collect()
}

/// A runtime with this many threads.
pub(crate) fn runtime(threads: usize) -> Result<Runtime, Failure> {
    let mut builder = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    Ok(builder.enable_all().build()?)
}

impl Remote {
    fn new(url: &str, args: &Connect) -> Result<Self, Failure> {
        let token = match &args.token_file {
            Some(path) => std::fs::read_to_string(path)
                .map_err(|error| Failure::File { path: path.display().to_string(), error })?,
            None => std::env::var("ORDAIN_TOKEN").map_err(|_| {
                Failure::Usage(
                    "a server takes a token: set ORDAIN_TOKEN, or name a file with --token-file".to_owned(),
                )
            })?,
        };
        check_url(url)?;
        /// Longer than any wait that a server grants.
        const TIMEOUT: Duration = Duration::from_secs(120);
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            // Nothing is sent to where somebody else says.
            .max_redirects(0)
            .build();
        Ok(Self {
            agent: config.new_agent(),
            url: url.trim_end_matches('/').to_owned(),
            token: token.trim().to_owned(),
        })
    }

    fn send(&self, method: &str, path: &str, body: Option<Vec<u8>>) -> Result<Reply, Failure> {
        let url = format!("{}{path}", self.url);
        let failed = |error: ureq::Error| {
            let problem = error.to_string();
            let hint = match problem.contains("InvalidContentType") {
                true => "; it does not speak TLS: is it http://?",
                false => "",
            };
            Failure::Server(format!("{}: {problem}{hint}", self.url))
        };
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(&url)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json");
        let wrong = |error: ureq::http::Error| Failure::Usage(format!("{url}: {error}"));
        let response = match body {
            Some(body) => self.agent.run(request.body(body).map_err(wrong)?),
            None => self.agent.run(request.body(()).map_err(wrong)?),
        };
        let mut response = response.map_err(failed)?;
        let content_type = response.headers().get("content-type").and_then(|it| it.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec().map_err(failed)?;
        Ok(Reply { status: response.status().as_u16(), content_type, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stays_on_this_machine_or_is_encrypted() {
        for url in [
            "http://127.0.0.1",
            "http://127.0.0.1:7171/",
            "http://127.1.2.3:7171",
            "http://localhost:7171",
            "http://LOCALHOST",
            "http://[::1]:7171",
            "https://gate.example",
            "https://10.0.0.5:7171/ordain",
            "HTTPS://gate.example",
        ] {
            assert!(check_url(url).is_ok(), "{url}");
        }
        for url in [
            "http://gate.example",
            "http://localhost.evil.example",
            "http://localhost@evil.example",
            "http://localhost:7171@evil.example",
            "http://127.0.0.1.evil.example",
            "http://127.0.0.1@evil.example",
            "http://user@127.0.0.1",
            "http://10.0.0.5",
            "http://0.0.0.0:7171",
            "http://[::2]",
            "http://[::ffff:10.0.0.5]",
            "http://127.1",
            "http://0x7f000001",
            "https://user:secret@gate.example",
            "ftp://127.0.0.1",
            "localhost:7171",
            "//localhost",
            "http://",
            "https://",
            "",
            "nonsense",
        ] {
            assert!(check_url(url).is_err(), "{url}");
        }
    }
}
