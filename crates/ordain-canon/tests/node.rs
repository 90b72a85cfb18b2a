//! Numbers as another implementation writes them: Node's `JSON.stringify` on a million doubles.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may fail loudly"
)]

use ordain_canon::{Canonicalizer, Value, is_canonical};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

const DOUBLES: usize = 1_000_000;
const DOUBLES_SOAK: usize = 10_000_000;

/// Every kind of double: random bits, integers and their neighbours, powers of two and ten, short decimals.
fn doubles(count: usize) -> Vec<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mixed = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 32)
    };
    let mut all = Vec::with_capacity(count);
    let neighbours = |all: &mut Vec<f64>, number: f64| {
        for offset in -2_i64..=2 {
            all.push(f64::from_bits(number.to_bits().wrapping_add_signed(offset)));
        }
    };
    (-1074..1024).for_each(|exponent| neighbours(&mut all, 2_f64.powi(exponent)));
    (-324..309).for_each(|exponent| neighbours(&mut all, format!("1e{exponent}").parse().unwrap()));
    while all.len() < count {
        let bits = random();
        all.push(match bits % 4 {
            0 => f64::from_bits(random()),
            1 => (random() >> (bits % 64)) as f64,
            2 => (random() % 10_000_000) as f64 / 10_f64.powi((bits % 12) as i32),
            _ => f64::from_bits((random() & 0x800f_ffff_ffff_ffff) | ((1023 + bits % 80) << 52)),
        });
    }
    all.retain(|number| number.is_finite());
    all
}

#[test]
fn node_writes_the_same_numbers() {
    let wanted = if std::env::var_os("ORDAIN_SOAK").is_some() { DOUBLES_SOAK } else { DOUBLES };
    // Some bit patterns are not finite numbers.
    let doubles = doubles(wanted + wanted / 50);
    assert!(doubles.len() >= wanted);
    let script = "const bits = new BigUint64Array(1), f = new Float64Array(bits.buffer); let out = '';\
        for (const line of require('fs').readFileSync(0, 'latin1').split('\\n')) {\
          if (line) { bits[0] = BigInt('0x' + line); out += JSON.stringify(f[0]) + '\\n'; } }\
        process.stdout.write(out);";
    let mut node = Command::new("node")
        .args(["-e", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node runs; `cargo xtask test` installs it");
    let mut hex = String::with_capacity(doubles.len() * 17);
    doubles.iter().for_each(|number| writeln!(hex, "{:016x}", number.to_bits()).unwrap());
    let mut stdin = node.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || stdin.write_all(hex.as_bytes()).unwrap());
    let output = node.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut canonicalizer = Canonicalizer::new();
    let mut compared = 0;
    for (number, expected) in doubles.iter().zip(text.lines()) {
        let written = std::str::from_utf8(canonicalizer.value(number).unwrap()).unwrap();
        assert_eq!(written, expected, "{:016x}", number.to_bits());
        // The strict reader reads its own output back to the same double, and knows the text as canonical.
        match Value::read(expected.as_bytes()) {
            Ok(read) => {
                assert_eq!(read.as_f64(), Some(*number));
                assert!(is_canonical(expected.as_bytes()), "{expected}");
            }
            Err(_) => assert!((9007199254740992.0..1e21).contains(&number.abs()), "{expected}"),
        }
        compared += 1;
    }
    assert_eq!(compared, doubles.len());
}
