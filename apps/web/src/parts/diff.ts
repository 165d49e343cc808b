// Compares two texts line by line and shows what went and what came, with a few lines around. Signs say it
// too, not colour alone.
import { html, nothing, type TemplateResult } from "lit";
import { t } from "../texts/texts.ts";
import { unhidden } from "./text.ts";

export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** More than this takes a browser too long; then the whole middle counts as other. */
const mostCells = 4_000_000;
const around = 3;

export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < fresh.length - head &&
    old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]
  )
    tail += 1;
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ kind: "same", text }));
  return [
    ...same(old.slice(0, head)),
    ...middle(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...same(old.slice(old.length - tail)),
  ];
}

/** By the longest common subsequence of lines. */
function middle(old: readonly string[], fresh: readonly string[]): DiffLine[] {
  const width = fresh.length + 1;
  const isTooLong = (old.length + 1) * width > mostCells;
  const longest = new Uint32Array(isTooLong ? 0 : (old.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  if (!isTooLong)
    for (let i = old.length - 1; i >= 0; i -= 1)
      for (let j = fresh.length - 1; j >= 0; j -= 1)
        longest[i * width + j] =
          old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    const [gone, come] = [old[i], fresh[j]];
    if (gone !== undefined && gone === come && !isTooLong) {
      lines.push({ kind: "same", text: gone });
      [i, j] = [i + 1, j + 1];
    } else if (gone !== undefined && (come === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: "removed", text: gone });
      i += 1;
    } else if (come !== undefined) {
      lines.push({ kind: "added", text: come });
      j += 1;
    }
  }
  return lines;
}

export function diffView(label: string, lines: readonly DiffLine[]): TemplateResult {
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(({ kind }) => kind !== "same"),
  );
  const shown = lines.flatMap((line, index) => {
    if (near[index] === true) return [line];
    return near[index - 1] === true || index === 0 ? [null] : [];
  });
  return html`<div class="diff" tabindex="0" role="group" aria-label=${label}>
    ${shown.map((line) => (line === null ? html`<p class="gap">⋯</p>` : diffLine(line)))}
  </div>`;
}

export function diffLine({ kind, text }: DiffLine): TemplateResult {
  const sign = { same: "", removed: "-", added: "+" }[kind];
  return html`<p class=${kind}>
    ${kind === "same" ? nothing : html`<span class="sr-only">${t.diff[kind]}</span>`}
    <span aria-hidden="true">${sign}</span><span class="diff-text">${unhidden(text)}</span>
  </p>`;
}

/** The lines of a change, each with its sign. */
export function signed(text: string, kind: "removed" | "added"): unknown {
  return text === "" ? nothing : text.split("\n").map((line) => diffLine({ kind, text: line }));
}
