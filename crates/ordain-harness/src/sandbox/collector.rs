//! pid 1 of the sandbox: makes the writes, runs the steps one after the other, and collects.

use super::harvest::{self, Changes, Snapshot};
use super::init::Caller;
use super::limits::{
    LANDLOCK_FULL, MEMORY_BYTES_MAX, SCRATCH_BYTES_MAX, SHARED_BYTES_MAX, STREAM_BYTES_MAX,
    TEMPORARY_BYTES_MAX,
};
use super::payload::RESOURCES;
use super::root::View;
use super::steps::{self, Kernel, Ran};
use super::wire::{Answer, Fault, RunOrder, Stage, StepOrder, WriteOrder};
use super::{End, Level, Limit, Protections, Report, StepReport, WORKSPACE, filter};
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, mkdirat, open, openat2, unlinkat};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Does everything that the order says, and answers.
pub(crate) fn collect(order: &RunOrder, contents: File, caller: &Caller, view: View) -> Answer {
    rustix::process::umask(Mode::from_raw_mode(0o022));
    match write_all(&order.writes, contents) {
        Ok(()) => {}
        Err((path, error)) => return Answer::Write { path, problem: error.to_string() },
    }
    let program = filter::read(&order.filter);
    let kernel = Kernel { filter: &program, order, processes: &view.processes, caller };
    let protections = protections(order, caller);
    match steps_of(order, &kernel, &view, protections) {
        Ok(answer) => answer,
        Err(fault) => Answer::Fault(fault),
    }
}

fn steps_of(
    order: &RunOrder,
    kernel: &Kernel<'_>,
    view: &View,
    mut protections: Protections,
) -> Result<Answer, Fault> {
    let start = Snapshot::take(view).stage("looking at the workspace")?;
    let mut before = start.clone();
    let mut reports: Vec<StepReport> = Vec::new();
    let mut skip = false;
    for step in &order.steps {
        let ran = match (&step.not_allowed, skip) {
            (_, true) => Ran::not(End::Skipped),
            (Some(reason), _) => Ran::not(End::NotAllowed { reason: reason.clone() }),
            (None, _) => steps::run(kernel, step, &mut protections)?,
        };
        if let Some(answer) = level_answer(order.level_min, &mut protections) {
            return Ok(answer);
        }
        let after = Snapshot::take(view).stage("looking at what a command left")?;
        let report = report_of(order, step, ran, after.since(&before), &after.since(&start));
        skip |= step.step.required && report.status() != ordain_spec::evidence::ActionStatus::Success;
        reports.push(report);
        before = after;
    }
    let Changes { produced, deleted, refused, dropped } = before.since(&start);
    let inspected = harvest::inspect(&order.inspect);
    Ok(Answer::Report(Box::new(Report {
        protections,
        steps: reports,
        produced,
        deleted,
        refused,
        dropped,
        inspected,
    })))
}

/// Decided by what the first command really had, before it ran.
fn level_answer(wanted: Level, protections: &mut Protections) -> Option<Answer> {
    let found = protections.level?;
    (found < wanted).then_some(Answer::Level { found, wanted, landlock_abi: protections.landlock_abi })
}

pub(crate) fn level_of(landlock_abi: u32) -> Level {
    if landlock_abi >= LANDLOCK_FULL { Level::Full } else { Level::Namespaces }
}

fn report_of(order: &RunOrder, step: &StepOrder, ran: Ran, changes: Changes, total: &Changes) -> StepReport {
    let mut violations = violations(order, &changes);
    let bytes: u64 = total.produced.iter().map(|file| file.size).sum();
    if total.produced.len() as u64 > order.output_files_max {
        let (count, max) = (total.produced.len(), order.output_files_max);
        violations.push(format!("{count} files were left behind, and the profile allows {max}"));
    }
    let too_large = changes.refused.iter().filter(|refused| refused.reason == harvest::TOO_LARGE);
    violations
        .extend(too_large.map(|refused| format!("`{}` was left behind: {}", refused.path, refused.reason)));
    if bytes > order.output_bytes_max {
        let max = order.output_bytes_max;
        violations.push(format!("{bytes} bytes were left behind, and the profile allows {max}"));
    }
    StepReport {
        argv: step.step.argv.clone(),
        program: ran.program,
        end: ran.end,
        violations,
        produced: changes.produced,
        deleted: changes.deleted,
        stdout: ran.stdout,
        stderr: ran.stderr,
        stragglers: ran.stragglers,
        peak_memory_bytes: ran.peak_memory_bytes,
        duration_ms: ran.duration_ms,
    }
}

/// What was changed outside the folders in which commands may leave something.
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
    produced
        .chain(deleted)
        .filter(|(path, _)| !within(path))
        .map(|(path, what)| format!("`{path}` was {what}; the profile allows changes in: {roots}"))
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
    limit("scratch_bytes", SCRATCH_BYTES_MAX, "kernel (tmpfs)");
    limit("tmp_bytes", TEMPORARY_BYTES_MAX, "kernel (tmpfs)");
    limit("shared_memory_bytes", SHARED_BYTES_MAX, "kernel (tmpfs)");
    limit("output_bytes", order.output_bytes_max, "kernel (tmpfs), collector");
    limit("output_files", order.output_files_max, "kernel (tmpfs), collector");
    limit("memory_bytes", MEMORY_BYTES_MAX, "collector");
    limit("stream_bytes", STREAM_BYTES_MAX, "collector");
    Protections {
        caller: caller.identity.name().to_owned(),
        seccomp_sha256: order.filter_sha256.clone(),
        limits,
        ..Protections::default()
    }
}

/// The changes before the first step, made in the view, where a link of the workspace leads nowhere else.
fn write_all(writes: &[WriteOrder], mut contents: File) -> Result<(), (String, io::Error)> {
    let top = open(WORKSPACE, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| (String::new(), error.into()))?;
    for write in writes {
        let done = match write.bytes {
            None => remove(top.as_fd(), &write.path),
            Some(bytes) => create(top.as_fd(), &write.path)
                .and_then(|mut file| io::copy(&mut (&mut contents).take(bytes as u64), &mut file).map(drop)),
        };
        done.map_err(|error| (write.path.clone(), error))?;
    }
    Ok(())
}

const INSIDE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

fn create(top: BorrowedFd<'_>, path: &str) -> io::Result<File> {
    let mut folder = String::new();
    for segment in Path::new(path).parent().iter().flat_map(|parent| parent.iter()) {
        folder.push_str(&segment.to_string_lossy());
        match mkdirat(top, folder.as_str(), Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        // That it is a folder and no link.
        openat2(
            top,
            folder.as_str(),
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
            INSIDE,
        )?;
        folder.push('/');
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(openat2(top, path, flags, Mode::from_raw_mode(0o644), INSIDE)?.into())
}

fn remove(top: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    let folder =
        openat2(top, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), INSIDE)?;
    Ok(unlinkat(&folder, name, AtFlags::empty())?)
}
