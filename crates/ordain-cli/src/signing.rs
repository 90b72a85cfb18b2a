//! Signing with the key of the person at the terminal. The exact text is shown there, and the passphrase is read there.

use crate::exit::Failure;
use crate::gateway;
use crate::own_key::{OwnKey, unlock};
use crate::prompt;
use crate::report::{self, printable};
use base64ct::{Base64UrlUnpadded, Encoding};
use ordain_api::{NewApproverKey, NewObservation, OwnerAct};
use ordain_client::Client;
use ordain_presence::{
    KeyFile, KeyFileError, OsUser, RecentKey, Terminal, TerminalError, UnlockedKey, fingerprint,
    protect_process, since_boot_ms,
};
use ordain_spec::statement::{ApproverKey, SignatureMethod, Signed, Statement, key_id};
use ordain_state::GateFolder;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Instant;

/// Rows below the lines that say what is signed: the passphrase, and the tries before it.
const ABOUT_ROWS_FREE: usize = 6;
/// That many of those lines are shown on any terminal.
const ABOUT_ROWS_MIN: usize = 15;

/// A key file whose key the gate knows.
pub(crate) struct Signer {
    file: KeyFile,
    principal: String,
    /// Whether the key signs owner acts.
    owner: bool,
}

impl Signer {
    /// The key of this user, if there is one and it is in force at the gate.
    pub(crate) fn find(client: &Client) -> Result<Option<Self>, Failure> {
        let file = match KeyFile::open(&key_path()?) {
            Ok(file) => file,
            Err(KeyFileError::Missing(_)) => return Ok(None),
            Err(error) => return Err(key_failure(error)),
        };
        let public_key = public_text(&file);
        let own = |key: &ApproverKey| key.public_key == public_key && key.is_in_force();
        let known = client.approver_keys()?.keys.into_iter().find(own);
        Ok(known.map(|key| Self { file, principal: key.principal, owner: key.owner }))
    }

    /// Whether the key signs owner acts.
    pub(crate) fn is_owner(&self) -> bool {
        self.owner
    }

    /// The principal of the key.
    pub(crate) fn principal(&self) -> &str {
        &self.principal
    }

    /// The fingerprint of the key.
    pub(crate) fn fingerprint(&self) -> String {
        fingerprint(self.file.public())
    }

    /// Shows the statements on the terminal, and below them what they are about, one line each; asks for the passphrase
    /// once, and signs each of them.
    pub(crate) fn sign(&self, statements: &[Statement], about: &[String]) -> Result<Vec<Signed>, Failure> {
        let texts = texts(statements)?;
        protect_process()?;
        let mut terminal = Terminal::open().map_err(terminal_failure)?;
        for text in &texts {
            terminal.say(&shown(text)).map_err(terminal_failure)?;
        }
        // The last lines before the passphrase: however long the rest was, they are on the screen.
        let size = terminal.size();
        let columns = size.columns.saturating_sub(1);
        let room = size.rows.saturating_sub(ABOUT_ROWS_FREE).max(ABOUT_ROWS_MIN);
        let left_out = if about.len() > room { about.len() - room + 1 } else { 0 };
        for line in about.iter().take(about.len() - left_out) {
            for part in about_lines(line, columns) {
                terminal.say(&format!("{part}\n")).map_err(terminal_failure)?;
            }
        }
        if left_out > 0 {
            terminal.say(&format!("  and {left_out} more\n")).map_err(terminal_failure)?;
        }
        let key = self.unlock(&mut terminal)?;
        texts.into_iter().map(|text| signed(text, &key)).collect()
    }

    /// Asks for the passphrase. The process must be protected before.
    pub(crate) fn unlock(&self, terminal: &mut Terminal) -> Result<UnlockedKey, Failure> {
        unlock(terminal, &self.file, &format!("Key {} ({}).", self.principal, self.fingerprint()))
    }

    /// Signs with a key that was unlocked before; nothing if its time is over.
    pub(crate) fn sign_recent(
        &self,
        statement: &Statement,
        key: &mut RecentKey,
    ) -> Result<Option<Signed>, Failure> {
        let statement = statement_text(statement)?;
        let Some(signature) = key.sign(statement.as_bytes(), since_boot_ms()) else { return Ok(None) };
        with_signature(statement, &public_text(&self.file), &signature).map(Some)
    }
}

/// One line, unless it says that something may be repeated: then all of it is shown.
fn about_lines(line: &str, columns: usize) -> Vec<String> {
    let line = printable(line);
    if line.starts_with(crate::gate::repeat::GRANT) {
        return crate::page::wrapped(&line, columns);
    }
    vec![crate::wording::cut(&line, columns)]
}

/// The client for one owner act. A gate with an owner gets a statement about the act, signed at this terminal; the
/// statement names its subject by a hash, and the lines below it say in words what that is.
pub(crate) fn for_act(
    client: &Client,
    act: OwnerAct,
    subject: &str,
    about: &[String],
) -> Result<Client, Failure> {
    let signed = sign_acts(client, act, &[subject.to_owned()], about)?;
    Ok(client.with_statements(&signed))
}

/// The client that has calls of hooks observed: an owner signs for it. A gate without an owner refuses it.
pub(crate) fn for_observation(client: &Client, new: &NewObservation, about: &str) -> Result<Client, Failure> {
    let started = Instant::now();
    let terms = client.act_terms(OwnerAct::StartObservation)?;
    if !terms.owned {
        let problem = "nobody owns this gate, so nobody can have calls pass that it would hold".to_owned();
        return Err(Failure::Usage(problem).with_hint("run `ordain init --claim` on a terminal"));
    }
    let Some(signer) = Signer::find(client)? else {
        let problem =
            format!("`{}` needs a signature, and no key of yours is enrolled at this gate", terms.act.name());
        return Err(Failure::Usage(problem).with_hint("run `ordain approver list` to see whose keys are"));
    };
    let statement = terms.statement(signer.principal(), &new.subject(), elapsed_ms(started));
    let signed = signer.sign(&[Statement::Act(statement)], &[about.to_owned()])?;
    Ok(client.with_statements(&signed))
}

/// The statements of owner acts of one kind, all signed with one passphrase; none if nobody owns the gate.
pub(crate) fn sign_acts(
    client: &Client,
    act: OwnerAct,
    subjects: &[String],
    about: &[String],
) -> Result<Vec<Signed>, Failure> {
    let started = Instant::now();
    let terms = client.act_terms(act)?;
    if !terms.owned {
        return Ok(Vec::new());
    }
    let Some(signer) = Signer::find(client)? else {
        let problem =
            format!("`{}` needs a signature, and no key of yours is enrolled at this gate", act.name());
        return Err(Failure::Usage(problem).with_hint("run `ordain approver list` to see whose keys are"));
    };
    let statement =
        |subject: &String| Statement::Act(terms.statement(signer.principal(), subject, elapsed_ms(started)));
    signer.sign(&subjects.iter().map(statement).collect::<Vec<_>>(), about)
}

/// The client for the rotation of the gate's key, and the public key that is signed for. Only the gate knows
/// that one, and only here is its word for a subject taken.
pub(crate) fn for_rotation(client: &Client) -> Result<(Client, Option<String>), Failure> {
    let terms = client.act_terms(OwnerAct::RotateKey)?;
    if !terms.owned {
        return Ok((client.with_statements(&[]), None));
    }
    let Some(public_key) = terms.subject else {
        return Err(Failure::Server("the gate does not say which key will sign".to_owned()));
    };
    let about = format!("rotate the gate's signing key; the new one is {public_key}");
    Ok((for_act(client, OwnerAct::RotateKey, &public_key, &[about])?, Some(public_key)))
}

/// Before something changes that no ledger records, such as which folder belongs to a gate: an owner of the
/// gate unlocks their key. A gate without an owner asks nothing.
pub(crate) fn confirm_owner(gate: &GateFolder, act: &str) -> Result<(), Failure> {
    confirm_owner_among(gateway::approver_keys_of(gate)?, act)
}

/// The same, where the keys of the gate are known already.
pub(crate) fn confirm_owner_among(keys: Vec<ApproverKey>, act: &str) -> Result<(), Failure> {
    let owners: Vec<ApproverKey> = keys.into_iter().filter(|key| key.owner && key.is_in_force()).collect();
    if owners.is_empty() {
        return Ok(());
    }
    let file = KeyFile::open(&key_path()?).ok();
    let own = |file: &KeyFile| owners.iter().any(|owner| owner.public_key == public_text(file));
    let Some(file) = file.filter(own) else {
        let problem = format!("`{act}` needs the key of an owner of this gate; nothing was changed");
        return Err(
            Failure::Usage(problem).with_hint("ask an owner; for their names run `ordain approver list`")
        );
    };
    protect_process()?;
    let mut terminal = Terminal::open().map_err(terminal_failure)?;
    let about = format!("{act}. Key {}.", fingerprint(file.public()));
    unlock(&mut terminal, &file, &about).map(drop)
}

/// Makes this user the owner of an open gate: enrols their key, which signs for itself, and puts the policies
/// in force again in their name. Every process of the user could push policies before, so the person is
/// asked, unless they are the ones that this process has just `made`.
pub(crate) fn claim(
    client: &Client,
    principal: &str,
    made: Option<&str>,
    own: &OwnKey,
) -> Result<ApproverKey, Failure> {
    let OwnKey { file, key } = own;
    let started = Instant::now();
    let new = NewApproverKey {
        principal: principal.to_owned(),
        public_key: public_text(file),
        owner: true,
        passkey: None,
    };
    let terms = client.act_terms(OwnerAct::EnrolApproverKey)?;
    let statement = Statement::Act(terms.statement(principal, &new.subject(), elapsed_ms(started)));
    let enrolled = client.with_statements(&signed_all(&[statement], key)?).enrol_approver_key(&new)?;
    if let Some(active) = client.policy(None)? {
        if made != Some(active.policy_hash.as_str()) && !agrees(&active.policy_hash)? {
            report::note(
                "no policies are in force",
                Some("read the policy folder, then run `ordain policy push`"),
            );
            return Ok(enrolled);
        }
        let started = Instant::now();
        let terms = client.act_terms(OwnerAct::PushPolicy)?;
        let statement = Statement::Act(terms.statement(principal, &active.policy_hash, elapsed_ms(started)));
        let push = ordain_api::PolicyPush { files: active.files, from: Some(active.policy_hash) };
        client.with_statements(&signed_all(&[statement], key)?).push_policy(&push)?;
    }
    Ok(enrolled)
}

/// Whether the person wants policies in force that somebody pushed before the gate had an owner.
fn agrees(policy_hash: &str) -> Result<bool, Failure> {
    let mut terminal = Terminal::open().map_err(terminal_failure)?;
    let question = format!(
        "\nThese policies were pushed before the gate had an owner, by any process of your user:\n  {}\nRead them with `ordain policy \
         show` on another terminal. Put them in force in your name?",
        printable(policy_hash)
    );
    prompt::agrees(&mut terminal, &question)
}

/// Whether a person can be asked: not in a pipe, and not where standard input is something else.
pub(crate) fn on_terminal() -> bool {
    std::io::stdin().is_terminal() && ordain_presence::is_there()
}

/// The key file of this user. Another file holds another key, which the gate does not know.
pub(crate) fn key_path() -> Result<PathBuf, Failure> {
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = OsUser::current().home.map(|home| home.join(".config"));
    let no_home = || Failure::Usage("this user has no home directory for a key".to_owned());
    Ok(config.or(home).ok_or_else(no_home)?.join("ordain").join("approver.key"))
}

/// The public key as documents write it.
pub(crate) fn public_text(file: &KeyFile) -> String {
    Base64UrlUnpadded::encode_string(file.public().as_bytes())
}

/// The time since the terms were handed out.
pub(crate) fn elapsed_ms(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn signed_all(statements: &[Statement], key: &UnlockedKey) -> Result<Vec<Signed>, Failure> {
    texts(statements)?.into_iter().map(|text| signed(text, key)).collect()
}

fn texts(statements: &[Statement]) -> Result<Vec<String>, Failure> {
    statements.iter().map(statement_text).collect()
}

/// The text that is signed.
fn statement_text(statement: &Statement) -> Result<String, Failure> {
    statement.text().map_err(|error| Failure::Server(format!("the statement {error}")))
}

/// The statement as it is shown before it is signed.
pub(crate) fn shown_statement(statement: &Statement) -> Result<String, Failure> {
    statement_text(statement).map(|text| shown(&text))
}

fn shown(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {}\n", printable(line))).collect();
    format!("\nTo be signed:\n{}\n", lines.concat())
}

fn signed(statement: String, key: &UnlockedKey) -> Result<Signed, Failure> {
    let public_key = Base64UrlUnpadded::encode_string(key.public().as_bytes());
    let signature = key.sign(statement.as_bytes());
    with_signature(statement, &public_key, &signature)
}

fn with_signature(statement: String, public_key: &str, signature: &[u8; 64]) -> Result<Signed, Failure> {
    let key_id = key_id(public_key).map_err(|error| Failure::Server(error.to_string()))?;
    let signature = Base64UrlUnpadded::encode_string(signature);
    Ok(Signed { statement, method: SignatureMethod::Ed25519, key_id, signature })
}

pub(crate) fn terminal_failure(error: TerminalError) -> Failure {
    let failure = Failure::Usage(error.to_string());
    match error.hint() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

pub(crate) fn key_failure(error: KeyFileError) -> Failure {
    let failure = Failure::Server(error.to_string());
    match error.hint() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
