// The inbox, and all actions.

import { useEffect, useRef, useState } from "./vendor/hooks.mjs";
import { ask, query } from "./api.js";
import { Ago, Empty, Failed, Foreign, Left, Link, Loading, State, Title, gate, go, html, standing, useLoad } from "./parts.js";

const proposalOf = (status) => status.view.proposal || {};

function Row({ status, selected, why, onHover }) {
  const proposal = proposalOf(status);
  return html`<li class=${`row ${selected ? "selected" : ""} ${why ? "greyed" : ""}`} onMouseMove=${onHover}>
    <${Link} to=${`/i/${encodeURIComponent(status.action_id)}`} aria-current=${selected ? "true" : undefined}>
      <span class="row-main"><${Title} proposal=${proposal} /></span>
      <span class="row-meta"><${State} state=${status.state} /><span><${Foreign} text=${status.actor} /></span>
        ${why && html`<span class="why">${why}</span>`}
        ${status.state === "held" && status.decision.approvals.required > 1 && html`<span>${status.decision.approvals.have.length} of ${status.decision.approvals.required} approvals</span>`}
        <${Ago} ms=${status.submitted_at_ms} />
        ${status.state === "held" && status.expires_at_ms && html`<${Left} ms=${status.expires_at_ms} />`}</span>
    <//></li>`;
}

/** Rows with the keys j, k and Enter. */
function Rows({ items, keys, label }) {
  const [at, setAt] = useState(0);
  const here = Math.min(at, items.length - 1);
  // The keys may come faster than the page is drawn.
  const place = useRef(0);
  place.current = here;
  const move = (to) => setAt((place.current = Math.max(0, Math.min(to, items.length - 1))));
  useEffect(() => {
    keys.current = (key) => {
      const item = items[place.current];
      if (key === "j") move(place.current + 1);
      else if (key === "k") move(place.current - 1);
      else if ((key === "Enter" || key === "o" || key === "a" || key === "r") && item) go(`/i/${encodeURIComponent(item.status.action_id)}`);
      else return false;
      return true;
    };
    return () => (keys.current = null);
  });
  useEffect(() => document.querySelector(".row.selected")?.scrollIntoView({ block: "nearest" }), [here]);
  return html`<ul class="rows" aria-label=${label}>${items.map((item, number) =>
    html`<${Row} key=${item.status.action_id} status=${item.status} why=${item.why} selected=${number === here} onHover=${() => number !== here && setAt(number)} />`)}</ul>`;
}

const PAGE = 100;

export function Inbox({ keys }) {
  const { value, error, again } = useLoad(async () => {
    const [page, who] = await Promise.all([ask(`/v1/actions${query({ state: "held", limit: PAGE })}`), gate()]);
    return { ...page, who };
  }, []);
  if (error && !value) return html`<${Failed} error=${error} again=${again} />`;
  if (!value) return html`<${Loading} />`;
  const items = value.actions.map((status) => ({ status, ...standing(status, value.who.principal, value.who.agents) }));
  const mine = items.filter((item) => item.mine).sort((a, b) => (a.status.expires_at_ms || 0) - (b.status.expires_at_ms || 0));
  const others = items.filter((item) => !item.mine);
  return html`<h1>Inbox <span class="count">${mine.length}</span></h1>
    ${mine.length === 0
      ? html`<${Empty} title="Nothing waits for you">When an agent needs your word, it is here at once.<//>`
      : html`<${Rows} items=${mine} keys=${keys} label="Waits for you" />`}
    ${others.length > 0 && html`<h2 class="group">Waits for others <span class="count">${others.length}</span></h2>
      <ul class="rows" aria-label="Waits for others">${others.map((item) => html`<${Row} key=${item.status.action_id} status=${item.status} why=${item.why} />`)}</ul>`}
    ${value.next !== null && value.next !== undefined && html`<p class="quiet">There are more than ${PAGE}. <${Link} to="/actions?state=held">See all<//></p>`}`;
}

const STATES = ["held", "allowed", "running", "succeeded", "failed", "unknown", "denied", "expired", "superseded"];
const TYPES = ["read", "write", "create", "delete", "execute", "communicate", "transact", "approve", "navigate", "custom"];
const FILTERS = [["actor", "Actor"], ["target", "Target"], ["approver", "Decided by"], ["policy", "Policy"]];

/** Everything, by filters that are in the address. */
export function Actions({ search, keys }) {
  const asked = Object.fromEntries(new URLSearchParams(search));
  const filters = { state: asked.state, action_type: asked.action_type, actor: asked.actor, target: asked.target, approver: asked.approver, policy: asked.policy, before: asked.before };
  const { value, error, again } = useLoad(() => ask(`/v1/actions${query({ ...filters, limit: 50 })}`), [search]);
  const set = (name, text) => go(`/actions${query({ ...filters, before: "", [name]: text })}`, true);
  const typed = (name) => (event) => {
    event.preventDefault();
    set(name, event.target.value.trim());
  };
  return html`<h1>Actions</h1>
    <div class="filters" role="search">
      <label>State<select value=${filters.state || ""} onChange=${typed("state")}><option value="">any</option>${STATES.map((state) => html`<option value=${state}>${state}</option>`)}</select></label>
      <label>Type<select value=${filters.action_type || ""} onChange=${typed("action_type")}><option value="">any</option>${TYPES.map((type) => html`<option value=${type}>${type}</option>`)}</select></label>
      ${FILTERS.map(([name, label]) => html`<label>${label}<input value=${filters[name] || ""} onChange=${typed(name)} placeholder="any" spellcheck="false" /></label>`)}
      ${search.length > 1 && html`<button class="button" onClick=${() => go("/actions", true)}>Clear</button>`}
    </div>
    ${error && html`<${Failed} error=${error} again=${again} />`}
    ${!value && !error && html`<${Loading} />`}
    ${value && (value.actions.length === 0
      ? html`<${Empty} title="No action fits" icon="list">Change a filter, or clear them all.<//>`
      : html`<${Rows} items=${value.actions.map((status) => ({ status }))} keys=${keys} label="Actions" />`)}
    ${value && value.next != null && html`<p class="more"><${Link} class="button" to=${`/actions${query({ ...filters, before: value.next })}`}>Older<//></p>`}`;
}
