//! The agent has its owner's shell: it runs every command, with the arguments that would help it, and gets
//! nothing that the pushed policies hold or deny.

use crate::approving::{about_file, owned_solo};
use crate::harness::{Project, Ran, copy_folder, count, os_user, ran};
use crate::presence::on_terminal;
use ordain_canon::ContentHash;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

/// Policies that would let everything through.
const PERMIT_ALL: &str = "@id(\"all\") permit (principal, action, resource);\n";
/// Another passphrase than the owner's.
const GUESS: &str = "correct horse battery stable";

/// Commands that only have others below them.
const GROUPS: [&str; 13] = [
    "approver", "evidence", "gate", "grant", "keys", "ledger", "mcp", "note", "permit", "policy", "sandbox",
    "service", "token",
];

/// The arguments that an agent would choose, for every command. `USER` is the owner, `VIEW` the digest of
/// what is held, `GATE` the gate, `CLONE` a copy of the project beside it, `KEY` the id of the owner's key,
/// and `PERMIT` a permit of the agent.
const CASES: &[(&str, &[&str])] = &[
    ("apply", &["apply evil.patch.json", "apply delete.patch.json", "apply delete.patch.json --actor USER"]),
    ("approve", &["approve", "approve held-1 --view VIEW", "approve held-1", "approve held-2 --view VIEW"]),
    (
        "approver enrol",
        &[
            "approver enrol",
            "approver enrol --for USER --public-key 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo --owner",
            "approver enrol --for agent-1 --public-key 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        ],
    ),
    ("approver list", &["approver list"]),
    ("approver revoke", &["approver revoke KEY"]),
    ("canon", &["canon delete.json"]),
    ("clarify", &["clarify intent.json"]),
    ("completions", &["completions bash", "completions --ids held"]),
    ("decide", &["decide delete.json", "decide delete.json --policy CLONE/policy"]),
    ("demo", &["demo --json"]),
    ("diff", &["diff delete.json delete.json"]),
    ("doctor", &["doctor"]),
    ("dossier", &["dossier held-1", "dossier held-1 -o held.json"]),
    ("evidence add", &["evidence add packet.json"]),
    ("evidence pack", &["evidence pack --sensor ordain-sandbox -- true"]),
    ("gate export", &["gate export stolen"]),
    ("gate forget", &["gate forget .", "gate forget CLONE"]),
    ("gate import", &["gate import stolen", "gate import stolen --project ."]),
    ("gate list", &["gate list"]),
    ("gate move", &["gate move . CLONE", "gate move CLONE ."]),
    (
        "gate register",
        &["gate register CLONE --gate GATE", "gate register --worktrees CLONE", "gate register src"],
    ),
    ("hash", &["hash --kind action delete.json"]),
    ("hook", &["hook claude", "hook claude --gate GATE"]),
    ("id", &["id --kind plan delete.json"]),
    ("help", &["help approve"]),
    (
        "init",
        &[
            "init",
            "init --claim",
            "init --keep",
            "init --replace",
            "init --solo",
            "init src --solo",
            "init src/inner --keep",
            "init --solo ..",
            "init --team --me USER --agent mine",
        ],
    ),
    ("keys list", &["keys list"]),
    ("keys rotate", &["keys rotate"]),
    ("ledger checkpoint", &["ledger checkpoint"]),
    ("ledger document", &["ledger document VIEW"]),
    ("ledger export", &["ledger export exported"]),
    ("ledger fsck", &["ledger fsck"]),
    ("ledger prove", &["ledger prove 0"]),
    ("ledger show", &["ledger show"]),
    ("ledger verify", &["ledger verify"]),
    ("man", &["man"]),
    ("mcp approve", &["mcp approve mine", "mcp approve mine:tool"]),
    ("mcp block", &["mcp block mine:tool"]),
    ("mcp diff", &["mcp diff mine"]),
    ("mcp entry", &["mcp entry mine -- true", "mcp entry mine --actor USER -- true"]),
    (
        "mcp gateway",
        &[
            "mcp gateway mine --gate GATE --state /nonexistent/ordain --key 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo --actor USER -- true",
        ],
    ),
    ("mcp pins", &["mcp pins"]),
    ("mcp serve", &["mcp serve"]),
    ("mcp try", &["mcp try mine tool {}"]),
    ("mcp unwrap", &["mcp unwrap claude", "mcp unwrap cursor --user"]),
    ("mcp wrap", &["mcp wrap claude", "mcp wrap codex --user"]),
    ("note apply", &["note apply delete.json"]),
    ("note draft", &["note draft secret"]),
    ("note show", &["note show delete.json"]),
    ("note validate", &["note validate delete.json"]),
    ("patch", &["patch delete.json", "patch --from src"]),
    (
        "pause",
        &["pause --for 30m", "pause --for 1d --reason mine", "pause --end", "pause --end 00ff00ff00ff00ff"],
    ),
    ("permit outcome", &["permit outcome PERMIT succeeded", "permit outcome permit_1_held-1 succeeded"]),
    ("permit show", &["permit show PERMIT"]),
    ("permit use", &["permit use PERMIT --for delete.json", "permit use permit_1_held-1 --for delete.json"]),
    ("permit verify", &["permit verify delete.json"]),
    ("plan", &["plan delete.json"]),
    ("policy check", &["policy check"]),
    ("policy diff", &["policy diff"]),
    ("policy explain", &["policy explain delete.json"]),
    ("policy fmt", &["policy fmt --check"]),
    ("policy push", &["policy push", "policy push CLONE/policy", "policy push --dry-run"]),
    ("policy show", &["policy show"]),
    ("policy test", &["policy test"]),
    ("recover", &["recover", "recover --even-if-copied"]),
    ("reject", &["reject held-2 --reason mine", "reject held-2 --reason mine --sign"]),
    ("replay", &["replay", "replay --policy CLONE/policy"]),
    ("report", &["report held-1", "report --from 7d"]),
    ("rules", &["rules"]),
    ("run", &["run --patch delete.patch.json --apply"]),
    ("sandbox exec", &["sandbox exec -- true"]),
    ("sandbox probe", &["sandbox probe"]),
    ("scan", &["scan", "scan . --policy CLONE/policy"]),
    ("schema", &["schema policy"]),
    ("serve", &["serve --listen 127.0.0.1:0 --policy CLONE/policy"]),
    // Only root installs a service, and root may do everything.
    ("service install", &["service install --dry-run --owner USER"]),
    ("service uninstall", &["service uninstall --dry-run"]),
    (
        "setup",
        &[
            "setup claude --remove",
            "setup claude --refresh",
            "setup claude",
            "setup claude --project --actor USER",
            "setup claude --observe",
            "setup claude --user --observe 1h",
        ],
    ),
    ("show", &["show delete.json"]),
    ("status", &["status", "status held-1"]),
    (
        "submit",
        &[
            "submit delete-2.json",
            "submit secret.json",
            "submit command.json",
            "submit guard.json",
            "submit as-owner.json",
            "submit undo.json",
            "submit delete-3.json --supersedes held-1",
        ],
    ),
    ("grant list", &["grant list --all"]),
    ("grant revoke", &["grant revoke grant_0123456789abcdef"]),
    ("token create", &["token create USER --role operator --role approver"]),
    ("token list", &["token list"]),
    ("token revoke", &["token revoke 1"]),
    ("transform", &["transform intent.json"]),
    ("undo", &["undo", "undo --actor USER", "undo --even-if-copied --actor USER"]),
    ("validate", &["validate --plan delete.json delete.json"]),
    ("verify", &["verify delete.json"]),
    ("watch", &["watch"]),
    ("work", &["work intent.json --apply -- true"]),
    ("work submit", &["work submit src --apply"]),
    // The last, because a halt stops the others. It makes the gate stricter, and only its owner lifts it.
    ("halt", &["halt --reason mine"]),
    ("resume", &["resume --reason mine"]),
];

/// Those that an agent would try from a folder below, and from a clone.
const ELSEWHERE: [&str; 11] = [
    "apply",
    "approve",
    "approver enrol",
    "gate forget",
    "gate import",
    "gate register",
    "policy push",
    "submit",
    "token create",
    "undo",
    "keys rotate",
];

struct Attack {
    project: Project,
    places: BTreeMap<&'static str, String>,
    clone: tempfile::TempDir,
    /// The settings with the owner's hook.
    settings: String,
}

/// Where the owner has installed a hook.
const SETTINGS: &str = ".claude/settings.local.json";

impl Attack {
    /// A project that somebody owns; everything that the agent can edit is edited.
    fn prepared() -> Self {
        let project = owned_solo();
        project.write("src/old.rs", "fn old() {}\n");
        let submit = |id: &str, action: &str, path: &str, code: i32| {
            let name = format!("{id}.json");
            project.write(&name, &about_file(id, action, path));
            project.run(&["submit", &name]).ended(code)
        };
        submit("held-1", "delete", "src/old.rs", 20);
        submit("held-2", "delete", "src/other.rs", 20);
        submit("edit", "write", "src/main.rs", 0);
        let create = patch(&json!([{"op": "create", "path": "docs/a.md", "content": "a\n"}]));
        project.write("create.patch.json", &create);
        project.run(&["apply", "create.patch.json"]).ended(0);
        for (id, action, path) in [
            ("delete", "delete", "src/old.rs"),
            ("delete-2", "delete", "src/old.rs"),
            ("delete-3", "delete", "src/old.rs"),
            ("secret", "read", ".env"),
            ("guard", "write", "policy/solo.cedar"),
        ] {
            project.write(&format!("{id}.json"), &about_file(id, action, path));
        }
        let changed = |id: &str, change: &dyn Fn(&mut Json)| {
            let mut proposal: Json = serde_json::from_str(&about_file(id, "write", "src/main.rs")).unwrap();
            change(&mut proposal);
            project.write(&format!("{id}.json"), &proposal.to_string());
        };
        changed("command", &|it| {
            it["action_type"] = json!("execute");
            it["target"]["resource_type"] = json!("command");
        });
        changed("as-owner", &|it| it["actor"] = json!(os_user()));
        changed("undo", &|it| {
            it["actor"] = json!(os_user());
            it["parameters"] = json!({"undo": true, "undoes": "edit"});
        });
        let delete = patch(&json!([{"op": "delete", "path": "src/old.rs"}]));
        project.write("delete.patch.json", &delete);
        let evil = json!([{"op": "create", "path": "sub/ordain.toml", "content": "policy = \"x\"\n"}]);
        project.write("evil.patch.json", &patch(&evil));
        project.write("intent.json", r#"{"goal": "Create docs/b.md with the text b."}"#);
        project.write("packet.json", r#"{"evidence_id": "1"}"#);

        let permit = project.run(&["status", "edit", "--json"]).ended(0).json();
        let held = project.run(&["status", "held-1", "--json"]).ended(20).json();
        let keys = project.run(&["approver", "list", "--json"]).ended(0).lines();
        let text = |json: &Json| json.as_str().unwrap().to_owned();
        let settings = hooked(&project);
        project.write(SETTINGS, &settings);
        let clone = tempfile::tempdir().unwrap();
        // Whatever is edited in the workspace decides nothing.
        project.write("policy/solo.cedar", PERMIT_ALL);
        project.write("policy/protected.cedar", "");
        project.write("ordain.toml", "policy = \"policy\"\nactor = \"agent-1\"\n");
        project.write("src/ordain.toml", "policy = \"../policy\"\n");
        std::fs::create_dir_all(project.path(".ordain/gate")).unwrap();
        std::fs::copy(project.file(), project.path(".ordain/gate/ordain.db")).unwrap();
        copy_folder(&project.root, clone.path());
        let places = BTreeMap::from([
            ("USER", os_user()),
            ("VIEW", text(&held["view_digest"])),
            ("GATE", project.state().file_name().unwrap().to_str().unwrap().to_owned()),
            ("CLONE", clone.path().to_str().unwrap().to_owned()),
            ("KEY", text(&keys[0]["key_id"])),
            ("PERMIT", text(&permit["permit"]["permit_id"])),
        ]);
        Self { project, places, clone, settings }
    }

    fn words(&self, line: &str) -> Vec<String> {
        let word = |word: &str| {
            self.places.iter().fold(word.to_owned(), |word, (name, value)| word.replace(name, value))
        };
        line.split(' ').map(word).collect()
    }

    /// Runs a command as an agent's shell may: no terminal, nothing on standard input, and not for long.
    fn run(&self, folder: &Path, line: &str, variables: &[(&str, &Path)]) -> Ran {
        let mut command: Command = self.project.program("setsid");
        command.args(["--wait", "timeout", "3", env!("CARGO_BIN_EXE_ordain")]).args(self.words(line));
        command.current_dir(folder).stdin(Stdio::null()).envs(variables.iter().copied());
        let ran = ran(&mut command).calm();
        // An attack that is misspelt shows nothing.
        assert!(!ran.stderr.contains("For more information, try"), "{line}: {}", ran.stderr);
        ran
    }
}

/// Settings of Claude Code with a hook that asks the project's gate, installed by another ordain.
fn hooked(project: &Project) -> String {
    let keys = project.run(&["keys", "list", "--json"]).ended(0).lines();
    let state = project.state();
    let words = [
        "claude",
        "--gate",
        state.file_name().unwrap().to_str().unwrap(),
        "--state",
        state.parent().unwrap().to_str().unwrap(),
        "--key",
        keys[0]["public_key"].as_str().unwrap(),
        "--actor",
        "agent-1",
        "--wait",
        "590",
    ];
    let pins = ordain_hooks::Pins::parse(&words.map(str::to_owned)).unwrap();
    let installed = ordain_hooks::Installed { program: Path::new("/usr/local/bin/ordain"), pins: &pins };
    match ordain_hooks::install(&installed, Path::new("settings.json"), None).unwrap() {
        ordain_hooks::Edit::Added(text) => text,
        edit => panic!("{edit:?}"),
    }
}

fn patch(operations: &Json) -> String {
    let mut operations = operations.as_array().unwrap().clone();
    let mut total = 0;
    for operation in &mut operations {
        if let Some(content) = operation["content"].as_str().map(str::to_owned) {
            total += content.len();
            operation["expected_hash"] = json!(ContentHash::of(content.as_bytes()).to_string());
            operation["size_bytes"] = json!(content.len());
        }
    }
    json!({"patch_schema_version": "1.0.0", "source_proposal_id": "prop_2c4250a41ca4e4fa",
        "source_proposal_hash": format!("sha256:{}", "1".repeat(64)), "total_bytes": total, "operations": operations})
    .to_string()
}

/// The commands that the program knows, as its manual lists them.
fn commands(project: &Project) -> BTreeSet<String> {
    let folder = project.state_home().join("man");
    std::fs::create_dir_all(&folder).unwrap();
    project.run(&["man", "--dir", folder.to_str().unwrap()]).ended(0);
    let names = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    let names =
        names.filter_map(|name| Some(name.strip_suffix(".1")?.strip_prefix("ordain-")?.replace('-', " ")));
    names.filter(|name| !GROUPS.contains(&name.as_str())).collect()
}

/// The acts of the owner alone.
fn owned_state(project: &Project) -> Json {
    let lines = |arguments: &[&str]| project.run(arguments).ended(0).lines();
    let path = project.state_home().join("ordain/registry.json");
    let registry: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let root = project.root.canonicalize().unwrap();
    let projects: Vec<&Json> = registry["projects"].as_array().unwrap().iter().collect();
    let own = projects.iter().filter(|it| it["path"].as_str().is_some_and(|it| root.starts_with(it)));
    json!({
        "registry": own.collect::<Vec<_>>(),
        "policy": lines(&["policy", "show", "--json"])[0]["policy_hash"],
        "approver keys": lines(&["approver", "list", "--json"]),
        "keys": lines(&["keys", "list", "--json"]),
        "tokens": lines(&["token", "list", "--json"]),
    })
}

/// Whether the pushed policies let the agent do this alone: reading, and editing files that guard nothing.
fn is_free(proposal: &Json) -> bool {
    let edits =
        |path: &str| !path.contains("ordain.toml") && !path.contains("policy") && !path.starts_with('.');
    let path = proposal["target"]["resource_id"].as_str().unwrap();
    match proposal["target"]["resource_type"].as_str().unwrap() {
        "file" => {
            ["read", "write", "create"].contains(&proposal["action_type"].as_str().unwrap()) && edits(path)
        }
        "patch_set" => proposal["parameters"]["operations"]
            .as_array()
            .unwrap()
            .iter()
            .all(|it| it["op"] != "delete" && edits(it["path"].as_str().unwrap())),
        _ => false,
    }
}

#[test]
fn an_agent_with_its_owners_shell_gets_nothing_that_is_held_or_denied() {
    let attack = Attack::prepared();
    let project = &attack.project;
    let cases: BTreeSet<String> = CASES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(cases, commands(project), "every command has a case here");
    let before = owned_state(project);
    let entries_before = project.entries().len();

    let own_world = tempfile::tempdir().unwrap();
    for (name, lines) in CASES.iter().filter(|(name, _)| !["halt", "resume"].contains(name)) {
        for line in *lines {
            attack.run(&project.root, line, &[]);
            if ELSEWHERE.contains(name) {
                attack.run(&project.path("src"), line, &[]);
                attack.run(attack.clone.path(), line, &[]);
            }
        }
    }
    assert_eq!(project.read(SETTINGS), attack.settings, "only the owner changes the hook");
    // A state directory of its own is a world of its own: what happens there, happens there.
    let variables = [("XDG_STATE_HOME", own_world.path()), ("XDG_CONFIG_HOME", own_world.path())];
    for line in ["init --keep", "policy push", "token create USER --role operator", "submit delete-2.json"] {
        attack.run(&project.root, line, &variables);
    }
    assert!(own_world.path().join("ordain/registry.json").exists());
    // A terminal of its own, with a passphrase that is not the owner's, and with a key of its own.
    for arguments in [&["approve", "held-1"][..], &["policy", "push"], &["undo"]] {
        let guess = ("Passphrase: ", GUESS);
        let steps = [("[q]uit: ", "a"), guess, guess, guess];
        let steps = if arguments[0] == "approve" { &steps[..] } else { &steps[1..] };
        let refused = on_terminal(project, steps, arguments);
        assert_ne!(refused.code, 0, "{arguments:?}: {}", refused.all());
    }
    for line in ["halt --reason mine", "resume --reason mine"] {
        attack.run(&project.root, line, &[]);
    }

    // A rotated key, another token or another policy would show here.
    assert_eq!(owned_state(project), before);
    let entries = project.entries();
    let since = &entries[entries_before..];
    for kind in [
        "opened",
        "policy_changed",
        "key_rotated",
        "approver_key_enrolled",
        "approver_key_revoked",
        "token_created",
        "token_revoked",
        "server_pinned",
        "resumed",
        "observation_started",
        "observed",
        "approved",
        "granted",
    ] {
        assert_eq!(count(since, kind), 0, "{kind}");
    }
    let mut allowed = 0;
    for entry in since.iter().filter(|it| it["entry"]["event"]["outcome"] == "ALLOW") {
        let id = entry["entry"]["event"]["action_id"].as_str().unwrap();
        let status = project.run(&["status", id, "--json"]).json();
        assert!(is_free(&status["view"]["proposal"]), "{id} was allowed: {}", status["view"]["proposal"]);
        allowed += 1;
    }
    let decided = since.iter().filter(|it| it["entry"]["event"]["kind"] == "decided").count();
    assert!(decided > allowed + 5, "{decided} decisions, {allowed} allowed");
    assert!(project.path("src/old.rs").exists() && project.path("docs/a.md").exists());
    project.sound();
}
