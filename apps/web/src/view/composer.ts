// Lets a person write. Enter sends, Shift+Enter breaks the line; writing works on while the agent works or
// the line is down.
import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { controlStyles } from "./control-styles.ts";

export class Composer extends LitElement {
  static override styles = [
    controlStyles,
    css`
      form {
        display: flex;
        gap: 0.6rem;
        align-items: end;
        padding: 0.7rem 0 max(0.9rem, env(safe-area-inset-bottom));
      }
      textarea {
        flex: 1;
        max-height: 40dvh;
        resize: none;
        field-sizing: content;
      }
    `,
  ];
  static override properties = { working: { type: Boolean } };
  declare working: boolean;

  override render(): TemplateResult {
    return html`
      <form @submit=${this.#submit}>
        <label class="sr-only" for="text">Message</label>
        <textarea
          id="text"
          rows="1"
          dir="auto"
          placeholder="Write a message"
          enterkeyhint="send"
          autofocus
          @keydown=${this.#key}
        ></textarea>
        ${this.working ? html`<button type="button" class="quiet" @click=${() => this.dispatchEvent(new CustomEvent("stop"))}>Stop</button>` : nothing}
        <button>Send</button>
      </form>
    `;
  }

  #key(event: KeyboardEvent): void {
    // While an input method composes, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.#send();
  }

  #submit(event: SubmitEvent): void {
    event.preventDefault();
    this.#send();
  }

  #send(): void {
    const field = this.renderRoot.querySelector("textarea");
    if (field === null || field.value.trim() === "") return;
    this.dispatchEvent(new CustomEvent("send", { detail: field.value }));
    field.value = "";
    field.focus();
  }
}
