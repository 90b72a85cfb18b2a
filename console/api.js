// The server, as the console sees it: who is signed in, requests, and the one stream of events that all tabs share.
// Nothing here is private to the console: these are the operations of /openapi.json.

const KEY = "ordain-credential";
const LAST = "ordain-last-event";
const channel = new BroadcastChannel("ordain");
const listeners = new Set();
let credential = sessionStorage.getItem(KEY) || "";
let clock = 0; // The server's time minus ours, in milliseconds.

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || `The server answered ${status}.`);
    Object.assign(this, { status, code: body.code || "", hint: body.hint || "", reasons: body.reasons || [] });
  }
}

export const now = () => Date.now() + clock;
export const isSession = () => credential.startsWith("ords_");
export const isSignedIn = () => credential !== "";

export function on(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const tell = (event) => listeners.forEach((listener) => listener(event));

/** One request. Gives the parsed JSON, or throws a Problem. */
export async function ask(path, { method = "GET", body, headers = {}, bytes = false } = {}) {
  const response = await send(path, { method, body: body && JSON.stringify(body), headers });
  if (bytes) return { bytes: new Uint8Array(await response.arrayBuffer()), headers: response.headers };
  const type = response.headers.get("content-type") || "";
  return type.includes("json") ? response.json() : response.text();
}

async function send(path, { method, body, headers, signal }) {
  const all = { ...headers };
  if (credential) all.authorization = `Bearer ${credential}`;
  if (body) all["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, body, headers: all, signal, credentials: "omit", cache: "no-store", redirect: "error" });
  } catch (error) {
    throw new Problem(0, { detail: "The server does not answer.", code: "offline", hint: String(error.message || "") });
  }
  const date = Date.parse(response.headers.get("date"));
  if (date && Math.abs(date - now()) > 1500) clock = date - Date.now();
  if (response.ok) return response;
  const problem = new Problem(response.status, await response.json().catch(() => ({})));
  if (problem.status === 401 && credential && !path.startsWith("/v1/sessions")) signOut(problem.message);
  throw problem;
}

export const post = (path, body, headers) => ask(path, { method: "POST", body, headers });

/** Query text of the members that have a value. */
export function query(members) {
  const text = new URLSearchParams(Object.entries(members).filter(([, value]) => value !== "" && value != null)).toString();
  return text && `?${text}`;
}

// --- Signing in ------------------------------------------------------------------------------------------------

function keep(text) {
  credential = text;
  if (text) sessionStorage.setItem(KEY, text);
  else sessionStorage.removeItem(KEY);
}

export async function signInWithCode(code) {
  const session = await post("/v1/sessions", { code });
  keep(session.session);
}

export async function signInWithToken(token) {
  const before = credential;
  keep(token);
  try {
    await ask("/v1/gate");
  } catch (error) {
    keep(before);
    throw error;
  }
}

export async function signOut(reason = "") {
  if (!credential) return;
  if (!reason && isSession()) await post("/v1/sessions/end").catch(() => {});
  keep("");
  tell({ kind: "signed-out", reason });
}

export async function signOutEverywhere() {
  await post("/v1/sessions/end?everywhere=true");
  channel.postMessage({ over: true });
  keep("");
  tell({ kind: "signed-out", reason: "" });
}

/** The code of the page that `ordain serve --open` wrote, or the credential of a sister tab. */
export async function begin() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) {
    history.replaceState(null, "", location.pathname + location.search);
    await signInWithCode(code);
  } else if (!credential) {
    channel.postMessage({ ask: true });
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
}

channel.onmessage = ({ data }) => {
  if (data.ask && credential) channel.postMessage({ credential });
  if (data.credential && !credential) keep(data.credential);
  if (data.over) {
    keep("");
    tell({ kind: "signed-out", reason: "Signed out everywhere." });
  }
  if (data.event) tell(data.event);
};

// --- Events ----------------------------------------------------------------------------------------------------

/** Follows the ledger. One tab holds the lock and reads; it tells the others. */
export function follow() {
  const stop = new AbortController();
  const run = () => read(stop.signal);
  if (navigator.locks) navigator.locks.request("ordain-events", { signal: stop.signal }, run).catch(() => {});
  else run();
  return () => stop.abort();
}

const share = (event) => {
  tell(event);
  channel.postMessage({ event });
};

async function read(signal) {
  let wait = 500;
  while (!signal.aborted && credential) {
    try {
      const last = sessionStorage.getItem(LAST);
      const headers = last ? { "last-event-id": last } : {};
      const response = await send("/v1/events", { method: "GET", headers, signal });
      share({ kind: "online" });
      wait = 500;
      await frames(response.body.getReader());
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401) return;
      if (error.status === 409) {
        sessionStorage.removeItem(LAST);
        share({ kind: "reset" });
      } else {
        share({ kind: "offline" });
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, 8000);
    }
  }
}

async function frames(reader) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const field = (name) => block.split("\n").find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1).trim();
      const [id, kind, data] = [field("id"), field("event"), field("data")];
      if (kind === "error") throw new Problem(JSON.parse(data).status, JSON.parse(data));
      if (data) share({ kind: "entry", entry: JSON.parse(data) });
      if (id) sessionStorage.setItem(LAST, id);
    }
  }
}
