//! Others can check what the gate gives out, with programs that are not ours: permits with PyJWT and with
//! npm's `jose`, proofs and checkpoints with Go. They refuse changed ones, and so do we.

use crate::harness::{Kind, Project, Ran, fed, proposal, ran};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const PYJWT: &str = r#"
import json, sys, jwt
asked = json.load(sys.stdin)
keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(asked["jwks"]).keys}
def read(token):
    try:
        key = keys[jwt.get_unverified_header(token)["kid"]]
        return jwt.decode(token, key.key, algorithms=["EdDSA"], audience="worker")
    except (jwt.PyJWTError, KeyError, ValueError):
        return None
print(json.dumps([read(token) for token in asked["tokens"]]))
"#;

const JOSE: &str = r#"
import { createLocalJWKSet, jwtVerify } from "jose";
let text = "";
for await (const part of process.stdin) text += part;
const asked = JSON.parse(text);
const keys = createLocalJWKSet(asked.jwks);
const read = async (token) => {
  try {
    return (await jwtVerify(token, keys, { algorithms: ["EdDSA"], audience: "worker" })).payload;
  } catch {
    return null;
  }
};
console.log(JSON.stringify(await Promise.all(asked.tokens.map(read))));
"#;

#[test]
fn permits_with_pyjwt_and_jose() {
    let room = Project::with_gate(Kind::File);
    let agent = room.token("agent-1", &["actor"]);
    let server = room.serve();
    let permit = |id: &str| {
        let status = server.client(&agent).post("/v1/actions", &proposal(id, "crm", 1)).unwrap().is(201);
        status["permit"]["token"].as_str().unwrap().to_owned()
    };
    let old = permit("before-the-rotation");
    room.run(&["keys", "rotate"]).ended(0);
    server.hang_up();
    let new = permit("after-the-rotation");
    let jwks = server.client(&agent).get("/.well-known/jwks.json").unwrap().is(200);
    assert_eq!(jwks["keys"].as_array().unwrap().len(), 2);
    let mut tokens = vec![old.clone(), new.clone()];
    tokens.extend([&old, &new].into_iter().flat_map(|token| tampered(token)));
    // The key of another gate.
    let other = Project::with_gate(Kind::File);
    other.write("p.json", &proposal("p", "crm", 1).to_string());
    let status = other.run(&["submit", "p.json", "--json"]).ended(0).json();
    tokens.push(status["permit"]["token"].as_str().unwrap().to_owned());

    let asked = json!({"jwks": jwks, "tokens": tokens}).to_string();
    let python = fed(Command::new("/usr/bin/python3").args(["-c", PYJWT]), asked.as_bytes()).ended(0).json();
    let node = node(JOSE, &asked).json();
    assert_eq!(python, node);
    for (place, claims) in python.as_array().unwrap().iter().enumerate() {
        assert_eq!(claims.is_object(), place < 2, "{place}: {claims}");
        // Our own answer is the same.
        room.write("permit.jwt", &tokens[place]);
        room.write("jwks.json", &jwks.to_string());
        let ran = room.run(&["permit", "verify", "permit.jwt", "--jwks", "jwks.json", "--json"]);
        assert_eq!(ran.code, i32::from(place >= 2), "{place}: {}", ran.all());
        if place < 2 {
            assert_eq!(ran.json()["jti"], claims["jti"]);
            assert_eq!(ran.json()["target_hash"], claims["target_hash"]);
        }
    }
    server.stop();
    room.sound();
}

/// The same permit with another claim, another signature, no signature, another algorithm.
fn tampered(token: &str) -> Vec<String> {
    use base64ct::{Base64UrlUnpadded, Encoding};
    let parts: Vec<&str> = token.split('.').collect();
    let recoded = |part: &str, from: &str, to: &str| {
        let text = String::from_utf8(Base64UrlUnpadded::decode_vec(part).unwrap()).unwrap();
        assert!(text.contains(from), "{from} is not in {text}");
        Base64UrlUnpadded::encode_string(text.replacen(from, to, 1).as_bytes())
    };
    let mut signature = Base64UrlUnpadded::decode_vec(parts[2]).unwrap();
    signature[10] ^= 1;
    let signature = Base64UrlUnpadded::encode_string(&signature);
    vec![
        format!(
            "{}.{}.{}",
            parts[0],
            recoded(parts[1], "\"max_executions\":1", "\"max_executions\":9"),
            parts[2]
        ),
        format!("{}.{}.{}", parts[0], recoded(parts[1], "\"agent-1\"", "\"agent-2\""), parts[2]),
        format!("{}.{}.{signature}", parts[0], parts[1]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}.", recoded(parts[0], "EdDSA", "none"), parts[1]),
        format!("{}.{}.{}", recoded(parts[0], "EdDSA", "HS256"), parts[1], parts[2]),
    ]
}

/// Runs a module where `cargo xtask test` has installed npm's packages.
fn node(module: &str, input: &str) -> Ran {
    let packages = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("node");
    assert!(
        packages.join("node_modules/jose").exists(),
        "npm's `jose` is missing; `cargo xtask test` installs it"
    );
    let mut node = Command::new("node");
    node.args(["--input-type=module", "--eval", module]).current_dir(packages);
    fed(&mut node, input.as_bytes()).ended(0)
}

#[test]
fn proofs_and_checkpoints_with_go() {
    let room = Project::with_gate(Kind::File);
    for number in 0..5 {
        let (name, id) = (format!("p-{number}.json"), format!("p-{number}"));
        room.write(&name, &proposal(&id, "crm", number).to_string());
        room.run(&["submit", &name]).ended(0);
    }
    let key = room.run(&["keys", "list", "--json"]).ended(0).json()["verifier"].as_str().unwrap().to_owned();
    let (verify, peer) = (build("verify"), build("peer"));
    let entries = room.entries();
    for (index, entry) in entries.iter().enumerate().step_by(3) {
        room.run(&["ledger", "prove", &index.to_string(), "-o", "entry.tlog-proof"]).ended(0);
        let proof = std::fs::read_to_string(room.path("entry.tlog-proof")).unwrap();
        let go = fed(Command::new(&verify).arg(&key), proof.as_bytes()).ended(0);
        assert_eq!(go.json(), entry["entry"], "entry {index}");
        let ours = room.run(&["verify", "entry.tlog-proof", "--key", &key, "--json"]).ended(0).json();
        assert_eq!((&ours["entry"], ours["index"].as_u64()), (&entry["entry"], Some(index as u64)));
        for changed in changed_lines(&proof) {
            fed(Command::new(&verify).arg(&key), changed.as_bytes()).ended(1);
            room.write("changed.tlog-proof", &changed);
            let ours = room.run(&["verify", "changed.tlog-proof", "--key", &key]).calm();
            assert!(matches!(ours.code, 2 | 3), "{}", ours.all());
        }
    }
    let note = room.run(&["ledger", "checkpoint"]).ended(0).stdout;
    room.run(&["ledger", "export", "exported"]).ended(0);
    assert_eq!(std::fs::read_to_string(room.path("exported/checkpoint")).unwrap(), note);
    let open = |note: &str| {
        let question = format!("open {key} {}\n", base64(note.as_bytes()));
        fed(&mut Command::new(&peer), question.as_bytes()).ended(0).stdout.starts_with("ok")
    };
    assert!(open(&note));
    room.write("checkpoint.txt", &note);
    room.run(&["ledger", "verify", "--checkpoint", "checkpoint.txt"]).ended(0);
    for (number, changed) in changed_lines(&note).into_iter().enumerate() {
        assert!(!open(&changed), "{changed}");
        room.write("checkpoint.txt", &changed);
        let ours = room.run(&["ledger", "verify", "--checkpoint", "checkpoint.txt"]).calm();
        // Another text is damage. Another name or hash of the key is one that nobody knows.
        let is_text = number < 3;
        assert!(ours.code == 1 || (!is_text && ours.code == 2), "{number}: {}", ours.all());
    }
    exported_tiles(&room, &peer, &entries);
    for program in [verify, peer] {
        std::fs::remove_file(program).unwrap();
    }
}

/// The exported files are enough to make a proof that Go accepts.
fn exported_tiles(room: &Project, peer: &Path, entries: &[Json]) {
    let size = entries.len();
    let tile = std::fs::read(room.path(&format!("exported/tile/0/000.p/{size}"))).unwrap();
    assert_eq!(tile.len(), size * 32);
    let checkpoint = std::fs::read_to_string(room.path("exported/checkpoint")).unwrap();
    let root = checkpoint.lines().nth(2).unwrap();
    let leaves: Vec<ordain_ledger::Hash> =
        tile.chunks(32).map(|hash| ordain_ledger::Hash::from_bytes(hash.try_into().unwrap())).collect();
    let tiles = [(ordain_ledger::TileId { level: 0, index: 0 }, leaves.clone())].into();
    let proof = ordain_ledger::inclusion_proof(4, size as u64, &tiles).unwrap();
    let hashes: String = proof.iter().map(|hash| format!(" {hash}")).collect();
    let ask = |leaf: ordain_ledger::Hash| {
        let question = format!("record {size} {root} 4 {leaf}{hashes}\n");
        fed(&mut Command::new(peer), question.as_bytes()).ended(0).stdout.starts_with("ok")
    };
    assert!(ask(leaves[4]));
    assert!(!ask(leaves[5]));
    // The entries of a bundle are those of the leaves.
    let bundle = std::fs::read(room.path(&format!("exported/tile/entries/000.p/{size}"))).unwrap();
    let (mut rest, mut found) = (bundle.as_slice(), Vec::new());
    while let [high, low, tail @ ..] = rest {
        let (entry, next) = tail.split_at(usize::from(*high) << 8 | usize::from(*low));
        found.push(ordain_ledger::Hash::of_leaf(entry));
        rest = next;
    }
    assert_eq!(found, leaves);
}

/// The same text with one character of each line another one.
fn changed_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let changed = |number: usize| {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        // Not the last character: of base64 it may not count.
        let at = lines[number].char_indices().nth(lines[number].chars().count() / 2).unwrap().0;
        let other = if lines[number].as_bytes()[at] == b'7' { "8" } else { "7" };
        let length = lines[number][at..].chars().next().unwrap().len_utf8();
        lines[number].replace_range(at..at + length, other);
        format!("{}\n", lines.join("\n"))
    };
    (0..lines.len()).filter(|number| !lines[*number].is_empty()).map(changed).collect()
}

fn base64(bytes: &[u8]) -> String {
    use base64ct::{Base64, Encoding};
    Base64::encode_string(bytes)
}

/// Builds a program of the ledger's tests without a network.
fn build(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join(format!("cli-{name}-{}", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../ordain-ledger/tests/go/{name}.go"));
    let mut go = Command::new("go");
    go.arg("build").arg("-o").arg(&program).arg(source);
    go.envs([("GO111MODULE", "off"), ("GOPATH", "/usr/share/gocode"), ("GOFLAGS", ""), ("CGO_ENABLED", "0")]);
    ran(go.env("GOCACHE", folder.join("go-cache"))).ended(0);
    program
}
