//! Counters for Prometheus.

use crate::tls::TlsCounters;
use axum::http::Method;
use ordain_gate::Counters;
use ordain_note::Steps;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the buckets, in milliseconds.
const BUCKETS_MS: [u64; 12] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000];

/// Counters of requests and decisions.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, &'static str, u16), u64>>,
    durations: Mutex<BTreeMap<&'static str, Durations>>,
    decisions: Mutex<BTreeMap<&'static str, u64>>,
    proposals: Mutex<Proposals>,
}

/// Drafts of notes.
#[derive(Default)]
struct Proposals {
    /// By what became of them.
    /// By what became of them, and whose fault it was.
    outcomes: BTreeMap<(&'static str, &'static str), u64>,
    /// By the provider's last status.
    provider_codes: BTreeMap<u16, u64>,
    latencies: Durations,
    provider_latencies: Durations,
    /// The measurements of PROPOSAL_SERVICE that can be added up.
    sums: [(&'static str, &'static str, f64); 7],
}

#[derive(Default, Clone)]
struct Durations {
    buckets: [u64; BUCKETS_MS.len()],
    sum_us: u64,
    count: u64,
}

/// The gate's own figures.
pub(crate) struct Gauges {
    pub(crate) ledger_size: Option<u64>,
    pub(crate) halted: Option<bool>,
    pub(crate) policy_differs: Option<bool>,
    pub(crate) clock_behind_ms: u64,
    pub(crate) store: Counters,
    pub(crate) log: LogCounters,
    pub(crate) tls: Option<TlsCounters>,
}

/// The gaps in the log.
pub(crate) struct LogCounters {
    pub(crate) failed_writes: u64,
    pub(crate) left_out: u64,
}

impl Metrics {
    /// Routes come from the table, methods and statuses from HTTP: their number is bounded.
    pub(crate) fn request(&self, method: &Method, route: &'static str, status: u16, took: Duration) {
        let method = match *method {
            Method::GET => "GET",
            Method::POST => "POST",
            Method::DELETE => "DELETE",
            Method::HEAD => "HEAD",
            Method::PUT => "PUT",
            _ => "other",
        };
        *lock(&self.requests).entry((method, route, status)).or_default() += 1;
        lock(&self.durations).entry(route).or_default().add(took);
    }

    /// A draft, and what became of it.
    pub(crate) fn proposal(&self, outcome: &'static str, fault: &'static str, steps: &Steps) {
        let mut proposals = lock(&self.proposals);
        *proposals.outcomes.entry((outcome, fault)).or_default() += 1;
        // Nothing was drafted for a request that is wrong.
        if fault == "caller" {
            return;
        }
        if let Some(code) = steps.provider_code {
            *proposals.provider_codes.entry(code).or_default() += 1;
        }
        proposals.latencies.add(Duration::from_secs_f64(steps.proposal_latency_ms / 1_000.0));
        proposals.provider_latencies.add(Duration::from_secs_f64(steps.provider_latency_ms / 1_000.0));
        let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
        let sums = [
            ("input_size_chars", "Characters of requests.", count(steps.input_size_chars)),
            ("context_count", "References of requests.", count(steps.context_count)),
            ("retry_count", "Calls that were tried again.", f64::from(steps.retry_count)),
            ("validation_error_count", "Faults of answers.", count(steps.validation_error_count)),
            (
                "repair_attempted",
                "Answers that were to be repaired.",
                f64::from(u8::from(steps.repair_attempted)),
            ),
            ("canonicalization_ms", "Time for canonical forms and hashes.", steps.canonicalization_ms),
            ("snapshot_written", "Snapshots.", f64::from(u8::from(steps.snapshot_written))),
        ];
        for ((name, help, sum), (of, about, more)) in proposals.sums.iter_mut().zip(sums) {
            (*name, *help) = (of, about);
            *sum += more;
        }
    }

    pub(crate) fn decision(&self, outcome: &'static str) {
        *lock(&self.decisions).entry(outcome).or_default() += 1;
    }

    /// In Prometheus' text format.
    pub(crate) fn text(&self, gauges: &Gauges) -> String {
        let mut text = String::new();
        head(&mut text, "ordain_requests_total", "counter", "Requests by method, route and status.");
        for ((method, route, status), count) in lock(&self.requests).iter() {
            let _ = writeln!(
                text,
                "ordain_requests_total{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} {count}"
            );
        }
        let name = "ordain_request_duration_seconds";
        head(&mut text, name, "histogram", "How long requests took.");
        for (route, durations) in lock(&self.durations).iter() {
            durations.text(name, &format!("route=\"{route}\""), 1_000, &mut text);
        }
        head(&mut text, "ordain_decisions_total", "counter", "New decisions by outcome, on this node.");
        for (outcome, count) in lock(&self.decisions).iter() {
            let _ = writeln!(text, "ordain_decisions_total{{outcome=\"{outcome}\"}} {count}");
        }
        self.proposals_text(&mut text);
        if let Some(tls) = &gauges.tls {
            tls_text(tls, &mut text);
        }
        let store = &gauges.store;
        let counters = [
            ("ordain_store_batches_total", "Transactions of the store, on this node.", store.batches),
            ("ordain_store_changes_total", "Changes in them.", store.changes),
            ("ordain_store_entries_total", "Ledger entries in them.", store.entries),
            (
                "ordain_log_write_failures_total",
                "Log lines that could not be written.",
                gauges.log.failed_writes,
            ),
            (
                "ordain_log_left_out_total",
                "Requests without a token that were not logged.",
                gauges.log.left_out,
            ),
        ];
        for (name, help, count) in counters {
            head(&mut text, name, "counter", help);
            let _ = writeln!(text, "{name} {count}");
        }
        let gauges = [
            ("ordain_ledger_entries", "Entries of the ledger.", gauges.ledger_size),
            ("ordain_halted", "Whether an operator has halted the gate.", gauges.halted.map(u64::from)),
            (
                "ordain_policy_differs",
                "Whether the policy folder is not what is in force.",
                gauges.policy_differs.map(u64::from),
            ),
            (
                "ordain_clock_behind_milliseconds",
                "How far the clock is behind the ledger.",
                Some(gauges.clock_behind_ms),
            ),
        ];
        for (name, help, value) in gauges {
            head(&mut text, name, "gauge", help);
            if let Some(value) = value {
                let _ = writeln!(text, "{name} {value}");
            }
        }
        text
    }
}

fn tls_text(tls: &TlsCounters, text: &mut String) {
    let name = "ordain_tls_certificate_end_seconds";
    head(text, name, "gauge", "When the certificate in use ends, in seconds since 1970.");
    if let Some(end) = tls.ends_at_s {
        let _ = writeln!(text, "{name} {end}");
    }
    let name = "ordain_tls_certificate_reloads_total";
    head(text, name, "counter", "New certificates that were taken, and that could not be used.");
    for (outcome, count) in [("taken", tls.taken), ("refused", tls.refused)] {
        let _ = writeln!(text, "{name}{{outcome=\"{outcome}\"}} {count}");
    }
    let name = "ordain_tls_handshakes_failed_total";
    head(text, name, "counter", "Connections without a handshake of TLS to its end.");
    let _ = writeln!(text, "{name} {}", tls.failed_handshakes);
}

impl Metrics {
    fn proposals_text(&self, text: &mut String) {
        let proposals = lock(&self.proposals);
        head(
            text,
            "ordain_proposals_total",
            "counter",
            "Drafts of notes by what became of them and whose fault it was.",
        );
        for ((outcome, fault), count) in &proposals.outcomes {
            let _ =
                writeln!(text, "ordain_proposals_total{{outcome=\"{outcome}\",fault=\"{fault}\"}} {count}");
        }
        head(text, "ordain_proposal_provider_code_total", "counter", "Drafts by the provider's last status.");
        for (code, count) in &proposals.provider_codes {
            let _ = writeln!(text, "ordain_proposal_provider_code_total{{code=\"{code}\"}} {count}");
        }
        let name = "ordain_proposal_latency_ms";
        head(text, name, "histogram", "How long drafts took, in milliseconds.");
        proposals.latencies.text(name, "", 1, text);
        let name = "ordain_proposal_provider_latency_ms";
        head(text, name, "histogram", "How long the calls of the provider took, in milliseconds.");
        proposals.provider_latencies.text(name, "", 1, text);
        for (name, help, sum) in proposals.sums.iter().filter(|(name, ..)| !name.is_empty()) {
            let name = format!("ordain_proposal_{name}_total");
            head(text, &name, "counter", help);
            let _ = writeln!(text, "{name} {sum}");
        }
    }
}

impl Durations {
    fn add(&mut self, took: Duration) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        for (bucket, bound_ms) in self.buckets.iter_mut().zip(BUCKETS_MS) {
            *bucket += u64::from(took_us <= bound_ms * 1_000);
        }
        self.sum_us = self.sum_us.saturating_add(took_us);
        self.count += 1;
    }

    /// As a histogram. `unit_ms` is how many milliseconds its unit has: 1 or 1,000.
    fn text(&self, name: &str, label: &str, unit_ms: u64, text: &mut String) {
        let comma = if label.is_empty() { "" } else { "," };
        let unit = |number: u64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
        for (count, bound_ms) in self.buckets.iter().zip(BUCKETS_MS) {
            let bound = unit(bound_ms) / unit(unit_ms);
            let _ = writeln!(text, "{name}_bucket{{{label}{comma}le=\"{bound}\"}} {count}");
        }
        let _ = writeln!(text, "{name}_bucket{{{label}{comma}le=\"+Inf\"}} {}", self.count);
        let braces = if label.is_empty() { String::new() } else { format!("{{{label}}}") };
        let unit_us = unit_ms * 1_000;
        let digits = if unit_ms == 1 { 3 } else { 6 };
        let (whole, rest) = (self.sum_us / unit_us, self.sum_us % unit_us);
        let _ = writeln!(text, "{name}_sum{braces} {whole}.{rest:0digits$}");
        let _ = writeln!(text, "{name}_count{braces} {}", self.count);
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
