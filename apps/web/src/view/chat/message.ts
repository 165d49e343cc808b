// Draws one message. What people wrote is shown as text; what the agent wrote comes as HTML that the gateway
// sanitised.
import type { ChatMessage } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { unsafeHTML } from "lit/directives/unsafe-html.js";
import type { Outgoing } from "../../session/state.ts";
import { addressOf } from "../../parts/address.ts";
import { once } from "../../parts/once.ts";
import { t } from "../../texts/texts.ts";
import { toolCards, type ToolCall } from "./tool-card.ts";

/** Where a message stands, and what may be done with it. */
export interface MessagePlace {
  readonly before: ChatMessage | undefined;
  /** Calls of tools that led to it. */
  readonly calls: readonly ToolCall[];
  /** Those of them of which all is known. */
  readonly wholeCalls: ReadonlyMap<string, ToolCall>;
  /** How many of the calls are one line; absent: as many as where they are drawn for the first time. */
  readonly folded?: number;
  /** Nobody has begun to answer it. */
  readonly isQueued: boolean;
  /** What its buttons were answered with; null while they were not. */
  readonly said: string | null;
  /** The token may write. */
  readonly mayWrite: boolean;
  /** Models that an answer can be asked of again. */
  readonly models: readonly string[];
  /** What may be done with it is shown. */
  readonly isOpen: boolean;
  readonly onToggle: (isOpen: boolean) => void;
  /** Tells the page what somebody wants: the name of an event and what it is about. */
  readonly tell: (name: string, detail: unknown) => void;
}

/** An answer that somebody wants anew. */
export interface Retry {
  /** Of the answer. */
  readonly id: string;
  /** Absent: the conversation's own. */
  readonly model?: string;
}

const words = t.chat;
/** Made once, when the first message is drawn: making one takes longer than drawing a message. */
const dayFormat = once(() => new Intl.DateTimeFormat(undefined, { dateStyle: "full" }));
const exactFormat = once(
  () => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" }),
);
const timeFormat = once(() => new Intl.DateTimeFormat(undefined, { timeStyle: "short" }));

export function messageView(message: ChatMessage, place: MessagePlace): TemplateResult {
  const { role, text, atMs, buttons = [] } = message;
  const { before, calls, wholeCalls, folded, said, tell } = place;
  const at = new Date(atMs);
  const isNewDay = before === undefined || new Date(before.atMs).toDateString() !== at.toDateString();
  const day = isNewDay ? html`<p class="day">${dayFormat().format(at)}</p>` : nothing;
  return html`${day}${calls.length === 0 ? nothing : toolCards(calls, wholeCalls, (call, isOpen) => tell("look-at", { call, isOpen }), folded)}
    <article class=${role}>
      <span class="sr-only">${words.speakers[role]}:</span>
      ${role === "user" ? html`<div class="text">${text}</div>` : contentOf(message)}
      ${message.files === undefined ? nothing : filesOf(message.files)}
      ${buttons.length === 0 ? nothing : buttonRows(buttons, said, (value) => tell("press", value))}
      ${foot(message, at, place)}
    </article>`;
}

function foot(message: ChatMessage, at: Date, place: MessagePlace): TemplateResult {
  const { id, text } = message;
  const { isQueued, tell } = place;
  return html`<footer>
    ${
      isQueued
        ? html`<span class="queued">${words.queued}</span>
            <button class="foot" @click=${() => tell("rewrite", { id, text })}>${words.edit}</button>
            <button class="foot" @click=${() => tell("cancel", id)}>${words.cancel}</button>`
        : nothing
    }
    <time datetime=${at.toISOString()} title=${exactFormat().format(at)}>${timeFormat().format(at)}</time>
    <details
      class="menu"
      ?open=${place.isOpen}
      @focusout=${leaveMenu}
      @toggle=${({ target }: Event) => place.onToggle((target as HTMLDetailsElement).open)}
    >
      <summary aria-label=${words.more}>⋯</summary>
      ${
        place.isOpen
          ? html`<div>
              <button class="copy-text" data-text=${text}>${words.copy}</button>
              ${place.mayWrite && !isQueued ? again(message, place) : nothing}
              ${id === undefined ? nothing : html`<a href=${addressOf("why", [whyId(message)])}>${words.why}</a>`}
            </div>`
          : nothing
      }
    </details>
  </footer>`;
}

function again({ role, id, text }: ChatMessage, { models, tell }: MessagePlace): unknown {
  const anew =
    role === "user"
      ? html`<button @click=${() => tell("rewrite", { id: null, text })}>${words.editAnew}</button>`
      : nothing;
  if (id === undefined) return anew;
  return html`${anew}
    ${
      role === "user"
        ? html`<button @click=${() => tell("rewrite", { id: null, text, branch: id })}>
            ${words.editBranch}
          </button>`
        : html`<button @click=${() => tell("retry", { id })}>${words.retry}</button> ${
              models.length < 2
                ? nothing
                : html`<label class="sr-only" for="models-${id}">${words.retryWith}</label>
                    <select
                      id="models-${id}"
                      @change=${({ target }: Event) => {
                        const field = target as HTMLSelectElement;
                        tell("retry", { id, model: field.value });
                        field.value = "";
                      }}
                    >
                      <option value="" selected>${words.retryWith}</option>
                      ${models.map((model) => html`<option value=${model}>${model}</option>`)}
                    </select>`
            }`
    } <button @click=${() => tell("branch", id)}>${words.branch}</button>`;
}

function buttonRows(
  rows: NonNullable<ChatMessage["buttons"]>,
  said: string | null,
  press: (value: string) => void,
): TemplateResult {
  return html`${rows.map(
    (row) =>
      html`<div class="buttons" role="group" aria-label=${words.answers}>
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

export function outgoingView(
  { text, files, refused }: Outgoing,
  isOnline: boolean,
  discard: () => void,
): TemplateResult {
  return html`<article class="user waiting">
    <div class="text">${text}</div>
    ${files === undefined ? nothing : filesOf(files)}
    ${
      refused === undefined
        ? html`<p class="note">
            ${isOnline ? words.sending : words.waitsHere}
            <button class="quiet" @click=${discard}>${words.cancel}</button>
          </p>`
        : html`<p class="note alarm" role="alert">
            ${words.notSent(refused)} <button class="quiet" @click=${discard}>${words.drop}</button>
          </p>`
    }
  </article>`;
}

function leaveMenu({ currentTarget, relatedTarget }: FocusEvent): void {
  const menu = currentTarget as HTMLDetailsElement;
  if (!(relatedTarget instanceof Node && menu.contains(relatedTarget))) menu.open = false;
}

/** An answer's id names its delivery and the part of it. */
function whyId({ role, id = "" }: ChatMessage): string {
  return role === "user" ? id : id.replace(/\/\d+$/, "");
}

function filesOf(files: readonly { readonly name: string }[]): TemplateResult {
  return html`<ul class="sent-files" aria-label=${words.files}>
    ${files.map(({ name }) => html`<li><bdi>${name}</bdi></li>`)}
  </ul>`;
}

export function contentOf({
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
