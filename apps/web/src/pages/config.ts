// Shows the config file and changes it: checked before it is saved, with what would change, refused when the
// file moved meanwhile, and taken back within ten minutes. Secrets stay masked; a mask keeps what it hides.
import type { MethodParams, MethodResult, Timer } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { diffLines, diffView } from "../parts/diff.ts";
import { facts } from "../parts/drawer.ts";
import { Page } from "../parts/page.ts";
import { schemaForm } from "../parts/schema-form.ts";
import { withValue, type Schema } from "../parts/schema.ts";
import { copyable } from "../parts/text.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";
import { problemsView } from "../view/config-problems.ts";

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
/** A draft is checked once its writer pauses this long. */
const checkAfterMs = 600;

export class Config extends Page {
  readonly #config = this.reading(() => this.console.call("config.get", {}));
  readonly #schema = this.reading(
    async () => (await this.console.call("config.schema", {})).schema as Schema,
    3_600_000,
  );
  /** Null: the file as it is. */
  #draft: Draft | null = null;
  #found: readonly Problem[] | null = null;
  /** Places of the draft that take a restart. */
  #restart: readonly string[] = [];
  #soon: Timer | null = null;
  #search = "";
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
        ${read.file === null ? html`<p class="trouble">${words.unreadable}</p>` : nothing}
        <div class="segments" role="group" aria-label=${words.how}>
          ${(["form", "text"] as const).map(
            (how) =>
              html`<a
                class="button quiet"
                href=${addressOf("config", how === "form" ? [] : ["text"])}
                aria-current=${how === this.#how ? "true" : nothing}
                >${words.ways[how]}</a
              >`,
          )}
        </div>
        ${this.#how === "form" ? this.#form(text, read, wrong) : this.#text(text, read)}
      </div>
      <div class="config-side">${problemsView(wrong)} ${this.#change(draft)} ${this.#done()}</div>
    </div>`;
  }

  /** Which of the two leads; what no form can show is shown as text. */
  get #how(): "form" | "text" {
    return this.address.rest[0] === "text" ? "text" : "form";
  }

  #form(text: string, read: Read, wrong: readonly Problem[]): unknown {
    const schema = this.#schema.value;
    const value = parse(text);
    if (schema === null) return nothing;
    if (value === null) return html`<p class="trouble">${words.noForm}</p>`;
    return schemaForm({
      schema,
      value,
      search: this.#search,
      mayChange: this.console.may("admin"),
      problems: new Map(wrong.map(({ path, message }) => [path.replaceAll(/\[(\d+)\]/g, ".$1"), message])),
      onSearch: (search) => {
        this.#search = search;
        this.requestUpdate();
      },
      onChange: (path, to) => this.#type(textOf(withValue(value, path, to) ?? {}), read),
    });
  }

  #text(text: string, read: Read): TemplateResult {
    return html`<label for="config-text">${words.text}</label>
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
      </p>`;
  }

  #type(text: string, read: Read): void {
    const before = this.#draft?.before ?? read;
    this.#draft = text === textOf(before.file) ? null : { text, before };
    this.#found = null;
    this.#restart = [];
    this.#checkSoon();
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
      ${
        this.#restart.length === 0
          ? nothing
          : html`<p class="small"><b>${words.restart}</b>: <bdi>${this.#restart.join(", ")}</bdi></p>`
      }
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

  /** Asks the gateway what it would say to the draft; an older answer than the newest draft is dropped. */
  async #check(text: string): Promise<string> {
    const { problems, warnings, restartNeeded } = await this.console.call("config.validate", { text });
    if (this.#draft?.text !== text) return words.checkedOther;
    this.#found = [...problems, ...warnings];
    this.#restart = restartNeeded ?? [];
    this.requestUpdate();
    return this.#found.length === 0 ? words.well : words.problems(this.#found.length);
  }

  #checkSoon(): void {
    this.#soon?.cancel();
    this.#soon = this.console.clock.after(checkAfterMs, () => {
      const text = this.#draft?.text;
      // What cannot be asked now is asked with the save.
      if (text !== undefined && this.console.may("admin")) this.#check(text).catch(() => {});
    });
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
