// Shows the config file and changes it: checked before it is saved, with what would change, refused when the
// file moved meanwhile, and taken back within ten minutes. Secrets stay masked; a mask keeps what it hides.
import type { MethodParams, MethodResult, Timer } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { facts } from "../parts/drawer.ts";
import { Page } from "../parts/page.ts";
import { wordsOf } from "../parts/reading.ts";
import { schemaForm } from "../parts/schema-form.ts";
import { withValue, type Schema } from "../parts/schema.ts";
import { copyable } from "../parts/text.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";
import type { ConfigEditor } from "../view/config-editor.ts";
import type { Mistake } from "../view/config-hints.ts";
import { changeView, movedView, savedView } from "../view/config-change.ts";
import { problemsView } from "../view/config-problems.ts";

type Read = MethodResult<"config.get">;
type Problem = Read["problems"][number];
interface Found {
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}
type Value = MethodResult<"config.get"> & { readonly base: Base };
type Block = NonNullable<MethodParams<"config.text">["config"]>;

/** The file's own text, secrets masked, which only an operator may read; what a form shows of it else. */
interface Base {
  readonly text: string;
  readonly hash: string;
  readonly file: Read["file"];
}

/** What somebody types, and the file that they began from. */
interface Draft {
  readonly text: string;
  /** What it says; null where it is no JSON5. */
  readonly file: Read["file"];
  readonly before: Base;
}

const words = t.config;
const undoForMs = 600_000;
/** A draft is checked once its writer pauses this long. */
const checkAfterMs = 600;

export class Config extends Page {
  readonly #config = this.reading(async () => {
    const isMine = this.console.may("admin");
    const [read, own] = await Promise.all([
      this.console.call("config.get", {}),
      isMine ? this.console.call("config.text", {}) : null,
    ]);
    const { hash } = own ?? read;
    const text = own?.text ?? (isBlock(read.file) ? textOf(read.file) : "");
    return { ...read, hash, base: { text, hash, file: own?.file ?? read.file } };
  });
  readonly #schema = this.reading(
    async () => (await this.console.call("config.schema", {})).schema as Schema,
    3_600_000,
  );
  /** Null: the file as it is. */
  #draft: Draft | null = null;
  #found: Found | null = null;
  /** Places of the draft that take a restart. */
  #restart: readonly string[] = [];
  #soon: Timer | null = null;
  #search = "";
  #wrong: string | null = null;
  /** Changes of the form are put into the text one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #saved: (MethodResult<"config.apply"> & { readonly before: Base; readonly atMs: number }) | null = null;

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#config,
      body: () => (this.#config.value === null ? nothing : this.#body(this.#config.value)),
    });
  }

  #body(read: Value): TemplateResult {
    const draft = this.#draft;
    const found = this.#found ?? read;
    const wrong = [...found.problems, ...found.warnings];
    const isOther = draft !== null && draft.before.hash !== read.hash;
    const isText = this.#how === "text";
    return html`<div class="config">
      <div>
        ${facts([[words.path, copyable(read.path, 80)]])}
        ${isOther ? movedView(() => this.#readAnew()) : nothing}
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
        ${isText ? this.#text(draft?.text ?? read.base.text, read, found) : this.#form(read, wrong)}
        ${this.#wrong === null ? nothing : html`<p class="trouble" role="alert"><bdi>${this.#wrong}</bdi></p>`}
      </div>
      <div>
        ${problemsView(wrong, isText && this.console.may("admin") ? (line, column) => this.#goTo(line, column) : null)}
        ${this.#change(draft)} ${this.#done()}
      </div>
    </div>`;
  }

  /** Which of the two leads; what no form can show is shown as text. */
  get #how(): "form" | "text" {
    return this.address.rest[0] === "text" ? "text" : "form";
  }

  #form(read: Value, wrong: readonly Problem[]): unknown {
    const schema = this.#schema.value;
    const value = this.#draft === null ? read.base.file : this.#draft.file;
    if (schema === null) return nothing;
    if (!isBlock(value)) return html`<p class="trouble">${words.noForm}</p>`;
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
      onChange: (path, to) => this.#fill((withValue(value, path, to) ?? {}) as Block, read.base),
    });
  }

  #text(text: string, { base, file }: Value, { problems, warnings }: Found): TemplateResult {
    const mayChange = this.console.may("admin");
    const mistake =
      (isWarning: boolean) =>
      ({ line, column, message, fix }: Problem): Mistake => ({ line, column, message, fix, isWarning });
    if (customElements.get("parley-config-editor") === undefined) {
      this.#bringEditor();
      return html`<p class="quiet-text" role="status">${t.list.loading}</p>`;
    }
    return html`<h2 class="small">${words.text}</h2>
      <parley-config-editor
        .label=${words.text}
        .text=${text}
        .schema=${this.#schema.value}
        .readonly=${!mayChange || file === null}
        .mistakes=${[...problems.map(mistake(false)), ...warnings.map(mistake(true))]}
        .onText=${(typed: string) => this.#type(typed, base)}
      ></parley-config-editor>
      <p class="quiet-text small">${mayChange ? words.help : words.cannot}</p>`;
  }

  /** The editor is fetched for whoever looks at the text. */
  #bringEditor(): void {
    import("../view/config-editor.ts").then(
      () => this.requestUpdate(),
      () => {
        this.#wrong = t.shell.loadFailed;
        this.requestUpdate();
      },
    );
  }

  #goTo(line: number, column: number): void {
    this.querySelector<ConfigEditor>("parley-config-editor")?.goTo(line, column);
  }

  #type(text: string, base: Base): void {
    const before = this.#draft?.before ?? base;
    this.#take(text === before.text ? null : { text, file: null, before });
  }

  /** A change of the form, which the gateway puts into the text: comments stay. */
  #fill(config: Block, base: Base): void {
    const { text, before } = this.#draft ?? { text: base.text, before: base };
    this.#take({ text, file: config, before });
    this.#last = this.#last.then(async () => {
      const draft = this.#draft;
      if (draft === null || !isBlock(draft.file)) return;
      try {
        const made = await this.console.call("config.text", { text: draft.text, config: draft.file });
        // Somebody may have filled in more meanwhile.
        const file = this.#draft === draft ? made.file : (this.#draft?.file ?? null);
        if (this.#draft === null || made.text === null) return;
        this.#take(made.text === before.text ? null : { text: made.text, file, before });
      } catch (error) {
        this.#wrong = wordsOf(error);
        this.requestUpdate();
      }
    });
  }

  #take(draft: Draft | null): void {
    this.#draft = draft;
    this.#found = null;
    this.#wrong = null;
    this.#restart = [];
    this.#checkSoon();
    this.requestUpdate();
  }

  async #readAnew(): Promise<undefined> {
    this.#take(null);
    await this.#config.again();
  }

  #change(draft: Draft | null): unknown {
    if (draft === null)
      return this.#saved === null ? html`<p class="quiet-text small">${words.noChange}</p>` : nothing;
    return changeView(draft.before.text, draft.text, this.#restart, {
      save: () => this.#save(),
      check: () => this.#check(draft.text),
      discard: async () => {
        this.#take(null);
        return undefined;
      },
    });
  }

  /** Asks the gateway what it would say to the draft; an older answer than the newest draft is dropped. */
  async #check(text: string): Promise<string> {
    const { problems, warnings, restartNeeded } = await this.console.call("config.validate", { text });
    if (this.#draft?.text !== text) return words.checkedOther;
    this.#found = { problems, warnings };
    this.#restart = restartNeeded;
    if (this.#draft.file === null && problems.every(({ line, path }) => line === undefined || path !== "")) {
      const { file } = await this.console.call("config.text", { text });
      if (this.#draft?.text === text) this.#draft = { ...this.#draft, file };
    }
    this.requestUpdate();
    const count = problems.length + warnings.length;
    return count === 0 ? words.well : words.problems(count);
  }

  #checkSoon(): void {
    this.#soon?.cancel();
    this.#soon = this.console.clock.after(checkAfterMs, () => {
      const text = this.#draft?.text;
      // What cannot be asked now is asked with the save.
      if (text !== undefined && this.console.may("admin")) this.#check(text).catch(() => {});
    });
  }

  async #save(): Promise<undefined> {
    await this.#last;
    const draft = this.#draft;
    if (draft === null) return undefined;
    const { text, before } = draft;
    const written = await this.console.call("config.apply", {
      text,
      baseHash: before.hash,
      idempotencyKey: this.console.ids.uuid(),
    });
    this.#saved = { ...written, before, atMs: this.console.clock.now() };
    this.#take(null);
    await this.#config.again();
    return undefined;
  }

  #done(): unknown {
    const saved = this.#saved;
    if (saved === null) return nothing;
    const { before, atMs, hash, changed } = saved;
    const mayUndo =
      this.console.clock.now() - atMs < undoForMs && this.#config.value?.hash === hash && changed.length > 0;
    return savedView(saved, {
      undo: mayUndo ? () => this.#undo(before.text, hash) : null,
      restart: async () => {
        const { turnsRunning, deliveriesWaiting } = await this.console.call("restart", { reason: "config" });
        return words.restarting(turnsRunning, deliveriesWaiting);
      },
    });
  }

  async #undo(text: string, baseHash: string): Promise<string> {
    const { changed } = await this.console.call("config.apply", {
      text,
      baseHash,
      idempotencyKey: this.console.ids.uuid(),
    });
    this.#saved = null;
    await this.#config.again();
    return words.undone(changed.length);
  }
}

function textOf(file: unknown): string {
  return JSON.stringify(file, null, 2);
}

function isBlock(value: unknown): value is Block {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
