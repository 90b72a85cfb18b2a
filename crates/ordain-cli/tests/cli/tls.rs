//! `ordain serve` with TLS, and the command line as its client.

use crate::harness::{Guarded, Kind, Project, Ran, Server, fed, ran};
use ordain_testkit::{Authority, ServerCertificate};
use serde_json::{Value as Json, json};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

const FILES: [&str; 4] = ["--tls-cert", "chain.pem", "--tls-key", "key.pem"];

fn put(room: &Project, signed: &ServerCertificate) {
    room.write("chain.pem", &signed.certificate);
    room.write("key.pem", &signed.key);
    std::fs::set_permissions(room.path("key.pem"), PermissionsExt::from_mode(0o600)).unwrap();
}

fn serve(room: &Project, signed: &ServerCertificate) -> Server {
    put(room, signed);
    room.serve_with(&FILES).unwrap_or_else(|ran| panic!("{}", ran.all()))
}

/// Another name for the machine of a server.
fn at(server: &Server, name: &str) -> String {
    format!("https://{name}:{}", server.address.rsplit(':').next().unwrap())
}

/// Asks the server for the state of the gate.
fn ask(room: &Project, url: &str, token: &str, options: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = room.command(&["status", "--server", url]);
    ran(command.args(options).env("ORDAIN_TOKEN", token).envs(variables.iter().copied()))
}

#[test]
fn a_client_trusts_the_authorities_it_is_told_and_says_what_is_wrong() {
    let room = Project::with_gate(Kind::File);
    let (authority, other) = (Authority::new("tests"), Authority::new("others"));
    room.write("ca.pem", &authority.pem());
    room.write("other.pem", &other.pem());
    room.write("both.pem", &format!("{}{}", other.pem(), authority.pem()));
    let token = room.token("audrey", &["auditor"]);
    let server = serve(&room, &authority.sign(&["localhost"]));
    assert!(server.url().starts_with("https://127.0.0.1:"), "{}", server.url());
    let url = at(&server, "localhost");
    let with = |options: &[&str], variables: &[(&str, &str)]| ask(&room, &url, &token, options, variables);
    with(&["--cacert", "ca.pem"], &[]).ended(0);
    with(&["--cacert", "both.pem"], &[]).ended(0);
    with(&[], &[("ORDAIN_CACERT", "ca.pem")]).ended(0);
    // The authorities of the machine are those of its files.
    with(&[], &[("SSL_CERT_FILE", "ca.pem")]).ended(0);
    let unknown = "its certificate has an unknown issuer";
    // A machine may have no authorities of its own.
    with(&[], &[("SSL_CERT_FILE", "other.pem")])
        .ended(1)
        .says_all(&[unknown, "hint: name the authority that signed it with `--cacert FILE`"]);
    let not_in = "hint: the authority that signed it is not in `other.pem`";
    with(&["--cacert", "other.pem"], &[("ORDAIN_CACERT", "ca.pem")]).ended(1).says_all(&[unknown, not_in]);
    with(&["--cacert", "missing.pem"], &[]).ended(64).says("missing.pem: No such file");
    with(&["--cacert", "ordain.toml"], &[]).ended(64).says("not a file of certificates in PEM");
    room.run(&["status", "--cacert", "ca.pem"]).ended(64).says("--server");
    let wrong = ask(&room, &at(&server, "127.0.0.1"), &token, &["--cacert", "ca.pem"], &[]);
    wrong
        .ended(1)
        .says_all(&["its certificate is for `localhost`, not for `127.0.0.1`", "https://localhost"]);
    // The token is not sent to a server that is not believed, and TLS is not left out by mistake.
    let plain = ask(&room, &format!("http://{}", server.address), &token, &[], &[]);
    plain.ended(1).says_all(&["this address speaks TLS", "use https://"]);
    server.stop();
    let server = serve(&room, &authority.sign_in(&["localhost"], 2000..2001));
    let expired = ask(&room, &at(&server, "localhost"), &token, &["--cacert", "ca.pem"], &[]);
    expired
        .ended(1)
        .says_all(&["its certificate expired at 2001-01-01T00:00:00Z", "hint: the server needs a new"]);
    assert!(server.log().contains("the certificate has expired, and clients refuse it"), "{}", server.log());
    server.stop();
    let server = serve(&room, &authority.sign_in(&["localhost"], 2090..2091));
    let early = ask(&room, &at(&server, "localhost"), &token, &["--cacert", "ca.pem"], &[]);
    early
        .ended(1)
        .says_all(&["its certificate is not valid before 2090-01-01T00:00:00Z", "hint: check the clock"]);
    server.stop();
    let server = room.serve();
    let plain = ask(&room, &at(&server, "localhost"), &token, &["--cacert", "ca.pem"], &[]);
    plain.ended(1).says("the server does not speak TLS; is it http://?");
    server.stop();
}

#[test]
fn a_hangup_takes_a_new_certificate_and_keeps_the_old_one_from_a_bad_file() {
    let room = Project::with_gate(Kind::File);
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    room.write("old.pem", &old.pem());
    room.write("new.pem", &new.pem());
    let token = room.token("audrey", &["auditor"]);
    let server = serve(&room, &old.sign(&["localhost"]));
    let url = at(&server, "localhost");
    let trusts = |file: &str| ask(&room, &url, &token, &["--cacert", file], &[]).code == 0;
    let hang_up = |said: &str| {
        assert!(
            std::process::Command::new("kill")
                .args(["-HUP", &server.pid().to_string()])
                .status()
                .unwrap()
                .success()
        );
        let started = Instant::now();
        while !server.log().contains(said) {
            assert!(started.elapsed() < Duration::from_secs(20), "`{said}` is not in {}", server.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    hang_up("the certificate is as it was");
    room.write("chain.pem", "nonsense");
    hang_up("the certificate stays as it was: the new one cannot be used");
    assert!(trusts("old.pem") && !trusts("new.pem"));
    put(&room, &new.sign(&["localhost"]));
    hang_up("another certificate is in use");
    assert!(trusts("new.pem") && !trusts("old.pem"));
    server.stop();
}

#[test]
fn tokens_do_not_travel_unencrypted_and_files_that_do_not_fit_are_refused() {
    let room = Project::with_gate(Kind::File);
    room.token("audrey", &["auditor"]);
    let authority = Authority::new("tests");
    put(&room, &authority.sign(&["localhost"]));
    let refused = |arguments: &[&str], code: i32, words: &[&str]| {
        let mut all = vec!["serve"];
        all.extend(arguments);
        room.run(&all).ended(code).says_all(words);
    };
    let unencrypted =
        ["tokens would travel unencrypted", "--tls-cert FILE --tls-key FILE", "--public-url https://"];
    refused(&["--listen", "0.0.0.0:0"], 64, &unencrypted);
    refused(&["--listen", "0.0.0.0:0", "--public-url", "http://gate.example"], 64, &unencrypted);
    let open = ["--listen", "http://0.0.0.0:0", "--tls-cert", "chain.pem", "--tls-key", "key.pem"];
    refused(&open, 64, &unencrypted);
    refused(&["--tls-cert", "chain.pem"], 64, &["--tls-key"]);
    refused(&["--listen", "https://127.0.0.1:0"], 64, &["needs a certificate"]);
    let with = |more: &[&'static str]| [&FILES[..], more].concat();
    refused(&with(&["--listen", "unix:gate.sock"]), 64, &["no address speaks TLS"]);
    refused(&with(&["--public-url", "http://gate.example"]), 64, &["is a URL without TLS"]);
    refused(&with(&["--open"]), 64, &["without TLS only", "--listen http://127.0.0.1:7171"]);
    std::fs::set_permissions(room.path("key.pem"), PermissionsExt::from_mode(0o644)).unwrap();
    refused(&FILES, 1, &["key.pem: the key is not private", "chmod 600 key.pem"]);
    std::fs::rename(room.path("key.pem"), room.path("real.pem")).unwrap();
    std::os::unix::fs::symlink("real.pem", room.path("key.pem")).unwrap();
    refused(&FILES, 1, &["key.pem: the key is behind a link", "install -m 600"]);
}

/// The console keeps its address on this machine, beside one with TLS for everybody else.
#[test]
fn a_loopback_address_may_stay_without_tls() {
    let room = Project::with_gate(Kind::File);
    let authority = Authority::new("tests");
    room.write("ca.pem", &authority.pem());
    let token = room.token("audrey", &["auditor"]);
    put(&room, &authority.sign(&["localhost"]));
    let arguments = [&FILES[..], &["--listen", "http://127.0.0.1:0"]].concat();
    let server = room.serve_with(&arguments).unwrap_or_else(|ran| panic!("{}", ran.all()));
    // The log has its addresses by the time that it answers.
    ask(&room, &at(&server, "localhost"), &token, &["--cacert", "ca.pem"], &[]).ended(0);
    let listening: Vec<String> = server
        .log()
        .lines()
        .filter_map(|line| {
            serde_json::from_str::<Json>(line).ok()?["fields"]["address"].as_str().map(str::to_owned)
        })
        .collect();
    let [tls, plain] = &listening[..] else { panic!("{listening:?}") };
    assert!(tls.starts_with("https://") && plain.starts_with("http://"), "{listening:?}");
    ask(&room, plain, &token, &[], &[]).ended(0);
    server.stop();
}

/// A hook reads no variable: the authorities of its server are in its command line.
#[test]
fn a_job_asks_a_server_over_tls() {
    let guarded = Guarded::new();
    let room = &guarded.project;
    let authority = Authority::new("tests");
    room.write("ca.pem", &authority.pem());
    room.write("token", &room.token("agent-1", &["actor", "worker"]));
    let server = serve(room, &authority.sign(&["localhost"]));
    let url = at(&server, "localhost");
    let (ca, token) = (room.path("ca.pem"), room.path("token"));
    let mut setup =
        guarded.command(&["setup", "claude", "--project", "--json", "--actor", "agent-1", "--server", &url]);
    setup.arg("--token-file").arg(&token);
    room.write("other.pem", &Authority::new("others").pem());
    ran(setup.env("SSL_CERT_FILE", room.path("other.pem"))).ended(1).says("unknown issuer");
    let done = ran(setup.env("ORDAIN_CACERT", &ca)).ended(0).json();
    assert!(done["checks"].as_array().unwrap().iter().all(|check| check["ok"] == true), "{done}");
    let settings: Json = serde_json::from_str(&room.read(".claude/settings.local.json")).unwrap();
    let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    assert!(command.contains(&format!("--cacert {}", ca.display())), "{command}");
    let call = || {
        let event = guarded.event("Bash", json!({"command": "touch a.txt"}));
        let mut alone = std::process::Command::new("/bin/sh");
        alone.args(["-c", command]).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
        fed(&mut alone, event.as_bytes())
    };
    call().ended(0);
    room.write("ca.pem", &Authority::new("others").pem());
    call().ended(2).says("unknown issuer");
    server.stop();
}
