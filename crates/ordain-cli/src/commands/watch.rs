//! `ordain watch`: a list of what waits, and a key that stays unlocked for a while.

use super::approve::{Given, about, rejection, settle, signing_key, statement};
use super::{approve, status};
use crate::arguments::Connect;
use crate::clock::now_ms;
use crate::display;
use crate::exit::{self, Failure, Outcome};
use crate::gate::deciding::{self, Answer};
use crate::gate::repeat::Reach;
use crate::gate::screen::Screen;
use crate::gate::settling::UnknownUse;
use crate::gate::{held, poll};
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::page::Page;
use crate::report::printable;
use crate::signing::{self, Signer, terminal_failure};
use crate::wording::count;
use clap::Args;
use ordain_api::{ActionState, ActionStatus, SigningTerms, VerdictRequest};
use ordain_client::Client;
use ordain_presence::{
    RECENT_MS_MAX, RECENT_SIGNATURES_MAX, RecentKey, Terminal, Typed, multiplexer, protect_process,
    since_boot_ms, three_letters,
};
use ordain_spec::approval::Verdict;
use ordain_spec::limits::{SESSION_MS_MAX, SESSION_SIGNATURES_MAX};
use ordain_spec::statement::{Assurance, Session};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

#[derive(Args)]
#[command(after_help = exit::help_with("\
Lists the actions that wait for you, as they come, and rings the bell for a new one. Type its number to see it and to approve, reject \
or skip it.

Asks for your passphrase once and keeps your key in this process, for 15 minutes and 20 signatures at most. Where policies ask for \
`recent` or less and for one approval, you approve with three letters that are shown. Everything else takes your passphrase again. To \
an owner it also lists the actions of which nobody knows whether they were done, and asks.

It does not start under tmux, screen and the like, because any process of your user can type into their terminals.

Examples:
  ordain watch
  ordain watch --server https://gate.example --token-file alice.token", &[
    Outcome::Ok.means("it is over, or you left"),
    Outcome::Failed.means("an error"),
]))]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) connect: Connect,
}

// The gate refuses what the key would still sign otherwise.
const _: () =
    assert!(RECENT_MS_MAX == SESSION_MS_MAX && RECENT_SIGNATURES_MAX as u64 == SESSION_SIGNATURES_MAX);

/// The list is not made more often than this, however fast things change.
const REFRESH_MIN: Duration = Duration::from_secs(1);
/// How long a failed poll waits before the next.
const RETRY: Duration = Duration::from_secs(5);
/// The list is made anew after this time, because what waits expires.
const REFRESH_MAX: Duration = Duration::from_secs(60);
const BELL: &str = "\u{7}";
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

/// Why the loop ends.
enum Ended {
    Left,
    Over,
}

pub(crate) fn run(args: &Watch, json: bool) -> Result<Outcome, Failure> {
    if let Some(found) = multiplexer() {
        let problem = format!(
            "this terminal belongs to a multiplexer ({}), which others can type into",
            printable(&found)
        );
        return Err(Failure::Usage(problem)
            .with_hint("use a terminal of its own, or run `ordain approve`, which asks each time"));
    }
    if !signing::on_terminal() {
        let failure = Failure::Usage("there is no terminal to watch on".to_owned());
        return Err(failure.with_hint("run `ordain approve` to list what waits"));
    }
    protect_process()?;
    let mut terminal = Terminal::open().map_err(terminal_failure)?;
    let (signer, key) = {
        let gateway = Gateway::open(&args.connect, Purpose::Look)?;
        let client = gateway.client();
        let Some(signer) = Signer::find(client)? else {
            let failure = Failure::Usage("no key of yours is enrolled at this gate".to_owned());
            let hint =
                if client.approver_keys()?.owned { "run `ordain approver enrol`" } else { approve::CLAIM };
            return Err(failure.with_hint(hint));
        };
        let key = signer.unlock(&mut terminal)?;
        (signer, key)
    };
    let changes = Changes::follow(args)?;
    let key = RecentKey::new(key, since_boot_ms())?;
    let mut watching = Watching {
        args,
        json,
        signer,
        key,
        started_at_ms: None,
        terminal,
        changes,
        listed: None,
        drawn: false,
        said: String::new(),
    };
    let ended = watching.watch()?;
    watching.say(match ended {
        Ended::Left => "Your key is locked again.\n",
        Ended::Over => "\nYour key is locked again: its time or its signatures are used up. Run `ordain watch` to go on.\n",
    })?;
    Ok(Outcome::Ok)
}

/// Hears of changes: another thread polls the gate, and a byte comes for each.
struct Changes(UnixStream);

impl Changes {
    fn follow(args: &Watch) -> Result<Self, Failure> {
        let (here, mut there) = UnixStream::pair()?;
        here.set_nonblocking(true)?;
        let connect = args.connect.clone();
        let follow = move || {
            let mut place = None;
            loop {
                // The gate is opened anew each time: a store of this machine is closed meanwhile.
                let heard = Gateway::open(&connect, Purpose::Look).and_then(|gateway| match place {
                    Some(place) => poll::changed(gateway.client(), place),
                    None => poll::seen(gateway.client()),
                });
                match heard {
                    Ok(seen) if place == Some(seen) => {}
                    Ok(seen) => {
                        place = Some(seen);
                        if there.write_all(&[0]).is_err() {
                            return;
                        }
                        std::thread::sleep(REFRESH_MIN);
                    }
                    Err(_) => std::thread::sleep(RETRY),
                }
            }
        };
        std::thread::Builder::new().name("changes".to_owned()).spawn(follow)?;
        Ok(Self(here))
    }

    /// Forgets the changes until now.
    fn clear(&mut self) {
        let mut bytes = [0; 64];
        while self.0.read(&mut bytes).is_ok_and(|count| count > 0) {}
    }
}

/// Everything that waits for this person, in the order of the list.
struct Waiting {
    unknown: Vec<UnknownUse>,
    held: Vec<ActionStatus>,
}

impl Waiting {
    fn ids(&self) -> BTreeSet<String> {
        let unknown = self.unknown.iter().map(|it| format!("{} {}", it.permit_id, it.used.number));
        unknown.chain(self.held.iter().map(|status| status.action_id.clone())).collect()
    }
}

struct Watching<'a> {
    args: &'a Watch,
    json: bool,
    signer: Signer,
    key: RecentKey,
    /// When the key was unlocked, by the gate's clock.
    started_at_ms: Option<u64>,
    terminal: Terminal,
    changes: Changes,
    /// The ids that were listed last.
    listed: Option<BTreeSet<String>>,
    /// Whether that list is on the screen, with times that are not old.
    drawn: bool,
    /// The last thing that was done, for the line below the list.
    said: String,
}

impl Watching<'_> {
    fn watch(&mut self) -> Result<Ended, Failure> {
        let mut waiting = self.refresh()?;
        loop {
            let Some(remaining) = self.key.remaining(since_boot_ms()) else { return Ok(Ended::Over) };
            let wait = remaining.min(REFRESH_MAX);
            match self.terminal.line_or_wake(&self.changes.0, wait).map_err(terminal_failure)? {
                Typed::Nothing => {
                    // Times have passed, also where nothing else changed.
                    self.drawn = false;
                    waiting = self.refresh()?;
                }
                Typed::Woken => {
                    self.changes.clear();
                    waiting = self.refresh()?;
                }
                Typed::Line(line) => match line.as_str() {
                    "q" | "quit" | "exit" => return Ok(Ended::Left),
                    number => {
                        match held::chosen(number, waiting.unknown.len() + waiting.held.len()).as_deref() {
                            Ok([]) => {}
                            Ok([at]) => match waiting.unknown.get(*at) {
                                Some(unknown) => self.settle(unknown)?,
                                None => {
                                    let at = at.saturating_sub(waiting.unknown.len());
                                    if let Some(status) = waiting.held.get(at) {
                                        self.look(&status.action_id)?;
                                    }
                                }
                            },
                            _ => self.said = "Type one number of the list, or `q`.".to_owned(),
                        }
                        self.listed = None;
                        waiting = self.refresh()?;
                    }
                },
            }
        }
    }

    fn say(&mut self, text: &str) -> Result<(), Failure> {
        deciding::say(&mut self.terminal, text)
    }

    /// Lists what waits, if it changed. The gate is opened anew each time: others change it meanwhile.
    fn refresh(&mut self) -> Result<Waiting, Failure> {
        let gateway = Gateway::open(&self.args.connect, Purpose::Look)?;
        let held = held::for_approver(gateway.client(), self.signer.principal())?;
        let unknown = settle::waiting(gateway.client(), Some(&self.signer))?;
        let waiting = Waiting { unknown, held };
        let ids = waiting.ids();
        if self.drawn && self.listed.as_ref() == Some(&ids) {
            return Ok(waiting);
        }
        let is_new = self.listed.as_ref().is_some_and(|listed| !ids.is_subset(listed));
        let size = self.terminal.size();
        let mut page = Page::of_width(display::within(size.columns));
        if ids.is_empty() {
            page.item("nothing waits for your approval");
        } else {
            held::numbered(&mut page, &waiting.unknown, &waiting.held);
        }
        // The oldest are decided first, and the others fit on the screen then.
        let rows: Vec<&str> = page.text().lines().collect();
        let room = size.rows.saturating_sub(5).max(3);
        let left_out = if rows.len() > room { "  … more below these\n" } else { "" };
        let list: String = rows.iter().take(room).map(|row| format!("{row}\n")).collect();
        let bell = if is_new { BELL } else { "" };
        let (minutes, left) = self.room_left();
        let said = std::mem::take(&mut self.said);
        let said = if said.is_empty() { said } else { format!("{}\n", printable(&said)) };
        self.say(&format!(
            "{CLEAR}{bell}{list}{left_out}\n{said}Key unlocked for {minutes} min and {left}. A number shows an action, `q` ends.\n> "
        ))?;
        self.listed = Some(ids);
        self.drawn = true;
        Ok(waiting)
    }

    /// The minutes and signatures that the key has left.
    fn room_left(&mut self) -> (u64, String) {
        let remaining = self.key.remaining(since_boot_ms()).unwrap_or_default();
        let minutes = remaining.as_secs().div_ceil(60).min(RECENT_MS_MAX / 60_000);
        (minutes, count(u64::from(self.key.signatures_left()), "signature"))
    }

    /// Shows one action, and does what its approver answers.
    fn look(&mut self, id: &str) -> Result<(), Failure> {
        let gateway = Gateway::open(&self.args.connect, Purpose::Decide)?;
        let client = gateway.client();
        let started = Instant::now();
        let shown = status::of(client, id)?;
        let recent = recent_suffices(&shown);
        let takes =
            if recent.is_some() { "unlocked; three letters approve" } else { approve::TAKES_PASSPHRASE };
        let screen = Screen::of(&shown, &signing_key(Some(&self.signer), takes), now_ms());
        let key = &mut self.key;
        // Nobody is asked for longer than the key is unlocked.
        let mut ask = |terminal: &mut Terminal, prompt: &str| match key.remaining(since_boot_ms()) {
            Some(remaining) => terminal.ask_within(prompt, remaining).map_err(terminal_failure),
            None => Ok(None),
        };
        let answer = deciding::decide(&mut self.terminal, &screen, &mut ask)?;
        let request = match answer {
            Answer::Approve(reach) => match recent {
                Some(terms) => self.approved_by_letters(&shown, terms, reach, started)?,
                None => {
                    Some(approve::signed(client, &shown, Verdict::Approve, reach, "", started)).transpose()?
                }
            },
            Answer::Reject(reason) => Some(rejection(&shown, reason)),
            Answer::Skip | Answer::Leave => None,
        };
        match request {
            Some(request) => self.record(client, id, &request),
            None => {
                self.said = format!("{id} is still held");
                Ok(())
            }
        }
    }

    /// Asks how a use went that nobody knows about. The answer takes the passphrase.
    fn settle(&mut self, unknown: &UnknownUse) -> Result<(), Failure> {
        let gateway = Gateway::open(&self.args.connect, Purpose::Decide)?;
        let key = &mut self.key;
        let mut ask = |terminal: &mut Terminal, prompt: &str| match key.remaining(since_boot_ms()) {
            Some(remaining) => terminal.ask_within(prompt, remaining).map_err(terminal_failure),
            None => Ok(None),
        };
        let client = gateway.client();
        let done = settle::watched(client, &self.signer, unknown, &mut self.terminal, &mut ask);
        let id = &unknown.status.action_id;
        self.said = match done {
            Ok(Some(outcome)) => unknown.about(outcome),
            Ok(None) => format!("{id}: nobody said whether it happened"),
            Err(failure) => format!("{id} stays as it was: {}", failure.text()),
        };
        Ok(())
    }

    /// Three letters that are shown take the place of the passphrase.
    fn approved_by_letters(
        &mut self,
        shown: &ActionStatus,
        terms: &SigningTerms,
        reach: Reach,
        started: Instant,
    ) -> Result<Option<VerdictRequest>, Failure> {
        let scope = approve::scope_of(shown, reach)?;
        let session = self.session(terms, started);
        let given = Given {
            verdict: Verdict::Approve,
            reason: "",
            assurance: Assurance::Recent,
            session: Some(&session),
            scope: scope.as_ref(),
        };
        let statement = statement(&self.signer, shown, terms, given, started)?;
        self.say(&signing::shown_statement(&statement)?)?;
        self.say(&format!("{}\n", printable(&about(Verdict::Approve, shown, scope.as_ref()))))?;
        let letters = three_letters()?;
        let Some(remaining) = self.key.remaining(since_boot_ms()) else { return Ok(None) };
        let prompt = format!("Type {letters} to approve this, or Enter to leave it: ");
        let answer = self.terminal.ask_within(&prompt, remaining).map_err(terminal_failure)?;
        if answer.as_deref() != Some(letters.as_str()) {
            return Ok(None);
        }
        let signed = self.signer.sign_recent(&statement, &mut self.key)?;
        let view_digest = shown.view_digest.clone();
        Ok(signed.map(|signed| VerdictRequest {
            verdict: Verdict::Approve,
            reason: String::new(),
            view_digest,
            signed: Some(signed),
            scope,
        }))
    }

    /// The next signature of this key, as its statement names it. The gate's clock counts, and it is asked once: a
    /// session has one start.
    fn session(&mut self, terms: &SigningTerms, asked: Instant) -> Session {
        let now_ms = terms.at_ms.saturating_add(signing::elapsed_ms(asked));
        let unlocked_ms = now_ms.saturating_sub(self.key.age_ms(since_boot_ms()));
        let started_at_ms = *self.started_at_ms.get_or_insert(unlocked_ms);
        let number = u64::from(self.key.next_number());
        Session { id: self.key.session_id().to_owned(), started_at_ms, number }
    }

    fn record(&mut self, client: &Client, id: &str, request: &VerdictRequest) -> Result<(), Failure> {
        let done = client.record_verdict(id, request).map_err(Failure::from);
        self.said = match &done {
            Ok(status) => format!("{id}: {}", status.state.name()),
            // One line below the list.
            Err(failure) => format!("{id} stays as it was: {}", failure.text().replace("\n ", ";")),
        };
        match &done {
            Ok(status) if self.json => print_json(&json!({"action_id": id, "state": status.state.name()})),
            Err(failure) if self.json => print_json(&json!({"action_id": id, "error": failure.text()})),
            _ => Ok(()),
        }
    }
}

/// The terms for a signature of a key that was unlocked a while ago, where one is enough.
fn recent_suffices(status: &ActionStatus) -> Option<&SigningTerms> {
    let single = status.decision.approvals.required <= 1;
    let held = status.state == ActionState::Held;
    status.signing.as_ref().filter(|terms| held && single && terms.assurance <= Assurance::Recent)
}
