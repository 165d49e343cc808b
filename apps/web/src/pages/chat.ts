// A person's conversations with the agent: the list of them, the one that is open with what the agent shows
// beside it, and where one writes. Each has an address, `#/chat/<thread>`; the first one is `#/chat`.
import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import type { Command } from "../parts/console.ts";
import { Page } from "../parts/page.ts";
import { wordsOf } from "../parts/reading.ts";
import { keepRead, readThrough } from "../session/storage.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";
import { canvasBeside, canvasPathOf } from "../view/chat/canvas-beside.ts";
import { chatHead } from "../view/chat/chat-head.ts";
import type { Children } from "../view/child-rows.ts";
import { Composer, type Rewrite, type Written } from "../view/chat/composer.ts";
import { ChatReadings } from "../view/chat/chat-readings.ts";
import type { Retry } from "../view/chat/message.ts";
import { messageActs } from "../view/chat/message-acts.ts";
import { Messages } from "../view/chat/messages.ts";
import { threadActs } from "../view/chat/thread-acts.ts";
import { fewThreads, threadList, titleOf, together, type Thread } from "../view/chat/thread-list.ts";
import { threadMenu } from "../view/chat/thread-menu.ts";
import type { ToolCall } from "../view/chat/tool-card.ts";

customElements.define("parley-composer", Composer);
customElements.define("parley-messages", Messages);

const words = t.chat;
/** Times are told by the minute, so the list is drawn again after this. */
const listAgainMs = 10_000;

/** Somebody opens a call of a tool, or closes it. */
interface LookAt {
  readonly call: string;
  readonly isOpen: boolean;
}

export class Chat extends Page {
  static override properties = {
    ...Page.properties,
    filter: { state: true },
    isListOpen: { state: true },
    most: { state: true },
    isTreeOpen: { state: true },
    wholeCalls: { state: true },
    canvasPath: { state: true },
    trouble: { state: true },
  };
  declare filter: string;
  /** On a phone the list covers the conversation. */
  declare isListOpen: boolean;
  /** How many conversations the list draws. */
  declare most: number;
  /** The sub-agents are shown. */
  declare isTreeOpen: boolean;
  /** Calls of tools that somebody opened, with all of it. */
  declare wholeCalls: ReadonlyMap<string, ToolCall>;
  /** Where the canvas beside the conversation is; null: it is not open. */
  declare canvasPath: string | null;
  declare trouble: string | null;
  readonly #reads = new ChatReadings(this, () => ({ most: this.most, filter: this.filter }));
  readonly #threadActs = threadActs(this, this.#reads, (act) => this.#try(act));
  readonly #messageActs = messageActs(
    this,
    this.#reads,
    (act) => this.#try(act),
    (trouble) => (this.trouble = trouble),
  );
  #quit: () => void = () => {};

  constructor() {
    super();
    this.filter = "";
    this.isListOpen = false;
    this.most = fewThreads;
    this.isTreeOpen = false;
    this.wholeCalls = new Map();
    this.canvasPath = null;
    this.trouble = null;
  }

  get #thread(): string | null {
    return this.address.rest[0] ?? null;
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
    this.#messageActs.rewrite = null;
    this.trouble = null;
    this.isListOpen = false;
    this.canvasPath = null;
    if (this.console.chat.thread !== this.#thread) this.console.session.open(this.#thread);
    this.#threadActs.naming = null;
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
    const row = this.#reads.current;
    const acts = this.#threadActs.menuActs(false);
    return [
      ...(this.console.may("write")
        ? [
            { name: words.start, run: () => this.#start() },
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
    this.#messageActs.rewriteLast();
    return true;
  }

  override render(): TemplateResult {
    const { chat, session } = this.console;
    const acts = this.#messageActs;
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
        ${this.#head(spawned?.children ?? noChildren, isAlone)} ${this.#threadActs.taken()}
        <parley-messages
          .chat=${chat}
          .calls=${read?.calls ?? noCalls}
          .wholeCalls=${this.wholeCalls}
          .queued=${waiting}
          .models=${this.#reads.models.value ?? noModels}
          .mayWrite=${this.console.may("write")}
          @discard=${({ detail }: CustomEvent<string>) => session.discard(detail)}
          @press=${({ detail }: CustomEvent<string>) => session.send(detail)}
          @rewrite=${({ detail }: CustomEvent<Rewrite>) => (acts.rewrite = detail)}
          @cancel=${({ detail }: CustomEvent<string>) => acts.cancel(detail)}
          @branch=${({ detail }: CustomEvent<string>) => acts.branch(detail)}
          @retry=${({ detail }: CustomEvent<Retry>) => acts.retry(detail)}
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
                .rewrite=${acts.rewrite}
                @send=${({ detail }: CustomEvent<Written>) => acts.send(detail)}
                @rewritten=${() => (acts.rewrite = null)}
                @rewrite-last=${() => acts.rewriteLast()}
                @stop=${() => session.stop()}
              ></parley-composer>`
            : nothing
        }
      </section>
      ${canvasBeside(this.canvasPath)}
    </div>`;
  }

  /** An answer that grows draws the page in each frame, and changes nothing here. */
  #list(threads: readonly Thread[]): unknown {
    const { filter, most } = this;
    const { naming } = this.#threadActs;
    const nowMs = this.console.clock.now();
    const mayWrite = this.console.may("write");
    const found = filter.trim() === "" ? null : this.#reads.found.value;
    const left = found?.left ?? (filter.trim() === "" ? (this.#reads.threads.value?.left ?? 0) : 0);
    const spell = Math.floor(nowMs / listAgainMs);
    const parts = [threads, found, this.#thread, filter, most, naming, mayWrite, spell];
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
        menuOf: (row) => threadMenu(row, this.#threadActs.menuActs(true), mayWrite),
        fieldOf: (row) => this.#threadActs.fieldOf(row),
        nowMs,
      }),
    );
  }

  #head(children: Children, isAlone: boolean): TemplateResult {
    const row = this.#reads.current;
    const hasCanvas = this.#reads.canvases.value?.has(row.sessionKey) === true;
    const isOpen = this.canvasPath !== null;
    const acts = this.#threadActs;
    const isNaming = acts.naming?.isInList === false;
    return chatHead({
      named: row.sessionKey === "" ? words.unnamed : titleOf(row),
      naming: isNaming ? (row.name ?? "") : null,
      onNamed: (name) => void acts.named(row, name),
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
        threadMenu(row, acts.menuActs(false), this.console.may("write")),
      ),
      ...(this.console.may("write") ? { start: () => this.#start() } : {}),
    });
  }

  readonly #sessionAddress = (key: string): string | null =>
    this.console.has("sessions") ? addressOf("sessions", [key]) : null;

  async #toggleCanvas(): Promise<void> {
    const key = this.#reads.current.sessionKey;
    if (this.canvasPath !== null || key === "") {
      this.canvasPath = null;
      return;
    }
    await this.#try(async () => {
      this.canvasPath = await canvasPathOf(this.console, key);
    });
  }

  #start(): void {
    this.console.go(addressOf("chat", [this.#messageActs.freshThread()]));
    void this.updateComplete.then(() => this.querySelector<Composer>("parley-composer")?.focus());
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

/** The same each time, so that nothing is drawn again for it. */
const noCalls: readonly ToolCall[] = [];
const noModels: readonly string[] = [];
const noChildren: Children = [];
