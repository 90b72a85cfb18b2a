//! One document a line in, one result a line out: in order, as they come, on all cores, in bounded memory.

use crate::arguments::Lines;
use crate::commands::verify::{Checked, too_long, write_report};
use crate::exit::{Failure, Outcome};
use crate::input::{Source, Unreadable};
use crate::progress::Progress;
use ordain_canon::{Canonicalizer, DOCUMENT_BYTES_MAX};
use ordain_spec::RuleId;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// How much is read at once. Input that is there already is worked on without waiting for more, so that a
/// partner that writes a line and waits for the answer gets it.
const READ_BYTES: usize = 256 * 1024;

/// Batches under way for each core; more would only wait.
const BATCHES_PER_CORE: usize = 4;

/// Some whole lines.
struct Batch {
    number: usize,
    /// Without the last line feed.
    lines: Vec<u8>,
    /// A line that is too long to be kept follows.
    too_long: bool,
}

struct Done {
    number: usize,
    count: usize,
    output: Vec<u8>,
    outcome: Outcome,
}

/// Runs `work` on each line: it appends the result, without a line feed, and says how it went. Each thread has its
/// own worker from `make_worker`.
pub(crate) fn run<W>(
    input: impl Read,
    output: impl Write + Send,
    make_worker: impl Fn() -> W + Sync,
) -> Result<Outcome, Failure>
where
    W: FnMut(Result<&[u8], TooLong>, &mut Vec<u8>) -> Outcome,
{
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let in_flight = cores * BATCHES_PER_CORE;
    let (to_workers, batches) = sync_channel::<Batch>(in_flight);
    let (to_writer, results) = sync_channel::<Done>(in_flight);
    let (give_ticket, tickets) = sync_channel::<()>(in_flight);
    for _ in 0..in_flight {
        let _ = give_ticket.send(());
    }
    let batches = Mutex::new(batches);
    thread::scope(|scope| {
        for _ in 0..cores {
            let to_writer = to_writer.clone();
            scope.spawn(|| work_on(&batches, to_writer, make_worker()));
        }
        drop(to_writer);
        let writer = scope.spawn(move || write_in_order(results, output, give_ticket));
        // When the writer has failed, tickets end, and so does reading.
        let read = read_batches(input, to_workers, &tickets);
        let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        read?;
        Ok(written?)
    })
}

/// Runs `one` on the file, or `each_line` on every line of standard input.
pub(crate) fn each(
    args: &Lines,
    one: impl FnOnce(&mut Canonicalizer, &Source) -> Result<(), Failure>,
    each_line: impl Fn(&mut Canonicalizer, &[u8], &mut Vec<u8>) -> Result<(), Unreadable> + Sync,
) -> Result<Outcome, Failure> {
    let source = args.file.as_deref().map(Source::of);
    if !args.jsonl {
        one(&mut Canonicalizer::new(), &source.unwrap_or(Source::Stdin))?;
        return Ok(Outcome::Ok);
    }
    let work = || {
        let mut canon = Canonicalizer::new();
        let each_line = &each_line;
        move |line: Result<&[u8], TooLong>, output: &mut Vec<u8>| {
            let start = output.len();
            let refused = match line {
                Ok(line) => match each_line(&mut canon, line, output) {
                    Ok(()) => return Outcome::Ok,
                    Err(wrong) => Checked::refused(RuleId::Parse, wrong, Outcome::Failed),
                },
                Err(TooLong) => too_long(),
            };
            output.truncate(start);
            write_report(&mut canon, &refused.report, output);
            Outcome::Failed
        }
    };
    match source {
        None | Some(Source::Stdin | Source::Folder(..) | Source::Run(_)) => {
            run(std::io::stdin().lock(), std::io::stdout(), work)
        }
        Some(Source::File(path)) => {
            let failure = |error| Failure::File { path: path.display().to_string(), error };
            run(std::fs::File::open(&path).map_err(failure)?, std::io::stdout(), work)
        }
    }
}

/// A line was longer than any document may be.
pub(crate) struct TooLong;

fn work_on<W>(batches: &Mutex<Receiver<Batch>>, to_writer: SyncSender<Done>, mut worker: W)
where
    W: FnMut(Result<&[u8], TooLong>, &mut Vec<u8>) -> Outcome,
{
    loop {
        let received = batches.lock().map(|batches| batches.recv());
        let Ok(Ok(batch)) = received else { return };
        let mut done = Done { number: batch.number, count: 0, output: Vec::new(), outcome: Outcome::Ok };
        let mut one = |line| {
            done.outcome = done.outcome.max(worker(line, &mut done.output));
            done.output.push(b'\n');
            done.count += 1;
        };
        if batch.too_long {
            one(Err(TooLong))
        } else {
            batch.lines.split(|byte| *byte == b'\n').for_each(|line| one(Ok(line)))
        }
        if to_writer.send(done).is_err() {
            return;
        }
    }
}

fn write_in_order(
    results: Receiver<Done>,
    mut output: impl Write,
    give_ticket: SyncSender<()>,
) -> std::io::Result<Outcome> {
    let mut outcome = Outcome::Ok;
    let mut waiting: BTreeMap<usize, Done> = BTreeMap::new();
    let mut next = 0;
    let mut progress = Progress::new("lines", None);
    while let Ok(done) = results.recv() {
        waiting.insert(done.number, done);
        let mut wrote = false;
        while let Some(done) = waiting.remove(&next) {
            output.write_all(&done.output)?;
            outcome = outcome.max(done.outcome);
            progress.add(done.count);
            next += 1;
            wrote = true;
            // The reader may be gone already.
            let _ = give_ticket.try_send(());
        }
        if wrote {
            output.flush()?;
        }
    }
    Ok(outcome)
}

fn read_batches(
    mut input: impl Read,
    to_workers: SyncSender<Batch>,
    tickets: &Receiver<()>,
) -> Result<(), Failure> {
    let mut number = 0;
    let mut send = |lines: Vec<u8>, too_long: bool| {
        if tickets.recv().is_err() {
            return false;
        }
        let sent = to_workers.send(Batch { number, lines, too_long }).is_ok();
        number += 1;
        sent
    };
    let mut pending: Vec<u8> = Vec::new();
    let mut skipping = false;
    let mut chunk = vec![0; READ_BYTES];
    loop {
        let count = match input.read(&mut chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::File { path: "standard input".to_owned(), error }),
        };
        let mut fresh = chunk.get(..count).unwrap_or_default();
        if count == 0 {
            // The last line may lack its line feed.
            if !pending.is_empty() {
                send(std::mem::take(&mut pending), false);
            }
            return Ok(());
        }
        if skipping {
            match fresh.iter().position(|byte| *byte == b'\n') {
                None => continue,
                Some(end) => {
                    fresh = fresh.get(end + 1..).unwrap_or_default();
                    skipping = false;
                }
            }
        }
        match fresh.iter().rposition(|byte| *byte == b'\n') {
            None => pending.extend_from_slice(fresh),
            Some(end) => {
                pending.extend_from_slice(fresh.get(..end).unwrap_or_default());
                if !send(std::mem::take(&mut pending), false) {
                    return Ok(());
                }
                pending.extend_from_slice(fresh.get(end + 1..).unwrap_or_default());
            }
        }
        if pending.len() > DOCUMENT_BYTES_MAX {
            pending = Vec::new();
            skipping = true;
            if !send(Vec::new(), true) {
                return Ok(());
            }
        }
    }
}
