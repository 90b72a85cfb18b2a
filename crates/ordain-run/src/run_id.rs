//! Names of runs.

use ordain_canon::time::rfc3339;

/// The name of a run: its start, so that runs sort by time, and digits that separate two runs of one second.
///
/// ```
/// assert_eq!(ordain_run::run_id(1_794_795_300_000, [0x4f, 0x2a, 0x9c]), "run_20261116T021500Z_4f2a9c");
/// ```
pub fn run_id(started_ms: u64, random: [u8; 3]) -> String {
    let started = rfc3339(started_ms - started_ms % 1_000).unwrap_or_default().replace(['-', ':'], "");
    let [a, b, c] = random;
    format!("run_{started}_{a:02x}{b:02x}{c:02x}")
}
