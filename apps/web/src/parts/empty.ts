// Says where nothing is yet what belongs there, and how to get the first one.
import { html, nothing, type TemplateResult } from "lit";

export function empty(words: {
  readonly empty: string;
  readonly emptyHelp: string;
  readonly emptyCommand?: string;
}): TemplateResult {
  return html`<div class="empty">
    <h2>${words.empty}</h2>
    <p>${words.emptyHelp}</p>
    ${words.emptyCommand === undefined ? nothing : html`<code>${words.emptyCommand}</code>`}
  </div>`;
}
