// The conversation, of which only the blocks near the reader are drawn. It stays at its end while one reads
// there, and where one reads else. New answers are read out by screen readers once they are final; the
// growing draft is not.
import type { ChatMessage } from "@parley/protocol";
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import { pressed, shownMessages, type ChatState } from "../../session/state.ts";
import { t } from "../../texts/texts.ts";
import { blocksOf, type Block } from "./blocks.ts";
import { controlStyles } from "../control-styles.ts";
import { contentOf, messageView, outgoingView } from "./message.ts";
import { messageStyles } from "./messages-styles.ts";
import { nearBlocks, piecesOf, seenFirst } from "./near-blocks.ts";
import { placedCalls } from "./placed-calls.ts";
import { dressMath } from "../rich-text/math.ts";
import { dressRichText, pressInRichText } from "../rich-text/rich-text.ts";
import { richTextStyles } from "../rich-text/rich-text-styles.ts";
import { foldedOutOfSight, toolCards, toolStyles, type ToolCall } from "./tool-card.ts";

/** Closer to the end than this, in pixels, the view follows what is new. */
const followWithinPx = 80;
/** Closer to the beginning than this, more is read. */
const earlierWithinPx = 800;

export class Messages extends LitElement {
  static override styles = [controlStyles, messageStyles, richTextStyles, toolStyles];
  static override properties = {
    chat: {},
    calls: {},
    wholeCalls: {},
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
  /** Those of them of which all is known. */
  declare wholeCalls: ReadonlyMap<string, ToolCall>;
  /** Ids of messages that nobody has begun to answer. */
  declare queued: ReadonlySet<string>;
  /** Names of models that an answer can be asked of again. */
  declare models: readonly string[];
  declare mayWrite: boolean;
  /** Whether the view stays at the end. */
  declare following: boolean;
  /** Keys of the blocks that are drawn. */
  declare near: ReadonlySet<number>;
  /** The seq of the message whose menu is open. */
  declare menuOf: number | null;
  #blocks: readonly Block[] = [];
  readonly #placed = placedCalls();
  #foldFrame = 0;
  readonly #heights = new Map<number, number>();
  #topPx = 0;
  /** The newest message when the reader left the end. */
  #leftAtSeq = 0;
  #anchor: ReturnType<typeof seenFirst> = null;

  constructor() {
    super();
    this.following = true;
    this.calls = [];
    this.wholeCalls = new Map();
    this.queued = new Set();
    this.models = [];
    this.mayWrite = false;
    this.near = new Set();
    this.menuOf = null;
  }

  override render(): TemplateResult {
    const { outgoing, draft, working, connection, hasEarlier, thread } = this.chat;
    const last = this.#placed.last();
    const waiting = outgoing.filter((each) => each.echoed === undefined && each.thread === thread);
    const isOnline = connection.kind === "online";
    const empty = this.#blocks.length === 0 && waiting.length === 0 && draft === null && isOnline;
    return html`
      <div
        class="scroll"
        tabindex="0"
        role="region"
        aria-label=${t.chat.messages}
        @scroll=${this.#scrolled}
        @click=${pressInRichText}
        @keydown=${pressInRichText}
      >
        ${empty ? html`<p class="empty">${t.chat.sayHello}</p>` : nothing}
        ${hasEarlier ? html`<button class="quiet earlier" @click=${this.#earlier}>${t.chat.earlier}</button>` : nothing}
        <div role="log" aria-live=${this.following ? "polite" : "off"} aria-relevant="additions">
          ${repeat(
            piecesOf(this.#blocks, this.near, this.#heights),
            ({ key }) => key,
            (piece) =>
              "gapPx" in piece
                ? html`<div class="gap" data-height=${piece.gapPx}></div>`
                : html`<div class="block" data-key=${piece.key}>${this.#drawn(piece)}</div>`,
          )}
        </div>
        ${last.length === 0 ? nothing : toolCards(last, this.wholeCalls, this.#lookAt, this.#placed.foldedOf(last))}
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
      ${this.following ? nothing : this.#newest()}
    `;
  }

  #drawn({ messages, after }: Block): unknown {
    return repeat(
      messages,
      ({ seq }) => seq,
      (message, index) => {
        const before = messages[index - 1] ?? after;
        const calls = this.#placed.before(message.seq);
        const isQueued = message.role === "user" && this.queued.has(message.id ?? "");
        const said = (message.buttons ?? []).length === 0 ? null : pressed(this.chat, message);
        const { models, mayWrite, wholeCalls } = this;
        const isOpen = this.menuOf === message.seq;
        const onToggle = (opened: boolean): void => {
          if (opened) this.menuOf = message.seq;
          else if (this.menuOf === message.seq) this.menuOf = null;
        };
        const can = { mayWrite, models, isOpen, onToggle, tell: this.#tell };
        const folded = this.#placed.foldedOf(calls);
        const place = { before, calls, wholeCalls, folded, isQueued, said, ...can };
        // A growing draft must not draw all the others again.
        const whole = calls.length === 0 ? null : wholeCalls;
        return guard([message, said, before, calls, whole, folded, isQueued, models, mayWrite, isOpen], () =>
          messageView(message, place),
        );
      },
    );
  }

  /** What came meanwhile is counted, since nothing moves for it. */
  #newest(): TemplateResult {
    const isNew = ({ seq, role }: ChatMessage): boolean => seq > this.#leftAtSeq && role !== "user";
    const count = this.chat.messages.filter(isNew).length;
    return html`<button class="quiet newest" aria-label=${t.chat.newest} @click=${this.#toNewest}>
        <span aria-hidden="true">↓ ${count === 0 ? nothing : t.chat.newCount(count)}</span>
      </button>
      <span class="sr-only" role="status">${count === 0 ? nothing : t.chat.newCount(count)}</span>`;
  }

  readonly #drawAgain = (): void => this.requestUpdate();

  readonly #tell = (name: string, detail: unknown): void => {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  };

  readonly #lookAt = (call: string, isOpen: boolean): void => this.#tell("look-at", { call, isOpen });

  #earlier(): void {
    this.dispatchEvent(new CustomEvent("earlier"));
  }

  #scrolled({ target }: Event): void {
    const { scrollHeight, scrollTop, clientHeight } = target as HTMLElement;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < followWithinPx;
    if (this.following && !isAtEnd) this.#leftAtSeq = this.chat.messages.at(-1)?.seq ?? 0;
    this.following = isAtEnd;
    this.#topPx = scrollTop;
    this.near = this.#nearTo(scrollTop, clientHeight);
    if (scrollTop < earlierWithinPx && !isAtEnd && this.chat.hasEarlier) this.#earlier();
  }

  #nearTo(topPx: number, heightPx: number): ReadonlySet<number> {
    return nearBlocks(this.#blocks, this.near, this.#heights, { topPx, heightPx });
  }

  #toNewest(): void {
    this.following = true;
    this.#follow();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get("chat");
    const isOther = before !== undefined && before.thread !== this.chat.thread;
    if (isOther) {
      this.following = true;
      this.#placed.unfold();
    }
    // One's own message is always worth seeing.
    if (before !== undefined && this.chat.outgoing.length > before.outgoing.length) this.following = true;
    if (changed.has("calls") || (changed.has("chat") && before?.messages !== this.chat.messages)) {
      const messages = shownMessages(this.chat.messages);
      this.#blocks = blocksOf(messages, isOther ? [] : this.#blocks);
      const keys = new Set(this.#blocks.map(({ key }) => key));
      for (const key of this.#heights.keys()) if (!keys.has(key)) this.#heights.delete(key);
      this.#placed.place(this.calls, messages);
    }
    // Those that go now may have grown since.
    if (changed.has("near") || before?.messages !== this.chat.messages) this.#measure();
    // Nothing is known of a height before the first time.
    const heightPx = this.#scroll?.clientHeight ?? innerHeight;
    if (this.following) this.near = this.#nearTo(Infinity, heightPx);
    this.#anchor = this.following ? null : seenFirst(this.#scroll);
  }

  /**
   * Calls that nobody sees are folded in a frame of their own: what comes in below moves the view by its
   * height, and the line above by another, so that together all of it would jump.
   */
  #foldSoon(): void {
    cancelAnimationFrame(this.#foldFrame);
    const last = this.#placed.last();
    const [first] = last;
    const wanted = foldedOutOfSight(last.length, this.#scroll?.clientHeight ?? innerHeight);
    if (first === undefined || !this.following || wanted <= this.#placed.foldedOf(last)) return;
    this.#foldFrame = requestAnimationFrame(() => {
      this.#foldFrame = requestAnimationFrame(() => {
        if (!this.following) return;
        this.#placed.fold(first, wanted);
        this.requestUpdate();
      });
    });
  }

  override updated(changed: PropertyValues<this>): void {
    const scroll = this.#scroll;
    if (scroll === null) return;
    dressRichText(scroll);
    dressMath(scroll, this.#drawAgain);
    for (const gap of scroll.querySelectorAll<HTMLElement>(".gap"))
      // Set by script, because the page's policy forbids styles in markup.
      gap.style.height = `${gap.dataset["height"] ?? 0}px`;
    // What comes in above must not push away what is being read.
    const { element, top } = this.#anchor ?? {};
    if (element?.isConnected === true && top !== undefined) {
      const by = element.getBoundingClientRect().top - top;
      if (by !== 0) scroll.scrollTop += by;
    }
    this.#follow();
    if (changed.has("calls")) this.#foldSoon();
    if (this.following) this.dispatchEvent(new CustomEvent("forget-earlier"));
    this.#measure(({ dataset }) => !this.#heights.has(Number(dataset["key"])));
  }

  #measure(which: (block: HTMLElement) => boolean = () => true): void {
    for (const block of this.renderRoot.querySelectorAll<HTMLElement>(".block"))
      if (which(block)) this.#heights.set(Number(block.dataset["key"]), block.getBoundingClientRect().height);
  }

  override firstUpdated(): void {
    let width = 0;
    new ResizeObserver(() => {
      // Lines break elsewhere, so what is known of heights holds no longer.
      if (this.clientWidth !== width) this.#heights.clear();
      width = this.clientWidth;
      // A phone's keyboard takes half of the height.
      this.#follow();
    }).observe(this);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // What leaves the document forgets how far it was scrolled.
    const scroll = this.hasUpdated ? this.#scroll : null;
    if (scroll !== null) scroll.scrollTop = this.#topPx;
  }

  get #scroll(): HTMLElement | null {
    return this.renderRoot.querySelector(".scroll");
  }

  #follow(): void {
    const scroll = this.#scroll;
    if (this.following) scroll?.scrollTo({ top: scroll.scrollHeight });
  }
}
