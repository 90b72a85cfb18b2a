//! The gate that a hook is pinned to.

use crate::arguments::Connect;
use crate::commands::init::{self, Init};
use crate::commands::pause;
use crate::exit::Failure;
use crate::gateway::{Gateway, Place, Purpose, approver_keys_of};
use crate::project::Project;
use crate::prompt;
use crate::report::printable;
use crate::service;
use crate::signing;
use ordain_api::{GateStatus, NewObservation};
use ordain_client::{Authorities, Client, ClientError, HttpTransport};
use ordain_decision::PublicKey;
use ordain_hooks::{Agent, GatePin, Pins, Setting};
use ordain_presence::Terminal;
use ordain_spec::statement::ApproverKey;
use ordain_state::{GateFolder, Home};
use std::path::{Path, PathBuf};

/// A gate, its key, and who may propose there.
pub(super) struct Target {
    gate: GatePin,
    key: PublicKey,
    status: GateStatus,
    owners: Vec<ApproverKey>,
}

impl Target {
    /// A gate on the network, with the token of the agent.
    pub(super) fn of_server(url: &str, connect: &Connect, folder: &Path) -> Result<Self, Failure> {
        let Some(file) = &connect.token_file else {
            let failure = Failure::Usage("the hook needs the agent's token in a file".to_owned());
            return Err(failure.with_hint("name it with `--token-file`; its roles are actor and worker"));
        };
        let real = |file: &Path| {
            let failed = |error| Failure::File { path: file.display().to_string(), error };
            file.canonicalize().map_err(failed)
        };
        let token = real(file)?;
        // The hook reads no variable, so the file is in its command line, whoever named it.
        let (authorities, cacert) = match connect.authorities() {
            Authorities::System => (Authorities::System, None),
            Authorities::File(path) => {
                let path = real(&path)?;
                (Authorities::File(path.clone()), Some(path))
            }
        };
        let client = client_of_token(url, &token, authorities)?;
        let status = client.gate()?;
        let key = key_in_force(&client)?;
        let calls = Home::from_environment()?.path().join("calls");
        let (url, workspace) = (url.to_owned(), folder.to_owned());
        let pin = GatePin::Server { origin: status.origin, url, token, cacert, workspace, calls };
        Self::of(pin, key, &client)
    }

    /// The gate of the project; for the user's own settings also the only gate of the user.
    pub(super) fn find(setting: Setting, folder: &Path) -> Result<Self, Failure> {
        let project = Project::above(folder)?;
        if project.as_ref().is_some_and(|project| project.service().is_some()) {
            return Self::of_service(folder);
        }
        if let Some(gate) = project.as_ref().and_then(Project::gate).cloned() {
            let gateway = Gateway::open_in(project, &Connect::default(), Purpose::Look)
                .map_err(Failure::without_server)?;
            return Self::of_folder(&gate, gateway.client());
        }
        if setting != Setting::Project {
            let gates = Home::from_environment()?.gates()?;
            if let [gate] = gates.as_slice() {
                let gateway = Gateway::of_gate(gate.id())?;
                return Self::of_folder(gate, gateway.client());
            }
            if !gates.is_empty() {
                let failure =
                    Failure::Usage("you have several gates, and this folder belongs to none".to_owned());
                return Err(failure.with_hint("run it in a folder of the project whose gate you mean"));
            }
        }
        make_gate(folder)?;
        Self::find(setting, folder)
    }

    fn of_folder(gate: &GateFolder, client: &Client) -> Result<Self, Failure> {
        let keyring = Place::of_gate(gate.id())?.keyring()?;
        let state = gate.path().parent().unwrap_or(Path::new("/")).to_owned();
        let pin = GatePin::Own { id: gate.id().clone(), state };
        Self::of(pin, keyring.public(), client)
    }

    fn of_service(folder: &Path) -> Result<Self, Failure> {
        let client = Client::new(service::transport(folder)?);
        let status = client.gate()?;
        let key = key_in_force(&client)?;
        let calls = Home::from_environment()?.path().join("calls");
        let pin = GatePin::Service { origin: status.origin, socket: PathBuf::from(service::SOCKET), calls };
        Self::of(pin, key, &client)
    }

    fn of(gate: GatePin, key: PublicKey, client: &Client) -> Result<Self, Failure> {
        let owners = client.approver_keys()?.keys;
        Ok(Self { gate, key, status: client.gate()?, owners })
    }

    /// The level that protects the gate, and what that means.
    pub(super) fn level(&self) -> (&'static str, &'static str) {
        match &self.gate {
            GatePin::Own { .. } => {
                ("project", "a program that you let run can do whatever you can do, also to the gate")
            }
            GatePin::Service { .. } => ("service", "gate, key and record belong to another user"),
            GatePin::Server { .. } => ("server", "gate, key and record are on another machine"),
        }
    }

    pub(super) fn pins(&self, agent: Agent, actor: Option<&str>, wait_s: u64) -> Result<Pins, Failure> {
        let agents = &self.status.agents;
        if let (GatePin::Server { .. }, Some(actor)) = (&self.gate, actor) {
            // The token says whose agent it is.
            let (gate, key, actor) = (self.gate.clone(), self.key.clone(), actor.to_owned());
            return Ok(Pins { agent, gate, key, actor, wait_s, observe: None });
        }
        let named = |name: &str| agents.iter().find(|known| *known == name);
        let found = match (actor, agents.as_slice()) {
            (Some(actor), _) => named(actor),
            (None, [only]) => Some(only),
            (None, _) => named(agent.name()),
        };
        let Some(actor) = found else {
            let problem = match actor {
                Some(actor) => format!("`{actor}` is not an agent of yours in the policies in force"),
                None => format!("the policies in force do not say which of your agents {} is", agent.title()),
            };
            let hint = match agents.as_slice() {
                [] => "give an Actor in policy/entities.json your name as `agent_of`, and push".to_owned(),
                agents => format!("name one with `--actor`: {}", agents.join(", ")),
            };
            return Err(Failure::Usage(problem).with_hint(hint));
        };
        let (gate, key) = (self.gate.clone(), self.key.clone());
        Ok(Pins { agent, gate, key, actor: actor.clone(), wait_s, observe: None })
    }

    /// Has the calls of a hook observed until then: an owner act, recorded by the gate.
    pub(super) fn observe(&self, folder: &Path, new: &NewObservation, about: &str) -> Result<(), Failure> {
        let start = |client: &Client| pause::start(client, new, about).map(drop);
        match &self.gate {
            GatePin::Own { id, state } => {
                let home = Home::in_folder(state.parent().unwrap_or(Path::new("/")));
                start(Gateway::open_pinned(&home, id, None)?.client())
            }
            GatePin::Service { .. } => start(&Client::new(service::transport(folder)?)),
            GatePin::Server { url, .. } => {
                let failure = Failure::Usage("the agent's token starts no observation".to_owned());
                Err(failure
                    .with_hint(format!("run `ordain pause --for 1h --server {url}` with your own token")))
            }
        }
    }

    pub(super) fn confirm_owner(&self, act: &str) -> Result<(), Failure> {
        signing::confirm_owner_among(self.owners.clone(), act)
    }
}

/// A client of a gate on the network.
fn client_of_token(url: &str, token: &Path, authorities: Authorities) -> Result<Client, Failure> {
    let failed = |error| Failure::File { path: token.display().to_string(), error };
    let text = std::fs::read_to_string(token).map_err(failed)?;
    let transport = HttpTransport::trusting(url, &text, authorities).map_err(ClientError::from)?;
    Ok(Client::new(transport))
}

/// The key that a gate signs with now.
fn key_in_force(client: &Client) -> Result<PublicKey, Failure> {
    let unusable = || Failure::Server("the gate shows no key that could be pinned".to_owned());
    let keys = client.keys()?.keys;
    let in_force = keys.iter().find(|key| key.retired_at_ms.is_none());
    in_force.and_then(|key| PublicKey::parse(&key.x).ok()).ok_or_else(unusable)
}

/// The person at the terminal is asked before a gate is made.
fn make_gate(folder: &Path) -> Result<(), Failure> {
    let none = || {
        let failure = Failure::Document {
            path: folder.display().to_string(),
            problem: "no gate is registered for this folder or its parents".to_owned(),
        };
        failure.with_hint("run `ordain init --solo` on a terminal, then this again")
    };
    if !signing::on_terminal() {
        return Err(none());
    }
    let folder_name = folder.display().to_string();
    let question = format!(
        "No gate judges {}. Make one now, with `ordain init --solo`, and enrol your key?",
        printable(&folder_name)
    );
    let mut terminal = Terminal::open().map_err(|_| none())?;
    if !prompt::agrees(&mut terminal, &question)? {
        return Err(none());
    }
    drop(terminal);
    let init = Init {
        dir: folder.to_owned(),
        solo: true,
        team: false,
        me: None,
        agent: None,
        keep: false,
        claim: false,
        replace: false,
        store: None,
    };
    init::run(&init, false).map(drop)
}

/// An owner of the gate that a hook asks unlocks their key.
pub(super) fn confirm_owner_of(pins: &Pins, act: &str) -> Result<(), Failure> {
    let keys = match &pins.gate {
        GatePin::Own { id, state } => {
            let home = Home::in_folder(state.parent().unwrap_or(Path::new("/")));
            let gate = home.gate(id);
            if !gate.path().is_dir() {
                let problem = format!("the gate {id} of the hook is gone, so nobody can tell who owns it");
                return Err(Failure::Usage(problem));
            }
            approver_keys_of(&gate)?
        }
        GatePin::Service { .. } => Client::new(service::transport(Path::new("/"))?).approver_keys()?.keys,
        GatePin::Server { url, token, cacert, .. } => {
            let authorities = cacert.clone().map_or(Authorities::System, Authorities::File);
            client_of_token(url, token, authorities)?.approver_keys()?.keys
        }
    };
    signing::confirm_owner_among(keys, act)
}
