// The command palette: every page, every command of the page that is open, found by a few letters and run by
// Enter. It is a dialog of the browser's own, so that focus stays inside and returns to where it was. Nothing
// of it is drawn until somebody opens it.
import { html, LitElement, nothing, type TemplateResult } from "lit";
import { t } from "../texts/texts.ts";

export interface Choice {
  readonly name: string;
  /** The keys that do the same. */
  readonly keys?: string;
  readonly icon?: unknown;
  readonly run: () => void;
}

export class Palette extends LitElement {
  static override properties = {
    list: { attribute: false },
    choices: { state: true },
    wanted: { state: true },
    at: { state: true },
  };
  /** Lists what can be chosen now. */
  declare list: () => readonly Choice[];
  /** As they were when it was opened; null while it is closed. */
  declare choices: readonly Choice[] | null;
  declare wanted: string;
  declare at: number;

  constructor() {
    super();
    this.list = () => [];
    this.choices = null;
    this.wanted = "";
    this.at = 0;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  open(): void {
    this.choices = this.list();
    this.wanted = "";
    this.at = 0;
    const dialog = this.querySelector("dialog");
    if (dialog?.open === false) dialog.showModal();
    this.querySelector("input")?.focus();
  }

  override render(): TemplateResult {
    const found = this.#found();
    const onClose = (): void => void (this.choices = null);
    return html`<dialog aria-label=${t.shell.palette} @click=${this.#outside} @close=${onClose}>
      <input
        class="search"
        role="combobox"
        aria-expanded="true"
        aria-controls="choices"
        aria-activedescendant=${found.length === 0 ? nothing : `choice-${this.at}`}
        aria-label=${t.shell.paletteHint}
        placeholder=${t.shell.paletteHint}
        autocomplete="off"
        spellcheck="false"
        .value=${this.wanted}
        @input=${this.#type}
        @keydown=${this.#key}
      />
      <div class="choices" id="choices" role="listbox" aria-label=${t.shell.palette} tabindex="-1">
        ${found.map(
          (choice, index) =>
            html`<div
              role="option"
              id="choice-${index}"
              aria-selected=${index === this.at ? "true" : "false"}
              @click=${() => this.#run(choice)}
            >
              ${choice.icon ?? nothing}<bdi>${choice.name}</bdi>
              ${choice.keys === undefined ? nothing : html`<kbd class="keys">${choice.keys}</kbd>`}
            </div>`,
        )}
      </div>
      ${this.choices !== null && found.length === 0 ? html`<p class="empty" role="status">${t.shell.nothingFound}</p>` : nothing}
    </dialog>`;
  }

  /** Those whose name has the letters in their order; what begins with them first. */
  #found(): readonly Choice[] {
    const wanted = this.wanted.trim().toLowerCase();
    const rank = ({ name }: Choice): number => {
      const at = name.toLowerCase().indexOf(wanted);
      return at === -1 ? 1_000 : at;
    };
    return (this.choices ?? [])
      .filter(({ name }) => hasInOrder(name.toLowerCase(), wanted))
      .toSorted((a, b) => rank(a) - rank(b));
  }

  #type({ target }: Event): void {
    this.wanted = (target as HTMLInputElement).value;
    this.at = 0;
  }

  #key(event: KeyboardEvent): void {
    const found = this.#found();
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = found[this.at];
    if (by !== undefined) this.at = (this.at + by + found.length) % Math.max(1, found.length);
    else if (event.key === "Enter" && !event.isComposing && chosen !== undefined) this.#run(chosen);
    else return;
    event.preventDefault();
    void this.updateComplete.then(() =>
      this.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }),
    );
  }

  #run({ run }: Choice): void {
    this.querySelector("dialog")?.close();
    run();
  }

  #outside({ target, currentTarget }: Event): void {
    if (target === currentTarget) this.querySelector("dialog")?.close();
  }
}

function hasInOrder(name: string, wanted: string): boolean {
  let from = 0;
  for (const letter of wanted) {
    from = name.indexOf(letter, from) + 1;
    if (from === 0) return false;
  }
  return true;
}
