"""Writes conformance/decide: a policy folder, and cases for it with the decision that is expected.

`make.py` calls this. Like it, it shares no code with what is tested: hashes come from hashlib, and the answers to
comparisons from the few lines of `holds` below. A case has the form that `ordain policy test` reads.
"""

import hashlib
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any, Optional

NOW = 1705171260000
HOUR = 3600000


def utf16(text: str) -> bytes:
    return text.encode("utf-16-be")


def canonical(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{canonical(k)}:{canonical(value[k])}" for k in sorted(value, key=utf16)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def hash_of(value: Any) -> str:
    return "sha256:" + hashlib.sha256(canonical(value).encode()).hexdigest()


# --- Ed25519 (RFC 8032), enough to sign ---------------------------------------------------------

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    (x1, y1, z1, t1), (x2, y2, z2, t2) = a, b
    e, f = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    g, h = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point, scalar = add(point, point), scalar >> 1
    return result


def base_point():
    y = 4 * pow(5, P - 2, P) % P
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    x = P - x if x & 1 else x
    return x, y, 1, x * y % P


def pack(point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, P - 2, P)
    x, y = x * inverse % P, y * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def secret_parts(seed: bytes):
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little") & ((1 << 254) - 8) | 1 << 254
    return scalar, digest[32:]


def public_key(seed: bytes) -> bytes:
    return pack(times(secret_parts(seed)[0], base_point()))


def sign(seed: bytes, message: bytes) -> bytes:
    scalar, prefix = secret_parts(seed)
    nonce = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % L
    point = pack(times(nonce, base_point()))
    challenge = hashlib.sha512(point + public_key(seed) + message).digest()
    return point + ((nonce + int.from_bytes(challenge, "little") * scalar) % L).to_bytes(32, "little")


def base64url(data: bytes) -> str:
    import base64
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


SEED = hashlib.sha256(b"a sensor of the conformance vectors").digest()
OTHER_SEED = hashlib.sha256(b"another sensor").digest()

# --- the policy folder ----------------------------------------------------------------------------

CEDAR = '''\
// What sales agents may do with contacts.
@id("sales-writes-crm")
@reason("sales agents keep contacts up to date")
permit (
  principal in Group::"sales",
  action == Action::"write",
  resource in Domain::"salesforce.com"
)
when { resource in ResourceType::"crm_record" }
when { context has envelope && context.envelope.max_affected_records <= 10 };

@id("everybody-reads")
permit (principal, action in Action::"observe", resource);

@id("no-hr-records")
@reason("personnel files are not for agents")
forbid (principal, action, resource in ResourceType::"hr_record")
unless { context.evidence.signed };

@id("small-numbers-only")
forbid (principal, action == Action::"custom", resource)
when { context.parameters has count && context.parameters.count * 4611686018427387904 > 0 };

@id("custom-for-sales")
permit (principal in Group::"sales", action == Action::"custom", resource);

@id("single-create")
@approval("single")
@approvers("leads")
permit (principal in Group::"sales", action == Action::"create", resource);

@id("dual-delete")
@approval("dual")
@approvers("leads")
permit (principal in Group::"sales", action == Action::"delete", resource);

@id("threshold-transact")
@approval("threshold:3")
@approvers("leads, finance")
@max_executions("2")
permit (principal in Group::"sales", action == Action::"transact", resource)
when { context.parameters.amount.lessThanOrEqual(decimal("1000.00")) };

@id("communicate-after-two")
@approvers("leads")
@effects("email_notification")
permit (principal in Group::"sales", action == Action::"communicate", resource);

@id("no-mail-without-two")
@reason("two people read a mail before it leaves")
forbid (principal, action == Action::"communicate", resource)
unless { context.approvals >= 2 };

@id("docs-by-path")
@approval("single")
@approvers("leads")
permit (principal, action in [Action::"write", Action::"create"], resource in Domain::"workspace")
when { resource has path && resource.path like "docs/*" };

@id("delete-drafts")
@approval("dual")
@approvers("leads, finance")
permit (principal, action == Action::"delete", resource in Domain::"workspace")
when { resource has path && resource.path like "docs/drafts/*" };

@id("no-keys")
@reason("keys stay where they are")
forbid (principal, action, resource in Domain::"workspace")
when { resource has path && resource.path like "*.pem" };
'''

SCHEMA = '''\
type TransactParameters = { amount: decimal, currency: String };
type CustomParameters = { count?: Long, tags?: Set<String>, limits?: { daily: Long } };
type Constraints = { region?: String };
'''


def entity(kind: str, name: str, *parents: tuple, **attrs: Any) -> dict:
    return {"uid": {"type": kind, "id": name}, "attrs": attrs,
            "parents": [{"type": parent_kind, "id": parent} for parent_kind, parent in parents]}


ENTITIES = [
    entity("Group", "staff"),
    entity("Group", "sales", ("Group", "staff")),
    entity("Group", "leads", ("Group", "staff")),
    entity("Group", "finance"),
    entity("Group", "lonely"),
    entity("Actor", "agent-sales-001", ("Group", "sales")),
    entity("Actor", "agent-of-alice", ("Group", "sales"), person="alice@example.com"),
    entity("Actor", "alice", ("Group", "leads"), person="alice@example.com"),
    entity("Actor", "alice-admin", ("Group", "leads"), person="alice@example.com"),
    entity("Actor", "bob", ("Group", "leads")),
    entity("Actor", "carol", ("Group", "leads"), ("Group", "finance")),
    entity("Actor", "dave", ("Group", "finance")),
    entity("Actor", "erin", ("Group", "lonely")),
    entity("Actor", "hop-1", ("Group", "leads"), person="hop-2"),
    entity("Actor", "hop-2", ("Group", "leads"), person="agent-hop"),
    entity("Actor", "agent-hop", ("Group", "sales")),
    entity("Actor", "agent-owned", ("Group", "sales"), agent_of="alice"),
    entity("Actor", "agent-below", ("Group", "sales"), agent_of="agent-owned"),
    entity("Domain", "example.com"),
    entity("Domain", "salesforce.com", ("Domain", "example.com")),
]

EFFECTS = '''\
[write.crm_record]
effects = ["audit_log_entry"]
rollback = "manual"
'''

SENSORS = f'''\
freshness_ms = {HOUR}

[sensors.crm]

[sensors.badge]
public_key = "{base64url(public_key(SEED))}"
signature_required = true

[sensors.hasty]
freshness_ms = 120000

[sensors.slow]
freshness_ms = {25 * HOUR}
'''

TOOLS = '''\
["crm.update"]
action_type = "write"
resource_type = "crm_record"
resource_id = "contact-{contact}"
domain = "salesforce.com"

["crm.note"]
action_type = "write"
resource_type = "crm_record"
resource_id = "contact-{contact}"
domain = "salesforce.com"
risk_envelope = { allowed_side_effects = ["audit_log_entry"], forbidden_effects = [], max_affected_records = 1, reversible_required = true }

["web.get"]
action_type = "read"
resource_type = "page"
resource_id = "{path}"
domain = "{host}"
'''

REDACT = 'fields = ["ssn"]\n'

# --- documents ------------------------------------------------------------------------------------

EXAMPLE = {
    "proposal_id": "550e8400-e29b-41d4-a716-446655440000",
    "ts_ms": 1705171200000,
    "actor": "agent-sales-001",
    "action_type": "write",
    "target": {
        "resource_type": "crm_record",
        "resource_id": "contact-12345",
        "domain": "salesforce.com",
        "constraints": {
            "allowed_fields": ["email", "phone", "notes"],
            "forbidden_fields": ["ssn", "credit_card"],
        },
    },
    "parameters": {"updates": {"email": "new@example.com", "notes": "Updated via automation"}},
    "preconditions": [
        {"field": "record_exists", "operator": "eq", "value": True, "evidence_ref": "evidence-001"},
    ],
    "risk_envelope": {
        "allowed_side_effects": ["audit_log_entry"],
        "forbidden_effects": ["email_notification", "workflow_trigger"],
        "max_affected_records": 1,
        "reversible_required": True,
    },
    "time_window": {"valid_from_ms": 1705171200000, "valid_until_ms": 1705171500000, "max_duration_ms": 30000},
    "approval_class": "none",
}


def proposal(action: str, **changed: Any) -> dict:
    return {
        "proposal_id": f"case-{action}", "ts_ms": 1705171200000, "actor": "agent-sales-001", "action_type": action,
        "target": {"resource_type": "record", "resource_id": "7", "domain": "example.com", "constraints": {}},
        "parameters": {}, **changed,
    }


def packet(payload: Optional[dict] = None, **changed: Any) -> dict:
    payload = {"record_exists": True} if payload is None else payload
    return {
        "evidence_id": "evidence-001", "packet_type": "api_response", "sensor_id": "crm", "sensor_type": "api",
        "observed_at_ms": NOW - 50000, "received_at_ms": NOW - 49900, "payload": payload,
        "payload_hash": hash_of(payload), **changed,
    }


def signed(document: dict, seed: bytes = SEED) -> dict:
    return {**document, "sensor_signature": base64url(sign(seed, canonical(document).encode()))}


def approval(of: dict, approver: str, **changed: Any) -> dict:
    return {
        "proposal_hash": hash_of(of), "approver": approver, "verdict": "approve", "reason": "looks right",
        "view_digest": hash_of({"proposal": of}), "at_ms": NOW - 1000, **changed,
    }


def merged(document: Any, change: Any) -> Any:
    """RFC 7396."""
    if not isinstance(change, dict):
        return change
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


# --- cases ----------------------------------------------------------------------------------------


def expect(outcome: str, *reasons: tuple, **approvals: Any) -> dict:
    """Reasons as (rule, path) or (rule, path, policies)."""
    listed = []
    for rule, path, *policies in reasons:
        listed.append({"rule_id": rule, "path": path, **({"policies": policies[0]} if policies else {})})
    return {"outcome": outcome, "reasons": listed, "only": True, **({"approvals": approvals} if approvals else {})}


def case(name: str, expected: dict, of: Any = None, change: Optional[dict] = None, evidence: Optional[list] = None,
         approvals: Optional[list] = None, now_ms: int = NOW, halted: bool = False) -> dict:
    made = {"name": name, "proposal": of, "change": change, "evidence": evidence, "approvals": approvals,
            "now_ms": now_ms, "halted": halted or None, "expect": expected}
    return {key: value for key, value in made.items() if value is not None}


FILE = "proposals/example.json"
PRECONDITION = EXAMPLE["preconditions"][0]


def on_example(name: str, expected: dict, change: Optional[dict] = None, evidence: Optional[list] = None,
               **more: Any) -> dict:
    return case(name, expected, FILE, change, [packet()] if evidence is None else evidence, **more)


def deny(*reasons: tuple, **approvals: Any) -> dict:
    return expect("DENY", *reasons, **approvals)


# Each required field, and the rule that misses it.
REQUIRED = [
    ("/proposal_id", "V-PROP-001"), ("/ts_ms", "V-PROP-002"), ("/actor", "V-PROP-003"), ("/action_type", "V-PROP-004"),
    ("/target", "V-PROP-005"), ("/target/resource_type", "V-PROP-005"), ("/target/resource_id", "V-PROP-005"),
    ("/target/domain", "V-PROP-005"), ("/target/constraints", "V-PROP-005"), ("/parameters", "V-PROP-006"),
    ("/preconditions/0/field", "V-PROP-000"), ("/preconditions/0/operator", "V-PROP-000"),
    ("/preconditions/0/value", "V-PROP-000"), ("/preconditions/0/evidence_ref", "V-PROP-013"),
    ("/risk_envelope/allowed_side_effects", "V-PROP-000"), ("/risk_envelope/forbidden_effects", "V-PROP-000"),
    ("/risk_envelope/max_affected_records", "V-PROP-012"), ("/risk_envelope/reversible_required", "V-PROP-000"),
    ("/time_window/valid_from_ms", "V-PROP-011"), ("/time_window/valid_until_ms", "V-PROP-010"),
    ("/time_window/max_duration_ms", "V-PROP-000"),
]


def removed(path: str) -> dict:
    """The change that takes one field of the example away."""
    names = path.split("/")[1:]
    if names[0] == "preconditions":
        return {"preconditions": [{key: it for key, it in PRECONDITION.items() if key != names[-1]}]}
    change: Any = None
    for name in reversed(names):
        change = {name: change}
    return change


def target(**changed: Any) -> dict:
    return {"target": changed}


def example_cases() -> list:
    allow = expect("ALLOW", **{"class": "none", "required": 0, "have": []})
    no_permit = ("G12", "", [])
    return [
        on_example("the example of the specification is allowed", allow),
        on_example("before its window opens it is allowed, and its permit starts later", allow,
                   evidence=[packet(observed_at_ms=NOW - 100000, received_at_ms=NOW - 100000)],
                   now_ms=1705171199999),
        on_example("the last moment of its window", allow, now_ms=1705171499999),
        on_example("the end of its window", deny(("V-PROP-010", "/time_window/valid_until_ms")), now_ms=1705171500000),
        on_example("a minute after its window", deny(("V-PROP-010", "/time_window/valid_until_ms")),
                   now_ms=1705171560000),
        on_example("a window that ends before it starts", deny(("V-PROP-011", "/time_window/valid_from_ms")),
                   {"time_window": {"valid_from_ms": 1705171500001}}),
        on_example("no id", deny(("V-PROP-001", "/proposal_id")), {"proposal_id": ""}),
        on_example("no time", deny(("V-PROP-002", "/ts_ms")), {"ts_ms": 0}),
        on_example("no actor", deny(("V-PROP-003", "/actor"), no_permit, ("G12", "", ["sales-writes-crm"])), {"actor": ""}),
        on_example("an unknown action", deny(("V-PROP-004", "/action_type")), {"action_type": "tamper"}),
        on_example("a target without a domain", deny(("V-PROP-005", "/target/domain")), target(domain=None)),
        on_example("constraints of more than 64 KiB",
                   deny(("V-PROP-005", "/target/constraints")), target(constraints={"note": "x" * 65537})),
        on_example("parameters that are no object", deny(("V-PROP-006", "/parameters")), {"parameters": []}),
        on_example("parameters of more than 64 KiB", deny(("V-PROP-006", "/parameters")),
                   {"parameters": {"note": "x" * 65537}}),
        on_example("an unknown field", deny(("V-PROP-000", "/priority")), {"priority": "high"}),
        on_example("an unknown field inside", deny(("V-PROP-000", "/risk_envelope/severity")),
                   {"risk_envelope": {"severity": 1}}),
        on_example("no records", deny(("V-PROP-012", "/risk_envelope/max_affected_records")),
                   {"risk_envelope": {"max_affected_records": 0}}),
        on_example("more records than the policy allows",
                   deny(no_permit, ("G12", "", ["sales-writes-crm"])),
                   {"risk_envelope": {"max_affected_records": 11}}),
        on_example("no envelope", deny(("G6", "/risk_envelope"), no_permit, ("G12", "", ["sales-writes-crm"])),
                   {"risk_envelope": None}),
        on_example("evidence that was not given", deny(("V-PROP-013", "/preconditions/0/evidence_ref")), evidence=[]),
        on_example("an effect that is allowed and forbidden", deny(("V-PROP-015", "/risk_envelope/forbidden_effects/0")),
                   {"risk_envelope": {"allowed_side_effects": ["audit_log_entry", "x"], "forbidden_effects": ["x"]}}),
        on_example("a field that is not allowed", deny(("V-PROP-016", "/parameters/updates/name")),
                   {"parameters": {"updates": {"name": "Ann"}}}),
        on_example("a forbidden field", deny(("V-PROP-016", "/parameters/updates/ssn")),
                   {"parameters": {"updates": {"ssn": "1"}},
                    "target": {"constraints": {"allowed_fields": None}}}),
        on_example("a forbidden field, nested to hide it",
                   deny(("V-PROP-016", "/parameters/updates/notes/parts/0/ssn")),
                   {"parameters": {"updates": {"notes": {"parts": [{"ssn": "1"}]}}}}),
        on_example("a forbidden field, by a path to it", deny(("V-PROP-016", "/parameters/updates/person.SSN")),
                   {"parameters": {"updates": {"person.SSN": "1"}}, "target": {"constraints": {"allowed_fields": None}}}),
        *(on_example(f"a forbidden path, {how}", deny(("V-PROP-016", f"/parameters/updates/{at}")),
                     {"parameters": {"updates": updates},
                      "target": {"constraints": {"allowed_fields": None, "forbidden_fields": ["address.zip"]}}})
          for how, at, updates in [
              ("written out", "address.zip", {"address.zip": 1}),
              ("nested to hide it", "address/zip", {"address": {"city": "Bonn", "zip": 1}}),
              ("nested deeper", "customer/Address/0/ZIP", {"customer": {"Address": [{"ZIP": 1}]}}),
              ("half nested", "home.address/zip", {"home.address": {"zip": 1}}),
          ]),
        on_example("fields that share their names with a forbidden path",
                   allow, {"parameters": {"updates": {"zip": 1, "address": {"city": {"zip": 1}}}},
                           "target": {"constraints": {"allowed_fields": None, "forbidden_fields": ["address.zip"]}}}),
        on_example("updates, nested to hide them", deny(("V-PROP-016", "/parameters/batch/0/updates/ssn")),
                   {"parameters": {"batch": [{"updates": {"ssn": "1"}}]},
                    "target": {"constraints": {"allowed_fields": None}}}),
        on_example("updates as a list, to hide their names", deny(("V-PROP-016", "/parameters/updates")),
                   {"parameters": {"updates": [{"ssn": "1"}]}}),
        on_example("a precondition that is false", deny(("G5", "/preconditions/0")),
                   evidence=[packet({"record_exists": False})]),
        on_example("an effect that the envelope does not allow",
                   deny(("G6", "/risk_envelope/allowed_side_effects")), {"risk_envelope": {"allowed_side_effects": []}}),
        on_example("an effect that the envelope forbids",
                   deny(("G6", "/risk_envelope/forbidden_effects")),
                   {"risk_envelope": {"allowed_side_effects": [], "forbidden_effects": ["audit_log_entry"]}}),
        on_example("no way back", deny(("G7", "/rollback_semantics")), {"rollback_semantics": {"strategy": "none"}}),
        on_example("a compensating action that is not named", deny(("V-PROP-000", "/rollback_semantics/action")),
                   {"rollback_semantics": {"strategy": "compensating_action"}}),
        on_example("another actor", deny(no_permit, ("G12", "", ["sales-writes-crm"])), {"actor": "agent-support-007"}),
        on_example("another domain", deny(no_permit, ("G12", "", ["sales-writes-crm"])), target(domain="hubspot.com")),
        on_example("another resource type",
                   deny(no_permit, ("G12", "", ["sales-writes-crm"]), ("G7", "/rollback_semantics")),
                   target(resource_type="account")),
        on_example("a personnel file",
                   deny(("G10", "", ["no-hr-records"]), no_permit, ("G12", "", ["sales-writes-crm"]),
                        ("G7", "/rollback_semantics")),
                   target(resource_type="hr_record")),
        on_example("an approval that nobody can give", deny(("V-PROP-014", "/approval_class")), {"approval_class": "single"}),
        on_example("a halted gate", deny(("G1", "")), halted=True),
        *(on_example(f"a precondition with another {key}: {canonical(value)}", deny(("G5", "/preconditions/0")),
                     {"preconditions": [{**PRECONDITION, key: value}]})
          for key, value in [("field", "record_owner"), ("operator", "ne"), ("value", False), ("value", "true")]),
        on_example("a precondition with another evidence_ref", deny(("V-PROP-013", "/preconditions/0/evidence_ref")),
                   {"preconditions": [{**PRECONDITION, "evidence_ref": "evidence-002"}]}),
        on_example("a precondition with an unknown operator", deny(("V-PROP-000", "/preconditions/0/operator")),
                   {"preconditions": [{**PRECONDITION, "operator": "is"}]}),
        on_example("two approvals that nobody can give", deny(("V-PROP-014", "/approval_class")), {"approval_class": "dual"}),
        on_example("a threshold that nobody says", deny(("V-PROP-014", "/approval_class")), {"approval_class": "threshold"}),
        on_example("an unknown approval class", deny(("V-PROP-014", "/approval_class")), {"approval_class": "board"}),
        *(on_example(f"without {path}", deny((rule, path)), removed(path)) for path, rule in REQUIRED),
        on_example("three things at once", deny(("G1", ""), ("G5", "/preconditions/0"), ("V-PROP-016", "/parameters/updates/ssn")),
                   {"parameters": {"updates": {"ssn": "1"}}}, [packet({"record_exists": False})], halted=True),
    ]


SAMPLES = [None, True, 7, "a", [7], {"a": 1}]
PAIRS = [(op, left, right) for op in ["eq", "ne", "gt", "lt", "contains", "matches"] for left in SAMPLES for right in SAMPLES]
MORE_PAIRS = [
    ("ne", False, True), ("ne", 8, 7), ("ne", "b", "a"), ("ne", [8], [7]), ("ne", {"a": 2}, {"a": 1}),
    ("eq", {"b": 1, "a": 2}, {"a": 2, "b": 1}), ("eq", "A", "a"), ("eq", "\u00e9", "e\u0301"),
    ("gt", 8, 7), ("gt", 7, 7), ("gt", -9007199254740991, 9007199254740991), ("lt", 7, 8), ("lt", -1, 0), ("lt", 7, 7),
    ("gt", "2024-01-02T00:00:00Z", "2024-01-01T00:00:00Z"), ("lt", "2024-01-01T00:00:00+01:00", "2024-01-01T00:00:00Z"),
    ("gt", "2024-01-02", "2024-01-01"), ("gt", "b", "a"), ("lt", "2024-01-01T00:00:00", "2024-01-01T00:00:01"),
    ("contains", "haystack", "stack"), ("contains", "haystack", ""), ("contains", ["x", ["y"]], ["y"]),
    ("contains", ["x"], "y"), ("contains", [], None),
    ("matches", "contact-12", "contact-[0-9]+"), ("matches", "my contact-12", "contact-[0-9]+"), ("matches", "ab", "a|b"),
    ("matches", "a", "a|b"), ("matches", "a\nb", "a"), ("matches", "x", "("), ("matches", "", ""), ("matches", "aaaa", "(a+)+$"),
    ("matches", "a" * 2000 + "b", "(a+)+"),
]


def json_type(value: Any) -> str:
    for kind, name in [(bool, "boolean"), ((int, float), "number"), (str, "string"), (list, "array"), (dict, "object")]:
        if isinstance(value, kind):
            return name
    return "null"


def moment(text: str) -> Optional[datetime]:
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", text):
        return None
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def holds(operator: str, field: Any, value: Any) -> bool:
    """What a precondition says of a field that is there."""
    kinds = (json_type(field), json_type(value))
    if operator in ("eq", "ne"):
        equal = canonical(field) == canonical(value)
        return kinds[0] == kinds[1] and equal == (operator == "eq")
    if operator in ("gt", "lt"):
        if kinds == ("string", "string"):
            field, value = moment(field), moment(value)
        elif kinds != ("number", "number"):
            return False
        if field is None or value is None:
            return False
        return field > value if operator == "gt" else field < value
    if operator == "contains":
        if kinds == ("string", "string"):
            return value in field
        return kinds[0] == "array" and any(json_type(it) == kinds[1] and canonical(it) == canonical(value) for it in field)
    if kinds != ("string", "string") or value == "(":
        return False
    # Python's engine backtracks, so the long one is answered by hand.
    return False if len(field) > 1000 else re.fullmatch(value, field) is not None


def operator_cases() -> list:
    cases = []
    for operator, field, value in PAIRS + MORE_PAIRS:
        expected = expect("ALLOW") if holds(operator, field, value) else deny(("G5", "/preconditions/0"))
        name = f"{canonical(field)[:40]} {operator} {canonical(value)[:40]}"
        change = {"preconditions": [{**PRECONDITION, "field": "it", "operator": operator, "value": value}]}
        cases.append(on_example(name, expected, change, [packet({"it": field})]))
    for operator in ["eq", "ne", "gt", "lt", "contains", "matches"]:
        change = {"preconditions": [{**PRECONDITION, "field": "gone", "operator": operator, "value": "x"}]}
        cases.append(on_example(f"a missing field {operator}", deny(("G5", "/preconditions/0")), change))
    for field in ["/a/b~1c/0", "a.d", "x.y"]:
        change = {"preconditions": [{**PRECONDITION, "field": field, "value": 1}]}
        payload = {"a": {"b/c": [1], "d": 1}, "x.y": 1}
        cases.append(on_example(f"the field {field}", expect("ALLOW"), change, [packet(payload)]))
    secret = {"preconditions": [{**PRECONDITION, "field": "ssn", "value": "1"}]}
    cases.append(on_example("a secret field is not shown", deny(("G5", "/preconditions/0")), secret,
                            [packet({"ssn": "never in a message"})]))
    secret = {"preconditions": [{**PRECONDITION, "field": "person.ssn", "operator": "ne", "value": "never in a message"}]}
    cases.append(on_example("what gives a secret field away is not shown", deny(("G5", "/preconditions/0")), secret,
                            [packet({"person": {"ssn": "never in a message"}})]))
    around = {"preconditions": [{**PRECONDITION, "field": "people", "value": [{"ssn": "never in a message, too"}]}]}
    cases.append(on_example("a secret field inside another is not shown", deny(("G5", "/preconditions/0")), around,
                            [packet({"people": [{"name": "Ann", "ssn": "never in a message"}]})]))
    end = {"preconditions": [{**PRECONDITION, "field": "it", "value": "b" * 70}]}
    cases.append(on_example("a long value that differs at its end", deny(("G5", "/preconditions/0")), end,
                            [packet({"it": "b" * 71})]))
    long = {"preconditions": [{**PRECONDITION, "field": "it", "value": "\u200b" + "b" * 70}]}
    cases.append(on_example("a long value is cut, and shows what nobody sees", deny(("G5", "/preconditions/0")), long,
                            [packet({"it": "b" * 70})]))
    return cases


def evidence_cases() -> list:
    reference = "/preconditions/0/evidence_ref"

    def broken(name: str, rule: str, document: Any) -> dict:
        return on_example(name, deny(("V-PROP-013", reference), (rule, reference)), evidence=[document])

    bound = {"preconditions": None, "evidence_bindings": [
        {"evidence_id": "evidence-001", "binding_type": "context", "required": True, "freshness_ms": 60000}]}
    place = "/evidence_bindings/0/evidence_id"
    badge = {"sensor_id": "badge"}
    return [
        broken("an unknown type of packet", "V-EVID-002", packet(packet_type="rumour")),
        on_example("a packet without a sensor",
                   deny(("V-PROP-013", reference), ("V-EVID-003", reference), ("V-EVID-020", reference)),
                   evidence=[packet(sensor_id="")]),
        on_example("a packet without a time",
                   deny(("V-PROP-013", reference), ("V-EVID-004", reference), ("V-EVID-012", reference)),
                   evidence=[packet(observed_at_ms=0)]),
        broken("a payload that is no object", "V-EVID-005", packet(payload=[], payload_hash=hash_of([]))),
        broken("a wrong hash", "V-EVID-006", packet(payload_hash=hash_of({}))),
        broken("observed after it was received", "V-EVID-010", packet(observed_at_ms=NOW - 49000)),
        broken("from the future", "V-EVID-011", packet(observed_at_ms=NOW + 5001, received_at_ms=NOW + 5001)),
        broken("stale", "V-EVID-012", packet(observed_at_ms=NOW - HOUR - 1)),
        broken("an unknown sensor", "V-EVID-020", packet(sensor_id="rumour")),
        broken("unsigned where a signature is demanded", "V-EVID-021", packet(**badge)),
        broken("signed by another", "V-EVID-021", signed(packet(**badge), OTHER_SEED)),
        broken("changed after it was signed", "V-EVID-021", {**signed(packet(**badge)), "sensor_type": "other"}),
        broken("an unknown field", "SCHEMA", packet(colour="red")),
        on_example("no id", deny(("V-PROP-013", reference)), evidence=[packet(evidence_id="")]),
        on_example("just in time for the clock's skew", expect("ALLOW"),
                   evidence=[packet(observed_at_ms=NOW + 5000, received_at_ms=NOW + 5000)]),
        on_example("as old as it may be", expect("ALLOW"),
                   evidence=[packet(observed_at_ms=NOW - HOUR)]),
        on_example("a4: a sensor's own limit, just met", expect("ALLOW"),
                   evidence=[packet(sensor_id="hasty", observed_at_ms=NOW - 120000)]),
        broken("a4: a sensor's own limit is shorter than the policy's", "V-EVID-012",
               packet(sensor_id="hasty", observed_at_ms=NOW - 120001)),
        broken("a4: a sensor's own limit does not lengthen the policy's", "V-EVID-012",
               packet(sensor_id="slow", observed_at_ms=NOW - HOUR - 1)),
        on_example("a4: a binding does not lengthen the policy's limit", deny(("V-EVID-012", place)),
                   merged(bound, {"evidence_bindings": [{**bound["evidence_bindings"][0], "freshness_ms": 2**53 - 1}]}),
                   [packet(observed_at_ms=NOW - HOUR - 1)]),
        on_example("a4: a binding does not lengthen a sensor's limit", deny(("V-EVID-012", place)),
                   merged(bound, {"evidence_bindings": [{**bound["evidence_bindings"][0], "freshness_ms": 2**53 - 1}]}),
                   [packet(sensor_id="hasty", observed_at_ms=NOW - 120001)]),
        on_example("signed as demanded", expect("ALLOW"), evidence=[signed(packet(**badge))]),
        on_example("contradictory", deny(("V-PROP-013", reference)),
                   evidence=[packet(), packet({"record_exists": False}, evidence_id="evidence-002")]),
        on_example("twice, with other content", deny(("V-PROP-013", reference)),
                   evidence=[packet(), packet({"record_exists": False})]),
        on_example("the same packet twice", expect("ALLOW"), evidence=[packet(), packet()]),
        on_example("a required binding", expect("ALLOW"), bound),
        on_example("a required binding without its packet", deny(("G4", place)), bound, []),
        on_example("a binding whose packet is too old for it", deny(("V-EVID-012", place)), bound,
                   [packet(observed_at_ms=NOW - 60001)]),
        on_example("a binding that is not required, without its packet", expect("ALLOW"),
                   merged(bound, {"evidence_bindings": [{**bound["evidence_bindings"][0], "required": False}]}), []),
        on_example("a binding that is not required, with a broken packet", deny(("V-EVID-006", place)),
                   merged(bound, {"evidence_bindings": [{**bound["evidence_bindings"][0], "required": False}]}),
                   [packet(payload_hash=hash_of(1))]),
        on_example("a binding whose packet was given twice", deny(("G4", place)), bound, [packet(), packet({})]),
        on_example("the strictest of two bindings", deny(("V-PROP-013", reference), ("V-EVID-012", reference)),
                   {"evidence_bindings": [{**bound["evidence_bindings"][0], "freshness_ms": limit} for limit in (HOUR, 10000)]}),
        on_example("signed evidence opens personnel files to no one without a permit",
                   deny(("G12", "", []), ("G12", "", ["sales-writes-crm"]), ("G7", "/rollback_semantics")),
                   target(resource_type="hr_record"), [signed(packet(**badge))]),
    ]


def approval_cases() -> list:
    cases = []
    create, delete = proposal("create"), proposal("delete")
    transact = proposal("transact", parameters={"amount": 999.5, "currency": "EUR"})
    mail = proposal("communicate", risk_envelope={
        "allowed_side_effects": ["email_notification"], "forbidden_effects": [], "max_affected_records": 1,
        "reversible_required": False})
    path = "/approval_class"

    def hold(*reasons: tuple, **approvals: Any) -> dict:
        return expect("HOLD", *reasons, **approvals)

    def add(name: str, expected: dict, of: dict, *given: dict) -> None:
        cases.append(case(name, expected, of, approvals=list(given)))

    single, dual = ("G14", path, ["single-create"]), ("G14", path, ["dual-delete"])
    three = ("G14", path, ["threshold-transact"])
    add("single: nobody yet", hold(single, **{"class": "single", "required": 1, "have": []}), create)
    add("single: one", expect("ALLOW", **{"class": "single", "required": 1, "have": ["bob"]}), create,
        approval(create, "bob"))
    add("dual: one of two", hold(dual, **{"class": "dual", "required": 2, "have": ["bob"]}), delete,
        approval(delete, "bob"))
    add("dual: two", expect("ALLOW", **{"class": "dual", "required": 2, "have": ["alice", "bob"]}), delete,
        approval(delete, "bob"), approval(delete, "alice"))
    add("threshold: two of three", hold(three, **{"class": "threshold", "required": 3, "have": ["carol", "dave"]}),
        transact, approval(transact, "carol"), approval(transact, "dave"))
    add("threshold: three, from two groups",
        expect("ALLOW", **{"class": "threshold", "required": 3, "have": ["alice", "carol", "dave"]}),
        transact, *(approval(transact, name) for name in ("dave", "alice", "carol")))
    add("one rejection", deny(("G13", "")), create, approval(create, "bob"),
        approval(create, "carol", verdict="reject", reason="not this week"))
    add("a rejection by somebody who may not", expect("ALLOW", ("G15", "")), create, approval(create, "bob"),
        approval(create, "erin", verdict="reject", reason="I do not like it"))
    add("one who approves and rejects", deny(("G13", "")), create, approval(create, "bob", at_ms=NOW - 1),
        approval(create, "bob", verdict="reject", reason="on second thought"))
    of_alice = {**create, "actor": "agent-of-alice"}
    add("the actor under another name", hold(single, ("G15", ""), **{"class": "single", "required": 1, "have": []}),
        of_alice, approval(of_alice, "alice"))
    of_hop = {**create, "actor": "agent-hop"}
    for name in ("hop-1", "hop-2"):
        add(f"a19: the actor under a name of a name, {name}",
            hold(single, ("G15", ""), **{"class": "single", "required": 1, "have": []}), of_hop, approval(of_hop, name))
    for agent in ("agent-owned", "agent-below"):
        owned = {**create, "actor": agent}
        for name in ("alice", "alice-admin"):
            add(f"a19: the owner of {agent}, unsigned, as {name}",
                hold(single, ("G15", ""), **{"class": "single", "required": 1, "have": []}), owned, approval(owned, name))
        add(f"a19: somebody else than the owner of {agent}", expect("ALLOW"), owned, approval(owned, "bob"))
        add(f"a19: the owner of {agent} rejects", deny(("G13", "")), owned, approval(owned, "bob"),
            approval(owned, "alice", verdict="reject", reason="not this one"))
    add("one person under two names", hold(dual, ("G15", "")), delete, approval(delete, "alice"),
        approval(delete, "alice-admin"))
    add("one person twice", hold(dual, ("G15", "")), delete, approval(delete, "bob"), approval(delete, "bob", at_ms=NOW))
    add("for another proposal", hold(single, ("G15", "")), create, approval(delete, "bob"))
    add("expired", hold(single, ("G15", "")), create, approval(create, "bob", at_ms=NOW - 24 * HOUR - 1))
    add("as old as it may be", expect("ALLOW"), create, approval(create, "bob", at_ms=NOW - 24 * HOUR))
    add("from the future", hold(single, ("G15", "")), create, approval(create, "bob", at_ms=NOW + 5001))
    add("by somebody unknown", hold(single, ("G15", "")), create, approval(create, "mallory"))
    add("by a look-alike", hold(single, ("G15", "")), create, approval(create, "b\u043eb"))
    add("by another case", hold(single, ("G15", "")), create, approval(create, "Bob"))
    add("by somebody who may not", hold(single, ("G15", "")), create, approval(create, "erin"))
    add("no approval at all by its form", hold(single, ("G15", "")), create,
        {**approval(create, "bob"), "verdict": "maybe"})
    add("the proposal asks for more than the policy", hold(("G14", path, []), **{"class": "dual", "required": 2, "have": ["bob"]}),
        {**create, "approval_class": "dual"}, approval({**create, "approval_class": "dual"}, "bob"))
    add("the policy asks for more than the proposal", hold(dual, **{"class": "dual", "required": 2, "have": []}),
        {**delete, "approval_class": "single"})
    add("a threshold that no policy knows", deny(("V-PROP-014", path), single), {**create, "approval_class": "threshold"})
    add("a threshold that the policy knows",
        hold(three, **{"class": "threshold", "required": 3, "have": []}),
        {**transact, "approval_class": "threshold"})
    add("two approvals that a forbid asks for",
        hold(("G14", path, ["no-mail-without-two"]), **{"class": "none", "required": 2, "have": []}), mail)
    add("one of two that a forbid asks for",
        hold(("G14", path, ["no-mail-without-two"]), **{"class": "none", "required": 2, "have": ["bob"]}), mail,
        approval(mail, "bob"))
    asked = {**mail, "approval_class": "single"}
    add("one that the proposal asks for, and two that a forbid asks for, are named at once",
        hold(("G14", path, []), ("G14", path, ["no-mail-without-two"]), **{"class": "single", "required": 2, "have": []}), asked)
    add("one given of those",
        hold(("G14", path, ["no-mail-without-two"]), **{"class": "single", "required": 2, "have": ["bob"]}), asked,
        approval(asked, "bob"))
    add("two for a forbid", expect("ALLOW"), mail, approval(mail, "bob"), approval(mail, "carol"))
    bare = {key: value for key, value in mail.items() if key != "risk_envelope"}
    add("an effect of the permit that nobody allowed",
        deny(("G6", "/risk_envelope", ["communicate-after-two"]), ("G14", path, ["no-mail-without-two"])), bare)
    return cases


def gate_cases() -> list:
    custom = proposal("custom")
    no_permit = ("G12", "", [])
    huge = {**custom, "parameters": {"count": 9007199254740991}}
    patch_set = {
        "proposal_id": "apply-1", "ts_ms": 1705171200000, "actor": "agent-docs-1", "action_type": "write",
        "target": {"resource_type": "patch_set", "resource_id": hash_of("a patch"), "domain": "workspace",
                   "constraints": {}},
        "parameters": {"operations": [{"op": "create", "path": "docs/a.md"}, {"op": "modify", "path": "docs/b.md"}]},
    }

    def operations(*listed: Any) -> dict:
        return {**patch_set, "parameters": {"operations": list(listed)}}

    drafts = operations({"op": "modify", "path": "docs/b.md"}, {"op": "delete", "path": "docs/drafts/a.md"})
    request = {"request_id": "r-1", "ts_ms": 1705171200000, "actor": "agent-sales-001", "intent": "look at a page",
               "tool_call": {"name": "web.get", "params": {"host": "example.com", "path": "/news"}}}
    listed = "/parameters/operations"
    first = f"{listed}/0"
    return [
        case("sales may do custom things", expect("ALLOW"), custom),
        case("a policy that overflows denies", deny(("G11", "", ["small-numbers-only"])), huge),
        case("a number that is no Long", deny(("G8", "/parameters/count")), {**custom, "parameters": {"count": 1.5}}),
        case("a number that no Long can hold", deny(("G8", "/parameters/count")), {**custom, "parameters": {"count": 1e21}}),
        case("a text where a Long is declared", deny(("G8", "/parameters/count")), {**custom, "parameters": {"count": "7"}}),
        case("a set with an element of another type", deny(("G8", "/parameters/tags/1")),
             {**custom, "parameters": {"tags": ["a", 1]}}),
        case("a record that lacks a member", deny(("G8", "/parameters/limits/daily")), {**custom, "parameters": {"limits": {}}}),
        case("null where a Long is declared", deny(("G8", "/parameters/count")), {**custom, "parameters": {"count": None}}),
        case("parameters that nobody declared do not reach the policy", expect("ALLOW"),
             {**custom, "parameters": {"anything": [1, {"x": None}]}}),
        case("an amount with five decimals", deny(("G8", "/parameters/amount")),
             proposal("transact", parameters={"amount": 0.12345, "currency": "EUR"})),
        case("an amount that no decimal holds", deny(("G8", "/parameters/amount")),
             proposal("transact", parameters={"amount": 9007199254740991, "currency": "EUR"})),
        case("an amount that is missing", deny(("G8", "/parameters/amount")),
             proposal("transact", parameters={"currency": "EUR"})),
        case("an amount above the limit", deny(no_permit, ("G12", "", ["threshold-transact"])),
             proposal("transact", parameters={"amount": 1000.01, "currency": "EUR"})),
        case("a constraint of another type", deny(("G8", "/target/constraints/region")),
             merged(custom, target(constraints={"region": 7}))),
        case("an action that nothing permits", deny(no_permit), proposal("execute")),
        case("an actor with a look-alike letter", deny(("G3", "/actor"), no_permit, ("G12", "", ["custom-for-sales"])),
             {**custom, "actor": "\u0430gent-sales-001"}),
        case("an actor in another case", deny(("G3", "/actor"), no_permit, ("G12", "", ["custom-for-sales"])),
             {**custom, "actor": "Agent-Sales-001"}),
        case("an actor with an invisible character", deny(("G3", "/actor"), no_permit, ("G12", "", ["custom-for-sales"])),
             {**custom, "actor": "agent-sales-001\u200b"}),
        case("an actor with a line feed", deny(("G3", "/actor"), no_permit, ("G12", "", ["custom-for-sales"])),
             {**custom, "actor": "agent-\nsales-001"}),
        case("a domain that looks like another", deny(("G3", "/target/domain")),
             merged(custom, target(domain="ex\u0430mple.com"))),
        case("a resource type in another case", deny(("G3", "/target/resource_type")),
             merged(custom, target(resource_type="HR_Record"))),
        case("everybody reads", expect("ALLOW"), proposal("read", actor="somebody-new")),
        case("a tool that is mapped", expect("ALLOW"), request),
        case("a tool that is not mapped", deny(("G2", "/tool_call")), {**request, "tool_call": {"name": "rm"}}),
        case("no tool", deny(("G2", "/tool_call")), {key: it for key, it in request.items() if key != "tool_call"}),
        case("a parameter that the target needs", deny(("G2", "/tool_call")),
             merged(request, {"tool_call": {"params": {"host": None}}})),
        *(case(f"a parameter that would lead elsewhere: {value!r}", deny(("G2", "/tool_call")),
               {**request, "tool_call": {"name": "crm.note", "params": {"contact": value}}})
          for value in ("1/../../admin", "..", ".", "", "1?x=2", "1#", "1%2f", "1:2", "a@b", "1&b", "1\\2", "1 2", "1\u200b", "1\n")),
        case("a parameter that is the whole text is taken as it is", expect("ALLOW"),
             merged(request, {"tool_call": {"params": {"path": "/a?b=c#d"}}})),
        case("a tool whose action is denied", deny(("G6", "/risk_envelope"), no_permit, ("G12", "", ["sales-writes-crm"])),
             {**request, "tool_call": {"name": "crm.update", "params": {"contact": 7}}}),
        case("a tool whose effects the policy allows", expect("ALLOW"),
             {**request, "tool_call": {"name": "crm.note", "params": {"contact": 7}}}),
        case("a request with an unknown field", deny(("V-PROP-000", "/mood")), {**request, "mood": "good"}),
        case("a patch set of documents is held", expect("HOLD", ("G14", "/approval_class", ["docs-by-path"])), patch_set),
        case("a patch set of documents, approved", expect("ALLOW"), patch_set, approvals=[approval(patch_set, "bob")]),
        case("a patch set is judged by its strictest path",
             expect("HOLD", ("G14", "/approval_class", ["delete-drafts"]),
                    **{"class": "dual", "required": 2, "have": ["bob"]}), drafts, approvals=[approval(drafts, "bob")]),
        case("a patch set with one path that nothing permits",
             deny(("G12", "/parameters/operations/1", []), ("G12", "/parameters/operations/1", ["docs-by-path"]),
                  ("G14", "/approval_class", ["docs-by-path"])),
             operations({"op": "modify", "path": "docs/b.md"}, {"op": "modify", "path": "src/main.rs"})),
        case("a patch set with three paths that nothing permits",
             deny(*(("G12", f"{listed}/{at}", policies) for at, policies in [
                 (1, []), (1, ["docs-by-path"]), (2, []), (2, ["docs-by-path"]), (2, ["single-create"]),
                 (3, []), (3, ["delete-drafts"]), (3, ["dual-delete"])]), ("G14", "/approval_class", ["docs-by-path"])),
             operations({"op": "modify", "path": "docs/b.md"}, {"op": "modify", "path": "src/main.rs"},
                        {"op": "create", "path": "src/lib.rs"}, {"op": "delete", "path": "src/old.rs"})),
        case("a patch set with two paths that are forbidden",
             deny(("G10", f"{listed}/0", ["no-keys"]), ("G10", f"{listed}/2", ["no-keys"]),
                  ("G14", "/approval_class", ["docs-by-path"])),
             operations({"op": "create", "path": "docs/a.pem"}, {"op": "modify", "path": "docs/b.md"},
                        {"op": "modify", "path": "docs/c.pem"})),
        case("a patch set with one path that is forbidden and another that nothing permits",
             deny(("G10", f"{listed}/0", ["no-keys"]), ("G12", f"{listed}/1", []), ("G12", f"{listed}/1", ["docs-by-path"]),
                  ("G14", "/approval_class", ["docs-by-path"])),
             operations({"op": "modify", "path": "docs/a.pem"}, {"op": "modify", "path": "src/main.rs"})),
        case("the same operation twice is refused once",
             deny(("G12", f"{listed}/0", []), ("G12", f"{listed}/0", ["docs-by-path"])),
             operations({"op": "modify", "path": "src/main.rs"}, {"op": "modify", "path": "src/main.rs"})),
        case("of eighteen operations that are refused, two are only counted",
             deny(*(("G12", f"{listed}/{at}", policies) for at in range(16) for policies in ([], ["docs-by-path"])),
                  ("G12", listed, [])),
             operations(*({"op": "modify", "path": f"src/{at}.rs"} for at in range(18)))),
        case("of eighteen operations that are forbidden, two are only counted",
             deny(*(("G10", f"{listed}/{at}", ["no-keys"]) for at in range(16)), ("G10", listed, ["no-keys"]),
                  ("G14", "/approval_class", ["docs-by-path"])),
             operations(*({"op": "modify", "path": f"docs/{at}.pem"} for at in range(18)))),
        case("a path that leaves the folder", deny(("G9", first)), operations({"op": "modify", "path": "docs/../.env"})),
        *(case(f"a path that is not what it looks like: {path!r}", deny(("G9", first)), operations({"op": "modify", "path": path}))
          for path in ("docs/a\u200b.md", "docs/\u202egnp.md", "docs/cafe\u0301.md", "docs/\u212b.md", "docs/a\u0085.md")),
        case("a path in the composed form", expect("HOLD", ("G14", "/approval_class", ["docs-by-path"])),
             operations({"op": "modify", "path": "docs/caf\u00e9.md"})),
        case("a file whose name has an invisible character", deny(("G9", "/target/resource_id")),
             proposal("read", target={"resource_type": "file", "resource_id": "docs/a\u2060.md", "domain": "workspace",
                                      "constraints": {}})),
        case("an unknown operation", deny(("G9", first)), operations({"op": "chmod", "path": "docs/a.md"})),
        case("an operation with more than it should have", deny(("G9", first)),
             operations({"op": "create", "path": "docs/a.md", "mode": "777"})),
        case("a patch set without operations", deny(("G9", "/parameters/operations")), operations()),
    ]


def files() -> dict:
    """Everything below conformance/decide."""

    def listed(cases: list) -> str:
        return "[\n" + ",\n".join(json.dumps(it, ensure_ascii=False) for it in cases) + "\n]\n"

    def pretty(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, indent=2) + "\n"

    made = {
        "policies.cedar": CEDAR, "schema.cedarschema": SCHEMA, "entities.json": pretty(ENTITIES),
        "effects.toml": EFFECTS, "sensors.toml": SENSORS, "tools.toml": TOOLS, "redact.toml": REDACT,
        "tests/proposals/example.json": pretty(EXAMPLE),
        "tests/example.json": listed(example_cases()), "tests/operators.json": listed(operator_cases()),
        "tests/evidence.json": listed(evidence_cases()), "tests/approvals.json": listed(approval_cases()),
        "tests/gate.json": listed(gate_cases()),
    }
    return {Path("decide", name): text for name, text in made.items()}
