// Shows lines of a note with who had each of them written: the turn, the tool, and what was read then.
import type { MethodResult } from "@parley/protocol";
import { html, type TemplateResult } from "lit";
import { addressOf } from "../parts/address.ts";
import { facts } from "../parts/drawer.ts";
import { copyable, unhidden } from "../parts/text.ts";
import { timeOf } from "../parts/time.ts";
import { t } from "../texts/texts.ts";

const words = t.memory;

export function linesView(lines: MethodResult<"memory.why">["lines"], nowMs: number): TemplateResult[] {
  return lines.map(
    ({ path, line, text, writtenBy }) =>
      html`<div>
        <pre class="block" tabindex="0" aria-label=${words.line}>${unhidden(text)}</pre>
        <p class="quiet-text small"><bdi>${unhidden(path)}</bdi>:${line}</p>
        ${
          writtenBy.length === 0
            ? html`<p class="small">${words.nobody}</p>`
            : writtenBy.map(({ session, turn, by, atMs, tool, untrusted }) =>
                facts([
                  [words.by, html`<bdi>${unhidden(by.join(", "))}</bdi>`],
                  [words.when, timeOf(atMs, nowMs)],
                  [words.tool, html`<code><bdi>${tool}</bdi></code>`],
                  [words.session, copyable(session, 44)],
                  [words.turn, html`<a href=${addressOf("why", [turn])}>${words.story}</a>`],
                  ...(untrusted === undefined
                    ? []
                    : ([[words.untrusted, html`<bdi>${unhidden(untrusted)}</bdi>`]] as const)),
                ]),
              )
        }
      </div>`,
  );
}
