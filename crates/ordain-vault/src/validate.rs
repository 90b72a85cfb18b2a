//! A proposal against a vault: everything that speaks against it, and what it would write.

use crate::error::VaultError;
use crate::finding::{Code, Finding, sort};
use crate::guard::path_problem;
use crate::limits::NOTE_BYTES_MAX;
use crate::markdown::{Outline, one_line};
use crate::note::Note;
use crate::render::{render, status_name};
use crate::route::{Routed, Routes};
use crate::vault::{At, Vault, joined};
use ordain_canon::{Canonicalizer, ContentHash, SHA256_PREFIX, Value};
use ordain_harness::apply::Base;
use ordain_spec::note::{Origin, Proposal};
use ordain_spec::patch::{PatchOp, PatchOperation, PatchSet};
use ordain_spec::routing::{FrontmatterField, Route};
use ordain_spec::{Facts, NonEmpty, Verified, verify_as};

/// How many free names are looked for, and how many are tried.
const ALTERNATIVES_MAX: usize = 3;
const TRIES_MAX: usize = 1_000;

/// The answer of a vault to a proposal.
#[derive(Clone, Debug)]
pub struct Validation {
    /// Everything that speaks against it, by place, code and message.
    pub findings: Vec<Finding>,
    /// Findings that do not, but that someone should know.
    pub warnings: Vec<Finding>,
    /// The note as it would be written; nothing where part of it must not reach a disk.
    pub text: Option<String>,
    /// The note that it would replace.
    pub replaces: Option<Note>,
}

/// Holds a proposal against its guards, the routing and the notes of a vault.
pub fn validate(vault: &Vault, proposal: &Proposal) -> Result<Validation, VaultError> {
    let mut findings = Vec::new();
    let replaces = target(vault, proposal, &mut findings)?;
    let rendered = match render(proposal, replaces.as_ref()) {
        Ok(rendered) => Some(rendered),
        Err(found) => {
            findings.extend(found);
            None
        }
    };
    if let Some(note) = &replaces {
        check_kept(proposal, note, &mut findings);
    }
    if let Some(routes) = &vault.routes {
        check_route(routes, proposal, &mut findings);
        check_frontmatter(routes, proposal, replaces.as_ref(), &mut findings);
    }
    sort(&mut findings);
    let escaped = rendered.as_ref().is_some_and(|rendered| rendered.html_escaped);
    let warning = || {
        let message = "has HTML, which is written as text: `&lt;` instead of `<`";
        Finding::new(Code::HtmlEscaped, "/body/content_md", message)
    };
    Ok(Validation {
        findings,
        warnings: escaped.then(warning).into_iter().collect(),
        text: rendered.map(|rendered| rendered.text),
        replaces,
    })
}

impl Validation {
    /// Whether nothing speaks against it.
    pub fn ok(&self) -> bool {
        self.findings.is_empty()
    }

    /// The patch set that writes the note, and what must be there for it; nothing if anything speaks against
    /// it. The vault is this folder of the workspace; `""` is the workspace itself.
    pub fn patch_set(&self, proposal: &Proposal, vault: &str) -> Option<(Verified<PatchSet>, Base)> {
        let content = self.text.clone().filter(|_| self.ok())?;
        let path = joined(vault, &proposal.target.path);
        let before = self.replaces.as_ref().map(|note| note.hash().to_string());
        let set = PatchSet {
            patch_schema_version: "1.0.0".to_owned(),
            source_proposal_id: NonEmpty::of(proposal.id.clone()),
            source_proposal_hash: ContentHash::parse(&format!("{SHA256_PREFIX}{}", proposal.hash.as_str()))?
                .into(),
            source_bundle_hash: None,
            total_bytes: content.len() as u64,
            operations: vec![PatchOperation {
                op: if before.is_some() { PatchOp::Modify } else { PatchOp::Create },
                path: path.clone(),
                expected_hash: Some(ContentHash::of(content.as_bytes()).into()),
                size_bytes: Some(content.len() as u64),
                content: Some(content),
                order: None,
            }],
        };
        let text = Canonicalizer::new().value(&set).ok()?.to_vec();
        let verified = verify_as(&Facts::default(), &Value::read(&text).ok()?).ok()?;
        Some((verified, Base { files: [(path, before)].into() }))
    }
}

/// The state of the path: the note to be replaced, nothing for a new one, and a finding for everything else.
fn target(vault: &Vault, proposal: &Proposal, found: &mut Vec<Finding>) -> Result<Option<Note>, VaultError> {
    const AT: &str = "/target/path";
    let path = &proposal.target.path;
    // An unsafe path is found by the guards, and never looked at.
    if path_problem(path).is_some() {
        return Ok(None);
    }
    let at = vault.at(path)?;
    if let At::Link(link) = &at {
        let message = format!("`{link}` is a symbolic link, and links are not followed");
        found.push(Finding::new(Code::SchemaInvalid, AT, message));
        return Ok(None);
    }
    let replaces = match proposal.origin {
        Origin::Enhancement => true,
        // A check may put an old note right or ask for a new one.
        Origin::HealthCheck => at == At::Same,
        Origin::Prompt | Origin::Refinement => false,
    };
    if replaces {
        return match vault.note(path) {
            Ok(Some(note)) if at == At::Same => Ok(Some(note)),
            Ok(_) => {
                let spelled = match at {
                    At::Spelled(path) => vec![path],
                    _ => Vec::new(),
                };
                let message = format!("there is no note `{path}` that could be enhanced");
                found.push(Finding::new(Code::SchemaInvalid, AT, message).with(spelled));
                Ok(None)
            }
            Err(VaultError::Unreadable { problem, .. }) => {
                found.push(Finding::new(Code::SchemaInvalid, AT, format!("cannot be enhanced: {problem}")));
                Ok(None)
            }
            Err(error) => Err(error),
        };
    }
    let message = match &at {
        At::Nothing | At::Link(_) => return Ok(None),
        At::Same => format!("`{path}` is there already"),
        At::Spelled(other) => {
            format!("differs only by case or Unicode form from `{other}`; on some systems they are one file")
        }
        At::InFolder(other) => {
            format!(
                "a folder is spelled otherwise here; the path would be `{other}`, and on some systems it is"
            )
        }
        At::NoFolder(other) => format!("`{other}` is a file, and should be a folder"),
    };
    let alternatives = if matches!(at, At::NoFolder(_)) { Vec::new() } else { free_names(vault, path, &at)? };
    found.push(Finding::new(Code::PathCollision, AT, message).with(alternatives));
    Ok(None)
}

/// Names beside the one that is taken, for the same route.
fn free_names(vault: &Vault, path: &str, at: &At) -> Result<Vec<String>, VaultError> {
    let spelled = if let At::Spelled(spelled) | At::InFolder(spelled) = at { spelled } else { path };
    let stem = spelled.strip_suffix(".md").or_else(|| path.strip_suffix(".md")).unwrap_or(path);
    let route = |path: &str| match vault.routes.as_ref().map(|routes| routes.of(path)) {
        Some(Routed::To(route)) => Some(route.id.as_str()),
        _ => None,
    };
    let wanted = route(path);
    let mut free = Vec::new();
    let numbered = (2..TRIES_MAX + 2).map(|number| format!("{stem}-{number}.md"));
    for name in [spelled.to_owned()].into_iter().chain(numbered) {
        if free.len() == ALTERNATIVES_MAX {
            break;
        }
        if path_problem(&name).is_none() && route(&name) == wanted && vault.at(&name)? == At::Nothing {
            free.push(name);
        }
    }
    Ok(free)
}

/// An enhancement keeps title and aliases.
fn check_kept(proposal: &Proposal, note: &Note, found: &mut Vec<Finding>) {
    let frontmatter = &proposal.frontmatter;
    if frontmatter.title != note.title() {
        let message = format!("an enhancement keeps the title, which is `{}`", note.title());
        let finding = Finding::new(Code::FmUnchanged, "/frontmatter/title", message);
        found.push(finding.with(vec![note.title().to_owned()]));
    }
    let Some(aliases) = &frontmatter.aliases else { return };
    if !aliases.iter().map(NonEmpty::as_str).eq(note.aliases.iter().map(String::as_str)) {
        let message = match note.aliases.as_slice() {
            [] => "an enhancement keeps the aliases, and the note has none".to_owned(),
            list => format!("an enhancement keeps the aliases, which are `{}`", list.join("`, `")),
        };
        found.push(Finding::new(Code::FmUnchanged, "/frontmatter/aliases", message));
    }
}

fn check_route(routes: &Routes, proposal: &Proposal, found: &mut Vec<Finding>) {
    let (path, id) = (&proposal.target.path, proposal.target.route_id.as_str());
    let route = match routes.of(path) {
        Routed::To(route) if route.id.as_str() == id => route,
        Routed::To(route) => {
            let right = route.id.as_str();
            let message = format!(
                "`{path}` belongs to the route `{right}`, whose pattern is `{}`, not to `{id}`",
                route.pattern.as_str()
            );
            let finding = Finding::new(Code::RoutingMismatch, "/target/route_id", message);
            found.push(finding.with(vec![right.to_owned()]));
            route
        }
        Routed::Conflict(one, other) => {
            let message = format!(
                "`{path}` belongs to the routes `{}` (`{}`) and `{}` (`{}`) with equal right, because neither pattern is narrower",
                one.id.as_str(),
                one.pattern.as_str(),
                other.id.as_str(),
                other.pattern.as_str()
            );
            found.push(Finding::new(Code::RoutingPatternConflict, "/target/path", message));
            return;
        }
        Routed::Nowhere => {
            let message = match routes.named(id) {
                Some(route) => {
                    format!("no route takes `{path}`; the pattern of `{id}` is `{}`", route.pattern.as_str())
                }
                None => format!("no route takes `{path}`, and there is no route `{id}`"),
            };
            found.push(Finding::new(Code::RoutingMismatch, "/target/path", message));
            return;
        }
    };
    check_sections(routes, route, proposal, found);
}

/// The headings of the route and of its template.
fn check_sections(routes: &Routes, route: &Route, proposal: &Proposal, found: &mut Vec<Finding>) {
    let mut required: Vec<&NonEmpty> = route.required_sections.iter().flatten().collect();
    if let Some(name) = &route.template {
        match routes.routing.templates.iter().flatten().find(|(known, _)| *known == name) {
            Some((_, template)) => required.extend(template.required_sections.iter().flatten()),
            None => {
                let message = format!(
                    "the route `{}` has the template `{name}`, which does not exist",
                    route.id.as_str()
                );
                found.push(Finding::new(Code::RoutingTemplateUnknown, "/target/route_id", message));
            }
        }
    }
    let content = proposal.body.content_md.as_str();
    if required.is_empty() || content.len() > NOTE_BYTES_MAX {
        return;
    }
    let headings = Outline::of(content).headings;
    let mut missing: Vec<String> = Vec::new();
    for section in required.into_iter().map(|section| one_line(section.as_str())) {
        if !headings.iter().any(|heading| heading.text == section) && !missing.contains(&section) {
            missing.push(section);
        }
    }
    if !missing.is_empty() {
        let message = format!("headings are missing: `{}`", missing.join("`, `"));
        found.push(Finding::new(Code::RoutingRequiredSectionsMissing, "/body/content_md", message));
    }
}

/// The demands of the vault on the front matter of every note.
fn check_frontmatter(routes: &Routes, proposal: &Proposal, note: Option<&Note>, found: &mut Vec<Finding>) {
    let Some(rules) = &routes.routing.frontmatter else { return };
    let frontmatter = &proposal.frontmatter;
    let mut refuse =
        |path: &str, message: String| found.push(Finding::new(Code::SchemaInvalid, path, message));
    // Fields that an enhancement leaves out stay as they are.
    let has = |stated: &Option<Vec<NonEmpty>>, kept: fn(&Note) -> &Vec<String>| match stated {
        Some(list) => !list.is_empty(),
        None => note.is_some_and(|note| !kept(note).is_empty()),
    };
    for field in rules.required.iter().flatten() {
        let (name, there) = match field {
            FrontmatterField::Title | FrontmatterField::Status => continue,
            FrontmatterField::Tags => ("tags", has(&frontmatter.tags, |note| &note.tags)),
            FrontmatterField::Aliases => ("aliases", has(&frontmatter.aliases, |note| &note.aliases)),
        };
        if !there {
            refuse(&format!("/frontmatter/{name}"), format!("every note of this vault has {name}"));
        }
    }
    if let Some(statuses) = &rules.statuses
        && !statuses.contains(&frontmatter.status)
    {
        let names: Vec<&str> = statuses.iter().map(|status| status_name(*status)).collect();
        let message = format!(
            "`{}` is not a status of this vault, which has `{}`",
            status_name(frontmatter.status),
            names.join("`, `")
        );
        refuse("/frontmatter/status", message);
    }
}
