//! Programs whose row cannot say everything.

use crate::analyse::{Analyser, Input};
use crate::effect::EffectKind;
use crate::expand::Arg;
use crate::inspect;
use crate::options::Parsed;
use crate::paths::{Folder, Spot, name_of_credential};
use crate::programs::program;
use crate::reader::Refusal;

/// A call of a program.
pub(crate) struct Call<'c> {
    pub(crate) name: &'c str,
    pub(crate) parsed: &'c Parsed,
    pub(crate) args: &'c [Arg],
    pub(crate) input: &'c Input,
}

impl Call<'_> {
    fn operands(&self) -> &[Arg] {
        &self.parsed.operands
    }

    /// The exact text of an operand.
    fn word(&self, at: usize) -> Option<&str> {
        self.parsed.operands.get(at).filter(|arg| arg.exact).map(|arg| arg.text.as_str())
    }

    /// Whether an argument is exactly this, wherever it is.
    fn says(&self, texts: &[&str]) -> bool {
        self.args.iter().any(|arg| arg.exact && texts.contains(&arg.text.as_str()))
    }

    /// Whether an argument begins with one of these, or might.
    fn may_begin(&self, fronts: &[&str]) -> bool {
        let mut only_operands = false;
        self.args.iter().any(|arg| {
            only_operands |= arg.exact && arg.text == "--";
            if only_operands {
                return false;
            }
            let known = fronts.iter().any(|front| arg.prefix.starts_with(front));
            known
                || !arg.exact
                    && (arg.prefix.is_empty()
                        || arg.prefix == "-"
                        || arg.prefix.starts_with("--") && !arg.prefix.contains('='))
        })
    }
}

impl Analyser<'_> {
    /// Looks at a call. Whether the command in its arguments has been looked at as well.
    pub(crate) fn special(
        &mut self,
        special: &str,
        name: &str,
        parsed: &Parsed,
        args: &[Arg],
        input: &Input,
    ) -> Result<bool, Refusal> {
        let call = Call { name, parsed, args, input };
        match special {
            "shell" => {
                // `set -- …` and `set -o` change the shell; tracing to a file does not go through here.
            }
            "names" => {
                for arg in call.operands() {
                    let assigned = arg.prefix.split_once('=');
                    let name = assigned.map_or(arg.text.as_str(), |(name, _)| name);
                    self.names.insert(name.trim_end_matches('+').to_owned());
                    if let Some((name, value)) = assigned {
                        self.assign_name(name, if arg.exact { value } else { "" });
                    }
                    // A subscript is arithmetic, and so is everything that `let` gets.
                    if !arg.exact && arg.prefix.is_empty()
                        || arg.text.contains('[')
                        || name_is_arithmetic(&call)
                    {
                        self.opaque(&arg.text);
                    }
                }
                for (_, arg) in &parsed.values {
                    self.names.insert(arg.text.clone());
                    if !arg.exact || arg.text.contains('[') {
                        self.opaque(&arg.text);
                    }
                }
            }
            "test" => {
                if call.says(&["-v", "-R"]) {
                    self.opaque("-v");
                }
            }
            "eval" => match all_exact(args) {
                Some(words) => self.text(&words.join(" "))?,
                None => self.opaque("eval"),
            },
            "exec" => {
                // Without a program its redirections are for the shell itself.
                if call.operands().is_empty() {
                    return Ok(true);
                }
            }
            "command" => {
                if parsed.has("-v") || parsed.has("-V") {
                    return Ok(true);
                }
            }
            "source" => {
                self.folders = vec![Folder::Unknown];
                if call.operands().is_empty() {
                    self.opaque(name);
                }
            }
            "trap" => {
                let folders = std::mem::replace(&mut self.folders, vec![Folder::Unknown]);
                let result = match call.operands().split_first() {
                    Some((text, signals)) if !signals.is_empty() && text.exact => {
                        if text.text == "-" {
                            Ok(())
                        } else {
                            self.inner_text(&text.text)
                        }
                    }
                    Some((_, [])) | None => Ok(()),
                    Some((text, _)) => {
                        self.opaque(&text.text);
                        Ok(())
                    }
                };
                self.folders = folders;
                result?;
            }
            "alias" => {
                let lists = matches!(name, "dirs" | "caller" | "history") && args.is_empty();
                if !(lists || matches!(name, "alias") && args.is_empty()) {
                    self.opaque(name);
                }
            }
            "cd" => match (name, call.operands()) {
                ("cd", []) => self.change_folder(&Arg::exact("~")),
                ("cd" | "pushd", [to]) if to.text != "-" => self.change_folder(to),
                _ => self.folders = vec![Folder::Unknown],
            },
            "env" => return self.env(&call),
            "text" => {
                // It joins its arguments and hands them to a shell.
                match all_exact(call.operands()) {
                    Some(words) => self.inner_text(&words.join(" "))?,
                    None => self.opaque(name),
                }
                return Ok(true);
            }
            "xargs" => {
                let mut inner = call.operands().to_vec();
                if inner.is_empty() {
                    inner.push(Arg::exact("echo"));
                }
                if parsed.has("-I") || parsed.has("--replace") {
                    for arg in inner.iter_mut().skip(1) {
                        *arg = Arg::unknown();
                    }
                }
                inner.push(Arg::unknown());
                self.call(&inner, &Input::None)?;
                return Ok(true);
            }
            "interpreter" => self.interpreter(&call)?,
            "ssh" => return self.ssh(&call),
            "scp" => self.remote_copy(&call, false),
            "rsync" => self.remote_copy(&call, parsed.effects.iter().any(|it| it == "del")),
            "reading" => {
                // `tree -o`, `file -C`, `stat` and others: the few options that write.
                let writes = match name {
                    "tree" => call.may_begin(&["-o", "--output"]),
                    "file" => call.may_begin(&["-C", "--compile"]),
                    "bat" => call.may_begin(&["--pager", "--config", "-P", "--map", "cache"]),
                    "tail" | "head" | "wc" | "cat" => false,
                    "exa" | "eza" | "lsd" => false,
                    "du" => call.may_begin(&["--files0-from"]),
                    _ => false,
                };
                if writes {
                    self.opaque(name);
                }
            }
            "xxd" => {
                if call.operands().len() > 2 {
                    self.opaque(name);
                }
            }
            "pager" => {
                // `+!command` runs one.
                if args.iter().any(|arg| arg.prefix.starts_with('+')) {
                    self.opaque(name);
                }
            }
            "rustup" => {
                if call.word(0) != Some("list") {
                    let first = call.operands().get(1).or(call.operands().first()).cloned();
                    self.operand('p', &first.unwrap_or_else(Arg::unknown), Some("rustup"))?;
                }
            }
            "machine" => {
                let quiet = matches!(name, "journalctl" | "dmesg")
                    && call.may_begin(&[
                        "--vacuum", "--rotate", "-C", "-c", "--clear", "--flush", "--file", "-n!",
                    ]);
                let sets = matches!(name, "hostname" | "ip" | "ifconfig" | "mount" | "stty" | "date")
                    && !call.operands().is_empty();
                if quiet || sets && name != "ip" {
                    self.emit(EffectKind::Privilege, "privilege", name, "host");
                }
            }
            "grep" => {
                let pattern_given = parsed.has("-e")
                    || parsed.has("-f")
                    || parsed.has("--regexp")
                    || parsed.has("--file")
                    || parsed.has("--files");
                if pattern_given && let Some(first) = call.operands().first() {
                    self.file(EffectKind::Read, &first.clone());
                }
                // Names that a search is told to look into.
                for (_, value) in &parsed.values {
                    if name_of_credential(&value.text) {
                        self.file(EffectKind::Read, &value.clone());
                    }
                }
            }
            "fd" => {}
            "find" => self.find(&call)?,
            "yq" => {
                if parsed.effects.iter().any(|it| it == "edit") {
                    for arg in call.operands().to_vec().iter().skip(1) {
                        self.file(EffectKind::Write, arg);
                    }
                }
            }
            "sed" => self.sed(&call),
            "awk" => {
                let mut texts = call.operands().first().cloned().into_iter();
                let text = texts.next();
                let safe =
                    text.as_ref().is_some_and(|text| text.exact && inspect::awk_only_prints(&text.text));
                if !safe {
                    self.opaque(name);
                }
                // `-v` and operands such as `x=1` assign.
            }
            "mktemp" => self.emit(EffectKind::Write, "file", "/tmp", "host"),
            "into" => {
                // With `-t` all operands are sources; the last one has been taken as the target, and is counted as
                // both.
                if (parsed.has("-t") || parsed.has("--target-directory"))
                    && let Some(last) = call.operands().last().cloned()
                {
                    let kind = if name == "mv" { EffectKind::Delete } else { EffectKind::Read };
                    self.file(kind, &last);
                }
                if name == "install" && (parsed.has("-d") || parsed.has("--directory")) {
                    for arg in call.operands().to_vec() {
                        self.file(EffectKind::Write, &arg);
                    }
                }
            }
            "ln" => self.link(&call),
            "dd" => {
                for arg in args {
                    match arg.prefix.split_once('=').map(|(name, _)| name) {
                        Some("if") => {
                            self.file(EffectKind::Read, &arg.after("if=").unwrap_or_else(Arg::unknown))
                        }
                        Some("of") => {
                            self.file(EffectKind::Write, &arg.after("of=").unwrap_or_else(Arg::unknown))
                        }
                        Some(
                            "bs" | "count" | "skip" | "seek" | "status" | "conv" | "ibs" | "obs" | "iflag"
                            | "oflag" | "cbs",
                        ) => {}
                        _ => self.opaque(&arg.text),
                    }
                }
            }
            "tar" => self.tar(&call),
            "zip" => {
                if call.may_begin(&["-T", "--test", "-TT", "--unzip-command", "-m"]) {
                    self.opaque(name);
                }
            }
            "patch" => {
                // The patch names its files, unless the call does.
                if call.operands().is_empty() && !parsed.has("--dry-run") {
                    self.tree(&Arg::exact("."));
                }
            }
            "unzip" => {
                let shows = ["-l", "-t", "-p", "-z", "-v"].iter().any(|option| parsed.has(option));
                if !shows && !parsed.has("-d") {
                    self.tree(&Arg::exact("."));
                }
            }
            "packer" => {}
            "curl" => self.curl(&call),
            "wget" => {
                let sends = parsed.effects.iter().any(|it| it == "send");
                let kind = if sends { EffectKind::NetworkWrite } else { EffectKind::NetworkRead };
                for arg in call.operands().to_vec() {
                    self.url(kind, &arg);
                }
                // A list of addresses, or links to any host.
                if parsed.has("-i") || parsed.has("-H") {
                    self.network(kind, "*");
                    self.tree(&Arg::exact("."));
                }
                let names = parsed.has("-O") || parsed.has("--output-document") || parsed.has("--spider");
                if !names {
                    self.downloads(&call);
                }
            }
            "gh" => self.forge(&call),
            "docker" => self.docker(&call),
            "npm" => return self.npm(&call),
            "pip" => return self.pip(&call),
            "packages" => return self.packages(&call),
            "build" => {
                let inline = [
                    "--eval",
                    "-e",
                    "-E",
                    "--execute",
                    "-f/",
                    "--file=/",
                    "--makefile=/",
                    "SHELL=",
                    ".SHELLFLAGS=",
                    "MAKEFLAGS=",
                ];
                let piped = call.says(&["-f-", "/dev/stdin", "-"]);
                let substitutes =
                    call.args.iter().any(|arg| arg.text.contains("$(") || arg.text.contains("${"));
                if piped
                    || substitutes
                    || inline.iter().any(|front| args.iter().any(|arg| arg.prefix.starts_with(front)))
                {
                    self.opaque(name);
                }
                if call.says(&["-C", "--directory", "-f", "--file", "--makefile"]) {
                    for arg in
                        args.iter().filter(|arg| arg.prefix.starts_with('/') || arg.prefix.starts_with('~'))
                    {
                        self.file_code(&arg.clone());
                    }
                }
            }
            "cargo" => {}
            "cargoclean" => self.file(EffectKind::Delete, &Arg::exact("target")),
            "goenv" => {
                if call.says(&["-w", "-u"]) {
                    self.opaque(name);
                }
            }
            "git" => self.git_globals(&call),
            "gitread" => self.git_read(&call),
            "gitadmin" => self.git_admin(&call),
            "gitwrite" => self.git_write(&call)?,
            "gitpush" => self.git_push(&call),
            other => self.opaque(other),
        }
        Ok(false)
    }

    /// `env`, `sudo`, `cross-env`: assignments, and then a command.
    fn env(&mut self, call: &Call<'_>) -> Result<bool, Refusal> {
        let mut rest = call.operands();
        while let Some((first, after)) = rest.split_first() {
            match first.prefix.split_once('=') {
                Some((name, value)) if !name.contains('/') => {
                    let value = if first.exact { value } else { "" };
                    self.assign_name(name, value);
                    rest = after;
                }
                _ => break,
            }
        }
        if call.parsed.has("-C") || call.parsed.has("--chdir") {
            self.folders = vec![Folder::Unknown];
        }
        if call.parsed.has("-i") && call.name == "sudo" || call.parsed.has("--login") {
            self.folders = vec![Folder::Unknown];
        }
        if rest.is_empty() {
            if call.name == "sudo" && call.operands().is_empty() && call.parsed.has("-i") {
                self.opaque(call.name);
            }
            return Ok(true);
        }
        // A word that may be an assignment as well as a program.
        self.call(rest, call.input)?;
        Ok(true)
    }

    fn interpreter(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let shell = matches!(call.name, "bash" | "sh" | "dash" | "zsh" | "ksh" | "ash");
        let mut script = None;
        let mut wants_text = false;
        let mut asks_only = false;
        let mut at = 0;
        while let Some(arg) = call.args.get(at) {
            at += 1;
            if !arg.exact && arg.may_be_option() || arg.text == "-" && !shell {
                self.opaque(&arg.text);
                return Ok(());
            }
            if !arg.may_be_option() {
                script = Some(arg);
                break;
            }
            let text = arg.text.as_str();
            if shell {
                match text {
                    "--login" | "--norc" | "--noprofile" | "--posix" | "--version" | "--help" => {
                        asks_only |= matches!(text, "--version" | "--help");
                    }
                    "-o" | "+o" => at += 1,
                    "-s" | "-" => {}
                    _ if !text.starts_with("--")
                        && text.chars().skip(1).all(|it| "ceilnuvxp".contains(it)) =>
                    {
                        wants_text |= text.contains('c');
                    }
                    _ => {
                        self.opaque(text);
                        return Ok(());
                    }
                }
                continue;
            }
            match text {
                "--version" | "-V" | "-v" | "--help" | "-h" => asks_only = true,
                "-m" => {
                    let module = call.args.get(at..).unwrap_or_default();
                    return self.module(call, module);
                }
                // Code in the arguments. Letters can be joined, as in `perl -ne`.
                _ if is_inline(call.name, text) => {
                    self.opaque(text);
                    return Ok(());
                }
                // Options with a value that is not a script.
                "-r"
                | "--require"
                | "--import"
                | "--loader"
                | "--experimental-loader"
                | "-W"
                | "-X"
                | "-I"
                | "-C"
                | "--project"
                | "-P" => at += 1,
                _ => {}
            }
        }
        match (script, wants_text) {
            (Some(text), true) => {
                if text.exact {
                    self.inner_text(&text.text)?
                } else {
                    self.opaque(&text.text)
                }
            }
            (None, true) => self.opaque(call.name),
            (Some(script), false) => {
                if matches!(
                    call.name,
                    "dart" | "flutter" | "swift" | "mix" | "R" | "electron" | "nu" | "julia"
                ) {
                    self.emit(EffectKind::RunsCode, "code", call.name, "workspace");
                } else {
                    self.file_code(&script.clone());
                }
            }
            (None, false) if asks_only => {}
            (None, false) => match call.input {
                Input::Text(text) if shell => self.inner_text(text)?,
                Input::File(file) => {
                    self.file_code(&file.clone());
                }
                _ if !shell
                    && call.args.iter().any(|arg| {
                        arg.exact && matches!(arg.text.as_str(), "--test" | "--run" | "--watch" | "--check")
                    }) =>
                {
                    self.emit(EffectKind::RunsCode, "code", call.name, "workspace");
                }
                _ => self.opaque(call.name),
            },
        }
        Ok(())
    }

    /// `python -m NAME …`.
    fn module(&mut self, call: &Call<'_>, args: &[Arg]) -> Result<(), Refusal> {
        let Some(module) = args.first().filter(|module| module.exact) else {
            self.opaque("-m");
            return Ok(());
        };
        match module.text.as_str() {
            "json.tool" | "tokenize" | "calendar" | "this" | "platform" | "site" | "sysconfig" => {
                for arg in args.get(1..).unwrap_or_default() {
                    self.file(EffectKind::Read, arg);
                }
                if args.len() > 2 {
                    self.file(EffectKind::Write, &Arg::unknown());
                }
            }
            "http.server" => self.emit(EffectKind::RunsCode, "code", "http.server", "workspace"),
            "pip" | "pipx" | "uv" | "poetry" | "twine" | "virtualenv" => self.call(args, call.input)?,
            "venv" | "ensurepip" => self.emit(EffectKind::Install, "package", "*", "pypi"),
            "smtpd" | "smtplib" | "ftplib" | "telnetlib" | "webbrowser" | "code" | "pdb" | "timeit" => {
                self.opaque(&module.text)
            }
            other => self.emit(EffectKind::RunsCode, "code", other, "workspace"),
        }
        Ok(())
    }

    fn ssh(&mut self, call: &Call<'_>) -> Result<bool, Refusal> {
        let (host, command) = match call.operands().split_first() {
            Some((host, command)) => (host, command),
            None => {
                self.opaque(call.name);
                return Ok(true);
            }
        };
        if command.is_empty() {
            if !call.parsed.has("-V") {
                self.opaque(call.name);
            }
            return Ok(true);
        }
        let named = if host.exact {
            host.text.rsplit_once('@').map_or(host.text.as_str(), |(_, host)| host)
        } else {
            "*"
        };
        match all_exact(command) {
            Some(words) => {
                let outer = self.remote.replace(named.to_owned());
                let folders =
                    std::mem::replace(&mut self.folders, vec![Folder::Outside(vec!["~".to_owned()])]);
                let result = self.inner_text(&words.join(" "));
                self.remote = outer;
                self.folders = folders;
                result?;
            }
            None => self.opaque(call.name),
        }
        Ok(true)
    }

    /// `scp`, `rsync`: sources, and a target, each of which may be on another host.
    fn remote_copy(&mut self, call: &Call<'_>, deletes: bool) {
        let operands = call.operands().to_vec();
        let last = operands.len().saturating_sub(1);
        let unsure = operands.iter().any(|arg| arg.many);
        for (at, arg) in operands.iter().enumerate() {
            let target = at == last || unsure;
            let host =
                arg.prefix.split_once(':').filter(|(host, _)| !host.contains('/')).map(|(host, _)| host);
            if let Some(host) = host {
                let host = host.rsplit_once('@').map_or(host, |(_, host)| host).to_owned();
                self.network(if target { EffectKind::NetworkWrite } else { EffectKind::NetworkRead }, &host);
                continue;
            }
            if !arg.exact && !arg.pattern {
                self.network(EffectKind::NetworkWrite, "*");
            }
            if target {
                self.tree(arg);
                if deletes {
                    self.file(EffectKind::Delete, arg);
                }
            }
            if at != last || unsure {
                self.file(EffectKind::Read, arg);
                if deletes && call.parsed.has("--remove-source-files") {
                    self.file(EffectKind::Delete, arg);
                }
            }
        }
        if operands.is_empty() {
            self.opaque(call.name);
        }
    }

    fn find(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let args = call.args;
        let mut at = 0;
        while args.get(at).is_some_and(|arg| arg.exact && matches!(arg.text.as_str(), "-H" | "-L" | "-P")) {
            at += 1;
        }
        let mut roots = Vec::new();
        while let Some(arg) = args.get(at) {
            let expression = arg.exact
                && (arg.text.starts_with('-') || matches!(arg.text.as_str(), "(" | ")" | "!" | ","));
            if expression {
                break;
            }
            if arg.prefix.is_empty() && !arg.pattern {
                self.opaque(&arg.text);
            }
            roots.push(arg.clone());
            at += 1;
        }
        if roots.is_empty() {
            roots.push(Arg::exact("."));
        }
        for root in &roots {
            self.file(EffectKind::Read, root);
        }
        let mut names = Vec::new();
        let mut acts = false;
        let mut rest = args.get(at..).unwrap_or_default();
        while let Some((arg, after)) = rest.split_first() {
            rest = after;
            if !arg.exact {
                self.opaque(&arg.text);
                return Ok(());
            }
            match arg.text.as_str() {
                "("
                | ")"
                | "!"
                | ","
                | "-a"
                | "-o"
                | "-and"
                | "-or"
                | "-not"
                | "-true"
                | "-false"
                | "-print"
                | "-print0"
                | "-ls"
                | "-prune"
                | "-quit"
                | "-depth"
                | "-d"
                | "-xdev"
                | "-mount"
                | "-follow"
                | "-empty"
                | "-executable"
                | "-readable"
                | "-writable"
                | "-nouser"
                | "-nogroup"
                | "-daystart"
                | "-noleaf"
                | "-ignore_readdir_race"
                | "-warn"
                | "-nowarn" => {}
                "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" | "-regex"
                | "-iregex" => {
                    names.extend(rest.first().cloned());
                    rest = rest.get(1..).unwrap_or_default();
                }
                "-type" | "-xtype" | "-size" | "-mtime" | "-mmin" | "-atime" | "-amin" | "-ctime"
                | "-cmin" | "-newer" | "-anewer" | "-cnewer" | "-newermt" | "-newerct" | "-maxdepth"
                | "-mindepth" | "-perm" | "-user" | "-group" | "-uid" | "-gid" | "-links" | "-inum"
                | "-samefile" | "-lname" | "-ilname" | "-regextype" | "-printf" | "-used" | "-fstype" => {
                    rest = rest.get(1..).unwrap_or_default();
                }
                "-delete" => {
                    acts = true;
                    for root in &roots {
                        self.file(EffectKind::Delete, root);
                    }
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    match rest.first() {
                        Some(file) => self.file(EffectKind::Write, &file.clone()),
                        None => self.opaque(&arg.text),
                    }
                    rest = rest.get(if arg.text == "-fprintf" { 2 } else { 1 }..).unwrap_or_default();
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    acts = true;
                    let end = rest.iter().position(|arg| arg.exact && (arg.text == ";" || arg.text == "+"));
                    let Some(end) = end else {
                        self.opaque(&arg.text);
                        return Ok(());
                    };
                    let command = rest.get(..end).unwrap_or_default();
                    rest = rest.get(end + 1..).unwrap_or_default();
                    for root in &roots {
                        let inner: Vec<Arg> = command.iter().map(|arg| found_by_find(arg, root)).collect();
                        self.call(&inner, &Input::None)?;
                    }
                }
                other => {
                    let other = other.to_owned();
                    self.opaque(&other);
                    return Ok(());
                }
            }
        }
        if acts {
            for name in names.iter().filter(|name| name_of_credential(name.text.trim_start_matches("*/"))) {
                let kind = EffectKind::Read;
                self.emit(kind, "credential", &name.text, "workspace");
            }
        }
        Ok(())
    }

    fn sed(&mut self, call: &Call<'_>) {
        let given = call.parsed.has("-e") || call.parsed.has("--expression");
        let in_place = call.parsed.has("-i") || call.parsed.has("--in-place");
        let mut scripts: Vec<Arg> = Vec::new();
        if given {
            scripts.extend(call.parsed.values.iter().map(|(_, value)| value.clone()));
            if let Some(first) = call.operands().first() {
                self.file(EffectKind::Read, &first.clone());
            }
        } else {
            scripts.extend(call.operands().first().cloned());
        }
        // A suffix behind `-i` is among the values as well; as a script it would not pass, so it is left out.
        let suffixes: Vec<String> = call
            .args
            .iter()
            .filter_map(|arg| {
                arg.prefix
                    .strip_prefix("-i")
                    .or_else(|| arg.prefix.strip_prefix("--in-place="))
                    .map(str::to_owned)
            })
            .collect();
        for script in scripts.iter().filter(|script| !suffixes.contains(&script.text)) {
            let only_edits = if script.exact {
                inspect::sed_only_edits(&script.text)
            } else {
                inspect::sed_template(&script.text)
            };
            if !only_edits {
                self.opaque(call.name);
            }
        }
        if suffixes.iter().any(|suffix| suffix.contains('/')) {
            self.opaque(call.name);
        }
        if in_place {
            for arg in call.operands().to_vec().iter().skip(usize::from(!given)) {
                self.file(EffectKind::Write, arg);
            }
        }
    }

    fn link(&mut self, call: &Call<'_>) {
        let operands = call.operands().to_vec();
        match operands.split_last() {
            Some((only, [])) => {
                self.file(EffectKind::Write, &Arg::exact("."));
                self.file(EffectKind::Write, only);
            }
            Some((link, targets)) => {
                self.file(EffectKind::Write, link);
                // A write through the link is written there.
                for target in targets {
                    self.file(EffectKind::Write, target);
                }
            }
            None => self.opaque(call.name),
        }
    }

    fn tar(&mut self, call: &Call<'_>) {
        let args = call.args;
        let Some(first) = args.first().filter(|first| first.exact) else { return self.opaque(call.name) };
        let mut mode = None;
        let mut folder = Arg::exact(".");
        let mut archive = None;
        let mut operands = Vec::new();
        let mut at = 0;
        let old = !first.text.starts_with('-');
        while let Some(arg) = args.get(at) {
            at += 1;
            let is_cluster = at == 1 && old
                || arg.exact
                    && arg.text.starts_with('-')
                    && !arg.text.starts_with("--")
                    && arg.text.len() > 1;
            if is_cluster {
                for letter in arg.text.trim_start_matches('-').chars() {
                    match letter {
                        'c' | 'x' | 't' | 'r' | 'u' => mode = Some(letter),
                        'z' | 'j' | 'J' | 'v' | 'p' | 'k' | 'h' | 'm' | 'a' | 'P' | 'O' | 'Z' => {}
                        'f' => {
                            archive = args.get(at).cloned();
                            at += 1;
                        }
                        'C' => {
                            folder = args.get(at).cloned().unwrap_or_else(Arg::unknown);
                            at += 1;
                        }
                        _ => return self.opaque(&arg.text),
                    }
                }
                continue;
            }
            match arg.prefix.as_str() {
                "--create" if arg.exact => mode = Some('c'),
                "--extract" | "--get" if arg.exact => mode = Some('x'),
                "--list" if arg.exact => mode = Some('t'),
                "--gzip"
                | "--bzip2"
                | "--xz"
                | "--zstd"
                | "--verbose"
                | "--no-same-owner"
                | "--no-same-permissions"
                | "--totals"
                    if arg.exact => {}
                long if long.starts_with("--file=") => archive = arg.after("--file="),
                long if long.starts_with("--directory=") => {
                    folder = arg.after("--directory=").unwrap_or_else(Arg::unknown)
                }
                long if arg.exact
                    && (long.starts_with("--strip-components=")
                        || long.starts_with("--exclude=")
                        || long.starts_with("--transform=s") && !long.contains(['e', '\n'])) => {}
                _ if arg.may_be_option() => return self.opaque(&arg.text),
                _ => operands.push(arg.clone()),
            }
        }
        // A name with a colon is on another host, and a command fetches it.
        if let Some(archive) = &archive
            && archive.prefix.split('/').next().is_some_and(|front| front.contains(':'))
        {
            return self.opaque(&archive.text);
        }
        match mode {
            Some('c' | 'r' | 'u') => {
                if let Some(archive) = &archive {
                    self.file(EffectKind::Write, archive);
                }
                let folders = self.folders.clone();
                self.change_folder(&folder);
                for operand in &operands {
                    self.file(EffectKind::Read, operand);
                }
                self.folders = folders;
            }
            Some('x') => {
                if let Some(archive) = &archive {
                    self.file(EffectKind::Read, archive);
                }
                if !call.says(&["-O", "--to-stdout"]) {
                    self.tree(&folder);
                }
            }
            Some('t') => {
                if let Some(archive) = &archive {
                    self.file(EffectKind::Read, archive);
                }
            }
            _ => self.opaque(call.name),
        }
    }

    fn curl(&mut self, call: &Call<'_>) {
        let mut sends = call.parsed.effects.iter().any(|it| it == "send");
        let mut args = call.args.iter();
        while let Some(arg) = args.next() {
            let value = match arg.prefix.as_str() {
                "-X" | "--request" => args.next().cloned(),
                other if other.starts_with("-X") => arg.after("-X"),
                other if other.starts_with("--request=") => arg.after("--request="),
                _ => None,
            };
            if let Some(value) = value {
                sends |= !(value.exact && matches!(value.text.as_str(), "GET" | "HEAD"));
            }
            // `-sXPOST`.
            let joined = arg.prefix.starts_with('-')
                && !arg.prefix.starts_with("--")
                && arg.prefix.contains('X')
                && !arg.prefix.starts_with("-X");
            sends |= joined || arg.prefix.contains("%output");
        }
        for (_, value) in &call.parsed.values {
            // `@file` sends a file, and so does `name=@file`.
            let file =
                value.text.strip_prefix('@').or_else(|| value.text.split_once("=@").map(|(_, file)| file));
            if let Some(file) =
                file.filter(|_| !call.parsed.effects.is_empty() || value.text.starts_with('@'))
            {
                let arg = if value.exact {
                    Arg::exact(file.split(';').next().unwrap_or_default())
                } else {
                    Arg::unknown()
                };
                self.file(EffectKind::Read, &arg);
                sends = true;
            }
            if value.text.contains("%output") {
                self.opaque(&value.text);
            }
            // A value that only the shell knows goes along with a header or a password.
            sends |= !value.exact && value.many;
        }
        if call.parsed.has("-x") || call.parsed.has("--proxy") {
            self.network(EffectKind::NetworkWrite, "*");
        }
        for arg in call.operands().to_vec() {
            self.url(if sends { EffectKind::NetworkWrite } else { EffectKind::NetworkRead }, &arg);
        }
        if sends && call.operands().is_empty() {
            self.network(EffectKind::NetworkWrite, "*");
        }
        if call.parsed.effects.iter().any(|it| it == "here") {
            self.downloads(call);
        }
    }

    /// Files that are named by the addresses they come from.
    fn downloads(&mut self, call: &Call<'_>) {
        for arg in call.operands().to_vec() {
            let path = arg.text.split(['?', '#']).next().unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or_default();
            let plain = arg.exact && path.matches('/').count() > 2 && !name.is_empty();
            self.file(EffectKind::Write, &if plain { Arg::exact(name) } else { Arg::exact(".") });
        }
    }

    fn forge(&mut self, call: &Call<'_>) {
        let words: Vec<&str> = call.operands().iter().take(2).map(|arg| arg.text.as_str()).collect();
        let host = "github.com";
        match words.as_slice() {
            [
                "pr" | "issue" | "repo" | "run" | "release" | "workflow" | "gist" | "cache" | "label"
                | "ruleset" | "project",
                "view" | "list" | "diff" | "checks" | "status" | "watch",
            ]
            | ["auth", "status"]
            | ["search" | "status" | "browse", ..] => self.network(EffectKind::NetworkRead, host),
            ["release", "create" | "upload" | "delete" | "edit"] => {
                self.emit(EffectKind::Publish, "package", "release", host)
            }
            ["pr", "merge"] => self.emit(EffectKind::GitPush, "git_ref", "*", host),
            ["auth", "token"] => self.emit(EffectKind::Read, "credential", "gh token", "host"),
            ["release" | "run", "download"] => {
                self.network(EffectKind::NetworkRead, host);
                self.file(EffectKind::Write, &Arg::exact("."));
            }
            ["attestation", "verify"] => self.network(EffectKind::NetworkRead, host),
            ["pr", "checkout"] | ["repo", "clone"] => {
                self.network(EffectKind::NetworkRead, host);
                self.emit(EffectKind::GitWrite, "git_ref", "*", "workspace");
            }
            ["api", ..] => {
                let writes = ["-X", "--method", "-f", "-F", "--field", "--raw-field", "--input"];
                let kind = if call.may_begin(&writes) || words.contains(&"graphql") {
                    EffectKind::NetworkWrite
                } else {
                    EffectKind::NetworkRead
                };
                self.network(kind, host);
            }
            [
                "alias" | "extension" | "ext" | "config" | "codespace" | "cs" | "auth" | "ssh-key" | "secret",
                ..,
            ]
            | [] => {
                if call.says(&["--version", "--help"]) {
                } else {
                    self.opaque(call.name)
                }
            }
            _ => self.network(EffectKind::NetworkWrite, host),
        }
    }

    fn docker(&mut self, call: &Call<'_>) {
        let words: Vec<&str> = call.operands().iter().map(|arg| arg.text.as_str()).collect();
        if call.name == "docker-compose" || call.name == "podman-compose" {
            return match words.first() {
                Some(&("ps" | "logs" | "config" | "images" | "top" | "version" | "ls")) => {}
                _ => {
                    self.emit(EffectKind::RunsCode, "code", call.name, "workspace");
                    self.emit(EffectKind::Privilege, "privilege", call.name, "host");
                }
            };
        }
        match words.as_slice() {
            [
                "ps" | "images" | "logs" | "version" | "info" | "inspect" | "stats" | "top" | "port" | "diff"
                | "history" | "search" | "events",
                ..,
            ]
            | [
                "container" | "image" | "volume" | "network" | "context" | "system",
                "ls" | "list" | "inspect" | "df",
            ]
            | ["compose", "ps" | "logs" | "config" | "ls" | "images", ..] => {}
            [] if call.says(&["--version", "-v", "--help"]) => {}
            ["pull", ..] => self.network(EffectKind::NetworkRead, "*"),
            ["push", ..] => self.emit(EffectKind::Publish, "package", words.get(1).unwrap_or(&"*"), "docker"),
            _ => {
                if call.says(&["--push"]) {
                    self.emit(EffectKind::Publish, "package", "*", "docker");
                }
                self.emit(EffectKind::RunsCode, "code", call.name, "workspace");
                self.emit(EffectKind::Privilege, "privilege", call.name, "host");
            }
        }
    }

    fn npm(&mut self, call: &Call<'_>) -> Result<bool, Refusal> {
        let operands = call.operands().to_vec();
        let words: Vec<&str> = operands.iter().map(|arg| arg.text.as_str()).collect();
        let runner = matches!(call.name, "npx" | "pnpx" | "bunx");
        if call.may_begin(&[
            "--script-shell",
            "--node-options",
            "--call",
            "-c",
            "--userconfig",
            "--globalconfig",
            "--git",
        ]) && !matches!(call.name, "bun" | "deno")
        {
            self.opaque(call.name);
        }
        if runner {
            return self.runs_package(call, &operands);
        }
        // An option in front may have a value, and then the verb is further on.
        let front = call
            .args
            .iter()
            .take_while(|arg| !matches!(arg.text.as_str(), "run" | "run-script" | "exec" | "test" | "--"));
        if front.clone().any(|arg| {
            arg.exact && matches!(arg.text.as_str(), "publish" | "unpublish" | "deprecate" | "dist-tag")
        }) {
            self.emit(EffectKind::Publish, "package", "*", "npm");
        } else if call.args.first().is_some_and(|arg| arg.text.starts_with('-'))
            && front.clone().any(|arg| {
                arg.exact
                    && matches!(
                        arg.text.as_str(),
                        "install"
                            | "i"
                            | "ci"
                            | "add"
                            | "update"
                            | "dlx"
                            | "create"
                            | "login"
                            | "token"
                            | "config"
                    )
            })
        {
            self.emit(EffectKind::Install, "package", "*", "npm");
        }
        if matches!(words.as_slice(), ["run" | "run-script", "publish" | "deploy" | "release", ..]) {
            self.emit(EffectKind::Publish, "package", "*", "npm");
        }
        match (call.name, words.as_slice()) {
            (_, []) if call.says(&["-v", "--version", "-h", "--help"]) => {}
            // Done above.
            (_, [..]) if front.clone().any(|arg| arg.exact && arg.text == "publish") => {}
            ("yarn" | "yarnpkg" | "ni", []) => self.emit(EffectKind::Install, "package", "*", "npm"),
            (
                "deno",
                [
                    "run" | "test" | "task" | "bench" | "lint" | "fmt" | "check" | "compile" | "bundle"
                    | "serve",
                    ..,
                ],
            ) => {
                if operands.iter().any(|arg| arg.prefix.contains("://") || !arg.exact) {
                    self.opaque(call.name);
                }
                self.emit(EffectKind::RunsCode, "code", call.name, "workspace");
            }
            ("deno", ["eval" | "repl", ..]) | ("bun", ["repl", ..]) => self.opaque(call.name),
            (
                _,
                [
                    "publish" | "unpublish" | "deprecate" | "dist-tag" | "access" | "owner" | "team" | "hook"
                    | "star",
                    ..,
                ],
            ) => {
                self.emit(EffectKind::Publish, "package", "*", "npm");
            }
            (
                _,
                ["login" | "adduser" | "logout" | "token" | "profile" | "set" | "set-script" | "whoami", ..],
            ) => self.opaque(call.name),
            (_, ["config" | "c", "get" | "list" | "ls", ..]) => {
                self.emit(EffectKind::Read, "credential", ".npmrc", "host")
            }
            (_, ["config" | "c", ..]) => self.emit(EffectKind::Write, "credential", ".npmrc", "host"),
            (
                _,
                [
                    "ls" | "list" | "la" | "ll" | "root" | "prefix" | "bin" | "why" | "explain" | "fund"
                    | "help" | "licenses" | "query" | "pkg-get" | "find-dupes" | "completion" | "workspaces"
                    | "info-local",
                    ..,
                ],
            ) => {}
            (
                _,
                [
                    "view" | "info" | "show" | "v" | "outdated" | "search" | "audit" | "ping" | "doctor"
                    | "docs" | "repo" | "bugs" | "home",
                    rest @ ..,
                ],
            ) => {
                self.network(EffectKind::NetworkRead, "npm registry");
                if rest.contains(&"fix") {
                    self.emit(EffectKind::Install, "package", "*", "npm");
                }
            }
            (
                _,
                [
                    "install" | "i" | "in" | "ci" | "add" | "a" | "remove" | "rm" | "r" | "un" | "uninstall"
                    | "unlink" | "update" | "up" | "upgrade" | "link" | "ln" | "dedupe" | "ddp" | "rebuild"
                    | "install-test" | "it" | "install-ci-test" | "clean-install" | "fetch" | "import"
                    | "global" | "self-update" | "set-version" | "env" | "prune" | "shrinkwrap" | "cit"
                    | "use" | "enable" | "prepare",
                    packages @ ..,
                ],
            ) => {
                let named: Vec<&&str> = packages.iter().filter(|it| !it.starts_with('-')).collect();
                if named.is_empty() {
                    self.emit(EffectKind::Install, "package", "*", "npm");
                }
                for package in named {
                    self.emit(EffectKind::Install, "package", package, "npm");
                }
            }
            (_, ["exec" | "x", ..]) => return self.runs_package(call, operands.get(1..).unwrap_or_default()),
            (_, ["dlx" | "create" | "init" | "innit", rest @ ..]) => {
                let local = rest.is_empty() || rest.first().is_some_and(|first| first.starts_with('-'));
                if words.first() == Some(&"init") && local {
                    self.file(EffectKind::Write, &Arg::exact("package.json"));
                } else {
                    self.emit(EffectKind::Install, "package", rest.first().unwrap_or(&"*"), "npm");
                    self.emit(EffectKind::RunsCode, "code", call.name, "workspace");
                }
            }
            (_, ["pkg", "get", ..]) => {}
            (_, ["pkg", ..]) => self.file(EffectKind::Write, &Arg::exact("package.json")),
            (_, ["cache", ..] | ["store", ..]) => self.emit(EffectKind::Delete, "package", "cache", "npm"),
            // `npm run x`, `npm test`, and whatever a script is called where its name is enough.
            _ => self.emit(EffectKind::RunsCode, "code", call.name, "workspace"),
        }
        Ok(true)
    }

    /// A tool of a package: the one of the workspace if it is a known one, else one that is fetched.
    fn runs_package(&mut self, call: &Call<'_>, operands: &[Arg]) -> Result<bool, Refusal> {
        let Some((tool, _)) = operands.split_first() else {
            self.opaque(call.name);
            return Ok(true);
        };
        let fetches = call.says(&["-y", "--yes", "-p", "--package"]) || call.may_begin(&["--package="]);
        let code = tool.exact && program(&tool.text).is_some_and(|row| row.always.contains("code"));
        if code && !fetches {
            self.call(operands, call.input)?;
            return Ok(true);
        }
        let id = if tool.exact { tool.text.clone() } else { "*".to_owned() };
        self.emit(EffectKind::Install, "package", &id, "npm");
        self.emit(EffectKind::RunsCode, "code", &id, "workspace");
        Ok(true)
    }

    fn pip(&mut self, call: &Call<'_>) -> Result<bool, Refusal> {
        let operands = call.operands().to_vec();
        let words: Vec<&str> = operands.iter().map(|arg| arg.text.as_str()).collect();
        let rest = |from: usize| operands.get(from..).unwrap_or_default();
        match (call.name, words.as_slice()) {
            (_, []) if call.says(&["--version", "-V", "--help", "-h"]) => {}
            ("uvx" | "pipx", ["run", ..]) | ("uvx", [_, ..]) => {
                self.emit(EffectKind::Install, "package", words.first().unwrap_or(&"*"), "pypi");
                self.emit(EffectKind::RunsCode, "code", call.name, "workspace");
            }
            ("uv", ["pip", "list" | "show" | "freeze" | "tree" | "check", ..])
            | (
                _,
                [
                    "list" | "show" | "freeze" | "check" | "help" | "debug" | "env" | "version" | "tree"
                    | "info" | "search",
                    ..,
                ],
            ) => {}
            (_, ["run", ..]) => {
                // Options of the runner come first; what follows is the program.
                self.emit(EffectKind::RunsCode, "code", call.name, "workspace");
                let start =
                    call.args.iter().position(|arg| arg.exact && arg.text == "run").map_or(0, |at| at + 1);
                let inner: Vec<Arg> = call.args.get(start..).unwrap_or_default().to_vec();
                if inner.first().is_some_and(|arg| arg.exact && !arg.text.starts_with('-')) {
                    self.call(&inner, call.input)?;
                } else {
                    self.opaque(call.name);
                }
            }
            (_, ["publish" | "upload", ..]) => self.emit(EffectKind::Publish, "package", "*", "pypi"),
            (
                "uv" | "poetry" | "hatch" | "flit" | "maturin" | "build" | "pdm" | "rye",
                ["build" | "develop" | "fmt" | "lint" | "test", ..],
            )
            | ("build", []) => {
                self.emit(EffectKind::RunsCode, "code", call.name, "workspace");
            }
            ("uv", ["init" | "venv", ..]) | ("virtualenv", ..) => {
                self.file(EffectKind::Write, rest(1).last().unwrap_or(&Arg::exact(".")))
            }
            (
                _,
                [
                    "install" | "uninstall" | "download" | "wheel" | "add" | "remove" | "update" | "upgrade"
                    | "sync" | "lock" | "create" | "pip" | "tool" | "python" | "init" | "new" | "inject"
                    | "ensurepath" | "global" | "local" | "shell" | "activate" | "self" | "cache",
                    packages @ ..,
                ],
            ) => {
                let named: Vec<&&str> = packages.iter().filter(|it| !it.starts_with('-')).collect();
                if named.is_empty() {
                    self.emit(EffectKind::Install, "package", "*", "pypi");
                }
                for package in named {
                    self.emit(EffectKind::Install, "package", package, "pypi");
                }
            }
            _ => self.opaque(call.name),
        }
        Ok(true)
    }

    fn packages(&mut self, call: &Call<'_>) -> Result<bool, Refusal> {
        let operands = call.operands().to_vec();
        let words: Vec<&str> = operands.iter().map(|arg| arg.text.as_str()).collect();
        match (call.name, words.as_slice()) {
            (_, []) if call.says(&["--version", "-V", "-v", "--help", "-h"]) => {}
            (
                "bundle" | "bundler" | "mise" | "rtx" | "asdf" | "opam" | "dotnet" | "stack" | "cabal",
                ["exec", _, ..],
            ) => {
                self.emit(EffectKind::RunsCode, "code", call.name, "workspace");
                self.call(operands.get(1..).unwrap_or_default(), call.input)?;
            }
            (
                "bundle" | "composer" | "stack" | "cabal" | "rebar3" | "dotnet" | "swift-package" | "nix"
                | "nix-build" | "nix-shell" | "conan" | "mise",
                [
                    "build" | "test" | "run" | "run-script" | "compile" | "ct" | "eunit" | "bench" | "check"
                    | "develop" | "format" | "flake" | "watch" | "repl" | "clean" | "dialyzer" | "r" | "x",
                    ..,
                ],
            ) => {
                self.emit(EffectKind::RunsCode, "code", call.name, "workspace");
                // A flake from elsewhere is fetched first.
                for arg in operands
                    .iter()
                    .skip(1)
                    .filter(|arg| call.name.starts_with("nix") && arg.text.contains([':', '#']))
                {
                    self.emit(EffectKind::Install, "package", &arg.text, call.name);
                }
            }
            ("gem" | "nuget" | "hex", ["push" | "yank" | "publish", ..])
            | ("dotnet", ["nuget", "push", ..])
            | ("pod", ["trunk", ..])
            | ("cabal", ["upload", ..]) => {
                self.emit(EffectKind::Publish, "package", "*", call.name);
            }
            (
                _,
                [
                    "list" | "ls" | "search" | "info" | "show" | "outdated" | "policy" | "deps" | "leaves"
                    | "current" | "which" | "home" | "desc" | "doctor" | "version" | "versions" | "cat"
                    | "config" | "help",
                    ..,
                ],
            ) => {}
            ("dpkg", _) if call.says(&["-l", "-L", "-s", "-S", "--list"]) => {}
            ("rpm" | "pacman", _) if call.says(&["-qa", "-qi", "-ql", "-Q", "-Qi", "-Ss"]) => {}
            _ => {
                let named: Vec<&&str> = words.iter().skip(1).filter(|it| !it.starts_with('-')).collect();
                if named.is_empty() {
                    self.emit(EffectKind::Install, "package", "*", call.name);
                }
                for package in named {
                    self.emit(EffectKind::Install, "package", package, call.name);
                }
            }
        }
        Ok(true)
    }

    /// Options of `git` before its command.
    fn git_globals(&mut self, call: &Call<'_>) {
        let mut args = call.args.iter();
        while let Some(arg) = args.next() {
            if arg.exact && !arg.text.starts_with('-') {
                break;
            }
            match arg.prefix.as_str() {
                "-C" => match args.next() {
                    Some(folder) => self.change_folder(&folder.clone()),
                    None => self.opaque("-C"),
                },
                "-c" => {
                    let value = args.next();
                    let key = value
                        .map(|it| it.prefix.split('=').next().unwrap_or_default().to_lowercase())
                        .unwrap_or_default();
                    let quiet = [
                        "user.name",
                        "user.email",
                        "core.quotepath",
                        "commit.gpgsign",
                        "tag.gpgsign",
                        "init.defaultbranch",
                        "advice.",
                        "color.",
                        "diff.renames",
                        "diff.algorithm",
                        "log.",
                        "status.",
                        "gc.auto",
                        "pull.rebase",
                        "merge.conflictstyle",
                        "core.autocrlf",
                        "column.ui",
                        "core.longpaths",
                        "http.postbuffer",
                        "protocol.version",
                    ];
                    let pager = value.is_some_and(|it| {
                        it.exact
                            && matches!(
                                it.text.as_str(),
                                "core.pager=cat"
                                    | "core.pager="
                                    | "core.editor=true"
                                    | "sequence.editor=true"
                                    | "sequence.editor=:"
                            )
                    });
                    if !pager && !quiet.iter().any(|front| key.starts_with(front)) {
                        self.opaque(&key);
                    }
                }
                front if front.starts_with("--git-dir") || front.starts_with("--work-tree") => {
                    if !front.contains('=') {
                        args.next();
                    }
                    self.folders = vec![Folder::Unknown];
                    self.opaque(front);
                }
                _ => {}
            }
        }
    }

    fn git_read(&mut self, call: &Call<'_>) {
        let dangerous = [
            "--ou",
            "--ext",
            "--textc",
            "--filter",
            "--open",
            "--exec",
            "--upload",
            "--receive",
            "--pager",
            "--edit",
            "--lost",
            "--tool",
            "--contents",
            "--no-index",
            "--path=",
        ];
        let letters = match call.name {
            "git grep" => "Of",
            "git hash-object" => "w",
            "git help" => "wi",
            _ => "",
        };
        let clusters = call.args.iter().take_while(|arg| arg.text != "--").any(|arg| {
            arg.prefix.starts_with('-')
                && !arg.prefix.starts_with("--")
                && arg.prefix.contains(|letter| letters.contains(letter))
        });
        if call.may_begin(&dangerous)
            && !call.args.iter().all(|arg| {
                !dangerous.iter().any(|front| arg.prefix.starts_with(front)) && !risky_argument(arg)
            })
            || clusters
        {
            self.opaque(call.name);
        }
        match call.name {
            "git reflog" if matches!(call.word(0), Some("expire" | "delete" | "drop")) => self.git_ref("*"),
            "git symbolic-ref" if call.operands().len() > 1 || call.says(&["-d", "--delete"]) => {
                self.git_ref("HEAD")
            }
            _ => {}
        }
        self.file(EffectKind::Read, &Arg::exact("."));
        for arg in call.operands().to_vec() {
            let path = arg.text.split_once(':').map_or(arg.text.as_str(), |(_, path)| path);
            let spot = Spot {
                domain: "workspace",
                id: path.to_owned(),
                credential: crate::is_credential(path),
                guard: false,
            };
            if spot.credential {
                self.file_at(EffectKind::Read, &spot);
            }
        }
    }

    fn git_ref(&mut self, id: &str) {
        self.emit(EffectKind::GitWrite, "git_ref", id, "workspace");
    }

    fn git_settings(&mut self, global: bool) {
        let (id, domain) = if global { ("~/.gitconfig", "host") } else { (".git/config", "workspace") };
        self.emit(EffectKind::Write, "guard", id, domain);
    }

    fn git_admin(&mut self, call: &Call<'_>) {
        let operands = call.operands().to_vec();
        let first = operands.first().map(|arg| arg.text.as_str());
        let looks = match call.name {
            "git branch" => {
                let changes = call.may_begin(&[
                    "-d", "-D", "-m", "-M", "-c", "-C", "-f", "-u", "--del", "--mov", "--cop", "--for",
                    "--set-up", "--unset", "--edit", "--tr", "-t",
                ]);
                !changes
                    && (operands.is_empty()
                        || call.says(&[
                            "--list",
                            "-l",
                            "--contains",
                            "--no-contains",
                            "--merged",
                            "--no-merged",
                            "--points-at",
                        ]))
            }
            "git tag" => {
                let changes = call.may_begin(&[
                    "-d", "-a", "-s", "-u", "-f", "-m", "-F", "--del", "--ann", "--sig", "--for", "--mes",
                    "--file", "--local", "-e", "--edit",
                ]);
                !changes
                    && (operands.is_empty()
                        || call.says(&[
                            "-l",
                            "--list",
                            "--contains",
                            "--points-at",
                            "--merged",
                            "-n",
                            "--sort",
                        ]))
            }
            "git remote" => matches!(first, None | Some("show" | "get-url")),
            "git stash" => matches!(first, Some("list" | "show")),
            "git config" => {
                let changes = call.may_begin(&[
                    "--add", "--unset", "--repl", "--ren", "--rem", "-e", "--ed", "--file=", "--blob",
                ]);
                let asks =
                    call.says(&["--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch"])
                        || matches!(first, Some("get" | "list"));
                !changes && (asks || operands.len() == 1)
            }
            "git worktree" | "git notes" | "git lfs" | "git sparse-checkout" => {
                matches!(first, Some("list" | "show" | "status" | "ls-files" | "env" | "version"))
            }
            "git submodule" => matches!(first, None | Some("status" | "summary")),
            "git bisect" => matches!(first, Some("log" | "view")),
            _ => false,
        };
        if looks {
            return self.file(EffectKind::Read, &Arg::exact("."));
        }
        match (call.name, first) {
            ("git branch" | "git tag", _) => {
                if call.may_begin(&["--edit", "-e"]) {
                    self.opaque(call.name);
                }
                let id =
                    operands.first().filter(|arg| arg.exact).map_or("*", |arg| arg.text.as_str()).to_owned();
                self.git_ref(&id);
            }
            ("git remote", Some("update" | "prune")) => {
                self.network(EffectKind::NetworkRead, "*");
                self.git_ref("*");
            }
            ("git remote", _) => self.git_settings(false),
            ("git config", _) => {
                if call.may_begin(&["-e", "--ed", "--file", "-f"]) {
                    self.opaque(call.name);
                }
                self.git_settings(call.says(&["--global", "--system"]));
            }
            ("git stash", Some("drop" | "clear")) => {
                self.emit(EffectKind::Delete, "git_ref", "stash", "workspace")
            }
            ("git stash", _) => self.git_ref("stash"),
            ("git worktree", Some("add")) => {
                self.git_ref("*");
                if let Some(path) = operands.get(1) {
                    self.file(EffectKind::Write, path);
                }
            }
            ("git worktree", Some("remove" | "prune")) => {
                self.file(EffectKind::Delete, operands.get(1).unwrap_or(&Arg::exact(".")))
            }
            ("git submodule", Some("foreach")) | ("git bisect", Some("run")) => self.opaque(call.name),
            ("git submodule", Some("deinit")) => {
                self.file(EffectKind::Delete, operands.get(1).unwrap_or(&Arg::exact(".")))
            }
            ("git submodule", Some("update" | "add")) => {
                self.network(EffectKind::NetworkRead, "*");
                self.git_ref("*");
            }
            ("git lfs" | "git subtree" | "git notes", Some("push")) => {
                self.emit(EffectKind::GitPush, "git_ref", "*", "*")
            }
            ("git lfs", Some("install" | "uninstall")) => self.git_settings(true),
            ("git lfs" | "git subtree", Some("pull" | "fetch" | "add")) => {
                self.network(EffectKind::NetworkRead, "*");
                self.git_ref("*");
            }
            _ => self.git_ref("*"),
        }
    }

    fn git_write(&mut self, call: &Call<'_>) -> Result<(), Refusal> {
        let name = call.name.trim_start_matches("git ");
        let operands = call.operands().to_vec();
        let here = Arg::exact(".");
        if call.may_begin(&[
            "--upload",
            "--receive",
            "--templ",
            "--config",
            "--ext",
            "--tool",
            "--open",
            "--gpg-",
            "-S!",
            "--exec",
        ]) && name != "rebase"
            && name != "add"
            && name != "commit"
            && name != "checkout"
            && name != "reset"
        {
            let unsure = call.args.iter().any(|arg| {
                ["--upload", "--receive", "--templ", "--config", "--ext", "--tool", "--open", "--exec"]
                    .iter()
                    .any(|front| arg.prefix.starts_with(front))
            });
            if unsure || matches!(name, "clone" | "fetch" | "pull" | "archive" | "ls-remote") {
                self.opaque(call.name);
            }
        }
        let urls = operands.iter().any(|arg| arg.prefix.contains("::"));
        if urls {
            self.opaque(call.name);
            return Ok(());
        }
        match name {
            "rm" => {
                if !call.says(&["--cached"]) {
                    for arg in &operands {
                        self.file(EffectKind::Delete, arg);
                    }
                }
                self.git_ref("index");
            }
            "mv" => {
                for arg in operands.iter().rev().skip(1) {
                    self.file(EffectKind::Delete, arg);
                }
                if let Some(last) = operands.last() {
                    self.file(EffectKind::Write, last);
                }
                self.git_ref("index");
            }
            "clean" => {
                if !call.says(&["-n", "--dry-run", "-nd", "-dn", "-ndx"])
                    || call.may_begin(&["-f", "--force"])
                {
                    let targets =
                        if operands.is_empty() { std::slice::from_ref(&here) } else { operands.as_slice() };
                    for arg in targets {
                        self.file(EffectKind::Delete, arg);
                    }
                } else {
                    self.file(EffectKind::Read, &here);
                }
            }
            "reset" | "checkout" | "restore" | "switch" | "read-tree" => {
                self.git_ref("HEAD");
                // Work that is in no commit is lost.
                let hard = call.may_begin(&[
                    "--hard",
                    "--merge",
                    "--keep",
                    "-f",
                    "--force",
                    "--discard",
                    "-B",
                    "-C",
                    "--reset",
                    "-u",
                ]);
                let paths = call.args.iter().position(|arg| arg.exact && arg.text == "--");
                let after: Vec<Arg> =
                    paths.map(|at| call.args.get(at + 1..).unwrap_or_default().to_vec()).unwrap_or_default();
                let only_index = call.says(&["--staged", "-S"]) && !call.says(&["--worktree", "-W"]);
                if name == "restore" && !only_index {
                    for arg in &operands {
                        self.file(EffectKind::Delete, arg);
                    }
                } else if hard && name != "restore" {
                    self.emit(EffectKind::Delete, "file", ".", "workspace");
                } else if name == "checkout" {
                    // `git checkout NAME` is a branch or a file: only a branch if it is said to be one.
                    let creates = call.may_begin(&["-b", "--orphan", "--track", "-t"]);
                    let dot = operands.iter().any(|arg| {
                        !arg.exact || arg.text == "." || arg.text.contains('.') && arg.text.contains('/')
                    });
                    for arg in &after {
                        self.file(EffectKind::Delete, arg);
                    }
                    if !creates && (dot || operands.len() > 1) && after.is_empty() {
                        for arg in &operands {
                            self.file(EffectKind::Delete, arg);
                        }
                    }
                }
            }
            "apply" | "am" => {
                for arg in &operands {
                    self.file(EffectKind::Read, arg);
                }
                if !call.says(&["--check", "--stat", "--numstat", "--summary"]) {
                    self.tree(&here);
                    self.git_ref("HEAD");
                }
            }
            "rebase" => {
                let mut args = call.args.iter();
                while let Some(arg) = args.next() {
                    let text = match arg.prefix.as_str() {
                        "-x" | "--exec" => args.next().cloned(),
                        other if other.starts_with("--exec=") => arg.after("--exec="),
                        other if other.starts_with("-x") => arg.after("-x"),
                        other if other.starts_with("--ex") => Some(Arg::unknown()),
                        _ => None,
                    };
                    if let Some(text) = text {
                        if text.exact { self.inner_text(&text.text)? } else { self.opaque(&text.text) }
                    }
                }
                self.git_ref("HEAD");
            }
            "pull" | "fetch" | "ls-remote" | "clone" => {
                match operands.first() {
                    Some(from) if from.prefix.contains("://") => self.url(EffectKind::NetworkRead, from),
                    Some(from) if from.prefix.contains('@') && from.prefix.contains(':') => {
                        let host = from
                            .prefix
                            .split('@')
                            .nth(1)
                            .unwrap_or_default()
                            .split(':')
                            .next()
                            .unwrap_or_default()
                            .to_owned();
                        self.network(EffectKind::NetworkRead, &host);
                    }
                    Some(from) if name == "clone" => self.file(EffectKind::Read, from),
                    _ => self.network(EffectKind::NetworkRead, "*"),
                }
                if name == "clone" {
                    let from = operands.first().map(|arg| arg.text.trim_end_matches('/')).unwrap_or_default();
                    let derived = from
                        .rsplit(['/', ':'])
                        .next()
                        .unwrap_or_default()
                        .trim_end_matches(".git")
                        .to_owned();
                    let into = operands.get(1).cloned().unwrap_or_else(|| {
                        if derived.is_empty() { Arg::unknown() } else { Arg::exact(derived) }
                    });
                    self.file(EffectKind::Write, &into);
                } else if name != "ls-remote" {
                    self.git_ref("*");
                }
            }
            "format-patch" | "archive" | "bundle" => {
                let output =
                    call.args.iter().zip(call.args.iter().skip(1)).find(|(arg, _)| {
                        arg.exact && matches!(arg.text.as_str(), "-o" | "--output" | "create")
                    });
                if let Some((_, file)) = output {
                    self.file(EffectKind::Write, &file.clone());
                }
                for arg in call
                    .args
                    .iter()
                    .filter(|arg| arg.prefix.starts_with("--output") || arg.prefix.starts_with("-o"))
                {
                    let value = arg
                        .after("--output=")
                        .or_else(|| arg.after("--output-directory="))
                        .or_else(|| arg.after("-o"));
                    if let Some(value) = value.filter(|it| !it.text.is_empty()) {
                        self.file(EffectKind::Write, &value);
                    }
                }
                if call.may_begin(&["--remote"]) {
                    self.opaque(call.name);
                }
                self.file(EffectKind::Read, &here);
                if name == "format-patch" && !call.says(&["--stdout"]) {
                    self.file(EffectKind::Write, &here);
                }
            }
            "filter-branch" | "mergetool" | "difftool" => self.opaque(call.name),
            "prune" | "gc" => {
                self.git_ref("*");
                self.emit(EffectKind::Delete, "git_ref", "unreachable objects", "workspace");
            }
            "add" | "stage" | "update-index" => self.git_ref("index"),
            "init" => self.file(EffectKind::Write, operands.first().unwrap_or(&here)),
            _ => self.git_ref("HEAD"),
        }
        Ok(())
    }

    fn git_push(&mut self, call: &Call<'_>) {
        if call.may_begin(&["--receive", "--exec"])
            && call.args.iter().any(|arg| arg.prefix.starts_with("--r") || arg.prefix.starts_with("--e"))
        {
            self.opaque(call.name);
        }
        let operands = call.operands().to_vec();
        let remote = operands.first();
        if operands.iter().any(|arg| arg.prefix.contains("::")) {
            self.opaque(call.name);
        }
        let domain = remote.map_or("*", |remote| match remote.prefix.split_once("://") {
            Some((_, rest)) => rest.split('/').next().unwrap_or("*").rsplit('@').next().unwrap_or("*"),
            None if remote.prefix.contains('@') => {
                remote.prefix.split('@').nth(1).unwrap_or("*").split(':').next().unwrap_or("*")
            }
            None if remote.exact => "git",
            None => "*",
        });
        let name = remote.filter(|remote| remote.exact).map_or("*", |remote| remote.text.as_str());
        let refs: Vec<String> = operands
            .iter()
            .skip(1)
            .map(|arg| if arg.exact { arg.text.clone() } else { "*".to_owned() })
            .collect();
        let all = call.may_begin(&["--all", "--mirror", "--tags", "--prune", "--branches", "--follow-tags"]);
        if refs.is_empty() || all {
            self.emit(EffectKind::GitPush, "git_ref", &format!("{name} *"), domain);
        }
        for reference in refs {
            self.emit(EffectKind::GitPush, "git_ref", &format!("{name} {reference}"), domain);
        }
    }
}

fn all_exact(args: &[Arg]) -> Option<Vec<String>> {
    args.iter().map(|arg| arg.exact.then(|| arg.text.clone())).collect()
}

/// An argument that could be an option that nobody sees.
fn risky_argument(arg: &Arg) -> bool {
    !arg.exact && (arg.prefix.is_empty() && !arg.pattern || arg.prefix.starts_with('-'))
}

/// `let` and `declare -i` evaluate their arguments.
fn name_is_arithmetic(call: &Call<'_>) -> bool {
    call.name == "let"
        || matches!(call.name, "declare" | "typeset" | "local")
            && (call.parsed.has("-i") || call.parsed.has("-n"))
}

/// Options that carry code.
fn is_inline(name: &str, option: &str) -> bool {
    if option.starts_with("--") {
        let fronts = [
            "--eval",
            "--print",
            "--exec",
            "--command",
            "--run",
            "--input-type",
            "--interactive",
            "--expr",
            "--inspect",
        ];
        return fronts.iter().any(|front| option.starts_with(front))
            && !(name == "node" && option.starts_with("--run"));
    }
    let letters = option.trim_start_matches('-');
    match name {
        "python" | "python2" | "python3" | "pypy" | "pypy3" | "ipython" => letters.contains(['c', 'i']),
        "node" | "nodejs" | "ts-node" | "tsx" | "ts-node-dev" | "babel-node" | "esno" | "jiti" | "coffee"
        | "electron" => letters.chars().next().is_some_and(|it| matches!(it, 'e' | 'p' | 'i')),
        "php" => letters.contains(['r', 'B', 'R', 'E', 'd', 'a']),
        _ => letters.contains(['e', 'E', 'c', 'i', 'x', 'r', 'n', 'p']),
    }
}

/// `{}` of a `find -exec` is a file below the folder that is searched.
fn found_by_find(arg: &Arg, root: &Arg) -> Arg {
    if !arg.text.contains("{}") {
        return arg.clone();
    }
    if arg.text != "{}" || !root.exact {
        return Arg::unknown();
    }
    let text = format!("{}/*", root.text.trim_end_matches('/'));
    let prefix = text.trim_end_matches('*').to_owned();
    Arg { text, prefix, exact: false, pattern: true, many: false }
}
