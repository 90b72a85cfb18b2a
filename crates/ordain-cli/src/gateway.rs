//! The way to the gate: a server, or the store of this project. Both are used through the same client.

use crate::arguments::Connect;
use crate::exit::Failure;
use crate::input::Source;
use crate::policy_folder;
use crate::project::{CONFIG, Project};
use crate::report::{YELLOW, printable};
use ordain_canon::{ContentHash, SHA256_PREFIX};
use ordain_client::{Client, ClientError, HttpTransport};
use ordain_gate::{Caller, Clock, Gate, GateError, Keyring, Settings, check_grown};
use ordain_ledger::SignedNote;
use ordain_note::Drafter;
use ordain_server::{App, InProcess};
use ordain_store::{Location, Store, StoreError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// The file with the last signed head of the project's store, in the state folder.
const CHECKPOINT: &str = "checkpoint";

/// A way to the gate: a client, and the store of this project if there is no server.
pub(crate) struct Gateway {
    // Dropped before the store is closed.
    client: Client,
    server: Option<String>,
    local: Option<Local>,
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
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) app: App,
    caller: Caller,
    /// Where the last signed head is kept.
    pub(crate) checkpoint: Option<PathBuf>,
    size_before: u64,
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
        if let Some(url) = &args.server {
            let transport = connect(url, args)?;
            let server = Some(transport.address().to_string());
            return Ok(Self { client: Client::new(transport), server, local: None });
        }
        let local = Local::open_place(&Place::seen_from(project, args)?, &args.who(), purpose, json)?;
        Ok(Self { client: local.client(), server: None, local: Some(local) })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The server, if it is one.
    pub(crate) fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// The gate in this process, unless it is a server.
    pub(crate) fn into_local(self) -> Option<Local> {
        self.local
    }

    /// The same gate, which drafts notes if it is in this process. A server has a drafter of its own.
    pub(crate) fn with_notes(self, drafter: Drafter) -> Self {
        let Some(mut local) = self.local else { return self };
        local.app = local.app.clone().with_notes(drafter);
        Self { client: local.client(), server: self.server, local: Some(local) }
    }
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
    fn client(&self) -> Client {
        let Self { runtime, app, caller, .. } = self;
        Client::new(InProcess { runtime: Arc::clone(runtime), app: app.clone(), caller: caller.clone() })
    }

    fn open_place(place: &Place, who: &str, purpose: Purpose, json: bool) -> Result<Self, Failure> {
        let runtime = Arc::new(runtime(1)?);
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

fn connect(url: &str, args: &Connect) -> Result<HttpTransport, Failure> {
    let token = match &args.token_file {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| Failure::File { path: path.display().to_string(), error })?,
        None => std::env::var("ORDAIN_TOKEN").map_err(|_| {
            Failure::Usage("no token for the server".to_owned())
                .with_hint("set ORDAIN_TOKEN, or name a file with `--token-file`")
        })?,
    };
    HttpTransport::new(url, &token).map_err(|error| Failure::from(ClientError::from(error)))
}
