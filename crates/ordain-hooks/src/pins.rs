//! The pins of a hook: the one gate it asks, fixed in its command line. No environment variable and no file of a
//! workspace changes them.

use crate::core::agent::Agent;
use ordain_canon::ContentHash;
use ordain_decision::PublicKey;
use ordain_state::GateId;
use std::path::{Path, PathBuf};

/// The facts on a hook's command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pins {
    /// The agent whose events it reads.
    pub agent: Agent,
    /// The gate that it asks.
    pub gate: GatePin,
    /// The key that signs the gate's permits.
    pub key: PublicKey,
    /// The name under which the agent proposes.
    pub actor: String,
    /// How many seconds it waits for a person at most; the host waits longer. With 0 a held call ends at once.
    pub wait_s: u64,
    /// The id of this installed hook, if an owner may have its calls observed; see [`Pins::hook_id`].
    pub observe: Option<String>,
}

/// A gate, and the way to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GatePin {
    /// A gate of this user. The hook starts it if it does not run.
    Own {
        /// The gate.
        id: GateId,
        /// The state directory that it lies in.
        state: PathBuf,
    },
    /// A gate of another user, behind a socket.
    Service {
        /// Its ledger's name.
        origin: String,
        /// The socket.
        socket: PathBuf,
        /// Where calls under way are noted.
        calls: PathBuf,
    },
    /// A gate on the network, asked with a token, as a job does that has no person beside it.
    Server {
        /// Its ledger's name.
        origin: String,
        /// The URL.
        url: String,
        /// The file with the agent's token.
        token: PathBuf,
        /// The certificate authorities to trust; without a file those of this machine.
        cacert: Option<PathBuf>,
        /// The workspace: such a gate knows no folder of this machine.
        workspace: PathBuf,
        /// Where calls under way are noted.
        calls: PathBuf,
    },
}

/// Why a command line cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct PinsError(String);

/// The longest that a hook may wait.
const WAIT_S_MAX: u64 = 86_400;

impl Pins {
    /// Reads the words after `ordain hook`.
    pub fn parse(words: &[String]) -> Result<Self, PinsError> {
        let wrong = |problem: String| PinsError(problem);
        let (name, options) = words.split_first().ok_or_else(|| wrong("no agent is named".to_owned()))?;
        let agent = Agent::parse(name).ok_or_else(|| wrong(format!("the agent `{name}` is not known")))?;
        let mut found: Vec<(&str, &str)> = Vec::new();
        let mut options = options.iter();
        while let Some(option) = options.next() {
            let known = OPTIONS.iter().find(|known| *known == option);
            let known = known.ok_or_else(|| wrong(format!("the option `{option}` is not known")))?;
            let value = options.next().ok_or_else(|| wrong(format!("`{option}` has no value")))?;
            if found.iter().any(|(name, _)| name == known) {
                return Err(wrong(format!("`{option}` is there twice")));
            }
            found.push((known, value));
        }
        let get = |name: &str| found.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let need = |name: &str| get(name).ok_or_else(|| wrong(format!("`{name}` is missing")));
        let absolute = |name: &str| {
            let path = PathBuf::from(need(name)?);
            if path.is_absolute() {
                Ok(path)
            } else {
                Err(wrong(format!("`{name}` is not an absolute path")))
            }
        };
        let gate = need("--gate")?;
        if get("--cacert").is_some() && get("--server").is_none() {
            return Err(wrong("`--cacert` is there without `--server`".to_owned()));
        }
        let gate = if let Some(url) = get("--server") {
            if get("--state").or(get("--socket")).is_some() {
                return Err(wrong("`--server` is there, and the way to another gate".to_owned()));
            }
            let (origin, url) = (gate.to_owned(), url.to_owned());
            let (token, workspace, calls) =
                (absolute("--token")?, absolute("--workspace")?, absolute("--calls")?);
            let cacert = get("--cacert").map(|_| absolute("--cacert")).transpose()?;
            GatePin::Server { origin, url, token, cacert, workspace, calls }
        } else if get("--socket").is_some() {
            if get("--state").is_some() {
                return Err(wrong("`--state` and `--socket` name two gates".to_owned()));
            }
            let (socket, calls) = (absolute("--socket")?, absolute("--calls")?);
            GatePin::Service { origin: gate.to_owned(), socket, calls }
        } else {
            let id = GateId::parse(gate).ok_or_else(|| wrong(format!("`{gate}` is not the id of a gate")))?;
            GatePin::Own { id, state: absolute("--state")? }
        };
        let key = PublicKey::parse(need("--key")?).map_err(|error| wrong(format!("`--key` {error}")))?;
        let actor = need("--actor")?.to_owned();
        let wait_s = need("--wait")?.parse().ok().filter(|wait| (0..=WAIT_S_MAX).contains(wait));
        let wait_s = wait_s.ok_or_else(|| wrong("`--wait` is not a number of seconds".to_owned()))?;
        let observe = get("--observe").map(str::to_owned);
        if observe.as_deref().is_some_and(|id| id.len() != HOOK_ID_DIGITS || !id.bytes().all(is_digit)) {
            return Err(wrong("`--observe` is not the id of a hook".to_owned()));
        }
        Ok(Self { agent, gate, key, actor, wait_s, observe })
    }

    /// The id of the hook of an agent in a settings file. An observation belongs to one of them.
    pub fn hook_id(agent: Agent, file: &Path) -> String {
        let hash = ContentHash::of(format!("{agent}\n{}", file.display()).as_bytes()).to_string();
        let digits = hash.rsplit(':').next().unwrap_or(&hash);
        digits.chars().take(HOOK_ID_DIGITS).collect()
    }

    /// The name under which the gate knows the hook: its id, or the agent's name.
    pub fn hook(&self) -> &str {
        self.observe.as_deref().unwrap_or(self.agent.name())
    }

    /// The words of a command line, for this program.
    pub fn words(&self, program: &Path) -> Vec<String> {
        let Self { agent, gate, key, actor, wait_s, observe } = self;
        let mut words = vec![program.display().to_string(), "hook".to_owned(), agent.to_string()];
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        match gate {
            GatePin::Own { id, state } => {
                option("--gate", id.to_string());
                option("--state", state.display().to_string());
            }
            GatePin::Service { origin, socket, calls } => {
                option("--gate", origin.clone());
                option("--socket", socket.display().to_string());
                option("--calls", calls.display().to_string());
            }
            GatePin::Server { origin, url, token, cacert, workspace, calls } => {
                option("--gate", origin.clone());
                option("--server", url.clone());
                option("--token", token.display().to_string());
                if let Some(cacert) = cacert {
                    option("--cacert", cacert.display().to_string());
                }
                option("--workspace", workspace.display().to_string());
                option("--calls", calls.display().to_string());
            }
        }
        option("--key", key.to_string());
        option("--actor", actor.clone());
        option("--wait", wait_s.to_string());
        if let Some(id) = observe {
            option("--observe", id.clone());
        }
        words
    }

    /// The command line for a shell. If the program is missing or dies, the shell says no.
    pub fn command(&self, program: &Path) -> String {
        let words: Vec<String> = self.words(program).iter().map(|word| quoted(word)).collect();
        format!("{} || {{ echo {} >&2; exit 2; }}", words.join(" "), quoted(TAIL))
    }

    /// The command line for the event after a call, when there is nothing left to forbid.
    pub fn command_after(&self, program: &Path) -> String {
        let words: Vec<String> = self.words(program).iter().map(|word| quoted(word)).collect();
        format!("{} || true", words.join(" "))
    }

    /// The program and the pins of a command line that [`Self::command`] or [`Self::command_after`] wrote.
    pub fn of_command(command: &str) -> Option<(PathBuf, Self)> {
        let words = Self::shell_words(command);
        let end = words.iter().position(|word| word == "||").unwrap_or(words.len());
        let (program, rest) = words.get(..end)?.split_first()?;
        let (hook, rest) = rest.split_first()?;
        let pins = Self::parse(rest).ok().filter(|_| hook == "hook")?;
        let program = PathBuf::from(program);
        let same = pins.command(&program) == command || pins.command_after(&program) == command;
        same.then_some((program, pins))
    }

    /// The words of a simple command line.
    pub(crate) fn shell_words(command: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut quote = None;
        let mut characters = command.chars();
        while let Some(character) = characters.next() {
            match (quote, character) {
                (Some(open), _) if character == open => quote = None,
                (Some(_), _) => word.get_or_insert_default().push(character),
                (None, '\'' | '"') => {
                    quote = Some(character);
                    word.get_or_insert_default();
                }
                (None, '\\') => word.get_or_insert_default().extend(characters.next()),
                (None, _) if character.is_whitespace() => words.extend(word.take()),
                (None, _) => word.get_or_insert_default().push(character),
            }
        }
        words.extend(word);
        words
    }
}

const OPTIONS: [&str; 12] = [
    "--gate",
    "--state",
    "--socket",
    "--calls",
    "--key",
    "--actor",
    "--wait",
    "--observe",
    "--server",
    "--token",
    "--cacert",
    "--workspace",
];

/// Digits of the id of a hook.
const HOOK_ID_DIGITS: usize = 16;

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// The shell says this after whatever the hook said.
const TAIL: &str = "ordain: the call was not run.";

/// A word that a shell reads as it is.
fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+=:@".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn pins_are_written_and_read_again() {
        for line in [
            format!(
                "claude --gate 0123456789abcdef --state /s/ordain --key {KEY} --actor agent-1 --wait 590"
            ),
            format!(
                "codex --gate ordain/1 --socket /run/ordain/gate.sock --calls /h/calls --key {KEY} --actor a --wait 5"
            ),
            format!(
                "gemini --gate ordain/1 --server https://gate.example --token /t --workspace /w --calls /c --key {KEY} --actor a --wait 0"
            ),
            format!(
                "claude --gate ordain/1 --server https://gate.example --token /t --cacert /ca.pem --workspace /w --calls /c --key {KEY} --actor a --wait 0"
            ),
            format!(
                "qwen --gate 0123456789abcdef --state /s --key {KEY} --actor a --wait 5 --observe 00ff00ff00ff00ff"
            ),
        ] {
            let pins = Pins::parse(&words(&line)).unwrap();
            let written = pins.words(Path::new("/usr/bin/ordain"));
            assert_eq!(written[2..].join(" "), line);
            assert_eq!(Pins::parse(&written[2..]).unwrap(), pins);
            for program in ["/usr/bin/ordain", "/a b/it's/ordain"].map(PathBuf::from) {
                let found = Some((program.clone(), pins.clone()));
                assert_eq!(Pins::of_command(&pins.command(&program)), found);
                assert_eq!(Pins::of_command(&pins.command_after(&program)), found);
            }
            assert_eq!(Pins::of_command(&format!("true; {}", pins.command(Path::new("/ordain")))), None);
        }
    }

    #[test]
    fn a_damaged_command_line_is_refused() {
        let whole =
            format!("claude --gate 0123456789abcdef --state /s/ordain --key {KEY} --actor a --wait 9");
        assert!(Pins::parse(&words(&whole)).is_ok());
        for (from, to) in [
            ("claude", "cursor"),
            ("0123456789abcdef", "x"),
            ("/s/ordain", "s/ordain"),
            ("--key", "--keys"),
            (" --actor a", ""),
            ("--wait 9", "--wait -1"),
            ("--wait 9", "--wait"),
            ("--wait 9", "--wait 9 --observe"),
            ("--wait 9", "--wait 9 --observe all"),
            ("--wait 9", "--wait 9 --observe 00ff00ff00ff00fg"),
            ("--wait 9", "--wait 9 --wait 9"),
            ("--state", "--socket /x --state"),
            ("--state", "--server https://x --state"),
            ("--state /s/ordain", "--server https://x --token t --workspace /w --calls /c"),
            ("--state /s/ordain", "--server https://x --token /t --cacert ca --workspace /w --calls /c"),
            ("--state /s/ordain", "--state /s/ordain --cacert /ca.pem"),
        ] {
            assert!(Pins::parse(&words(&whole.replace(from, to))).is_err(), "{to}");
        }
        assert!(Pins::parse(&[]).is_err());
    }

    #[test]
    fn a_path_with_a_quote_stays_one_word() {
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
    }
}
