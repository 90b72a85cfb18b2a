//! `ordain hook AGENT`: one event in, one answer out. Whatever goes wrong is a no.

use crate::calls::{self, OpenCall};
use crate::core::agent::Agent;
use crate::core::answer::{Answer, Printed, Shape, progress};
use crate::core::event::{Call, Event, Report, read_event};
use crate::core::limits::EVENT_BYTES_MAX;
use crate::core::mapping::{Action, action_of};
use crate::core::words;
use crate::gate::{Connection, calls_folder, connect};
use crate::pins::{GatePin, Pins};
use crate::world::Machine;
use ordain_api::limits::POLL_SECONDS_MAX;
use ordain_api::{
    ActAnswer, ActQuery, ActionState, ActionStatus, CalledAction, ObservedCall, OutcomeReport, ProblemCode,
    UseOutcome,
};
use ordain_canon::{Canonicalizer, ContentHash, ParametersHash, TargetHash};
use ordain_client::ClientError;
use ordain_decision::{PublicKeys, VerifiedPermit, verify_observed};
use ordain_spec::NonEmpty;
use ordain_spec::action::{Deed, Proposal, project_name};
use ordain_spec::approval::Verdict;
use ordain_spec::decision::Outcome;
use serde_json::{Value as Json, json};
use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The class of worker that permits are for.
const AUDIENCE: &str = "worker";
/// The time that an answer to the gate may take: no new question is asked when less is left.
const ROUND_TRIP: Duration = Duration::from_secs(2);
/// The time that the gate has to answer where nobody waits for a person.
const ANSWER: Duration = Duration::from_secs(5);
/// How often the hook asks again while a person finds out how an equal call went.
const SETTLING: Duration = Duration::from_secs(1);
/// How much later than its own deadline the hook answers at the latest. The host waits longer.
const GRACE: Duration = Duration::from_secs(3);

/// Answers an event if the command line asks for it. This is done before anything else, so that nothing else can fail
/// or print.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != "hook" {
        return None;
    }
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    // Help is for people, and no host asks for it.
    if words.is_empty() || words.iter().any(|word| word == "--help" || word == "-h") {
        return None;
    }
    Some(run(&words))
}

fn run(words: &[String]) -> ExitCode {
    let started = Instant::now();
    let named = words.first().and_then(|name| Agent::parse(name));
    let pins = match Pins::parse(words) {
        Ok(pins) => pins,
        Err(error) => {
            let problem = format!(
                "its command line is damaged: {error}; `ordain setup --all --refresh` writes it anew"
            );
            let answer = Answer::Deny(words::unanswered(&problem));
            return print(&match named {
                Some(agent) => answer.printed(agent, Shape::Own),
                // Without an agent the status alone says no.
                None => Printed { stdout: String::new(), ..answer.printed(Agent::Claude, Shape::Own) },
            });
        }
    };
    // A message of a panic would be one more line for the host to misread.
    std::panic::set_hook(Box::new(|_| {}));
    let agent = pins.agent;
    let wait = if pins.wait_s == 0 { ANSWER } else { Duration::from_secs(pins.wait_s) };
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::Builder::new().name("hook".to_owned()).spawn(move || {
        let answered = std::panic::catch_unwind(|| answer(&pins, started + wait));
        let bug = || (Answer::Deny(words::unanswered("the hook has a bug")), Shape::Own);
        // Nobody is left to hear it if the time is over.
        let _ = sender.send(answered.unwrap_or_else(|_| bug()));
    });
    let silent = |problem: &str| (Answer::Deny(words::unanswered(problem)), Shape::Own);
    let (answer, shape) = match worker {
        Err(_) => silent("the hook cannot start"),
        Ok(_) => match receiver.recv_timeout((wait + GRACE).saturating_sub(started.elapsed())) {
            Ok(answered) => answered,
            Err(_) => silent("it took too long"),
        },
    };
    print(&answer.printed(agent, shape))
}

/// Whether the answer is printed. Nothing follows it.
static ANSWERED: Mutex<bool> = Mutex::new(false);

/// Tells the person in front of the host that a call waits, where the host shows such a line.
fn show_progress(call: &Call, text: &str) {
    let Some(line) = progress(call.agent, call.shape, text) else { return };
    let answered = ANSWERED.lock().unwrap_or_else(PoisonError::into_inner);
    if !*answered {
        let mut out = std::io::stdout().lock();
        // The answer counts, whether or not somebody sees this.
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}

/// Prints once, at the end. If the answer cannot be printed, the status says no.
fn print(printed: &Printed) -> ExitCode {
    let Printed { stdout, stderr, code } = printed;
    *ANSWERED.lock().unwrap_or_else(PoisonError::into_inner) = true;
    // The status and standard output count; nobody may read this.
    let _ = std::io::stderr().write_all(stderr.as_bytes());
    let mut out = std::io::stdout().lock();
    let written = out.write_all(stdout.as_bytes()).and_then(|()| out.flush());
    ExitCode::from(if written.is_err() { 2 } else { *code })
}

fn answer(pins: &Pins, deadline: Instant) -> (Answer, Shape) {
    let mut bytes = Vec::new();
    let limit = u64::try_from(EVENT_BYTES_MAX).unwrap_or(u64::MAX) + 1;
    if let Err(error) = std::io::stdin().lock().take(limit).read_to_end(&mut bytes) {
        return (Answer::Deny(words::unanswered(&format!("the event cannot be read: {error}"))), Shape::Own);
    }
    match read_event(pins.agent, &bytes) {
        Err(error) => (Answer::Deny(words::unanswered(&error.to_string())), Shape::Own),
        Ok(Event::After(after)) => {
            // The tool has run; there is nothing left to forbid. Without a report the use becomes unknown by itself.
            let _ = report(pins, &after);
            (Answer::Nothing, Shape::Own)
        }
        Ok(Event::Before(call)) => {
            let answer = match ask(pins, &call, deadline) {
                Ok(answer) => answer,
                Err(problem) => Answer::Deny(words::unanswered(&problem)),
            };
            (answer, call.shape)
        }
    }
}

fn report(pins: &Pins, after: &Report) -> Result<(), String> {
    let Some(open) = calls::take(&calls_folder(pins)?, &after.key) else { return Ok(()) };
    let Connection { client, .. } = connect(pins, std::path::Path::new("/"))?;
    let outcome = match after.succeeded {
        Some(true) => UseOutcome::Succeeded,
        Some(false) => UseOutcome::Failed,
        None => UseOutcome::Unknown,
    };
    let report = OutcomeReport {
        number: open.number,
        outcome,
        affected_records: None,
        duration_ms: None,
        reason: format!("reported by {}", pins.agent.title()),
        change: None,
    };
    client.report_outcome(&open.permit_id, &report).map(drop).map_err(|error| error.to_string())
}

/// Asks until there is an answer, or until the time is over.
fn ask(pins: &Pins, call: &Call, deadline: Instant) -> Result<Answer, String> {
    let connection = connect(pins, &call.cwd)?;
    let machine = Machine { root: connection.root.clone() };
    let mut waited_for: Option<String> = None;
    for attempt in 0_u64.. {
        // Content may have changed while a person thought about it, and then this is another call.
        let action = match action_of(call, &machine) {
            Ok(action) => action,
            Err(problem) => return Ok(Answer::Deny(unmappable(call, &problem))),
        };
        let hook = Some(pins.hook().to_owned());
        let query = ActQuery { supersedes: None, waited_for: waited_for.clone(), any_folder: true, hook };
        let (body, call_hash) = body(pins, call, &action, attempt)?;
        let answered = match connection.client.act(body.as_bytes(), &query) {
            Ok(answered) => answered,
            Err(ClientError::Problem(problem))
                if problem.code == ProblemCode::Conflict && waited_for.is_some() =>
            {
                return Ok(Answer::Deny(words::used_by_other(&waited_for.unwrap_or_default())));
            }
            Err(ClientError::Problem(problem)) if problem.code == ProblemCode::Unsettled => {
                let left = deadline.saturating_duration_since(Instant::now());
                if nobody_to_wait_for(pins) || left < ROUND_TRIP + SETTLING {
                    return Ok(Answer::Deny(words::unsettled(&problem.detail)));
                }
                // A person settles it. Nothing is written until then, and then the call is judged anew.
                if attempt == 0 {
                    show_progress(call, &words::waiting_for_settlement(minutes(left)));
                }
                std::thread::sleep(SETTLING);
                continue;
            }
            Err(ClientError::Problem(problem)) => {
                let reasons: Vec<String> = problem
                    .reasons
                    .iter()
                    .map(|reason| format!("[{}] {}", reason.rule_id, reason.message))
                    .collect();
                let said = [vec![problem.detail.clone()], reasons].concat().join("; ");
                return Err(said);
            }
            Err(error) => return Err(error.to_string()),
        };
        if let Some(observed) = &answered.observed {
            check_observed(pins, &call_hash, &answered, observed)?;
            return Ok(Answer::Allow);
        }
        match answered.outcome {
            Outcome::Allow => {
                check(pins, &connection, &action, &answered)?;
                let used = answered.used.ok_or("the gate allows and names no use")?;
                let open = OpenCall { permit_id: used.permit_id, number: used.number };
                calls::note(&calls_folder(pins)?, &call.key, &open);
                return Ok(Answer::Allow);
            }
            Outcome::Deny => return Ok(Answer::Deny(denied(&answered.action))),
            Outcome::Hold => {
                let id = &answered.action.action_id;
                if nobody_to_wait_for(pins) || !decided(&connection, call, id, deadline)? {
                    return Ok(Answer::Deny(held(&answered.action)));
                }
                waited_for = Some(answered.action.action_id);
            }
        }
    }
    Err("there is no answer".to_owned())
}

/// A job that asks a server and has no terminal has nobody beside it who approves.
fn nobody_to_wait_for(pins: &Pins) -> bool {
    let is_job = || matches!(pins.gate, GatePin::Server { .. }) && std::fs::File::open("/dev/tty").is_err();
    pins.wait_s == 0 || is_job()
}

fn unmappable(call: &Call, problem: &str) -> String {
    format!(
        "ordain DENY: the call of `{}` cannot be judged, because {problem}. It was not run. Call the tool in a plain form, or ask the user.",
        call.tool
    )
}

/// Waits until an action is no longer held; false if the time is over before.
fn decided(connection: &Connection, call: &Call, action_id: &str, deadline: Instant) -> Result<bool, String> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let minutes = minutes(left);
        let left = left.saturating_sub(ROUND_TRIP).as_secs();
        if left == 0 {
            return Ok(false);
        }
        show_progress(call, &words::waiting(action_id, minutes));
        let status = connection.client.wait_for_action(action_id, left.min(POLL_SECONDS_MAX));
        let status = status.map_err(|error| error.to_string())?;
        if status.is_none_or(|status| status.state != ActionState::Held) {
            return Ok(true);
        }
    }
}

fn minutes(left: Duration) -> u64 {
    left.as_secs().div_ceil(60)
}

fn denied(action: &ActionStatus) -> String {
    match action.approvals.iter().find(|approval| approval.verdict == Verdict::Reject) {
        Some(rejection) => words::rejected(&action.action_id, &rejection.reason),
        None => words::denied(&action.action_id, &action.decision),
    }
}

fn held(action: &ActionStatus) -> String {
    let approvals = &action.decision.approvals;
    let have = u64::try_from(approvals.have.len()).unwrap_or(u64::MAX);
    let missing = approvals.required.saturating_sub(have).max(1);
    words::held(&action.action_id, missing, action.expires_at_ms)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The request, and beside it what the host says about the call; and the request's hash.
fn body(pins: &Pins, call: &Call, action: &Action, attempt: u64) -> Result<(String, ContentHash), String> {
    let now = now();
    let unique = format!("{} {} {attempt} {}", call.key, now.as_nanos(), std::process::id());
    let hash = ContentHash::of(unique.as_bytes()).to_string();
    let short: String = hash.rsplit(':').next().unwrap_or(&hash).chars().take(12).collect();
    let mut sources = call.sources.clone();
    sources.insert("host".to_owned(), json!(call.agent.title()));
    sources.insert("call_key".to_owned(), json!(call.key));
    if !action.remark.is_empty() {
        sources.insert("remark".to_owned(), json!(action.remark));
    }
    if !action.long_texts.is_empty() {
        sources.insert("texts".to_owned(), Json::Object(action.long_texts.clone()));
    }
    let request = json!({
        "request_id": format!("{}-{short}", call.agent),
        "ts_ms": milliseconds(now),
        "actor": pins.actor,
        "intent": action.remark,
        "tool_call": {"name": action.tool, "params": action.parameters},
    });
    let call_hash = Canonicalizer::new().value(&request).map(ContentHash::of);
    let call_hash = call_hash.map_err(|error| error.to_string())?;
    let body = serde_json::to_string(&json!({"call": request, "sources": sources}));
    body.map(|body| (body, call_hash)).map_err(|error| error.to_string())
}

/// That the pinned gate lets this very call pass, because an owner has the hook observed.
fn check_observed(
    pins: &Pins,
    call_hash: &ContentHash,
    answered: &ActAnswer,
    observed: &ObservedCall,
) -> Result<(), String> {
    let keys = PublicKeys::from([(pins.key.id(), pins.key.clone())]);
    let claims = verify_observed(&observed.token, &keys, milliseconds(now()));
    let claims = claims.map_err(|error| format!("the gate's word {error}"))?;
    let same = call_hash.is(&claims.call_hash)
        && claims.hook == pins.hook()
        && claims.jti == answered.action.action_id;
    if same { Ok(()) } else { Err("the gate's word is about another call".to_owned()) }
}

/// That the answer is the pinned gate's, and about this very call.
fn check(pins: &Pins, connection: &Connection, action: &Action, answered: &ActAnswer) -> Result<(), String> {
    let ActAnswer { action: status, call, deed, used, .. } = answered;
    let call = call.as_ref().ok_or("the gate allows and does not say what")?;
    let used = used.as_ref().ok_or("the gate allows and names no use")?;
    let token = status.permit.as_ref().and_then(|permit| permit.token.as_deref());
    let token = token.ok_or("the gate allows and shows no permit")?;
    let keys = PublicKeys::from([(pins.key.id(), pins.key.clone())]);
    let permit = VerifiedPermit::verify(token, &keys, AUDIENCE, milliseconds(now()));
    let permit = permit.map_err(|error| {
        format!("the permit {error}; after `ordain keys rotate`, run `ordain setup --all --refresh`")
    })?;
    let claims = permit.claims();
    let mut canon = Canonicalizer::new();
    let written = |error: ordain_canon::WriteError| error.to_string();
    let same = claims.jti == used.permit_id
        && claims.proposal_id == status.action_id
        && claims.sub == pins.actor
        && claims.action_type == call.action_type
        && TargetHash::of(&mut canon, &call.target).map_err(written)?.is(&claims.target_hash)
        && ParametersHash::of(&mut canon, &action.parameters).map_err(written)?.is(&claims.parameters_hash);
    if !same {
        return Err("the permit is for another call".to_owned());
    }
    let own = own_deed(pins, connection, action, call)?;
    if deed.as_deref() == Some(own.as_str()) {
        Ok(())
    } else {
        Err("the gate allowed another deed".to_owned())
    }
}

/// The deed of this call, computed from what was sent.
fn own_deed(
    pins: &Pins,
    connection: &Connection,
    action: &Action,
    call: &CalledAction,
) -> Result<String, String> {
    let status = &connection.status;
    let project = status.project.as_ref().map(|project| project.project_id.as_str());
    let principal = status.principal.as_deref().ok_or("the gate does not say who asks")?;
    let proposal = Proposal {
        proposal_id: String::new(),
        ts_ms: 0,
        actor: NonEmpty::of(pins.actor.clone()),
        action_type: call.action_type,
        target: call.target.clone(),
        parameters: action.parameters.clone(),
        preconditions: None,
        risk_envelope: call.risk_envelope.clone(),
        rollback_semantics: None,
        time_window: None,
        approval_class: None,
        evidence_bindings: None,
    };
    let deed = Deed::of(&project_name(&status.origin, project), principal, &proposal, |_| false);
    deed.map(|deed| deed.to_string()).map_err(|error| error.to_string())
}
