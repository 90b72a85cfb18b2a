#!/usr/bin/env python3
"""An agent that asks before it acts, with Python's standard library alone.

It wants to change one contact in a small CRM (a JSON file). It proposes the change, waits until somebody has
approved it, spends the permit, makes the change, and reports how it went.

    ORDAIN_SERVER   where the gate is, such as http://127.0.0.1:7171
    ORDAIN_TOKEN    a token with the roles actor and worker
"""

import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

SERVER = os.environ.get("ORDAIN_SERVER", "http://127.0.0.1:7171")
TOKEN = os.environ.get("ORDAIN_TOKEN") or sys.exit(
    "ORDAIN_TOKEN is not set; ordain token create agent-1 --role actor --role worker makes one"
)


class Refused(Exception):
    """The gate said no; its problem says why."""

    def __init__(self, status, problem):
        super().__init__(problem.get("detail", f"status {status}"))
        self.status, self.problem = status, problem


def ask(method, path, body=None, only_once=False):
    """One request to the gate. Busy is not an answer: it is asked again. What may have been done is asked again too,
    unless it counts each time."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    for pause in (0.5, 1, 2, 4, None):
        request = urllib.request.Request(SERVER + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=90) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            status, problem = error.code, json.load(error)
        except OSError as error:
            status, problem = 503, {"code": "uncertain", "detail": f"the gate does not answer: {error}"}
        lost = problem.get("code") == "uncertain" and only_once
        if status not in (429, 503) or lost or pause is None:
            raise Refused(status, problem)
        time.sleep(pause)


def propose(actor, contact, email):
    return {
        "proposal_id": f"crm-{uuid.uuid4()}",
        "ts_ms": time.time_ns() // 1_000_000,
        "actor": actor,
        "action_type": "write",
        "target": {
            "resource_type": "crm_record",
            "resource_id": f"contact-{contact}",
            "domain": "crm",
            "constraints": {"allowed_fields": ["email"]},
        },
        "parameters": {"updates": {"email": email}},
    }


def decided(status, patience_s):
    """Waits while the action is held, in polls that the server keeps open."""
    end = time.monotonic() + patience_s
    while status["state"] == "held" and time.monotonic() < end:
        wait = max(1, min(30, int(end - time.monotonic())))
        status = ask("GET", f"/v1/actions/{urllib.parse.quote(status['action_id'], safe='')}?wait={wait}")
    return status


def spend(permit, proposal):
    """Spends one use of the permit. Sent twice it would spend two, so that after a lost answer the agent looks: a use that
    it was not given it gives up, and one that was not spent it asks for again."""
    path = f"/v1/permits/{permit['permit_id']}"
    use = {field: proposal[field] for field in ("action_type", "target", "parameters")}
    for pause in (2, 5, None):
        try:
            return ask("POST", f"{path}/use", {"permit": permit["token"], **use}, only_once=True)
        except Refused as refused:
            if refused.problem.get("code") != "uncertain" or pause is None:
                raise
            time.sleep(pause)  # it may still be on its way
            now = ask("GET", path)
            if now["used"] > permit["used"]:
                reason = "the answer to spending it was lost, and nothing was done"
                ask("POST", f"{path}/outcome", {"use": now["used"], "outcome": "failed", "reason": reason})
                raise


def act(crm, proposal):
    """The change itself. Returns how many records changed."""
    contact = proposal["target"]["resource_id"]
    with open(crm, encoding="utf-8") as file:
        records = json.load(file)
    records[contact].update(proposal["parameters"]["updates"])
    with open(crm + ".new", "w", encoding="utf-8") as file:
        json.dump(records, file, indent=2)
    os.replace(crm + ".new", crm)
    return 1


def main(actor, crm, contact, email, patience_s):
    proposal = propose(actor, contact, email)
    status = ask("POST", "/v1/actions", proposal)
    print(f"{status['action_id']}: {status['state']}", flush=True)
    status = decided(status, patience_s)
    if status["state"] != "allowed":
        for reason in status["decision"]["reasons"]:
            print(f"  {reason['rule_id']}: {reason['message']}")
        for said in status["approvals"]:
            print(f"  {said['approver']}: {said['verdict']}, {said['reason']}")
        print(f"not allowed: {status['state']}")
        return 1

    permit = status["permit"]
    # From here on a use is spent. Whatever happens must be reported; what is not reported is unknown, and blocks a retry.
    spent = spend(permit, proposal)
    started, report = time.monotonic(), {"use": spent["use"]}
    try:
        report |= {"affected_records": act(crm, proposal), "outcome": "succeeded"}
    except Exception as error:  # whatever it was, the gate must hear of it
        report |= {"outcome": "failed", "reason": str(error)}
    report["duration_ms"] = int((time.monotonic() - started) * 1000)
    ask("POST", f"/v1/permits/{permit['permit_id']}/outcome", report)
    print(f"{status['action_id']}: {report['outcome']}")
    return 0 if report["outcome"] == "succeeded" else 1


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(f"usage: {sys.argv[0]} ACTOR CRM.json CONTACT EMAIL [PATIENCE_SECONDS]")
    try:
        sys.exit(main(*sys.argv[1:5], float(sys.argv[5]) if len(sys.argv) > 5 else 300))
    except Refused as refused:
        sys.exit(f"refused ({refused.status}): {refused}")
