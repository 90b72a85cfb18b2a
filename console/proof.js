// Proofs of the ledger, checked here and not believed: C2SP signed notes, checkpoints and proof files, RFC 6962 trees.
// Runs in browsers and under Node without a change: nothing but WebCrypto.

const text = new TextEncoder();
const plain = new TextDecoder("utf-8", { fatal: true });

export class Refused extends Error {}

const need = (condition, problem) => {
  if (!condition) throw new Refused(problem);
};

export async function sha256(...parts) {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", all));
}

export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const digestOf = async (bytes) => `sha256:${hex(await sha256(bytes))}`;
export const toBase64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
export const toBase64Url = (bytes) => toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** Base64 has one spelling for each bytes: spare bits and missing padding are refused. */
export function fromBase64(encoded) {
  let bytes;
  try {
    bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  } catch {
    throw new Refused("not base64");
  }
  need(toBase64(bytes) === encoded, "base64 in another spelling");
  return bytes;
}

export function fromBase64Url(encoded) {
  need(/^[A-Za-z0-9_-]*$/.test(encoded), "not base64url");
  const padded = encoded.replaceAll("-", "+").replaceAll("_", "/");
  return fromBase64(padded + "=".repeat((4 - (padded.length % 4)) % 4));
}

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);
export const leafHash = (entry) => sha256(LEAF, entry);
const nodeHash = (left, right) => sha256(NODE, left, right);
const same = (left, right) => left.length === right.length && left.every((byte, at) => byte === right[at]);

function hash(encoded) {
  const bytes = fromBase64(encoded);
  need(bytes.length === 32, "not a hash");
  return bytes;
}

function decimal(word) {
  need(/^(0|[1-9][0-9]{0,15})$/.test(word), "not a decimal number");
  const number = Number(word);
  need(Number.isSafeInteger(number), "a number too large");
  return number;
}

/** A key of the ledger: `{ x }` of a JWK, under the name of its ledger. */
async function noteKey(origin, jwk) {
  const raw = fromBase64Url(jwk.x);
  need(raw.length === 32, "not an Ed25519 key");
  const id = (await sha256(text.encode(origin), Uint8Array.of(10, 1), raw)).slice(0, 4);
  return { id, key: await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]) };
}

/** The checkpoint in a signed note, if a key of the ledger signed it. */
export async function openCheckpoint(note, origin, jwks) {
  need(note.length <= 1e6, "a note too long");
  const [before, after] = [note.lastIndexOf("\n\n") + 1, note.lastIndexOf("\n\n") + 2];
  need(before > 0 && note.endsWith("\n"), "a note without signatures");
  const body = note.slice(0, before);
  for (const character of note) need(character === "\n" || character >= " ", "a control character in the note");
  const keys = await Promise.all(jwks.map((jwk) => noteKey(origin, jwk)));
  let signed = false;
  for (const line of note.slice(after, -1).split("\n")) {
    const match = /^— ([^\s+]+) ([A-Za-z0-9+/=]+)$/u.exec(line);
    need(match, "a line that is no signature");
    const bytes = fromBase64(match[2]);
    need(bytes.length > 4, "a signature too short");
    const known = match[1] === origin && keys.find((key) => same(key.id, bytes.slice(0, 4)));
    if (!known) continue;
    need(bytes.length === 68 && (await crypto.subtle.verify("Ed25519", known.key, bytes.slice(4), text.encode(body))), "a forged signature");
    signed = true;
  }
  need(signed, "no known key signed the checkpoint");
  const [first, size, root, ...rest] = body.slice(0, -1).split("\n");
  need(first === origin, "a checkpoint of another ledger");
  need(size !== undefined && root !== undefined && rest.every((line) => line !== ""), "not a checkpoint");
  return { origin, size: decimal(size), root: hash(root), note };
}

/** RFC 6962, 2.1.1: the way from a leaf to the root. */
export async function verifyInclusion(leaf, index, size, hashes, root) {
  need(index < size, "an entry behind the end");
  let [place, last, node, used] = [index, size - 1, leaf, 0];
  while (last > 0) {
    if (place % 2 === 1 || place === last) {
      if (place % 2 === 1) {
        need(used < hashes.length, "a proof too short");
        node = await nodeHash(hashes[used++], node);
      } else {
        while (place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)];
        if (place === 0) break;
        need(used < hashes.length, "a proof too short");
        node = await nodeHash(hashes[used++], node);
      }
    } else {
      need(used < hashes.length, "a proof too short");
      node = await nodeHash(node, hashes[used++]);
    }
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  need(used === hashes.length, "a proof too long");
  need(same(node, root), "the proof does not lead to the root");
}

/** RFC 6962, 2.1.2: that a ledger only grew. */
export async function verifyConsistency(oldSize, oldRoot, size, root, hashes) {
  need(oldSize > 0 && oldSize <= size, "a ledger that shrank");
  if (oldSize === size) {
    need(hashes.length === 0 && same(oldRoot, root), "another ledger of the same size");
    return;
  }
  let [place, last] = [oldSize - 1, size - 1];
  while (place % 2 === 1) [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  const list = [...hashes];
  const first = place === 0 ? oldRoot : list.shift();
  need(first, "a proof too short");
  let [older, newer] = [first, first];
  for (const next of list) {
    need(last > 0, "a proof too long");
    if (place % 2 === 1 || place === last) {
      older = await nodeHash(next, older);
      newer = await nodeHash(next, newer);
      while (place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)];
    } else {
      newer = await nodeHash(newer, next);
    }
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  need(last === 0 && same(older, oldRoot) && same(newer, root), "the ledger was rewritten");
}

export const hashesOf = (list) => list.map(hash);

/** A proof file with its entry. Gives the entry as the ledger has it, and the checkpoint that the proof leads to. */
export async function verifyProof(file, origin, jwks) {
  const head = /^c2sp\.org\/tlog-proof@v1\nextra ([A-Za-z0-9+/=]*)\nindex ([0-9]+)\n/.exec(file);
  need(head, "not a proof file");
  const rest = file.slice(head[0].length);
  const blank = rest.startsWith("\n") ? 0 : rest.indexOf("\n\n") + 1;
  need(rest[blank] === "\n", "a proof file without its checkpoint");
  const lines = blank === 0 ? [] : rest.slice(0, blank - 1).split("\n");
  need(lines.length <= 63, "a proof too long");
  const [entry, index] = [fromBase64(head[1]), decimal(head[2])];
  const checkpoint = await openCheckpoint(rest.slice(blank + 1), origin, jwks);
  await verifyInclusion(await leafHash(entry), index, checkpoint.size, lines.map(hash), checkpoint.root);
  return { index, entry: JSON.parse(plain.decode(entry)), checkpoint };
}
