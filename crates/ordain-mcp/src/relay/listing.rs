//! Lists of tools: the client sees what the gate lets it see.

use super::Relay;
use crate::definitions::Page;
use crate::message::Id;
use crate::texts::{self, NOT_RELAYED};

impl Relay {
    /// Answers a request for a list of tools.
    pub(super) fn answer_list(&self, line: &[u8], id: &Id, result: &str, from_start: bool) {
        let shown = Page::read(line, result).and_then(|page| {
            let (listing, whole) = {
                let mut state = self.state();
                state.definitions.learn(&page, from_start, &self.upstream_hash)
            };
            let hidden = self.gatekeeper.hidden(&self.settings.server, listing, whole)?;
            for (tool, why) in &hidden {
                self.note(&format!("`{tool}` is hidden: {why}"));
            }
            let state = self.state();
            Ok(page.shown(|name| state.definitions.is_plain(name) && !hidden.contains_key(name)))
        });
        match shown {
            Ok(line) => self.answer(&line),
            Err(problem) => {
                self.note(&problem);
                let message = format!("the tools of the server are not shown: {}", texts::shown(&problem));
                self.answer(&texts::error(Some(&id.text), NOT_RELAYED, &message));
            }
        }
    }
}
