//! pid 1 of the sandbox, without namespaces an ordinary process: makes the writes, runs the steps one after
//! the other, and collects.

use super::fence::Fence;
use super::harvest::{self, Changes, Snapshot};
use super::init::Caller;
use super::limits::{
    DELETED_LISTED_MAX, LANDLOCK_FULL, MAPPINGS_MAX, MEMORY_BYTES_MAX, OUTPUT_BYTES_SLACK, PROCESSES_MAX,
    SCRATCH_BYTES_MAX, SHARED_ASKED_BYTES_MAX, SHARED_BYTES_MAX, STREAM_BYTES_MAX, TEMPORARY_BYTES_MAX,
};
use super::outside::Outside;
use super::payload::{Ground, RESOURCES};
use super::root::View;
use super::steps::{self, Kernel, Ran};
use super::wire::{Answer, Fault, RunOrder, Stage, StepOrder};
use super::writes::{Due, Pending};
use super::{
    End, FailedWrite, Level, Limit, Protections, Report, StepEvent, StepReport, WORKSPACE, filter, memory,
};
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;

/// Does everything that the order says, and answers. `listener` hears of each event.
pub(crate) fn collect(
    order: &RunOrder,
    contents: File,
    caller: &Caller,
    view: View,
    listener: Option<File>,
) -> Answer {
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let most = rustix::process::getrlimit(Resource::Nofile).maximum;
    // The caller's own limit is enough, if it cannot be raised.
    let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
    let program = filter::read(&order.filter);
    let protections = protections(order, caller);
    let answer = Fence::new(order).and_then(|fence| {
        let kernel = Kernel { filter: &program, order, view: &view, fence: &fence, caller };
        steps_of(order, contents, &kernel, &view, protections, listener)
    });
    answer.unwrap_or_else(Answer::Fault)
}

fn steps_of(
    order: &RunOrder,
    contents: File,
    kernel: &Kernel<'_>,
    view: &View,
    mut protections: Protections,
    mut listener: Option<File>,
) -> Result<Answer, Fault> {
    let workspace = order.inside(WORKSPACE);
    let mut pending = Pending::new(&order.writes, contents, &workspace).stage("opening the workspace")?;
    if let Some(FailedWrite { path, problem }) = pending.make(0).failed.pop() {
        return Ok(Answer::Write { path, problem });
    }
    let room = room_for_changes(order);
    let start = Snapshot::take(view, room).stage("looking at the workspace")?;
    let mut moments = Moments { view, room, before: start.clone(), start };
    let mut outside = Outside::new(order);
    let mut reports: Vec<StepReport> = Vec::new();
    let mut failed_writes = Vec::new();
    let mut skip = false;
    for (position, step) in order.steps.iter().enumerate() {
        if !skip {
            skip = moments.write(pending.make(position), &mut failed_writes)?;
        }
        if !skip && step.not_allowed.is_none() {
            tell(&mut listener, &StepEvent::Began { step: position });
        }
        let ran = match (&step.not_allowed, skip) {
            (_, true) => Ran::not(End::Skipped),
            (Some(reason), _) => Ran::not(End::NotAllowed { reason: reason.clone() }),
            (None, _) => match start_fresh(step, &mut outside) {
                Err(reason) => Ran::not(End::NotStarted { reason }),
                Ok(()) => steps::run(kernel, step, &mut protections)?,
            },
        };
        if let Some(answer) = level_answer(order.level_min, &mut protections) {
            return Ok(answer);
        }
        let after = Snapshot::take(view, room).stage("looking at what a command left")?;
        let left_outside = outside.left();
        let changes = after.since(&moments.before, view);
        let report = StepReport {
            left_outside,
            ..report_of(order, step, ran, changes, &after.since(&moments.start, view))
        };
        let (status, end, duration_ms) = (report.status(), report.end.clone(), report.duration_ms);
        tell(&mut listener, &StepEvent::Ended { step: position, status, end, duration_ms });
        skip |= step.step.required && status != ordain_spec::evidence::ActionStatus::Success;
        reports.push(report);
        moments.before = after;
    }
    if !skip {
        moments.write(pending.make(order.steps.len()), &mut failed_writes)?;
    }
    let Changes { produced, deleted, refused, dropped, .. } = moments.before.since(&moments.start, view);
    let inspected = harvest::inspect(&order.inspect, &moments.before, &workspace);
    let kept = match order.keep {
        true => {
            harvest::keep(&produced, &workspace, order.output_bytes_max).stage("reading what was left")?
        }
        false => Vec::new(),
    };
    Ok(Answer::Report(Box::new(Report {
        protections,
        steps: reports,
        produced,
        deleted,
        refused,
        dropped,
        inspected,
        failed_writes,
        kept,
    })))
}

/// A test does not start where a command may have prepared its end.
fn start_fresh(step: &StepOrder, outside: &mut Outside<'_>) -> Result<(), String> {
    if !step.step.fresh {
        return Ok(());
    }
    outside.clear().map_err(|error| format!("home, /tmp and /dev/shm cannot be made fresh: {error}"))
}

/// The room in the layer of changes. A larger file is sparse.
fn room_for_changes(order: &RunOrder) -> u64 {
    let written = order.writes.iter().filter_map(|write| write.bytes).map(|bytes| bytes as u64);
    order.output_bytes_max + written.sum::<u64>() + OUTPUT_BYTES_SLACK
}

/// The workspace before all commands, and before the next one.
struct Moments<'v> {
    view: &'v View,
    room: u64,
    start: Snapshot,
    before: Snapshot,
}

impl Moments<'_> {
    /// Takes note of writes between two steps, which are not output. Says whether to go no further.
    fn write(&mut self, due: Due<'_>, failed: &mut Vec<FailedWrite>) -> Result<bool, Fault> {
        if !due.made.is_empty() {
            self.before = Snapshot::take(self.view, self.room).stage("looking at the workspace")?;
            for path in due.made {
                self.start.adopt(&self.before, path);
            }
        }
        failed.extend(due.failed);
        Ok(due.stop)
    }
}

/// Nobody listens any more, or not fast enough: it is only for people who wait.
fn tell(listener: &mut Option<File>, event: &StepEvent) {
    if let Some(listener) = listener {
        let mut line = serde_json::to_vec(event).unwrap_or_default();
        line.push(b'\n');
        let _ = listener.write_all(&line);
    }
}

/// Decided by what the first command really had, before it ran.
fn level_answer(wanted: Level, protections: &mut Protections) -> Option<Answer> {
    let found = protections.level?;
    (found < wanted).then_some(Answer::Level { found, wanted, landlock_abi: protections.landlock_abi })
}

pub(crate) fn level_of(ground: Ground, landlock_abi: u32) -> Level {
    match ground {
        Ground::Alone => Level::LandlockOnly,
        Ground::Namespaces if landlock_abi >= LANDLOCK_FULL => Level::Full,
        Ground::Namespaces => Level::Namespaces,
    }
}

fn report_of(order: &RunOrder, step: &StepOrder, ran: Ran, changes: Changes, total: &Changes) -> StepReport {
    let mut violations = violations(order, &changes);
    let bytes =
        total.excess.unread_bytes.unwrap_or_else(|| total.produced.iter().map(|file| file.size).sum());
    if total.produced.len() as u64 > order.output_files_max {
        let (count, max) = (total.produced.len(), order.output_files_max);
        violations.push(format!("{count} files were left behind, and the profile allows {max}"));
    }
    if bytes > order.output_bytes_max {
        let max = order.output_bytes_max;
        violations.push(format!("{bytes} bytes were left behind, and the profile allows {max}"));
    }
    if total.excess.unlisted {
        violations.push(format!(
            "more than {DELETED_LISTED_MAX} files were deleted, and not all of them are listed"
        ));
    }
    StepReport {
        argv: step.step.argv.clone(),
        program: ran.program,
        end: ran.end,
        violations,
        produced: changes.produced,
        deleted: changes.deleted,
        left_outside: super::LeftOutside::default(),
        stdout: ran.stdout,
        stderr: ran.stderr,
        stragglers: ran.stragglers,
        peak_memory_bytes: ran.peak_memory_bytes,
        duration_ms: ran.duration_ms,
    }
}

/// The changes outside the folders in which commands may leave something.
fn violations(order: &RunOrder, changes: &Changes) -> Vec<String> {
    let within = |path: &str| {
        order.write_roots.iter().any(|root| {
            root == "*" || path.strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let roots = match order.write_roots.as_slice() {
        [] => "nowhere".to_owned(),
        roots => roots.join(", "),
    };
    let produced = changes.produced.iter().map(|file| (&file.path, "left behind"));
    let deleted = changes.deleted.iter().map(|path| (path, "deleted"));
    let refused = changes.refused.iter().map(|it| (&it.path, "left behind"));
    produced
        .chain(deleted)
        .chain(refused)
        .filter(|(path, _)| !within(path))
        .map(|(path, what)| format!("`{path}` was {what}, and commands may only change what is in: {roots} (`allowed_write_roots` of the profile)"))
        .collect()
}

fn protections(order: &RunOrder, caller: &Caller) -> Protections {
    let mut limits = BTreeMap::new();
    let mut limit = |name: &str, max: u64, by: &str| {
        limits.insert(name.to_owned(), Limit { max, by: by.to_owned() });
    };
    for (name, _, max) in RESOURCES {
        limit(name, *max, "kernel (rlimit)");
    }
    let (files, output, left_open) = match order.base {
        None => ("kernel (tmpfs)", "kernel (tmpfs), collector", &[] as &[&str]),
        Some(_) => ("collector (watch)", "collector (watch)", Level::LandlockOnly.leaves_open()),
    };
    limit("scratch_bytes", SCRATCH_BYTES_MAX, files);
    limit("tmp_bytes", TEMPORARY_BYTES_MAX, files);
    match order.base {
        None => limit("shared_memory_bytes", SHARED_BYTES_MAX, files),
        Some(_) => limit("processes", PROCESSES_MAX, "kernel (rlimit), with all that the user has besides"),
    }
    limit("output_bytes", order.output_bytes_max, output);
    limit("output_files", order.output_files_max, output);
    limit("memory_bytes", MEMORY_BYTES_MAX, "collector (watch)");
    limit("mappings", MAPPINGS_MAX, "collector (watch)");
    limit("watches", memory::watches_max(), "collector (watch)");
    limit("shared_asked_bytes", SHARED_ASKED_BYTES_MAX, "collector (asked by the kernel)");
    limit("stream_bytes", STREAM_BYTES_MAX, "collector");
    Protections {
        caller: caller.identity.name().to_owned(),
        seccomp_sha256: order.filter_sha256.clone(),
        limits,
        left_open: left_open.iter().map(|it| (*it).to_owned()).collect(),
        ..Protections::default()
    }
}
