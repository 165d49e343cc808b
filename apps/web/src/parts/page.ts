// Every page of the console extends this element. It stands in the document itself, so that one file dresses
// all; it is given the shell and its address, and says what it shows. Focus goes into a drawer that opens,
// and back to its row.
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { addressOf, type Address } from "./address.ts";
import { t } from "../texts/texts.ts";
import type { Command, Console } from "./console.ts";
import { Reading } from "./reading.ts";

export abstract class Page extends LitElement {
  static override properties = { address: {} };
  /** Given by the shell before the page is connected. */
  declare console: Console;
  declare address: Address;
  #openBefore: string | null = null;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  /** Whoever came by a key, a link or the palette goes on reading here; a drawer takes the focus itself. */
  override connectedCallback(): void {
    super.connectedCallback();
    void this.updateComplete.then(() => {
      const body = this.querySelector<HTMLElement>(".page-body");
      if (this.isConnected && this.querySelector(".drawer") === null) body?.focus({ preventScroll: true });
    });
  }

  /** Entries that this page adds to the command palette. */
  commands(): readonly Command[] {
    return [];
  }

  /** A key that nothing else took; true when the page took it. */
  onKey(_key: string): boolean {
    return false;
  }

  /** Reads frames now and every few seconds, and at once when `of` names something else. */
  protected reading<T>(read: () => Promise<T>, everyMs?: number, of?: () => string): Reading<T> {
    return new Reading(this, read, everyMs, of);
  }

  /** Head, what is wrong with the reading, body, and a drawer. */
  protected frame(parts: {
    readonly title: string;
    readonly lead?: string;
    readonly acts?: unknown;
    readonly reading: Pick<Reading<unknown>, "value" | "trouble">;
    readonly body: () => unknown;
    readonly drawer?: TemplateResult | null;
  }): TemplateResult {
    const { title, lead, acts, reading, body, drawer = null } = parts;
    return html`<div class=${drawer === null ? "page" : "page with-drawer"}>
      <div class="page-body" tabindex="-1">
        <header class="page-head">
          <h1>${title}</h1>
          ${lead === undefined ? nothing : html`<p class="lead small">${lead}</p>`}
          ${acts === undefined ? nothing : html`<div class="acts">${acts}</div>`}
        </header>
        ${
          reading.trouble === null || this.console.chat.connection.kind !== "online"
            ? nothing
            : html`<p class="trouble" role="alert">${t.reading.failed(reading.trouble)}</p>`
        }
        ${reading.value !== null ? body() : reading.trouble === null ? skeleton() : this.#leave(title)}
      </div>
      ${drawer ?? nothing}
    </div>`;
  }

  /** An address of what is not there has a way out; a line that broke comes back by itself. */
  #leave(title: string): TemplateResult {
    const { page, rest, query } = this.address;
    const isPlain = rest.length === 0 && query.size === 0;
    return isPlain || this.console.chat.connection.kind !== "online"
      ? skeleton()
      : html`<p><a class="button quiet" href=${addressOf(page)}>${t.reading.leave(title)}</a></p>`;
  }

  protected override updated(_changed: PropertyValues<this>): void {
    const open = this.querySelector<HTMLElement>(".drawer")?.dataset["key"] ?? null;
    if (open === this.#openBefore) return;
    const before = this.#openBefore;
    this.#openBefore = open;
    if (open !== null) this.querySelector<HTMLElement>(".drawer h2")?.focus({ preventScroll: true });
    else if (before !== null)
      (
        this.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(before)}"] a`) ??
        this.querySelector<HTMLElement>(".page-body")
      )?.focus();
  }
}

function skeleton(): TemplateResult {
  return html`<div class="skeleton" role="status">
    <span class="sr-only">${t.list.loading}</span><i></i><i></i><i></i><i></i>
  </div>`;
}
