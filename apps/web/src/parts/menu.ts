// A button that opens a menu of what can be done with one thing (the menu button of WAI-ARIA). The menu
// stands in the browser's top layer, so that no list cuts it off; the browser closes it by Escape or a
// press beside it, and gives the focus back.
import { html, LitElement, nothing, type TemplateResult } from "lit";
import { icon, type IconName } from "./icons.ts";

export interface MenuItem {
  readonly name: string;
  readonly icon: IconName;
  readonly look?: "danger";
  /** What it would do, where its name does not say all of it. */
  readonly means?: string;
  readonly run: () => void;
}

const gapPx = 4;

export class Menu extends LitElement {
  static override properties = { label: {}, items: { attribute: false }, isOpen: { state: true } };
  declare label: string;
  /** Asked for when it opens. */
  declare items: () => readonly MenuItem[];
  declare isOpen: boolean;
  #shown: readonly MenuItem[] = [];
  /** A press on the button closes the open menu before it is a click. */
  #wasOpen = false;

  constructor() {
    super();
    this.label = "";
    this.items = () => [];
    this.isOpen = false;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override render(): TemplateResult {
    return html`<button
        class="plain icon-only menu-button"
        aria-label=${this.label}
        title=${this.label}
        aria-haspopup="menu"
        aria-expanded=${this.isOpen ? "true" : "false"}
        @pointerdown=${() => (this.#wasOpen = this.isOpen)}
        @click=${this.#press}
        @keydown=${this.#buttonKey}
      >
        ${icon("more")}
      </button>
      <div
        popover
        role="menu"
        class="menu"
        aria-label=${this.label}
        @keydown=${this.#key}
        @toggle=${this.#toggled}
        @focusout=${this.#left}
      >
        ${this.isOpen ? this.#shown.map((item) => this.#item(item)) : nothing}
      </div>`;
  }

  #item(item: MenuItem): TemplateResult {
    return html`<button
      role="menuitem"
      tabindex="-1"
      class=${item.look ?? ""}
      @click=${() => this.#run(item)}
    >
      ${icon(item.icon)}<span
        >${item.name}${item.means === undefined ? nothing : html`<small>${item.means}</small>`}</span
      >
    </button>`;
  }

  #press(): void {
    if (!this.#wasOpen) this.open();
    this.#wasOpen = false;
  }

  /** `last`: begins at the last item, as the up arrow does. */
  open(last = false): void {
    this.#shown = this.items();
    this.isOpen = true;
    void this.updateComplete.then(() => {
      const menu = this.#menu;
      if (menu === null || menu.matches(":popover-open")) return;
      menu.showPopover();
      this.#place(menu);
      this.#buttons.at(last ? -1 : 0)?.focus();
    });
  }

  #place(menu: HTMLElement): void {
    const { top, bottom, left, right } = this.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = menu;
    const isAbove = bottom + gapPx + offsetHeight > innerHeight && top > innerHeight / 2;
    // Set by script, because the page's policy forbids styles in markup.
    menu.style.top = `${isAbove ? top - gapPx - offsetHeight : bottom + gapPx}px`;
    // Towards the side where there is more room.
    const leftPx = left + right > innerWidth ? right - offsetWidth : left;
    menu.style.left = `${Math.max(gapPx, Math.min(leftPx, innerWidth - offsetWidth - gapPx))}px`;
  }

  #run({ run }: MenuItem): void {
    this.#menu?.hidePopover();
    run();
  }

  #buttonKey(event: KeyboardEvent): void {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    this.open(event.key === "ArrowUp");
  }

  #key(event: KeyboardEvent): void {
    const buttons = this.#buttons;
    const at = buttons.indexOf(event.target as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key] ?? this.#named(event, at);
    if (event.key === "Tab" || event.key === "Escape") this.#menu?.hidePopover();
    if (event.key === "Escape" || to !== undefined) event.preventDefault();
    // No key counts for the page while a menu is open.
    event.stopPropagation();
    if (to !== undefined) buttons.at(to % Math.max(1, buttons.length))?.focus();
  }

  /** The next item whose name begins with the letter that was pressed. */
  #named({ key, ctrlKey, metaKey, altKey }: KeyboardEvent, at: number): number | undefined {
    if (key.length !== 1 || key === " " || ctrlKey || metaKey || altKey) return undefined;
    const names = this.#shown.map(({ name }) => name.toLowerCase().startsWith(key.toLowerCase()));
    const after = names.indexOf(true, at + 1);
    return after === -1 ? (names.includes(true) ? names.indexOf(true) : undefined) : after;
  }

  #left({ relatedTarget }: FocusEvent): void {
    if (relatedTarget instanceof Node && !this.contains(relatedTarget)) this.#menu?.hidePopover();
  }

  #toggled({ newState }: ToggleEvent): void {
    this.isOpen = newState === "open";
    if (this.isOpen) addEventListener("scroll", this.#scrolled, { capture: true, once: true });
    else removeEventListener("scroll", this.#scrolled, { capture: true });
  }

  /** It would stand beside another thing than its own. */
  readonly #scrolled = (): void => this.#menu?.hidePopover();

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("scroll", this.#scrolled, { capture: true });
    this.isOpen = false;
  }

  override focus(): void {
    this.querySelector<HTMLElement>(".menu-button")?.focus();
  }

  get #menu(): HTMLElement | null {
    return this.querySelector("[role=menu]");
  }

  get #buttons(): HTMLElement[] {
    return [...this.querySelectorAll<HTMLElement>("[role=menuitem]")];
  }
}

export function menu(label: string, items: () => readonly MenuItem[]): TemplateResult {
  return html`<parley-menu .label=${label} .items=${items}></parley-menu>`;
}
