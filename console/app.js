// The console: signing in, the frame around every page, shortcuts, the banner of a halted gate.

import { render } from "./vendor/preact.mjs";
import { useEffect, useRef, useState } from "./vendor/hooks.mjs";
import { begin, follow, isSignedIn, on } from "./api.js";
import { Action } from "./action.js";
import { Gate, Halt } from "./gate.js";
import { Actions, Inbox } from "./inbox.js";
import { Ledger } from "./ledger.js";
import { Login } from "./login.js";
import { Ago, Empty, Foreign, Icon, Link, gate, go, html, useLoad } from "./parts.js";

const PAGES = [["/", "Inbox", "inbox", "i"], ["/actions", "Actions", "list", "a"], ["/ledger", "Ledger", "chain", "l"], ["/gate", "Gate", "shield", "g"]];
const SHORTCUTS = "ordain-shortcuts";

function useAddress() {
  const read = () => ({ path: location.pathname, search: location.search });
  const [address, set] = useState(read());
  useEffect(() => {
    const changed = () => set(read());
    addEventListener("popstate", changed);
    return () => removeEventListener("popstate", changed);
  }, []);
  return address;
}

function Page({ path, search, keys, settings }) {
  if (path === "/") return html`<${Inbox} keys=${keys} />`;
  if (path === "/actions") return html`<${Actions} search=${search} keys=${keys} />`;
  if (path === "/ledger") return html`<${Ledger} search=${search} />`;
  if (path === "/gate") return html`<${Gate} ...${settings} />`;
  if (path.startsWith("/i/")) return html`<${Action} key=${path} id=${decodeURIComponent(path.slice(3))} keys=${keys} />`;
  return html`<${Empty} title="There is no such page" icon="alert"><${Link} to="/">To the inbox<//><//>`;
}

/** Single keys can be switched off (WCAG 2.1.4), never count in a field, and never decide: they open the signing step. */
function useShortcuts(enabled, keys) {
  useEffect(() => {
    if (!enabled) return undefined;
    let wentAt = -Infinity;
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog")) return;
      if (document.querySelector("dialog[open]")) return;
      const page = performance.now() - wentAt < 1000 && PAGES.find(([, , , key]) => key === event.key);
      wentAt = -Infinity;
      if (page) go(page[0]);
      else if (event.key === "g") wentAt = performance.now();
      else if (event.key === "?") go("/gate#settings");
      else if (event.key === "Enter" && event.target.closest?.("a, button, summary")) return;
      else if (!keys.current?.(event.key)) return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [enabled]);
}

function Frame() {
  const { path, search } = useAddress();
  const keys = useRef(null);
  const [shortcuts, setShortcutsState] = useState(localStorage.getItem(SHORTCUTS) !== "off");
  const [halting, setHalting] = useState(false);
  const [online, setOnline] = useState(true);
  const setShortcuts = (enabled) => {
    localStorage.setItem(SHORTCUTS, enabled ? "on" : "off");
    setShortcutsState(enabled);
  };
  const { value: who, again } = useLoad(gate, [], (entry) => !entry.action_id);
  useShortcuts(shortcuts, keys);
  useEffect(follow, []);
  useEffect(() => on((event) => ["online", "offline"].includes(event.kind) && setOnline(event.kind === "online")), []);
  const main = useRef();
  const first = useRef(true);
  useEffect(() => {
    const page = PAGES.find(([at]) => at === path);
    document.title = `${page ? page[1] : path.startsWith("/i/") ? decodeURIComponent(path.slice(3)) : "Not found"} · ordain`;
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
    scrollTo(0, 0);
  }, [path]);
  const current = (at) => (path === at || (at === "/" && path.startsWith("/i/")) ? "page" : undefined);
  return html`<a class="skip" href="#main">Skip to the page</a>
    <nav class="nav" aria-label="Pages">
      <${Link} class="brand" to="/" aria-label="ordain, to the inbox"><img src="/console/icon.svg" alt="" width="24" height="24" /><span>ordain</span><//>
      <ul>${PAGES.map(([at, label, icon]) => html`<li><${Link} to=${at} aria-current=${current(at)}><${Icon} name=${icon} /><span>${label}</span><//></li>`)}</ul>
      <div class="nav-foot"><span class=${`dot ${online ? "on" : "off"}`} role="status"><i></i>${online ? "live" : "no connection"}</span>${who && html`<span class="me"><${Foreign} text=${who.principal || ""} /></span>`}
        ${who && !who.halted && html`<button class="link halt" onClick=${() => setHalting(true)}><${Icon} name="stop" />Halt</button>`}</div>
    </nav>
    <div class="page">
      ${who?.halted && html`<div class="banner" role="alert"><${Icon} name="stop" /><div><b>The gate is halted.</b> <${Foreign} text=${who.halted.reason} /> <span>by <${Foreign} text=${who.halted.by} />, <${Ago} ms=${who.halted.at_ms} />. An owner lifts it: <code>ordain resume</code></span></div></div>`}
      <main id="main" ref=${main} tabindex="-1"><${Page} path=${path} search=${search} keys=${keys} settings=${{ shortcuts, setShortcuts, onHalt: () => setHalting(true) }} /></main>
    </div>
    ${halting && html`<${Halt} onClose=${() => { setHalting(false); again(); }} />`}`;
}

function App({ problem }) {
  const [signedIn, setSignedIn] = useState(isSignedIn());
  const [reason, setReason] = useState(problem);
  useEffect(() => on((event) => {
    if (event.kind !== "signed-out") return;
    setReason(event.reason);
    setSignedIn(false);
  }), []);
  return signedIn ? html`<${Frame} />` : html`<${Login} reason=${reason} onDone=${() => setSignedIn(true)} />`;
}

let problem = "";
await begin().catch((error) => (problem = error.message));
const app = document.getElementById("app");
app.replaceChildren();
render(html`<${App} problem=${problem} />`, app);
