//! A workspace, a clock that ticks by itself, a sandbox in memory, and plans that are short to write.

#![allow(dead_code, unreachable_pub, reason = "every test uses its part")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

use ordain_canon::{Canonicalizer, ContentHash, DerivedId, Value, compare_utf16};
use ordain_harness::sandbox::{
    Captured, End, FileState, Inspected, ProducedFile, Protections, Report, SandboxError, Session, StepEvent,
    StepReport,
};
use ordain_run::{IntentText, Mode, Origin, Request, Run, RunError, World, run};
use ordain_spec::evidence::ActionStatus;
use ordain_spec::plan::Proposal;
use ordain_spec::profile::Profile;
use ordain_spec::{Facts, Verified, verify_as};
use serde_json::{Value as Json, json};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

pub struct Workspace(pub PathBuf);

impl Workspace {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ordain-workflow-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str, content: &str) -> &Self {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub fn run(&self, origin: Origin<'_>, mode: Mode) -> Result<Run, RunError> {
        self.run_with(origin, mode, "dev", [1, 2, 3])
    }

    /// The clock starts at the same time and ticks by 10 ms whenever it is looked at.
    pub fn run_with(
        &self,
        origin: Origin<'_>,
        mode: Mode,
        profile: &str,
        random: [u8; 3],
    ) -> Result<Run, RunError> {
        let time = Cell::new(1_794_795_300_000);
        let now_ms = || {
            time.set(time.get() + 10);
            time.get()
        };
        let profile = Profile::built_in(profile).unwrap();
        let workspace = self.0.clone();
        let request = Request { random, workspace, profile, origin, mode, allow_landlock_only: false };
        run(&request, &World { now_ms: &now_ms, sandbox: &pretend, executor: "test 1.0" }, &mut |_| {})
    }

    pub fn intent(&self, intent: &Json) -> Run {
        let text = intent.to_string();
        let value = Value::read(text.as_bytes()).unwrap();
        let text = IntentText::Read { value: &value, bytes: text.len() };
        self.run(Origin::Intent { path: "intent.json".to_owned(), text }, Mode::Try).unwrap()
    }

    pub fn plan(&self, plan: Verified<Proposal>) -> Run {
        self.run(Origin::Plan { path: "plan.json".to_owned(), plan: Box::new(plan) }, Mode::Try).unwrap()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Commands that it knows: `true`, `false`, `sleep` (takes too long), `put PATH TEXT`, `rm PATH`, `folder PATH`,
/// `say TEXT`; any other cannot be started.
pub fn pretend(session: &Session, watch: &mut dyn FnMut(StepEvent)) -> Result<Report, SandboxError> {
    let mut world = Pretended { session, files: BTreeMap::new(), skip: false };
    let mut report = Report {
        protections: Protections::default(),
        steps: Vec::new(),
        produced: Vec::new(),
        deleted: Vec::new(),
        refused: Vec::new(),
        dropped: Vec::new(),
        inspected: Vec::new(),
        failed_writes: Vec::new(),
        kept: Vec::new(),
    };
    for (position, step) in session.steps.iter().enumerate() {
        world.write(position, &mut report);
        watch(StepEvent::Began { step: position });
        let reported = world.step(&step.argv);
        let (status, end) = (reported.status(), reported.end.clone());
        watch(StepEvent::Ended { step: position, status, end, duration_ms: 5 });
        world.skip |= step.required && status != ActionStatus::Success;
        report.steps.push(reported);
    }
    world.write(session.steps.len(), &mut report);
    report.inspected = session
        .inspect
        .iter()
        .map(|path| Inspected { path: path.clone(), state: world.state(path) })
        .collect();
    Ok(report)
}

struct Pretended<'s> {
    session: &'s Session,
    /// The difference from the workspace: a content, nothing, or a folder.
    files: BTreeMap<String, Option<Result<Vec<u8>, ()>>>,
    skip: bool,
}

impl Pretended<'_> {
    fn write(&mut self, position: usize, report: &mut Report) {
        for write in self.session.writes.iter().filter(|it| it.after_steps == position) {
            if self.skip {
                break;
            }
            if self.files.get(&write.path) == Some(&Some(Err(()))) {
                let (path, problem) = (write.path.clone(), "Is a directory".to_owned());
                report.failed_writes.push(ordain_harness::sandbox::FailedWrite { path, problem });
                self.skip |= write.required;
                continue;
            }
            self.files.insert(write.path.clone(), write.content.clone().map(Ok));
        }
    }

    fn state(&self, path: &str) -> FileState {
        let bytes = match self.files.get(path) {
            Some(Some(Ok(bytes))) => bytes.clone(),
            Some(Some(Err(()))) => return FileState::Other,
            Some(None) => return FileState::Missing,
            None => match fs::read(self.session.workspace.join(path)) {
                Ok(bytes) => bytes,
                Err(_) => return FileState::Missing,
            },
        };
        FileState::File { sha256: ContentHash::of(&bytes).to_string(), size: bytes.len() as u64 }
    }

    fn step(&mut self, argv: &[String]) -> StepReport {
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        let (mut said, mut produced, mut deleted) = (Vec::new(), Vec::new(), Vec::new());
        let end = match words.as_slice() {
            _ if self.skip => End::Skipped,
            ["true", ..] => End::Exited { code: 0 },
            ["false"] => End::Exited { code: 1 },
            ["sleep"] => End::TimedOut { after_ms: 1000 },
            ["say", text] => {
                said = text.as_bytes().to_vec();
                End::Exited { code: 0 }
            }
            ["put", path, text] => {
                self.files.insert((*path).to_owned(), Some(Ok(text.as_bytes().to_vec())));
                let sha256 = ContentHash::of(text.as_bytes()).to_string();
                let (path, size) = ((*path).to_owned(), text.len() as u64);
                produced.push(ProducedFile { path, sha256, size, executable: false });
                End::Exited { code: 0 }
            }
            ["rm", path] => {
                self.files.insert((*path).to_owned(), None);
                deleted.push((*path).to_owned());
                End::Exited { code: 0 }
            }
            ["folder", path] => {
                self.files.insert((*path).to_owned(), Some(Err(())));
                End::Exited { code: 0 }
            }
            other => End::NotStarted { reason: format!("`{}` was not found", other[0]) },
        };
        let stream = |kept: Vec<u8>| Captured {
            bytes: kept.len() as u64,
            sha256: ContentHash::of(&kept).to_string(),
            truncated: false,
            kept,
        };
        StepReport {
            argv: argv.to_vec(),
            program: None,
            end,
            violations: Vec::new(),
            produced,
            deleted,
            left_outside: Default::default(),
            stdout: stream(said),
            stderr: stream(Vec::new()),
            stragglers: 0,
            peak_memory_bytes: 0,
            duration_ms: 5,
        }
    }
}

/// An action of a plan; what is left out has a usual value.
pub fn action(fields: Json) -> Json {
    let mut action = json!({"id": "", "required": true, "description": "does something", "order": 0});
    for (key, value) in fields.as_object().unwrap() {
        action[key] = value.clone();
    }
    derive(DerivedId::Action, &mut action);
    action
}

pub fn create(path: &str, content: &str, order: u64) -> Json {
    action(json!({"type": "create_file", "target": path, "content": content, "order": order}))
}

pub fn command(line: &str, order: u64) -> Json {
    action(json!({"type": "execute_command", "target": line, "order": order}))
}

pub fn test(id: &str, test_type: &str, target: &str, expected: &str) -> Json {
    json!({"id": id, "name": id, "type": test_type, "target": target, "expected": expected, "required": true})
}

fn derive(kind: DerivedId, value: &mut Json) {
    let text = value.to_string();
    value["id"] = kind.of(&mut Canonicalizer::new(), &Value::read(text.as_bytes()).unwrap()).unwrap().into();
}

pub fn plan(mut actions: Vec<Json>, mut tests: Vec<Json>) -> Verified<Proposal> {
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    actions.sort_by_key(|it| (it["order"].as_u64(), text(&it["id"])));
    tests.sort_by(|left, right| compare_utf16(&text(&left["id"]), &text(&right["id"])));
    let mut plan = json!({
        "id": "", "schema_version": "1.0.0",
        "source_bundle_id": "bundle_0123456789abcdef",
        "source_bundle_hash": format!("sha256:{}", "0".repeat(64)),
        "actions": actions, "acceptance_tests": tests,
        "summary": "An agent's plan", "requires_approval": true, "confidence": 50,
    });
    derive(DerivedId::Plan, &mut plan);
    let text = plan.to_string();
    match verify_as(&Facts::default(), &Value::read(text.as_bytes()).unwrap()) {
        Ok(plan) => plan,
        Err(report) => panic!("{report:?}"),
    }
}
