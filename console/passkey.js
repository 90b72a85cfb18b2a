// Passkeys: making one, and signing a statement with it. The challenge is the hash of the statement, made here; the server
// invents nothing that is signed.

import { ask } from "./api.js";
import { digestOf, fromBase64Url, hex, sha256, toBase64Url } from "./proof.js";

const text = new TextEncoder();

/** A P-256 key as SPKI ends with its point, an Ed25519 key with its 32 bytes. */
const POINT = 65;
const ED25519 = 32;

/** Canonical JSON for what is made here: flat texts and booleans, names in order. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

/** Makes a passkey and gives the offer for `ordain approver enrol --passkey`. */
export async function make(principal) {
  const created = await navigator.credentials.create({
    publicKey: {
      rp: { id: location.hostname, name: "ordain" },
      user: { id: crypto.getRandomValues(new Uint8Array(32)), name: principal, displayName: principal },
      challenge: crypto.getRandomValues(new Uint8Array(32)),
      pubKeyCredParams: [{ type: "public-key", alg: -8 }, { type: "public-key", alg: -7 }],
      authenticatorSelection: { userVerification: "required", residentKey: "preferred" },
      attestation: "none",
    },
  });
  const { response } = created;
  const spki = new Uint8Array(response.getPublicKey());
  const data = new Uint8Array(response.getAuthenticatorData());
  const isEd25519 = response.getPublicKeyAlgorithm() === -8;
  const offer = {
    passkey: {
      aaguid: hex(data.slice(37, 53)),
      algorithm: isEd25519 ? "eddsa" : "es256",
      backed_up: (data[32] & 16) !== 0,
      backup_eligible: (data[32] & 8) !== 0,
      credential_id: toBase64Url(new Uint8Array(created.rawId)),
      origin: location.origin,
      rp_id: location.hostname,
    },
    principal,
    public_key: toBase64Url(spki.slice(isEd25519 ? -ED25519 : -POINT)),
  };
  const bytes = text.encode(canonical(offer));
  return { bytes, code: toBase64Url(bytes), offer };
}

/** The passkeys of somebody that sign at this address. */
export async function ownPasskeys(principal) {
  const { keys } = await ask("/v1/approver-keys");
  const usable = (key) => key.principal === principal && !("revoked_index" in key) && key.passkey?.origin === location.origin;
  return keys.filter(usable);
}

/** The statement of docs/contracts/statement.md, one value a line. */
export async function approvalStatement({ terms, principal, actionId, viewDigest, verdict, reason, elapsedMs }) {
  const lines = [
    "ordain/approval/v1", terms.origin, principal, actionId, terms.proposal_hash, viewDigest, verdict, "once", "presence", "none",
    await digestOf(text.encode(reason)), String(terms.at_ms + Math.round(elapsedMs)), String(terms.not_after_ms), terms.nonce,
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** The statement of an act that changes the gate. */
export function actStatement({ terms, principal, subject, elapsedMs }) {
  const at = terms.at_ms + Math.round(elapsedMs);
  const lines = ["ordain/act/v1", terms.origin, principal, terms.act, subject, terms.from, String(at), String(terms.not_after_ms), terms.nonce];
  return lines.map((line) => `${line}\n`).join("");
}

/** Signs a statement with one of the keys; the person is asked by the authenticator. */
export async function sign(statement, keys) {
  const used = await navigator.credentials.get({
    publicKey: {
      challenge: await sha256(text.encode(statement)),
      rpId: location.hostname,
      allowCredentials: keys.map((key) => ({ type: "public-key", id: fromBase64Url(key.passkey.credential_id) })),
      userVerification: "required",
    },
  });
  const id = toBase64Url(new Uint8Array(used.rawId));
  const key = keys.find((known) => known.passkey.credential_id === id);
  if (!key) throw new Error("The authenticator used another passkey.");
  const { authenticatorData, clientDataJSON, signature } = used.response;
  const parts = [authenticatorData, clientDataJSON, signature].map((part) => toBase64Url(new Uint8Array(part)));
  return { statement, method: "webauthn", key_id: key.key_id, signature: parts.join(".") };
}

export const statementHeader = (signed) => ({ "ordain-statement": toBase64Url(text.encode(JSON.stringify([signed]))) });
