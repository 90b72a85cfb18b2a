//! The tree: the goal as one node, or as parts with just the constraints that touch them.

use crate::answer::Answers;
use crate::concern::{Concern, Concerns, concerns, is_short, touched};
use crate::derive::derive_id;
use crate::question::Candidate;
use ordain_canon::{Canonicalizer, DeriveError, DerivedId, compare_utf16, sort_utf16};
use ordain_clarity::Genre;
use ordain_clarity::findings::{Finding, Part, Reading, entropy_score};
use ordain_clarity::requirement::{Requirement, requirements};
use ordain_clarity::rules::{CLARITY_RULES, Effect, index_of};
use ordain_clarity::text::Text;
use ordain_spec::Nullable;
use ordain_spec::bundle::{ContextNode, Density, Entropy, NodeStatus, Question};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// The intent, read and answered: what the tree is made of.
pub(crate) struct Work<'a> {
    pub(crate) goal: &'a str,
    pub(crate) constraints: &'a [String],
    pub(crate) reading: &'a Reading<'a>,
    /// The demands of the goal's sentences.
    pub(crate) demands: &'a [Requirement],
    /// The demands of the constraints.
    pub(crate) requirements: &'a [Vec<Requirement>],
    /// The open and the settled points, after the answers.
    pub(crate) findings: &'a [Finding],
    pub(crate) candidates: &'a [Candidate],
    pub(crate) answers: &'a Answers,
    /// The positions of the candidates that are asked.
    pub(crate) asked: &'a [usize],
    pub(crate) files: &'a [String],
}

/// A text that demands something, and what each of its sentences does.
pub(crate) type Stated<'a> = (Cow<'a, str>, Cow<'a, [Requirement]>);

/// A leaf, with what its brief needs.
pub(crate) struct Leaf<'a> {
    pub(crate) node: ContextNode,
    /// Where in its goal the request starts that it is named after.
    pub(crate) title_start: usize,
    /// The demands of the goal and of the constraints, in their order.
    pub(crate) requirements: Vec<Stated<'a>>,
    /// Files and folders that its part of the goal names.
    pub(crate) paths: Vec<&'a str>,
    /// Candidates that belong here, by position.
    pub(crate) candidates: Vec<usize>,
}

/// The tree and its leaves, in the order of the goal.
pub(crate) struct Tree<'a> {
    pub(crate) root: ContextNode,
    pub(crate) leaves: Vec<Leaf<'a>>,
}

/// One node to be: its part of the goal and the constraints that touch it.
struct Plan {
    goal: String,
    title_start: usize,
    /// Where its part of the goal stands.
    ranges: Vec<Range<usize>>,
    /// Its sentences, by position.
    sentences: Vec<usize>,
    /// The part of the goal that holds for all parts.
    everywhere: Vec<String>,
    /// Original constraints by position.
    constraints: Vec<usize>,
    candidates: Vec<usize>,
}

impl Plan {
    fn covers(&self, start: usize) -> bool {
        self.ranges.iter().any(|range| range.contains(&start))
    }
}

impl<'a> Work<'a> {
    pub(crate) fn tree(&self, canon: &mut Canonicalizer) -> Result<Tree<'a>, DeriveError> {
        let kept: Vec<usize> =
            (0..self.constraints.len()).filter(|at| !self.answers.dropped.contains(at)).collect();
        let concerns = concerns(&self.reading.goal, self.demands);
        let all: Vec<usize> = (0..self.candidates.len()).collect();
        let everything = 0..self.goal.len().max(1);
        let whole = Plan {
            goal: self.answers.fill(Part::Goal, 0, self.goal),
            title_start: 0,
            ranges: vec![everything],
            sentences: (0..self.demands.len()).collect(),
            everywhere: Vec::new(),
            constraints: kept.clone(),
            candidates: all,
        };
        if concerns.parts.is_empty() {
            return self.single(canon, &whole);
        }
        let (plans, at_root) = self.plans(&concerns, &kept);
        let mut root = self.node(canon, &whole, None)?;
        root.unresolved_questions = self.questions(&at_root);
        root.status = NodeStatus::Expanding;
        let mut leaves: Vec<Leaf<'a>> = Vec::new();
        for plan in &plans {
            let leaf = self.leaf(canon, plan, Some(&root.id))?;
            // Said twice, or made the same by answers, it is one part.
            match leaves.iter_mut().find(|it| it.node.id == leaf.node.id) {
                Some(twin) => self.join(twin, &leaf),
                None => leaves.push(leaf),
            }
        }
        if leaves.len() < 2 {
            return self.single(canon, &whole);
        }
        root.entropy.branching_factor = leaves.len() as u64;
        root.children = leaves.iter().map(|leaf| leaf.node.clone()).collect();
        root.children.sort_by(|left, right| left.id.cmp(&right.id));
        Ok(Tree { root, leaves })
    }

    fn single(&self, canon: &mut Canonicalizer, whole: &Plan) -> Result<Tree<'a>, DeriveError> {
        let leaf = self.leaf(canon, whole, None)?;
        Ok(Tree { root: leaf.node.clone(), leaves: vec![leaf] })
    }

    /// Gives a leaf the questions of another one.
    fn join(&self, leaf: &mut Leaf<'a>, other: &Leaf<'a>) {
        leaf.candidates.extend(&other.candidates);
        leaf.candidates.sort_unstable();
        leaf.node.unresolved_questions = self.questions(&leaf.candidates);
        leaf.node.entropy.branching_factor = open_options(&leaf.node.unresolved_questions);
    }

    /// The bytes of a sentence of the goal.
    fn bytes_of(&self, sentence: usize) -> Range<usize> {
        let goal = &self.reading.goal;
        let tokens = goal.sentences.get(sentence).map(|range| goal.sentence(range)).unwrap_or_default();
        match tokens {
            [] => 0..0,
            [only] => only.start..only.end(),
            [first, .., last] => first.start..last.end(),
        }
    }

    /// A sentence of the goal with its gaps filled.
    fn filled(&self, range: &Range<usize>) -> String {
        self.answers.fill(Part::Goal, range.start, self.goal.get(range.clone()).unwrap_or_default())
    }

    /// The ranges of some sentences; those that follow each other are one, with what stands between them.
    fn ranges_of(&self, sentences: &[usize]) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut before = None;
        for at in sentences {
            let bytes = self.bytes_of(*at);
            match ranges.last_mut().filter(|_| before.is_some_and(|before| before + 1 == *at)) {
                Some(last) => last.end = bytes.end,
                None => ranges.push(bytes),
            }
            before = Some(*at);
        }
        ranges
    }

    /// The goal of a part: what introduces it, and its own sentences; and where in it the request starts.
    fn goal_of(&self, concerns: &Concerns, index: usize, part: &Concern) -> (String, usize) {
        let mut goal = String::new();
        for at in &part.introduction {
            let first = !concerns.parts.iter().take(index).any(|it| it.introduction.contains(at));
            let text = self.filled(&self.bytes_of(*at));
            let text = text.trim_end_matches([':', '*', '#', ' ']);
            if !text.is_empty() && (first || is_short(text)) {
                goal.push_str(text);
                goal.push_str(": ");
            }
        }
        let mut title_start = 0;
        let request = self.bytes_of(part.request).start;
        for (number, range) in self.ranges_of(&part.sentences).iter().enumerate() {
            if number > 0 {
                goal.push('\n');
            }
            if range.contains(&request) && part.introduction.is_empty() {
                title_start = goal.len() + self.filled(&(range.start..request)).len();
            }
            goal.push_str(&self.filled(range));
        }
        (goal, title_start)
    }

    /// The parts with their constraints and questions; questions that concern several parts stay at the root.
    fn plans(&self, concerns: &Concerns, kept: &[usize]) -> (Vec<Plan>, Vec<usize>) {
        let parts = &concerns.parts;
        let touches = touched(&self.reading.goal, parts, self.requirements);
        let label = |title: &Option<usize>| {
            let title = title.map(|at| self.filled(&self.bytes_of(at))).unwrap_or_default();
            let title = title.trim_end_matches([':', '*', '#', ' ']);
            if title.is_empty() { String::new() } else { format!("{title}: ") }
        };
        let everywhere: Vec<String> = concerns
            .everywhere
            .iter()
            .map(|(title, at)| format!("{}{}", label(title), self.filled(&self.bytes_of(*at))))
            .collect();
        let shared: Vec<usize> = concerns.everywhere.iter().map(|(_, at)| *at).collect();
        let mut at_root = Vec::new();
        let mut plans: Vec<Plan> = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let (goal, title_start) = self.goal_of(concerns, index, part);
            let mut sentences = [part.introduction.as_slice(), &part.sentences, &shared].concat();
            sentences.sort_unstable();
            plans.push(Plan {
                goal,
                title_start,
                ranges: self.ranges_of(&sentences),
                sentences: part.sentences.clone(),
                everywhere: everywhere.clone(),
                constraints: kept
                    .iter()
                    .copied()
                    .filter(|at| touches.get(*at).is_some_and(|it| it.contains(&index)))
                    .collect(),
                candidates: Vec::new(),
            });
        }
        for (position, candidate) in self.candidates.iter().enumerate() {
            let whole =
                candidate.contradiction.is_some() || candidate.rule == const { index_of("no-acceptance") };
            let home = match candidate.part {
                _ if whole => None,
                Part::Goal => only(plans.iter().enumerate().filter(|(_, plan)| plan.covers(candidate.start))),
                Part::Constraint(at) => {
                    touches.get(at).and_then(|it| if let [only] = it.as_slice() { Some(*only) } else { None })
                }
            };
            match home.and_then(|home| plans.get_mut(home)) {
                Some(plan) => plan.candidates.push(position),
                None => at_root.push(position),
            }
        }
        (plans, at_root)
    }

    fn leaf(
        &self,
        canon: &mut Canonicalizer,
        plan: &Plan,
        parent: Option<&str>,
    ) -> Result<Leaf<'a>, DeriveError> {
        let mut node = self.node(canon, plan, parent)?;
        node.unresolved_questions = self.questions(&plan.candidates);
        node.entropy.branching_factor = open_options(&node.unresolved_questions);
        let mut stated: Vec<Stated<'a>> = Vec::new();
        // Sentences of the goal that demand something or say when it is done are read like constraints.
        let here = |at: usize| plan.sentences.contains(&at);
        if self.answers.fills() {
            let read = requirements(&Text::new(&node.goal)).into_iter().filter(Requirement::is_explicit);
            stated.extend(read.map(|it| (it.text.clone().into(), vec![it].into())));
        } else {
            let explicit = self.demands.iter().enumerate().filter(|(at, it)| here(*at) && it.is_explicit());
            stated.extend(explicit.map(|(_, it)| (it.text.as_str().into(), std::slice::from_ref(it).into())));
        }
        // A ban of the whole goal holds in every part of it.
        let bans = self.demands.iter().enumerate().filter(|(at, it)| it.negative && !here(*at));
        let told = |it: &Requirement| plan.everywhere.iter().any(|text| text.contains(&it.text));
        stated.extend(
            bans.filter(|(_, it)| !told(it))
                .map(|(_, it)| (it.text.as_str().into(), std::slice::from_ref(it).into())),
        );
        for constraint in &node.constraints {
            let known = self.constraints.binary_search_by(|it| compare_utf16(it, constraint)).ok();
            stated.push(
                match known.and_then(|at| Some((self.constraints.get(at)?, self.requirements.get(at)?))) {
                    Some((text, read)) => (text.as_str().into(), read.as_slice().into()),
                    None => (constraint.clone().into(), requirements(&Text::new(constraint)).into()),
                },
            );
        }
        let named = self.demands.iter().enumerate().filter(|(at, it)| here(*at) && !it.negative);
        let paths = named.flat_map(|(_, it)| it.paths.iter().map(String::as_str)).collect();
        Ok(Leaf {
            node,
            paths,
            title_start: plan.title_start,
            requirements: stated,
            candidates: plan.candidates.clone(),
        })
    }

    fn node(
        &self,
        canon: &mut Canonicalizer,
        plan: &Plan,
        parent: Option<&str>,
    ) -> Result<ContextNode, DeriveError> {
        let here: BTreeSet<usize> = plan.constraints.iter().copied().collect();
        let findings: Vec<&Finding> = self
            .findings
            .iter()
            .filter(|finding| match finding.part {
                Part::Goal => plan.covers(finding.hit.start) || finding.hit.words.is_empty(),
                Part::Constraint(at) => here.contains(&at) || at >= self.constraints.len(),
            })
            .collect();
        let mut node = ContextNode {
            id: String::new(),
            parent_id: Nullable(parent.map(str::to_owned)),
            goal: plan.goal.clone(),
            constraints: self.constraints_of(plan),
            status: NodeStatus::Terminal,
            entropy: entropy(self.reading.genre, &findings),
            density: density(&findings, &here, self.files.len()),
            unresolved_questions: Vec::new(),
            children: Vec::new(),
            splitting_question: None,
        };
        node.id = derive_id(
            canon,
            DerivedId::Node,
            &Named { parent_id: &node.parent_id, goal: &node.goal, constraints: &node.constraints },
        )?;
        Ok(node)
    }

    /// The constraints that are kept, with their gaps filled, and what the answers add.
    fn constraints_of(&self, plan: &Plan) -> Vec<String> {
        let original = plan.constraints.iter().filter_map(|at| {
            let replaced = self.answers.replaced.get(at);
            let text = replaced.or_else(|| self.constraints.get(*at))?;
            Some(self.answers.fill(Part::Constraint(*at), 0, text))
        });
        let mut constraints: Vec<String> = original.chain(plan.everywhere.iter().cloned()).collect();
        for settled in &self.answers.settled {
            let belongs = plan.candidates.binary_search(&settled.candidate).is_ok()
                || !self.has_home(plan, settled.candidate);
            constraints.extend(settled.constraint.clone().filter(|_| belongs));
        }
        sort_utf16(&mut constraints);
        constraints.dedup();
        constraints
    }

    /// Whether a candidate belongs to another part of the goal than this one.
    fn has_home(&self, plan: &Plan, candidate: usize) -> bool {
        let Some(candidate) = self.candidates.get(candidate) else { return false };
        match candidate.part {
            Part::Goal => {
                candidate.rule != const { index_of("no-acceptance") } && !plan.covers(candidate.start)
            }
            Part::Constraint(at) => plan.constraints.binary_search(&at).is_err(),
        }
    }

    fn questions(&self, candidates: &[usize]) -> Vec<Question> {
        let asked = candidates.iter().filter(|at| self.asked.contains(at));
        let mut questions: Vec<Question> =
            asked.filter_map(|at| self.candidates.get(*at)).map(|it| it.question.clone()).collect();
        sort_questions(&mut questions);
        questions
    }
}

/// The content that the id of a node covers.
#[derive(serde::Serialize)]
struct Named<'n> {
    parent_id: &'n Nullable<String>,
    goal: &'n str,
    constraints: &'n [String],
}

/// Most important first, then by id.
pub(crate) fn sort_questions(questions: &mut [Question]) {
    questions.sort_by(|left, right| right.priority.cmp(&left.priority).then_with(|| left.id.cmp(&right.id)));
}

fn open_options(questions: &[Question]) -> u64 {
    questions.iter().filter_map(|it| it.options.as_ref()).map(|it| it.len() as u64).sum()
}

/// The position of the only one.
fn only<T>(mut found: impl Iterator<Item = (usize, T)>) -> Option<usize> {
    let first = found.next()?;
    found.next().is_none().then_some(first.0)
}

fn entropy(genre: Genre, findings: &[&Finding]) -> Entropy {
    let count = |wanted: &dyn Fn(&str) -> bool| {
        findings.iter().filter(|it| it.rule().is_some_and(|rule| wanted(rule.id))).count() as u64
    };
    Entropy {
        unresolved_refs: count(&|id| {
            matches!(
                id,
                "placeholder"
                    | "no-object"
                    | "nothing-concrete"
                    | "unnamed"
                    | "some-source"
                    | "personal"
                    | "deferred"
            )
        }),
        schema_gaps: count(&|id| {
            id.starts_with("gap-")
                || matches!(id, "no-acceptance" | "nothing-specific" | "open-list" | "alternative")
        }),
        contradiction_count: count(&|id| id == "contradiction"),
        branching_factor: 0,
        entropy_score: entropy_score(genre, findings),
    }
}

/// Points for a constraint with something definite in it, and for a file.
const CONCRETE_POINTS: u32 = 4;
const FILE_POINTS: u32 = 5;
/// How many of them count.
const CONCRETE_MAX: usize = 10;
/// The points that a text has to make up for before it counts as settled.
const UNSETTLED_POINTS: u32 = 12;

fn density(findings: &[&Finding], constraints: &BTreeSet<usize>, files: usize) -> Density {
    let mut per_constraint = std::collections::BTreeMap::<usize, u64>::new();
    for finding in findings.iter().filter(|it| it.is(Effect::Settles)) {
        if let Part::Constraint(at) = finding.part {
            *per_constraint.entry(at).or_default() += 1;
        }
    }
    let concrete = per_constraint.keys().filter(|at| constraints.contains(at)).count();
    let counts = ordain_clarity::findings::counts(findings);
    let points = |effect: &dyn Fn(Effect) -> bool| -> u32 {
        let of_effect = CLARITY_RULES.iter().zip(&counts).filter(|(rule, _)| effect(rule.effect));
        of_effect
            .map(|(rule, count)| {
                u32::from(rule.points)
                    * u32::try_from((*count).min(usize::from(rule.counts_max))).unwrap_or_default()
            })
            .sum()
    };
    let bonus = |count: usize, each: u32| each * u32::try_from(count.min(CONCRETE_MAX)).unwrap_or_default();
    let settled =
        points(&|it| it == Effect::Settles) + bonus(concrete, CONCRETE_POINTS) + bonus(files, FILE_POINTS);
    let unsettled = points(&|it| it != Effect::Settles) + UNSETTLED_POINTS;
    let sum = settled + unsettled;
    Density {
        concrete_constraints: concrete as u64,
        specified_outputs: files as u64,
        constraint_depth: per_constraint.values().copied().max().unwrap_or_default(),
        density_score: u8::try_from((200 * settled + sum) / (2 * sum)).unwrap_or(100),
    }
}
