// Signing in: the code of `ordain serve --open`, or a token.

import { useState } from "./vendor/hooks.mjs";
import { signInWithCode, signInWithToken } from "./api.js";
import { Failed, Icon, html } from "./parts.js";

export function Login({ reason, onDone }) {
  const [text, setText] = useState("");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await (text.trim().startsWith("ord") ? signInWithToken(text.trim()) : signInWithCode(text.trim()));
      onDone();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return html`<main class="login" id="main">
    <img src="/console/icon.svg" alt="" width="44" height="44" />
    <h1>Sign in to ordain</h1>
    <p class="quiet">${reason || "The console shows what agents want to do. Deciding takes your passkey."}</p>
    <div class="card"><h2><${Icon} name="key" /> On this machine</h2><p>Run this where the gate is. It opens the console, signed in as you.</p>
      <pre class="command"><span class="prompt" aria-hidden="true">$ </span>ordain serve --open</pre></div>
    <form class="card" onSubmit=${submit}>
      <label for="token">Or paste a token, or the code from the file that the command names</label>
      <input id="token" type="password" autocomplete="off" spellcheck="false" value=${text} onInput=${(event) => setText(event.target.value)} required />
      <button class="button primary wide" disabled=${busy || !text.trim()}>Sign in</button>
      ${error && html`<${Failed} error=${error} />`}
    </form>
    ${!window.isSecureContext && html`<${Failed} error=${{ message: "This address is not secure: use https, or localhost.", hint: "Browsers give pages elsewhere neither hashes nor passkeys." }} />`}
  </main>`;
}
