// Propose, approve, use, report: with openapi-fetch and the types that openapi-typescript writes, and nothing else.

import createClient from "openapi-fetch";
import type { components, paths } from "./gate.d.ts";

declare const process: { env: Record<string, string | undefined> };

type Schemas = components["schemas"];
type Submission = paths["/v1/actions"]["post"]["requestBody"]["content"]["application/json"];

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

function client(role: "ACTOR" | "APPROVER" | "SECOND_APPROVER" | "WORKER") {
  const headers = { Authorization: `Bearer ${setting(`${role}_TOKEN`)}` };
  return createClient<paths>({ baseUrl: setting("GATE_URL"), headers });
}

function check(fact: boolean, shown: unknown): asserts fact {
  if (!fact) throw new Error(JSON.stringify(shown));
}

const id = "from-typescript";
const target: Schemas["Target"] = { resource_type: "crm_record", resource_id: "7", domain: "crm", constraints: {} };
const parameters = { updates: { email: "x@example.org" } };
const proposal: Schemas["ActionProposal"] = {
  proposal_id: id,
  ts_ms: Number(setting("GATE_NOW")),
  actor: "agent",
  action_type: "write",
  target,
  parameters,
};

const submitted = await client("ACTOR").POST("/v1/actions", { body: proposal });
check(submitted.response.status === 201 && submitted.data?.state === "held", submitted.error);

const params = { path: { id } };
for (const [approver, state] of [["APPROVER", "held"], ["SECOND_APPROVER", "allowed"]] as const) {
  const shown = await client(approver).GET("/v1/actions/{id}", { params });
  check(shown.data !== undefined, shown.error);
  const body: Schemas["VerdictRequest"] = { verdict: "approve", view_digest: shown.data.view_digest };
  const approved = await client(approver).POST("/v1/actions/{id}/approvals", { params, body });
  check(approved.data?.state === state, approved);
}

const seen = await client("WORKER").GET("/v1/actions/{id}", { params: { path: { id }, query: { wait: 5 } } });
const permit = seen.data?.permit;
check(permit != null && permit.token != null, seen.error);
const use: Schemas["UseRequest"] = { permit: permit.token, action_type: "write", target, parameters };
const of_permit = { params: { path: { id: permit.permit_id } } };
const receipt = await client("WORKER").POST("/v1/permits/{id}/use", { ...of_permit, body: use });
check(receipt.data !== undefined, receipt.error);
const settled = await client("WORKER").POST("/v1/permits/{id}/outcome", {
  ...of_permit,
  body: { use: receipt.data.use, outcome: "succeeded", affected_records: 1 },
});
check(settled.data?.used === 1, settled.error);

// A permit for one use has no second one, and the client knows the problem by its code.
const again = await client("WORKER").POST("/v1/permits/{id}/use", { ...of_permit, body: use });
check(again.error?.code === "conflict", again);
const final = await client("WORKER").GET("/v1/actions/{id}", { params });
check(final.data?.state === "succeeded", final);

// The types refuse what the gate would.
// @ts-expect-error a proposal needs a target
const incomplete: Schemas["ActionProposal"] = { proposal_id: id, ts_ms: 1, actor: "a", action_type: "read", parameters };
// @ts-expect-error there is no such state
const misspelled: Schemas["ActionState"] = "aproved";
// @ts-expect-error nothing but an action or a request can be submitted
const unrelated: Submission = { verdict: "approve" };
void [incomplete, misspelled, unrelated];
console.log("done");
