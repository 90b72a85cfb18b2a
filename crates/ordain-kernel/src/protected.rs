//! Files that say whether work is good: an agent that changes them could make anything pass.

/// The definition of a protected file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protection {
    /// It is a test, or lies beside tests.
    Test,
    /// It says which tests run, and how.
    TestConfiguration,
    /// It says what a build does, or what a test command means.
    BuildScript,
    /// It says what a server checks.
    Ci,
}

impl Protection {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::TestConfiguration => "test configuration",
            Self::BuildScript => "build script",
            Self::Ci => "CI file",
        }
    }
}

const TEST_FOLDERS: &[&str] = &[
    "test",
    "tests",
    "testing",
    "testdata",
    "spec",
    "specs",
    "e2e",
    "__tests__",
    "__mocks__",
    "__snapshots__",
    "fixtures",
];
/// Whole names, or beginnings that end in a dot.
const TEST_CONFIGURATION: &[&str] = &[
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "noxfile.py",
    "setup.cfg",
    "pyproject.toml",
    ".coveragerc",
    "sitecustomize.py",
    "usercustomize.py",
    "pytest.py",
    "unittest.py",
    "_pytest.py",
    "nose.py",
    "jest.config.",
    "vitest.config.",
    "vitest.workspace.",
    "karma.conf.",
    ".mocharc.",
    "babel.config.",
    ".babelrc",
    "playwright.config.",
    "cypress.config.",
    "ava.config.",
    "phpunit.xml",
    "phpunit.xml.dist",
    ".rspec",
    "nextest.toml",
    "testng.xml",
    ".env.test",
];
const BUILD_SCRIPTS: &[&str] = &[
    "makefile",
    "gnumakefile",
    "bsdmakefile",
    "cmakelists.txt",
    "build.rs",
    "build.zig",
    "build.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "gradlew",
    "gradlew.bat",
    "mvnw",
    "pom.xml",
    "package.json",
    ".npmrc",
    "cargo.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    "go.mod",
    "go.work",
    "setup.py",
    "justfile",
    ".justfile",
    "taskfile.yml",
    "taskfile.yaml",
    "rakefile",
    "gemfile",
    "workspace",
    "workspace.bazel",
    "module.bazel",
    "build.bazel",
    "build",
    ".bazelrc",
    "meson.build",
    "configure",
    "configure.ac",
    "dockerfile",
    "deno.json",
    "deno.jsonc",
    "bunfig.toml",
    "composer.json",
    "mix.exs",
    "nx.json",
    "turbo.json",
    "tsconfig.json",
    "directory.build.props",
    "directory.build.targets",
    "global.json",
    "sconstruct",
    "wscript",
    "dune",
    "dune-project",
    "package.swift",
];
const BUILD_EXTENSIONS: &[&str] =
    &["mk", "cmake", "csproj", "fsproj", "vcxproj", "sln", "pth", "bazel", "bzl"];
const CI_FILES: &[&str] = &[
    ".gitlab-ci.yml",
    "azure-pipelines.yml",
    "jenkinsfile",
    ".travis.yml",
    "appveyor.yml",
    ".appveyor.yml",
    "bitbucket-pipelines.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".pre-commit-config.yaml",
];
const CI_FOLDERS: &[&str] = &[".github", ".circleci", ".buildkite", ".gitlab", ".woodpecker", ".husky"];
/// Packages that a test command would import instead of its own.
const RUNNER_PACKAGES: &[&str] = &["pytest", "_pytest", "unittest", "pluggy"];

/// The kind of protection of a path. Case does not matter: some systems take two spellings for one file.
pub fn protection(path: &str) -> Option<Protection> {
    let names: Vec<String> = path.split('/').map(str::to_lowercase).collect();
    let (file, folders) = names.split_last()?;
    let is = |known: &[&str], name: &str| known.contains(&name);
    let begins =
        |known: &[&str]| known.iter().any(|it| file == it || (it.ends_with('.') && file.starts_with(it)));
    let extension = file.rsplit_once('.').map(|(_, extension)| extension);
    if begins(TEST_CONFIGURATION) || folders.first().is_some_and(|folder| is(RUNNER_PACKAGES, folder)) {
        return Some(Protection::TestConfiguration);
    }
    let cargo = folders.last().is_some_and(|folder| folder == ".cargo") && file.starts_with("config");
    if begins(BUILD_SCRIPTS) || cargo || extension.is_some_and(|extension| is(BUILD_EXTENSIONS, extension)) {
        return Some(Protection::BuildScript);
    }
    if is(CI_FILES, file) || folders.iter().any(|folder| is(CI_FOLDERS, folder)) {
        return Some(Protection::Ci);
    }
    let original = path.rsplit('/').next().unwrap_or(path);
    (folders.iter().any(|folder| is(TEST_FOLDERS, folder)) || is_test_name(original))
        .then_some(Protection::Test)
}

/// `test_x.py`, `x_test.go`, `x.spec.ts`, `ApiTest.java`, `tests.py`: the first or the last word of the name,
/// without the last extension, is `test` or `spec`.
fn is_test_name(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let words = words(stem);
    let is_test = |word: Option<&String>| {
        word.is_some_and(|word| matches!(word.as_str(), "test" | "tests" | "spec" | "specs" | "testcase"))
    };
    is_test(words.first()) || is_test(words.last())
}

/// Lower-case words of a name, also where only a capital begins one: `APITests` is `api` and `tests`.
fn words(stem: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = None;
    let mut rest = stem.chars().peekable();
    while let Some(character) = rest.next() {
        let ends_capitals =
            before.is_some_and(char::is_uppercase) && rest.peek().is_some_and(|it| it.is_lowercase());
        let begins = character.is_uppercase() && (before.is_some_and(char::is_lowercase) || ends_capitals);
        if words.is_empty() || begins || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
        before = Some(character);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_protected() {
        use Protection::{BuildScript, Ci, Test, TestConfiguration};
        for (path, expected) in [
            ("tests/a.py", Some(Test)),
            ("src/Tests/x.cs", Some(Test)),
            ("test_app.py", Some(Test)),
            ("app_test.go", Some(Test)),
            ("src/app.spec.ts", Some(Test)),
            ("src/ApiTest.java", Some(Test)),
            ("src/APITests.swift", Some(Test)),
            ("tests.py", Some(Test)),
            ("run-tests", Some(Test)),
            ("latest.py", None),
            ("contest.py", None),
            ("src/attestation.rs", None),
            ("inspector.js", None),
            ("app.py", None),
            ("docs/testing.md", None),
            ("tests/conftest.py", Some(TestConfiguration)),
            ("conftest.py", Some(TestConfiguration)),
            ("pytest/__init__.py", Some(TestConfiguration)),
            ("jest.config.mjs", Some(TestConfiguration)),
            ("pyproject.toml", Some(TestConfiguration)),
            ("Makefile", Some(BuildScript)),
            ("GNUmakefile", Some(BuildScript)),
            ("crates/a/build.rs", Some(BuildScript)),
            ("crates/a/Cargo.toml", Some(BuildScript)),
            (".cargo/config.toml", Some(BuildScript)),
            ("package.json", Some(BuildScript)),
            ("x.pth", Some(BuildScript)),
            (".github/workflows/ci.yml", Some(Ci)),
            (".gitlab-ci.yml", Some(Ci)),
        ] {
            assert_eq!(protection(path), expected, "{path}");
        }
    }
}
