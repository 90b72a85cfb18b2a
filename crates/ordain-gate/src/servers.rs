//! MCP servers: the lists of their tools, and what of them an owner has approved.
//!
//! Everything follows from the entries of the ledger; the store has no records of it.

use super::caller::Caller;
use super::claim::Claim;
use super::conflict::Conflict;
use super::documents::typed;
use super::error::GateError;
use super::fold::{FoldedServer, ServerKey};
use super::judge::Inputs;
use super::limits::{LISTINGS_APART_MS, LISTINGS_AT_ONCE, SERVERS_MAX};
use super::open::Gate;
use super::policy::Loaded;
use super::records::{Action, CONTROL_ID};
use super::transaction::{Reading, Step, document};
use ordain_api::{Event, ListingAnswer, ListingReport, NewPins, OwnerAct, ServerList, ServerStatus};
use ordain_canon::{ContentHash, Value};
use ordain_decision::{look_alikes, mcp_server_of};
use ordain_spec::mcp::{
    Listing, PinMode, PinnedTool, Pins, TOOLS_MAX, ToolState, hash_of, is_server_name, tool_name_fault,
};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The approved tools of all servers.
#[derive(Clone, Default)]
pub(super) struct PinsInForce {
    by_server: BTreeMap<ServerKey, (ContentHash, Arc<Pins>)>,
}

impl PinsInForce {
    /// The pins of the server that a call is for.
    pub(super) fn of_call(&self, action: &Action, proposal: &Value<'_>) -> Option<ContentHash> {
        let project = action.project.as_ref().map(|project| project.project_id.clone());
        let key = (project, mcp_server_of(proposal)?.to_owned());
        self.by_server.get(&key).map(|(hash, _)| *hash)
    }

    /// The pins that some inputs name.
    pub(super) fn of(&self, inputs: &Inputs) -> Option<&Pins> {
        let wanted = inputs.pins_document?;
        self.by_server.values().find(|(hash, _)| *hash == wanted).map(|(_, pins)| &**pins)
    }

    fn get(&self, key: &ServerKey) -> Pins {
        let none = || Pins::none(&key.1, key.0.as_deref());
        self.by_server.get(key).map_or_else(none, |(_, pins)| (**pins).clone())
    }
}

/// A server, as a step needs it.
struct Known {
    key: ServerKey,
    folded: FoldedServer,
    pins: Pins,
    mode: PinMode,
}

impl Gate {
    /// Reads the pins that are in force.
    pub(super) async fn pins_in_force(&self) -> Result<PinsInForce, GateError> {
        let named: Vec<(ServerKey, ContentHash)> = self.ledger_state(|state| {
            let in_force = state.servers().iter().filter(|(_, server)| state.has_force(server.pinned_index));
            in_force.filter_map(|(key, server)| Some((key.clone(), server.pins?))).collect()
        });
        let hashes: Vec<ContentHash> = named.iter().map(|(_, hash)| *hash).collect();
        let mut by_server = BTreeMap::new();
        for ((key, hash), bytes) in named.into_iter().zip(self.shared_documents(&hashes).await?) {
            by_server.insert(key, (hash, Arc::new(typed(&bytes)?)));
        }
        Ok(PinsInForce { by_server })
    }

    /// Which tools of a list an agent may be shown. A whole list goes on record if it is not the last one.
    pub async fn report_listing(
        &self,
        caller: &Caller,
        server: &str,
        report: &ListingReport,
    ) -> Result<ListingAnswer, GateError> {
        check_names(server, &report.listing)?;
        if !caller.holds(&report.actor) {
            let problem = format!("`{}` may not ask for `{}`", caller.principal(), report.actor);
            return Err(GateError::Forbidden(problem));
        }
        let attempt = |_| async {
            let (control, control_body) = self.control(Reading::Fresh).await?;
            let loaded = self.policies(&control_body).await?;
            let Known { key, folded, mut pins, mode } = self.known(caller, server, &loaded);
            let mut listing = report.listing.clone();
            if listing.instructions.is_none() {
                // This session was shown none; that says nothing about the server.
                let last = self.listing_of(&folded).await?;
                listing.instructions =
                    last.filter(|last| last.upstream == listing.upstream).and_then(|last| last.instructions);
            }
            let (hash, bytes) = document(&listing)?;
            let is_first = mode == PinMode::FirstUse && report.whole && pins.upstream.is_none();
            if is_first {
                pins = pins.approving(&listing, &hash.to_string(), &left_out(&listing));
            }
            let hidden = hidden(&loaded, &report.actor, mode, &pins, &report.listing);
            let answer = ListingAnswer { hidden };
            let now_ms = self.clock.now_ms();
            // A server that lists something else every time fills no ledger.
            let is_soon = folded.listings >= LISTINGS_AT_ONCE
                && now_ms < folded.listed_at_ms.saturating_add(LISTINGS_APART_MS);
            let is_known = folded.listing == Some(hash) || is_soon || !report.whole;
            if is_known && !is_first {
                return Ok(Step::Done(answer));
            }
            if folded.listing.is_none() && self.ledger_state(|state| state.servers().len()) >= SERVERS_MAX {
                return Err(Conflict::TooManyServers { max: SERVERS_MAX }.into());
            }
            let (pins_document, pins_bytes) = document(&pins)?;
            let (project_id, server) = key;
            Ok(Step::write(vec![control.guard()], Vec::new(), move |writing| {
                writing.event(Event::ServerListed {
                    server,
                    project_id,
                    listing_document: hash.to_string(),
                    pins_document: is_first.then(|| pins_document.to_string()),
                });
                writing.share(bytes);
                if is_first {
                    writing.share(pins_bytes);
                    // Decisions that were made from other pins are made again.
                    writing.put(CONTROL_ID, &control_body)?;
                }
                Ok(answer)
            }))
        };
        self.transact(caller, attempt).await
    }

    /// The servers that gateways have met in the caller's project, without their definitions.
    pub async fn servers(&self, caller: &Caller) -> Result<ServerList, GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        let loaded = self.policies(&control).await?;
        let project = caller.project_id().map(str::to_owned);
        let names: Vec<String> = self.ledger_state(|state| {
            let here = state.servers().keys().filter(|(of, _)| *of == project);
            here.map(|(_, name)| name.clone()).collect()
        });
        let mut servers = Vec::new();
        for name in names {
            let known = self.known(caller, &name, &loaded);
            servers.push(ServerStatus {
                listing: None,
                approved: BTreeMap::new(),
                ..self.server_status(known).await?
            });
        }
        Ok(ServerList { servers })
    }

    /// A server of the caller's project.
    pub async fn server(&self, caller: &Caller, server: &str) -> Result<ServerStatus, GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        let loaded = self.policies(&control).await?;
        let known = self.known(caller, server, &loaded);
        if known.folded == FoldedServer::default() {
            return Err(GateError::Unknown(format!("no gateway has met an MCP server `{server}` here")));
        }
        self.server_status(known).await
    }

    /// Approves tools of a server: an owner act.
    pub async fn pin_server(
        &self,
        caller: &Caller,
        server: &str,
        new: &NewPins,
    ) -> Result<ServerStatus, GateError> {
        if new.pins.server != server || new.pins.project_id.as_deref() != caller.project_id() {
            return Err(GateError::invalid("/pins", "are of another server or project"));
        }
        let attempt = |_| async {
            let (control, control_body) = self.control(Reading::Fresh).await?;
            let loaded = self.policies(&control_body).await?;
            let Known { key, folded, pins, .. } = self.known(caller, server, &loaded);
            let listing = self.listing_of(&folded).await?;
            let (Some(listing), Some(hash)) = (listing, folded.listing) else {
                return Err(GateError::Unknown(format!("no gateway has met an MCP server `{server}` here")));
            };
            if !hash.is(&new.listing_document) {
                return Err(Conflict::OtherListing { server: server.to_owned() }.into());
            }
            check_pins(&pins, &listing, &hash.to_string(), &new.pins)?;
            let (pins_document, bytes) = document(&new.pins)?;
            let from = self.state_before(OwnerAct::PinServer, &control_body)?;
            let claim = Claim::of(OwnerAct::PinServer, pins_document.to_string(), from);
            let authorized = self.authorize(caller, &control_body, &claim).await?;
            let mut guards = vec![control.guard()];
            guards.extend(authorized.guards());
            let (project_id, server) = key;
            Ok(Step::write(guards, Vec::new(), move |writing| {
                authorized.write(writing)?;
                let pins_document = pins_document.to_string();
                writing.event(Event::ServerPinned { server, project_id, pins_document });
                writing.share(bytes);
                writing.put(CONTROL_ID, &control_body)
            }))
        };
        self.transact(caller, attempt).await?;
        self.server(caller, server).await
    }

    /// Hides and refuses a tool until one is approved by its name.
    pub async fn block_tool(
        &self,
        caller: &Caller,
        server: &str,
        tool: &str,
    ) -> Result<ServerStatus, GateError> {
        check_server(server)?;
        if let Some(fault) = tool_name_fault(tool) {
            return Err(GateError::invalid("/tool", fault));
        }
        let attempt = |_| async {
            let (control, control_body) = self.control(Reading::Fresh).await?;
            let loaded = self.policies(&control_body).await?;
            let Known { key, folded, mut pins, .. } = self.known(caller, server, &loaded);
            let is_new = folded == FoldedServer::default();
            if is_new && self.ledger_state(|state| state.servers().len()) >= SERVERS_MAX
                || pins.blocked.len() >= TOOLS_MAX
            {
                return Err(Conflict::TooManyServers { max: SERVERS_MAX }.into());
            }
            if !pins.blocked.insert(tool.to_owned()) {
                return Ok(Step::Done(()));
            }
            let (pins_document, bytes) = document(&pins)?;
            let ((project_id, server), tool) = (key, tool.to_owned());
            Ok(Step::write(vec![control.guard()], Vec::new(), move |writing| {
                let pins_document = pins_document.to_string();
                writing.event(Event::ToolBlocked { server, project_id, tool, pins_document });
                writing.share(bytes);
                writing.put(CONTROL_ID, &control_body)
            }))
        };
        self.transact(caller, attempt).await?;
        self.server(caller, server).await
    }

    fn known(&self, caller: &Caller, server: &str, loaded: &Loaded) -> Known {
        let key = (caller.project_id().map(str::to_owned), server.to_owned());
        let folded = self.ledger_state(|state| state.servers().get(&key).cloned()).unwrap_or_default();
        Known { pins: loaded.pins.get(&key), mode: loaded.set.pin_mode(server), folded, key }
    }

    async fn listing_of(&self, folded: &FoldedServer) -> Result<Option<Listing>, GateError> {
        match &folded.listing {
            Some(hash) => typed(&self.shared_document(hash).await?).map(Some),
            None => Ok(None),
        }
    }

    async fn server_status(&self, known: Known) -> Result<ServerStatus, GateError> {
        let Known { key: (_, server), folded, pins, mode } = known;
        let listing = self.listing_of(&folded).await?;
        let listed = listing.as_ref().map(|listing| &listing.tools);
        let mut tools = BTreeMap::new();
        for (name, definition) in listed.into_iter().flatten() {
            tools.insert(name.clone(), pins.state_of(name, hash_of(definition).as_deref()));
        }
        for name in pins.tools.keys().chain(&pins.blocked) {
            let state = if pins.blocked.contains(name) { ToolState::Blocked } else { ToolState::Gone };
            tools.entry(name.clone()).or_insert(state);
        }
        let problem = listing.as_ref().and_then(|listing| {
            pins.server_problem(&listing.upstream, listing.instructions_hash().as_deref())
        });
        let mut approved = BTreeMap::new();
        let mut listings: BTreeMap<String, Listing> = BTreeMap::new();
        for (name, PinnedTool { listing, .. }) in &pins.tools {
            if !matches!(tools.get(name), Some(ToolState::Changed | ToolState::Gone)) {
                continue;
            }
            if !listings.contains_key(listing) {
                let hash = ContentHash::parse(listing);
                let hash = hash.ok_or_else(|| GateError::Damaged(format!("`{listing}` is not a hash")))?;
                listings.insert(listing.clone(), typed(&self.shared_document(&hash).await?)?);
            }
            let definition = listings.get(listing).and_then(|listing| listing.tools.get(name));
            approved.extend(definition.map(|definition: &Json| (name.clone(), definition.clone())));
        }
        let listed_at_ms = folded.listing.map(|_| folded.listed_at_ms);
        Ok(ServerStatus {
            server,
            mode,
            pins_document: folded.pins.map(|pins| pins.to_string()),
            pins,
            listing_document: folded.listing.map(|listing| listing.to_string()),
            listed_at_ms,
            problem: problem.map(str::to_owned),
            tools,
            listing,
            approved,
        })
    }
}

/// The tools that are not shown, and why.
fn hidden(
    loaded: &Loaded,
    actor: &str,
    mode: PinMode,
    pins: &Pins,
    listing: &Listing,
) -> BTreeMap<String, String> {
    let instructions = listing.instructions_hash();
    let server = &pins.server;
    let of_server = pins.server_problem(&listing.upstream, instructions.as_deref());
    let of_server = of_server.filter(|_| mode != PinMode::Off);
    let why = |name: &str, definition: &Json| {
        let state = pins.state_of(name, hash_of(definition).as_deref());
        if let Some(fault) = tool_name_fault(name) {
            return Some(format!("its name {fault}"));
        }
        if state == ToolState::Blocked {
            return Some("it is blocked".to_owned());
        }
        if let Some(problem) = of_server {
            return Some(format!("the server {problem}"));
        }
        if mode != PinMode::Off && state != ToolState::Approved {
            return Some(format!("it is {} and not approved", state.name()));
        }
        let tool = format!("mcp.{server}.{name}");
        (!loaded.set.could_permit(actor, &tool)).then(|| format!("no policy could permit it to `{actor}`"))
    };
    let told =
        listing.tools.iter().filter_map(|(name, definition)| Some((name.clone(), why(name, definition)?)));
    told.collect()
}

/// Tools of a list that are not approved with the rest.
fn left_out(listing: &Listing) -> BTreeSet<String> {
    let faulty = listing.tools.keys().filter(|name| tool_name_fault(name).is_some()).cloned();
    look_alikes(listing.tools.keys().map(String::as_str)).into_keys().chain(faulty).collect()
}

fn check_server(server: &str) -> Result<(), GateError> {
    if is_server_name(server) {
        return Ok(());
    }
    Err(GateError::invalid("/server", "must be letters, digits, `_` and `-`"))
}

fn check_names(server: &str, listing: &Listing) -> Result<(), GateError> {
    check_server(server)?;
    if listing.tools.len() > TOOLS_MAX {
        return Err(GateError::invalid(
            "/listing/tools",
            format!("are {}; at most {TOOLS_MAX} are judged", listing.tools.len()),
        ));
    }
    Ok(())
}

/// Every pinned definition was pinned before, or is in the listing that was shown.
fn check_pins(before: &Pins, listing: &Listing, hash: &str, pins: &Pins) -> Result<(), GateError> {
    for (name, tool) in &pins.tools {
        let listed = || {
            let definition = listing.tools.get(name).and_then(hash_of);
            definition.as_ref() == Some(&tool.definition) && tool.listing == hash
        };
        if tool_name_fault(name).is_some() || before.tools.get(name) != Some(tool) && !listed() {
            return Err(GateError::invalid(
                "/pins/tools",
                format!("`{name}` is not as the server listed it"),
            ));
        }
    }
    let server = (Some(listing.upstream.clone()), listing.instructions_hash());
    let is_known = (&pins.upstream, &pins.instructions) == (&before.upstream, &before.instructions);
    if is_known && pins.upstream.is_some() || (&pins.upstream, &pins.instructions) == (&server.0, &server.1) {
        return Ok(());
    }
    Err(GateError::invalid("/pins", "are of another command or other instructions than the server's"))
}
