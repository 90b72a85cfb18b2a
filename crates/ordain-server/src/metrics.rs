//! Counters for Prometheus.

use axum::http::Method;
use ordain_workflow::gate::Counters;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the buckets, in milliseconds.
const BUCKETS_MS: [u64; 12] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000];

/// Counters of requests and decisions.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(String, String, u16), u64>>,
    durations: Mutex<BTreeMap<String, Durations>>,
    decisions: Mutex<BTreeMap<&'static str, u64>>,
}

#[derive(Default, Clone)]
struct Durations {
    buckets: [u64; BUCKETS_MS.len()],
    sum_us: u64,
    count: u64,
}

/// What the gate says about itself when it is asked.
pub(crate) struct Gauges {
    pub(crate) ledger_size: Option<u64>,
    pub(crate) halted: Option<bool>,
    pub(crate) clock_behind_ms: u64,
    pub(crate) store: Counters,
}

impl Metrics {
    /// Routes come from the table, methods and statuses from HTTP: their number is bounded.
    pub(crate) fn request(&self, method: &Method, route: &str, status: u16, took: Duration) {
        let method = match *method {
            Method::GET | Method::POST | Method::DELETE | Method::HEAD | Method::PUT => method.as_str(),
            _ => "other",
        };
        let key = (method.to_owned(), route.to_owned(), status);
        *lock(&self.requests).entry(key).or_default() += 1;
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut durations = lock(&self.durations);
        let of_route = durations.entry(route.to_owned()).or_default();
        for (bucket, bound_ms) in of_route.buckets.iter_mut().zip(BUCKETS_MS) {
            *bucket += u64::from(took_us <= bound_ms * 1_000);
        }
        of_route.sum_us = of_route.sum_us.saturating_add(took_us);
        of_route.count += 1;
    }

    pub(crate) fn decision(&self, outcome: &'static str) {
        *lock(&self.decisions).entry(outcome).or_default() += 1;
    }

    /// In Prometheus' text format.
    pub(crate) fn text(&self, gauges: &Gauges) -> String {
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
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
            for (count, bound_ms) in durations.buckets.iter().zip(BUCKETS_MS) {
                let bound = f64::from(u32::try_from(bound_ms).unwrap_or(u32::MAX)) / 1_000.0;
                let _ = writeln!(text, "{name}_bucket{{route=\"{route}\",le=\"{bound}\"}} {count}");
            }
            let (sum_us, count) = (durations.sum_us, durations.count);
            let _ = writeln!(text, "{name}_bucket{{route=\"{route}\",le=\"+Inf\"}} {count}");
            let _ = writeln!(
                text,
                "{name}_sum{{route=\"{route}\"}} {}.{:06}",
                sum_us / 1_000_000,
                sum_us % 1_000_000
            );
            let _ = writeln!(text, "{name}_count{{route=\"{route}\"}} {count}");
        }
        head(&mut text, "ordain_decisions_total", "counter", "New decisions by outcome, on this node.");
        for (outcome, count) in lock(&self.decisions).iter() {
            let _ = writeln!(text, "ordain_decisions_total{{outcome=\"{outcome}\"}} {count}");
        }
        let store = &gauges.store;
        let counters = [
            ("ordain_store_batches_total", "Transactions of the store, on this node.", store.batches),
            ("ordain_store_changes_total", "Changes in them.", store.changes),
            ("ordain_store_entries_total", "Ledger entries in them.", store.entries),
        ];
        for (name, help, count) in counters {
            head(&mut text, name, "counter", help);
            let _ = writeln!(text, "{name} {count}");
        }
        let gauges = [
            ("ordain_ledger_entries", "Entries of the ledger.", gauges.ledger_size),
            ("ordain_halted", "Whether an operator has halted the gate.", gauges.halted.map(u64::from)),
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

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
