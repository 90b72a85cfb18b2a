//! Words with a meaning for more than one rule: technologies, units, verbs, opposites, and words without weight.

/// The purpose that a technology is chosen for. Within one of these a choice of one thing is a choice against
/// the others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    Language,
    Database,
    Authentication,
    Format,
    Framework,
    Protocol,
    Messaging,
    Platform,
    Region,
}

/// A name, its category, and whether the name is also an everyday word, which then counts only where the text shows
/// that it is meant.
#[derive(Debug)]
pub struct Technology {
    pub name: &'static str,
    pub category: Category,
    pub everyday: bool,
}

const fn named(name: &'static str, category: Category) -> Technology {
    Technology { name, category, everyday: false }
}

const fn everyday(name: &'static str, category: Category) -> Technology {
    Technology { name, category, everyday: true }
}

#[rustfmt::skip]
pub static TECHNOLOGIES: &[Technology] = {
    use Category::*;
    &[
        named("ada", Language), named("bash", Language), everyday("c", Language), named("c#", Language),
        named("c++", Language), named("clojure", Language), named("cobol", Language), everyday("dart", Language),
        named("elixir", Language), named("erlang", Language), named("f#", Language), named("fortran", Language),
        everyday("go", Language), named("golang", Language), named("groovy", Language), named("haskell", Language),
        named("java", Language), named("javascript", Language), everyday("julia", Language), named("kotlin", Language),
        named("lua", Language), named("matlab", Language), named("ocaml", Language), named("perl", Language),
        named("php", Language), named("powershell", Language), named("python", Language), named("python3", Language),
        everyday("r", Language), everyday("ruby", Language), everyday("rust", Language), named("scala", Language),
        everyday("shell", Language), everyday("swift", Language), named("typescript", Language), named("zig", Language),
        named("latex", Language), named("sh", Language), named("posix", Language), named("jq", Language), named("awk", Language), named("node", Language), named("nodejs", Language), named("sql", Language),
        named("cassandra", Database), named("clickhouse", Database), named("cockroachdb", Database),
        named("couchdb", Database), named("duckdb", Database), named("dynamodb", Database),
        named("elasticsearch", Database), named("firestore", Database), named("mariadb", Database),
        named("mongodb", Database), named("mongo", Database), named("mysql", Database), named("neo4j", Database),
        everyday("oracle", Database), named("postgres", Database), named("postgresql", Database),
        named("redis", Database), named("sqlite", Database), named("sqlserver", Database), named("memcached", Database),
        named("s3", Database),
        named("jwt", Authentication), named("oauth", Authentication), named("oauth2", Authentication),
        named("oidc", Authentication), named("openid", Authentication), named("saml", Authentication),
        named("ldap", Authentication), named("kerberos", Authentication), named("mtls", Authentication),
        named("passkey", Authentication), named("webauthn", Authentication), named("password", Authentication),
        named("passwords", Authentication), named("sso", Authentication), named("totp", Authentication),
        named("api-key", Authentication), named("cookie", Authentication),
        named("avro", Format), named("gif", Format), named("webp", Format), named("csv", Format), named("docx", Format), named("html", Format),
        named("json", Format), named("jsonl", Format), named("markdown", Format), named("parquet", Format),
        named("pdf", Format), named("png", Format), named("protobuf", Format), named("svg", Format),
        named("toml", Format), named("tsv", Format), named("xlsx", Format), named("excel", Format),
        named("xml", Format), named("yaml", Format), named("utf-8", Format), named("jpeg", Format),
        named("angular", Framework), named("swiftui", Framework), named("flutter", Framework), named("asp.net", Framework), named("quarkus", Framework), named("axum", Framework), named("django", Framework),
        everyday("express", Framework), named("fastapi", Framework), everyday("flask", Framework),
        named("laravel", Framework), named("nextjs", Framework), named("numpy", Framework), named("pandas", Framework),
        named("rails", Framework), everyday("react", Framework), everyday("spring", Framework),
        named("svelte", Framework), named("vue", Framework),
        named("graphql", Protocol), named("grpc", Protocol), named("http", Protocol), named("https", Protocol),
        named("mqtt", Protocol), named("rest", Protocol), named("restful", Protocol), named("sftp", Protocol),
        named("soap", Protocol), named("ssh", Protocol), named("tls", Protocol), named("websocket", Protocol),
        named("websockets", Protocol),
        named("kafka", Messaging), named("nats", Messaging), named("rabbitmq", Messaging), named("sqs", Messaging),
        named("aws", Platform), named("azure", Platform), named("debian", Platform), named("docker", Platform),
        named("gcp", Platform), named("kubernetes", Platform), named("linux", Platform), named("macos", Platform),
        named("terraform", Platform), named("ubuntu", Platform), named("windows", Platform), named("ansible", Platform),
    ]
};

/// Other names of the same thing.
pub static ALIASES: &[(&str, &str)] = &[
    ("golang", "go"),
    ("postgres", "postgresql"),
    ("mongo", "mongodb"),
    ("python3", "python"),
    ("oauth2", "oauth"),
    ("openid", "oidc"),
    ("nodejs", "node"),
    ("restful", "rest"),
    ("websockets", "websocket"),
    ("passwords", "password"),
];

/// File extensions that say which language something is written in, or which format it has.
#[rustfmt::skip]
pub static EXTENSIONS: &[(&str, Category)] = &[
    ("c", Category::Language), ("cpp", Category::Language), ("cs", Category::Language), ("go", Category::Language),
    ("java", Category::Language), ("js", Category::Language), ("kt", Category::Language), ("lua", Category::Language),
    ("php", Category::Language), ("pl", Category::Language), ("py", Category::Language), ("rb", Category::Language),
    ("rs", Category::Language), ("scala", Category::Language), ("sh", Category::Language), ("sql", Category::Language),
    ("swift", Category::Language), ("ts", Category::Language), ("tsx", Category::Language), ("tf", Category::Language),
    ("csv", Category::Format), ("html", Category::Format), ("json", Category::Format), ("md", Category::Format),
    ("pdf", Category::Format), ("toml", Category::Format), ("xlsx", Category::Format), ("xml", Category::Format),
    ("yaml", Category::Format), ("yml", Category::Format), ("txt", Category::Format),
];

/// A unit: what it measures, and how many of the smallest make one.
#[derive(Debug)]
pub struct Unit {
    pub names: &'static [&'static str],
    pub measures: &'static str,
    pub factor: f64,
}

#[rustfmt::skip]
pub static UNITS: &[Unit] = &[
    Unit { names: &["ns", "nanosecond", "nanoseconds"], measures: "time", factor: 1e-6 },
    Unit { names: &["µs", "us", "microsecond", "microseconds"], measures: "time", factor: 1e-3 },
    Unit { names: &["ms", "msec", "millisecond", "milliseconds"], measures: "time", factor: 1.0 },
    Unit { names: &["s", "sec", "secs", "second", "seconds"], measures: "time", factor: 1e3 },
    Unit { names: &["min", "mins", "minute", "minutes"], measures: "time", factor: 6e4 },
    Unit { names: &["h", "hr", "hrs", "hour", "hours"], measures: "time", factor: 3.6e6 },
    Unit { names: &["day", "days"], measures: "time", factor: 8.64e7 },
    Unit { names: &["week", "weeks"], measures: "time", factor: 6.048e8 },
    Unit { names: &["month", "months"], measures: "time", factor: 2.63e9 },
    Unit { names: &["year", "years"], measures: "time", factor: 3.156e10 },
    Unit { names: &["b", "byte", "bytes"], measures: "size", factor: 1.0 },
    Unit { names: &["kb", "kilobyte", "kilobytes"], measures: "size", factor: 1e3 },
    Unit { names: &["mb", "megabyte", "megabytes"], measures: "size", factor: 1e6 },
    Unit { names: &["gb", "gigabyte", "gigabytes"], measures: "size", factor: 1e9 },
    Unit { names: &["tb", "terabyte", "terabytes"], measures: "size", factor: 1e12 },
    Unit { names: &["kib"], measures: "size", factor: 1024.0 },
    Unit { names: &["mib"], measures: "size", factor: 1_048_576.0 },
    Unit { names: &["gib"], measures: "size", factor: 1_073_741_824.0 },
    Unit { names: &["%", "percent"], measures: "share", factor: 1.0 },
    Unit { names: &["px", "pixel", "pixels"], measures: "pixels", factor: 1.0 },
    Unit { names: &["mm"], measures: "length", factor: 1.0 },
    Unit { names: &["cm"], measures: "length", factor: 10.0 },
    Unit { names: &["m", "meter", "meters", "metre", "metres"], measures: "length", factor: 1e3 },
    Unit { names: &["km", "kilometer", "kilometers"], measures: "length", factor: 1e6 },
    Unit { names: &["kg", "kilogram", "kilograms"], measures: "weight", factor: 1e3 },
    Unit { names: &["g", "gram", "grams"], measures: "weight", factor: 1.0 },
    Unit { names: &["hz"], measures: "frequency", factor: 1.0 },
    Unit { names: &["khz"], measures: "frequency", factor: 1e3 },
    Unit { names: &["mhz"], measures: "frequency", factor: 1e6 },
    Unit { names: &["ghz"], measures: "frequency", factor: 1e9 },
    Unit { names: &["rps", "qps", "tps"], measures: "rate", factor: 1.0 },
    Unit { names: &["$", "usd", "dollar", "dollars"], measures: "dollars", factor: 1.0 },
    Unit { names: &["€", "eur", "euro", "euros"], measures: "euros", factor: 1.0 },
    Unit { names: &["character", "characters", "chars"], measures: "characters", factor: 1.0 },
    Unit { names: &["time", "times"], measures: "times", factor: 1.0 },
];

pub static NUMBER_WORDS: &[(&str, f64)] = &[
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("twelve", 12.0),
    ("twenty", 20.0),
    ("hundred", 100.0),
    ("thousand", 1000.0),
    ("million", 1e6),
];

/// Verbs that a request starts with. They tell a sentence that asks for something from one that explains.
#[rustfmt::skip]
pub static REQUEST_VERBS: &[&str] = &[
    "adapt", "add", "adjust", "allow", "analyse", "analyze", "apply", "audit", "automate", "backfill", "benchmark",
    "build", "bump", "cache", "change", "check", "clean", "collect", "combine", "compare", "compose", "compress", "compute",
    "configure", "connect", "consolidate", "convert", "copy", "correct", "cover", "create", "debug", "define", "delete",
    "deploy", "deprecate", "describe", "design", "develop", "disable", "document", "draft", "drop", "edit", "enable",
    "encrypt", "enforce", "ensure", "establish", "evaluate", "explain", "export", "expose", "extend", "extract", "fetch",
    "filter", "find", "fix", "format", "generate", "give", "group", "guard", "handle", "harden", "implement", "import",
    "improve", "include", "index", "inline", "install", "instrument", "integrate", "introduce", "investigate", "isolate",
    "let", "limit", "link", "list", "log", "make", "measure", "merge", "migrate", "mock", "model", "modernise",
    "modernize", "monitor", "move", "normalise", "normalize", "optimise", "optimize", "organise", "organize", "parse",
    "patch", "pin", "plan", "port", "prepare", "prevent", "print", "produce", "profile", "protect", "provide", "publish",
    "put", "query", "read", "rebuild", "record", "redact", "redesign", "reduce", "refactor", "refresh", "reject",
    "release", "remove", "rename", "render", "reorganise", "reorganize", "replace", "report", "require", "research",
    "reset", "resolve", "restore", "restrict", "restructure", "return", "review", "revoke", "rewrite", "roll", "rotate",
    "run", "sanitise", "sanitize", "schedule", "scan", "search", "secure", "send", "serve", "set", "setup", "ship",
    "show", "simplify", "sort", "specify", "split", "standardise", "standardize", "start", "stop", "store", "stream",
    "structure", "summarise", "summarize", "support", "switch", "sync", "test", "trace", "track", "train", "transform",
    "translate", "truncate", "tune", "turn", "unify", "update", "upgrade", "upload", "use", "validate", "verify",
    "visualise", "visualize", "wire", "wrap", "write",
    "alert", "archive", "assign", "backport", "block", "close", "decouple", "decode", "detect", "emit", "encode",
    "escape", "gate", "hide", "ignore", "invalidate", "keep", "lock", "mark", "mask", "notify", "open", "paginate",
    "persist", "preserve", "promote", "prune", "raise", "recover", "register", "retire", "retry", "seed", "skip",
    "strip", "surface", "throttle", "tighten", "trim",
];

/// More verbs that a request may start with. They split a goal into parts; no clarity rule counts them.
#[rustfmt::skip]
pub static MORE_VERBS: &[&str] = &[
    "abort", "accelerate", "activate", "aggregate", "align", "allocate", "amend", "annotate", "announce", "append", "approve", "arrange", "ask", "assemble", "assess", "attach", "auto-scale",
    "back", "ban", "batch", "bind", "book", "bootstrap", "bring", "broadcast", "calculate", "calibrate", "call", "cancel", "cap", "capture", "cherry-pick", "clear", "clone", "coalesce",
    "compile", "concatenate", "confirm", "containerise", "containerize", "count", "crop", "cut", "deactivate", "debounce", "decommission", "decrease", "decrypt", "dedupe", "deduplicate",
    "defer", "degrade", "delay", "delegate", "deliver", "paint", "demote", "denormalize", "deny", "derive", "detach", "diagnose", "disallow", "discard", "disconnect", "dispatch", "display", "distribute",
    "divide", "dockerize", "double", "downgrade", "downscale", "drain", "dump", "duplicate", "eliminate", "email", "embed", "enlarge", "enqueue", "enrich", "enroll", "erase", "escalate",
    "estimate", "evict", "exclude", "execute", "expand", "expire", "externalise", "externalize", "fail", "fill", "finish", "flag", "flatten", "flip", "flush", "forbid", "force", "forward",
    "freeze", "fuzz", "gather", "grant", "halve", "hash", "highlight", "host", "identify", "increase", "inject", "insert", "inspect", "invert", "invite", "join", "kill", "label", "launch",
    "lint", "load", "localise", "localize", "loosen", "lower", "mail", "map", "match", "memoize", "minify", "minimise", "minimize", "mirror", "mount", "mute", "nest", "obfuscate",
    "offload", "onboard", "order", "outline", "overwrite", "pack", "package", "partition", "paste", "pause", "perform", "permit", "ping", "pivot", "place", "poll", "populate", "post",
    "precompute", "prefetch", "prefix", "preload", "prepend", "prioritise", "prioritize", "proofread", "propagate", "prototype", "provision", "proxy", "pull", "purge", "push", "quarantine",
    "quantize", "queue", "quote", "randomise", "randomize", "rate-limit", "re-enable", "reach", "rearrange", "reassign", "rebase", "reboot", "recalculate", "reconcile", "recompile", "recreate",
    "redeploy", "redirect", "reformat", "regenerate", "reindex", "relax", "reload", "relocate", "renew", "reopen", "reorder", "repair", "repeat", "replay", "replicate", "reproduce",
    "request", "reroute", "rescale", "reserve", "reshape", "resize", "respond", "restart", "restyle", "resume", "retain", "retrain", "reuse", "revert", "rework", "rollback", "round",
    "route", "sample", "sandbox", "save", "scaffold", "scale", "segment", "select", "separate", "serialise", "serialize", "shard", "share", "shift", "shorten", "shrink", "shut", "sign",
    "silence", "slice", "snapshot", "solder", "spawn", "speed", "squash", "stabilise", "stabilize", "stage", "stub", "subscribe", "substitute", "suppress", "suspend", "swap", "tag", "tear", "terminate",
    "tidy", "time", "toggle", "tokenize", "tweak", "unblock", "undo", "uninstall", "unlock", "unpin", "unsubscribe", "upscale", "vacuum", "vendor", "version", "visit", "void", "wait", "warm", "warn", "watch",
    "whitelist", "allowlist", "blocklist", "widen", "wipe", "withdraw", "zip",
];

/// Words that may come before an article and are not imperatives.
#[rustfmt::skip]
pub static NO_IMPERATIVE: &[&str] = &[
    "a", "about", "above", "across", "after", "against", "all", "along", "although", "among", "an", "and", "any", "anyone", "are", "around", "as", "at", "be", "because",
    "before", "behind", "below", "beneath", "beside", "between", "beyond", "both", "but", "by", "can", "could", "currently", "despite", "did", "do", "does", "down", "during",
    "each", "either", "even", "ever", "every", "except", "few", "for", "from", "given", "had", "half", "has", "have", "he", "here", "how", "however", "i", "if", "in", "inside", "into",
    "is", "it", "its", "just", "like", "many", "may", "might", "most", "must", "my", "near", "neither", "no", "nor", "not", "now", "of", "off", "on", "once", "one", "only", "onto",
    "or", "our", "out", "outside", "over", "per", "plus", "rather", "shall", "she", "should", "since", "so", "some", "still", "such", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "though", "through", "throughout", "till", "to", "today", "too", "toward", "towards", "twice", "under", "unless", "unlike", "until", "up", "upon", "via", "was", "we",
    "were", "what", "when", "where", "whereas", "whether", "which", "while", "who", "whom", "whose", "why", "will", "with", "within", "without", "would", "yes", "yet", "you", "your",
    "data", "everyone", "everybody", "nobody", "people", "someone", "staff", "support", "maybe", "perhaps", "thus", "hence", "also", "note", "instead", "besides",
];

/// Verbs, pronouns and the like that leave a goal without an object when nothing else is in it.
#[rustfmt::skip]
pub static EMPTY_GOAL_WORDS: &[&str] = &[
    "all", "again", "anything", "asap", "bit", "bug", "bugs", "can", "care", "complete", "continue", "could", "deal",
    "do", "done", "everything", "finish", "for", "get", "go", "going", "good", "great", "happen", "have", "help",
    "here", "hey", "hi", "hello", "improvement", "improvements", "in", "is", "issue", "issues", "job", "just", "keep",
    "kindly", "lot", "magic", "my", "need", "needs", "nice", "nicely", "now", "of", "off", "ok", "okay", "on", "one",
    "ones", "out", "over", "perfect", "please", "problem", "problems", "proceed", "properly", "quick", "quickly",
    "really", "right", "should", "some", "something", "soon", "sort", "stuff", "take", "task", "thanks", "that", "the",
    "there", "thing", "things", "this", "to", "today", "try", "up", "us", "want", "way", "well", "will", "with", "work",
    "works", "would", "you", "your", "better", "best", "faster", "fast", "nicer", "cleaner", "clean", "more", "less",
    "much", "very", "so", "too", "also", "and", "or", "be", "as", "at", "by", "if", "possible", "needed", "whatever",
    "a", "an", "it", "its", "they", "them", "these", "those", "i", "me", "we", "he", "she", "him", "her", "our", "like",
    "think", "best", "ideal", "working", "running", "broken", "wrong", "mess", "before", "same", "usual", "first",
    "somehow", "someone", "how", "what", "when", "modern", "scalable", "robust", "simple", "simpler", "easy", "easier",
    "awesome", "cool", "yes", "no", "already", "look", "see", "attachment", "attached", "call", "discussed", "yesterday", "per",
    "mentioned", "above", "below", "started", "thing's", "efficient", "smart", "smarter", "safe", "safer", "stable", "pretty", "prettier",
];

/// Words that say nothing about which thing is meant, dropped before two statements are compared.
#[rustfmt::skip]
pub static WEIGHTLESS: &[&str] = &[
    "a", "all", "also", "always", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by", "can",
    "configured", "current", "do", "does", "each", "every", "exactly", "for", "from", "has", "have", "having", "here", "i", "in", "into", "is",
    "it", "its", "least", "may", "might", "more", "most", "must", "need", "needs", "of", "on", "onto", "or", "our",
    "shall", "should", "so", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "to", "use", "used", "uses", "using", "value", "was", "we", "were", "which", "will", "with", "would", "you", "your",
    "system", "service", "server", "application", "app", "program", "software", "tool", "product", "run", "runs",
    "listen", "listens", "set", "equal", "equals", "required", "requires", "require", "ensure", "please", "get", "only", "exclusively",
    "not", "never", "no", "avoid", "don't", "doesn't", "mustn't", "cannot", "can't", "shouldn't", "ever",
    "both", "either", "neither", "nor", "support", "supports", "supported", "new", "forbidden", "prohibited", "allowed",
    "permitted", "disallowed", "mandatory", "acceptable", "tolerable", "tolerated", "ok", "okay", "fine", "stay", "stays", "remain", "remains", "take", "takes", "nobody", "none", "happen", "happens",
];

/// Words of quality and what measures them: with such a figure anywhere in the constraints the word is settled.
pub static QUALITY_MEASURES: &[(&[&str], &[&str])] = &[
    (
        &[
            "fast",
            "faster",
            "quick",
            "quickly",
            "slow",
            "responsive",
            "snappy",
            "performant",
            "efficient",
            "efficiently",
            "timely",
        ],
        &["time", "rate", "frequency"],
    ),
    (&["reliable", "reliably", "stable", "robust"], &["share"]),
    (&["scalable"], &["rate", ""]),
    (&["lightweight", "minimal"], &["size"]),
    (&["affordable", "cheap"], &["dollars", "euros"]),
];

/// Opposites: of the same thing both cannot hold.
#[rustfmt::skip]
pub static OPPOSITES: &[(&str, &str)] = &[
    ("ascending", "descending"), ("asc", "desc"), ("enable", "disable"), ("enabled", "disabled"), ("allow", "deny"),
    ("allow", "forbid"), ("allow", "block"), ("allow", "prevent"), ("allowed", "denied"), ("allowed", "forbidden"),
    ("allowed", "prohibited"), ("permit", "forbid"), ("permitted", "forbidden"), ("synchronous", "asynchronous"),
    ("synchronously", "asynchronously"), ("sync", "async"),
    ("synchronous", "asynchronously"), ("synchronously", "asynchronous"), ("synchronously", "async"), ("sync", "asynchronous"), ("synchronous", "async"), ("sync", "asynchronously"), ("required", "optional"), ("mandatory", "optional"),
    ("public", "private"), ("include", "exclude"), ("included", "excluded"), ("on", "off"), ("online", "offline"),
    ("encrypted", "unencrypted"), ("encrypted", "plaintext"), ("mutable", "immutable"),
    ("case-sensitive", "case-insensitive"), ("read-only", "writable"), ("increase", "decrease"), ("open", "closed"),
    ("accept", "reject"), ("show", "hide"), ("visible", "hidden"), ("stateless", "stateful"),
    ("single-threaded", "multi-threaded"), ("blocking", "non-blocking"), ("signed", "unsigned"), ("keep", "remove"),
    ("keep", "delete"), ("retain", "delete"), ("add", "remove"), ("start", "stop"), ("uppercase", "lowercase"),
    ("local", "remote"), ("static", "dynamic"), ("anonymous", "authenticated"),
    ("sorted", "unsorted"), ("ordered", "unordered"), ("cached", "uncached"), ("opt-in", "opt-out"),
    ("compressed", "uncompressed"), ("manual", "automatic"), ("manually", "automatically"), ("ipv4", "ipv6"),
    ("light", "dark"), ("active", "inactive"), ("activate", "deactivate"), ("positive", "negative"), ("even", "odd"),
    ("newest", "oldest"), ("sensitive", "insensitive"), ("tabs", "spaces"), ("single-tenant", "multi-tenant"), ("horizontal", "vertical"), ("inclusive", "exclusive"),
    ("big-endian", "little-endian"), ("monolith", "microservices"), ("persistent", "ephemeral"),
];

/// Words that end a noun phrase.
#[rustfmt::skip]
pub static PHRASE_ENDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "because", "but", "by", "can", "for", "from", "has", "have", "i", "if", "in", "into",
    "is", "it", "must", "of", "on", "or", "shall", "should", "so", "such", "than", "that", "the", "then", "they", "to",
    "using", "was", "we", "were", "what", "when", "where", "which", "while", "who", "will", "with", "you", "without", "between",
    "before", "after", "over", "under", "via", "per", "every", "each", "once", "daily", "nightly", "weekly", "until", "unless", "not", "may", "might", "could", "would",
];

/// Words beside which an `or` leaves no choice open.
#[rustfmt::skip]
pub static OR_INSIDE: &[&str] = &[
    "one", "two", "more", "less", "not", "whether", "if", "when", "unless", "any", "no", "without", "fewer",
    "greater", "equal", "later", "earlier", "higher", "above", "below", "null", "empty", "missing", "so", "similar",
    "something", "whatever",
];

/// Words that leave a list open; those that mean something else inside a sentence count only at its end.
#[rustfmt::skip]
pub static OPEN_ENDS: &[(&[&str], bool)] = &[
    (&["etc"], false),
    (&["and", "so", "on"], false),
    (&["and", "so", "forth"], false),
    (&["and", "the", "like"], false),
    (&["among", "others"], false),
    (&["but", "not", "limited", "to"], false),
    (&["and", "more"], true),
    (&["and", "others"], true),
    (&["or", "similar"], true),
    (&["or", "something"], true),
    (&["or", "whatever"], true),
    (&["and", "stuff"], true),
];

/// Things that exist before the work starts.
#[rustfmt::skip]
pub static SOURCES: &[&str] = &[
    "account", "api", "article", "book", "bucket", "channel", "city", "company", "csv", "database", "dataset", "directory", "document", "email", "endpoint", "feed", "file",
    "folder", "image", "list", "log", "page", "pdf", "person", "product", "project", "repo", "repository", "server", "site",
    "spreadsheet", "table", "text", "topic", "url", "video", "website", "webpage", "stock",
];

/// Words that ask for advice.
#[rustfmt::skip]
pub static ADVICE: &[&str] = &[
    "recommend", "recommendation", "recommendations", "suggest", "suggestion", "suggestions", "advice", "advise",
    "tips", "idea", "ideas", "guidance", "inspiration", "teach", "learn", "tutorial", "tutorials", "strategies", "techniques",
    "routine", "organize", "organise", "plan", "guide", "ways", "resources", "courses", "schedule",
];

/// Words of quality, which need a measure.
#[rustfmt::skip]
pub static QUALITIES: &[&str] = &[
    "acceptable", "adequate", "adequately", "aesthetic", "affordable", "appropriate", "appropriately", "attractive",
    "balanced", "better", "carefully", "cheap", "clean", "cleaner", "comfortable", "comfortably", "comprehensive", "convenient",
    "conveniently", "cool", "creative", "cumbersome", "decent", "detailed", "eco-friendly", "easier", "easily", "easy", "effective", "effectively", "efficient",
    "efficiently", "elegant", "engaging", "extensible", "fancy", "fast", "faster", "flexible", "flexibly", "friendly", "fun", "future-proof", "good", "graceful", "gracefully",
    "great", "healthy", "healthier", "helpful", "high-quality", "ideal", "ideally", "interesting", "intuitive", "intuitively", "legible", "lightweight", "maintainable", "meaningful",
    "minimal", "minimally", "natural", "neat", "nice", "nicer", "nicely", "optimal", "optimally", "performant", "pleasant", "polished", "powerful", "pretty", "professional",
    "proper", "properly", "quick", "quickly", "readable", "reasonable", "reasonably", "reliable", "reliably", "responsive",
    "robust", "satisfactory", "scalable", "seamless", "seamlessly", "sensible", "simple", "simpler", "simply", "sleek", "slick", "slow", "smooth",
    "smoothly", "snappy", "sophisticated", "stable", "strong", "stylish", "sufficient", "sufficiently", "suitable", "suitably", "thorough", "thoroughly", "timely",
    "updatable", "useful", "user-friendly", "user-intuitive", "well", "compatible", "consistent", "consistently", "secure", "securely", "safe", "safely",
];

/// Abbreviations that name a kind of thing, not a thing.
#[rustfmt::skip]
pub static COMMON_ABBREVIATIONS: &[&str] = &[
    "ai", "api", "apis", "cd", "ci", "cli", "crm", "db", "erp", "faq", "gui", "id", "ids", "it", "ml", "ok", "pr",
    "qa", "ui", "url", "urls", "ux",
];

/// Superlatives that no ending shows.
pub static SUPERLATIVES: &[&str] =
    &["best", "worst", "perfect", "ultimate", "must-have", "must-haves", "top-notch", "most"];

/// Words that end like superlatives and are none.
#[rustfmt::skip]
pub static ENDS_LIKE_SUPERLATIVE: &[&str] = &[
    "latest", "request", "interest", "digest", "manifest", "harvest", "protest", "suggest", "invest",
    "contest", "forest", "honest", "attest", "pytest", "doctest", "unittest",
];

/// Words of sentences in which an `or` describes cases or lists what is wanted; it leaves no choice open.
#[rustfmt::skip]
pub static OR_DESCRIBES: &[&str] = &[
    "able", "accept", "accepts", "according", "any", "each", "every", "export", "exports", "if", "import", "never",
    "no", "not", "regardless", "support", "supports", "unless", "until", "when", "whenever", "whether", "without",
];
