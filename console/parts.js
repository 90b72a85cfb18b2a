// Small pieces of pages: text that others wrote, hashes, times, dialogs.

import { h } from "./vendor/preact.mjs";
import { useEffect, useRef, useState } from "./vendor/hooks.mjs";
import htm from "./vendor/htm.mjs";
import { ask, now, on } from "./api.js";

export const html = htm.bind(h);

// --- Data ------------------------------------------------------------------------------------------------------

/** Loads something, and again when events say that it may have changed. */
export function useLoad(load, deps, concerns = () => true) {
  const [state, setState] = useState({ loading: true });
  const current = useRef(0);
  const again = () => {
    const turn = ++current.current;
    return load().then(
      (value) => turn === current.current && setState({ value }),
      (error) => turn === current.current && setState((before) => ({ ...before, loading: false, error })),
    );
  };
  useEffect(() => {
    setState({ loading: true });
    again();
    let timer;
    const stop = on((event) => {
      if (event.kind !== "reset" && event.kind !== "online" && !(event.kind === "entry" && concerns(event.entry))) return;
      clearTimeout(timer);
      timer = setTimeout(again, 60);
    });
    return () => {
      current.current++;
      clearTimeout(timer);
      stop();
    };
  }, deps);
  return { ...state, again };
}

/** Draws again every so often. */
export function useTick(ms) {
  const [, set] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => set((count) => count + 1), ms);
    return () => clearInterval(timer);
  }, [ms]);
}

// --- Going around ----------------------------------------------------------------------------------------------

export function go(path, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
}

export function Link({ to, children, ...rest }) {
  const follow = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(to);
  };
  return html`<a href=${to} onClick=${follow} ...${rest}>${children}</a>`;
}

// --- Text ------------------------------------------------------------------------------------------------------

// Characters that show nothing, or that turn the order of others around. They are shown by number.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|\ud834[\udd73-\udd7a]|\udb40[\udc00-\uddef]/gu;

/** Text of somebody else. Nothing in it is markup, and nothing in it is invisible. */
export function Foreign({ text }) {
  const parts = [];
  let at = 0;
  for (const match of String(text).matchAll(HIDDEN)) {
    parts.push(text.slice(at, match.index));
    const number = match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parts.push(html`<span class="hidden-character" title="a character that shows nothing">U+${number}</span>`);
    at = match.index + match[0].length;
  }
  parts.push(String(text).slice(at));
  return parts;
}

/** A message of the gate: names stand between backticks, and may be anybody's. */
export const Message = ({ text }) => String(text).split("`").map((part, at) => (at % 2 ? html`<code><${Foreign} text=${part} /></code>` : html`<${Foreign} text=${part} />`));

/** A block that the agent wrote. It is marked as such, whatever it says. */
export function AgentSays({ by, label = "Written by the agent", children }) {
  return html`<div class="agent">
    <div class="agent-mark"><${Icon} name="bot" /> ${label} ${by && html`<b><${Foreign} text=${by} /></b>`}<span>not checked, not instructions</span></div>
    <div class="agent-body">${children}</div>
  </div>`;
}

const SHOWN_MAX = 32 << 10;

/** A JSON value as a table of names and values. */
export function Json({ value, depth = 0 }) {
  if (value === null || typeof value !== "object") {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    if (typeof value === "string" && value.startsWith("redacted:")) {
      return html`<span class="tag quiet" title=${value}>hidden by the policies</span>`;
    }
    if (text.includes("\n") || text.length > 160) return html`<${LongText} text=${text} />`;
    return html`<span class=${typeof value === "string" ? "value" : "value literal"}><${Foreign} text=${text} /></span>`;
  }
  const entries = Array.isArray(value) ? value.map((item, at) => [at + 1, item]) : Object.entries(value);
  if (!entries.length) return html`<span class="quiet">${Array.isArray(value) ? "none" : "empty"}</span>`;
  const shown = entries.slice(0, 200);
  return html`<dl class=${depth ? "json nested" : "json"}>
    ${shown.map(([name, item]) => html`<div><dt><${Foreign} text=${name} /></dt><dd><${Json} value=${item} depth=${depth + 1} /></dd></div>`)}
    ${entries.length > shown.length && html`<div><dt>…</dt><dd class="quiet">${entries.length - shown.length} more in the bytes of the view</dd></div>`}
  </dl>`;
}

export function LongText({ text }) {
  const cut = text.length > SHOWN_MAX;
  return html`<pre class="long" tabindex="0"><${Foreign} text=${cut ? text.slice(0, SHOWN_MAX) : text} />${
    cut && html`<span class="cut">… ${text.length - SHOWN_MAX} more characters are not shown here and are in the view</span>`}</pre>`;
}

export function Hash({ value, label }) {
  if (!value) return null;
  const [kind, digits] = value.includes(":") ? value.split(":") : ["", value];
  return html`<span class="hash"><code title=${value}>${label || (kind && `${kind}:`)}${digits.slice(0, 12)}</code><${Copy} text=${value} name="hash" /></span>`;
}

export function Copy({ text, name = "text", children }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class=${children ? "button" : "icon-button"} onClick=${copy} aria-label=${children ? undefined : `Copy the ${name}`}>
    <${Icon} name=${done ? "check" : "copy"} />${children}<span class="visually-hidden" aria-live="polite">${done ? "Copied" : ""}</span></button>`;
}

// --- Time ------------------------------------------------------------------------------------------------------

export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

const short = (ms) => {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m`;
  if (s < 86400) return `${Math.floor(s / 3600)}h`;
  return `${Math.floor(s / 86400)}d`;
};

const exact = (ms) => new Date(ms).toISOString().replace("T", " ").replace("Z", " UTC");

export function Ago({ ms }) {
  useTick(30000);
  return html`<time datetime=${new Date(ms).toISOString()} title=${exact(ms)}>${short(now() - ms)} ago</time>`;
}

export const When = ({ ms }) => html`<time datetime=${new Date(ms).toISOString()}>${exact(ms).slice(0, 19)}</time>`;

/** The time that is left, by the server's clock. It becomes urgent in words too. */
export function Left({ ms }) {
  useTick(1000);
  const left = ms - now();
  if (left <= 0) return html`<span class="left over">time is over</span>`;
  return html`<span class=${`left ${left < 300000 ? "soon" : ""}`} title=${exact(ms)}><${Icon} name="clock" />${short(left)}<span class="visually-hidden"> left</span></span>`;
}

// --- Pieces ----------------------------------------------------------------------------------------------------

const PATHS = {
  inbox: "M3 13h4l1.5 3h7L17 13h4M5 5h14l2 8v5a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1v-5z",
  list: "M8 6h13M8 12h13M8 18h13M3.5 6h.01M3.5 12h.01M3.5 18h.01",
  chain: "M12 3v4m0 10v4M7 7h10v4H7zM7 13h10v4H7z",
  shield: "M12 3 5 6v5c0 4.5 3 8 7 10 4-2 7-5.5 7-10V6z",
  check: "m5 12.5 4.5 4.5L19 7.5",
  x: "M6 6l12 12M18 6 6 18",
  clock: "M12 7v5l3 2M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18z",
  copy: "M9 9h10v11H9zM5 15V4h10",
  bot: "M12 4v3M5 8h14v11H5zM9.5 12.5v2M14.5 12.5v2M2.5 12v4M21.5 12v4",
  alert: "M12 4 2.5 20h19zM12 10v4.5M12 17.4v.1",
  key: "M14.5 9.5a4.5 4.5 0 1 1-3.2 7.7A4.5 4.5 0 0 1 14.5 9.5zM11 12.5 4 5.5m0 0 2.5-2.5M4 5.5l2 2",
  stop: "M8 3h8l5 5v8l-5 5H8l-5-5V8zM9 9h6v6H9z",
  down: "M12 4v11m-4.5-4.5L12 15l4.5-4.5M5 20h14",
  chevron: "m9 6 6 6-6 6",
  out: "M10 4H5v16h5M15 8l4 4-4 4M19 12H9",
  more: "M5 12h.01M12 12h.01M19 12h.01",
};

export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;

const TONES = { held: "amber", allowed: "green", succeeded: "green", running: "blue", denied: "red", failed: "red", unknown: "red" };
const MARKS = { held: "◐", allowed: "✓", succeeded: "✓", running: "▸", denied: "✕", failed: "✕", unknown: "?", expired: "–", superseded: "⇢" };
export const State = ({ state }) => html`<span class=${`tag ${TONES[state] || "quiet"}`}><span aria-hidden="true">${MARKS[state]}</span> ${state}</span>`;

export const Empty = ({ title, children, icon = "check" }) =>
  html`<div class="empty"><div class="empty-icon"><${Icon} name=${icon} /></div><h2>${title}</h2><p>${children}</p></div>`;

export function Failed({ error, again }) {
  return html`<div class="failed" role="alert"><${Icon} name="alert" /><div><b><${Message} text=${error.message} /></b>${error.hint && html`<p><${Message} text=${error.hint} /></p>`}
    ${(error.reasons || []).map((reason) => html`<p><code>${reason.rule_id}</code> <${Message} text=${reason.message} /></p>`)}</div>
    ${again && html`<button class="button" onClick=${again}>Try again</button>`}</div>`;
}

export const Loading = () => html`<div class="loading" role="status"><span class="visually-hidden">Loading</span><i></i><i></i><i></i></div>`;

export const Section = ({ title, aside, children, id }) =>
  html`<section class=${`section section-${id}`} aria-labelledby=${id}><header><h2 id=${id}>${title}</h2>${aside}</header>${children}</section>`;

/** A dialog of the browser: it keeps the focus inside, and Escape closes it. */
export function Dialog({ title, onClose, children, tone = "" }) {
  const element = useRef();
  useEffect(() => {
    const before = document.activeElement;
    element.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`<dialog ref=${element} class=${`dialog ${tone}`} aria-labelledby="dialog-title" onCancel=${onClose} onClose=${onClose}>
    <h2 id="dialog-title">${title}</h2>${children}</dialog>`;
}

// --- Words for an action ---------------------------------------------------------------------------------------

const VERBS = { navigate: "Open", read: "Read", write: "Change", create: "Create", delete: "Delete", execute: "Run", communicate: "Send", transact: "Transact on", approve: "Approve", custom: "Act on" };

/** One line for an action, made of its fields. */
export function title(proposal) {
  const { target = {}, parameters = {}, action_type: type } = proposal;
  const text = (value) => (typeof value === "string" ? value : "");
  if (type === "execute" && text(parameters.command)) return { verb: "Run", object: text(parameters.command).split("\n")[0] };
  const kind = text(target.resource_type).replaceAll("_", " ");
  return { verb: `${VERBS[type] || type} ${kind}`, object: text(target.resource_id) };
}

export const Title = ({ proposal }) => {
  const { verb, object } = title(proposal);
  return html`<span class="verb"><${Foreign} text=${verb} /></span> <code class="object"><${Foreign} text=${object} /></code>`;
};

/** Whether a verdict of somebody could count, by the reasons of the last decision, and why not. */
export function standing(status, me, agents = []) {
  if (status.state !== "held") return { mine: false, why: "" };
  if (status.approvals.some((approval) => approval.approver === me)) return { mine: false, why: "you have decided" };
  if (status.submitted_by === me || status.actor === me) return { mine: false, why: "your own proposal" };
  const asked = status.decision.reasons.filter((reason) => reason.rule_id === "G14");
  const named = asked.some((reason) => reason.message.includes(`\`${me}\``) || !/`/.test(reason.message));
  return named || !asked.length ? { mine: true, why: "" } : { mine: false, why: "others are asked" };
}

export const gate = () => ask("/v1/gate");
