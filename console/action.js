// One action: what exactly would happen, why it is held, who is asked, and the decision. What is signed is the view: its bytes
// are fetched, hashed here, and everything marked as signed is drawn from them.

import { useEffect, useRef, useState } from "./vendor/hooks.mjs";
import { ask, isSession, now, post, query } from "./api.js";
import { Effect } from "./diff.js";
import { AgentSays, Ago, Copy, Dialog, Failed, Foreign, Hash, Icon, Json, Left, Link, Loading, Message, Section, State, Title, When, gate, html, span, standing, title, useLoad } from "./parts.js";
import { approvalStatement, ownPasskeys, sign } from "./passkey.js";
import { digestOf } from "./proof.js";

const plain = new TextDecoder();

/** The status, and the view whose bytes were hashed here. */
async function load(id) {
  const path = `/v1/actions/${encodeURIComponent(id)}`;
  const at = performance.now();
  const status = await ask(path);
  const view = await ask(`${path}/view${status.view_digest ? query({ digest: status.view_digest }) : ""}`, { bytes: true });
  const digest = await digestOf(view.bytes);
  const who = await gate();
  return { status, who, at, digest, view: JSON.parse(plain.decode(view.bytes)), agrees: status.view_digest === digest };
}

const PRESETS = ["Wrong target", "Too broad: ask for less", "Say why this is needed", "Not now", "Use a pull request instead"];

// --- Words -----------------------------------------------------------------------------------------------------

const RISKY = { delete: "It deletes something.", transact: "It moves money or books a transaction.", communicate: "It sends something to others, which cannot be called back.", execute: "It runs a command: the text says what is asked, not all that happens.", approve: "It approves something in another system." };

/** The risk in words, from the fields alone. */
export function risks(proposal) {
  const found = [];
  const { risk_envelope: envelope, rollback_semantics: rollback, action_type: type } = proposal;
  if (RISKY[type]) found.push(["bad", RISKY[type]]);
  const strategy = rollback?.strategy;
  if (strategy === "inverse_patch") found.push(["good", "It can be undone: the inverse patch is recorded."]);
  else if (strategy === "compensating_action") found.push(["good", "Another action can compensate for it."]);
  else if (strategy === "manual") found.push(["bad", "Only a person can undo it, by hand."]);
  else found.push(["bad", "Nothing says how to undo it."]);
  if (envelope) {
    const most = envelope.max_affected_records;
    if (most !== undefined) found.push([most > 1 ? "bad" : "good", `It may touch at most ${most} record${most === 1 ? "" : "s"}.`]);
    const effects = envelope.allowed_side_effects || [];
    found.push([effects.length ? "bad" : "good", effects.length ? `Allowed side effects: ${effects.join(", ")}.` : "It declares no side effects."]);
    if (envelope.forbidden_effects?.length) found.push(["good", `Forbidden: ${envelope.forbidden_effects.join(", ")}.`]);
  } else {
    found.push(["bad", "It declares no limits for its effects."]);
  }
  return found;
}

const NEEDED = { local: "an approval", login: "an approval after a login", recent: "a signature by a key unlocked lately", presence: "your passphrase or passkey" };

function Approvals({ status }) {
  const { approvals, reasons } = status.decision;
  const missing = Math.max(0, approvals.required - approvals.have.length);
  const asked = reasons.filter((reason) => reason.rule_id === "G14" || reason.rule_id === "G15");
  return html`<div class="asked">
    <p>${approvals.required === 0 ? "No approval is asked for." : html`<b>${approvals.have.length} of ${approvals.required}</b> approvals${status.state === "held" && missing ? ` · ${missing} missing` : ""}`}</p>
    ${approvals.required > 0 && html`<div class="meter" role="img" aria-label=${`${approvals.have.length} of ${approvals.required} approvals`}>${Array.from({ length: Math.min(approvals.required, 12) }, (_, at) => html`<i class=${at < approvals.have.length ? "full" : ""}></i>`)}</div>`}
    <ul class="people">${status.approvals.map((approval) => html`<li><span class=${`tag ${approval.verdict === "approve" ? "green" : "red"}`}>${approval.verdict === "approve" ? "✓ approved" : "✕ rejected"}</span> <b><${Foreign} text=${approval.approver} /></b> <${Ago} ms=${approval.at_ms} />
      <span class="quiet">${approval.signature ? (approval.signature.method === "webauthn" ? "signed with a passkey" : `signed with a key (${approval.signature.assurance})`) : `not signed (${approval.how || "local"})`}</span>
      ${approval.reason && html`<blockquote><${Foreign} text=${approval.reason} /></blockquote>`}</li>`)}</ul>
    ${status.state === "held" && asked.map((reason) => html`<p class="quiet"><${Message} text=${reason.message} /></p>`)}
    ${status.signing && html`<p class="quiet">Takes ${NEEDED[status.signing.assurance]}.</p>`}
  </div>`;
}

function Policy({ status }) {
  const { reasons, policy_hash: hash } = status.decision;
  return html`<ul class="reasons">${reasons.map((reason) => html`<li><code class="rule">${reason.rule_id}</code><div><${Message} text=${reason.message} />
      ${reason.path && html` <code class="quiet">${reason.path}</code>`}
      ${reason.policies.length > 0 && html`<div class="policies">${reason.policies.map((id) => html`<span class="tag quiet"><${Foreign} text=${id} /></span>`)}</div>`}</div></li>`)}
    ${reasons.length === 0 && html`<li class="quiet">The policies give no reason.</li>`}</ul>
    <p class="quiet">Judged <${Ago} ms=${status.decision.decided_at_ms} /> by the policies <${Hash} value=${hash} /> <${Link} to=${`/actions${query({ policy: hash })}`}>Their other decisions<//></p>`;
}

function Evidence({ view, status }) {
  const { proposal } = view;
  const bindings = Object.fromEntries((proposal.evidence_bindings || []).map((binding) => [binding.evidence_id, binding]));
  const failed = new Set(status.decision.reasons.map((reason) => reason.path).filter((path) => path.startsWith("/preconditions/")));
  const conditions = proposal.preconditions || [];
  const at = status.state === "held" ? now() : status.decision.decided_at_ms;
  return html`${conditions.length > 0 && html`<ul class="conditions">${conditions.map((condition, place) => {
      const holds = !failed.has(`/preconditions/${place}`);
      return html`<li><span class=${`tag ${holds ? "green" : "red"}`}>${holds ? "✓ holds" : "✕ fails"}</span> <code><${Foreign} text=${condition.field} /></code> ${condition.operator} <code><${Foreign} text=${JSON.stringify(condition.value)} /></code></li>`;
    })}</ul>`}
    ${view.evidence.length === 0 && html`<p class="quiet">No evidence was given.</p>`}
    ${view.evidence.map((packet) => {
      const binding = bindings[packet.evidence_id];
      const age = at - packet.observed_at_ms;
      const stale = binding && age > binding.freshness_ms;
      const label = view.labels?.[packet.evidence_id];
      return html`<details class="packet"><summary><${Icon} name="chevron" /><code><${Foreign} text=${packet.evidence_id || packet.packet_hash} /></code>
        <span><${Foreign} text=${packet.sensor_id || ""} /></span>
        ${packet.observed_at_ms && html`<span class=${`tag ${stale ? "red" : "green"}`}>${span(age)} old${binding ? ` of ${span(binding.freshness_ms)}` : ""}${stale ? ": too old" : ""}</span>`}
        ${packet.sensor_signature && html`<span class="tag quiet">signed</span>`}
        ${label && html`<span class="tag amber"><${Foreign} text=${label} /></span>`}</summary>
        <${AgentSays} label="Observed by" by=${packet.sensor_id}><${Json} value=${packet.payload ?? packet} /><//></details>`;
    })}`;
}

function Earlier({ view }) {
  if (!view.earlier) return null;
  return html`<div class="note amber"><${Icon} name="alert" /><div><b>The same was asked before.</b><${Json} value=${view.earlier} /></div></div>`;
}

function History({ proposal, id }) {
  const [by, setBy] = useState("target");
  const filter = by === "target" ? { target: proposal.target.resource_id } : { actor: proposal.actor };
  const { value, error } = useLoad(() => ask(`/v1/actions${query({ ...filter, limit: 20 })}`), [id, by]);
  const all = (value?.actions || []).filter((status) => status.action_id !== id);
  const decided = all.filter((status) => status.approvals.length);
  const approved = decided.filter((status) => status.approvals.every((approval) => approval.verdict === "approve"));
  return html`<div class="tabs" role="group" aria-label="History of">${[["target", "This target"], ["actor", "This actor"]].map(([name, label]) => html`<button class="tab" aria-pressed=${by === name} onClick=${() => setBy(name)}>${label}</button>`)}</div>
    ${error && html`<${Failed} error=${error} />`}
    ${value && html`<p class="quiet">${all.length ? `${all.length} earlier${decided.length ? ` · people approved ${approved.length} of ${decided.length}` : ""}` : "Nothing earlier."}</p>
    <ul class="history">${all.slice(0, 20).map((status) => html`<li><${Link} to=${`/i/${encodeURIComponent(status.action_id)}`}><${State} state=${status.state} /> <${Title} proposal=${status.view.proposal} /> <${Ago} ms=${status.submitted_at_ms} /><//></li>`)}</ul>`}`;
}

/** The view of each approver, if it is another than the one on this page. */
function Shown({ status }) {
  if (!status.shown?.length) return null;
  return html`<${Section} id="then" title="What was decided then"><ul class="then">${status.shown.map((shown) => html`<li><b><${Foreign} text=${shown.approver} /></b> saw <${Hash} value=${shown.view_digest} /> <${Ago} ms=${shown.at_ms} />, under the policies <${Hash} value=${shown.policy_hash} />
    ${shown.view_digest === status.view_digest ? html`<span class="tag green">✓ this page</span>` : shown.view ? html`<details><summary>Show that view</summary><${AgentSays} by=${status.actor}><${Json} value=${shown.view} /><//></details>` : html`<span class="tag quiet">cannot be made again</span>`}</li>`)}</ul><//>`;
}

// --- Deciding --------------------------------------------------------------------------------------------------

function Decide({ data, verdict, onClose, onDone }) {
  const { status, who, digest } = data;
  const [reason, setReason] = useState("");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const [keys, setKeys] = useState(null);
  useEffect(() => void ownPasskeys(who.principal).then(setKeys, setError), []);
  const rejecting = verdict === "reject";
  const needsKey = isSession() || (!rejecting && ["recent", "presence"].includes(status.signing?.assurance));
  const signs = keys?.length > 0 && status.signing;
  const cannot = keys && needsKey && !signs;
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const request = { verdict, reason, view_digest: digest };
      if (signs) {
        const about = { terms: status.signing, principal: who.principal, actionId: status.action_id, viewDigest: digest, verdict, reason, elapsedMs: performance.now() - data.at };
        request.signed = await sign(await approvalStatement(about), keys);
      }
      await post(`/v1/actions/${encodeURIComponent(status.action_id)}/approvals`, request);
      onDone();
    } catch (failure) {
      setBusy(false);
      setError(failure.name === "NotAllowedError" ? { message: "Nothing was signed: the passkey was not used." } : failure);
      if (failure.status === 409) setError({ message: failure.message, hint: "Close this, look at what changed, and decide again. Nothing was decided." });
    }
  };
  const { verb, object } = title(data.view.proposal);
  return html`<${Dialog} title=${rejecting ? "Reject this action" : "Approve this action"} onClose=${onClose} tone=${verdict}>
    <form onSubmit=${submit}>
      <p class="about"><span class="verb">${verb}</span> <code><${Foreign} text=${object} /></code></p>
      ${rejecting && html`<div class="presets" role="group" aria-label="Reasons">${PRESETS.map((preset) => html`<button type="button" class="chip" aria-pressed=${reason === preset} onClick=${() => setReason(preset)}>${preset}</button>`)}</div>`}
      <label for="reason">${rejecting ? "Reason, which the agent reads" : "Note, for the record (may be empty)"}</label>
      <textarea id="reason" rows="3" maxlength="4000" required=${rejecting} value=${reason} onInput=${(event) => setReason(event.target.value)} autofocus></textarea>
      <p class="quiet signs"><${Icon} name="key" /> ${signs ? html`Your passkey signs exactly this view: <code>${digest.slice(7, 19)}</code>` : cannot ? html`This takes a signature, and you have no passkey here. <${Link} to="/gate#passkey">Add one<//>, or run <code>ordain approve ${status.action_id}</code>` : "Recorded under your token, without a signature."}</p>
      ${error && html`<${Failed} error=${error} />`}
      <div class="actions"><button type="button" class="button" onClick=${onClose}>Cancel</button>
        <button class=${`button ${rejecting ? "danger" : "primary"}`} disabled=${busy || !keys || cannot || (rejecting && !reason.trim())}>${busy ? "Waiting for your passkey …" : rejecting ? "Reject" : signs ? "Sign and approve" : "Approve"}</button></div>
    </form><//>`;
}

export function Action({ id, keys }) {
  const { value: data, error, again } = useLoad(() => load(id), [id], (entry) => !entry.action_id || entry.action_id === id);
  const [deciding, setDeciding] = useState("");
  const [said, setSaid] = useState("");
  const first = useRef(null);
  const known = data && { digest: data.digest, policy: data.view.policy_hash };
  if (data && !first.current) first.current = known;
  useEffect(() => {
    first.current = null;
    setSaid("");
  }, [id]);
  const mine = data && standing(data.status, data.who.principal, data.who.agents);
  useEffect(() => {
    keys.current = (key) => {
      if ((key === "a" || key === "r") && mine?.mine && data.agrees) setDeciding(key === "a" ? "approve" : "reject");
      else return false;
      return true;
    };
    return () => (keys.current = null);
  });
  if (error && !data) return html`<${Failed} error=${error} again=${again} />`;
  if (!data) return html`<${Loading} />`;
  const { status, view, agrees } = data;
  const { proposal } = view;
  const changed = status.state === "held" && first.current && first.current.digest !== data.digest;
  const download = async () => {
    // As the server wrote it: canonical JSON, and one line feed.
    const { bytes } = await ask(`/v1/actions/${encodeURIComponent(id)}/dossier`, { bytes: true });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes, "\n"], { type: "application/json" }));
    link.download = `${id}.dossier.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  return html`<article class="action">
    <header class="action-head">
      <p class="crumbs"><${Link} to=${status.state === "held" ? "/" : "/actions"}>${status.state === "held" ? "Inbox" : "Actions"}<//> <span aria-hidden="true">/</span> <code><${Foreign} text=${status.action_id} /></code> <${Copy} text=${location.href} name="address" /></p>
      <h1><${Title} proposal=${proposal} /></h1>
      <p class="meta"><${State} state=${status.state} /> <span>by <b><${Foreign} text=${status.actor} /></b></span>${status.submitted_by !== status.actor && html`<span>handed in by <${Foreign} text=${status.submitted_by} /></span>`}<${Ago} ms=${status.submitted_at_ms} />${status.state === "held" && status.expires_at_ms && html`<${Left} ms=${status.expires_at_ms} />`}
      ${view.project && html`<code class="quiet"><${Foreign} text=${view.project.path} /></code>`}</p>
    </header>
    ${!agrees && status.view_digest && html`<div class="note red" role="alert"><${Icon} name="alert" /><div><b>These bytes are not what the server says they are.</b><p>Their digest is <code>${data.digest}</code>, and the server names <code>${status.view_digest}</code>. Something changed them on the way. Do not decide here.</p></div></div>`}
    ${changed && html`<div class="note amber" role="status"><${Icon} name="alert" /><div><b>This changed while you looked.</b><p>${first.current.policy !== view.policy_hash ? "Other policies are in force now." : "The evidence or what is known of the same effect is another."} What you sign is what is shown now.</p></div><button class="button" onClick=${() => { first.current = known; again(); }}>I have seen it</button></div>`}
    ${said && html`<div class="note green" role="status"><${Icon} name="check" /><div>${said}</div><${Link} class="button" to="/">Next in the inbox<//></div>`}
    <div class="columns">
      <div class="column">
        <${Earlier} view=${view} />
        <${Section} id="effect" title="What would happen"><${Effect} proposal=${proposal} /><//>
        <${Section} id="evidence" title="Evidence" aside=${html`<span class="count">${view.evidence.length}</span>`}><${Evidence} view=${view} status=${status} /><//>
        <${Section} id="policy" title="Why it is ${status.state}"><${Policy} status=${status} /><//>
        <${Shown} status=${status} />
        <${Section} id="history" title="History"><${History} proposal=${proposal} id=${status.action_id} /><//>
      </div>
      <aside class="side" aria-label="Decision">
        <div class="card decide">
          ${status.state === "held" ? html`${mine.mine
            ? html`<div class="decide-buttons"><button class="button primary" disabled=${!agrees} onClick=${() => setDeciding("approve")}><${Icon} name="check" />Approve <kbd>a</kbd></button><button class="button danger" disabled=${!agrees} onClick=${() => setDeciding("reject")}><${Icon} name="x" />Reject <kbd>r</kbd></button></div>`
            : html`<p class="quiet">You cannot decide: ${mine.why}.</p>`}` : html`<p>Settled: <${State} state=${status.state} /></p>`}
          <${Approvals} status=${status} />
        </div>
        <div class="card risk"><h2>Risk</h2><ul class="risks">${risks(proposal).map(([tone, words]) => html`<li class=${tone}><span aria-hidden="true">${tone === "good" ? "✓" : "!"}</span> <${Foreign} text=${words} /></li>`)}</ul></div>
        ${status.permit && html`<div class="card"><h2>Permit</h2><p>${status.permit.used} of ${status.permit.max_executions} uses</p>${(status.permit.uses || []).map((use) => html`<p class="quiet">use ${use.number ?? use.use}: <b>${use.outcome ?? "running"}</b></p>`)}</div>`}
        <div class="card"><h2>${status.state === "held" ? "What you sign" : "The view"}</h2><p><${Hash} value=${data.digest} /> <span class=${`tag ${agrees ? "green" : "quiet"}`}>${agrees ? "✓ hashed here" : "no digest"}</span></p>
          <p class="quiet">The proposal, its evidence and the policies, as bytes that your browser hashed. Reasons, risk and history are context: nothing signs them.</p>
          <p class="card-links"><${Link} to=${`/ledger${query({ action_id: status.action_id })}`}>Ledger entries<//> <button class="link" onClick=${download}>Dossier</button> <button class="link" onClick=${() => print()}>Print</button></p></div>
        <div class="card"><h2>Terms</h2><${Json} value=${{ target: proposal.target, ...(proposal.time_window && { time_window: proposal.time_window }), ...(status.supersedes && { supersedes: status.supersedes }) }} /></div>
      </aside>
    </div>
    ${deciding && html`<${Decide} data=${data} verdict=${deciding} onClose=${() => setDeciding("")} onDone=${() => {
      setSaid(deciding === "approve" ? "Your approval is on the ledger." : "Your rejection is on the ledger. The agent reads the reason.");
      setDeciding("");
      again();
    }} />`}
    <p class="printed-only">Printed from ${location.origin} · <${When} ms=${now()} /> · view ${data.digest} · proposal ${view.proposal_hash}</p>
  </article>`;
}
