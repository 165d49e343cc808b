// Lists what is wrong with the config, each with its place and what to do.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { t } from "../texts/texts.ts";

type Problem = MethodResult<"config.get">["problems"][number];

const words = t.config;

/** `goTo`: brings a place of the text into sight. */
export function problemsView(
  found: readonly Problem[],
  goTo: ((line: number, column: number) => void) | null = null,
): TemplateResult {
  if (found.length === 0) return html`${nothing}`;
  return html`<section class="card before">
    <h2>${words.problems(found.length)}</h2>
    <ul class="plain-list">
      ${found.map(
        ({ path, line, column, message, fix }) =>
          html`<li>
            <div>
              <code><bdi>${path === "" ? words.whole : path}</bdi></code>
              ${
                line === undefined
                  ? nothing
                  : goTo === null
                    ? html`<span class="quiet-text">${words.at(line, column ?? 1)}</span>`
                    : html`<button class="plain link" @click=${() => goTo(line, column ?? 1)}>
                        ${words.at(line, column ?? 1)}
                      </button>`
              }
              <p><bdi>${message}</bdi></p>
              ${fix === undefined ? nothing : html`<p class="quiet-text"><bdi>${fix}</bdi></p>`}
            </div>
          </li>`,
      )}
    </ul>
  </section>`;
}
