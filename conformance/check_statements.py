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

HASH = re.compile(r"sha256:[0-9a-f]{64}\Z")
HOUR_MS = 3_600_000
SESSION_MS, SESSION_SIGNATURES = 900_000, 20


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def statement(approval: dict) -> bytes:
    signature = approval["signature"]
    reason = hashlib.sha256(approval["reason"].encode()).hexdigest()
    session = signature.get("session")
    session = f"{session['id']} {session['started_at_ms']} {session['number']}" if session else "none"
    lines = ["ordain/approval/v1", signature["origin"], approval["approver"], signature["action_id"],
             approval["proposal_hash"], approval["view_digest"], approval["verdict"], signature["scope"],
             signature["assurance"], session, f"sha256:{reason}", str(approval["at_ms"]), str(signature["not_after_ms"]),
             signature["nonce"]]
    if any(not line.strip() or not line.isprintable() or len(line) > 256 for line in lines):
        raise ValueError("a line of the statement is no line")
    return "".join(line + "\n" for line in lines).encode()


def broken_rules(approval: dict, keys: list) -> list:
    signature = approval["signature"]
    broken = []
    scope_fits = signature["scope"] == "once" or HASH.match(signature["scope"])
    session = signature.get("session")
    session_fits = (session is not None) == (signature["assurance"] == "recent")
    if not scope_fits or not session_fits or signature["assurance"] not in ("recent", "presence"):
        broken.append("AP7")
    if not 0 <= signature["not_after_ms"] - approval["at_ms"] <= HOUR_MS:
        broken.append("AP8")
    known = [key for key in keys if key["key_id"] == signature["key_id"]]
    if keys and not [key for key in known if "revoked_index" not in key]:
        broken.append("AP9")
    for key in known:
        public = decode(key["public_key"])
        if key["principal"] != approval["approver"]:
            broken.append("AP10")
        try:
            assert hashlib.sha256(public).hexdigest()[:16] == key["key_id"]
            Ed25519PublicKey.from_public_bytes(public).verify(decode(signature["signature"]), statement(approval))
        except (InvalidSignature, ValueError, AssertionError):
            broken.append("AP11")
    if session and not (1 <= session["number"] <= SESSION_SIGNATURES
                        and 0 <= approval["at_ms"] - session["started_at_ms"] <= SESSION_MS):
        broken.append("AP12")
    # Scopes have whole numbers and plain names, so sorted keys are their canonical form.
    scope = approval.get("scope")
    text = json.dumps(scope, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if scope is not None and signature["scope"] != f"sha256:{hashlib.sha256(text.encode()).hexdigest()}":
        broken.append("AP13")
    return broken


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "approval")
    for path in sorted(folder.glob("*/*ject.json")) + sorted(folder.glob("*/accept.json")):
        document = json.loads(path.read_text())
        facts = path.with_name("facts.json")
        keys = json.loads(facts.read_text())["approver_keys"]["keys"] if facts.exists() else []
        if isinstance(document.get("signature"), dict):
            print(path.relative_to(folder), ",".join(broken_rules(document, keys)) or "ok")
