#!/usr/bin/env python3
"""Checks a dossier of `ordain dossier`, with none of our code: Python's standard library, and `cryptography` for Ed25519.

    python3 conformance/check_dossier.py FILE VERIFIER...    `ok` and what it proves, or one line for each problem; exit 0 or 1

VERIFIER is the ledger's key as `ordain keys list` shows it, from somebody you trust. It checks that the file is canonical, the
checkpoint signed, every entry on the ledger, every document the one that entries name, the verdicts and the permit signed, and that each
decision rests on what the entries before it say. It cannot decide again: that takes the policies' language, and `ordain verify`.
"""

import base64
import hashlib
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MEMBERS = {"action_id": str, "checkpoint": str, "documents": dict, "dossier_schema_version": str, "entries": list,
           "views": dict, "withheld": list}
# Kinds of entries about an action that name no document to follow.
PLAIN = {"superseded", "expired", "applied", "undone", "key_rotated"}


class Wrong(Exception):
    pass


def need(holds: bool, problem: str) -> None:
    if not holds:
        raise Wrong(problem)


def decode(text: str, url: bool = False) -> bytes:
    """Base64 that can be written in one way only."""
    padded = text + "=" * (-len(text) % 4) if url else text
    raw = base64.b64decode(padded, altchars=b"-_" if url else None, validate=True)
    again = (base64.urlsafe_b64encode if url else base64.b64encode)(raw).decode()
    need((again.rstrip("=") if url else again) == text, f"`{text}` is not base64")
    return raw


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def named(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def canonical(value) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def verified(public: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
        return True
    except (InvalidSignature, ValueError):
        return False


def open_checkpoint(note: str, verifiers: list):
    """The origin, size and root of a checkpoint that exactly these keys signed (C2SP signed-note, tlog-checkpoint)."""
    text, signatures = note.rsplit("\n\n", 1)
    text += "\n"
    need(signatures.endswith("\n"), "the checkpoint does not end with a line feed")
    keys = {}
    for verifier in verifiers:
        name, key_hash, key = verifier.split("+", 2)
        raw = decode(key)
        need(raw[0] == 1 and sha256(name.encode() + b"\n" + raw)[:4].hex() == key_hash, "a verifier is not one")
        keys[(name, bytes.fromhex(key_hash))] = raw[1:]
    for line in signatures[:-1].split("\n"):
        dash, name, blob = line.split(" ")
        raw = decode(blob)
        key = keys.get((name, raw[:4]))
        need(dash == "\u2014" and key is not None, "the checkpoint has a signature by a key that was not given")
        need(verified(key, raw[4:], text.encode()), "the signature of the checkpoint does not fit")
    origin, size, root = text[:-1].split("\n")
    need(all(name == origin for name, _ in keys), "the checkpoint is of another ledger")
    need(str(int(size)) == size, "the size of the checkpoint is not a number")
    return origin, int(size), decode(root)


def root_of(leaf: bytes, index: int, size: int, proof: list) -> bytes:
    """The root that an inclusion proof leads to (RFC 9162, 2.1.3.2)."""
    node, last, hashes = index, size - 1, list(proof)
    found = leaf
    for sibling in hashes:
        need(last > 0, "a proof is too long")
        if node & 1 or node == last:
            found = sha256(b"\x01" + sibling + found)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            found = sha256(b"\x01" + found + sibling)
        node, last = node >> 1, last >> 1
    need(last == 0, "a proof is too short")
    return found


def statement(approval: dict) -> str:
    """What an approver signs: docs/contracts/statement.md."""
    signature = approval["signature"]
    reason = named(approval["reason"])
    session = signature.get("session")
    session = f"{session['id']} {session['started_at_ms']} {session['number']}" if session else "none"
    lines = ["ordain/approval/v1", signature["origin"], approval["approver"], signature["action_id"],
             approval["proposal_hash"], approval["view_digest"], approval["verdict"], signature["scope"],
             signature["assurance"], session, reason, str(approval["at_ms"]), str(signature["not_after_ms"]), signature["nonce"]]
    return "".join(line + "\n" for line in lines)


class Dossier:
    def __init__(self, raw: bytes, verifiers: list):
        text = raw.decode()
        self.content = json.loads(text)
        need(canonical(self.content) + "\n" == text, "is not canonical")
        need({name: type(value) for name, value in self.content.items()} == MEMBERS, "has other members")
        need(self.content["dossier_schema_version"] == "0.1.0", "has another version")
        self.action_id, self.documents = self.content["action_id"], self.content["documents"]
        self.views, self.withheld = self.content["views"], self.content["withheld"]
        self.origin, self.size, self.root = open_checkpoint(self.content["checkpoint"], verifiers)
        self.signatures = 0

    def check(self) -> None:
        self.check_tree()
        self.check_documents()
        self.check_life()

    def check_tree(self) -> None:
        self.entries, before = [], -1
        for it in self.content["entries"]:
            need(set(it) == {"entry", "index", "proof"}, "an entry has other members")
            index = it["index"]
            need(type(index) is int and before < index < self.size, f"entry {index} is out of order")
            before = index
            proof = [decode(text) for text in it["proof"]]
            leaf = sha256(b"\x00" + it["entry"].encode())
            need(root_of(leaf, index, self.size, proof) == self.root, f"entry {index} is not on the ledger")
            self.entries.append((index, json.loads(it["entry"])))

    def read(self, name: str):
        need(name in self.documents, f"{name} is missing")
        return json.loads(self.documents[name])

    def check_documents(self) -> None:
        for name, text in [*self.documents.items(), *self.views.items()]:
            need(named(text) == name, f"{name} is not the hash of its text")
        used, seen = set(), set()
        for _, entry in self.entries:
            event = entry["event"]
            used |= {value for name, value in event.items() if name.endswith("_document")}
            if "inputs_document" in event:
                inputs = self.read(event["inputs_document"])
                used |= {inputs["files_document"], inputs["proposal_document"], *inputs["evidence_documents"],
                         *inputs["approval_documents"]} | ({inputs["keys_document"]} if "keys_document" in inputs else set())
            if event["kind"] in ("approved", "rejected"):
                seen.add(self.read(event["approval_document"])["view_digest"])
        withheld = set(self.withheld)
        need(self.withheld == sorted(withheld), "`withheld` is not sorted")
        need(set(self.documents) | withheld >= used and set(self.documents) <= used, "documents are missing or too many")
        need(set(self.views) | withheld >= seen and set(self.views) <= seen, "views are missing or too many")
        need(withheld <= used | seen and not withheld & (set(self.documents) | set(self.views)), "`withheld` is wrong")

    def check_life(self) -> None:
        self.proposal, self.approvals, self.policies, self.announced = None, [], [], set()
        decided, minted, uses = False, None, 0
        for index, entry in self.entries:
            event = entry["event"]
            kind = event["kind"]
            need(event.get("action_id", self.action_id) == self.action_id, f"entry {index} is about another action")
            if kind == "policy_changed":
                self.policies.append((event["files_document"], event["policy_hash"]))
            elif kind in ("evidence_received", "approver_key_enrolled", "approver_key_revoked"):
                self.announced.add(event.get("packet_document") or event["keys_document"])
            elif kind == "submitted":
                self.proposal = event["proposal_document"]
            elif kind in ("approved", "rejected"):
                self.approvals.append(event["approval_document"])
                self.check_verdict(index, entry)
            elif kind in ("decided", "permit_spent"):
                decided = True
                self.check_decision(index, event)
                if kind == "permit_spent":
                    uses += 1
                    need(event["permit_id"] == minted and event["use"] == uses, f"entry {index} is out of turn")
            elif kind == "permit_minted":
                minted = event["permit_id"]
                self.check_permit(index, event)
            elif kind == "permit_settled":
                need(event["permit_id"] == minted and event["use"] <= uses, f"entry {index} settles no use")
            else:
                need(kind in PLAIN, f"entry {index} does not belong to the action")
        kinds = {index: entry["event"] for index, entry in self.entries}
        for index, event in kinds.items():
            if event["kind"] in ("submitted", "approved", "rejected"):
                need(kinds.get(index + 1, {}).get("kind") == "decided", f"the decision after entry {index} is missing")
            if event["kind"] == "permit_minted":
                need(kinds.get(index - 1, {}).get("outcome") == "ALLOW", f"the ALLOW before entry {index} is missing")
        need(self.proposal is not None and decided, "the action is not submitted and decided")

    def check_decision(self, index: int, event: dict) -> None:
        inputs, decision = self.read(event["inputs_document"]), self.read(event["decision_document"])
        need(inputs["proposal_document"] == self.proposal, f"entry {index} decides on another proposal")
        need(inputs["approval_documents"] == self.approvals, f"entry {index} decides by other approvals")
        need(bool(self.policies) and (inputs["files_document"], decision["policy_hash"]) == self.policies[-1],
             f"entry {index} decides by other policies")
        rests_on = {*inputs["evidence_documents"]} | ({inputs["keys_document"]} if "keys_document" in inputs else set())
        need(rests_on <= self.announced, f"entry {index} decides by evidence or keys that nothing announces")
        need(decision["outcome"] == event.get("outcome", "ALLOW"), f"entry {index} has another outcome")

    def check_verdict(self, index: int, entry: dict) -> None:
        approval = self.read(entry["event"]["approval_document"])
        need(approval["proposal_hash"] == self.proposal, f"entry {index} is about another proposal")
        need(approval["approver"] == entry["by"], f"entry {index} is by somebody else")
        if approval["view_digest"] in self.views:
            view = json.loads(self.views[approval["view_digest"]])
            need((view["action_id"], view["proposal_hash"]) == (self.action_id, self.proposal), f"entry {index}: another view")
        signed = entry.get("signed", [])
        if "signature" not in approval:
            return need(signed == [], f"entry {index} has a signature that its document has not")
        text = statement(approval)
        need(len(signed) == 1 and signed[0]["statement"] == text, f"entry {index} signs another statement")
        need(signed[0]["signature"] == approval["signature"]["signature"], f"entry {index} has another signature")
        keys = [event for at, event in ((at, it["event"]) for at, it in self.entries)
                if at < index and event["kind"] == "approver_key_enrolled"
                and (event["key_id"], event["principal"]) == (approval["signature"]["key_id"], approval["approver"])]
        need(bool(keys), f"entry {index}: the key is not enrolled")
        public, signature = decode(keys[0]["public_key"], url=True), decode(signed[0]["signature"], url=True)
        need(sha256(public).hex()[:16] == keys[0]["key_id"], f"entry {index}: the key has another id")
        need(verified(public, signature, text.encode()), f"entry {index}: the signature does not fit")
        self.signatures += 1

    def check_permit(self, index: int, event: dict) -> None:
        keys = [it["event"] for _, it in self.entries
                if it["event"]["kind"] == "key_rotated" and it["event"]["key_id"] == event["key_id"]]
        need(bool(keys), f"entry {index}: nothing announces the key of the permit")
        if event["permit_document"] not in self.documents:
            return
        signed, signature = self.documents[event["permit_document"]].rsplit(".", 1)
        public = decode(keys[0]["public_key"], url=True)
        need(verified(public, decode(signature, url=True), signed.encode()), f"entry {index}: the permit is not signed")
        claims = json.loads(decode(signed.split(".")[1], url=True))
        need((claims["jti"], claims["proposal_hash"]) == (event["permit_id"], self.proposal), f"entry {index}: another permit")


if __name__ == "__main__":
    try:
        with open(sys.argv[1], "rb") as file:
            dossier = Dossier(file.read(), sys.argv[2:])
        dossier.check()
    except (Wrong, KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        print(f"invalid: {problem}")
        sys.exit(1)
    print(f"ok: {dossier.action_id}: {len(dossier.entries)} of {dossier.size} entries on {dossier.origin}, "
          f"{len(dossier.documents)} documents, {dossier.signatures} signatures, {len(dossier.withheld)} withheld")
