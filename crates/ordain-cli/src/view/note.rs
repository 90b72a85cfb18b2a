//! Note proposals, and the routing of the vault that they go into.

use crate::page::{Column, PLAIN, Page};
use crate::wording::{short_hash, word};
use ordain_spec::NonEmpty;
use ordain_spec::note::Proposal;
use ordain_spec::routing::{Route, Routing};

pub(crate) fn show(page: &mut Page, note: &Proposal) {
    page.title("note proposal", &note.id);
    page.label("title", &note.frontmatter.title);
    page.label("status", &word(&note.frontmatter.status));
    page.label("path", &note.target.path);
    page.label("route", note.target.route_id.as_str());
    page.label("origin", &word(&note.origin));
    for (name, list) in [("tags", &note.frontmatter.tags), ("aliases", &note.frontmatter.aliases)] {
        if let Some(list) = list {
            page.label(name, &joined(list));
        }
    }
    page.text_label("rationale", note.governance.rationale.as_str());
    for (position, link) in note.governance.related_links.iter().enumerate() {
        page.label(if position == 0 { "links" } else { "" }, link);
    }
    page.label("hash", &short_hash(note.hash.as_str()));
    page.section("Text");
    page.content(note.body.content_md.as_str());
}

fn joined(list: &[NonEmpty]) -> String {
    let parts: Vec<&str> = list.iter().map(NonEmpty::as_str).collect();
    parts.join(", ")
}

pub(super) fn show_routing(page: &mut Page, routing: &Routing, full: bool) {
    page.title("vault routing", "");
    if let Some(rules) = &routing.frontmatter {
        let words = |list: Vec<String>| if list.is_empty() { "none".to_owned() } else { list.join(", ") };
        if let Some(required) = &rules.required {
            page.label("required", &words(required.iter().map(word).collect()));
        }
        if let Some(statuses) = &rules.statuses {
            page.label("statuses", &words(statuses.iter().map(word).collect()));
        }
    }
    page.counted_section("Routes", routing.routes.len());
    let row = |it: &Route| {
        let template = it.template.clone().unwrap_or_default();
        vec![it.id.as_str().to_owned(), template, it.pattern.as_str().to_owned()]
    };
    let columns = [Column::Left("route"), Column::Left("template"), Column::Left("pattern")];
    page.table(&columns, routing.routes.iter().map(row), |page, number, space| {
        let Some(route) = routing.routes.get(number) else { return };
        if let Some(topic) = &route.topic {
            page.prose(space, space, PLAIN, topic);
        }
        sections(page, space, route.required_sections.as_deref());
    });
    if let Some(templates) = &routing.templates {
        page.counted_section("Templates", templates.len());
        for (name, template) in templates {
            page.item(name);
            sections(page, "    ", template.required_sections.as_deref());
            if let Some(body) = template.body.as_deref().filter(|_| full) {
                page.content(body);
            }
        }
    }
}

fn sections(page: &mut Page, space: &str, sections: Option<&[NonEmpty]>) {
    if let Some(sections) = sections {
        page.prose(&format!("{space}sections: "), space, PLAIN, &joined(sections));
    }
}
