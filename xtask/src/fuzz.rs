//! `cargo xtask fuzz`: feeds the readers, the verifiers, the reader of diffs, the kernel, the gate, the
//! ledger and the vault with what nobody would write.

use crate::generate::files_below;
use crate::process::{cargo, line, root};
use crate::{Error, Result, tools};
use ordain_clarity::CLARITY_RULES;
use ordain_spec::Kind;
use serde_json::Value as Json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

const SECONDS_DEFAULT: u64 = 60;

/// A program in `fuzz/fuzz_targets/`.
struct Target {
    name: &'static str,
    first_byte: FirstByte,
}

/// The meaning of the first byte of a target's input.
enum FirstByte {
    /// It belongs to the text.
    Text,
    /// It picks the kind of the document that follows.
    Kind,
    /// The input is a case of the gate.
    Case,
    /// It belongs to the claims of a permit.
    Claims,
    /// It belongs to what a ledger publishes.
    Published,
    /// It belongs to a diff of git.
    Diff,
    /// It picks the agent whose event follows.
    Agent,
    /// It belongs to the proposal of a note.
    Note,
    /// It picks what follows: an intent, a goal, or a goal and constraints in lines.
    Shape,
}

static TARGETS: &[Target] = &[
    Target { name: "decide", first_byte: FirstByte::Case },
    Target { name: "diff", first_byte: FirstByte::Diff },
    Target { name: "hook", first_byte: FirstByte::Agent },
    Target { name: "ledger", first_byte: FirstByte::Published },
    Target { name: "note", first_byte: FirstByte::Note },
    Target { name: "permit", first_byte: FirstByte::Claims },
    Target { name: "read", first_byte: FirstByte::Text },
    Target { name: "transform", first_byte: FirstByte::Shape },
    Target { name: "verify", first_byte: FirstByte::Kind },
];

/// The result of fuzzing one target.
pub(crate) struct Figures {
    pub(crate) target: &'static str,
    pub(crate) executions: u64,
    pub(crate) per_second: u64,
    pub(crate) problem: Option<String>,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (seconds, names) = parse(arguments)?;
    let figures = fuzz(seconds, &names)?;
    print(&figures);
    problems(&figures)
}

fn parse(arguments: &[String]) -> Result<(u64, Vec<&str>)> {
    let (mut seconds, mut names) = (SECONDS_DEFAULT, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--seconds" => {
                let number = rest.next().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
                seconds =
                    number.ok_or_else(|| Error::Usage("`--seconds` needs a number above 0".to_owned()))?;
            }
            name if TARGETS.iter().any(|target| target.name == name) => names.push(name),
            other => {
                let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
                let known = known.join(", ");
                return Err(Error::Usage(format!(
                    "`{other}` is neither an option nor one of the targets {known}"
                )));
            }
        }
    }
    Ok((seconds, names))
}

/// Fuzzes the named targets, or all of them, each for that long.
pub(crate) fn fuzz(seconds: u64, names: &[&str]) -> Result<Vec<Figures>> {
    tools::cargo_subcommand("fuzz")?;
    let chosen = TARGETS.iter().filter(|target| names.is_empty() || names.contains(&target.name));
    let mut all = Vec::new();
    for target in chosen {
        println!("==> {}: {seconds} s", target.name);
        seed(target)?;
        all.push(run_target(target, seconds)?);
    }
    Ok(all)
}

/// Starts the corpus from the conformance vectors, so that the first inputs already get past the reader, and where it
/// helps from the examples of the clarity rules.
fn seed(target: &Target) -> std::result::Result<(), String> {
    let corpus = root().join("fuzz/corpus").join(target.name);
    fs::create_dir_all(&corpus).map_err(|error| format!("{}: {error}", corpus.display()))?;
    for (position, kind) in (0_u8..).zip(Kind::ALL) {
        let folder = root().join("conformance").join(kind.name());
        let paths = files_below(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in paths.iter().filter(|path| path.ends_with("accept.json") || path.ends_with("reject.json"))
        {
            let text = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let name = path.strip_prefix(&folder).unwrap_or(path).to_string_lossy().replace(['/', '\\'], "-");
            let bytes = match target.first_byte {
                FirstByte::Text => text,
                FirstByte::Kind => [&[position], text.as_slice()].concat(),
                FirstByte::Shape if kind == Kind::Intent => [&[0], text.as_slice()].concat(),
                FirstByte::Note if kind == Kind::Note => {
                    save(&corpus.join(format!("replaces-{name}")), &[text.as_slice(), OLD_NOTE].concat())?;
                    text
                }
                FirstByte::Shape
                | FirstByte::Note
                | FirstByte::Agent
                | FirstByte::Case
                | FirstByte::Claims
                | FirstByte::Diff
                | FirstByte::Published => continue,
            };
            save(&corpus.join(format!("{kind}-{name}")), &bytes)?;
        }
    }
    if matches!(target.first_byte, FirstByte::Case) {
        seed_cases(&corpus)?;
    }
    if matches!(target.first_byte, FirstByte::Agent) {
        seed_events(&corpus)?;
    }
    if matches!(target.first_byte, FirstByte::Claims) {
        save(&corpus.join("claims"), CLAIMS.as_bytes())?;
    }
    if matches!(target.first_byte, FirstByte::Published) {
        for (name, text) in PUBLISHED {
            save(&corpus.join(name), text.as_bytes())?;
        }
    }
    if matches!(target.first_byte, FirstByte::Diff) {
        save(&corpus.join("diff"), DIFF.as_bytes())?;
    }
    if matches!(target.first_byte, FirstByte::Shape) {
        for rule in CLARITY_RULES {
            let examples = || rule.accept.iter().chain(rule.reject).copied();
            for (number, example) in examples().enumerate() {
                let file = corpus.join(format!("goal-{}-{number}", rule.id));
                save(&file, &[&[1], example.as_bytes()].concat())?;
            }
            let lines: Vec<&str> = examples().collect();
            let file = corpus.join(format!("constraints-{}", rule.id));
            save(&file, &[&[2], lines.join("\n").as_bytes()].concat())?;
        }
    }
    Ok(())
}

/// The text that a proposal replaces, after the zero between them.
const OLD_NOTE: &[u8] = b"\0---\ntitle: Old\n# a remark\ntags: [a, 'b c']\naliases:\n  - other\nauthor: >-\n  somebody\n---\n\n# Old\n\nText with a [link](https://example.com).\n";

/// Each thing that a diff can say.
const DIFF: &str = "\
diff --git a/ab b/ab\nindex 1..2 100644\n--- a/ab\n+++ b/ab\n@@ -1,3 +1,3 @@ f\n 1\n-2\n+two\n 3\n\
diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n\
diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-1\n-2\n-3\n\
diff --git \"a/q\\\"o\\303\\274\" \"b/r\"\nsimilarity index 90%\nrename from \"q\\\"o\\303\\274\"\nrename to r\n\
diff --git a/cc b/d\nsimilarity index 100%\ncopy from cc\ncopy to d\n\
diff --git a/ef b/ef\nold mode 100644\nnew mode 100755\n-- \n2.43.0\n";

/// The claims of a permit that holds.
const CLAIMS: &str = r#"{"iss":"81e7b9fbce7dfd11","sub":"agent","aud":"worker","jti":"permit_0123456789abcdef","iat":1705171260,"nbf":1705171260,"exp":1705171560.5,"proposal_id":"1","proposal_hash":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","action_type":"write","target_hash":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","parameters_hash":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","evidence_set_hash":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","policy_hash":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","max_executions":1,"nonce":"n"}"#;

/// The files that a ledger of five entries publishes, signed by the key of the target.
const PUBLISHED: &[(&str, &str)] = &[
    ("key", "example.com/ledger+ec4d6e6d+AepKbGPinFIKvvVQexMuxfmVR3auvr57kkIe6mkURtIs"),
    ("hash", "fKo0Xb2JKmZFTWxlEuo8PqPw0+whvj/C4jdXBf049nI="),
    ("path", "tile/0/x001/x234/067.p/5"),
    ("entries", "tile/entries/x001/234"),
    ("bundle", "\x01\x00\x03one\x00\x03two"),
    (
        "checkpoint",
        "example.com/ledger\n5\nfKo0Xb2JKmZFTWxlEuo8PqPw0+whvj/C4jdXBf049nI=\n\n— example.com/ledger 7E1ubbcVAKANKt2W85gmS1JQqylZEb6/SXInmwPdsLE24CQNTc10iNeF1OZGfLKhtOWsF+ng4A4FvwnltPGmwumwbgU=\n",
    ),
    ("proof", PROOF),
    ("text", "example.com/ledger\n5\nfKo0Xb2JKmZFTWxlEuo8PqPw0+whvj/C4jdXBf049nI=\nmore\n"),
];
const PROOF: &str = "\
c2sp.org/tlog-proof@v1\n\
extra ZW50cnkgMg==\n\
index 2\n\
YcoROfaBWEHVuvLQ0tm9nf7pfImN1ve6DAqpQe5sAes=\n\
WkdmL9ijF9lgSaP59HxV3GfKZgUbqjaD27GbL+CaB7A=\n\
SFM123z+yWXxX/dF/GJcQdXqJkaTaTAWWCj3PdS2iFQ=\n\n\
example.com/ledger\n\
5\n\
fKo0Xb2JKmZFTWxlEuo8PqPw0+whvj/C4jdXBf049nI=\n\n\
— example.com/ledger 7E1ubbcVAKANKt2W85gmS1JQqylZEb6/SXInmwPdsLE24CQNTc10iNeF1OZGfLKhtOWsF+ng4A4FvwnltPGmwumwbgU=\n";

/// Each case of the gate, with the proposal in it where it only names a file.
fn seed_cases(corpus: &Path) -> std::result::Result<(), String> {
    let folder = root().join("conformance/decide");
    let read = |path: &Path| -> std::result::Result<Json, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    };
    let example = read(&folder.join("tests/proposals/example.json"))?;
    let tests = folder.join("tests");
    for path in files_below(&tests).map_err(|error| format!("{}: {error}", tests.display()))? {
        let cases = read(&path)?;
        for (number, case) in cases.as_array().into_iter().flatten().enumerate() {
            let mut case = case.clone();
            if let Json::Object(members) = &mut case {
                members.retain(|name, _| !["name", "change", "expect"].contains(&name.as_str()));
                if members.get("proposal").is_some_and(Json::is_string) {
                    members.insert("proposal".to_owned(), example.clone());
                }
            }
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            save(&corpus.join(format!("{name}-{number}")), case.to_string().as_bytes())?;
        }
    }
    Ok(())
}

/// Recorded events of coding agents, each after the number of its agent.
fn seed_events(corpus: &Path) -> std::result::Result<(), String> {
    const AGENTS: [&str; 6] = ["claude", "codex", "copilot", "gemini", "qwen", "opencode"];
    let folder = root().join("crates/ordain-hooks/tests/samples");
    for path in files_below(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some((number, _)) = (0_u8..).zip(AGENTS).find(|(_, agent)| name.starts_with(agent)) else {
            continue;
        };
        let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        save(&corpus.join(name), &[&[number], text.as_slice()].concat())?;
    }
    Ok(())
}

fn save(file: &Path, bytes: &[u8]) -> std::result::Result<(), String> {
    fs::write(file, bytes).map_err(|error| format!("{}: {error}", file.display()))
}

fn run_target(target: &'static Target, seconds: u64) -> std::result::Result<Figures, String> {
    let time = format!("-max_total_time={seconds}");
    let limits = ["-max_len=65536", "-rss_limit_mb=2048", "-print_final_stats=1"];
    let mut command = cargo(&["fuzz", "run", target.name, "--sanitizer", "none", "--", &time]);
    // The coverage flags are not stable yet; this allows them without another toolchain.
    command.args(limits).env("RUSTC_BOOTSTRAP", "1").stderr(Stdio::piped());
    let cannot = |error: std::io::Error, line: &str| format!("{line} does not run: {error}");
    let line = line(&command);
    let mut child = command.spawn().map_err(|error| cannot(error, &line))?;
    let mut figures = Figures { target: target.name, executions: 0, per_second: 0, problem: None };
    if let Some(stderr) = child.stderr.take() {
        for bytes in BufReader::new(stderr).split(b'\n') {
            let bytes = bytes.map_err(|error| cannot(error, &line))?;
            let text = String::from_utf8_lossy(&bytes);
            eprintln!("{text}");
            figures.read_line(&text);
        }
    }
    let status = child.wait().map_err(|error| cannot(error, &line))?;
    if !status.success() {
        figures.problem =
            Some(format!("{line} failed: {status}; the input is in fuzz/artifacts/{}", target.name));
    }
    Ok(figures)
}

impl Figures {
    fn read_line(&mut self, line: &str) {
        let number = |name: &str| line.strip_prefix(name).and_then(|rest| rest.trim().parse().ok());
        if let Some(executions) = number("stat::number_of_executed_units:") {
            self.executions = executions;
        }
        if let Some(per_second) = number("stat::average_exec_per_sec:") {
            self.per_second = per_second;
        }
    }
}

pub(crate) fn print(all: &[Figures]) {
    for Figures { target, executions, per_second, problem } in all {
        let verdict = if problem.is_some() { "FAILED" } else { "nothing found" };
        println!("{target:9} {executions:>12} executions {per_second:>9}/s  {verdict}");
    }
}

pub(crate) fn problems(all: &[Figures]) -> Result<()> {
    let problems: Vec<&str> = all.iter().filter_map(|figures| figures.problem.as_deref()).collect();
    if problems.is_empty() { Ok(()) } else { Err(Error::Failed(problems.join("\n"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_files_there_are() {
        let paths = files_below(&root().join("fuzz/fuzz_targets")).unwrap();
        let files: Vec<_> = paths.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        assert_eq!(files, names);
    }

    #[test]
    fn seconds_and_targets_come_in_any_order() {
        let parse = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            parse(&words).map(|(seconds, names)| (seconds, names.join(" "))).unwrap()
        };
        assert_eq!(parse(""), (60, String::new()));
        assert_eq!(parse("verify --seconds 5 read"), (5, "verify read".to_owned()));
    }
}
