// The ledger: its entries, and whether they are what the ledger signed. This browser remembers the last head that it verified,
// and refuses one that does not continue it.

import { useEffect, useState } from "./vendor/hooks.mjs";
import { ask, query } from "./api.js";
import { Empty, Failed, Foreign, Hash, Icon, Json, Link, Loading, Section, When, gate, go, html, useLoad } from "./parts.js";
import { canonical } from "./passkey.js";
import { hashesOf, openCheckpoint, toBase64, verifyConsistency, verifyProof } from "./proof.js";

const SEEN = (origin) => `ordain-head ${origin}`;

/** The head of the ledger, verified: signed by its key, and a continuation of what this browser saw before. */
export async function verifyHead() {
  const [note, { keys }, { origin }] = await Promise.all([ask("/v1/ledger/checkpoint"), ask("/.well-known/jwks.json"), gate()]);
  const head = await openCheckpoint(note, origin, keys);
  const seen = JSON.parse(localStorage.getItem(SEEN(origin)) || "null");
  let grown = null;
  if (seen && seen.size > 0) {
    if (seen.size > head.size) throw new Error(`This browser saw ${seen.size} entries, and now there are ${head.size}: the ledger was put back.`);
    const [oldRoot] = hashesOf([seen.root]);
    const proof = seen.size === head.size ? { hashes: [] } : await ask(`/v1/ledger/consistency${query({ old: seen.size, new: head.size })}`);
    await verifyConsistency(seen.size, oldRoot, head.size, head.root, hashesOf(proof.hashes));
    grown = seen;
  }
  localStorage.setItem(SEEN(origin), JSON.stringify({ size: head.size, root: toBase64(head.root), at: Date.now() }));
  return { head, keys, origin, grown };
}

/** Whether an entry is on the ledger as it is shown. */
async function verifyEntry({ index, entry }, { keys, origin }) {
  const proven = await verifyProof(await ask(`/v1/ledger/proof${query({ index })}`), origin, keys);
  if (proven.index !== index || canonical(proven.entry) !== canonical(entry)) throw new Error("The ledger has another entry here.");
}

function Head({ state }) {
  if (state.error) return html`<div class="note red" role="alert"><${Icon} name="alert" /><div><b>The head of the ledger does not verify.</b><p>${state.error.message}</p></div></div>`;
  if (!state.value) return html`<div class="note"><${Icon} name="chain" /><div>Verifying the head …</div></div>`;
  const { head, grown } = state.value;
  return html`<div class="note green"><${Icon} name="shield" /><div><b>The head is verified.</b>
    <p>${head.size} entries, root <code>${toBase64(head.root).slice(0, 12)}</code>, signed by the ledger's key${grown ? `; it continues the ${grown.size} entries that this browser saw before` : ". This browser remembers it"}.</p></div></div>`;
}

const COLORS = { submitted: "", decided: "", approved: "green", rejected: "red", halted: "red", resumed: "green", policy_changed: "amber", permit_spent: "blue", expired: "quiet" };

function Row({ item, proof, verify }) {
  const [open, setOpen] = useState(false);
  const { index, entry } = item;
  const id = entry.event.action_id;
  return html`<tr class=${open ? "open" : ""}>
    <td class="number">${index}</td><td><${When} ms=${entry.at_ms} /></td>
    <td><button class="link kind" aria-expanded=${open} onClick=${() => setOpen(!open)}><span class=${`tag ${COLORS[entry.event.kind] ?? "quiet"}`}>${entry.event.kind.replaceAll("_", " ")}${entry.event.outcome ? ` · ${entry.event.outcome}` : ""}</span></button></td>
    <td><${Foreign} text=${entry.by} /> <span class="quiet">${entry.how}</span></td>
    <td class="grow">${id && html`<${Link} to=${`/i/${encodeURIComponent(id)}`}><code><${Foreign} text=${id} /></code><//>`}</td>
    <td class="proof">${proof === undefined ? html`<button class="button small" onClick=${verify}>Verify</button>` : proof === "…" ? html`<span class="quiet">…</span>` : proof === true ? html`<span class="tag green" title="in the tree whose root the ledger signed">✓ proven</span>` : html`<span class="tag red" title=${proof}>✕ ${proof}</span>`}</td>
  </tr>${open && html`<tr class="opened"><td colspan="6"><${Json} value=${entry} /></td></tr>`}`;
}

export function Ledger({ search }) {
  const asked = Object.fromEntries(new URLSearchParams(search));
  const path = `/v1/ledger/entries${query({ action_id: asked.action_id, before: asked.before || (asked.action_id ? "" : Number.MAX_SAFE_INTEGER), limit: 50 })}`;
  const { value, error, again } = useLoad(() => ask(path), [search], () => !asked.before);
  const [head, setHead] = useState({});
  const [proofs, setProofs] = useState({});
  const verifyAgain = () => verifyHead().then((found) => setHead({ value: found }), (failure) => setHead({ error: failure }));
  useEffect(() => void (value && verifyAgain()), [value?.size]);
  const set = (index, proof) => setProofs((before) => ({ ...before, [index]: proof }));
  const verify = async (item) => {
    set(item.index, "…");
    try {
      await verifyEntry(item, head.value || (await verifyHead()));
      set(item.index, true);
    } catch (failure) {
      set(item.index, failure.message);
    }
  };
  const verifyAll = async () => {
    for (const item of value.entries) await verify(item);
  };
  if (error && !value) return html`<h1>Ledger</h1><${Failed} error=${error} again=${again} />`;
  if (!value) return html`<h1>Ledger</h1><${Loading} />`;
  const kinds = {};
  for (const { entry } of value.entries) kinds[entry.event.kind] = (kinds[entry.event.kind] || 0) + 1;
  return html`<h1>Ledger <span class="count">${value.size}</span></h1>
    <${Head} state=${head} />
    ${asked.action_id && html`<p class="meta">Entries of <code><${Foreign} text=${asked.action_id} /></code> <${Link} to="/ledger">Show all<//></p>`}
    <div class="toolbar"><button class="button" onClick=${verifyAll}><${Icon} name="shield" />Verify all on this page</button></div>
    ${value.entries.length === 0 ? html`<${Empty} title="No entries" icon="chain">Nothing happened yet.<//>` : html`<div class="table" tabindex="0" role="region" aria-label="Entries">
      <table><thead><tr><th class="number">#</th><th>When</th><th>What</th><th>Who</th><th>Action</th><th>Proof</th></tr></thead>
      <tbody>${value.entries.map((item) => html`<${Row} key=${item.index} item=${item} proof=${proofs[item.index]} verify=${() => verify(item)} />`)}</tbody></table></div>`}
    ${value.next != null && html`<p class="more"><button class="button" onClick=${() => go(`/ledger${query({ ...asked, before: value.next })}`)}>Older</button></p>`}
    <${Section} id="kinds" title="On this page"><${Bars} data=${kinds} /><//>`;
}

/** A chart with its numbers beside the bars, so that it is a table too. */
export function Bars({ data }) {
  const rows = Object.entries(data).sort((a, b) => b[1] - a[1]);
  const most = Math.max(1, ...rows.map(([, count]) => count));
  return html`<table class="bars"><tbody>${rows.map(([name, count]) => html`<tr><th scope="row">${name.replaceAll("_", " ")}</th><td><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width=${(count / most) * 100} height="8" rx="1" /></svg></td><td class="number">${count}</td></tr>`)}</tbody></table>`;
}
