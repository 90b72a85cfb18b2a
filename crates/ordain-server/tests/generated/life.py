"""Propose, approve, use, report: with the client that openapi-python-client writes, and nothing else."""

import os

from ordain_gate import AuthenticatedClient
from ordain_gate.api.default import get_action, get_checkpoint, record_verdict, report_outcome, submit_action, use_permit
from ordain_gate.models import (
    ActionProposal,
    ActionProposalParameters,
    ActionState,
    ActionStatus,
    ActionType,
    OutcomeReport,
    PermitStatus,
    Problem,
    ProblemCode,
    Target,
    TargetConstraints,
    UseOutcome,
    UseReceipt,
    UseRequest,
    UseRequestParameters,
    Verdict,
    VerdictRequest,
)


def client(role):
    token = os.environ[f"{role}_TOKEN"]
    return AuthenticatedClient(base_url=os.environ["GATE_URL"], token=token, raise_on_unexpected_status=True)


target = Target(resource_type="crm_record", resource_id="7", domain="crm", constraints=TargetConstraints())
content = {"updates": {"email": "x@example.org"}}
proposal = ActionProposal(
    proposal_id="from-python",
    ts_ms=int(os.environ["GATE_NOW"]),
    actor="agent",
    action_type=ActionType.WRITE,
    target=target,
    parameters=ActionProposalParameters.from_dict(content),
)
status = submit_action.sync(client=client("ACTOR"), body=proposal)
assert isinstance(status, ActionStatus), status
assert status.state == ActionState.HELD, status

for approver, state in [("APPROVER", ActionState.HELD), ("SECOND_APPROVER", ActionState.ALLOWED)]:
    shown = get_action.sync("from-python", client=client(approver))
    assert isinstance(shown, ActionStatus), shown
    verdict = VerdictRequest(verdict=Verdict.APPROVE, view_digest=shown.view_digest)
    approved = record_verdict.sync("from-python", client=client(approver), body=verdict)
    assert isinstance(approved, ActionStatus), approved
    assert approved.state == state, approved

seen = get_action.sync("from-python", client=client("WORKER"), wait=5)
assert isinstance(seen, ActionStatus) and isinstance(seen.permit, PermitStatus), seen
assert isinstance(seen.permit.token, str), seen
use = UseRequest(
    permit=seen.permit.token,
    action_type=ActionType.WRITE,
    target=target,
    parameters=UseRequestParameters.from_dict(content),
)
receipt = use_permit.sync(seen.permit.permit_id, client=client("WORKER"), body=use)
assert isinstance(receipt, UseReceipt), receipt
report = OutcomeReport(use=receipt.use, outcome=UseOutcome.SUCCEEDED, affected_records=1)
settled = report_outcome.sync(receipt.permit_id, client=client("WORKER"), body=report)
assert isinstance(settled, PermitStatus) and settled.used == 1, settled

# A permit for one use has no second one, and the client knows the problem by its code.
again = use_permit.sync(receipt.permit_id, client=client("WORKER"), body=use)
assert isinstance(again, Problem) and again.code == ProblemCode.CONFLICT, again
final = get_action.sync("from-python", client=client("WORKER"))
assert isinstance(final, ActionStatus) and final.state == ActionState.SUCCEEDED, final
assert get_checkpoint.sync_detailed(client=client("WORKER")).status_code == 200
print("done")
