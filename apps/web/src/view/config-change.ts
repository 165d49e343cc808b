// Shows what a draft of the config would change, with the buttons to check, save or drop it; and what a save
// did, with the way back and the restart that it takes.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { diffLines, diffView } from "../parts/diff.ts";
import { facts } from "../parts/drawer.ts";
import { copyable } from "../parts/text.ts";
import { t } from "../texts/texts.ts";

type Run = () => Promise<string | undefined>;

const words = t.config;

export function changeView(
  before: string,
  after: string,
  restart: readonly string[],
  { save, check, discard }: { readonly save: Run; readonly check: Run; readonly discard: Run },
): TemplateResult {
  return html`<section class="card">
    <h2>${words.changes}</h2>
    ${diffView(words.changes, diffLines(before, after))}
    ${
      restart.length === 0
        ? nothing
        : html`<p class="small"><b>${words.restart}</b>: <bdi>${restart.join(", ")}</bdi></p>`
    }
    <div class="act-row after">
      ${act({ label: words.save, confirm: words.saveMeans, run: save })}
      ${act({ label: words.check, look: "quiet", run: check })}
      ${act({ label: words.discard, look: "quiet", confirm: words.discardMeans, run: discard })}
    </div>
  </section>`;
}

/** Another one saved the file since the draft was begun. */
export function movedView(discard: Run): TemplateResult {
  return html`<div class="trouble" role="alert">
    ${words.moved} ${act({ label: words.discard, look: "danger", confirm: words.discardMeans, run: discard })}
  </div>`;
}

/** `undo` is null once it is too late, or the file is another one. */
export function savedView(
  { changed, backup, restartNeeded }: MethodResult<"config.apply">,
  { undo, restart }: { readonly undo: Run | null; readonly restart: Run },
): TemplateResult {
  return html`<section class="card after" role="status">
    <h2>${words.saved}</h2>
    ${facts([
      [words.changed, html`<bdi>${changed.join(", ") || words.nothing}</bdi>`],
      [words.restart, html`<bdi>${restartNeeded.join(", ") || words.noRestart}</bdi>`],
      ...(backup === null ? [] : ([[words.backup, copyable(backup, 60)]] as const)),
    ])}
    <div class="act-row after">
      ${undo === null ? nothing : act({ label: words.undo, look: "quiet", confirm: words.undoMeans, run: undo })}
      ${
        restartNeeded.length > 0
          ? act({ label: words.restartNow, look: "danger", confirm: words.restartMeans, run: restart })
          : nothing
      }
    </div>
  </section>`;
}
