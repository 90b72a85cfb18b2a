#!/usr/bin/env python3
"""Checks the signature of every approval vector, with none of our code.
    python3 conformance/check_statements.py [FOLDER]    one line for each document: its path, and `ok` or the rules it breaks
"""
import base64
import hashlib
import json
import re
import sys
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

HOUR_MS, SESSION_MS, SESSION_SIGNATURES = 3_600_000, 900_000, 20

def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

def statement(approval: dict) -> bytes:
    signature, session = approval["signature"], approval["signature"].get("session")
    lines = ["ordain/approval/v1", signature["origin"], approval["approver"], signature["action_id"],
             approval["proposal_hash"], approval["view_digest"], approval["verdict"], signature["scope"], signature["assurance"],
             f"{session['id']} {session['started_at_ms']} {session['number']}" if session else "none",
             "sha256:" + hashlib.sha256(approval["reason"].encode()).hexdigest(),
             str(approval["at_ms"]), str(signature["not_after_ms"]), signature["nonce"]]
    if any(not line.strip() or not line.isprintable() or len(line) > 256 for line in lines):
        raise ValueError("a line of the statement is no line")
    return "".join(line + "\n" for line in lines).encode()

def is_signed_with(key: dict, approval: dict) -> bool:
    public = decode(key["public_key"])
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(decode(approval["signature"]["signature"]), statement(approval))
    except (InvalidSignature, ValueError):
        return False
    return hashlib.sha256(public).hexdigest()[:16] == key["key_id"]

def broken_rules(approval: dict, keys: list) -> list:
    signature, session = approval["signature"], approval["signature"].get("session")
    known = [key for key in keys if key["key_id"] == signature["key_id"]]
    scope = "sha256:" + hashlib.sha256(json.dumps(approval.get("scope"), sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    holds = {"AP7": (signature["scope"] == "once" or re.fullmatch(r"sha256:[0-9a-f]{64}", signature["scope"]))
        and signature["assurance"] in ("recent", "presence") and (session is not None) == (signature["assurance"] == "recent"),
        "AP8": 0 <= signature["not_after_ms"] - approval["at_ms"] <= HOUR_MS,
        "AP9": not keys or any("revoked_index" not in key for key in known),
        "AP10": all(key["principal"] == approval["approver"] for key in known),
        "AP11": all(is_signed_with(key, approval) for key in known),
        "AP12": not session or (1 <= session["number"] <= SESSION_SIGNATURES
                                and 0 <= approval["at_ms"] - session["started_at_ms"] <= SESSION_MS),
        "AP13": (signature["scope"] == scope) == ("scope" in approval or signature["scope"][:7] == "sha256:")}
    return [rule for rule, fits in holds.items() if not fits]

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "approval")
    for path in sorted(folder.glob("*/*ject.json")) + sorted(folder.glob("*/accept.json")):
        document, facts = json.loads(path.read_text()), path.with_name("facts.json")
        keys = json.loads(facts.read_text())["approver_keys"]["keys"] if facts.exists() else []
        if isinstance(document.get("signature"), dict):
            print(path.relative_to(folder), ",".join(broken_rules(document, keys)) or "ok")
