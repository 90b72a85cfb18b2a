// The console in a real browser, against the real program: a named test for each feature. `cargo xtask test` installs
// chromium, playwright-core and axe-core, and console.rs runs this file.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const { ORDAIN, ROOM, NODE_MODULES, CONSOLE, PICTURES } = process.env;
const require = createRequire(path.join(NODE_MODULES, "x.js"));
const { chromium } = require("playwright-core");
const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const TYPE = new URL("type.py", import.meta.url).pathname;
const PASSPHRASE = "a passphrase for the tests";
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const shop = path.join(ROOM, "shop");
const tools = path.join(ROOM, "bin");
const env = { PATH: `${tools}:${process.env.PATH}`, HOME: path.join(ROOM, "home"), XDG_STATE_HOME: path.join(ROOM, "state"), XDG_CONFIG_HOME: path.join(ROOM, "config"), LANG: "C.UTF-8" };
const run = promisify(execFile);
const ordain = (...args) => run(ORDAIN, args, { cwd: shop, env });
const typed = (answers, ...args) => run("python3", [TYPE, ...answers, "--", ORDAIN, ...args], { cwd: shop, env });

/** Its exit code says how far it is. */
const statusOf = async (id) => JSON.parse((await ordain("--json", "status", id).catch((error) => error)).stdout);

let browser, server, gate, port, pageFile;
const troubles = []; // Violations of the policy, and errors of pages.
const sent = []; // Bytes of files that a page loads.

const XSS = [
  "<script>window.__xss=1</script>", "<img src=x onerror=window.__xss=1>", "\"><svg onload=window.__xss=1>", "javascript:window.__xss=1",
  "</textarea><script>window.__xss=1</script>", "${window.__xss=1}", "{{constructor.constructor('window.__xss=1')()}}", "<iframe srcdoc='<script>parent.__xss=1</script>'>",
  "'-window.__xss=1-'", "<a href=javascript:window.__xss=1>x</a>", "<style>@import'//x'</style>", "\u202e\u2066evil\u200b",
];

let number = 0;
async function submit(proposal) {
  const file = path.join(ROOM, `p${number++}.json`);
  const whole = { ts_ms: Date.now(), actor: "claude", ...proposal };
  fs.writeFileSync(file, JSON.stringify(whole));
  await ordain("submit", file).catch((error) => error);
  return whole.proposal_id;
}
const command = (id, text) => submit({ proposal_id: id, action_type: "execute", target: { resource_type: "command", resource_id: "shell", domain: "workspace", constraints: {} }, parameters: { command: text } });
const mail = (id, parameters) => submit({ proposal_id: id, action_type: "communicate", target: { resource_type: "mail", resource_id: "team@example.com", domain: "mail", constraints: {} }, parameters });

async function serve(listen) {
  const child = spawn(ORDAIN, ["--json", "serve", "--open", "--listen", listen], { cwd: shop, env });
  let log = "";
  child.stderr.on("data", (data) => (log += data));
  const line = await new Promise((resolve, reject) => {
    child.stdout.once("data", resolve);
    child.once("exit", () => reject(new Error(log)));
  });
  const said = JSON.parse(String(line).split("\n")[0]);
  pageFile = said.page;
  return { child, said, log: () => log, stop: () => new Promise((resolve) => (child.once("exit", resolve), child.kill("SIGTERM"))) };
}

const signInUrl = () => /url=([^"]+)"/.exec(fs.readFileSync(pageFile, "utf8"))[1];

async function open(options = {}, at = "/") {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  await context.addInitScript(() => addEventListener("securitypolicyviolation", (event) => console.error(`CSP ${event.violatedDirective} ${event.blockedURI} ${event.sample}`)));
  context.setDefaultTimeout(10000);
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && !/status of 4\d\d|ERR_CONNECTION_REFUSED/.test(message.text()) && troubles.push(message.text()));
  page.on("pageerror", (error) => troubles.push(String(error)));
  page.on("response", async (response) => {
    if (response.url().includes("/console/")) sent.push({ url: response.url(), bytes: (await response.request().sizes().catch(() => ({ responseBodySize: 0 }))).responseBodySize });
  });
  const credential = options.credential ?? session;
  if (credential) await context.addInitScript((text) => sessionStorage.getItem("ordain-credential") ?? sessionStorage.setItem("ordain-credential", text), credential);
  await page.goto(credential ? base() + at : signInUrl());
  return page;
}

/** The server's own answer to a request of a page, for a test that changes it on the way. */
function answer(request) {
  const url = new URL(request.url());
  const headers = { ...request.headers(), host: url.host, "sec-fetch-site": "same-origin", "accept-encoding": "identity" };
  return new Promise((resolve, reject) => {
    const asked = http.request({ host: "127.0.0.1", port, path: url.pathname + url.search, method: request.method(), headers }, async (reply) => {
      const parts = await reply.toArray();
      const { "content-length": _, ...rest } = reply.headers;
      resolve({ status: reply.statusCode, headers: rest, body: Buffer.concat(parts).toString() });
    });
    asked.once("error", reject);
    asked.end();
  });
}

let session = "";
const base = () => `http://${gate}.localhost:${port}`;
const visit = async (page, at) => (await page.goto(base() + at), page);

/** A virtual authenticator that says yes. */
async function authenticator(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const options = { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", { options });
  return { cdp, authenticatorId };
}

before(async () => {
  for (const folder of [shop, tools, env.HOME, env.XDG_CONFIG_HOME]) fs.mkdirSync(folder, { recursive: true });
  // The browser of this desktop: it only says how it was called.
  fs.writeFileSync(path.join(tools, "xdg-open"), `#!/bin/sh\necho "$@" > ${ROOM}/opened\n`, { mode: 0o755 });
  await typed(["New passphrase: ", PASSPHRASE, "The same again: ", PASSPHRASE], "init", "--solo", "--me", "anna", "--agent", "claude");
  server = await serve("127.0.0.1:0");
  [, gate, port] = /http:\/\/([0-9a-f]{16})\.localhost:(\d+)/.exec(server.said.console);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: FLAGS });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test("the vendored files are npm's, byte for byte but for one import", () => {
  const vendored = (name) => fs.readFileSync(path.join(CONSOLE, "vendor", name), "utf8");
  const installed = (name) => fs.readFileSync(path.join(NODE_MODULES, name), "utf8");
  assert.equal(vendored("preact.mjs"), installed("preact/dist/preact.mjs"));
  assert.equal(vendored("htm.mjs"), installed("htm/dist/htm.mjs"));
  assert.equal(vendored("hooks.mjs"), installed("preact/hooks/dist/hooks.mjs").replace('from"preact"', 'from"./preact.mjs"'));
});

let main; // The page in which most happens.

test("signing in: a code in a file of the user, in no argument and in no line of the log", async () => {
  assert.equal(fs.statSync(pageFile).mode & 0o777, 0o600);
  const code = /#code=([\w-]+)/.exec(fs.readFileSync(pageFile, "utf8"))[1];
  for (let turn = 0; turn < 50 && !fs.existsSync(`${ROOM}/opened`); turn++) await sleep(50);
  assert.equal(fs.readFileSync(`${ROOM}/opened`, "utf8").trim(), pageFile);
  main = await open();
  await main.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
  assert.equal(new URL(main.url()).hash, "");
  session = await main.evaluate(() => sessionStorage.getItem("ordain-credential"));
  assert.match(session, /^ords_/);
  assert.ok(!server.log().includes(code) && !server.log().includes(session));
  // The code counted. A page without a session asks to sign in; another tab asks its sister.
  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(signInUrl());
  await stranger.getByText("was used before").waitFor();
  const sister = await main.context().newPage();
  await sister.goto(`${base()}/gate`);
  await sister.getByRole("heading", { name: "Gate", exact: true }).waitFor();
  await Promise.all([stranger.close(), sister.close()]);
  // Other names of this machine lead here; a squatter on ::1 has no room.
  const elsewhere = await fetch(`http://127.0.0.1:${port}/actions`, { redirect: "manual" });
  assert.equal(elsewhere.headers.get("location"), `${base()}/actions`);
  assert.equal((await fetch(`http://[::1]:${port}/health`)).status, 200);
});

test("feature 12: live: a page sees at once what others do", async () => {
  await command("push-1", "git push origin main");
  const said = Date.now();
  await main.getByRole("link", { name: /git push origin main/ }).waitFor({ timeout: 5000 });
  assert.ok(Date.now() - said < 3000);
  await mail("mail-1", { subject: "Launch", body: "Hello,\nwe are live.", urgent: false, to: ["a", "b"] });
  await command("rm-1", "rm -rf ../other");
  await main.getByRole("link", { name: /team@example.com/ }).waitFor();
});

test("feature 1: the inbox has what waits for me, and says why something does not", async () => {
  await main.getByRole("link", { name: /rm -rf/ }).waitFor();
  assert.equal(await main.getByRole("list", { name: "Waits for you" }).getByRole("listitem").count(), 3);
});

test("feature 3: keys move, open and go around; they can be switched off; none decides", async () => {
  await main.keyboard.press("j");
  assert.match(await main.locator(".row.selected").innerText(), /team@example.com/);
  await main.keyboard.press("k");
  await main.keyboard.press("Enter");
  await main.getByRole("heading", { name: "Run git push origin main" }).waitFor();
  await main.keyboard.press("a");
  const dialog = main.getByRole("dialog", { name: "Approve this action" });
  await dialog.waitFor();
  await main.keyboard.type("jkar");
  assert.equal(await dialog.getByRole("textbox").inputValue(), "jkar");
  await main.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await main.keyboard.press("g");
  await main.keyboard.press("g");
  await main.getByLabel("Single-key shortcuts").uncheck();
  await main.locator("body").press("g");
  await main.locator("body").press("i");
  assert.match(main.url(), /\/gate$/);
  await main.getByLabel("Single-key shortcuts").check();
});

test("a session without a passkey looks and cannot decide", async () => {
  await visit(main, "/i/push-1");
  await main.getByRole("button", { name: /^Approve/ }).click();
  await main.getByText("you have no passkey here").waitFor();
  assert.ok(await main.getByRole("dialog").getByRole("button", { name: "Approve" }).isDisabled());
  await main.keyboard.press("Escape");
  const status = await main.evaluate(async (session) => {
    const view = await (await fetch("/v1/actions/push-1", { headers: { authorization: `Bearer ${session}` } })).json();
    const body = JSON.stringify({ verdict: "approve", reason: "", view_digest: view.view_digest });
    return (await fetch("/v1/actions/push-1/approvals", { method: "POST", body, headers: { authorization: `Bearer ${session}`, "content-type": "application/json" } })).status;
  }, session);
  assert.equal(status, 403);
});

test("a passkey is enrolled when the page and the terminal show the same four words", async () => {
  await authenticator(main);
  await visit(main, "/gate");
  await main.getByRole("button", { name: "Add a passkey" }).click();
  const words = await main.locator(".words").innerText();
  const code = /--passkey (\S+)/.exec(await main.locator(".offer .command").innerText())[1];
  assert.match(words, /^([a-z]{4} ){3}[a-z]{4}$/);
  // Somebody who sees other words says no.
  const refused = (error) => /nothing was enrolled/.test(error.stdout);
  await assert.rejects(typed(["four words? [y/N] ", "n"], "approver", "enrol", "--passkey", code), refused);
  // A code with another key has other words.
  const offer = JSON.parse(Buffer.from(code, "base64url"));
  offer.public_key = Buffer.concat([Buffer.from([4]), crypto.randomBytes(64)]).toString("base64url");
  const other = Buffer.from(JSON.stringify(offer)).toString("base64url");
  const shown = await typed(["four words? [y/N] ", "n"], "approver", "enrol", "--passkey", other).catch((error) => error.stdout);
  assert.ok(!shown.includes(words));
  const { stdout } = await typed(["four words? [y/N] ", "y", "Passphrase: ", PASSPHRASE], "approver", "enrol", "--passkey", code);
  assert.ok(stdout.includes(words), stdout);
  await main.getByText("The passkey is enrolled").waitFor();
});

let approved;
test("approving: the passkey signs exactly the view that was hashed here", async () => {
  await visit(main, "/i/push-1");
  await main.getByText("hashed here").waitFor();
  await main.locator("body").press("a");
  await main.getByRole("dialog").getByRole("textbox").fill("goes out with 2.1");
  await main.getByRole("button", { name: "Sign and approve" }).click();
  await main.getByText("Your approval is on the ledger.").waitFor();
  approved = await statusOf("push-1");
  const [approval] = approved.approvals;
  assert.deepEqual([approval.verdict, approval.signature.method, approval.signature.assurance, approval.reason], ["approve", "webauthn", "presence", "goes out with 2.1"]);
  assert.equal(approved.state, "allowed");
});

test("an approval is verified without us: by node's crypto, from the statement alone", async () => {
  const [approval] = approved.approvals;
  const { signature: signed } = approval;
  const { keys } = await main.evaluate(async (session) => (await fetch("/v1/approver-keys", { headers: { authorization: `Bearer ${session}` } })).json(), session);
  const key = keys.find((known) => known.key_id === signed.key_id);
  const sha256 = (data) => crypto.createHash("sha256").update(data).digest();
  const lines = (reason, scope) => ["ordain/approval/v1", signed.origin, approval.approver, signed.action_id, approval.proposal_hash, approval.view_digest, approval.verdict, scope, signed.assurance, "none", `sha256:${sha256(reason).toString("hex")}`, approval.at_ms, signed.not_after_ms, signed.nonce].map((line) => `${line}\n`).join("");
  const [data, client, signature] = signed.signature.split(".").map((part) => Buffer.from(part, "base64url"));
  const said = JSON.parse(client);
  const point = Buffer.from(key.public_key, "base64url");
  const jwk = key.passkey.algorithm === "es256" ? { kty: "EC", crv: "P-256", x: point.subarray(1, 33).toString("base64url"), y: point.subarray(33).toString("base64url") } : { kty: "OKP", crv: "Ed25519", x: key.public_key };
  const verifies = () => crypto.verify(key.passkey.algorithm === "es256" ? "sha256" : null, Buffer.concat([data, sha256(client)]), crypto.createPublicKey({ key: jwk, format: "jwk" }), signature);
  assert.equal(said.challenge, sha256(lines(approval.reason, "once")).toString("base64url"));
  assert.notEqual(said.challenge, sha256(lines("another reason", "once")).toString("base64url"));
  assert.notEqual(said.challenge, sha256(lines(approval.reason, `sha256:${"0".repeat(64)}`)).toString("base64url"));
  assert.deepEqual([said.type, said.origin, verifies()], ["webauthn.get", base(), true]);
  assert.ok(data.subarray(0, 32).equals(sha256(`${gate}.localhost`)) && (data[32] & 5) === 5);
});

test("the record of an approval by passkey passes fsck, replay, verify --owner and the check of its dossier", async () => {
  await ordain("ledger", "fsck");
  await ordain("replay");
  const download = main.waitForEvent("download");
  await main.getByRole("button", { name: "Dossier" }).click();
  const file = path.join(ROOM, "push.json");
  await (await download).saveAs(file);
  assert.equal(JSON.parse(fs.readFileSync(file)).action_id, "push-1");
  await ordain("dossier", "push-1", "--output", path.join(ROOM, "own.json"));
  const first = async (...args) => JSON.parse((await ordain("--json", ...args)).stdout.split("\n")[0]);
  const { verifier } = await first("keys", "list");
  for (const dossier of [file, path.join(ROOM, "own.json")]) await ordain("verify", dossier, "--key", verifier);
  const { public_key: owner } = await first("approver", "list");
  await ordain("verify", "--owner", owner);
  // A record in which one character of the passkey's signature is another fails the same checks.
  const dossier = fs.readFileSync(path.join(ROOM, "own.json"), "utf8");
  const [signed] = approved.approvals.map((approval) => approval.signature.signature);
  const last = signed.at(-2) === "A" ? "B" : "A";
  const forged = path.join(ROOM, "forged.json");
  fs.writeFileSync(forged, dossier.replaceAll(signed, signed.slice(0, -2) + last + signed.at(-1)));
  assert.notEqual(fs.readFileSync(forged, "utf8"), dossier);
  await assert.rejects(ordain("verify", forged, "--key", verifier));
});

test("feature 18: rejecting with a reason and presets; the agent reads it", async () => {
  await visit(main, "/i/rm-1");
  await main.getByText("hashed here").waitFor();
  await main.locator("body").press("r");
  await main.getByRole("button", { name: "Too broad: ask for less" }).click();
  await main.getByRole("dialog").getByRole("button", { name: "Reject" }).click();
  await main.getByText("Your rejection is on the ledger").waitFor();
  const status = await statusOf("rm-1");
  assert.deepEqual([status.state, status.approvals[0].reason, status.approvals[0].signature.method], ["denied", "Too broad: ask for less", "webauthn"]);
});

test("one changed byte on the way is seen, and an approval of other bytes is refused", async () => {
  await main.route("**/v1/actions/mail-1/view*", async (route) => {
    const response = await answer(route.request());
    // A page that has gone on takes no answer; the text below shows that it came.
    await route.fulfill({ ...response, body: response.body.replace("Launch", "Lxunch") }).catch(() => {});
  });
  await visit(main, "/i/mail-1");
  await main.getByText("These bytes are not what the server says they are.").waitFor();
  assert.ok(await main.getByRole("button", { name: /^Approve/ }).isDisabled());
  await main.unrouteAll({ behavior: "wait" });
  await visit(main, "/i/mail-1");
  await main.route("**/approvals", async (route) => {
    const body = route.request().postDataJSON();
    await route.continue({ postData: JSON.stringify({ ...body, reason: "something else" }) });
  });
  await main.getByRole("button", { name: /^Approve/ }).click();
  await main.getByRole("button", { name: "Sign and approve" }).click();
  await main.getByText("the statement is not about this action").waitFor();
  await main.unrouteAll({ behavior: "wait" });
  await main.keyboard.press("Escape");
});

test("feature 2: filters are in the address, and the server applies them", async () => {
  await visit(main, "/actions?state=held");
  await main.getByRole("link", { name: /team@example.com/ }).waitFor();
  assert.equal(await main.getByRole("listitem").filter({ hasText: "git push" }).count(), 0);
  await main.getByLabel("State").selectOption("denied");
  await main.getByRole("link", { name: /rm -rf/ }).waitFor();
  assert.match(main.url(), /state=denied/);
  await main.getByLabel("Actor").fill("nobody");
  await main.getByLabel("Actor").press("Enter");
  await main.getByText("No action fits").waitFor();
});

test("feature 5: a change of a file is a diff, folded by file, and long ones stay usable", async () => {
  const lines = Array.from({ length: 10000 }, (_, at) => `line ${at}`);
  const operations = [{ op: "create_file", path: "docs/a.md", content: "one\ntwo", order: 1 }, { op: "create_file", path: "docs/long.md", content: lines.join("\n"), order: 2 }];
  await mail("diff-1", { operations, patch: "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@\n-let a = 1;\n+let a = 2;\n context" });
  const started = Date.now();
  await visit(main, "/i/diff-1");
  await main.locator(".file").first().waitFor();
  assert.ok(Date.now() - started < 4000);
  assert.deepEqual(await main.locator(".file summary code").allInnerTexts(), ["docs/a.md", "docs/long.md", "x.rs"]);
  await main.locator(".file", { hasText: "x.rs" }).locator("summary").click();
  // A line that is not on the screen yet has no inner text: browsers lay it out when it comes near.
  await main.locator(".file", { hasText: "x.rs" }).locator("ins").waitFor({ state: "attached" });
  assert.deepEqual(await main.locator(".file", { hasText: "x.rs" }).locator("del, ins").allTextContents(), ["let a = 1;", "let a = 2;"]);
  await main.locator(".file", { hasText: "docs/long.md" }).locator("summary").click();
  await main.locator(".file", { hasText: "docs/long.md" }).locator(".line").nth(399).waitFor({ state: "attached" });
  assert.equal(await main.locator(".file", { hasText: "docs/long.md" }).locator(".line").count(), 400);
  await main.getByRole("button", { name: "Show 9600 more lines" }).click();
  await main.locator(".file", { hasText: "docs/long.md" }).locator(".line").nth(9999).waitFor({ state: "attached" });
  assert.equal(await main.locator(".file", { hasText: "docs/long.md" }).locator(".line").count(), 10000);
});

test("features 6 to 11: evidence, policies, risk, approvals, time left, history", async () => {
  await visit(main, "/i/mail-1");
  await main.getByText("No evidence was given.").waitFor();
  await main.locator(".section-policy .rule", { hasText: "G14" }).waitFor();
  await main.getByText("It sends something to others").waitFor();
  await main.getByText("0 of 1 approvals").waitFor();
  await main.locator(".left").first().waitFor();
  await main.getByRole("button", { name: "This actor" }).click();
  await main.locator(".history").getByText("git push origin main").waitFor();
});

test("a settled action shows what was decided then", async () => {
  await visit(main, "/i/push-1");
  await main.getByText("What was decided then").waitFor();
  await main.locator(".then").getByText("this page").waitFor();
  await main.getByText("signed with a passkey").waitFor();
});

test("feature 13: deep links lead to the same page after signing in", async () => {
  const page = await open({}, "/i/mail-1");
  await page.getByRole("heading", { name: /team@example.com/ }).waitFor();
  await page.context().close();
});

test("features 21 and 22: the ledger's head and entries are proven in the browser", async () => {
  await visit(main, "/ledger");
  await main.getByText("The head is verified.").waitFor();
  await main.getByRole("button", { name: "Verify all on this page" }).click();
  const rows = await main.locator("tbody tr:has(.proof)").count();
  await main.waitForFunction((count) => document.querySelectorAll(".proof .tag.green").length === count, rows);
  // A server that shows another entry than its ledger has is found out.
  await main.route("**/v1/ledger/entries*", async (route) => {
    const response = await answer(route.request());
    await route.fulfill({ ...response, body: response.body.replaceAll('"by":"anna"', '"by":"mary"') }).catch(() => {});
  });
  await visit(main, "/ledger");
  await main.getByRole("button", { name: "Verify", exact: true }).first().click();
  await main.getByText("The ledger has another entry here.").waitFor();
  await main.unrouteAll({ behavior: "wait" });
  // And so is one that was put back to an earlier state.
  await main.evaluate(() => {
    const [name] = Object.keys(localStorage).filter((key) => key.startsWith("ordain-head"));
    const seen = JSON.parse(localStorage[name]);
    localStorage[name] = JSON.stringify({ ...seen, size: seen.size + 7 });
  });
  await visit(main, "/ledger");
  await main.getByText("the ledger was put back").waitFor();
  await main.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("ordain-head")).forEach((key) => localStorage.removeItem(key)));
});

test("feature 21: every single-character change of a proof is refused", async () => {
  const { verifyProof } = await import(path.join(CONSOLE, "proof.js"));
  const headers = { authorization: `Bearer ${session}` };
  const ask = (at) => main.evaluate(async ([at, headers]) => (await fetch(at, { headers })).text(), [at, headers]);
  const { origin } = JSON.parse(await ask("/v1/gate"));
  const { keys } = JSON.parse(await ask("/.well-known/jwks.json"));
  let refused = 0;
  for (const index of [0, 5]) {
    const proof = await ask(`/v1/ledger/proof?index=${index}`);
    assert.equal((await verifyProof(proof, origin, keys)).index, index);
    for (let at = 0; at < proof.length; at++) {
      const other = proof[at] === "A" ? "B" : "A";
      await assert.rejects(verifyProof(proof.slice(0, at) + other + proof.slice(at + 1), origin, keys), `character ${at}`);
      refused++;
    }
    await assert.rejects(verifyProof(proof, "ordain/0000000000000000", keys));
    await assert.rejects(verifyProof(proof, origin, []));
  }
  assert.ok(refused > 1000);
});

test("nothing that agents write runs, in whatever field it stands", async () => {
  for (const [at, text] of XSS.entries()) {
    const id = `xss-${at}`;
    await submit({ proposal_id: id, action_type: "communicate", target: { resource_type: text, resource_id: text, domain: "mail", constraints: { [text]: text } }, parameters: { [text]: text, list: [text], command: text, patch: `diff --git a/${text} b/${text}\n@@ -1 +1 @@\n-${text}\n+${text}` }, risk_envelope: { allowed_side_effects: [text], forbidden_effects: [text], max_affected_records: 1, reversible_required: false } });
    await visit(main, `/i/${id}`);
    await main.locator(".action, .failed").first().waitFor();
  }
  for (const at of ["/", "/actions", "/ledger", `/actions?actor=${encodeURIComponent(XSS[0])}`, `/i/${encodeURIComponent(XSS[1])}`, `/nothing`]) {
    await visit(main, at === "/nothing" ? "/gate" : at);
    await main.locator("h1, .failed").first().waitFor();
    await sleep(100);
    assert.equal(await main.evaluate(() => window.__xss), undefined, at);
  }
});

test("features 14 to 16: phone and desk, light and dark, nothing for axe to find", async () => {
  await mail("shown-1", { subject: "Release notes 2.1", body: "Dear all,\n\nversion 2.1 is out.", recipients: 1204 });
  for (const colorScheme of ["light", "dark"]) {
    const page = await open({ viewport: { width: 390, height: 844 }, colorScheme });
    for (const at of ["/", "/i/shown-1", "/i/push-1", "/actions", "/ledger", "/gate"]) {
      await visit(page, at);
      await page.locator("h1").first().waitFor();
      await sleep(250);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 390, `${at} is ${wide} px wide`);
      const small = await page.evaluate(() => [...document.querySelectorAll("main button:not(.link), nav a")].filter((element) => element.offsetParent && Math.min(element.offsetWidth, element.offsetHeight) < 24).map((element) => element.outerHTML.slice(0, 80)));
      assert.deepEqual(small, [], at);
      const cdp = await page.context().newCDPSession(page);
      await cdp.send("Runtime.evaluate", { expression: AXE });
      const found = await page.evaluate(async () => (await axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })).violations.map((violation) => [violation.id, violation.nodes.map((node) => node.html.slice(0, 120))]));
      assert.deepEqual(found, [], `${at} ${colorScheme}`);
    }
    await page.context().close();
  }
});

test("feature 17: a page loads at most 100 KB", async () => {
  sent.length = 0;
  const page = await open();
  await page.locator("h1").first().waitFor();
  await page.context().close();
  const bytes = sent.reduce((sum, file) => sum + file.bytes, 0);
  assert.ok(bytes > 10000 && bytes <= 100 << 10, `${bytes} bytes`);
});

test("feature 20: an action prints with its hashes and without buttons", async () => {
  await visit(main, "/i/push-1");
  await main.locator(".action").waitFor();
  await main.emulateMedia({ media: "print" });
  assert.ok(await main.locator(".printed-only").isVisible() && !(await main.locator(".nav").isVisible()));
  await main.emulateMedia({ media: "screen" });
});

test("features 24 and 25: halting shows on every page, of every browser", async () => {
  const other = await open();
  await visit(main, "/gate");
  await main.getByRole("heading", { name: "Keys of people" }).waitFor();
  await main.getByRole("button", { name: "Halt …" }).click();
  await main.getByRole("dialog").getByRole("textbox").fill("the agent is confused");
  await main.getByRole("button", { name: "Halt everything" }).click();
  for (const page of [main, other]) await page.locator(".banner").getByText("the agent is confused").waitFor();
  await typed(["Passphrase: ", PASSPHRASE], "resume", "--reason", "it is not");
  await other.locator(".banner").waitFor({ state: "detached" });
  await other.context().close();
});

test("a server that restarts loses no event, and its sessions end", async () => {
  await visit(main, "/");
  await main.locator("h1").first().waitFor();
  await server.stop();
  await main.getByText("no connection").waitFor();
  await command("late-1", "git push origin late");
  server = await serve(`127.0.0.1:${port}`);
  await main.getByRole("heading", { name: "Sign in to ordain" }).waitFor({ timeout: 15000 });
  await main.goto("about:blank");
  await main.goto(signInUrl());
  await main.getByRole("link", { name: /git push origin late/ }).waitFor();
  session = await main.evaluate(() => sessionStorage.getItem("ordain-credential"));
  await visit(main, "/gate");
  await main.getByRole("button", { name: "Sign out everywhere" }).click();
  await main.getByRole("heading", { name: "Sign in to ordain" }).waitFor();
});

test("no policy was violated and no page failed in the whole run", () => {
  assert.deepEqual(troubles, []);
});
