// A person's conversations with the agent: the list of them, the one that is open with what the agent shows
// beside it, and where one writes. Each has an address, `#/chat/<thread>`; the first one is `#/chat`.
import type { MethodParams } from "@parley/protocol";
import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import type { Command } from "../parts/console.ts";
import { icon } from "../parts/icons.ts";
import { Page } from "../parts/page.ts";
import { wordsOf } from "../parts/reading.ts";
import { keepRead, readThrough } from "../session/storage.ts";
import { askedBefore, shownMessages } from "../session/state.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";
import { canvasBeside, canvasPathOf } from "../view/canvas-beside.ts";
import { chatHead, nameField } from "../view/chat-head.ts";
import type { Children } from "../view/child-rows.ts";
import { Composer, type Rewrite, type Written } from "../view/composer.ts";
import { ChatReadings } from "../view/chat-readings.ts";
import { exportMarkdown } from "../view/export.ts";
import type { Retry } from "../view/message.ts";
import { Messages } from "../view/messages.ts";
import { fewThreads, threadList, titleOf, type Thread } from "../view/thread-list.ts";
import { threadMenu, type ThreadActs } from "../view/thread-menu.ts";
import type { ToolCall } from "../view/tool-card.ts";

customElements.define("parley-composer", Composer);
customElements.define("parley-messages", Messages);

const words = t.chat;
/** Times are told by the minute, so the list is drawn again after this. */
const listAgainMs = 10_000;
const threadAlphabet = "abcdefghijkmnpqrstuvwxyz23456789";

/** Somebody opens a call of a tool, or closes it. */
interface LookAt {
  readonly call: string;
  readonly isOpen: boolean;
}

export class Chat extends Page {
  static override properties = {
    ...Page.properties,
    rewrite: { state: true },
    filter: { state: true },
    isListOpen: { state: true },
    most: { state: true },
    naming: { state: true },
    removed: { state: true },
    isTreeOpen: { state: true },
    wholeCalls: { state: true },
    canvasPath: { state: true },
    trouble: { state: true },
  };
  declare rewrite: Rewrite | null;
  declare filter: string;
  /** On a phone the list covers the conversation. */
  declare isListOpen: boolean;
  /** How many conversations the list draws. */
  declare most: number;
  /** The conversation that gets a name, and where it is written; null: none. */
  declare naming: { readonly thread: string | null; readonly isInList: boolean } | null;
  /** What was just taken off the list. */
  declare removed: Thread | null;
  /** The sub-agents are shown. */
  declare isTreeOpen: boolean;
  /** Calls of tools that somebody opened, with all of it. */
  declare wholeCalls: ReadonlyMap<string, ToolCall>;
  /** Where the canvas beside the conversation is; null: it is not open. */
  declare canvasPath: string | null;
  declare trouble: string | null;
  readonly #reads = new ChatReadings(this, () => ({ most: this.most, filter: this.filter }));
  #quit: () => void = () => {};

  constructor() {
    super();
    this.rewrite = null;
    this.filter = "";
    this.isListOpen = false;
    this.most = fewThreads;
    this.naming = null;
    this.removed = null;
    this.isTreeOpen = false;
    this.wholeCalls = new Map();
    this.canvasPath = null;
    this.trouble = null;
  }

  get #thread(): string | null {
    return this.address.rest[0] ?? null;
  }

  get #place(): { readonly thread?: string } {
    return this.#thread === null ? {} : { thread: this.#thread };
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#quit = this.console.onChange(() => this.requestUpdate());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#quit();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("address")) return;
    this.rewrite = null;
    this.trouble = null;
    this.isListOpen = false;
    this.canvasPath = null;
    if (this.console.chat.thread !== this.#thread) this.console.session.open(this.#thread);
    this.naming = null;
    this.isTreeOpen = false;
    this.wholeCalls = new Map();
    if (changed.get("address") !== undefined) this.#reads.turn();
  }

  override updated(changed: PropertyValues<this>): void {
    super.updated(changed);
    const { messages, thread } = this.console.chat;
    const newest = messages.at(-1)?.seq;
    if (newest !== undefined && thread === this.#thread && document.visibilityState === "visible")
      keepRead(this.console.storage, thread, newest);
  }

  override commands(): readonly Command[] {
    const row = this.#current;
    const acts = this.#acts(false);
    return [
      { name: words.start, run: () => this.#start() },
      ...(this.console.may("write")
        ? [
            { name: words.name, run: () => acts.name(row) },
            { name: row.pinned ? words.unpin : words.pin, run: () => acts.pin(row) },
            ...(row.thread === null ? [] : [{ name: words.remove, run: () => acts.remove(row) }]),
          ]
        : []),
      { name: words.export, run: () => acts.export(row) },
    ];
  }

  override onKey(key: string): boolean {
    if (key !== "e" || !this.console.may("write")) return false;
    this.#rewriteLast();
    return true;
  }

  override render(): TemplateResult {
    const { chat, session } = this.console;
    const threads = this.#reads.threads.value?.threads ?? [];
    const read = this.#reads.steps.value?.thread === this.#thread ? this.#reads.steps.value : null;
    const isAlone = this.#thread === null && (this.#reads.threads.value === null || threads.length < 2);
    const spawned = this.#reads.spawned.value?.thread === this.#thread ? this.#reads.spawned.value : null;
    const waiting = new Set(read?.waiting);
    return html`<div
      class="chat-page ${isAlone ? "alone" : ""} ${this.isListOpen ? "list-open" : ""} ${this.canvasPath === null ? "" : "beside"}"
    >
      ${isAlone ? nothing : this.#list(threads)}
      <section class="chat" aria-label=${words.conversation}>
        ${this.#head(spawned?.children ?? noChildren, isAlone)} ${this.#taken()}
        <parley-messages
          .chat=${chat}
          .calls=${read?.calls ?? noCalls}
          .wholeCalls=${this.wholeCalls}
          .queued=${waiting}
          .models=${this.#reads.models.value ?? noModels}
          .mayWrite=${this.console.may("write")}
          @discard=${({ detail }: CustomEvent<string>) => session.discard(detail)}
          @press=${({ detail }: CustomEvent<string>) => session.send(detail)}
          @rewrite=${({ detail }: CustomEvent<Rewrite>) => (this.rewrite = detail)}
          @cancel=${({ detail }: CustomEvent<string>) => void this.#try(() => this.#cancel(detail))}
          @branch=${({ detail }: CustomEvent<string>) => void this.#fork({ id: detail })}
          @retry=${({ detail }: CustomEvent<Retry>) => this.#retry(detail)}
          @look-at=${({ detail }: CustomEvent<LookAt>) => void this.#lookAt(detail)}
          @earlier=${() => session.earlier()}
          @forget-earlier=${() => session.forgetEarlier()}
        ></parley-messages>
        ${this.trouble === null ? nothing : html`<p class="trouble" role="alert">${this.trouble}</p>`}
        ${
          this.console.may("write")
            ? html`<parley-composer
                .working=${chat.working}
                .thread=${this.#thread}
                .rewrite=${this.rewrite}
                @send=${this.#send}
                @rewritten=${() => (this.rewrite = null)}
                @rewrite-last=${this.#rewriteLast}
                @stop=${() => session.stop()}
              ></parley-composer>`
            : nothing
        }
      </section>
      ${canvasBeside(this.canvasPath)}
    </div>`;
  }

  /** A conversation that nobody has written to yet is none of the list. */
  get #current(): Thread {
    const thread = this.#thread;
    return (
      this.#reads.threads.value?.threads.find((each) => each.thread === thread) ?? { ...unwritten, thread }
    );
  }

  /** An answer that grows draws the page in each frame, and changes nothing here. */
  #list(threads: readonly Thread[]): unknown {
    const { filter, most, naming } = this;
    const nowMs = this.console.clock.now();
    const mayWrite = this.console.may("write");
    const found = filter.trim() === "" ? null : this.#reads.found.value;
    const left = found?.left ?? (filter.trim() === "" ? (this.#reads.threads.value?.left ?? 0) : 0);
    const parts = [
      threads,
      found,
      this.#thread,
      filter,
      most,
      naming,
      mayWrite,
      Math.floor(nowMs / listAgainMs),
    ];
    return guard(parts, () =>
      threadList({
        threads: found === null ? threads : together(threads, found.threads),
        left,
        here: this.#thread,
        filter,
        onFilter: (wanted) => {
          this.filter = wanted;
          this.#reads.look();
        },
        onMore: () => {
          this.most += fewThreads;
          void this.#reads.threads.again();
          void this.#reads.found.again();
        },
        readThrough: (thread) => readThrough(this.console.storage, thread),
        menuOf: (row) => threadMenu(row, this.#acts(true), mayWrite),
        fieldOf: (row) =>
          naming?.isInList === true && naming.thread === row.thread
            ? nameField(row.name ?? "", titleOf(row), (name) => void this.#named(row, name))
            : null,
        nowMs,
      }),
    );
  }

  #head(children: Children, isAlone: boolean): TemplateResult {
    const row = this.#current;
    const hasCanvas = this.#reads.canvases.value?.has(row.sessionKey) === true;
    const isOpen = this.canvasPath !== null;
    const isNaming = this.naming?.isInList === false && this.naming.thread === row.thread;
    return chatHead({
      named: row.sessionKey === "" ? words.unnamed : titleOf(row),
      naming: isNaming ? (row.name ?? "") : null,
      onNamed: (name) => void this.#named(row, name),
      children,
      tree: { isOpen: this.isTreeOpen, toggle: (opened) => (this.isTreeOpen = opened) },
      hrefOf: this.#sessionAddress,
      // The tree is drawn again when a second has passed.
      nowMs: Math.floor(this.console.clock.now() / 1_000) * 1_000,
      ...(isAlone
        ? {}
        : { list: { isOpen: this.isListOpen, toggle: () => (this.isListOpen = !this.isListOpen) } }),
      ...(hasCanvas || isOpen ? { canvas: { isOpen, toggle: () => void this.#toggleCanvas() } } : {}),
      menu: guard([row, this.console.may("write")], () =>
        threadMenu(row, this.#acts(false), this.console.may("write")),
      ),
      ...(this.console.may("write") ? { start: () => this.#start() } : {}),
    });
  }

  readonly #sessionAddress = (key: string): string | null =>
    this.console.has("sessions") ? addressOf("sessions", [key]) : null;

  #acts(isInList: boolean): ThreadActs {
    return {
      name: (row) => this.#name(row, isInList),
      pin: (row) => void this.#pin(row, isInList),
      export: (row) => void this.#try(() => exportMarkdown(this.console, row.thread, titleOf(row))),
      remove: (row) => void this.#remove(row),
    };
  }

  /** What was taken off the list is put back from here. */
  #taken(): unknown {
    const { removed } = this;
    if (removed === null) return nothing;
    const putBack = async (): Promise<void> => {
      this.removed = null;
      if (!(await this.#set(removed, { listed: true }))) return;
      this.console.go(addressOf("chat", removed.thread === null ? [] : [removed.thread]));
    };
    return html`<p class="told-line" role="status">
      <bdi>${words.removed(titleOf(removed))}</bdi>
      <button class="quiet" @click=${() => void putBack()}>${words.putBack}</button>
      <button class="plain icon-only" aria-label=${t.shell.close} @click=${() => (this.removed = null)}>
        ${icon("close")}
      </button>
    </p>`;
  }

  async #toggleCanvas(): Promise<void> {
    const key = this.#current.sessionKey;
    if (this.canvasPath !== null || key === "") {
      this.canvasPath = null;
      return;
    }
    await this.#try(async () => {
      this.canvasPath = await canvasPathOf(this.console, key);
    });
  }

  #name({ thread }: Thread, isInList: boolean): void {
    this.naming = { thread, isInList };
    void this.updateComplete.then(() => this.querySelector<HTMLInputElement>("input.chat-name")?.select());
  }

  async #named(row: Thread, name: string | null): Promise<void> {
    const { naming } = this;
    // A field that goes tells that it was left.
    if (naming === null) return;
    this.naming = null;
    const hadFocus = this.querySelector("input.chat-name") === document.activeElement;
    if (name !== null && name !== (row.name ?? "")) await this.#set(row, { name });
    if (hadFocus) await this.#focusMenu(row, naming.isInList);
  }

  async #pin(row: Thread, isInList: boolean): Promise<void> {
    await this.#set(row, { pinned: !row.pinned });
    // The row moved, and the focus stays with it.
    if (document.activeElement === document.body) await this.#focusMenu(row, isInList);
  }

  async #focusMenu({ thread }: Thread, isInList: boolean): Promise<void> {
    await this.updateComplete;
    const place = isInList ? `[data-thread="${CSS.escape(thread ?? "")}"]` : ".chat-head";
    this.querySelector<HTMLElement>(`${place} .menu-button`)?.focus();
  }

  #freshThread(): string {
    return this.console.ids.code(threadAlphabet, 10);
  }

  #start(): void {
    this.console.go(addressOf("chat", [this.#freshThread()]));
    void this.updateComplete.then(() => this.querySelector<Composer>("parley-composer")?.focus());
  }

  #send({ detail }: CustomEvent<Written>): void {
    const { text, files, rewrite } = detail;
    if (rewrite?.branch !== undefined) return void this.#fork({ id: rewrite.branch, again: true, text });
    if (rewrite === null || rewrite.id === null) {
      this.rewrite = null;
      return this.console.session.send(text, files);
    }
    const { id } = rewrite;
    return void this.#try(async () => {
      const key = this.console.ids.uuid();
      await this.console.call("chat.edit", { ...this.#place, id, text, idempotencyKey: key });
      this.rewrite = null;
    });
  }

  /** What was asked before this answer, asked again in a conversation of its own: this one stays. */
  #retry({ id, model }: Retry): void {
    const asked = askedBefore(this.console.chat.messages, id);
    if (asked === undefined) this.trouble = words.nothingAsked;
    else void this.#fork({ id: asked, again: true, ...(model === undefined ? {} : { model }) });
  }

  async #fork(how: Pick<MethodParams<"chat.fork">, "id" | "again" | "text" | "model">): Promise<void> {
    const to = this.#freshThread();
    const idempotencyKey = this.console.ids.uuid();
    await this.#try(async () => {
      await this.console.call("chat.fork", { ...this.#place, ...how, to, idempotencyKey });
      this.rewrite = null;
      this.console.go(addressOf("chat", [to]));
      await this.#reads.threads.again();
    });
  }

  #rewriteLast(): void {
    const last = shownMessages(this.console.chat.messages).findLast(({ role }) => role === "user");
    if (last === undefined) return;
    const isQueued = this.#reads.steps.value?.waiting.includes(last.id ?? "") === true;
    this.rewrite = { id: isQueued ? (last.id ?? null) : null, text: last.text };
  }

  async #cancel(id: string): Promise<void> {
    await this.console.call("chat.cancel", { ...this.#place, id });
    await this.#reads.steps.again();
  }

  /** What is listed is the beginning of it. */
  async #lookAt({ call, isOpen }: LookAt): Promise<void> {
    const without = [...this.wholeCalls].filter(([id]) => id !== call);
    if (!isOpen) {
      this.wholeCalls = new Map(without);
      return;
    }
    await this.#try(async () => {
      const whole = await this.#reads.whole(call);
      if (whole !== null) this.wholeCalls = new Map([...this.wholeCalls, [call, whole]]);
    });
  }

  /** True when it was taken. */
  async #set(
    { thread }: Thread,
    patch: { readonly name?: string; readonly pinned?: boolean; readonly listed?: boolean },
  ): Promise<boolean> {
    const isTaken = await this.#try(() =>
      this.console.call("chat.thread", { ...(thread === null ? {} : { thread }), ...patch }),
    );
    await this.#reads.threads.again();
    return isTaken;
  }

  async #remove(row: Thread): Promise<void> {
    if (!(await this.#set(row, { listed: false }))) return;
    this.removed = row;
    if (row.thread === this.#thread) this.console.go(addressOf("chat"));
    await this.updateComplete;
    this.querySelector<HTMLElement>(".told-line button")?.focus();
  }

  async #try(act: () => Promise<unknown>): Promise<boolean> {
    this.trouble = null;
    try {
      await act();
      return true;
    } catch (error) {
      this.trouble = words.failed(wordsOf(error));
      return false;
    }
  }
}

/** Those of both, each once. */
function together(threads: readonly Thread[], found: readonly Thread[]): readonly Thread[] {
  const known = new Set(threads.map(({ thread }) => thread));
  return [...threads, ...found.filter(({ thread }) => !known.has(thread))];
}

/** The same each time, so that nothing is drawn again for it. */
const noCalls: readonly ToolCall[] = [];
const noModels: readonly string[] = [];
const noChildren: Children = [];
const unwritten: Thread = {
  thread: null,
  sessionKey: "",
  name: null,
  title: null,
  pinned: false,
  text: "",
  seq: 0,
  atMs: null,
  working: false,
};
