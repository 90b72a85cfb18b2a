// The effect of an action, as exact as its parameters say it: changes of files as diffs, everything else as a table.

import { useState } from "./vendor/hooks.mjs";
import { AgentSays, Foreign, Icon, Json, html } from "./parts.js";

const LINES_SHOWN = 400;
const LCS_MAX = 600;

/** The lines of a change between two texts: `[mark, line]`. */
export function changes(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let [start, endA, endB] = [0, a.length, b.length];
  while (start < endA && start < endB && a[start] === b[start]) start++;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) [endA, endB] = [endA - 1, endB - 1];
  const [midA, midB] = [a.slice(start, endA), b.slice(start, endB)];
  const middle = midA.length * midB.length <= LCS_MAX * LCS_MAX ? lcs(midA, midB) : [...midA.map((line) => ["-", line]), ...midB.map((line) => ["+", line])];
  const context = (lines) => lines.map((line) => [" ", line]);
  return [...context(a.slice(Math.max(0, start - 3), start)), ...middle, ...context(a.slice(endA, endA + 3))];
}

function lcs(a, b) {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  const lines = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push([" ", a[i++]]);
      j++;
    } else if (i < a.length && (j === b.length || table[(i + 1) * width + j] >= table[i * width + j + 1])) lines.push(["-", a[i++]]);
    else lines.push(["+", b[j++]]);
  }
  return lines;
}

/** The files of a unified diff: `{ path, lines }`. */
export function unified(text) {
  const files = [];
  for (const line of text.split("\n")) {
    const head = /^(?:diff --git a\/.* b\/(.*)|\+\+\+ (?:b\/)?(.*))$/.exec(line);
    if (head?.[1] || (head && !files.length)) files.push({ path: head[1] || head[2], lines: [] });
    else if (files.length && !/^(---|\+\+\+|index |new file|deleted file) ?/.test(line)) files.at(-1).lines.push([line[0] === "@" ? "@" : "+- ".includes(line[0]) ? line[0] : " ", line[0] === "@" ? line : line.slice(1)]);
  }
  return files;
}

const isDiff = (text) => typeof text === "string" && /^(diff --git |--- |\*\*\* )/m.test(text) && /^@@/m.test(text);

/** Splits the parameters into changes of files, a command, and the rest. */
export function effects(proposal) {
  const { parameters = {} } = proposal;
  const files = [];
  const rest = { ...parameters };
  const operations = parameters.patch_set?.operations || parameters.operations;
  if (Array.isArray(operations)) {
    for (const operation of operations) {
      const lines = typeof operation.content === "string" ? operation.content.split("\n").map((line) => ["+", line]) : [];
      files.push({ path: String(operation.path), op: operation.op, lines });
    }
    delete rest.patch_set;
    delete rest.operations;
  }
  const path = parameters.file_path || parameters.path || proposal.target?.resource_id || "";
  const pairs = [["old_string", "new_string"], ["old_text", "new_text"], ["before", "after"]];
  for (const [before, after] of pairs) {
    if (typeof parameters[before] === "string" && typeof parameters[after] === "string") {
      files.push({ path, op: "edit", lines: changes(parameters[before], parameters[after]) });
      delete rest[before];
      delete rest[after];
    }
  }
  for (const [name, value] of Object.entries(rest)) {
    if (isDiff(value)) {
      files.push(...unified(value));
      delete rest[name];
    }
  }
  if (typeof rest.content === "string" && (parameters.file_path || parameters.path)) {
    files.push({ path, op: "write", lines: rest.content.split("\n").map((line) => ["+", line]) });
    delete rest.content;
  }
  const command = typeof rest.command === "string" ? rest.command : null;
  if (command !== null) delete rest.command;
  return { files, command, rest };
}

function File({ file, open }) {
  const [all, setAll] = useState(false);
  const added = file.lines.filter(([mark]) => mark === "+").length;
  const removed = file.lines.filter(([mark]) => mark === "-").length;
  const shown = all ? file.lines : file.lines.slice(0, LINES_SHOWN);
  return html`<details class="file" open=${open}>
    <summary><${Icon} name="chevron" /><code><${Foreign} text=${file.path} /></code>${file.op && html`<span class="tag quiet">${String(file.op).replaceAll("_", " ")}</span>`}
      <span class="counts"><span class="plus">+${added}</span> <span class="minus">−${removed}</span></span></summary>
    <div class="lines" tabindex="0" role="group" aria-label=${`Change of ${file.path}`}>
      ${shown.map(([mark, line]) => html`<div class=${mark === "+" ? "line add" : mark === "-" ? "line del" : mark === "@" ? "line hunk" : "line"}><span class="mark" aria-hidden="true">${mark === "-" ? "−" : mark === "@" ? "" : mark}</span>${
        mark === "+" ? html`<ins><${Foreign} text=${line} /></ins>` : mark === "-" ? html`<del><${Foreign} text=${line} /></del>` : html`<span><${Foreign} text=${line} /></span>`}</div>`)}
      ${shown.length < file.lines.length && html`<button class="button wide" onClick=${() => setAll(true)}>Show ${file.lines.length - shown.length} more lines</button>`}
    </div>
  </details>`;
}

export function Effect({ proposal }) {
  const { files, command, rest } = effects(proposal);
  const lines = files.reduce((sum, file) => sum + file.lines.length, 0);
  return html`<${AgentSays} by=${proposal.actor} label="Exactly this, as proposed by">
    ${command !== null && html`<pre class="command" tabindex="0"><span class="prompt" aria-hidden="true">$ </span><${Foreign} text=${command} /></pre>`}
    ${files.map((file, at) => html`<${File} file=${file} open=${at < 8 && lines < 2000} />`)}
    ${Object.keys(rest).length > 0 && html`<${Json} value=${rest} />`}
    ${!files.length && command === null && !Object.keys(rest).length && html`<p class="quiet">The call has no parameters.</p>`}
  <//>`;
}
