// Shows what was said in a session, the newest at the end; what was said before it was begun anew is kept,
// and read here by the links above.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { addressOf } from "../parts/address.ts";
import { unhidden } from "../parts/text.ts";
import { clockOf } from "../parts/time.ts";
import { t } from "../texts/texts.ts";

/** With the number of entries that were asked for. */
type Shown = MethodResult<"sessions.show"> & { readonly read: number };

const words = t.sessions;
export const mostEntries = 1_000;

/** `epoch`: which beginning of the session is read; null: the last one. */
export function sessionEntries(shown: Shown, epoch: number | null, onEarlier: () => void): TemplateResult {
  return html`<h3>${words.entries}</h3>
    ${epochs(shown, epoch)}
    ${shown.entries.length === 0 ? html`<p class="quiet-text">${epoch === null ? words.noEntries : words.nothingKept}</p>` : nothing}
    ${shown.entries.length < shown.read ? nothing : earlierOf(shown.read, onEarlier)}
    <ol class="transcript">
      ${shown.entries.map(
        ({ type, text, atMs, turn }) =>
          html`<li class=${type}>
            <p class="quiet-text small">
              ${words.types[type]} · ${clockOf(atMs)} ·
              <a href=${addressOf("activity", [turn])}>${words.story}</a>
            </p>
            <div class="lines"><bdi>${unhidden(text)}</bdi></div>
          </li>`,
      )}
    </ol>`;
}

/** What was said before it was begun anew is kept, and read here. */
function epochs({ key, epoch }: Shown, at: number | null): unknown {
  if (epoch < 2) return nothing;
  const read = at ?? epoch;
  const link = (to: number, label: string): unknown =>
    to < 1 || to > epoch
      ? nothing
      : html`<a
          class="button quiet"
          href=${addressOf("sessions", [key], { epoch: to === epoch ? null : String(to) })}
          >${label}</a
        >`;
  return html`<div class="act-row">
    <span class="quiet-text small">${words.beginning(read, epoch)}</span>
    ${link(read - 1, words.before)} ${link(read + 1, words.after)}
  </div>`;
}

function earlierOf(read: number, onEarlier: () => void): unknown {
  if (read >= mostEntries) return html`<p class="quiet-text small">${words.newestEntries(mostEntries)}</p>`;
  return html`<button class="quiet" @click=${onEarlier}>${words.earlier}</button>`;
}
