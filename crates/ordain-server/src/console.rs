//! The console: the files of `console/`, as they are, in the program.

use crate::app::App;
use crate::host::{ConsoleOrigin, Hosts};
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::OnceLock;

/// Nothing runs but the console's own modules, nothing is sent but to its own server, and no text becomes markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";
/// The same for everything else, which is data.
pub(crate) const POLICY_OF_DATA: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";
/// Offers of browsers to pages, and the few that the console uses.
const PERMISSIONS: &str = "publickey-credentials-get=(self), publickey-credentials-create=(self), clipboard-write=(self), \
    camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()";

struct File {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

impl File {
    /// The same, compressed; all of them when somebody asks for the first.
    fn small(&self) -> &'static [u8] {
        static SMALL: OnceLock<BTreeMap<&'static str, Vec<u8>>> = OnceLock::new();
        let compress = |file: &File| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            // Writing to memory does not fail; without the bytes the file goes as it is.
            let written = encoder.write_all(file.bytes).and_then(|()| encoder.finish());
            (file.path, written.unwrap_or_default())
        };
        let all = SMALL.get_or_init(|| FILES.iter().chain([&SHELL]).map(compress).collect());
        all.get(self.path).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Names the files of `console/` once, for the program and for the router.
macro_rules! files {
    ($($kind:literal: $($name:literal,)*;)*) => {
        &[$($(File {
            path: concat!("/console/", $name),
            kind: $kind,
            bytes: include_bytes!(concat!("../../../console/", $name)),
        },)*)*]
    };
}

static FILES: &[File] = files! {
    "text/javascript; charset=utf-8":
        "action.js", "api.js", "app.js", "diff.js", "gate.js", "inbox.js", "ledger.js", "login.js", "parts.js",
        "passkey.js", "proof.js", "words.js", "vendor/hooks.mjs", "vendor/htm.mjs", "vendor/preact.mjs",;
    "text/css; charset=utf-8": "console.css",;
    "image/svg+xml": "icon.svg",;
    "application/manifest+json": "manifest.webmanifest",;
};

static SHELL: File = File {
    path: "/",
    kind: "text/html; charset=utf-8",
    bytes: include_bytes!("../../../console/index.html"),
};

/// The pages, all of which are the shell: the modules read the address.
const PAGES: &[&str] = &["/", "/actions", "/i/{id}", "/ledger", "/gate"];

pub(crate) fn router() -> Router<App> {
    let pages = PAGES.iter().fold(Router::new(), |router, path| router.route(path, get(page)));
    let add = |router: Router<App>, file: &'static File| {
        router.route(file.path, get(move |request: Request| async move { give(file, request.headers()) }))
    };
    FILES.iter().fold(pages, add)
}

/// A route of the console, as the router has it.
pub(crate) fn known(route: &str) -> Option<&'static str> {
    let pages = PAGES.iter().copied();
    pages.chain(FILES.iter().map(|file| file.path)).find(|known| *known == route)
}

/// The shell. Other names of this machine lead to the one origin that sessions and passkeys belong to.
async fn page(request: Request) -> Response {
    let hosts = request.extensions().get::<Hosts>();
    let origin = hosts.and_then(|hosts| ConsoleOrigin::of(hosts, request.uri(), request.headers()));
    match origin {
        Some(origin) if !origin.is_here => {
            let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
            let to = format!("{}{path}", origin.text);
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response()
        }
        _ => give(&SHELL, request.headers()),
    }
}

fn give(file: &'static File, asked: &HeaderMap) -> Response {
    let takes_gzip = asked
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .any(|value| value.to_str().unwrap_or_default().split(',').any(|coding| coding.trim() == "gzip"));
    let small = if takes_gzip { file.small() } else { &[] };
    let is_small = !small.is_empty();
    let bytes: &'static [u8] = if is_small { small } else { file.bytes };
    let mut response = ([(header::CONTENT_TYPE, file.kind)], bytes).into_response();
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_small {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    let policies = [("permissions-policy", PERMISSIONS), ("cross-origin-opener-policy", "same-origin")];
    for (name, value) in policies {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Bytes that a browser loads at most.
    const BYTES_MAX: usize = 60 << 10;

    fn below(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                below(&entry.path(), &format!("{name}/"), found);
            } else {
                found.insert(name);
            }
        }
    }

    #[test]
    fn every_file_of_the_console_is_served() {
        let mut there = BTreeSet::new();
        below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console"), "", &mut there);
        there.retain(|name| !name.ends_with(".md") && !name.contains("LICENSE"));
        let served = FILES.iter().map(|file| file.path.strip_prefix("/console/").unwrap().to_owned());
        assert_eq!(there, served.chain(["index.html".to_owned()]).collect());
    }

    /// The bytes that npm has under these names, but for one import in the hooks; the test in a browser compares them
    /// with npm's.
    #[test]
    fn vendored_files_are_the_ones_that_were_reviewed() {
        for (path, hash) in [
            (
                "/console/vendor/preact.mjs",
                "bdcbd9abdf2c77c5c45326eab42191e949222d479d0d5f69467387a77040cb55",
            ),
            ("/console/vendor/hooks.mjs", "427a330c992595bfd3f6cfe43eb6ba7a238ea1a7fa99c0e4a8f380a30dde473b"),
            ("/console/vendor/htm.mjs", "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4"),
        ] {
            let file = FILES.iter().find(|file| file.path == path).unwrap();
            assert_eq!(
                ordain_canon::ContentHash::of(file.bytes).to_string(),
                format!("sha256:{hash}"),
                "{path}"
            );
        }
    }

    #[test]
    fn the_console_is_small() {
        let bytes = FILES.iter().chain([&SHELL]).map(|file| file.small().len()).sum::<usize>();
        assert!(bytes <= BYTES_MAX, "{bytes} bytes");
    }
}
