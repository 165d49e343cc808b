// The drawer beside a list: one object, whole, with what can be done at its foot. Its address is the
// object's, and leaving it goes back to the list's. A question of one object's button is never asked of
// another.
import { html, nothing, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { icon } from "./icons.ts";
import { t } from "../texts/texts.ts";

export function drawer(parts: {
  /** Of the row that it belongs to. */
  readonly key: string;
  readonly title: string;
  /** The address of the list. */
  readonly back: string;
  readonly body: unknown;
  readonly foot?: unknown;
}): TemplateResult {
  const { key, title, back, body, foot } = parts;
  return html`<aside class="drawer" data-key=${key} aria-label=${title}>
    <div class="drawer-head">
      <h2 tabindex="-1">${title}</h2>
      <a class="button quiet close" href=${back} aria-label=${t.shell.close}>${icon("close")}</a>
    </div>
    <div class="drawer-body" tabindex="0" role="group" aria-label=${title}>${keyed(key, body)}</div>
    ${foot === undefined ? nothing : html`<div class="drawer-foot">${keyed(key, foot)}</div>`}
  </aside>`;
}

/** Names and values, one under the other. */
export function facts(entries: readonly (readonly [name: string, value: unknown])[]): TemplateResult {
  return html`<dl class="facts">
    ${entries.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}
