//! Any document as a page for people.

mod action;
mod bundle;
pub(crate) mod decision;
mod intent;
mod note;
mod patch;
mod plan;
mod run;
mod time;

use crate::commands::verify::Recognised;
use crate::page::Page;
use ordain_canon::Value;
use ordain_spec::Kind;
use serde::de::DeserializeOwned;

pub(crate) use bundle::{figures as bundle_figures, show as bundle_page};
pub(crate) use note::show as note_page;

/// Shows a document by its type; says whether it has one. Breaking a rule does not stop that: only a document whose
/// fields are not those of its kind has no page of its own.
pub(crate) fn show(page: &mut Page, document: &Recognised<'_>, full: bool) -> bool {
    let value = &document.value;
    match document.kind {
        Kind::Intent => typed(value, |it| intent::show(page, &it, full)),
        Kind::Bundle => typed(value, |it| bundle::show(page, &it, full)),
        Kind::Plan => typed(value, |it| plan::show(page, &it, full)),
        Kind::Patch => typed(value, |it| patch::show(page, &it, full)),
        Kind::Action => {
            typed(value, |it| action::show(page, &it)) || typed(value, |it| action::show_request(page, &it))
        }
        Kind::Packet => typed(value, |it| action::show_packet(page, &it)),
        Kind::Approval => typed(value, |it| decision::show_approval(page, &it)),
        Kind::Decision => typed(value, |it| decision::show(page, &it, None)),
        Kind::Profile => typed(value, |it| run::show_profile(page, &it)),
        Kind::Evidence => typed(value, |it| run::show_evidence(page, &it)),
        Kind::Run => typed(value, |it| run::show(page, &it)),
        Kind::Note => typed(value, |it| note::show(page, &it)),
        Kind::Routing => typed(value, |it| note::show_routing(page, &it, full)),
    }
}

fn typed<T: DeserializeOwned>(value: &Value<'_>, show: impl FnOnce(T)) -> bool {
    value.to_typed().map(show).is_ok()
}
