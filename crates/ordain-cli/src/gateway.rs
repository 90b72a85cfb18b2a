//! The way to the gate: a server, or the store of this project. Both are used through the same client.

use crate::arguments::Connect;
use crate::exit::Failure;
use crate::input::Source;
use crate::policy_folder;
use crate::project::Project;
use crate::report;
use crate::service;
use ordain_api::ProjectName;
use ordain_client::{Client, ClientError, HttpTransport};
use ordain_gate::{Caller, Clock, Gate, GateError, Keyring, Settings, check_grown};
use ordain_ledger::SignedNote;
use ordain_note::Drafter;
use ordain_presence::OsUser;
use ordain_server::{App, InProcess};
use ordain_spec::statement::ApproverKey;
use ordain_state::{Belongs, GateFolder, GateId, Home};
use ordain_store::{Location, Store, StoreError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A way to the gate: a client, and the store of this project if there is no server.
pub(crate) struct Gateway {
    // Dropped before the store is closed.
    client: Client,
    server: Option<String>,
    local: Option<Local>,
}

/// The advice where no gate is registered for a folder.
pub(crate) const NO_GATE: &str = "run `ordain init`, or name a server with `--server URL`";

/// The use that a command makes of a store of this machine. A server decides for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It looks, and writes nothing.
    Look,
    /// It writes, and asks no policy.
    Write,
    /// It has something decided, by the policies in force.
    Decide,
}

/// A gate in this process.
pub(crate) struct Local {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) app: App,
    caller: Caller,
    /// The id of the gate.
    gate_id: String,
    /// Where the last signed head is kept.
    pub(crate) checkpoint: Option<PathBuf>,
    size_before: u64,
}

/// The gate of a project, as the state directory has it.
pub(crate) struct Place {
    pub(crate) location: Location,
    pub(crate) gate: GateFolder,
    /// Nothing for a gate that is served for others.
    pub(crate) project: Option<Project>,
}

impl Gateway {
    pub(crate) fn open(args: &Connect, purpose: Purpose) -> Result<Self, Failure> {
        let project = if args.server.is_some() { None } else { Project::find()? };
        Self::open_about(Path::new("."), project, args, purpose)
    }

    /// As seen from a project.
    pub(crate) fn open_in(
        project: Option<Project>,
        args: &Connect,
        purpose: Purpose,
    ) -> Result<Self, Failure> {
        Self::open_about(Path::new("."), project, args, purpose)
    }

    /// As seen from a project; a server behind a unix socket is told that it is about this folder.
    pub(crate) fn open_about(
        folder: &Path,
        project: Option<Project>,
        args: &Connect,
        purpose: Purpose,
    ) -> Result<Self, Failure> {
        if let Some(url) = &args.server {
            let transport = connect(url, args, folder)?;
            let server = Some(transport.address().to_string());
            return Ok(Self { client: Client::new(transport), server, local: None });
        }
        if let Some(project) = project.as_ref().filter(|project| project.service().is_some()) {
            let transport = service::transport(project.top())?;
            let server = Some(transport.address().to_string());
            return Ok(Self { client: Client::new(transport), server, local: None });
        }
        let local = Local::open_place(&Place::of(project)?, purpose)?;
        Ok(Self { client: local.client(), server: None, local: Some(local) })
    }

    /// A gate that a command line pins, about a project of it. Neither the environment nor a file of a workspace has a
    /// say.
    pub(crate) fn open_pinned(home: &Home, id: &GateId, folder: Option<&Path>) -> Result<Self, Failure> {
        let gate = home.gate(id);
        let unknown =
            |problem: String| Failure::Document { path: gate.path().display().to_string(), problem };
        if !gate.path().is_dir() {
            return Err(unknown("the pinned gate is gone".to_owned()));
        }
        let place = Place { location: location_of(&gate)?, gate: gate.clone(), project: None };
        let mut local = Local::open_place(&place, Purpose::Decide)?;
        if let Some(folder) = folder {
            let belongs = home.project_of(folder)?.filter(|belongs| belongs.gate == gate);
            let Some(Belongs { project, .. }) = belongs else {
                return Err(unknown(format!("{} is not a project of the pinned gate", folder.display())));
            };
            let (project_id, path) = (project.id.to_string(), project.path.display().to_string());
            local.caller = local.caller.clone().about_project(ProjectName { project_id, path });
        }
        Ok(Self { client: local.client(), server: None, local: Some(local) })
    }

    /// A gate behind a socket that a command line pins, about a folder.
    pub(crate) fn open_pinned_socket(
        socket: &Path,
        origin: &str,
        folder: Option<&Path>,
    ) -> Result<Self, Failure> {
        let address = format!("unix:{}", socket.display());
        let transport = HttpTransport::as_user(&address, folder).map_err(ClientError::from)?;
        let client = Client::new(transport);
        let found = client.gate()?.origin;
        if found != origin {
            let problem = format!("another gate answers, `{found}` instead of `{origin}`");
            return Err(Failure::Document { path: socket.display().to_string(), problem });
        }
        Ok(Self { client, server: Some(address), local: None })
    }

    /// The client alone; the gate in this process stays open as long as the second part.
    pub(crate) fn into_parts(self) -> (Client, Option<Local>) {
        (self.client, self.local)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The server, if it is one.
    pub(crate) fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// A gate of this user by its id, to look at: one in use, or one that another took the place of.
    pub(crate) fn of_gate(id: &GateId) -> Result<Self, Failure> {
        let local = Local::open_place(&Place::of_gate_or_replaced(id)?, Purpose::Look)?;
        Ok(Self { client: local.client(), server: None, local: Some(local) })
    }

    /// The gate of the service on this machine, whatever the folder; nothing if there is none.
    pub(crate) fn of_service(folder: &Path) -> Result<Option<Self>, Failure> {
        if !service::is_there()? {
            return Ok(None);
        }
        let transport = service::transport(folder)?;
        let server = Some(transport.address().to_string());
        Ok(Some(Self { client: Client::new(transport), server, local: None }))
    }

    /// The id of a gate of this user.
    pub(crate) fn gate_id(&self) -> Option<&str> {
        self.local.as_ref().map(|local| local.gate_id.as_str())
    }

    /// The caller, as the gate knows it.
    pub(crate) fn principal(&self) -> String {
        match &self.local {
            Some(local) => local.caller.principal().to_owned(),
            None => {
                let said = self.client.gate().ok().and_then(|status| status.principal);
                said.unwrap_or_else(|| OsUser::current().name)
            }
        }
    }

    /// The default proposer: the only agent of the person who asks, or that person.
    pub(crate) fn default_actor(&self) -> String {
        let agent = self.local.as_ref().and_then(|local| local.caller.only_agent());
        agent.map_or_else(|| self.principal(), str::to_owned)
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
    /// The gate of this folder's project.
    pub(crate) fn find() -> Result<Self, Failure> {
        Self::of(Project::find()?)
    }

    fn of(project: Option<Project>) -> Result<Self, Failure> {
        if let Some(service) = project.as_ref().and_then(Project::service) {
            let problem = format!(
                "its gate is the service's, and this needs the store of a gate of your own: {}",
                service.path
            );
            let failure = Failure::Document { path: ".".to_owned(), problem };
            return Err(failure.with_hint("run it as the user of the service"));
        }
        let found = project.and_then(|project| project.gate().cloned().map(|gate| (project, gate)));
        let Some((project, gate)) = found else {
            let problem = "no gate is registered for this folder or its parents".to_owned();
            let failure = Failure::Document { path: ".".to_owned(), problem };
            return Err(failure.with_hint(NO_GATE));
        };
        let location = location_of(&gate)?;
        Ok(Self { location, gate, project: Some(project) })
    }

    /// A gate of this user, whatever the folder.
    pub(crate) fn of_gate(id: &GateId) -> Result<Self, Failure> {
        let gate = Home::from_environment()?.gate(id);
        if !gate.path().is_dir() {
            let failure = Failure::unknown("gate", id.as_str());
            return Err(failure.with_hint("run `ordain gate list` to see the gates that are here"));
        }
        let location = location_of(&gate)?;
        Ok(Self { location, gate, project: None })
    }

    /// The same, or a gate that another took the place of. Nothing is decided there any more.
    pub(crate) fn of_gate_or_replaced(id: &GateId) -> Result<Self, Failure> {
        let gate = Home::from_environment()?.replaced_gate(id);
        if !gate.path().is_dir() {
            return Self::of_gate(id);
        }
        let location = location_of(&gate)?;
        Ok(Self { location, gate, project: None })
    }

    /// The caller, asking about the project.
    fn about_project(&self, caller: Caller) -> Caller {
        match self.project.as_ref().and_then(Project::name) {
            Some(name) => caller.about_project(name.clone()),
            None => caller,
        }
    }

    /// The key that the store was opened with. No command but `init` makes one.
    pub(crate) fn keyring(&self) -> Result<Keyring, Failure> {
        self.existing_keyring()?.ok_or_else(|| {
            let problem = "the signing key is missing, and the store is refused without it".to_owned();
            let failure = Failure::Document { path: self.gate.path().display().to_string(), problem };
            failure.with_hint("put `signing.key` back from a backup, or run `ordain gate import DIR`")
        })
    }

    /// The key, if there is one; nothing is written.
    pub(crate) fn existing_keyring(&self) -> Result<Option<Keyring>, Failure> {
        Keyring::open_existing(self.gate.path()).map_err(|error| Failure::Server(error.to_string()))
    }

    pub(crate) fn checkpoint(&self) -> PathBuf {
        self.gate.checkpoint()
    }

    /// The store, to go on with: not an older copy, nor another one, than what was signed last.
    pub(crate) async fn open_store(&self, keyring: &Keyring, purpose: Purpose) -> Result<Store, Failure> {
        self.check_there()?;
        let signed = self.signed()?;
        let unreachable = |error: StoreError| Failure::from(GateError::from(error));
        let opened = match purpose {
            Purpose::Look => Store::open_to_read(&self.location).await,
            Purpose::Write | Purpose::Decide => Store::open(&self.location).await,
        };
        let store = opened.map_err(unreachable)?;
        if store.head().await.map_err(unreachable)?.size == 0 {
            let problem = "the store is empty, and only `ordain init` begins a ledger".to_owned();
            return Err(Failure::Damaged { path: self.location.to_string(), problem });
        }
        if let Some((path, note)) = signed
            && let Err(error) = check_grown(&store, Some(keyring), &note).await
        {
            return Err(match error {
                GateError::Damaged(problem) => Failure::Damaged { path: self.location.to_string(), problem }
                    .with_hint(format!(
                        "put the right store back or, if you know why, move {} away",
                        path.display()
                    )),
                error => error.into(),
            });
        }
        Ok(store)
    }

    /// The head that was signed last, and where it is kept.
    pub(crate) fn signed(&self) -> Result<Option<(PathBuf, SignedNote)>, Failure> {
        let path = self.checkpoint();
        if !path.exists() {
            return Ok(None);
        }
        let note = read_note(&path)?;
        Ok(Some((path, note)))
    }

    /// That the store is there. Only `init` begins a ledger.
    pub(crate) fn check_there(&self) -> Result<(), Failure> {
        let Location::File(path) = &self.location else { return Ok(()) };
        if path.exists() {
            return Ok(());
        }
        let signed = self.checkpoint();
        let problem = if signed.exists() {
            format!("there is no store, and {} was signed over one", signed.display())
        } else {
            "there is no store".to_owned()
        };
        let failure = Failure::Damaged { path: path.display().to_string(), problem };
        Err(failure.with_hint("put it back from a backup, or run `ordain gate import DIR`"))
    }
}

/// The keys of approvers that a gate knows. Nothing is written.
pub(crate) fn approver_keys_of(gate: &GateFolder) -> Result<Vec<ApproverKey>, Failure> {
    let keyring = Keyring::open_existing(gate.path()).map_err(|error| Failure::Server(error.to_string()))?;
    let Some(keyring) = keyring else {
        let problem = "the signing key is missing, so nobody can tell who owns the gate".to_owned();
        let failure = Failure::Document { path: gate.path().display().to_string(), problem };
        return Err(
            failure.with_hint("put `signing.key` back from a backup, or run `ordain gate import DIR`")
        );
    };
    runtime(1)?.block_on(async {
        let store = Store::open_to_read(&location_of(gate)?).await.map_err(GateError::from)?;
        let opened = Gate::open_to_look(store.clone(), keyring, Clock::system(), Settings::default()).await?;
        let keys = opened.approver_key_list().await?.keys;
        let _ = store.close().await;
        Ok(keys)
    })
}

/// Where the store of a gate is.
pub(crate) fn location_of(gate: &GateFolder) -> Result<Location, Failure> {
    let settings = gate.settings()?;
    Ok(match settings.store {
        Some(url) => Location::Postgres(url),
        None => Location::File(gate.database()),
    })
}

impl Local {
    fn client(&self) -> Client {
        let Self { runtime, app, caller, .. } = self;
        Client::new(InProcess { runtime: Arc::clone(runtime), app: app.clone(), caller: caller.clone() })
    }

    /// The project that its caller asks about, if it asks about one.
    pub(crate) fn project(&self) -> Option<ProjectName> {
        self.caller.project().cloned()
    }

    fn open_place(place: &Place, purpose: Purpose) -> Result<Self, Failure> {
        let runtime = Arc::new(runtime(1)?);
        let user = OsUser::current();
        let keyring = place.keyring()?;
        let gate_id = place.gate.id().to_string();
        if purpose == Purpose::Look {
            let gate = runtime.block_on(async {
                let store = place.open_store(&keyring, purpose).await?;
                let opened = Gate::open_to_look(store, keyring, Clock::system(), Settings::default()).await;
                opened.map_err(Failure::from)
            })?;
            let caller = place.about_project(runtime.block_on(gate.caller_of_user(&user.name))?);
            let app = App::new(gate);
            return Ok(Self { runtime, app, caller, gate_id, checkpoint: None, size_before: 0 });
        }
        let gate = runtime.block_on(async {
            let store = place.open_store(&keyring, purpose).await?;
            let opened = Gate::open(store, keyring, Clock::system(), Settings::default()).await;
            opened.map_err(Failure::from)
        })?;
        if purpose == Purpose::Decide {
            note_difference(place, &runtime, &gate)?;
        }
        let caller = place.about_project(runtime.block_on(gate.caller_of_user(&user.name))?);
        runtime.block_on(gate.sweep())?;
        let size_before = runtime.block_on(gate.size())?;
        let app = App::new(gate);
        Ok(Self { runtime, app, caller, gate_id, checkpoint: Some(place.checkpoint()), size_before })
    }
}

/// Says that the project's policy folder is not what is in force. It stays so until somebody pushes it.
fn note_difference(place: &Place, runtime: &Runtime, gate: &Gate) -> Result<(), Failure> {
    let active = runtime.block_on(gate.active_policy())?;
    let Some(active) = active else { return Ok(()) };
    let hint = "run `ordain policy diff` to see the difference, and run `ordain policy push` to put the folder in force";
    let Some(project) = &place.project else { return Ok(()) };
    match project.policy().and_then(policy_folder::document_hash) {
        Ok((_, hash)) if hash == active.files_document => {}
        Ok((path, _)) => {
            let said = format!("{} differs from the policies in force, which decide", path.display());
            report::note(&said, Some(hint));
        }
        Err(failure) => {
            let said =
                format!("the policies in force decide; the policy folder cannot be read: {}", failure.text());
            report::note(&said, failure.hint());
        }
    }
    Ok(())
}

/// The written entries are signed, and the store is closed.
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
        problem: format!("is not a checkpoint: {error}"),
    })
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

fn connect(url: &str, args: &Connect, folder: &Path) -> Result<HttpTransport, Failure> {
    let token = match &args.token_file {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| Failure::File { path: path.display().to_string(), error })?,
        None => match std::env::var("ORDAIN_TOKEN") {
            Ok(token) => token,
            Err(_) if url.starts_with("unix:") => {
                let transport = HttpTransport::as_user(url, Some(folder));
                return transport.map_err(|error| Failure::from(ClientError::from(error)));
            }
            Err(_) => {
                let failure = Failure::Usage("no token for the server".to_owned());
                return Err(failure.with_hint("set ORDAIN_TOKEN, or name a file with `--token-file`"));
            }
        },
    };
    HttpTransport::trusting(url, &token, args.authorities())
        .map_err(|error| Failure::from(ClientError::from(error)))
}
