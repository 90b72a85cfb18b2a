// The gate: halted or not, policies, keys of people, the passkey of this browser.

import { useState } from "./vendor/hooks.mjs";
import { ask, isSession, post, query, signOut, signOutEverywhere } from "./api.js";
import { Bars } from "./ledger.js";
import { Ago, Copy, Dialog, Failed, Foreign, Hash, Icon, Link, LongText, Loading, Section, gate, html, useLoad } from "./parts.js";
import { make } from "./passkey.js";
import { fourWords } from "./words.js";

export function Halt({ onClose }) {
  const [reason, setReason] = useState("");
  const [error, setError] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    await post("/v1/halt", { reason }).then(onClose, setError);
  };
  return html`<${Dialog} title="Halt the gate" onClose=${onClose} tone="reject"><form onSubmit=${submit}>
    <p>Nothing is allowed and no permit can be used, at once and on every server. Lifting it takes an owner's signature: <code>ordain resume</code></p>
    <label for="halt-reason">Reason, which goes on the ledger</label>
    <textarea id="halt-reason" rows="3" maxlength="4000" required value=${reason} onInput=${(event) => setReason(event.target.value)} autofocus></textarea>
    ${error && html`<${Failed} error=${error} />`}
    <div class="actions"><button type="button" class="button" onClick=${onClose}>Cancel</button><button class="button danger" disabled=${!reason.trim()}><${Icon} name="stop" />Halt everything</button></div>
  </form><//>`;
}

function Passkey({ who, keys }) {
  const [offer, setOffer] = useState(null);
  const [error, setError] = useState(null);
  const own = keys.filter((key) => key.passkey?.origin === location.origin && key.principal === who.principal && key.revoked_index === undefined);
  const enrolled = offer && own.some((key) => key.public_key === offer.offer.public_key);
  const begin = async () => {
    setError(null);
    try {
      const made = await make(who.principal);
      setOffer({ ...made, words: await fourWords(made.bytes) });
    } catch (failure) {
      setError(failure.name === "NotAllowedError" ? { message: "No passkey was made." } : failure);
    }
  };
  return html`<p>${own.length ? html`<span class="tag green">✓ ready</span> ${own.length === 1 ? "A passkey of yours signs" : `${own.length} passkeys of yours sign`} at this address.` : "To decide in this browser, add a passkey: your fingerprint, face, PIN or security key. Your key on the terminal confirms it."}</p>
    ${offer && !enrolled && html`<div class="offer"><ol>
      <li>Run this on the terminal where your key is. It shows four words.<pre class="command" tabindex="0"><span class="prompt" aria-hidden="true">$ </span>ordain approver enrol --passkey ${offer.code}</pre><${Copy} text=${`ordain approver enrol --passkey ${offer.code}`} name="command">Copy the command<//></li>
      <li>Go on there only if they are these:<output class="words">${offer.words}</output></li></ol></div>`}
    ${enrolled && html`<div class="note green" role="status"><${Icon} name="check" /><div>The passkey is enrolled. You can decide here now.</div></div>`}
    ${error && html`<${Failed} error=${error} />`}
    ${!offer && html`<button class="button primary" disabled=${!who.owned || !window.PublicKeyCredential} onClick=${begin}><${Icon} name="key" />Add a passkey</button>`}
    ${!who.owned && html`<p class="quiet">Nobody owns this gate yet. Run <code>ordain init --claim</code> on a terminal first.</p>`}`;
}

const WAITS = [["under a minute", 60e3], ["under ten minutes", 600e3], ["under an hour", 3600e3], ["under a day", 86400e3]];

/** Figures of the last actions: three charts, each a table too, and the agents behind them. */
function Insights({ actions }) {
  const [states, policies, waits, agents] = [{}, {}, {}, {}];
  const count = (table, name) => (table[name] = (table[name] || 0) + 1);
  for (const status of actions) {
    count(states, status.state);
    const held = status.decision.approvals.required > 0;
    if (held) new Set(status.decision.reasons.flatMap((reason) => reason.policies)).forEach((policy) => count(policies, policy));
    const [first] = status.approvals;
    if (first) count(waits, WAITS.find(([, ms]) => first.at_ms - status.submitted_at_ms < ms)?.[0] || "a day or more");
    const agent = (agents[status.actor] ??= { seen: 0, all: 0, held: 0, denied: 0 });
    agent.seen = Math.max(agent.seen, status.submitted_at_ms);
    agent.all++;
    if (status.state === "held") agent.held++;
    if (status.state === "denied") agent.denied++;
  }
  const chart = (title, data) => html`<div class="card chart"><h2>${title}</h2>${Object.keys(data).length ? html`<${Bars} data=${data} />` : html`<p class="quiet">Nothing yet.</p>`}</div>`;
  return html`<div class="facts charts">${chart("Outcomes", states)}${chart("Asked by policy", policies)}${chart("Time to decide", waits)}</div>
    <div class="table" tabindex="0" role="region" aria-label="Agents"><table><thead><tr><th>Agent</th><th class="number">Actions</th><th class="number">Held</th><th class="number">Denied</th><th>Last seen</th></tr></thead>
      <tbody>${Object.entries(agents).slice(0, 200).map(([name, agent]) => html`<tr><td><${Link} to=${`/actions${query({ actor: name })}`}><${Foreign} text=${name} /><//></td><td class="number">${agent.all}</td><td class="number">${agent.held}</td><td class="number">${agent.denied}</td><td><${Ago} ms=${agent.seen} /></td></tr>`)}</tbody></table></div>`;
}

export function Gate({ shortcuts, setShortcuts, onHalt }) {
  const { value, error, again } = useLoad(async () => {
    const optional = (path) => ask(path).catch(() => null);
    const [who, keys, tokens, projects, ready, policy, last] = await Promise.all([gate(), ask("/v1/approver-keys"), optional("/v1/tokens"), optional("/v1/projects"), optional("/ready"), optional("/v1/policy"), ask("/v1/actions?limit=100")]);
    return { who, keys: keys.keys, tokens, projects, ready, policy, last };
  }, []);
  if (error && !value) return html`<h1>Gate</h1><${Failed} error=${error} again=${again} />`;
  if (!value) return html`<h1>Gate</h1><${Loading} />`;
  const { who, keys, tokens, projects, ready, policy, last } = value;
  return html`<h1>Gate</h1>
    <div class="facts">
      <div class="card"><h2>State</h2><p>${who.halted ? html`<span class="tag red">✕ halted</span>` : html`<span class="tag green">✓ running</span>`}</p>${!who.halted && html`<button class="button danger" onClick=${onHalt}><${Icon} name="stop" />Halt …</button>`}</div>
      <div class="card"><h2>Ledger</h2><p><code>${who.origin}</code></p><p class="quiet">${ready ? `${ready.ledger_size} entries` : ""}</p></div>
      <div class="card"><h2>Policies</h2><p>${who.policy_hash ? html`<${Hash} value=${who.policy_hash} />` : html`<span class="tag red">none in force</span>`}</p>${ready?.policy === "differs" && html`<p class="tag amber">the folder differs</p>`}</div>
      <div class="card"><h2>You</h2><p><b><${Foreign} text=${who.principal} /></b></p><p class="quiet">${isSession() ? "A session of this machine: it looks, and decides with signatures" : "With a token"}</p>
        <p class="card-links"><button class="link" onClick=${() => signOut()}>Sign out</button>${isSession() && html`<button class="link" onClick=${signOutEverywhere}>Sign out everywhere</button>`}</p></div>
    </div>
    <${Section} id="passkey" title="Passkey of this browser"><${Passkey} who=${who} keys=${keys} /><//>
    <${Section} id="insights" title="The last ${last.actions.length} actions"><${Insights} actions=${last.actions} /><//>
    ${policy && html`<${Section} id="policies" title="Policies in force" aside=${html`<span class="count">${Object.keys(policy.files).length}</span>`}>${Object.entries(policy.files).map(([name, text]) => html`<details class="packet"><summary><${Icon} name="chevron" /><code><${Foreign} text=${name} /></code></summary><${LongText} text=${text} /></details>`)}<//>`}
    <${Section} id="keys" title="Keys of people" aside=${html`<span class="count">${keys.length}</span>`}>
      <ul class="list">${keys.map((key) => html`<li class=${key.revoked_index !== undefined ? "greyed" : ""}><b><${Foreign} text=${key.principal} /></b><code>${key.key_id}</code><span class="tag quiet">${key.passkey ? `passkey · ${key.passkey.backup_eligible ? "synced" : "this device"}` : "terminal"}</span>${key.owner && html`<span class="tag blue">owner</span>`}${key.revoked_index !== undefined && html`<span class="tag red">revoked</span>`}</li>`)}
      ${keys.length === 0 && html`<li class="quiet">Nobody has a key.</li>`}</ul><//>
    ${tokens && html`<${Section} id="tokens" title="Tokens" aside=${html`<span class="count">${tokens.tokens.length}</span>`}>
      <ul class="list">${tokens.tokens.slice(0, 200).map((token) => html`<li class=${token.revoked_at_ms ? "greyed" : ""}><b><${Foreign} text=${token.principal} /></b><code>${token.token_id}</code>${token.roles.map((role) => html`<span class="tag quiet">${role}</span>`)}<${Ago} ms=${token.created_at_ms} />${token.revoked_at_ms && html`<span class="tag red">revoked</span>`}</li>`)}
      ${tokens.tokens.length === 0 && html`<li class="quiet">There are no tokens.</li>`}</ul><//>`}
    ${projects && projects.projects?.length > 0 && html`<${Section} id="projects" title="Projects"><ul class="list">${projects.projects.slice(0, 200).map((project) => html`<li><code><${Foreign} text=${project.path} /></code></li>`)}</ul><//>`}
    <${Section} id="settings" title="This browser"><label class="check"><input type="checkbox" checked=${shortcuts} onChange=${(event) => setShortcuts(event.target.checked)} /> Single-key shortcuts</label>
      <table class="keys"><tbody>${[["j k", "next, previous"], ["Enter", "open"], ["a r", "approve, reject: opens the signing step"], ["g i / g a / g l / g g", "inbox, actions, ledger, gate"], ["?", "this list"]].map(([key, does]) => html`<tr><th scope="row"><kbd>${key}</kbd></th><td>${does}</td></tr>`)}</tbody></table><//>`;
}
