// A person's conversations with the agent: the list of them, the one that is open, and where one writes. Each
// has an address, `#/chat/<thread>`; the first one is `#/chat`.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import type { Command } from "../parts/console.ts";
import { Page } from "../parts/page.ts";
import { wordsOf } from "../parts/reading.ts";
import { duration, timeOf } from "../parts/time.ts";
import { keepRead, readThrough } from "../session/storage.ts";
import { shownMessages } from "../session/state.ts";
import { addressOf } from "../shell/address.ts";
import { icon } from "../shell/icons.ts";
import { t } from "../texts/texts.ts";
import { Composer, type Rewrite, type Written } from "../view/composer.ts";
import { exportMarkdown } from "../view/export.ts";
import { Messages } from "../view/messages.ts";

customElements.define("parley-composer", Composer);
customElements.define("parley-messages", Messages);

type Thread = MethodResult<"chat.threads">["threads"][number];
type Steps = MethodResult<"chat.steps">;

const words = t.chat;
const threadAlphabet = "abcdefghijkmnpqrstuvwxyz23456789";
/** Events say when something changed; this finds what they missed. */
const lookAgainMs = 5_000;

export class Chat extends Page {
  static override properties = {
    ...Page.properties,
    rewrite: { state: true },
    filter: { state: true },
    isListOpen: { state: true },
    isNaming: { state: true },
    trouble: { state: true },
  };
  declare rewrite: Rewrite | null;
  declare filter: string;
  /** On a phone the list covers the conversation. */
  declare isListOpen: boolean;
  declare isNaming: boolean;
  declare trouble: string | null;
  readonly #threads = this.reading(async () => {
    const { threads } = await this.console.call("chat.threads", {});
    // A gateway of another version, kept open over an update, may answer less; the conversation stays usable.
    return { threads: threads ?? [] };
  }, lookAgainMs);
  readonly #steps = this.reading(() => this.#readSteps(), lookAgainMs);
  #quits: (() => void)[] = [];

  constructor() {
    super();
    this.rewrite = null;
    this.filter = "";
    this.isListOpen = false;
    this.isNaming = false;
    this.trouble = null;
  }

  get #thread(): string | null {
    return this.address.rest[0] ?? null;
  }

  get #place(): { readonly thread?: string } {
    return this.#thread === null ? {} : { thread: this.#thread };
  }

  async #readSteps(): Promise<{
    readonly thread: string | null;
    readonly steps: Pick<Steps, "calls" | "waiting">;
    readonly children: MethodResult<"sessions.tree">["sessions"];
  }> {
    const thread = this.#thread;
    const { call } = this.console;
    const steps: Partial<Steps> = await call("chat.steps", this.#place);
    const key = this.#threads.value?.threads.find((each) => each.thread === thread)?.sessionKey;
    // A session that nobody has written to yet is none.
    const tree = key === undefined ? null : await call("sessions.tree", { key }).catch(() => null);
    const { calls = [], waiting = [] } = steps;
    return {
      thread,
      steps: { calls, waiting },
      children: tree?.sessions?.filter(({ depth }) => depth > 0) ?? [],
    };
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const again = (): void => void this.#steps.again();
    this.#quits = [
      this.console.onChange(() => this.requestUpdate()),
      this.console.on("chat.tool", again),
      this.console.on("chat.typing", again),
      this.console.on("chat.message", () => {
        again();
        void this.#threads.again();
      }),
    ];
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const quit of this.#quits) quit();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("address")) return;
    this.rewrite = null;
    this.trouble = null;
    this.isListOpen = false;
    if (this.console.chat.thread !== this.#thread) this.console.session.open(this.#thread);
    if (changed.get("address") !== undefined) void this.#steps.again();
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
    const read = this.#steps.value;
    const steps = read?.thread === this.#thread ? read.steps : null;
    const isAlone = this.#thread === null && (this.#threads.value?.threads.length ?? 1) < 2;
    return html`<div class="chat-page ${isAlone ? "alone" : ""} ${this.isListOpen ? "list-open" : ""}">
      ${isAlone ? nothing : this.#list()}
      <section class="chat" aria-label=${words.conversation}>
        ${this.#head(read?.thread === this.#thread ? read.children : [], isAlone)}
        <parley-messages
          .chat=${chat}
          .calls=${steps?.calls ?? []}
          .queued=${new Set(steps?.waiting)}
          @discard=${({ detail }: CustomEvent<string>) => session.discard(detail)}
          @press=${({ detail }: CustomEvent<string>) => session.send(detail)}
          @rewrite=${({ detail }: CustomEvent<Rewrite>) => (this.rewrite = detail)}
          @cancel=${({ detail }: CustomEvent<string>) => void this.#try(() => this.#cancel(detail))}
          @earlier=${() => session.earlier()}
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
    </div>`;
  }

  get #current(): Thread | undefined {
    return this.#threads.value?.threads.find(({ thread }) => thread === this.#thread);
  }

  #list(): TemplateResult {
    const wanted = this.filter.trim().toLowerCase();
    const threads = (this.#threads.value?.threads ?? [])
      .filter((each) => `${titleOf(each)} ${each.text}`.toLowerCase().includes(wanted))
      .toSorted((a, b) => Number(b.pinned) - Number(a.pinned) || (b.atMs ?? 0) - (a.atMs ?? 0));
    return html`<nav class="threads" aria-label=${words.conversations}>
      <div class="threads-head">
        <input
          type="search"
          aria-label=${words.search}
          placeholder=${words.search}
          .value=${this.filter}
          @input=${({ target }: Event) => (this.filter = (target as HTMLInputElement).value)}
        />
      </div>
      <div class="threads-list">${threads.map((thread) => this.#row(thread))}</div>
      ${threads.length === 0 && wanted !== "" ? html`<p class="quiet-text small">${words.none}</p>` : nothing}
    </nav>`;
  }

  #row(row: Thread): TemplateResult {
    const { thread, text, seq, atMs, working, pinned } = row;
    const isHere = thread === this.#thread;
    const isUnread = !isHere && seq > readThrough(this.console.storage, thread);
    return html`<a
      class="row-link"
      href=${addressOf("chat", thread === null ? [] : [thread])}
      aria-current=${isHere ? "page" : nothing}
    >
      <span class="thread-name"><bdi>${titleOf(row)}</bdi></span>
      ${atMs === null ? nothing : html`<span class="thread-time">${timeOf(atMs, this.console.clock.now())}</span>`}
      <span class="thread-text"><bdi>${text}</bdi></span>
      ${pinned ? html`<span class="thread-mark" title=${words.pin}>${icon("pin")}</span>` : nothing}
      ${working ? html`<span class="badge ok">${words.working}</span>` : nothing}
      ${isUnread ? html`<span class="unread" title=${words.unread}><span class="sr-only">${words.unread}</span></span>` : nothing}
    </a>`;
  }

  #head(children: MethodResult<"sessions.tree">["sessions"], isAlone: boolean): TemplateResult {
    const current = this.#current;
    const named = current === undefined ? words.unnamed : titleOf(current);
    return html`<header class="chat-head">
      ${
        isAlone
          ? nothing
          : html`<button
              class="plain icon-only only-phone"
              aria-label=${words.conversations}
              aria-expanded=${this.isListOpen ? "true" : "false"}
              @click=${() => (this.isListOpen = !this.isListOpen)}
            >
              ${icon("list")}
            </button>`
      }
      ${
        this.isNaming
          ? html`<input
              class="chat-name"
              aria-label=${words.name}
              dir="auto"
              maxlength="200"
              .value=${current?.name ?? ""}
              placeholder=${named}
              @keydown=${({ key, target }: KeyboardEvent) => {
                if (key === "Enter") (target as HTMLElement).blur();
              }}
              @blur=${({ target }: Event) => void this.#named((target as HTMLInputElement).value.trim())}
            />`
          : html`<h1 class="chat-name"><bdi>${named}</bdi></h1>`
      }
      ${
        children.length === 0
          ? nothing
          : html`<details class="children">
              <summary>${words.children(children.length)}</summary>
              <ul class="plain-list card">
                ${children.map(
                  ({ label, key, state, startedAtMs, endedAtMs }) =>
                    html`<li>
                      <span
                        class="badge ${state === "running" ? "warn" : state === "failed" ? "danger" : "ok"}"
                        >${state}</span
                      >
                      <span class="ellipsis"><bdi>${label ?? key}</bdi></span>
                      <span class="quiet-text end number"
                        >${duration((endedAtMs ?? this.console.clock.now()) - startedAtMs)}</span
                      >
                    </li>`,
                )}
              </ul>
            </details>`
      }
      ${
        this.console.may("write")
          ? html`<button
                class="plain icon-only"
                aria-label=${words.name}
                title=${words.name}
                @click=${() => this.#name()}
              >
                ${icon("pen")}
              </button>
              <button
                class="plain icon-only"
                aria-label=${words.start}
                title=${words.start}
                @click=${() => this.#start()}
              >
                ${icon("plus")}
              </button>`
          : nothing
      }
    </header>`;
  }

  #name(): void {
    this.isNaming = true;
    void this.updateComplete.then(() => this.querySelector<HTMLElement>("input.chat-name")?.focus());
  }

  async #named(name: string): Promise<void> {
    this.isNaming = false;
    if (name !== (this.#current?.name ?? "")) await this.#set({ name });
  }

  #start(): void {
    this.console.go(addressOf("chat", [this.console.ids.code(threadAlphabet, 10)]));
    void this.updateComplete.then(() => this.querySelector<Composer>("parley-composer")?.focus());
  }

  #send({ detail }: CustomEvent<Written>): void {
    const { text, files, rewrite } = detail;
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

  #rewriteLast(): void {
    const last = shownMessages(this.console.chat.messages).findLast(({ role }) => role === "user");
    if (last === undefined) return;
    const isQueued = this.#steps.value?.steps.waiting.includes(last.id ?? "") === true;
    this.rewrite = { id: isQueued ? (last.id ?? null) : null, text: last.text };
  }

  async #cancel(id: string): Promise<void> {
    await this.console.call("chat.cancel", { ...this.#place, id });
    await this.#steps.again();
  }

  async #set(patch: { readonly name?: string; readonly pinned?: boolean }): Promise<void> {
    await this.#try(() => this.console.call("chat.thread", { ...this.#place, ...patch }));
    await this.#threads.again();
  }

  async #remove(): Promise<void> {
    await this.#try(() => this.console.call("chat.thread", { ...this.#place, listed: false }));
    this.console.go(addressOf("chat"));
    await this.#threads.again();
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

function titleOf({ name, title, thread }: Thread): string {
  return name ?? title ?? (thread === null ? words.first : words.unnamed);
}
