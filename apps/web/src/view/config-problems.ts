// Lists what is wrong with the config, each with its place and what to do.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { t } from "../texts/texts.ts";

type Problem = MethodResult<"config.get">["problems"][number];

const words = t.config;

export function problemsView(found: readonly Problem[]): TemplateResult {
  if (found.length === 0) return html`${nothing}`;
  return html`<section class="card before">
    <h2>${words.problems(found.length)}</h2>
    <ul class="plain-list">
      ${found.map(
        ({ path, line, column, message, fix }) =>
          html`<li>
            <div>
              <code><bdi>${path === "" ? words.whole : path}</bdi></code>
              ${line === undefined ? nothing : html`<span class="quiet-text">${words.at(line, column ?? 1)}</span>`}
              <p><bdi>${message}</bdi></p>
              ${fix === undefined ? nothing : html`<p class="quiet-text"><bdi>${fix}</bdi></p>`}
            </div>
          </li>`,
      )}
    </ul>
  </section>`;
}
