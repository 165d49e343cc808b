// The conversation, of which only the blocks near the reader are drawn. It stays at its end while one reads
// there, and where one reads else. New answers are read out by screen readers once they are final; the
// growing draft is not.
import type { ChatMessage } from "@parley/protocol";
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import { pressed, shownMessages, type ChatState } from "../session/state.ts";
import { t } from "../texts/texts.ts";
import { blocksOf, type Block } from "./blocks.ts";
import { controlStyles } from "./control-styles.ts";
import { contentOf, messageView, outgoingView } from "./message.ts";
import { messageStyles } from "./messages-styles.ts";
import { dressRichText, pressInRichText } from "./rich-text.ts";
import { richTextStyles } from "./rich-text-styles.ts";
import { toolCards, toolStyles, type ToolCall } from "./tool-card.ts";

/** Closer to the end than this, in pixels, the view follows what is new. */
const followWithinPx = 80;
/** Closer to the beginning than this, more is read. */
const earlierWithinPx = 800;
/** Blocks this far from what is seen are drawn. */
const drawnWithinPx = 1_500;
/** A message that was not drawn yet. */
const guessedPx = 90;
const noCalls: readonly ToolCall[] = [];

export class Messages extends LitElement {
  static override styles = [controlStyles, messageStyles, richTextStyles, toolStyles];
  static override properties = {
    chat: {},
    calls: {},
    queued: {},
    models: {},
    mayWrite: {},
    following: { state: true },
    near: { state: true },
    menuOf: { state: true },
  };
  declare chat: ChatState;
  /** Calls of tools, the oldest first. */
  declare calls: readonly ToolCall[];
  /** Ids of messages that nobody has begun to answer. */
  declare queued: ReadonlySet<string>;
  /** Names of models that an answer can be asked of again. */
  declare models: readonly string[];
  declare mayWrite: boolean;
  /** Whether the view stays at the end. */
  declare following: boolean;
  /** Keys of the blocks that are drawn, beside the last two. */
  declare near: ReadonlySet<number>;
  /** The seq of the message whose menu is open. */
  declare menuOf: number | null;
  #blocks: readonly Block[] = [];
  /** Calls before the message with this seq, and those of now. */
  #before: ReadonlyMap<number, readonly ToolCall[]> = new Map();
  #last: readonly ToolCall[] = noCalls;
  readonly #heights = new Map<number, number>();
  #watch: IntersectionObserver | null = null;
  readonly #watched = new Set<Element>();
  #anchor: { readonly element: Element; readonly top: number } | null = null;

  constructor() {
    super();
    this.following = true;
    this.calls = [];
    this.queued = new Set();
    this.models = [];
    this.mayWrite = false;
    this.near = new Set();
    this.menuOf = null;
  }

  override render(): TemplateResult {
    const { outgoing, draft, working, connection, hasEarlier, thread } = this.chat;
    const waiting = outgoing.filter((each) => each.echoed === undefined && each.thread === thread);
    const isOnline = connection.kind === "online";
    const empty = this.#blocks.length === 0 && waiting.length === 0 && draft === null && isOnline;
    return html`
      <div
        class="scroll"
        tabindex="0"
        role="region"
        aria-label=${t.chat.conversation}
        @scroll=${this.#scrolled}
        @click=${pressInRichText}
        @keydown=${pressInRichText}
      >
        ${empty ? html`<p class="empty">${t.chat.sayHello}</p>` : nothing}
        ${hasEarlier ? html`<button class="quiet earlier" @click=${this.#earlier}>${t.chat.earlier}</button>` : nothing}
        <div role="log" aria-live="polite" aria-relevant="additions">
          ${repeat(
            this.#blocks,
            ({ key }) => key,
            (block, at) => this.#block(block, at >= this.#blocks.length - 2 || this.near.has(block.key)),
          )}
        </div>
        ${this.#last.length === 0 ? nothing : toolCards(this.#last)}
        ${draft === null ? nothing : html`<article class="assistant draft" aria-hidden="true">${contentOf(draft)}</article>`}
        ${repeat(
          waiting,
          ({ key }) => key,
          (each) =>
            outgoingView(each, isOnline, () =>
              this.dispatchEvent(new CustomEvent("discard", { detail: each.key })),
            ),
        )}
        ${working && draft === null ? html`<p class="working"><span class="sr-only">${t.chat.isWorking}</span><i></i><i></i><i></i></p>` : nothing}
      </div>
      ${
        this.following
          ? nothing
          : html`<button class="quiet newest" aria-label=${t.chat.newest} @click=${this.#toNewest}>
              <span aria-hidden="true">↓</span>
            </button>`
      }
    `;
  }

  #block({ key, messages, after }: Block, isDrawn: boolean): TemplateResult {
    const height = this.#heights.get(key) ?? messages.length * guessedPx;
    return html`<div class="block" data-key=${key} data-height=${isDrawn ? nothing : height}>
      ${isDrawn ? this.#drawn(messages, after) : nothing}
    </div>`;
  }

  #drawn(messages: readonly ChatMessage[], after: ChatMessage | undefined): unknown {
    return repeat(
      messages,
      ({ seq }) => seq,
      (message, index) => {
        const before = messages[index - 1] ?? after;
        const calls = this.#before.get(message.seq) ?? noCalls;
        const isQueued = message.role === "user" && this.queued.has(message.id ?? "");
        const said = (message.buttons ?? []).length === 0 ? null : pressed(this.chat, message);
        const { models, mayWrite } = this;
        const isOpen = this.menuOf === message.seq;
        const onToggle = (opened: boolean): void => {
          if (opened) this.menuOf = message.seq;
          else if (this.menuOf === message.seq) this.menuOf = null;
        };
        const place = { before, calls, isQueued, said, mayWrite, models, isOpen, onToggle, tell: this.#tell };
        // A growing draft must not draw all the others again.
        return guard([message, said, before, calls, isQueued, models, mayWrite, isOpen], () =>
          messageView(message, place),
        );
      },
    );
  }

  readonly #tell = (name: string, detail: unknown): void => {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  };

  #earlier(): void {
    this.dispatchEvent(new CustomEvent("earlier"));
  }

  #scrolled({ target }: Event): void {
    const { scrollHeight, scrollTop, clientHeight } = target as HTMLElement;
    this.following = scrollHeight - scrollTop - clientHeight < followWithinPx;
    if (scrollTop < earlierWithinPx && !this.following && this.chat.hasEarlier) this.#earlier();
  }

  #toNewest(): void {
    this.following = true;
    this.#follow();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get("chat");
    const isOther = before !== undefined && before.thread !== this.chat.thread;
    if (isOther) this.following = true;
    // One's own message is always worth seeing.
    if (before !== undefined && this.chat.outgoing.length > before.outgoing.length) this.following = true;
    if (changed.has("calls") || before?.messages !== this.chat.messages) {
      const messages = shownMessages(this.chat.messages);
      this.#blocks = blocksOf(messages, isOther ? [] : this.#blocks);
      [this.#before, this.#last] = placed(this.calls, messages);
    }
    this.#anchor = this.following ? null : this.#seenFirst();
  }

  override updated(): void {
    const scroll = this.#scroll;
    if (scroll === null) return;
    dressRichText(scroll);
    this.#watchBlocks(scroll);
    // What comes in above must not push away what is being read.
    const { element, top } = this.#anchor ?? {};
    if (element?.isConnected === true && top !== undefined) {
      const by = element.getBoundingClientRect().top - top;
      if (by !== 0) scroll.scrollTop += by;
    }
    this.#follow();
  }

  /** The first message that is seen, and where. */
  #seenFirst(): { readonly element: Element; readonly top: number } | null {
    const scroll = this.#scroll;
    if (scroll === null) return null;
    const { top: edge } = scroll.getBoundingClientRect();
    for (const block of scroll.querySelectorAll(".block")) {
      if (block.getBoundingClientRect().bottom <= edge) continue;
      for (const element of [...block.querySelectorAll("article"), block]) {
        const { top, bottom } = element.getBoundingClientRect();
        if (bottom > edge) return { element, top };
      }
    }
    return null;
  }

  #watchBlocks(scroll: HTMLElement): void {
    this.#watch ??= new IntersectionObserver((seen) => this.#moved(seen), {
      root: scroll,
      rootMargin: `${drawnWithinPx}px 0px`,
    });
    for (const block of scroll.querySelectorAll<HTMLElement>(".block")) {
      // Set by script, because the page's policy forbids styles in markup.
      const height = block.dataset["height"];
      block.style.height = height === undefined ? "" : `${height}px`;
      if (this.#watched.has(block)) continue;
      this.#watched.add(block);
      this.#watch.observe(block);
    }
    for (const block of this.#watched) {
      if (block.isConnected) continue;
      this.#watched.delete(block);
      this.#watch.unobserve(block);
    }
  }

  #moved(seen: readonly IntersectionObserverEntry[]): void {
    const near = new Set(this.near);
    for (const { target, isIntersecting, boundingClientRect } of seen) {
      const key = Number((target as HTMLElement).dataset["key"]);
      if (isIntersecting) near.add(key);
      else if (near.delete(key)) this.#heights.set(key, boundingClientRect.height);
    }
    const isOther = near.size !== this.near.size || [...near].some((key) => !this.near.has(key));
    if (isOther) this.near = near;
  }

  override firstUpdated(): void {
    // A phone's keyboard takes half of the height.
    new ResizeObserver(() => this.#follow()).observe(this);
  }

  get #scroll(): HTMLElement | null {
    return this.renderRoot.querySelector(".scroll");
  }

  #follow(): void {
    const scroll = this.#scroll;
    if (this.following) scroll?.scrollTo({ top: scroll.scrollHeight });
  }
}

/** Each turn's calls before the first message that came after them; those of now at the end. */
function placed(
  calls: readonly ToolCall[],
  messages: readonly ChatMessage[],
): readonly [ReadonlyMap<number, readonly ToolCall[]>, readonly ToolCall[]] {
  const before = new Map<number, ToolCall[]>();
  const last: ToolCall[] = [];
  const first = messages[0]?.atMs ?? 0;
  let at = 0;
  for (const call of calls.toSorted((a, b) => a.startedAtMs - b.startedAtMs)) {
    if (call.startedAtMs < first) continue;
    while (at < messages.length && !comesAfter(messages[at], call)) at += 1;
    const next = messages[at];
    if (next === undefined) last.push(call);
    else before.set(next.seq, [...(before.get(next.seq) ?? []), call]);
  }
  return [before, last];
}

function comesAfter(message: ChatMessage | undefined, { startedAtMs }: ToolCall): boolean {
  return message !== undefined && message.role !== "user" && message.atMs >= startedAtMs;
}
