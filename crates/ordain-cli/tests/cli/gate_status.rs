//! `ordain status`: its exit codes, its waiting, and lists that are longer than a page.

use crate::harness::{Kind, Project, proposal, ran};
use serde_json::Value as Json;
use std::time::{Duration, Instant};

/// Spends the permit of a new action and reports how it went.
fn went(room: &Project, id: &str, number: u64, outcome: &str) {
    let file = format!("{id}.json");
    room.write(&file, &proposal(id, "crm", number).to_string());
    let status = room.run(&["submit", &file, "--json"]).ended(0).json();
    let permit = status["permit"]["permit_id"].as_str().unwrap();
    room.run(&["permit", "use", permit, "--for", &file]).ended(0);
    room.run(&["status", id]).ended(0).says("running");
    room.run(&["permit", "outcome", permit, outcome]).ended(0);
}

#[test]
fn the_exit_code_says_where_an_action_stands() {
    let room = Project::with_gate(Kind::File);
    room.run(&["status"]).ended(0).says("no actions yet");
    room.run(&["status", "--state", "held"]).ended(0).says("no such actions");
    room.write("empty.json", "{}");
    room.run(&["submit", "empty.json"]).ended(1).says("run `ordain verify --kind action empty.json`");
    room.run(&["verify", "--kind", "action", "empty.json"]).ended(3);
    for (number, (outcome, code)) in
        [("succeeded", 0), ("failed", 22), ("unknown", 23)].into_iter().enumerate()
    {
        went(&room, outcome, number as u64, outcome);
        room.run(&["status", outcome]).ended(code).says(outcome);
        room.run(&["status", outcome, "--json"]).ended(code);
        // The same proposal again gives the recorded answer.
        room.run(&["submit", &format!("{outcome}.json")]).ended(code);
    }
    room.write("held.json", &proposal("held", "sales", 7).to_string());
    room.run(&["submit", "held.json"]).ended(20);
    room.run(&["status", "held"]).ended(20);
    room.run_as("alice", &["approver"], &["reject", "held", "--reason", "no"]).ended(21);
    room.run(&["status", "held"]).ended(21);
    room.run(&["status"]).ended(0);
    room.run(&["status", "nobody"]).ended(1);
}

#[test]
fn nobody_waits_longer_than_there_is_time() {
    let room = Project::with_gate(Kind::File);
    room.write("p.json", &proposal("p", "crm", 1).to_string());
    room.run(&["submit", "p.json", "--wait", "18446744073709551615"]).ended(0);
    for wait in ["18446744073709551615", "9223372036854775808", "0"] {
        room.run(&["status", "p", "--wait", wait]).ended(0).says("allowed");
    }
}

#[test]
fn a_list_is_followed_to_its_end() {
    let room = Project::with_gate(Kind::File);
    let ids: Vec<String> = (0..7).map(|number| format!("p{number}")).collect();
    for (number, id) in ids.iter().enumerate() {
        let mut long = proposal(id, "crm", number as u64);
        long["parameters"]["updates"]["note"] = Json::String("x".repeat(900_000));
        room.write("p.json", &long.to_string());
        room.run(&["submit", "p.json"]).calm();
    }
    let token = room.token("audrey", &["auditor"]);
    let server = room.serve();
    let listed = |ran: crate::harness::Ran| -> Vec<String> {
        ran.ended(0).lines().iter().map(|it| it["action_id"].as_str().unwrap().to_owned()).collect()
    };
    let ids: Vec<String> = ids.into_iter().rev().collect();
    assert_eq!(listed(room.run(&["status", "--json"])), ids);
    let mut remote = room.command(&["status", "--json", "--server", &server.url()]);
    assert_eq!(listed(crate::harness::ran(remote.env("ORDAIN_TOKEN", token))), ids);
    server.stop();
}

#[test]
fn what_is_asked_of_the_wrong_place_is_told() {
    let room = Project::with_gate(Kind::File);
    room.write("p.json", &proposal("p", "crm", 1).to_string());
    room.run(&["submit", "p.json"]).ended(0);
    room.run(&["halt", "--reason", "smoke in the room"]).ended(0);
    for status in [&["status"][..], &["status", "p"]] {
        room.run(status).ended(0).says("halted by olga just now (20").says("smoke in the room");
    }
    room.run(&["ledger", "show", "99"]).ended(0).says("there are no entries from 99 on; the ledger has");
    room.run(&["init", "other", "--store", "mysql://db/ordain"]).ended(1).says("lies in a registered folder");
    Project::empty().run(&["init", "--store", "mysql://db/ordain"]).ended(64).says("postgres://");
    let token = room.token("audrey", &["auditor"]);
    let server = room.serve();
    let remote = |url: &str| {
        crate::harness::ran(room.command(&["status", "--server", url]).env("ORDAIN_TOKEN", &token)).ended(1)
    };
    let url = server.url();
    remote(&format!("{url}/v1")).says("name the server by its address alone");
    remote(&url.replace("http:", "https:")).says("does not speak TLS");
    server.stop();
}

/// Submits a proposal that is held.
fn hold(room: &Project, id: &str, number: u64) {
    let file = format!("{id}.json");
    room.write(&file, &proposal(id, "sales", number).to_string());
    room.run(&["submit", &file]).ended(20);
}

#[test]
fn the_next_action_in_a_state_is_waited_for() {
    let room = Project::with_gate(Kind::File);
    hold(&room, "before", 1);
    // One that was there before is not the next one.
    let started = Instant::now();
    room.run(&["status", "--state", "held", "--wait", "1"])
        .ended(1)
        .says("no other action was held within 1 s");
    assert!(started.elapsed() >= Duration::from_secs(1));
    let token = room.token("audrey", &["auditor"]);
    let server = room.serve();
    for (number, at_server) in [(2, false), (3, true)] {
        let id = format!("next-{number}");
        let mut command = room.command(&["status", "--state", "held", "--wait", "60", "--json"]);
        if at_server {
            command.env("ORDAIN_SERVER", server.url()).env("ORDAIN_TOKEN", &token);
        }
        let waiting = std::thread::spawn(move || ran(&mut command));
        std::thread::sleep(Duration::from_millis(700));
        hold(&room, &id, number);
        let found = waiting.join().unwrap().ended(0).json();
        assert_eq!((&found["action_id"], &found["state"]), (&id.into(), &"held".into()));
    }
    server.stop();
    for wrong in [&["status", "--wait", "5"][..], &["status", "--wait"]] {
        room.run(wrong).ended(64).says("ID");
    }
    room.run(&["status", "--state", "nonsense"]).ended(64).says_all(&["held", "superseded"]);
}

#[test]
fn ids_can_be_abbreviated() {
    let room = Project::with_gate(Kind::File);
    hold(&room, "push", 1);
    hold(&room, "push-again", 2);
    for number in 0..12 {
        hold(&room, &format!("many-{number:02}"), 10 + number);
    }
    for (named, id) in
        [("push", "push"), ("push-", "push-again"), ("push-ag…", "push-again"), ("many-03", "many-03")]
    {
        assert_eq!(room.run(&["status", named, "--json"]).ended(20).json()["action_id"], id, "{named}");
    }
    // An ambiguous one names its candidates, but not all of them.
    let many = room.run(&["status", "m"]).ended(64).says_all(&[
        "`many-00`",
        "`many-09`",
        "and more",
        "type more of the id",
    ]);
    assert!(!many.all().contains("many-10"), "{}", many.all());
    room.run(&["approve", "p", "--view", "x"]).ended(64).says_all(&["`push`", "`push-again`"]);
    let dossier = room.run(&["dossier", "push-a", "-o", "push.json", "--json"]).ended(0).json();
    assert_eq!(dossier["action_id"], "push-again");
    room.run(&["report", "push-a"]).ended(0).says("Action push-again");
    // A permit goes by its action too.
    room.write("go.json", &proposal("go-now", "crm", 98).to_string());
    let permit = room.run(&["submit", "go.json", "--json"]).ended(0).json()["permit"]["permit_id"].clone();
    let permit = permit.as_str().unwrap();
    for named in ["go-n", permit.trim_end_matches("ow"), permit] {
        assert_eq!(room.run(&["permit", "show", named, "--json"]).ended(0).json()["permit_id"], permit);
    }
    room.run(&["permit", "use", "go", "--for", "go.json"]).ended(0);
    room.run(&["permit", "outcome", "go-", "succeeded"]).ended(0).says("succeeded");
    for named in ["push-again", "permit_0_go-now", "permit_0", "nobody", "…"] {
        room.run(&["permit", "show", named]).ended(1).says("hint: ");
    }
    room.run(&["status", "nobody"]).ended(1).says_all(&["no action `nobody`", "`ordain status`"]);
    for nothing in ["", "…", "%", "_"] {
        room.run(&["status", nothing]).ended(1);
    }
    let user = room.run_as("alice", &["approver"], &["reject", "push-", "--reason", "no"]);
    user.ended(21);
    // A proposal that takes the place of another one.
    room.write("new.json", &proposal("new", "sales", 99).to_string());
    room.run(&["submit", "new.json", "--supersedes", "many-11"]).ended(20);
    assert_eq!(room.run(&["status", "many-11", "--json"]).json()["state"], "superseded");
    // Shells are offered the ids of what is held.
    let offered = room.run(&["completions", "--ids", "held"]).ended(0);
    assert!(offered.stderr.is_empty() && offered.stdout.contains("many-03\n"), "{}", offered.all());
    assert!(!offered.stdout.contains("push-again"), "{}", offered.stdout);
    Project::empty().run(&["completions", "--ids", "held"]).ended(0);
}
