// Draws what came, went or moved between the prompts of two turns, and whether the cached part was kept.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { diffLines, diffView } from "../parts/diff.ts";
import { t } from "../texts/texts.ts";

/** The prompt of one turn. */
export interface TurnPrompt {
  readonly explained: MethodResult<"prompt.explain">;
  /** Null for a token that may not read the agents' files. */
  readonly shown: MethodResult<"prompt.show"> | null;
}

const words = t.prompt;

export function changes({ explained, shown }: TurnPrompt, before: TurnPrompt | null): TemplateResult {
  return html`<section class="card change-column">
    <h2>${words.changed}</h2>
    ${
      before === null
        ? html`<p class="quiet-text small">${words.noBefore}</p>`
        : html`<p class="badge ${before.explained.stableHash === explained.stableHash ? "ok" : "warn"}">
              ${before.explained.stableHash === explained.stableHash ? words.kept : words.lost}
            </p>
            <ul class="plain-list">
              ${[
                ...moved(
                  words.section,
                  before.explained.explanation.sections,
                  explained.explanation.sections,
                  idOf,
                ),
                ...moved(words.file, before.explained.explanation.files, explained.explanation.files, nameOf),
                ...moved(words.tool, before.explained.explanation.tools, explained.explanation.tools, nameOf),
              ].map(
                ({ what, name, change }) =>
                  html`<li>
                    ${what} <code><bdi>${name}</bdi></code> <span class="quiet-text end">${change}</span>
                  </li>`,
              )}
            </ul>
            ${
              shown === null || before.shown === null
                ? nothing
                : before.shown.text === shown.text
                  ? html`<p class="quiet-text small">${words.same}</p>`
                  : diffView(words.changed, diffLines(before.shown.text, shown.text))
            }`
    }
  </section>`;
}

const idOf = ({ id }: { readonly id: string }): string => id;
const nameOf = ({ name }: { readonly name: string }): string => name;

/** What came, went or is other, by its hash; what is left out has none. */
function moved<T extends { readonly hash: string }>(
  what: string,
  before: readonly T[],
  after: readonly T[],
  name: (one: T) => string,
): { readonly what: string; readonly name: string; readonly change: string }[] {
  const hashes = (all: readonly T[]): Map<string, string> =>
    new Map(all.filter(({ hash }) => hash !== "").map((one) => [name(one), one.hash]));
  const [old, fresh] = [hashes(before), hashes(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])].flatMap((each) => {
    if (old.get(each) === fresh.get(each)) return [];
    const change = old.has(each)
      ? fresh.has(each)
        ? words.changes.changed
        : words.changes.removed
      : words.changes.added;
    return [{ what, name: each, change }];
  });
}
