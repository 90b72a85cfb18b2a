//! `ordain approver`: the keys of people who approve.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::own_key::OwnKey;
use crate::page::Page;
use crate::prompt;
use crate::report::{self, printable};
use crate::signing;
use crate::wording::shell_word;
use clap::{Args, Subcommand};
use ordain_api::{NewApproverKey, OwnerAct, PasskeyOffer};
use ordain_client::Client;
use ordain_presence::{Terminal, four_words};
use ordain_spec::statement::ApproverKey;

#[derive(Args)]
pub(crate) struct Approver {
    #[command(subcommand)]
    pub(crate) command: ApproverCommand,
}

#[derive(Subcommand)]
pub(crate) enum ApproverCommand {
    /// Enrol a key: your own as the owner of an open gate, or somebody's at a gate of yours
    ///
    /// The key is made on this terminal and kept under a passphrase, which is read from the terminal and from
    /// nowhere else. At a gate that has an owner already, it prints the public key and the command for the
    /// owner to run.
    Enrol(ApproverEnrol),
    /// List the keys, with those that are revoked
    List(ApproverList),
    /// Revoke a key, at once and everywhere
    Revoke(ApproverRevoke),
}

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain approver enrol
  ordain approver enrol --passkey eyJw…
  ordain approver enrol --for bob --public-key 0f4c…", exit::PLAIN))]
pub(crate) struct ApproverEnrol {
    /// The principal of the key [default: you]
    #[arg(long = "for", value_name = "NAME", requires = "public_key")]
    pub(crate) principal: Option<String>,
    /// The public key that they were shown
    #[arg(long, value_name = "KEY", requires = "principal", allow_hyphen_values = true)]
    pub(crate) public_key: Option<String>,
    /// Enrol a passkey that the console has made. It shows four words, and so does this command; sign if they agree
    #[arg(long, value_name = "CODE", conflicts_with_all = ["principal", "public_key"])]
    pub(crate) passkey: Option<String>,
    /// Let the key sign owner acts too
    #[arg(long)]
    pub(crate) owner: bool,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct ApproverList {
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct ApproverRevoke {
    /// The key's id
    #[arg(value_name = "KEY_ID")]
    pub(crate) key_id: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Approver, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        ApproverCommand::Enrol(args) => enrol(args, json),
        ApproverCommand::List(args) => list(args, json),
        ApproverCommand::Revoke(args) => revoke(args, json),
    }
}

fn enrol(args: &ApproverEnrol, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let client = gateway.client();
    let known = client.approver_keys()?;
    if let Some(code) = &args.passkey {
        return enrol_passkey(client, code, args.owner, known.owned, json);
    }
    if args.owner && args.public_key.is_none() {
        return Err(Failure::Usage("`--owner` goes with `--public-key` or `--passkey`".to_owned()));
    }
    if let (Some(principal), Some(public_key)) = (&args.principal, &args.public_key) {
        if !known.owned {
            let failure = Failure::Usage("the first key of a gate is its owner's own".to_owned());
            return Err(failure.with_hint("run `ordain approver enrol` on the owner's terminal"));
        }
        let (principal, public_key) = (principal.clone(), public_key.clone());
        let new = NewApproverKey { principal, public_key, owner: args.owner, passkey: None };
        let client = signing::for_act(client, OwnerAct::EnrolApproverKey, &new.subject(), &[about(&new)])?;
        return show(&[client.enrol_approver_key(&new)?], json);
    }
    if !known.owned {
        let own = OwnKey::unlock_or_make()?;
        let enrolled = signing::claim(client, &gateway.principal(), None, &own)?;
        report::note("you own this gate; tokens from before have lost their force", None);
        return show(&[enrolled], json);
    }
    let own = OwnKey::unlock_or_make()?;
    let public_key = signing::public_text(&own.file);
    if let Some(key) = known.keys.iter().find(|key| key.public_key == public_key) {
        return show(std::slice::from_ref(key), json);
    }
    let principal = gateway.principal();
    let name = shell_word(&principal);
    let hint = format!("an owner runs `ordain approver enrol --for {name} --public-key {public_key}`");
    Err(Failure::Usage(format!("the key {public_key} is not enrolled at this gate")).with_hint(hint))
}

/// The key in words.
fn about(new: &NewApproverKey) -> String {
    let what = if new.passkey.is_some() { "passkey" } else { "key" };
    let owner = if new.owner { "; it also signs owner acts" } else { "" };
    format!("enrol a {what} of {} for approvals{owner}", new.principal)
}

/// Enrols the passkey of a page, if the person sees the same four words on both.
fn enrol_passkey(
    client: &Client,
    code: &str,
    owner: bool,
    owned: bool,
    json: bool,
) -> Result<Outcome, Failure> {
    if !owned {
        let failure = Failure::Usage("the first key of a gate is made on a terminal".to_owned());
        return Err(failure.with_hint("run `ordain init --claim` first"));
    }
    let parsed = PasskeyOffer::parse(code);
    let (offer, bytes) = parsed.map_err(|problem| {
        Failure::Usage(problem).with_hint("copy the whole command from the page of the gate in the console")
    })?;
    let mut terminal = Terminal::open().map_err(signing::terminal_failure)?;
    let passkey = &offer.passkey;
    let kept = match (passkey.backup_eligible, passkey.backed_up) {
        (false, _) => "on one device",
        (true, false) => "can be copied to other devices",
        (true, true) => "copied to other devices",
    };
    let shown = format!(
        "\nA passkey of {} for {}, {kept}\n\n    {}\n\n",
        printable(&offer.principal),
        printable(&passkey.origin),
        four_words(&bytes)
    );
    terminal.say(&shown).map_err(signing::terminal_failure)?;
    if !prompt::agrees(&mut terminal, "Does the console show these four words?")? {
        let failure = Failure::Usage("the passkey is another one; nothing was enrolled".to_owned());
        return Err(failure.with_hint("make a new passkey in the console, and look who else may have a code"));
    }
    drop(terminal);
    let new = offer.new_key(owner);
    let client = signing::for_act(client, OwnerAct::EnrolApproverKey, &new.subject(), &[about(&new)])?;
    show(&[client.enrol_approver_key(&new)?], json)
}

fn list(args: &ApproverList, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let known = gateway.client().approver_keys()?;
    if !known.owned && !json {
        let said = "the gate is open: nobody owns it, and nothing that needs a signature can be approved";
        report::note(said, Some("run `ordain init --claim` on a terminal"));
    }
    show(&known.keys, json)
}

fn revoke(args: &ApproverRevoke, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let known = gateway.client().approver_keys()?.keys.into_iter().find(|key| key.key_id == args.key_id);
    let about = known.map(|key| format!("revoke the key {} of {}", key.key_id, key.principal));
    let about: Vec<String> = about.into_iter().collect();
    let client = signing::for_act(gateway.client(), OwnerAct::RevokeApproverKey, &args.key_id, &about)?;
    let revoked = client.revoke_approver_key(&args.key_id)?;
    show(&[revoked.ok_or_else(|| Failure::unknown("key", &args.key_id))?], json)
}

fn show(keys: &[ApproverKey], json: bool) -> Result<Outcome, Failure> {
    let mut page = Page::default();
    for key in keys {
        if json {
            print_json(key)?;
            continue;
        }
        page.title("key", &key.key_id);
        page.label("of", &key.principal);
        page.label("public", &key.public_key);
        if let Some(passkey) = &key.passkey {
            page.label("passkey", &passkey.origin);
        }
        let state = match (key.is_in_force(), key.owner) {
            (false, _) => "revoked",
            (true, true) => "in force, an owner's",
            (true, false) => "in force",
        };
        page.label("state", state);
    }
    if !json {
        print_page(&page)?;
    }
    Ok(Outcome::Ok)
}
