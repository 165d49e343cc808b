// Lets a person write. Enter sends, Shift+Enter breaks the line; writing works on while the agent works or
// the line is down, and what was not sent is there again after a reload.
import { css, html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { draftOf, keepDraft } from "../session/storage.ts";
import { t } from "../texts/texts.ts";
import { controlStyles } from "./control-styles.ts";

/** Words of an earlier message that are written anew. */
export interface Rewrite {
  /** Id of its row while nobody has begun to answer it; null: they go out as another message. */
  readonly id: string | null;
  readonly text: string;
}

export class Composer extends LitElement {
  static override styles = [
    controlStyles,
    css`
      form {
        display: flex;
        gap: 8px;
        align-items: end;
        padding: 12px 0 max(16px, env(safe-area-inset-bottom));
      }
      textarea {
        flex: 1;
        max-height: 40dvh;
        resize: none;
        field-sizing: content;
      }
      .rewriting {
        display: flex;
        align-items: center;
        justify-content: space-between;
        margin: 0;
        padding-top: 8px;
        color: var(--quiet);
        font-size: var(--size-2);
      }
      .rewriting button {
        min-height: 28px;
        padding: 0 10px;
        font-size: var(--size-2);
      }
    `,
  ];
  static override shadowRootOptions = { ...LitElement.shadowRootOptions, delegatesFocus: true };
  static override properties = { working: { type: Boolean }, thread: {}, rewrite: {} };
  declare working: boolean;
  /** The conversation whose draft this is. */
  declare thread: string | null;
  declare rewrite: Rewrite | null;

  constructor() {
    super();
    this.thread = null;
    this.rewrite = null;
  }

  override render(): TemplateResult {
    return html`
      ${
        this.rewrite === null
          ? nothing
          : html`<p class="rewriting">
              ${this.rewrite.id === null ? t.chat.rewritingAnew : t.chat.rewriting}
              <button class="quiet" @click=${this.#leaveRewrite}>${t.chat.leaveRewrite}</button>
            </p>`
      }
      <form @submit=${this.#submit}>
        <label class="sr-only" for="text">${t.chat.message}</label>
        <textarea
          id="text"
          rows="1"
          dir="auto"
          placeholder=${t.chat.placeholder}
          enterkeyhint="send"
          autofocus
          @keydown=${this.#key}
          @input=${this.#keep}
        ></textarea>
        ${
          this.working
            ? html`<button
                type="button"
                class="quiet"
                @click=${() => this.dispatchEvent(new CustomEvent("stop"))}
              >
                ${t.chat.stop}
              </button>`
            : nothing
        }
        <button>${t.chat.send}</button>
      </form>
    `;
  }

  override updated(changed: PropertyValues<this>): void {
    const field = this.#field;
    if (field === null) return;
    if (changed.has("thread")) field.value = draftOf(localStorage, this.thread);
    if (!changed.has("rewrite")) return;
    if (this.rewrite !== null) field.value = this.rewrite.text;
    else if (changed.get("rewrite") !== undefined) field.value = draftOf(localStorage, this.thread);
    if (changed.get("rewrite") !== undefined || this.rewrite !== null) field.focus();
  }

  get #field(): HTMLTextAreaElement | null {
    return this.renderRoot.querySelector("textarea");
  }

  #keep(): void {
    if (this.rewrite === null) keepDraft(localStorage, this.thread, this.#field?.value ?? "");
  }

  #leaveRewrite(): void {
    this.dispatchEvent(new CustomEvent("rewritten"));
  }

  #key(event: KeyboardEvent): void {
    if (event.key === "Escape" && this.rewrite !== null) {
      event.stopPropagation();
      return this.#leaveRewrite();
    }
    if (event.key === "ArrowUp" && this.#field?.value === "") {
      this.dispatchEvent(new CustomEvent("rewrite-last"));
      return event.preventDefault();
    }
    // While an input method composes, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return undefined;
    event.preventDefault();
    return this.#send();
  }

  #submit(event: SubmitEvent): void {
    event.preventDefault();
    this.#send();
  }

  #send(): void {
    const field = this.#field;
    if (field === null || field.value.trim() === "") return;
    this.dispatchEvent(new CustomEvent("send", { detail: { text: field.value, rewrite: this.rewrite } }));
    if (this.rewrite === null) {
      field.value = "";
      keepDraft(localStorage, this.thread, "");
    }
    field.focus();
  }
}
