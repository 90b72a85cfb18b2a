//! `ordain watch`: a list of what waits, and a key that stays unlocked for a while.

use super::approve::{Given, statement, whole_page};
use super::status;
use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gate::held;
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::page::Page;
use crate::report::printable;
use crate::signing::{self, Signer, terminal_failure};
use crate::wording::count;
use clap::Args;
use ordain_api::{ActionState, ActionStatus, SigningTerms, VerdictRequest};
use ordain_presence::{
    RECENT_MS_MAX, RecentKey, Terminal, multiplexer, protect_process, since_boot_ms, three_letters,
};
use ordain_spec::approval::Verdict;
use ordain_spec::statement::Assurance;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

#[derive(Args)]
#[command(after_help = exit::help_with("\
Asks for your passphrase once and keeps your key in this process, for 15 minutes and 20 signatures at most. You choose an \
action by its number, see it, and type three letters that are shown. The signature says `recent`: it counts where policies ask \
for `recent` or less and for one approval. For everything else run `ordain approve ID`.

It does not start under tmux, screen and the like, because any process of your user can type into their terminals.", &[
    Outcome::Ok.means("it is over, or you left"),
    Outcome::Failed.means("an error"),
]))]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// How often the list is made again.
const REFRESH: Duration = Duration::from_secs(2);

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
            .with_hint("use a terminal of its own, or `ordain approve`, which asks each time"));
    }
    if !signing::on_terminal() {
        let failure = Failure::Usage("there is no terminal to watch on".to_owned());
        return Err(failure.with_hint("`ordain approve` lists what waits"));
    }
    protect_process()?;
    let mut terminal = Terminal::open().map_err(terminal_failure)?;
    let (signer, key) = {
        let gateway = Gateway::open(&args.connect, Purpose::Look)?;
        let Some(signer) = Signer::find(gateway.client())? else {
            let failure = Failure::Usage("no key of yours is enrolled at this gate".to_owned());
            return Err(failure.with_hint("run `ordain init --claim`, or `ordain approver enrol`"));
        };
        let key = signer.unlock(&mut terminal)?;
        (signer, key)
    };
    let mut watching =
        Watching { args, json, signer, key: RecentKey::new(key, since_boot_ms()), terminal, listed: None };
    let minutes = RECENT_MS_MAX / 60_000;
    watching.say(&format!(
        "\nYour key is unlocked for {minutes} minutes. Type a number to look at an action, `q` to leave.\n"
    ))?;
    let ended = watching.watch()?;
    watching.say(match ended {
        Ended::Left => "Your key is locked again.\n",
        Ended::Over => "\nYour key is locked again: its time or its signatures are used up. Run `ordain watch` to go on.\n",
    })?;
    Ok(Outcome::Ok)
}

struct Watching<'a> {
    args: &'a Watch,
    json: bool,
    signer: Signer,
    key: RecentKey,
    terminal: Terminal,
    /// The ids that were listed last.
    listed: Option<BTreeSet<String>>,
}

impl Watching<'_> {
    fn watch(&mut self) -> Result<Ended, Failure> {
        loop {
            let waiting = self.refresh()?;
            let Some(remaining) = self.key.remaining(since_boot_ms()) else { return Ok(Ended::Over) };
            let line = self.terminal.line_within(REFRESH.min(remaining)).map_err(terminal_failure)?;
            let Some(line) = line else { continue };
            match line.as_str() {
                "q" | "quit" | "exit" => return Ok(Ended::Left),
                "" => self.listed = None,
                number => match held::chosen(number, waiting.len()).as_deref() {
                    Ok([at]) => {
                        if let Some(status) = waiting.get(*at) {
                            self.look(&status.action_id)?;
                        }
                        self.listed = None;
                    }
                    _ => self.say("Type one number of the list, or `q`.\n")?,
                },
            }
        }
    }

    fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.terminal.say(text).map_err(terminal_failure)
    }

    /// Lists what waits, if it changed. The gate is opened anew each time: others change it meanwhile.
    fn refresh(&mut self) -> Result<Vec<ActionStatus>, Failure> {
        let gateway = Gateway::open(&self.args.connect, Purpose::Look)?;
        let waiting = held::for_approver(gateway.client(), self.signer.principal())?;
        let ids: BTreeSet<String> = waiting.iter().map(|status| status.action_id.clone()).collect();
        if self.listed.as_ref() == Some(&ids) {
            return Ok(waiting);
        }
        let mut page = Page::default();
        if waiting.is_empty() {
            page.item("nothing waits for your approval");
        } else {
            held::numbered(&mut page, &waiting);
        }
        let left = count(u64::from(self.key.signatures_left()), "signature");
        self.say(&format!("\n{}{left} left\n> ", page.text()))?;
        self.listed = Some(ids);
        Ok(waiting)
    }

    /// Shows one action, and approves it if the letters are typed.
    fn look(&mut self, id: &str) -> Result<(), Failure> {
        let gateway = Gateway::open(&self.args.connect, Purpose::Decide)?;
        let client = gateway.client();
        let started = Instant::now();
        let shown = status::of(client, id)?;
        self.say(whole_page(&shown).text())?;
        let terms = match recent_suffices(&shown) {
            Ok(terms) => terms,
            Err(problem) => {
                return self.say(&format!("\n{problem}. Run `ordain approve {}`.\n", printable(id)));
            }
        };
        let given = Given { verdict: Verdict::Approve, reason: "", assurance: Assurance::Recent };
        let statement = statement(&self.signer, &shown, terms, given, started);
        self.say(&signing::shown_statement(&statement)?)?;
        let letters = three_letters()?;
        let Some(remaining) = self.key.remaining(since_boot_ms()) else { return Ok(()) };
        let prompt = format!("Type {letters} to approve this, or Enter to leave it: ");
        let answer = self.terminal.ask_within(&prompt, remaining).map_err(terminal_failure)?;
        if answer.as_deref() != Some(letters.as_str()) {
            return self.say("Nothing was approved.\n");
        }
        let Some(signed) = self.signer.sign_recent(&statement, &mut self.key)? else { return Ok(()) };
        let view_digest = shown.view_digest.clone();
        let request = VerdictRequest {
            verdict: Verdict::Approve,
            reason: String::new(),
            view_digest,
            signed: Some(signed),
        };
        let done = client.record_verdict(id, &request).map_err(Failure::from);
        let said = match &done {
            Ok(status) => format!("{}: {}\n", printable(id), status.state.name()),
            Err(failure) => format!("{} was not approved: {}\n", printable(id), printable(&failure.text())),
        };
        self.say(&said)?;
        match &done {
            Ok(status) if self.json => print_json(&json!({"action_id": id, "state": status.state.name()})),
            Err(failure) if self.json => print_json(&json!({"action_id": id, "error": failure.text()})),
            _ => Ok(()),
        }
    }
}

/// Whether a signature of a key that was unlocked a while ago is enough; if not, why.
fn recent_suffices(status: &ActionStatus) -> Result<&SigningTerms, String> {
    let required = status.decision.approvals.required;
    match &status.signing {
        _ if status.state != ActionState::Held => Err("It is no longer held".to_owned()),
        None => Err("The gate takes no signature for it".to_owned()),
        Some(terms) if terms.assurance > Assurance::Recent => {
            Err("The policies ask for your passphrase for this one".to_owned())
        }
        Some(_) if required > 1 => Err(format!("It takes {required} approvals, each with a passphrase")),
        Some(terms) => Ok(terms),
    }
}
