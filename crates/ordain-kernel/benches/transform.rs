//! Transforming beside a bare parse of the intent and beside verifying the bundle, in one run on one thread.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark may fail loudly"
)]

use ordain_canon::{Canonicalizer, Value};
use ordain_kernel::transform;
use ordain_spec::{Facts, Kind, verify_text};
use serde_json::{Value as Json, json};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rounds of all contestants in turn; the best round of each counts, so that a busy neighbour does not.
const ROUNDS: usize = 15;
const ROUND_TIME: Duration = Duration::from_millis(60);

fn best(contestants: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; contestants.len()];
    for _ in 0..ROUNDS {
        for (best, run) in best.iter_mut().zip(contestants.iter_mut()) {
            let (start, mut times) = (Instant::now(), 0_u32);
            while times == 0 || start.elapsed() < ROUND_TIME {
                run();
                times += 1;
            }
            *best = best.min(start.elapsed().as_secs_f64() / f64::from(times));
        }
    }
    best
}

fn compare(name: &str, intent: &Json) {
    let text = intent.to_string();
    let read_and_transform = |text: &str| transform(&Value::read(text.as_bytes()).unwrap(), text.len());
    let bundle = read_and_transform(&text).bundle().unwrap().clone();
    let bundle = Canonicalizer::new().value(&bundle).unwrap().to_vec();
    let facts = Facts::default();
    assert!(verify_text(Kind::Bundle, &facts, &bundle).unwrap().ok(), "{name}");
    let times = best(&mut [
        &mut || {
            black_box(serde_json::from_str::<Json>(black_box(&text)).unwrap());
        },
        &mut || {
            black_box(read_and_transform(black_box(&text)));
        },
        &mut || {
            black_box(verify_text(Kind::Bundle, &facts, black_box(&bundle)).unwrap());
        },
    ]);
    println!(
        "| {name}, {} bytes | {:.0} | {:.1} | {:.0} | {:.1} |",
        text.len(),
        1.0 / times[1],
        text.len() as f64 / times[1] / 1e6,
        times[1] / times[0],
        times[1] / times[2],
    );
}

/// The text of a person who knows what they want: two requests and ten constraints.
fn ordinary() -> Json {
    json!({
        "goal": "Add cursor pagination to GET /v1/orders in the orders service. Also send a `Retry-After` header with \
            every 429 response of the public API.",
        "constraints": [
            "The response body must be JSON with the keys `items` (array of orders) and `next_cursor` (string, absent \
                on the last page).",
            "Orders must be sorted by `created_at` descending, then by `id` descending.",
            "When `limit` is absent, a page holds 50 orders.",
            "`limit` must be at most 200; a larger value is answered with 400 and the error code `limit_too_large`.",
            "When the signature of a cursor does not verify, the endpoint must return 400 with the error code \
                `invalid_cursor`.",
            "The cursor must not expose customer data: it is the base64url form of `created_at` and `id`, signed with \
                HMAC-SHA256.",
            "Existing clients that send `page` and `per_page` must keep working in all 1.x releases.",
            "`Retry-After` must be a whole number of seconds between 1 and 60.",
            "The p95 latency of GET /v1/orders should stay below 120 ms on the staging data set (4 million orders).",
            "Done when `cargo test -p orders` passes, `openapi/orders.yaml` describes both changes, and a test walks \
                1000 orders page by page without a gap and without a duplicate.",
        ],
        "context": {"repository": "orders-service", "ticket": "ORD-1182"},
    })
}

/// A bug report as people file them, 1.7 KB of Markdown, and nothing else.
fn issue() -> Json {
    json!({"goal": ISSUE})
}

const ISSUE: &str = r#"Importing a CSV file with a byte order mark drops the first column

### What happens

Since 2.4.0 `shop import products.csv` skips the column `sku` when the file was saved by Excel. The first three bytes of such a file are a byte order mark. We take it for a part of the first header, so the header reads `\ufeffsku`, matches no field, and is ignored. All products are then created anew with a generated number, and the old ones stay as they are. One of our customers had 4,312 duplicates before anybody noticed.

### Steps to reproduce

1. Save this file with Excel 365 as "CSV UTF-8 (comma delimited)":

```
sku,name,price
A-100,Lamp,19.90
A-101,Chair,49.00
```

2. Run `shop import products.csv --update`.
3. Run `shop list --format json`.

### Expected

Two products are updated, and `shop import` prints `2 updated, 0 created`.

### Actual

```
$ shop import products.csv --update
warning: column "sku" is missing, numbers are generated
0 updated, 2 created
```

The log has `WARN importer::header unknown column name=\ufeffsku line=1`.

### What I found so far

`Reader::open` in `src/import/reader.rs` hands the bytes to the `csv` crate without looking at them. Version 2.3.2 read the whole file with `fs::read_to_string` and called `trim_start_matches`, which is why it worked there. The change came with #1187, which made the import stream its input. The exporter should also be checked: I believe that `shop export --excel` writes no mark at all, but I have not tried it on Windows.

A fix must not read the whole file into memory again, since some imports have more than 2 GB. A test with a mark and one without would be good. UTF-16 files are out of scope; they are rejected with exit code 3 and should stay so.
"#;

/// Different words for different numbers.
fn word(number: usize) -> &'static str {
    const WORDS: [&str; 16] = [
        "order", "invoice", "customer", "cache", "worker", "report", "session", "queue", "import", "index",
        "token", "header", "page", "backup", "replica", "alarm",
    ];
    WORDS[number % WORDS.len()]
}

/// Sentences up to that many characters.
fn prose(chars: usize) -> String {
    let sentence = |n: usize| {
        let (one, two) = (word(n), word(n * 7 + n / 16 + 3));
        format!(
            "The {one} service writes each {two} to the store, and it keeps {n} of them for at least {n} days. "
        )
    };
    let sentences: String = (0..chars / 50).map(sentence).collect();
    sentences.chars().take(chars).collect()
}

/// About 100 characters each, no two of them equal.
fn constraints(count: usize) -> Vec<String> {
    let constraint = |n: usize| {
        let (one, two) = (word(n), word(n / 16));
        format!(
            "The {one} worker {n} must write every {two} to `table_{n}` within {} ms of its arrival in the queue.",
            n + 10
        )
    };
    (0..count).map(constraint).collect()
}

fn main() {
    println!(
        "\n| intent | intents a second | MB/s | times a bare `serde_json` parse | times verifying the bundle |\n\
         |---|---|---|---|---|"
    );
    compare("a goal of one sentence", &json!({"goal": "Rename the column `total` of orders.csv to `sum`"}));
    compare("two requests, ten constraints", &ordinary());
    compare("an issue of 1.7 KB", &issue());
    compare("a goal of 10,000 characters", &json!({"goal": prose(10_000)}));
    compare(
        "1,000 constraints of 100 characters",
        &json!({"goal": "Write the queue to the store", "constraints": constraints(1_000)}),
    );
}
