// The conversation. What people wrote is shown as text; what the agent wrote comes as HTML that the gateway
// sanitised. New answers are read out by screen readers once they are final; the growing draft is not.
import type { ChatMessage } from "@parley/protocol";
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import { unsafeHTML } from "lit/directives/unsafe-html.js";
import { pressed, shownMessages, type ChatState, type Outgoing } from "../session/state.ts";
import { addressOf } from "../shell/address.ts";
import { t } from "../texts/texts.ts";
import { controlStyles } from "./control-styles.ts";
import { messageStyles } from "./messages-styles.ts";
import { dressRichText, pressInRichText } from "./rich-text.ts";
import { richTextStyles } from "./rich-text-styles.ts";
import { toolCards, toolStyles, type ToolCall } from "./tool-card.ts";

/** Closer to the end than this, in pixels, the view follows what is new. */
const followWithinPx = 80;
const speakers: { readonly [role in ChatMessage["role"]]: string } = {
  user: "You",
  assistant: "Parley",
  notice: "Notice",
};

export class Messages extends LitElement {
  static override styles = [controlStyles, messageStyles, richTextStyles, toolStyles];
  static override properties = { chat: {}, calls: {}, queued: {}, following: { state: true } };
  declare chat: ChatState;
  /** Calls of tools, the oldest first. */
  declare calls: readonly ToolCall[];
  /** Ids of messages that nobody has begun to answer. */
  declare queued: ReadonlySet<string>;
  /** Whether the view stays at the end. */
  declare following: boolean;
  #heightBefore = 0;

  constructor() {
    super();
    this.following = true;
    this.calls = [];
    this.queued = new Set();
  }

  override render(): TemplateResult {
    const { outgoing, draft, working, connection, hasEarlier, thread } = this.chat;
    const messages = shownMessages(this.chat.messages);
    const waiting = outgoing.filter((each) => each.echoed === undefined && each.thread === thread);
    const [before, last] = placed(this.calls, messages);
    const empty =
      messages.length === 0 && waiting.length === 0 && draft === null && connection.kind === "online";
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
        ${hasEarlier ? html`<button class="quiet earlier" @click=${this.#earlier}>Show earlier messages</button>` : nothing}
        <div role="log" aria-live="polite" aria-relevant="additions">
          ${repeat(
            messages,
            ({ seq }) => seq,
            // With a thousand messages on the page, a growing draft must not draw them all again.
            (message, index) =>
              guard(
                [
                  message,
                  this.#said(message),
                  messages[index - 1],
                  before.get(message.seq),
                  this.#isQueued(message),
                ],
                () => this.#message(message, messages[index - 1], before.get(message.seq) ?? []),
              ),
          )}
        </div>
        ${last.length === 0 ? nothing : toolCards(last)}
        ${draft === null ? nothing : html`<article class="assistant draft" aria-hidden="true">${contentOf(draft)}</article>`}
        ${repeat(
          waiting,
          ({ key }) => key,
          (each) => this.#outgoing(each),
        )}
        ${working && draft === null ? html`<p class="working"><span class="sr-only">Parley is working</span><i></i><i></i><i></i></p>` : nothing}
      </div>
      ${
        this.following
          ? nothing
          : html`<button class="quiet newest" aria-label="To the newest message" @click=${this.#toNewest}>
              <span aria-hidden="true">↓</span>
            </button>`
      }
    `;
  }

  #isQueued({ role, id }: ChatMessage): boolean {
    return role === "user" && id !== undefined && this.queued.has(id);
  }

  #message(
    message: ChatMessage,
    before: ChatMessage | undefined,
    calls: readonly ToolCall[],
  ): TemplateResult {
    const { role, text, atMs, buttons = [] } = message;
    const at = new Date(atMs);
    const isNewDay = before === undefined || new Date(before.atMs).toDateString() !== at.toDateString();
    const day = isNewDay
      ? html`<p class="day">
          ${at.toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" })}
        </p>`
      : nothing;
    return html`${day}${calls.length === 0 ? nothing : toolCards(calls)}
      <article class=${role}>
        <span class="sr-only">${speakers[role]}:</span>
        ${role === "user" ? html`<div class="text">${text}</div>` : contentOf(message)}
        ${message.files === undefined ? nothing : filesOf(message.files)}
        ${buttons.length === 0 ? nothing : this.#buttons(buttons, this.#said(message))}
        ${this.#foot(message, at)}
      </article>`;
  }

  #foot(message: ChatMessage, at: Date): TemplateResult {
    const { role, id, text } = message;
    const isQueued = this.#isQueued(message);
    const tell = (name: string, detail: unknown) => (): boolean =>
      this.dispatchEvent(new CustomEvent(name, { detail }));
    return html`<footer>
      ${
        isQueued
          ? html`<span class="queued">${t.chat.queued}</span>
              <button class="foot" @click=${tell("rewrite", { id, text })}>${t.chat.edit}</button>
              <button class="foot" @click=${tell("cancel", id)}>${t.chat.cancel}</button>`
          : nothing
      }
      <time datetime=${at.toISOString()} title=${at.toLocaleString()}
        >${at.toLocaleTimeString(undefined, { timeStyle: "short" })}</time
      >
      <details class="menu" @focusout=${leaveMenu}>
        <summary aria-label=${t.chat.more}>⋯</summary>
        <div>
          <button class="copy-text" data-text=${text}>${t.chat.copy}</button>
          ${role === "user" ? html`<button @click=${tell("rewrite", { id: null, text })}>${t.chat.editAnew}</button>` : nothing}
          ${id === undefined ? nothing : html`<a href=${addressOf("why", [whyId(message)])}>${t.chat.why}</a>`}
        </div>
      </details>
    </footer>`;
  }

  #said(message: ChatMessage): string | null {
    return (message.buttons ?? []).length === 0 ? null : pressed(this.chat, message);
  }

  #buttons(rows: NonNullable<ChatMessage["buttons"]>, said: string | null): TemplateResult {
    const press = (value: string): boolean => this.dispatchEvent(new CustomEvent("press", { detail: value }));
    return html`${rows.map(
      (row) =>
        html`<div class="buttons" role="group" aria-label="Answers">
          ${row.map(({ label, value, url, style = "plain" }) =>
            url === undefined
              ? html`<button
                  class=${style}
                  ?disabled=${said !== null}
                  aria-pressed=${said === value ? "true" : "false"}
                  @click=${() => press(value ?? "")}
                >
                  ${label}
                </button>`
              : html`<a class="button" href=${url} target="_blank" rel="noopener noreferrer">${label}</a>`,
          )}
        </div>`,
    )}`;
  }

  #outgoing({ key, text, files, refused }: Outgoing): TemplateResult {
    const discard = (): boolean => this.dispatchEvent(new CustomEvent("discard", { detail: key }));
    return html`<article class="user waiting">
      <div class="text">${text}</div>
      ${files === undefined ? nothing : filesOf(files)}
      ${
        refused === undefined
          ? html`<p class="note">
              ${this.chat.connection.kind === "online" ? t.chat.sending : t.chat.waitsHere}
              <button class="quiet" @click=${discard}>${t.chat.cancel}</button>
            </p>`
          : html`<p class="note alarm" role="alert">
              Not sent: ${refused} <button class="quiet" @click=${discard}>Remove</button>
            </p>`
      }
    </article>`;
  }

  #earlier(): void {
    this.dispatchEvent(new CustomEvent("earlier"));
  }

  #scrolled({ target }: Event): void {
    const { scrollHeight, scrollTop, clientHeight } = target as HTMLElement;
    this.following = scrollHeight - scrollTop - clientHeight < followWithinPx;
  }

  #toNewest(): void {
    this.following = true;
    this.#follow();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get("chat");
    if (before !== undefined && before.thread !== this.chat.thread) this.following = true;
    // One's own message is always worth seeing.
    if (before !== undefined && this.chat.outgoing.length > before.outgoing.length) this.following = true;
    this.#heightBefore = this.#scroll?.scrollHeight ?? 0;
  }

  override updated(changed: PropertyValues<this>): void {
    const scroll = this.#scroll;
    if (scroll === null) return;
    dressRichText(scroll);
    const [before, now] = [changed.get("chat")?.messages[0], this.chat.messages[0]];
    // What comes in above must not push away what is being read.
    if (!this.following && before !== undefined && now !== undefined && now.seq < before.seq)
      scroll.scrollTop += scroll.scrollHeight - this.#heightBefore;
    this.#follow();
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

function leaveMenu({ currentTarget, relatedTarget }: FocusEvent): void {
  const menu = currentTarget as HTMLDetailsElement;
  if (!(relatedTarget instanceof Node && menu.contains(relatedTarget))) menu.open = false;
}

/** An answer's id names its delivery and the part of it. */
function whyId({ role, id = "" }: ChatMessage): string {
  return role === "user" ? id : id.replace(/\/\d+$/, "");
}

/** Each turn's calls before the first message that came after them; those of now at the end. */
function placed(
  calls: readonly ToolCall[],
  messages: readonly ChatMessage[],
): readonly [ReadonlyMap<number, readonly ToolCall[]>, readonly ToolCall[]] {
  const before = new Map<number, ToolCall[]>();
  const last: ToolCall[] = [];
  const first = messages[0]?.atMs ?? 0;
  for (const call of calls) {
    if (call.startedAtMs < first) continue;
    const next = messages.find(({ atMs, role }) => role !== "user" && atMs >= call.startedAtMs);
    if (next === undefined) last.push(call);
    else before.set(next.seq, [...(before.get(next.seq) ?? []), call]);
  }
  return [before, last];
}

function filesOf(files: readonly { readonly name: string }[]): TemplateResult {
  return html`<ul class="sent-files" aria-label=${t.chat.files}>
    ${files.map(({ name }) => html`<li><bdi>${name}</bdi></li>`)}
  </ul>`;
}

function contentOf({
  text,
  html: markup,
}: {
  readonly text: string;
  readonly html?: string;
}): TemplateResult {
  return markup === undefined || markup === ""
    ? html`<div class="text">${text}</div>`
    : html`<div class="rich">${unsafeHTML(markup)}</div>`;
}
