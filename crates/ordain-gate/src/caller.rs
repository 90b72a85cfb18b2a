//! Callers, and what they may do.

use super::error::GateError;
use super::ids::TokenId;
use super::open::Gate;
use super::policy::Loaded;
use super::records::{CONTROL_ID, Control, Stored, Token};
use super::transaction::Reading;
use ordain_api::{ProjectName, Role};
use ordain_spec::statement::{How, Signed};
use ordain_store::Guard;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The roles of an agent at the other end of a socket, by the policies: an actor with `agent_of`.
const AGENT_ROLES: [Role; 3] = [Role::Actor, Role::Sensor, Role::Worker];
/// The further roles of a person at the other end of a socket. To read the ledger, the policies give them
/// `auditor`; owner acts take a signature.
const PERSON_ROLES: [Role; 1] = [Role::Approver];
/// The sensor of sandboxed runs, whose packets count as the proposer's word.
const SANDBOX_SENSOR: &str = "ordain-sandbox";

/// Somebody whose identity was established.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    pub(super) principal: String,
    /// The principal's own names.
    pub(super) names: BTreeSet<String>,
    /// The agents whose proposals this person hands in.
    pub(super) agents: BTreeSet<String>,
    /// The sensors whose packets it may hand in; nothing stands for all of them.
    pub(super) sensors: Option<BTreeSet<String>>,
    pub(super) roles: BTreeSet<Role>,
    /// The token that it came with, if it needed one.
    pub(super) token: Option<SeenToken>,
    /// How the identity was established.
    pub(super) how: How,
    /// The statements that it signed for this request. Nothing has checked them yet.
    pub(super) signed: Vec<Signed>,
    /// The project of the gate that it asks about, if it named one.
    pub(super) project: Option<ProjectName>,
    /// Whether it may read and sign owner acts, and nothing else.
    pub(super) signs_only: bool,
    /// Whether it is a person at the other end of a socket, who may halt the gate without any role.
    pub(super) may_halt: bool,
    /// Whether it asks about a folder of no project, and so about no workspace.
    pub(super) outside_projects: bool,
    /// Whether it is a session of the console.
    pub(super) in_session: bool,
}

/// A token as it was when its owner asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SeenToken {
    pub(super) id: TokenId,
    pub(super) version: u64,
    /// The gate's own record, which says whether a token needs an owner's signature.
    pub(super) control_version: u64,
    /// Whether it was read from memory, so that it may have been revoked since.
    pub(super) from_memory: bool,
}

impl SeenToken {
    /// Nothing has changed that the token depends on.
    pub(super) fn guards(&self) -> [Guard; 2] {
        [
            Guard::new(Token::KIND, self.id.as_str(), self.version),
            Guard::new(Control::KIND, CONTROL_ID, self.control_version),
        ]
    }
}

/// In whose name a step is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Author {
    pub(crate) by: String,
    pub(crate) how: How,
}

impl Caller {
    /// A user of the operating system whose program holds the store. [`Gate::caller_of_user`](crate::Gate::caller_of_user)
    /// says who that is to the policies.
    pub fn local(principal: &str) -> Self {
        Self {
            principal: principal.to_owned(),
            names: BTreeSet::from([principal.to_owned()]),
            agents: BTreeSet::new(),
            sensors: None,
            roles: Role::ALL.into(),
            token: None,
            how: How::Local,
            signed: Vec::new(),
            project: None,
            signs_only: false,
            may_halt: false,
            outside_projects: false,
            in_session: false,
        }
    }

    /// The gate itself.
    pub(super) fn gate(name: &str) -> Self {
        Self { roles: BTreeSet::new(), ..Self::local(name) }
    }

    /// The same caller, authenticated in another way.
    #[must_use]
    pub fn authenticated(self, how: How) -> Self {
        Self { how, ..self }
    }

    /// The same caller, with the signed statements of an owner act.
    #[must_use]
    pub fn with_statements(self, signed: Vec<Signed>) -> Self {
        Self { signed, ..self }
    }

    /// The same caller, asking about a project of the gate.
    #[must_use]
    pub fn about_project(self, project: ProjectName) -> Self {
        Self { project: Some(project), ..self }
    }

    /// The same caller, asking about a folder that belongs to no project of the gate.
    #[must_use]
    pub fn outside_projects(self) -> Self {
        Self { outside_projects: true, ..self }
    }

    /// The id of the project that it asks about, if it named one.
    pub(crate) fn project_id(&self) -> Option<&str> {
        self.project.as_ref().map(|project| project.project_id.as_str())
    }

    /// The path of that project.
    pub(crate) fn workspace(&self) -> Option<&str> {
        self.project.as_ref().map(|project| project.path.as_str())
    }

    /// Whether it may read and sign owner acts, and nothing else: the policies in force do not name it.
    pub fn signs_only(&self) -> bool {
        self.signs_only
    }

    /// Whether it may halt the gate without the role of an operator. A halt only makes the gate stricter.
    pub fn may_halt(&self) -> bool {
        self.may_halt
    }

    /// The same caller for one owner act: the statements of the request carry it, and the gate checks them.
    #[must_use]
    pub fn for_owner_act(mut self) -> Self {
        self.roles.insert(Role::Operator);
        self
    }

    /// The statements that it signed for this request, which nothing has checked yet.
    pub fn statements(&self) -> &[Signed] {
        &self.signed
    }

    /// How its identity was established.
    pub fn how(&self) -> How {
        self.how
    }

    pub(crate) fn author(&self) -> Author {
        Author { by: self.principal.clone(), how: self.how }
    }

    /// The same person, who hands in proposals of these agents.
    #[must_use]
    pub fn with_agents(mut self, agents: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.agents.extend(agents.into_iter().map(Into::into));
        self
    }

    /// The project of the gate that it asks about, if it named one.
    pub fn project(&self) -> Option<&ProjectName> {
        self.project.as_ref()
    }

    /// The caller's name.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// The agents whose proposals this person hands in.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.agents.iter().map(String::as_str)
    }

    /// The agent whose proposals this person hands in, if there is one alone.
    pub fn only_agent(&self) -> Option<&str> {
        self.agents.first().filter(|_| self.agents.len() == 1).map(String::as_str)
    }

    /// Whether it has a role.
    pub fn is(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Whether it may speak under a name: its own, or that of an agent.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.names.contains(name) || self.agents.contains(name)
    }

    /// Whether it may see and use the permits of this actor, as a worker. A worker that also proposes is an
    /// agent that executes its own actions: those of other agents are none of its business.
    pub(super) fn works_for(&self, actor: &str) -> bool {
        self.is(Role::Worker) && (!self.is(Role::Actor) || self.holds(actor))
    }

    /// Whether it can settle a use after its deadline: an operator who is neither its worker nor its
    /// proposer. A caller at the machine without a token is a person.
    pub(super) fn is_person_beside(&self, actor: &str, worker: &str) -> bool {
        let involved = self.token.is_some() && (self.holds(actor) || self.holds(worker));
        self.is(Role::Operator) && !involved
    }

    /// Whether it may hand in packets of a sensor. A program that holds the store carries packets of any sensor; their
    /// signatures say whether they are the sensor's.
    pub(super) fn carries_for(&self, sensor: &str) -> bool {
        self.sensors.as_ref().is_none_or(|sensors| sensors.contains(sensor))
    }

    /// The submitter of a proposal of this actor, as it counts for approvals. A person hands in what an agent
    /// wrote; they are not the agent.
    pub(super) fn submits_as(&self, actor: &str) -> String {
        if self.agents.contains(actor) { actor.to_owned() } else { self.principal.clone() }
    }
}

impl Gate {
    /// A user of the operating system whose program holds the store, as the policies in force know them:
    /// under the actor whose `os_user` they are, with the names of that person and of their agents.
    pub async fn caller_of_user(&self, user: &str) -> Result<Caller, GateError> {
        let Some(loaded) = self.loaded_policies().await? else { return Ok(Caller::local(user)) };
        let Some(actor) = loaded.set.actor_of_user(user) else {
            return if loaded.set.has_actor(user) { Err(other_user(user)) } else { Ok(Caller::local(user)) };
        };
        Ok(Caller::local(actor).known_to(&loaded))
    }

    /// A user at the other end of a unix socket. Strangers are refused, but for the `claimant`: the user whom
    /// the service was set up for. Whatever the policies say, they can sign as the owner that they are.
    pub async fn caller_of_peer(&self, user: &str, claimant: Option<&str>) -> Result<Caller, GateError> {
        let loaded = self.loaded_policies().await?;
        let known = loaded.as_ref().and_then(|loaded| Some((loaded, loaded.set.actor_of_user(user)?)));
        let sensors = Some(BTreeSet::from([SANDBOX_SENSOR.to_owned()]));
        if let Some((loaded, actor)) = known {
            let caller = Caller::local(actor).known_to(loaded);
            let is_person = !loaded.set.is_agent(actor);
            let mut roles = BTreeSet::from(AGENT_ROLES);
            if is_person {
                roles.extend(PERSON_ROLES);
                let given = |role: &Role| loaded.set.has_role(actor, role.name());
                roles.extend([Role::Auditor, Role::Operator].into_iter().filter(given));
            }
            return Ok(Caller { roles, sensors, how: How::Peer, may_halt: is_person, ..caller });
        }
        if claimant != Some(user) {
            let problem = format!("no actor of the policies in force is the user `{user}` of this machine");
            return Err(GateError::Unauthenticated(problem));
        }
        let (_, control) = self.control(Reading::Fresh).await?;
        let keys = self.approver_keys(&control)?;
        let owner = keys.in_force().find(|key| key.owner).map(|key| key.principal.clone());
        let caller = Caller::local(&owner.unwrap_or_else(|| user.to_owned()));
        let (roles, sensors) = ([Role::Approver].into(), Some(BTreeSet::new()));
        Ok(Caller { roles, sensors, how: How::Peer, signs_only: true, may_halt: true, ..caller })
    }

    /// Whether the policies in force say that an actor is an agent.
    pub(super) async fn is_agent(&self, actor: &str) -> Result<bool, GateError> {
        Ok(self.loaded_policies().await?.is_some_and(|loaded| loaded.set.is_agent(actor)))
    }

    /// The policies in force, if there are some that can be used. Without them nothing is decided, and
    /// everybody is the user that they are: somebody has to be able to push others.
    async fn loaded_policies(&self) -> Result<Option<Arc<Loaded>>, GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        match self.policies(&control).await {
            Ok(loaded) => Ok(Some(loaded)),
            Err(GateError::Presence(_) | GateError::Unavailable(_) | GateError::Invalid { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Caller {
    /// With the names that the policies know this person and their agents by.
    fn known_to(mut self, loaded: &Loaded) -> Self {
        let person = loaded.set.person(&self.principal).to_owned();
        self.names.extend(loaded.set.names_of(&person).map(str::to_owned));
        self.with_agents(loaded.set.agents_of(&person))
    }
}

fn other_user(user: &str) -> GateError {
    GateError::Forbidden(format!(
        "`{user}` is the user of this machine, but the actor `{user}` of entities.json is another user"
    ))
}
