//! The conformance vectors.

use ordain_canon::Value;
use ordain_spec::{Kind, Report, verify_text};
use std::path::{Path, PathBuf};

/// One folder of the conformance set.
pub struct Vector {
    /// The kind of its documents.
    pub kind: Kind,
    /// The rule that it is about, as it is written.
    pub rule: String,
    /// Where it is.
    pub folder: PathBuf,
}

/// Where the vectors are.
pub fn conformance_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

/// All folders, sorted.
///
/// # Panics
///
/// When a folder is not named after a kind, or cannot be read.
#[expect(clippy::expect_used, clippy::panic, reason = "for tests")]
pub fn vectors() -> Vec<Vector> {
    let folders = |at: &Path| {
        let entries = std::fs::read_dir(at).expect("the conformance folder can be read");
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        folders.retain(|path| path.is_dir());
        folders.sort();
        folders
    };
    let name =
        |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned).expect("a name");
    let mut vectors = Vec::new();
    for kind_folder in folders(&conformance_folder()) {
        let kind_name = name(&kind_folder);
        // Cases for the gate: a policy folder with its tests.
        if kind_name == "decide" || kind_name == "__pycache__" {
            continue;
        }
        let kind = Kind::parse(&kind_name)
            .unwrap_or_else(|| panic!("conformance/{kind_name} is not named after a kind"));
        for folder in folders(&kind_folder) {
            vectors.push(Vector { kind, rule: name(&folder), folder });
        }
    }
    vectors
}

impl Vector {
    /// A file of the folder, if it is there.
    pub fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.join(name)).ok()
    }

    /// The report on `accept.json` or `reject.json`, with the folder's facts.
    ///
    /// # Panics
    ///
    /// When the file is missing or is not strict JSON.
    #[expect(clippy::panic, reason = "for tests")]
    pub fn report(&self, name: &str) -> Report {
        let facts_text = self.file("facts.json").unwrap_or_else(|| "{}".to_owned());
        let facts_value =
            Value::read(facts_text.as_bytes()).unwrap_or_else(|error| panic!("{self}/facts.json: {error}"));
        let text = self.file(name).unwrap_or_else(|| panic!("{self}/{name} is missing"));
        let facts = crate::OwnedFacts::of(&facts_value);
        verify_text(self.kind, &facts.facts(), text.as_bytes())
            .unwrap_or_else(|error| panic!("{self}/{name}: {error}"))
    }
}

impl std::fmt::Display for Vector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "conformance/{}/{}", self.kind, self.rule)
    }
}
