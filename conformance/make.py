#!/usr/bin/env python3
"""Writes the conformance vectors: accept.json, reject.json and facts.json of every rule.

    python3 conformance/make.py            rewrite the vectors
    python3 conformance/make.py --check    compare them with the files on disk; exit 1 on a difference

The program is deliberately independent of the Rust code: it has its own canonical JSON, hashes
and ids, so that the vectors do not rest on the code they test. It needs nothing but Python 3.9.

For each rule there is one `Case`: a valid document, and one change that breaks this rule alone.
After the change the dependent ids and hashes are derived again (how much of them, `Seal` says),
because otherwise every change would also be a wrong hash. about.md is written by hand;
reject.report.json is written by the test harness. Neither is touched here.
"""

import copy
import hashlib
import json
import operator
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Callable, Optional

import decide

HERE = Path(__file__).resolve().parent


# --- canonical JSON, hashes, ids ---------------------------------------------------------------


def utf16(text: str) -> bytes:
    """Sort key: strings are ordered by UTF-16 code units, as in JavaScript."""
    return text.encode("utf-16-be")


def canonical(value: Any) -> str:
    """RFC 8785. The vectors use integers, and floats only of a form that every language
    prints the same way (`0.85`)."""
    if isinstance(value, dict):
        members = (f"{canonical(k)}:{canonical(value[k])}" for k in sorted(value, key=utf16))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def hex_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def hex_with_lf(value: Any) -> str:
    """Bundle hash, intent hash and the source of every derived id."""
    return hex_of(canonical(value) + "\n")


def hash_of(value: Any) -> str:
    """Hash of a plan, evidence, a payload, a file of a run: no line feed at the end."""
    return "sha256:" + hex_of(canonical(value))


def content_hash(content: str) -> str:
    """What `sha256sum FILE` prints."""
    return "sha256:" + hex_of(content)


def derived_id(prefix: str, covered: Any) -> str:
    return f"{prefix}_{hex_with_lf(covered)[:16]}"


def without(doc: dict, *fields: str) -> dict:
    return {key: value for key, value in doc.items() if key not in fields}


def only(doc: dict, *fields: str) -> dict:
    return {key: doc[key] for key in fields if key in doc}


# --- deriving again ----------------------------------------------------------------------------


class Seal(Enum):
    """What is derived again after the change."""

    FULL = "every id and hash from the inside out; what sorts by id is sorted again"
    OUTER = "only the outermost id: the parts keep their ids and their order"
    NONE = "nothing: the broken id or hash is the point"


def question_order(question: dict) -> tuple:
    return (-question["priority"], utf16(question["id"]))


def seal_question(question: dict) -> None:
    covered = only(question, "text", "expected_answer_type", "why_needed", "options")
    question["id"] = derived_id("q", covered)


def seal_node(node: dict, parent_id: Optional[str]) -> None:
    node["parent_id"] = parent_id
    node["id"] = derived_id("node", only(node, "parent_id", "goal", "constraints"))
    for question in node["unresolved_questions"]:
        seal_question(question)
    node["unresolved_questions"].sort(key=question_order)
    if "splitting_question" in node:
        splitting = node["splitting_question"]
        seal_question(splitting["question"])
        for branch in splitting["branches"]:
            named = {"question_id": splitting["question"]["id"], "answer": branch["answer"]}
            branch["branch_id"] = hex_with_lf(named)[:8]
        splitting["branches"].sort(key=lambda branch: branch["branch_id"])
    for child in node["children"]:
        seal_node(child, node["id"])
    node["children"].sort(key=lambda child: child["id"])


def nodes_of(node: dict, depth: int = 0) -> list:
    """(node, depth) of the whole tree, the root first."""
    below = (nodes_of(child, depth + 1) for child in node["children"])
    return [(node, depth)] + [pair for pairs in below for pair in pairs]


def leaves_of(root: dict) -> list:
    leaves = [node for node, _ in nodes_of(root) if not node["children"]]
    return copy.deepcopy(sorted(leaves, key=lambda node: node["id"]))


def seal_bundle(bundle: dict, seal: Seal) -> None:
    if seal is Seal.FULL:
        seal_node(bundle["root_node"], None)
        bundle["terminal_nodes"] = leaves_of(bundle["root_node"])
        for output in bundle["outputs"]:
            output["id"] = derived_id("out", only(output, "type", "path", "content"))
            output["content_hash"] = content_hash(output["content"])
        for question in bundle["unresolved_questions"]:
            seal_question(question)
        bundle["unresolved_questions"].sort(key=question_order)
    bundle["id"] = derived_id("bundle", without(bundle, "id"))


def seal_plan(plan: dict, seal: Seal) -> None:
    if seal is Seal.FULL:
        for action in plan["actions"]:
            if "expected_hash" in action:
                action["expected_hash"] = content_hash(action["content"])
            action["id"] = derived_id("act", without(action, "id"))
        plan["actions"].sort(key=lambda action: (action["order"], action["id"]))
        plan["acceptance_tests"].sort(key=lambda test: utf16(test["id"]))
    plan["id"] = derived_id("prop", without(plan, "id"))


def seal_patch(patch: dict, seal: Seal) -> None:
    for operation in patch["operations"]:
        if "content" in operation:
            operation["expected_hash"] = content_hash(operation["content"])
            operation["size_bytes"] = len(operation["content"].encode("utf-8"))
    patch["total_bytes"] = sum(operation.get("size_bytes", 0) for operation in patch["operations"])


def seal_packet(packet: dict, seal: Seal) -> None:
    packet["payload_hash"] = hash_of(packet["payload"])


def seal_note(note: dict, seal: Seal) -> None:
    note["hash"] = hex_of(canonical(without(note, "hash")))


SEALS = {"bundle": seal_bundle, "plan": seal_plan, "patch": seal_patch, "packet": seal_packet, "note": seal_note}


def rederive(kind: str, doc: dict, seal: Seal = Seal.FULL) -> dict:
    """Derives ids and hashes again, bottom-up. Kinds without any stay as they are."""
    if kind in SEALS and seal is not Seal.NONE:
        SEALS[kind](doc, seal)
    return doc


# --- one valid document of each kind -----------------------------------------------------------

LIMITS_FILE = "[public_api]\nrequests_per_minute = 100\nburst = 20\n"
TEST_COMMAND = "python3 -m pytest tests/test_rate_limit.py"
PER_KEY = "Count requests for each API key"
PER_ADDRESS = "Count requests for each client address"
GOAL = "Add a rate limit to the public API"
CONSTRAINTS = ["Allow 100 requests per minute", "Keep the limits in config/rate_limit.toml"]
NOW_MS = 1705171300000


def intent() -> dict:
    return {
        "goal": GOAL,
        "constraints": list(CONSTRAINTS),
        "context": {
            "files": [{"path": "config/rate_limit.toml", "content": LIMITS_FILE}],
            "commands": [{"argv": TEST_COMMAND.split(), "required": True}],
            "tests": [{"name": "The rate limit tests pass", "type": "command_success",
                       "target": TEST_COMMAND, "expected": "0", "required": True}],
        },
    }


def node(constraints: list, entropy_score: int, density_score: int, questions: list, children: list) -> dict:
    return {
        "id": "", "parent_id": None,
        "goal": GOAL,
        "constraints": sorted(constraints, key=utf16),
        "status": "expanding" if children else "terminal",
        "entropy": {"unresolved_refs": len(questions), "schema_gaps": 0, "contradiction_count": 0,
                    "branching_factor": len(children), "entropy_score": entropy_score},
        "density": {"concrete_constraints": len(constraints), "specified_outputs": 1,
                    "constraint_depth": 1, "density_score": density_score},
        "unresolved_questions": questions,
        "children": children,
    }


def question(text: str, why: str, gain: int, priority: int, **options: list) -> dict:
    return {"id": "", "text": text, "expected_answer_type": "choice" if options else "text",
            "why_needed": why, "information_gain": gain, "priority": priority, **options}


def output(type_: str, path: str, content: str, sources: list, confidence: int) -> dict:
    return {"id": "", "type": type_, "path": path, "content": content, "content_hash": "",
            "source_constraints": list(sources), "confidence": confidence}


def bundle_around(root: dict, outputs: list, questions: list) -> dict:
    tree = nodes_of(root)
    leaves = [each for each, _ in tree if not each["children"]]

    def average(measure: str, score: str) -> int:
        total = sum(leaf[measure][score] for leaf in leaves)
        return (2 * total + len(leaves)) // (2 * len(leaves))  # rounds half up

    return rederive("bundle", {
        "id": "",
        "schema_version": "0.1.0",
        "kernel_version": "0.1.0",
        "source_intent_hash": hex_with_lf(intent()),  # as written, this intent is already normalized
        "status": "incomplete" if questions else "complete",
        "root_node": root,
        "terminal_nodes": [],
        "outputs": outputs,
        "unresolved_questions": copy.deepcopy(questions),
        "stats": {
            "total_nodes": len(tree),
            "terminal_nodes": len(leaves),
            "max_depth": max(depth for _, depth in tree),
            "total_outputs": len(outputs),
            "unresolved_count": len(questions),
            "avg_terminal_entropy": average("entropy", "entropy_score"),
            "avg_terminal_density": average("density", "density_score"),
        },
    })


def bundle() -> dict:
    """Complete: one node, two outputs, nothing left to ask."""
    brief = f"# {GOAL}\n\n" + "".join(f"- {each}\n" for each in CONSTRAINTS)
    return bundle_around(node(CONSTRAINTS, 10, 75, [], []), [
        output("file", "config/rate_limit.toml", LIMITS_FILE, CONSTRAINTS[1:], 90),
        output("instruction", "context/brief.md", brief, CONSTRAINTS, 80),
    ], [])


def split_bundle() -> dict:
    """Incomplete: a root that splits on one question, and two leaves with a question each."""
    split = question("What is counted against the limit?", "The two ways need different storage.",
                     80, 90, options=[PER_KEY, PER_ADDRESS])
    new_key = question("What limit has a key that is one day old?", "New keys are often abused.", 40, 60)
    proxies = question("Which proxies may set the client address?", "Anyone can forge the header.", 55, 70)
    root = node(CONSTRAINTS, 60, 40, [split], [
        node(CONSTRAINTS + [PER_KEY], 40, 60, [new_key], []),
        node(CONSTRAINTS + [PER_ADDRESS], 45, 55, [proxies], []),
    ])
    root["splitting_question"] = {
        "question": copy.deepcopy(split),
        "branches": [{"branch_id": "", "answer": answer, "added_constraints": [answer]}
                     for answer in (PER_KEY, PER_ADDRESS)],
    }
    brief = f"# {GOAL}\n\nThree questions are open.\n"
    outputs = [output("instruction", "context/brief.md", brief, CONSTRAINTS, 45)]
    return bundle_around(root, outputs, [split, new_key, proxies])


PARTS = ["Add a rate limit to the public API.", "Describe it in docs/limits.md."]


def parts_bundle() -> dict:
    """Complete: a goal of two requests, and a leaf for each of them."""
    root = node(CONSTRAINTS, 20, 60, [], [node(CONSTRAINTS, 15, 70, [], []), node(CONSTRAINTS, 15, 70, [], [])])
    root["goal"] = " ".join(PARTS)
    for child, part in zip(root["children"], PARTS):
        child["goal"] = part
    outputs = [output("instruction", "context/brief.md", f"# {PARTS[0]}\n\n{PARTS[1]}\n", CONSTRAINTS, 70)]
    return bundle_around(root, outputs, [])


def plan() -> dict:
    source = bundle()
    files = [{"id": "", "type": "create_file", "target": made["path"], "content": made["content"],
              "expected_hash": made["content_hash"], "required": True,
              "description": f"Write {made['path']}", "order": 0} for made in source["outputs"]]
    command = {"id": "", "type": "execute_command", "target": TEST_COMMAND, "required": True,
               "description": "Run the rate limit tests", "order": 1}
    return rederive("plan", {
        "id": "",
        "schema_version": "1.0.0",
        "source_bundle_id": source["id"],
        "source_bundle_hash": "sha256:" + hex_with_lf(source),
        "actions": files + [command],
        "acceptance_tests": [
            {"id": "test_config_content", "name": "The configuration file is the planned one", "type": "hash_match",
             "target": "config/rate_limit.toml", "expected": content_hash(LIMITS_FILE), "required": True},
            {"id": "test_suite", **intent()["context"]["tests"][0]},
        ],
        "summary": "Adds the rate limit configuration and runs its tests.",
        "requires_approval": True,
        "confidence": 85,
    })


def plan_without_expected_hashes() -> dict:
    made = plan()
    for each in made["actions"]:
        each.pop("expected_hash", None)
    return rederive("plan", made)


def patch(*operations: dict) -> dict:
    standard = (
        {"op": "delete", "path": "config/old_limits.toml"},
        {"op": "create", "path": "config/rate_limit.toml", "content": LIMITS_FILE},
        {"op": "modify", "path": "docs/limits.md", "content": "# Limits\n\n100 requests per minute – für alle.\n"},
    )
    return rederive("patch", {
        "patch_schema_version": "1.0.0",
        "source_proposal_id": plan()["id"],
        "source_proposal_hash": hash_of(plan()),
        "operations": copy.deepcopy(list(operations or standard)),
        "total_bytes": 0,
    })


def action() -> dict:
    """The example of PROPOSAL_SPEC §6, without its precondition (which would need evidence)."""
    return {
        "proposal_id": "550e8400-e29b-41d4-a716-446655440000",
        "ts_ms": 1705171200000,
        "actor": "agent-sales-001",
        "action_type": "write",
        "target": {
            "resource_type": "crm_record", "resource_id": "contact-12345", "domain": "salesforce.com",
            "constraints": {"allowed_fields": ["email", "phone", "notes"],
                            "forbidden_fields": ["ssn", "credit_card"]},
        },
        "parameters": {"updates": {"email": "new@example.com", "notes": "Updated via automation"}},
        "risk_envelope": {
            "allowed_side_effects": ["audit_log_entry"],
            "forbidden_effects": ["email_notification", "workflow_trigger"],
            "max_affected_records": 1,
            "reversible_required": True,
        },
        "time_window": {"valid_from_ms": 1705171200000, "valid_until_ms": 1705171500000, "max_duration_ms": 30000},
        "approval_class": "none",
    }


def action_with_precondition() -> dict:
    precondition = {"field": "record_exists", "operator": "eq", "value": True, "evidence_ref": "evidence-001"}
    return {**action(), "preconditions": [precondition]}


def packet(**changed: Any) -> dict:
    return rederive("packet", {
        "evidence_id": "evidence-001",
        "packet_type": "api_response",
        "sensor_id": "crm-reader-1",
        "sensor_type": "api_client",
        "observed_at_ms": NOW_MS - 10000,
        "received_at_ms": NOW_MS - 9750,
        "payload": {"record_id": "contact-12345", "record_exists": True},
        "payload_hash": "",
        **changed,
    })


# Made with the key of RFC 8032 §7.1, TEST 1, over the canonical form of packet(). Whoever changes
# packet() signs again; the harness notices when the accepted packet no longer verifies.
PUBLIC_KEY = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
SIGNATURE = "tKmpazOUE8oS6dLSBj3-vGqgFoPDOfss0jT-mwmSiw10gbbu3JkFwPjyaadFghyxLZg2CO4UtI6govbjoJFAAQ"


def signed_packet() -> dict:
    return {**packet(), "sensor_signature": SIGNATURE}


def gated_action() -> dict:
    """What the approvals and decisions are about: it needs evidence, and two people who approve."""
    return {**action_with_precondition(), "approval_class": "dual"}


def approval(**changed: Any) -> dict:
    return {
        "proposal_hash": hash_of(gated_action()),
        "approver": "alice",
        "verdict": "approve",
        "reason": "The customer confirmed the new address by phone.",
        "view_digest": hash_of({"proposal": gated_action(), "evidence": [packet()]}),
        "at_ms": NOW_MS - 60000,
        **changed,
    }


# The first test key of RFC 8032; PUBLIC_KEY is its public part.
SIGNING_SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
KEY_ID = "21fe31dfa154a261"
SESSION = {"id": "00112233445566778899aabbccddeeff", "started_at_ms": NOW_MS - 120000, "number": 20}


def sign_approval(doc: dict) -> None:
    """Signs an approval as it stands; docs/contracts/statement.md has the lines."""
    signature = doc["signature"]
    session = signature.get("session")
    session = f"{session['id']} {session['started_at_ms']} {session['number']}" if session else "none"
    reason = hashlib.sha256(doc["reason"].encode()).hexdigest()
    lines = ["ordain/approval/v1", signature["origin"], doc["approver"], signature["action_id"], doc["proposal_hash"],
             doc["view_digest"], doc["verdict"], signature["scope"], signature["assurance"], session, f"sha256:{reason}",
             doc["at_ms"], signature["not_after_ms"], signature["nonce"]]
    text = "".join(f"{line}\n" for line in lines)
    signature["signature"] = decide.base64url(decide.sign(SIGNING_SEED, text.encode()))


def signed_approval() -> dict:
    """What the key signs is docs/contracts/statement.md; check_statements.py makes it again."""
    doc = approval(signature={
        "method": "ed25519",
        "key_id": KEY_ID,
        "origin": "ordain/0123456789abcdef",
        "action_id": "crm-update-1",
        "scope": "once",
        "assurance": "presence",
        "not_after_ms": NOW_MS - 60000 + 600000,
        "nonce": "bm9uY2Utbm9uY2Utbm9uY2Ut",
    })
    sign_approval(doc)
    return doc


def recent_approval() -> dict:
    doc = signed_approval()
    doc["signature"].update(assurance="recent", session=dict(SESSION))
    sign_approval(doc)
    return doc


def scoped_approval() -> dict:
    doc = signed_approval()
    doc["scope"] = {
        "covers": "deed",
        "deed": hash_of("the deed of a call"),
        "max_uses": 5,
        "permits": {"crm-updates": hash_of("the text of a permit")},
        "until_ms": doc["at_ms"] + 43200000,
    }
    doc["signature"]["scope"] = hash_of(doc["scope"])
    sign_approval(doc)
    return doc


def rejection() -> dict:
    return approval(approver="bob", verdict="reject", reason="The record is under a legal hold.")


PERMITTED = {"rule_id": "G12", "path": "", "message": "permitted by `crm-updates`", "policies": ["crm-updates"]}


def decision(**changed: Any) -> dict:
    """Allowed: a policy permits it, and both people it takes have approved."""
    return {
        "decision_schema_version": "0.1.0",
        "outcome": "ALLOW",
        "proposal_id": gated_action()["proposal_id"],
        "proposal_hash": hash_of(gated_action()),
        "policy_hash": hash_of({"crm.cedar": "permit (principal, action == Action::\"write\", resource);\n"}),
        "evidence_set_hash": hash_of([hash_of(packet())]),
        "approvals": {"class": "dual", "required": 2, "have": ["alice", "bob"]},
        "reasons": [PERMITTED],
        "decided_at_ms": NOW_MS,
        **changed,
    }


def held_decision() -> dict:
    missing = {"rule_id": "G14", "path": "/approval_class", "policies": ["crm-updates"],
               "message": "1 of 2 approvals is missing; bob or carol can give it"}
    return decision(outcome="HOLD", approvals={"class": "dual", "required": 2, "have": ["alice"]},
                    reasons=[PERMITTED, missing])


def denied_decision() -> dict:
    """Denied although both have approved: approvals mend nothing that is wrong."""
    return decision(outcome="DENY", reasons=[
        {"rule_id": "G10", "path": "", "message": "forbidden by `legal-hold` and `quiet-hours`",
         "policies": ["legal-hold", "quiet-hours"]},
        {"rule_id": "G6", "path": "/risk_envelope/forbidden_effects", "policies": [],
         "message": "the action has the effect `workflow_trigger`, which the envelope forbids"},
    ])


def profile() -> dict:
    return {
        "name": "docs-build",
        "allow_network": False,
        "timeout_ms": 30000,
        "max_output_files": 300,
        "max_total_output_bytes": 20971520,
        "allowed_commands": ["cargo", "python3"],
        "allowed_write_roots": ["site", "target"],
    }


def evidence() -> dict:
    source = plan()
    files = [{"action_id": each["id"], "status": "success",
              "produced": [{"path": each["target"], "sha256": each["expected_hash"]}]}
             for each in source["actions"][:2]]
    command = {"action_id": source["actions"][2]["id"], "status": "success", "exit_code": 0, "produced": [
        {"path": "build/coverage.txt", "sha256": content_hash("coverage: 93 %\n")},
        {"path": "build/report.txt", "sha256": content_hash("4 passed\n")},
    ]}
    return {
        "evidence_schema_version": "1.0.0",
        "proposal_id": source["id"],
        "proposal_hash": hash_of(source),
        "action_results": files + [command],
        "test_results": [
            {"test_id": "test_config_content", "passed": True, "actual": content_hash(LIMITS_FILE)},
            {"test_id": "test_suite", "passed": True, "actual": "0"},
        ],
        "status": "complete",
    }


def failed_evidence() -> dict:
    made = evidence()
    made["action_results"][2].update(status="failure", exit_code=1)
    made["test_results"][1].update(passed=False, actual="1")
    return {**made, "status": "partial"}


def run(**changed: Any) -> dict:
    return {
        "run_schema_version": "1.0.0",
        "run_id": "run_3f9c2a7d5e1b4c60",
        "started_at": "2026-01-05T09:00:00Z",
        "completed_at": "2026-01-05T09:00:07Z",
        "kernel_version": "0.1.0",
        "policy": profile(),
        "intent": {"path": "intents/rate-limit.json", "sha256": hash_of(intent())},
        "bundle": {"bundle_id": bundle()["id"], "sha256": hash_of(bundle())},
        "kernel_result_kind": "BUNDLE",
        "execution": {"evidence_hash": hash_of(evidence()), "status": "complete"},
        "decision": {"accepted": True, "reasons": [], "validated_by_kernel": True},
        **changed,
    }


def brought_run() -> dict:
    source = {"kind": "plan", "path": "plans/rate-limit.json", "sha256": hash_of(plan())}
    return run(intent=None, source=source, bundle=None)


def work_run() -> dict:
    """An agent that was wrong at first, and changed a test."""
    order = "sha256:" + hex_with_lf(bundle())
    wrong = {"agent": "exited with 0", "patch_hash": hash_of("a first patch set"), "protected": [],
             "evidence_hash": hash_of(failed_evidence()), "accepted": False, "reasons": ["a required test failed"]}
    right = {"agent": "exited with 0", "patch_hash": hash_of(patch()), "evidence_hash": hash_of(evidence()),
             "protected": ["tests/test_limits.py"], "restored_evidence_hash": hash_of("the other tree"),
             "accepted": True, "reasons": ["every required action and test passed"]}
    return run(work={"bundle_hash": order, "rounds": [wrong, right]})


def failed_run() -> dict:
    return run(
        execution={"evidence_hash": hash_of(failed_evidence()), "status": "failed"},
        decision={"accepted": False, "reasons": ["a required command failed"], "validated_by_kernel": True},
    )


def clarify_run() -> dict:
    source = split_bundle()
    return run(
        bundle={"bundle_id": source["id"], "sha256": hash_of(source)},
        kernel_result_kind="CLARIFY",
        execution=None,
        decision={"accepted": False, "reasons": ["three questions are open"], "validated_by_kernel": True},
        clarify_questions=[each["text"] for each in source["unresolved_questions"]],
    )


def note(tags: tuple = ("api", "rest", "rpc")) -> dict:
    mdn = "https://developer.mozilla.org/en-US/docs/Web/HTTP/Methods"
    return rederive("note", {
        "version": 1,
        "id": "prop-5b1f0c7a9e3d2468",
        "origin": "prompt",
        "target": {"route_id": "api/design/overview", "path": "api/design/rest-vs-rpc-intro.md"},
        "frontmatter": {"title": "REST vs RPC: Concepts and Trade-offs", "status": "draft",
                        "tags": list(tags), "aliases": ["rest-rpc-overview"]},
        "body": {"content_md": "# REST vs RPC\n\n## Summary\nREST names things, RPC names deeds.\n\n"
                               f"## References\n- [[notes/api/rest-vs-rpc]]\n- {mdn}\n"},
        "governance": {"related_links": ["notes/api/rest-vs-rpc.md", mdn],
                       "rationale": "Gives newcomers one page that compares the two styles."},
        "hash": "",
    })


def routing() -> dict:
    return {
        "version": 1,
        "routes": [
            {"id": "api/design/overview", "pattern": "api/design/*.md", "topic": "API design",
             "template": "overview", "required_sections": ["Summary", "References"]},
            {"id": "notes", "pattern": "notes/**/*.md", "topic": "Everything else"},
        ],
        "frontmatter": {"required": ["title", "status"], "statuses": ["draft", "review", "published"]},
        "templates": {"overview": {"required_sections": ["Summary"],
                                   "body": "# Title\n\n## Summary\n\n## References\n"}},
    }


# --- changes -----------------------------------------------------------------------------------

Change = Callable[[dict], None]


def at(pointer: str, do: Callable[[Any, Any], None]) -> Change:
    """Calls `do(container, key)` for what a JSON Pointer names. The vectors need no escapes."""

    def change(doc: Any) -> None:
        *path, last = pointer.split("/")[1:]
        for step in path:
            doc = doc[int(step)] if isinstance(doc, list) else doc[step]
        do(doc, int(last) if isinstance(doc, list) else last)

    return change


def put(pointer: str, value: Any) -> Change:
    return at(pointer, lambda container, key: operator.setitem(container, key, copy.deepcopy(value)))


def drop(pointer: str) -> Change:
    return at(pointer, operator.delitem)


def append(pointer: str, value: Any) -> Change:
    return at(pointer, lambda container, key: container[key].append(value))


def repeat_last(pointer: str) -> Change:
    return at(pointer, lambda container, key: container[key].append(copy.deepcopy(container[key][-1])))


def swap_first_two(pointer: str) -> Change:
    return at(pointer, lambda container, key: container[key].insert(0, container[key].pop(1)))


def rename(pointer: str, name: str) -> Change:
    """Gives a member another name, in the same position."""

    def do(container: dict, key: str) -> None:
        members = [(name if old == key else old, value) for old, value in container.items()]
        container.clear()
        container.update(members)

    return at(pointer, do)


def both(first: Change, second: Change) -> Change:
    return lambda doc: (first(doc), second(doc))[0]


def start(build: Callable[[], dict], change: Change) -> Callable[[], dict]:
    """A valid document that differs a little from the usual one of its kind."""

    def made() -> dict:
        doc = build()
        change(doc)
        return doc

    return made


# --- the table ---------------------------------------------------------------------------------


@dataclass
class Case:
    kind: str
    rule: str
    change: Change
    seal: Seal = Seal.FULL
    accept: Optional[Callable[[], dict]] = None  # when it is not the usual document of the kind
    facts: Optional[dict] = None


DOCUMENTS = {"intent": intent, "bundle": bundle, "plan": plan, "patch": patch, "action": action, "packet": packet,
             "approval": approval, "decision": decision, "profile": profile, "evidence": evidence, "run": run,
             "note": note, "routing": routing}

# Rules about the verifier or the writer: no document can break them, so they have only about.md.
ABOUT_ONLY = [("bundle", "BS8"), ("patch", "PS10")]

LONGEST_CONSTRAINT = ("naïve " * 667)[:4000]  # 4,000 characters, but more bytes
SMALL_PROFILE = {**profile(), "name": "small", "max_total_output_bytes": 1024}
SENSORS = {"crm-reader-1": {}}
SIGNING_SENSORS = {"crm-reader-1": {"public_key": PUBLIC_KEY, "signature_required": True}}
APPROVER_KEYS = {"approver_keys": {"keys": [{"key_id": KEY_ID, "principal": "alice", "public_key": PUBLIC_KEY,
                                            "owner": True, "enrolled_index": 2}]}}
OTHER_PACKET = packet(evidence_id="evidence-002", packet_type="webhook_payload", sensor_id="crm-hook-1")

CASES = [
    Case("intent", "IN1", put("/goal", "  \n ")),
    Case("intent", "IN2", put("/constraints", "Allow 100 requests per minute")),
    Case("intent", "IN3", rename("/context/owners/Jose", "Jose\u0301"),
         accept=start(intent, put("/context/owners", {"Jos\u00e9": "limits file", "Jose": "release notes"}))),
    Case("intent", "IN4", rename("/context/answers/q_0123456789abcdef", "what_is_counted"),
         accept=start(intent, put("/context/answers", {"q_0123456789abcdef": PER_KEY}))),
    Case("intent", "IN5", put("/context/files/0/path", "../config/rate_limit.toml")),
    Case("intent", "IN6", put("/context/commands/0/argv", TEST_COMMAND)),
    Case("intent", "IN7", put("/context/tests/0/expected", "true")),
    Case("intent", "IN8", put("/constraints/0", LONGEST_CONSTRAINT + "e"),
         accept=start(intent, put("/constraints/0", LONGEST_CONSTRAINT))),
    Case("intent", "IN9", put("/context/delete/0", "config/rate_limit.toml"),
         accept=start(intent, put("/context/delete", ["config/old_limits.toml"]))),
    Case("intent", "SCHEMA", rename("/constraints", "constraint")),
    #
    Case("bundle", "BS1", put("/schema_version", "1.0.0")),
    Case("bundle", "BS2", put("/outputs/0/content", LIMITS_FILE.replace("100", "10000")),
         facts={"recomputed": bundle()}),
    Case("bundle", "BS3", swap_first_two("/outputs")),
    Case("bundle", "BS4", swap_first_two("/outputs/1/source_constraints")),
    Case("bundle", "BS5", swap_first_two("/unresolved_questions"), Seal.OUTER, accept=split_bundle),
    Case("bundle", "BS6", swap_first_two("/terminal_nodes"), Seal.OUTER, accept=split_bundle),
    Case("bundle", "BS7", put("/outputs/0/path", "../config/rate_limit.toml")),
    Case("bundle", "BS9", put("/id", "bundle_0123456789abcdef"), Seal.NONE),
    Case("bundle", "BS10", put("/outputs/0/confidence", 0.9)),
    Case("bundle", "BS11", put("/status", "complete"), accept=split_bundle),
    Case("bundle", "BS12", put("/root_node/children/1/goal", "Add a rate limit"), accept=parts_bundle),
    Case("bundle", "SCHEMA", put("/generated_at", "2026-01-05T09:00:00Z")),
    #
    Case("plan", "PR1", put("/schema_version", "2.0.0")),
    Case("plan", "PR2", put("/source_bundle_hash", hash_of("another bundle")), facts={"bundle": bundle()}),
    Case("plan", "PR3", put("/actions", []), facts={"bundle": bundle()}),
    Case("plan", "PR4", repeat_last("/actions")),
    Case("plan", "PR5", put("/actions/2/type", "run_shell")),
    Case("plan", "PR6", put("/actions/2/id", "run-the-tests"), Seal.OUTER),
    Case("plan", "PR7", put("/acceptance_tests/1/id", "test_config_content")),
    Case("plan", "PR8", put("/acceptance_tests/1/type", "looks_good")),
    Case("plan", "PR9", put("/confidence", 0.85)),
    Case("plan", "PR10", put("/summary", " ")),
    Case("plan", "PR11", swap_first_two("/actions"), Seal.OUTER),
    Case("plan", "PR12", drop("/actions/0/content"), accept=plan_without_expected_hashes),
    Case("plan", "PR13", put("/actions/2/target", "python3 tools/publish.py"), Seal.OUTER),
    Case("plan", "PR14", put("/actions/2/target", TEST_COMMAND + " | tee build/report.txt")),
    Case("plan", "SCHEMA", put("/approved", True)),
    #
    Case("patch", "PS1", put("/patch_schema_version", "2.0.0")),
    Case("patch", "PS2", put("/operations/0/op", "rename")),
    Case("patch", "PS3", put("/operations/0/path", "/config/old_limits.toml")),
    Case("patch", "PS4", put("/operations/1/path", "config/rate_limit..toml")),
    Case("patch", "PS5", put("/operations/1/path", "Readme.md"),
         accept=lambda: patch({"op": "create", "path": "README.md", "content": "# Limits\n"},
                              {"op": "create", "path": "docs/Readme.md", "content": "# All documents\n"})),
    Case("patch", "PS6", put("/operations/1/content", LIMITS_FILE + "\0")),
    Case("patch", "PS7", put("/operations/0/content", "#" * 1024 + "\n"),
         accept=lambda: patch({"op": "create", "path": "docs/limits.md", "content": "#" * 1023 + "\n"}),
         facts={"profile": SMALL_PROFILE}),
    Case("patch", "PS8", swap_first_two("/operations")),
    Case("patch", "PS9", put("/operations/0/op", "symlink")),
    Case("patch", "PS11", put("/source_bundle_hash", hash_of("another bundle")),
         accept=start(patch, put("/source_bundle_hash", "sha256:" + hex_with_lf(bundle()))),
         facts={"bundle": bundle()}),
    Case("patch", "SCHEMA", put("/operations/1/mode", "0755")),
    #
    Case("action", "V-PROP-000", rename("/risk_envelope", "risk_envelop")),
    Case("action", "V-PROP-001", put("/proposal_id", "")),
    Case("action", "V-PROP-002", put("/ts_ms", "2024-01-13T18:40:00Z")),
    Case("action", "V-PROP-003", drop("/actor")),
    Case("action", "V-PROP-004", put("/action_type", "update")),
    Case("action", "V-PROP-005", drop("/target/domain")),
    Case("action", "V-PROP-006", put("/parameters", canonical(action()["parameters"]))),
    Case("action", "V-PROP-010", put("/time_window/valid_until_ms", NOW_MS),
         accept=start(action, put("/time_window/valid_until_ms", NOW_MS + 1)), facts={"now_ms": NOW_MS}),
    Case("action", "V-PROP-011", put("/time_window/valid_from_ms", 1705171500001)),
    Case("action", "V-PROP-012", put("/risk_envelope/max_affected_records", 0)),
    Case("action", "V-PROP-013", put("/preconditions/0/evidence_ref", "evidence-002"),
         accept=action_with_precondition, facts={"now_ms": NOW_MS, "evidence": [packet()], "sensors": SENSORS}),
    Case("action", "V-PROP-014", put("/approval_class", "dual"),
         accept=start(action, put("/approval_class", "single")), facts={"approvers": {"eligible": 1, "threshold": 1}}),
    Case("action", "V-PROP-015", append("/risk_envelope/forbidden_effects", "audit_log_entry")),
    Case("action", "V-PROP-016", put("/parameters/updates/owner", "agent-sales-001")),
    #
    Case("packet", "V-EVID-001", put("/evidence_id", "")),
    Case("packet", "V-EVID-002", put("/packet_type", "screenshot")),
    Case("packet", "V-EVID-003", put("/sensor_id", "")),
    Case("packet", "V-EVID-004", put("/observed_at_ms", 0)),
    Case("packet", "V-EVID-005", put("/payload", canonical(packet()["payload"]))),
    Case("packet", "V-EVID-006", put("/payload/record_exists", False), Seal.NONE),
    Case("packet", "V-EVID-010", put("/observed_at_ms", NOW_MS - 9749)),
    Case("packet", "V-EVID-011",
         both(put("/observed_at_ms", NOW_MS + 5001), put("/received_at_ms", NOW_MS + 5001)),
         accept=lambda: packet(observed_at_ms=NOW_MS + 5000, received_at_ms=NOW_MS + 5000),
         facts={"now_ms": NOW_MS}),
    Case("packet", "V-EVID-012", put("/observed_at_ms", NOW_MS - 7200000),
         facts={"now_ms": NOW_MS, "freshness_ms": 3600000}),
    Case("packet", "V-EVID-020", put("/sensor_id", "crm-reader-2"), facts={"sensors": SENSORS}),
    Case("packet", "V-EVID-021", put("/payload/record_exists", False),
         accept=signed_packet, facts={"sensors": SIGNING_SENSORS}),
    Case("packet", "V-EVID-022", put("/payload/record_exists", False),
         facts={"evidence": [OTHER_PACKET], "fields": ["record_exists"]}),
    Case("packet", "SCHEMA", put("/trusted", True)),
    #
    Case("approval", "AP1", put("/proposal_hash", hash_of(gated_action())[len("sha256:"):])),
    Case("approval", "AP2", put("/approver", "")),
    Case("approval", "AP3", put("/verdict", "approved")),
    Case("approval", "AP4", put("/reason", " "), accept=rejection),
    Case("approval", "AP5", drop("/view_digest")),
    Case("approval", "AP6", put("/at_ms", "2024-01-13T18:40:40Z")),
    Case("approval", "AP7", put("/signature/scope", "always"), accept=signed_approval),
    Case("approval", "AP8", put("/signature/not_after_ms", NOW_MS - 60000 + 3600001), accept=signed_approval),
    Case("approval", "AP9", put("/signature/key_id", "0123456789abcdef"), accept=signed_approval, facts=APPROVER_KEYS),
    Case("approval", "AP10", both(put("/approver", "bob"), sign_approval),
         accept=signed_approval, facts=APPROVER_KEYS),
    Case("approval", "AP11", put("/reason", "The customer confirmed nothing."), accept=signed_approval,
         facts=APPROVER_KEYS),
    Case("approval", "AP12", both(put("/signature/session/number", 21), sign_approval), accept=recent_approval,
         facts=APPROVER_KEYS),
    Case("approval", "AP13", put("/scope/max_uses", 20), accept=scoped_approval, facts=APPROVER_KEYS),
    Case("approval", "SCHEMA", put("/on_behalf_of", "carol")),
    #
    Case("decision", "DC1", put("/decision_schema_version", "1.0.0")),
    Case("decision", "DC2", put("/outcome", "MAYBE"), accept=held_decision),
    Case("decision", "DC3", put("/policy_hash", "crm policies of Monday")),
    Case("decision", "DC4", put("/approvals/have", ["alice"])),
    Case("decision", "DC5", swap_first_two("/reasons"), accept=denied_decision),
    Case("decision", "DC6", put("/outcome", "ALLOW"), accept=denied_decision),
    Case("decision", "DC7", put("/decided_at_ms", 0)),
    Case("decision", "SCHEMA", put("/overridden_by", "carol"), accept=denied_decision),
    #
    Case("profile", "PF1", put("/name", "Docs Build")),
    Case("profile", "PF2", put("/allow_network", "false")),
    Case("profile", "PF3", put("/timeout_ms", 30)),
    Case("profile", "PF4", put("/max_output_files", 0)),
    Case("profile", "PF5", put("/max_total_output_bytes", 20)),
    Case("profile", "PF6", put("/allowed_commands/0", "cargo test")),
    Case("profile", "PF7", put("/allowed_write_roots/0", "/site")),
    Case("profile", "SCHEMA", put("/max_processes", 64)),
    #
    Case("evidence", "EV1", put("/evidence_schema_version", "2.0.0")),
    Case("evidence", "EV2", put("/proposal_hash", hash_of(plan())[len("sha256:"):])),
    Case("evidence", "EV3", put("/action_results/1/action_id", plan()["actions"][0]["id"])),
    Case("evidence", "EV4", put("/action_results/2/exit_code", 1)),
    Case("evidence", "EV5", put("/action_results/2/produced/0/path", "/sandbox-7/build/coverage.txt")),
    Case("evidence", "EV6", put("/test_results/1/passed", "true")),
    Case("evidence", "EV7", put("/status", "complete"), accept=failed_evidence),
    Case("evidence", "SCHEMA", put("/duration_ms", 812)),
    #
    Case("run", "RN1", put("/run_schema_version", "2.0.0")),
    Case("run", "RN2", put("/completed_at", "2026-01-05T10:00:07+01:00")),
    Case("run", "RN3", put("/policy/timeout_ms", 30)),
    Case("run", "RN4", put("/source/path", "/projects/api/plans/rate-limit.json"), accept=brought_run),
    Case("run", "RN5", put("/bundle", None)),
    Case("run", "RN6", drop("/clarify_questions"), accept=clarify_run),
    Case("run", "RN7", put("/execution", run()["execution"]), accept=clarify_run),
    Case("run", "RN8", put("/decision/accepted", True), accept=failed_run),
    Case("run", "RN9", drop("/work/rounds/1/restored_evidence_hash"), accept=work_run),
    Case("run", "SCHEMA", put("/hostname", "build-07")),
    #
    Case("note", "NP1", put("/version", 2)),
    Case("note", "NP2", put("/id", "REST vs RPC")),
    Case("note", "NP3", put("/origin", "chat")),
    Case("note", "NP4", put("/target/route_id", "")),
    Case("note", "NP5", put("/target/path", "../design/rest-vs-rpc-intro.md")),
    Case("note", "NP6", put("/frontmatter/title", "RR")),
    Case("note", "NP7", put("/frontmatter/status", "done")),
    Case("note", "NP8", append("/frontmatter/tags", "api-25"),
         accept=lambda: note(tuple(f"api-{number:02}" for number in range(1, 25)))),
    Case("note", "NP9", put("/frontmatter/aliases/0", "")),
    Case("note", "NP10", put("/body/content_md", "")),
    Case("note", "NP11", put("/governance/related_links/0", {"url": "notes/api/rest-vs-rpc.md"})),
    Case("note", "NP12", put("/governance/rationale", "")),
    Case("note", "NP13", put("/body/content_md", "# REST vs RPC\n\nREST is always better.\n"), Seal.NONE),
    Case("note", "SCHEMA", put("/frontmatter/author", "agent-notes-002")),
    #
    Case("routing", "RT1", put("/version", 2)),
    Case("routing", "RT2", put("/routes/1/id", "api/design/overview")),
    Case("routing", "RT3", put("/routes/0/pattern", "/api/design/*.md")),
    Case("routing", "RT4", put("/routes/1/pattern", "api/design/*.md")),
    Case("routing", "RT5", put("/routes/0/template", "overveiw")),
    Case("routing", "RT6", put("/routes/0/required_sections/1", "Summary")),
    Case("routing", "RT7", put("/frontmatter/required/1", "author")),
    Case("routing", "SCHEMA", rename("/routes/0/required_sections", "required_section")),
]


# --- writing and checking ----------------------------------------------------------------------


def pretty(doc: Any) -> str:
    return json.dumps(doc, indent=2, ensure_ascii=False) + "\n"


def files_of(case: Case) -> dict:
    """File name → text of one rule's folder."""
    accepted = (case.accept or DOCUMENTS[case.kind])()
    rejected = copy.deepcopy(accepted)
    case.change(rejected)
    # A change that moves or forges ids states itself how much is derived again. Lists that do not
    # sort by id (outputs, operations, constraints) keep the order that the change gave them.
    rederive(case.kind, rejected, case.seal)
    if rejected == accepted:
        raise ValueError(f"{case.kind}/{case.rule}: the change changes nothing")
    files = {"accept.json": pretty(accepted), "reject.json": pretty(rejected)}
    if case.facts:
        files["facts.json"] = pretty(case.facts)
    return files


def all_files() -> dict:
    of_rules = {
        Path(case.kind, case.rule, name): text for case in CASES for name, text in files_of(case).items()
    }
    return {**of_rules, **decide.files()}


def differences(wanted: dict) -> list:
    """What stands on disk and should not, or the other way round."""
    found = []
    for path, text in wanted.items():
        on_disk = HERE / path
        if not on_disk.is_file():
            found.append(f"missing: {path}")
        elif on_disk.read_bytes() != text.encode("utf-8"):
            found.append(f"differs: {path}")
    folders = {(case.kind, case.rule) for case in CASES} | set(ABOUT_ONLY)
    found += [f"missing: {kind}/{rule}/about.md" for kind, rule in folders
              if not (HERE / kind / rule / "about.md").is_file()]
    by_others = {"about.md", "reject.report.json"}
    by_others.add("messages.md")
    folders.add(("decide", "messages.md"))
    of_decide = [path for path in (HERE / "decide").rglob("*") if path.is_file()]
    for on_disk in [*HERE.glob("[!d]*/*/*"), *HERE.glob("decision/*/*"), *of_decide]:
        path = on_disk.relative_to(HERE)
        known = path in wanted or (path.parts[:2] in folders and path.name in by_others)
        if not known:
            found.append(f"unexpected: {path}")
    return sorted(found)


def main(arguments: list) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 64
    wanted = all_files()
    if arguments:
        found = differences(wanted)
        print("\n".join(found) if found else f"{len(wanted)} files are as they should be")
        return 1 if found else 0
    for path, text in wanted.items():
        (HERE / path).parent.mkdir(parents=True, exist_ok=True)
        (HERE / path).write_bytes(text.encode("utf-8"))
    print(f"{len(wanted)} files written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
