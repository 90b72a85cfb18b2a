//! The files of a run's folder.

use crate::error::RunError;
use crate::evidence::outputs;
use crate::verified::canonical;
use ordain_harness::sandbox::Report;
use ordain_kernel::is_brief;
use ordain_spec::bundle::Bundle;
use serde::Serialize;

/// The intent as it was given, in canonical form.
pub(crate) const INTENT: &str = "intent.json";
/// The intent as it was given, where it is not JSON.
pub(crate) const INTENT_TEXT: &str = "intent.txt";
pub(crate) const BUNDLE: &str = "bundle.json";
pub(crate) const PLAN: &str = "plan.json";
pub(crate) const PATCH: &str = "patch.json";
pub(crate) const BASE: &str = "base.json";
pub(crate) const EVIDENCE: &str = "evidence.json";
pub(crate) const RESULT: &str = "result.json";

/// A file of a round of a work order.
pub(crate) fn round_file(number: usize, name: &str) -> String {
    format!("rounds/{number}/{name}")
}

/// A file of the trial with protected files put back.
pub(crate) fn restored_file(number: usize, name: &str) -> String {
    format!("rounds/{number}/restored/{name}")
}

/// A stream of the agent.
pub(crate) fn agent_file(number: usize, name: &str) -> String {
    format!("rounds/{number}/agent/{name}")
}

/// The place of the briefs of a bundle in the folder.
pub(crate) const BRIEFS: &str = "briefs/";

/// The briefs of a bundle: their names in the folder, and what they say.
pub(crate) fn briefs(bundle: &Bundle) -> impl Iterator<Item = (String, &str)> {
    let briefs = bundle.outputs.iter().filter(|output| is_brief(output, &bundle.outputs));
    briefs.map(|output| {
        let name = output.path.split_once('/').map_or(output.path.as_str(), |(_, rest)| rest);
        (format!("{BRIEFS}{name}"), output.content.as_str())
    })
}

/// Names and bytes. Documents are in canonical form without a line feed, so that `sha256sum` agrees with the result.
#[derive(Default)]
pub(crate) struct Artefacts(pub(crate) Vec<(String, Vec<u8>)>);

impl Artefacts {
    pub(crate) fn document(&mut self, name: &str, document: &impl Serialize) -> Result<(), RunError> {
        self.0.push((name.to_owned(), canonical(document)?));
        Ok(())
    }

    pub(crate) fn text(&mut self, name: &str, bytes: &[u8]) {
        self.0.push((name.to_owned(), bytes.to_vec()));
    }

    /// The briefs of a bundle.
    pub(crate) fn briefs(&mut self, bundle: &Bundle) {
        self.0.extend(briefs(bundle).map(|(name, content)| (name, content.as_bytes().to_vec())));
    }

    /// The output of commands, as far as it was kept, in a folder whose name ends in `/`, or in that of the
    /// run.
    pub(crate) fn outputs(&mut self, before: &str, report: &Report) {
        for (name, stream) in outputs(report) {
            self.text(&format!("{before}{name}"), &stream.kept);
        }
    }
}
