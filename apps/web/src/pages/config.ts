// Shows the config file and changes it: checked before it is saved, with what would change, refused when the
// file moved meanwhile, and taken back within ten minutes. Secrets stay masked; a mask keeps what it hides.
import type { MethodParams, MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { diffLines, diffView } from "../parts/diff.ts";
import { facts } from "../parts/drawer.ts";
import { Page } from "../parts/page.ts";
import { copyable } from "../parts/text.ts";
import { t } from "../texts/texts.ts";

type Read = MethodResult<"config.get">;
type Problem = Read["problems"][number];
type Block = Extract<MethodParams<"config.apply">, { config: unknown }>["config"];

/** What somebody types, and the file that they began from. */
interface Draft {
  readonly text: string;
  readonly before: Read;
}

const words = t.config;
const undoForMs = 600_000;
/** How the gateway writes a secret that it does not show. */
const mask = "[secret]";

export class Config extends Page {
  readonly #config = this.reading(() => this.console.call("config.get", {}));
  /** Null: the file as it is. */
  #draft: Draft | null = null;
  #found: readonly Problem[] | null = null;
  #saved: (MethodResult<"config.apply"> & { readonly before: Read["file"]; readonly atMs: number }) | null =
    null;

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#config,
      body: () => (this.#config.value === null ? nothing : this.#body(this.#config.value)),
    });
  }

  #body(read: Read): TemplateResult {
    const draft = this.#draft;
    const text = draft?.text ?? textOf(read.file);
    const wrong = this.#found ?? [...read.problems, ...read.warnings];
    const isOther = draft !== null && draft.before.hash !== read.hash;
    return html`<div class="config">
      <div>
        ${facts([[words.path, copyable(read.path, 80)]])} ${isOther ? this.#moved() : nothing}
        ${this.#problems(wrong)}
        ${read.file === null ? html`<p class="trouble">${words.unreadable}</p>` : nothing}
        <label for="config-text">${words.text}</label>
        <textarea
          id="config-text"
          class="code"
          rows="24"
          spellcheck="false"
          autocomplete="off"
          aria-describedby="config-help"
          ?readonly=${!this.console.may("admin") || read.file === null}
          .value=${text}
          @input=${({ target }: Event) => this.#type((target as HTMLTextAreaElement).value, read)}
        ></textarea>
        <p class="quiet-text small" id="config-help">
          ${this.console.may("admin") ? words.help : words.cannot}
        </p>
      </div>
      <div class="config-side">${this.#change(draft)} ${this.#done()}</div>
    </div>`;
  }

  #type(text: string, read: Read): void {
    const before = this.#draft?.before ?? read;
    this.#draft = text === textOf(before.file) ? null : { text, before };
    this.#found = null;
    this.requestUpdate();
  }

  #moved(): TemplateResult {
    return html`<div class="trouble" role="alert">
      ${words.moved}
      ${act({
        label: words.discard,
        look: "danger",
        confirm: words.discardMeans,
        run: async () => {
          this.#draft = null;
          await this.#config.again();
          return undefined;
        },
      })}
    </div>`;
  }

  #problems(found: readonly Problem[]): TemplateResult {
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

  #change(draft: Draft | null): TemplateResult {
    if (draft === null)
      return this.#saved === null
        ? html`<p class="quiet-text small">${words.noChange}</p>`
        : html`${nothing}`;
    const parsed = parse(draft.text);
    const after = parsed === null ? draft.text : textOf(parsed);
    return html`<section class="card">
      <h2>${words.changes}</h2>
      ${diffView(words.changes, diffLines(textOf(draft.before.file), after))}
      ${parsed === null ? html`<p class="quiet-text small">${words.asText}</p>` : nothing}
      <div class="act-row after">
        ${act({
          label: words.save,
          confirm: parsed === null ? words.saveText : words.saveMeans,
          run: () => this.#save(parsed === null ? { text: draft.text } : { config: parsed }, draft.before),
        })}
        ${act({ label: words.check, look: "quiet", run: () => this.#check(draft.text) })}
        ${act({
          label: words.discard,
          look: "quiet",
          confirm: words.discardMeans,
          run: async () => {
            this.#draft = null;
            this.#found = null;
            this.requestUpdate();
            return undefined;
          },
        })}
      </div>
    </section>`;
  }

  async #check(text: string): Promise<string> {
    const { problems, warnings } = await this.console.call("config.validate", { text });
    const lines = text.split("\n");
    // What a mask hides cannot be judged from here.
    const isMasked = ({ line }: Problem): boolean => lines[(line ?? 0) - 1]?.includes(mask) === true;
    this.#found = [...problems, ...warnings].filter((one) => !isMasked(one));
    this.requestUpdate();
    return this.#found.length === 0 ? words.well : words.problems(this.#found.length);
  }

  async #save(
    change: { readonly config: Block } | { readonly text: string },
    before: Read,
  ): Promise<undefined> {
    const written = await this.console.call("config.apply", {
      ...change,
      baseHash: before.hash,
      idempotencyKey: this.console.ids.uuid(),
    });
    this.#saved = { ...written, before: before.file, atMs: this.console.clock.now() };
    this.#draft = null;
    this.#found = null;
    await this.#config.again();
    return undefined;
  }

  #done(): TemplateResult {
    const saved = this.#saved;
    if (saved === null) return html`${nothing}`;
    const { changed, backup, restartNeeded, before, atMs, hash } = saved;
    const mayUndo =
      this.console.clock.now() - atMs < undoForMs && this.#config.value?.hash === hash && changed.length > 0;
    return html`<section class="card after" role="status">
      <h2>${words.saved}</h2>
      ${facts([
        [words.changed, html`<bdi>${changed.join(", ") || words.nothing}</bdi>`],
        [words.restart, html`<bdi>${restartNeeded.join(", ") || words.noRestart}</bdi>`],
        ...(backup === null ? [] : ([[words.backup, copyable(backup, 60)]] as const)),
      ])}
      <div class="act-row after">
        ${
          mayUndo && isBlock(before)
            ? act({
                label: words.undo,
                look: "quiet",
                confirm: words.undoMeans,
                run: async () => {
                  const { changed: back } = await this.console.call("config.apply", {
                    config: before,
                    baseHash: hash,
                  });
                  this.#saved = null;
                  await this.#config.again();
                  return words.undone(back.length);
                },
              })
            : nothing
        }
        ${
          restartNeeded.length > 0
            ? act({
                label: words.restartNow,
                look: "danger",
                confirm: words.restartMeans,
                run: async () => {
                  const { turnsRunning, deliveriesWaiting } = await this.console.call("restart", {
                    reason: "config",
                  });
                  return words.restarting(turnsRunning, deliveriesWaiting);
                },
              })
            : nothing
        }
      </div>
    </section>`;
  }
}

function textOf(file: unknown): string {
  return JSON.stringify(file, null, 2);
}

function isBlock(value: unknown): value is Block {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What was typed; null where it is no JSON: it may be JSON5, which the gateway reads. */
function parse(text: string): Block | null {
  try {
    const read: unknown = JSON.parse(text);
    return isBlock(read) ? read : null;
  } catch {
    return null;
  }
}
