// A person's conversations with the agent: the list of them, the one that is open with what the agent shows
// beside it, and where one writes. Each has an address, `#/chat/<thread>`; the first one is `#/chat`.
import type { MethodParams } from "@parley/protocol";
import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Command } from "../parts/console.ts";
import { Page } from "../parts/page.ts";
import { wordsOf } from "../parts/reading.ts";
import { keepRead, readThrough } from "../session/storage.ts";
import { askedBefore, shownMessages } from "../session/state.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";
import { canvasBeside, canvasPathOf } from "../view/canvas-beside.ts";
import { chatHead, type Children } from "../view/chat-head.ts";
import { Composer, type Rewrite, type Written } from "../view/composer.ts";
import { ChatReadings } from "../view/chat-readings.ts";
import { exportMarkdown } from "../view/export.ts";
import type { Retry } from "../view/message.ts";
import { Messages } from "../view/messages.ts";
import { threadList, titleOf, type Thread } from "../view/thread-list.ts";
import type { ToolCall } from "../view/tool-card.ts";

customElements.define("parley-composer", Composer);
customElements.define("parley-messages", Messages);

const words = t.chat;
const threadAlphabet = "abcdefghijkmnpqrstuvwxyz23456789";

export class Chat extends Page {
  static override properties = {
    ...Page.properties,
    rewrite: { state: true },
    filter: { state: true },
    isListOpen: { state: true },
    isNaming: { state: true },
    canvasPath: { state: true },
    trouble: { state: true },
  };
  declare rewrite: Rewrite | null;
  declare filter: string;
  /** On a phone the list covers the conversation. */
  declare isListOpen: boolean;
  declare isNaming: boolean;
  /** Where the canvas beside the conversation is; null: it is not open. */
  declare canvasPath: string | null;
  declare trouble: string | null;
  readonly #reads = new ChatReadings(this);
  #quit: () => void = () => {};

  constructor() {
    super();
    this.rewrite = null;
    this.filter = "";
    this.isListOpen = false;
    this.isNaming = false;
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
    if (changed.get("address") !== undefined) void this.#reads.steps.again();
  }

  override updated(changed: PropertyValues<this>): void {
    super.updated(changed);
    const { messages, thread } = this.console.chat;
    const newest = messages.at(-1)?.seq;
    if (newest !== undefined && thread === this.#thread && document.visibilityState === "visible")
      keepRead(this.console.storage, thread, newest);
  }

  override commands(): readonly Command[] {
    const thread = this.#current;
    return [
      { name: words.start, run: () => this.#start() },
      ...(this.console.may("write")
        ? [
            { name: words.name, run: () => this.#name() },
            {
              name: thread?.pinned === true ? words.unpin : words.pin,
              run: () => void this.#set({ pinned: thread?.pinned !== true }),
            },
            ...(this.#thread === null ? [] : [{ name: words.remove, run: () => void this.#remove() }]),
          ]
        : []),
      { name: words.export, run: () => this.#export() },
    ];
  }

  override render(): TemplateResult {
    const { chat, session } = this.console;
    const threads = this.#reads.threads.value?.threads ?? [];
    const read = this.#reads.steps.value?.thread === this.#thread ? this.#reads.steps.value : null;
    const isAlone = this.#thread === null && (this.#reads.threads.value === null || threads.length < 2);
    const waiting = new Set(read?.waiting);
    return html`<div
      class="chat-page ${isAlone ? "alone" : ""} ${this.isListOpen ? "list-open" : ""} ${this.canvasPath === null ? "" : "beside"}"
    >
      ${
        isAlone
          ? nothing
          : threadList({
              threads,
              here: this.#thread,
              filter: this.filter,
              onFilter: (filter) => (this.filter = filter),
              readThrough: (thread) => readThrough(this.console.storage, thread),
              nowMs: this.console.clock.now(),
            })
      }
      <section class="chat" aria-label=${words.conversation}>
        ${this.#head(read?.children ?? [], isAlone)}
        <parley-messages
          .chat=${chat}
          .calls=${read?.calls ?? noCalls}
          .queued=${waiting}
          .models=${this.#reads.models.value ?? noModels}
          .mayWrite=${this.console.may("write")}
          @discard=${({ detail }: CustomEvent<string>) => session.discard(detail)}
          @press=${({ detail }: CustomEvent<string>) => session.send(detail)}
          @rewrite=${({ detail }: CustomEvent<Rewrite>) => (this.rewrite = detail)}
          @cancel=${({ detail }: CustomEvent<string>) => void this.#try(() => this.#cancel(detail))}
          @branch=${({ detail }: CustomEvent<string>) => void this.#fork({ id: detail })}
          @retry=${({ detail }: CustomEvent<Retry>) => this.#retry(detail)}
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

  get #current(): Thread | undefined {
    return this.#reads.threads.value?.threads.find(({ thread }) => thread === this.#thread);
  }

  #head(children: Children, isAlone: boolean): TemplateResult {
    const current = this.#current;
    const hasCanvas = current !== undefined && this.#reads.canvases.value?.has(current.sessionKey) === true;
    const isOpen = this.canvasPath !== null;
    return chatHead({
      named: current === undefined ? words.unnamed : titleOf(current),
      naming: this.isNaming ? (current?.name ?? "") : null,
      onNamed: (name) => void this.#named(name),
      children,
      nowMs: this.console.clock.now(),
      ...(isAlone
        ? {}
        : { list: { isOpen: this.isListOpen, toggle: () => (this.isListOpen = !this.isListOpen) } }),
      ...(hasCanvas || isOpen ? { canvas: { isOpen, toggle: () => void this.#toggleCanvas() } } : {}),
      ...(this.console.may("write")
        ? { acts: { name: () => this.#name(), start: () => this.#start() } }
        : {}),
    });
  }

  async #toggleCanvas(): Promise<void> {
    const key = this.#current?.sessionKey;
    if (this.canvasPath !== null || key === undefined) {
      this.canvasPath = null;
      return;
    }
    await this.#try(async () => {
      this.canvasPath = await canvasPathOf(this.console, key);
    });
  }

  #name(): void {
    this.isNaming = true;
    void this.updateComplete.then(() => this.querySelector<HTMLElement>("input.chat-name")?.focus());
  }

  async #named(name: string): Promise<void> {
    this.isNaming = false;
    if (name !== (this.#current?.name ?? "")) await this.#set({ name });
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

  async #set(patch: { readonly name?: string; readonly pinned?: boolean }): Promise<void> {
    await this.#try(() => this.console.call("chat.thread", { ...this.#place, ...patch }));
    await this.#reads.threads.again();
  }

  async #remove(): Promise<void> {
    await this.#try(() => this.console.call("chat.thread", { ...this.#place, listed: false }));
    this.console.go(addressOf("chat"));
    await this.#reads.threads.again();
  }

  #export(): void {
    const current = this.#current;
    exportMarkdown(current === undefined ? words.title : titleOf(current), this.console.chat.messages);
  }

  async #try(act: () => Promise<unknown>): Promise<void> {
    this.trouble = null;
    try {
      await act();
    } catch (error) {
      this.trouble = words.failed(wordsOf(error));
    }
  }
}

/** The same each time, so that nothing is drawn again for it. */
const noCalls: readonly ToolCall[] = [];
const noModels: readonly string[] = [];
