//! `cargo xtask clarity`: measures the clarity rules on labelled requests, rule by rule and together, and how well
//! weights that were fitted without a set do on that set.

use crate::process::root;
use crate::{Error, Result};
use ordain_clarity::{CLARIFY_SCORE, CLARITY_RULES, Effect, GENRES, Genre, judged};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A labelled request and what the rules find in it.
struct Item {
    set: String,
    unclear: bool,
    genre: Genre,
    /// Findings of each rule, no more than the rule counts in its genre.
    counts: Vec<f64>,
    goal: String,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut missed = None;
    let mut part = Part::Open;
    let mut files: Vec<PathBuf> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--show" => missed = rest.next().cloned(),
            "--sealed" => part = Part::Sealed,
            flag if flag.starts_with('-') => return Err(Error::Usage(format!("unknown flag `{flag}`"))),
            file => files.push(PathBuf::from(file)),
        }
    }
    if files.is_empty() {
        files = ["dev.jsonl", "own.jsonl", "stories.jsonl", "stubs.jsonl"]
            .map(|name| root().join("data/clarify").join(name))
            .to_vec();
    }
    let mut items = Vec::new();
    for file in &files {
        items.extend(read(file, part)?);
    }
    let sets: BTreeSet<&str> = items.iter().map(|item| item.set.as_str()).collect();
    let sets: Vec<&str> = sets.into_iter().collect();
    if let Some(set) = missed {
        show_mistakes(&items, &set);
        return Ok(());
    }
    rules_table(&items, &sets);
    sets_table(&items, &sets);
    genres_table(&items);
    Ok(())
}

/// Which items to measure. Rules are changed with the open ones in view, and the sealed ones are for the last figure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Open,
    Sealed,
}

fn read(file: &Path, part: Part) -> Result<Vec<Item>> {
    let wrong = |problem: String| Error::Failed(format!("{}: {problem}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let mut items = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let item: Json =
            serde_json::from_str(line).map_err(|error| wrong(format!("line {}: {error}", number + 1)))?;
        let (Some(set), Some(unclear), Some(goal)) =
            (item["set"].as_str(), item["unclear"].as_i64(), item["goal"].as_str())
        else {
            return Err(wrong(format!("line {}: expected `set`, `unclear` and `goal`", number + 1)));
        };
        if (item["part"] == "sealed") != (part == Part::Sealed) {
            continue;
        }
        let goal: String = goal.chars().take(10_000).collect();
        let (genre, counts) = judged(&goal);
        let counts = counts
            .into_iter()
            .zip(CLARITY_RULES)
            .map(|(count, rule)| count.min(rule.counted_in(genre)) as f64)
            .collect();
        items.push(Item { set: set.to_owned(), unclear: unclear == 1, genre, counts, goal });
    }
    Ok(items)
}

/// How likely an unclear item scores above a clear one; ties are half.
fn auc(scored: &[(f64, bool)]) -> f64 {
    let mut sorted = scored.to_vec();
    sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
    let (mut sum, mut unclear, mut at) = (0.0, 0.0, 0);
    while at < sorted.len() {
        let end = sorted[at..].iter().take_while(|it| it.0 == sorted[at].0).count() + at;
        let rank = (at + end + 1) as f64 / 2.0;
        let here = sorted[at..end].iter().filter(|it| it.1).count() as f64;
        (sum, unclear, at) = (sum + here * rank, unclear + here, end);
    }
    let clear = sorted.len() as f64 - unclear;
    (sum - unclear * (unclear + 1.0) / 2.0) / (unclear * clear)
}

fn sign(effect: Effect) -> f64 {
    match effect {
        Effect::Hard | Effect::Unclear => 1.0,
        Effect::Settles => -1.0,
    }
}

/// The score by the points of the table, as the transform computes it.
fn score(item: &Item) -> f64 {
    let points: f64 = CLARITY_RULES
        .iter()
        .zip(&item.counts)
        .map(|(rule, count)| sign(rule.effect) * f64::from(rule.points) * count)
        .sum();
    f64::from(item.genre.level().base_score) + points
}

fn auc_of(items: &[Item], set: &str, score: impl Fn(&Item) -> f64) -> f64 {
    let scored: Vec<_> =
        items.iter().filter(|item| item.set == set).map(|item| (score(item), item.unclear)).collect();
    auc(&scored)
}

fn rules_table(items: &[Item], sets: &[&str]) {
    let all = fit(&items.iter().collect::<Vec<_>>());
    println!("AUC of each rule alone; what a fit to all sets would give it, in points\n");
    println!("| rule | points | fit | {} |", sets.join(" | "));
    println!("|---|---|---|{}", "---|".repeat(sets.len()));
    for (index, rule) in CLARITY_RULES.iter().enumerate() {
        let aucs: Vec<_> =
            sets.iter().map(|set| format!("{:.3}", auc_of(items, set, |item| item.counts[index]))).collect();
        let points = sign(rule.effect) * f64::from(rule.points);
        println!("| {} | {points} | {:.1} | {} |", rule.id, all[index] * POINTS_PER_WEIGHT, aucs.join(" | "));
    }
}

/// Points of the score for a weight of 1 in the fit.
const POINTS_PER_WEIGHT: f64 = 8.0;

fn sets_table(items: &[Item], sets: &[&str]) {
    println!(
        "\n| set | unclear / clear | AUC | AUC, weights fitted without it | CLARIFY on unclear | on clear |"
    );
    println!("|---|---|---|---|---|---|");
    for set in sets {
        let others: Vec<&Item> = items.iter().filter(|item| item.set != *set).collect();
        let left_out = match sets.len() {
            1 => "–".to_owned(),
            _ => {
                let weights = fit(&others);
                format!("{:.3}", auc_of(items, set, |item| dot(&weights, &item.counts)))
            }
        };
        let share = |unclear: bool| {
            let of: Vec<_> =
                items.iter().filter(|item| item.set == *set && item.unclear == unclear).collect();
            let asked = of.iter().filter(|item| asks(item)).count();
            (of.len(), asked as f64 / of.len() as f64)
        };
        let ((unclear, caught), (clear, mistaken)) = (share(true), share(false));
        let auc = auc_of(items, set, score);
        println!(
            "| {set} | {unclear} / {clear} | {auc:.3} | {left_out} | {:.0} % | {:.0} % |",
            caught * 100.0,
            mistaken * 100.0
        );
    }
}

/// The same by genre, whatever set an item comes from.
fn genres_table(items: &[Item]) {
    println!(
        "\n| genre | base | unclear / clear | AUC | CLARIFY on unclear | on clear |\n|---|---|---|---|---|---|"
    );
    for level in GENRES {
        let of: Vec<&Item> = items.iter().filter(|item| item.genre == level.genre).collect();
        let share = |unclear: bool| {
            let of: Vec<_> = of.iter().filter(|item| item.unclear == unclear).collect();
            let asked = of.iter().filter(|item| asks(item)).count();
            (of.len(), asked as f64 / of.len().max(1) as f64 * 100.0)
        };
        let scored: Vec<_> = of.iter().map(|item| (score(item), item.unclear)).collect();
        let ((unclear, caught), (clear, mistaken)) = (share(true), share(false));
        let (id, base, auc) = (level.id, level.base_score, auc(&scored));
        println!("| {id} | {base} | {unclear} / {clear} | {auc:.3} | {caught:.0} % | {mistaken:.0} % |");
    }
}

/// Rules whose question fits every text, and so never asks alone.
const GENERIC: [&str; 2] = ["no-acceptance", "unqualified"];

fn asks(item: &Item) -> bool {
    let hard = CLARITY_RULES
        .iter()
        .zip(&item.counts)
        .any(|(rule, count)| rule.effect == Effect::Hard && *count > 0.0);
    let specific = CLARITY_RULES
        .iter()
        .zip(&item.counts)
        .any(|(rule, count)| *count > 0.0 && rule.ask.is_some() && !GENERIC.contains(&rule.id));
    hard || (specific && score(item) >= f64::from(CLARIFY_SCORE))
}

fn dot(weights: &[f64], counts: &[f64]) -> f64 {
    weights.iter().zip(counts).map(|(weight, count)| weight * count).sum()
}

/// Logistic regression with the sign of every weight given by the rule's effect: a rule that finds something unclear
/// may count for nothing but never for clarity. Sets and classes weigh the same, and each set has its own level.
fn fit(items: &[&Item]) -> Vec<f64> {
    const STEPS: i32 = 3000;
    const RATE: f64 = 0.05;
    const RIDGE: f64 = 0.004;
    let sets: BTreeSet<&str> = items.iter().map(|item| item.set.as_str()).collect();
    let sets: Vec<&str> = sets.into_iter().collect();
    let set_of: Vec<usize> =
        items.iter().map(|item| sets.iter().position(|set| *set == item.set).unwrap_or(0)).collect();
    let weight_of: Vec<f64> = items
        .iter()
        .map(|item| {
            let same =
                items.iter().filter(|other| other.set == item.set && other.unclear == item.unclear).count();
            1.0 / (same * 2 * sets.len()) as f64
        })
        .collect();
    let count = CLARITY_RULES.len();
    let (mut weights, mut levels) = (vec![0.0; count], vec![0.0; sets.len()]);
    let (mut first, mut second) = (vec![0.0; count], vec![0.0; count]);
    for step in 1..=STEPS {
        let mut gradient: Vec<f64> = weights.iter().map(|weight| weight * RIDGE).collect();
        let mut level_gradient = vec![0.0; sets.len()];
        for ((item, set), item_weight) in items.iter().zip(&set_of).zip(&weight_of) {
            let guess = 1.0 / (1.0 + (-(dot(&weights, &item.counts) + levels[*set])).exp());
            let error = item_weight * (guess - f64::from(u8::from(item.unclear)));
            level_gradient[*set] += error;
            for (sum, count) in gradient.iter_mut().zip(&item.counts) {
                *sum += error * count;
            }
        }
        for (level, sum) in levels.iter_mut().zip(&level_gradient) {
            *level -= 2.0 * sum;
        }
        for (index, rule) in CLARITY_RULES.iter().enumerate() {
            first[index] = 0.9 * first[index] + 0.1 * gradient[index];
            second[index] = 0.999 * second[index] + 0.001 * gradient[index] * gradient[index];
            let (mean, spread) =
                (first[index] / (1.0 - 0.9_f64.powi(step)), second[index] / (1.0 - 0.999_f64.powi(step)));
            weights[index] -= RATE * mean / (spread.sqrt() + 1e-8);
            if weights[index] * sign(rule.effect) < 0.0 {
                weights[index] = 0.0;
            }
        }
    }
    weights
}

/// The worst mistakes of a set, with the rules behind each.
fn show_mistakes(items: &[Item], set: &str) {
    let mut of: Vec<&Item> = items.iter().filter(|item| item.set == set).collect();
    of.sort_by(|left, right| score(right).total_cmp(&score(left)));
    let rules = |item: &Item| -> String {
        let named = CLARITY_RULES.iter().zip(&item.counts).filter(|(_, count)| **count > 0.0);
        named.map(|(rule, count)| format!("{}×{count}", rule.id)).collect::<Vec<_>>().join(" ")
    };
    let goal = |item: &Item| item.goal.chars().take(160).collect::<String>().replace('\n', " ");
    for item in of.iter().filter(|item| !item.unclear).take(25) {
        println!("clear   {:3.0} {} [{}]", score(item), goal(item), rules(item));
    }
    for item in of.iter().rev().filter(|item| item.unclear).take(25) {
        println!("unclear {:3.0} {} [{}]", score(item), goal(item), rules(item));
    }
}
