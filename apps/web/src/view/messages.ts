// The conversation. What people wrote is shown as text; what the agent wrote comes as HTML that the gateway sanitised. New answers are
// read out by screen readers once they are final; the growing draft is not.
import type { ChatMessage } from "@parley/protocol";
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { unsafeHTML } from "lit/directives/unsafe-html.js";
import { pressed, type ChatState, type Outgoing } from "../session/state.ts";
import { controlStyles } from "./chat-page-styles.ts";
import { messageStyles } from "./messages-styles.ts";

/** Closer to the end than this, in pixels, the view follows what is new. */
const followWithinPx = 80;
const speakers: { readonly [role in ChatMessage["role"]]: string } = { user: "You", assistant: "Parley", notice: "Notice" };

export class Messages extends LitElement {
  static override styles = [controlStyles, messageStyles];
  static override properties = { chat: {} };
  declare chat: ChatState;
  #following = true;

  override render(): TemplateResult {
    const { messages, outgoing, draft, working, connection } = this.chat;
    const waiting = outgoing.filter((each) => each.echoed === undefined);
    const empty = messages.length === 0 && waiting.length === 0 && draft === null && connection.kind === "online";
    return html`
      <div class="scroll" tabindex="0" role="region" aria-label="Conversation" @scroll=${this.#scrolled}>
        ${empty ? html`<p class="empty">Say hello.</p>` : nothing}
        <div role="log" aria-live="polite" aria-relevant="additions">
          ${repeat(
            messages,
            ({ seq }) => seq,
            (message) => this.#message(message),
          )}
        </div>
        ${draft === null ? nothing : html`<article class="assistant draft" aria-hidden="true">${contentOf(draft)}</article>`}
        ${repeat(
          waiting,
          ({ key }) => key,
          (each) => this.#outgoing(each),
        )}
        ${working && draft === null ? html`<p class="working"><span class="sr-only">Parley is working</span><i></i><i></i><i></i></p>` : nothing}
      </div>
    `;
  }

  #message(message: ChatMessage): TemplateResult {
    const { role, text, atMs, buttons = [] } = message;
    const at = new Date(atMs);
    return html`<article class=${role} title=${at.toLocaleString()}>
      <span class="sr-only">${speakers[role]}:</span>
      ${role === "user" ? html`<div class="text">${text}</div>` : contentOf(message)}
      ${buttons.length === 0 ? nothing : this.#buttons(message.seq, buttons)}
    </article>`;
  }

  #buttons(seq: number, rows: NonNullable<ChatMessage["buttons"]>): TemplateResult {
    const said = pressed(this.chat, seq, rows);
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

  #outgoing({ key, text, refused }: Outgoing): TemplateResult {
    const discard = (): boolean => this.dispatchEvent(new CustomEvent("discard", { detail: key }));
    return html`<article class="user waiting">
      <div class="text">${text}</div>
      ${
        refused === undefined
          ? html`<p class="note">Sending…</p>`
          : html`<p class="note alarm" role="alert">Not sent: ${refused} <button class="quiet" @click=${discard}>Remove</button></p>`
      }
    </article>`;
  }

  #scrolled({ target }: Event): void {
    const { scrollHeight, scrollTop, clientHeight } = target as HTMLElement;
    this.#following = scrollHeight - scrollTop - clientHeight < followWithinPx;
  }

  override updated(changed: PropertyValues<this>): void {
    const before = changed.get("chat");
    // One's own message is always worth seeing.
    if (before !== undefined && this.chat.outgoing.length > before.outgoing.length) this.#following = true;
    this.#follow();
  }

  override firstUpdated(): void {
    // A phone's keyboard takes half of the height.
    new ResizeObserver(() => this.#follow()).observe(this);
  }

  #follow(): void {
    const scroll = this.renderRoot.querySelector(".scroll");
    if (this.#following) scroll?.scrollTo({ top: scroll.scrollHeight });
  }
}

function contentOf({ text, html: markup }: { readonly text: string; readonly html?: string }): TemplateResult {
  return markup === undefined || markup === ""
    ? html`<div class="text">${text}</div>`
    : html`<div class="rich">${unsafeHTML(markup)}</div>`;
}
