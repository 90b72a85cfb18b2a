//! Callers: the user of the operating system, and nobody whom an option or a variable names.

use crate::harness::{Kind, Project, count, ordain, proposal, ran};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// The help of a command and of those below it.
fn help_of_all(command: &[&str], seen: &mut Vec<(String, String)>) {
    let help = ordain(&[command, &["--help"]].concat(), "").ended(0).stdout;
    // The program itself lists its commands in groups.
    let listed = match command {
        [] => help.split("\nOptions:\n").next(),
        _ => help.split_once("\nCommands:\n").map(|(_, rest)| rest.split("\n\n").next().unwrap()),
    };
    for line in listed.unwrap_or_default().lines() {
        let name =
            line.split_whitespace().next().filter(|_| line.starts_with("  ") && !line.starts_with("   "));
        if let Some(name) = name.filter(|name| *name != "help") {
            help_of_all(&[command, &[name]].concat(), seen);
        }
    }
    seen.push((command.join(" "), help));
}

#[test]
fn no_command_lets_its_caller_choose_a_name() {
    let mut all = Vec::new();
    help_of_all(&[], &mut all);
    assert!(all.len() > 50, "{}", all.len());
    for (command, help) in all {
        let words: Vec<&str> =
            help.split(|it: char| !it.is_ascii_alphanumeric() && it != '-' && it != '_').collect();
        for word in ["--as", "ORDAIN_AS", "ORDAIN_USER", "--user-name"] {
            assert!(!words.contains(&word), "`ordain {command} --help` has {word}");
        }
    }
}

#[test]
fn the_environment_does_not_say_who_asks() {
    let room = Project::with_gate(Kind::File);
    room.write("p.json", &proposal("p1", "sales", 1).to_string());
    room.run(&["submit", "p.json"]).ended(20);
    let mut halt = room.command(&["halt", "--reason", "smoke"]);
    for name in ["USER", "LOGNAME", "USERNAME", "ORDAIN_AS", "SUDO_USER"] {
        halt.env(name, "alice");
    }
    ran(&mut halt).ended(0);
    let entries = room.entries();
    let halted = entries.iter().find(|entry| entry["entry"]["event"]["kind"] == "halted").unwrap();
    assert_eq!(halted["entry"]["by"], "olga");
}

/// Somebody at the machine hands in what their own agent wrote, and nothing under any other name.
#[test]
fn nobody_proposes_under_the_name_of_another() {
    let room = Project::with_gate(Kind::File);
    for (number, actor) in ["alice", "agent-2", "ordain", "root-of-all"].into_iter().enumerate() {
        let mut wanted = proposal(&format!("p{number}"), "crm", 1);
        wanted["actor"] = actor.into();
        room.write("p.json", &wanted.to_string());
        let said = format!("`olga` may not propose as `{actor}`");
        room.run(&["submit", "p.json"]).ended(1).says(&said);
    }
    room.write("p.json", &proposal("own", "crm", 1).to_string());
    room.run(&["submit", "p.json"]).ended(0);
    let entries = room.entries();
    assert_eq!(count(&entries, "submitted"), 1);
    // An actor that is another user of the machine is not this one, even if they are called the same.
    let entities = room.read("policy/entities.json");
    let user = crate::harness::os_user();
    let other = entities
        .replace("\"olga\"", &format!("\"{user}\""))
        .replace(&format!("\"os_user\":\"{user}\""), "\"os_user\":\"somebody-else\"");
    assert_ne!(other, entities);
    room.write("policy/entities.json", &other);
    room.push();
    room.write("q.json", &proposal("q", "crm", 2).to_string());
    room.run(&["submit", "q.json"]).ended(1).says("is another user");
}

/// Passes requests on to a server, and changes a word in its answers to another of the same length.
fn rewriting(address: String, from: &'static str, to: &'static str) -> String {
    assert_eq!(from.len(), to.len());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut head = Vec::new();
            let mut reader = BufReader::new(&mut client);
            let mut length = 0;
            loop {
                let start = head.len();
                reader.read_until(b'\n', &mut head).unwrap();
                let line = String::from_utf8_lossy(&head[start..]).to_lowercase();
                if let Some(value) = line.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let request = String::from_utf8([head, body].concat()).unwrap();
            let request = request.replacen("\r\n", "\r\nConnection: close\r\n", 1);
            let mut server = TcpStream::connect(&address).unwrap();
            server.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            server.read_to_string(&mut answer).unwrap();
            let _ = client.write_all(answer.replace(from, to).as_bytes());
        }
    });
    url
}

#[test]
fn a7_what_is_shown_has_the_digest_that_is_approved() {
    let room = Project::with_gate(Kind::File);
    room.write("p.json", &proposal("evil", "sales", 1).to_string());
    room.run(&["submit", "p.json"]).ended(20);
    let token = room.token("alice", &["approver"]);
    let server = room.serve();
    let honest = rewriting(server.address.clone(), "evil@example.org", "evil@example.org");
    let lying = rewriting(server.address.clone(), "evil@example.org", "good@example.org");
    let at = |url: &str, arguments: &[&str]| {
        ran(room.command(arguments).env("ORDAIN_SERVER", url).env("ORDAIN_TOKEN", &token))
    };
    for arguments in [&["status", "evil"][..], &["approve", "evil"], &["reject", "evil", "--reason", "no"]] {
        at(&lying, arguments).ended(1).says_all(&["was changed", "digest", "hint: look at the connection"]);
    }
    at(&honest, &["status", "evil"]).ended(20).says("evil@example.org");
    at(&honest, &["approve", "evil"]).ended(64).says("not a terminal");
    assert_eq!(count(&room.entries(), "approved"), 0);
    at(&honest, &["reject", "evil", "--reason", "no"]).ended(21);
    server.stop();
}
