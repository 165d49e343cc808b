// A button that asks the gateway for something: says what it will do, asks again where that cannot be
// undone, and tells the result where one looked.
import { html, LitElement, nothing, type TemplateResult } from "lit";
import { RequestFailure } from "../session/link.ts";
import { t } from "../texts/texts.ts";
import { wordsOf } from "./reading.ts";

export class Act extends LitElement {
  static override properties = {
    label: {},
    look: {},
    confirm: {},
    hint: {},
    stage: { state: true },
    told: { state: true },
  };
  declare label: string;
  declare look: "" | "quiet" | "danger";
  /** A sentence of what it would do, asked before it is done. */
  declare confirm: string | undefined;
  /** The key that presses it. */
  declare hint: string | undefined;
  /** Does it; what it returns is shown beside the button. */
  declare run: () => Promise<string | undefined>;
  declare stage: "rest" | "asking" | "running" | "failed";
  declare told: string | undefined;

  constructor() {
    super();
    this.look = "";
    this.stage = "rest";
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override render(): TemplateResult {
    if (this.stage === "asking")
      return html`<span>${this.confirm}</span>
        <button class=${this.look} @click=${this.#run}>${t.act.yes(this.label)}</button>
        <button class="quiet" @click=${() => this.#rest()}>${t.act.no}</button>`;
    return html`<button class=${this.look} ?disabled=${this.stage === "running"} @click=${() => this.press()}>
        ${this.label}${this.hint === undefined ? nothing : html` <kbd aria-hidden="true">${this.hint}</kbd>`}
      </button>
      ${
        this.told === undefined
          ? nothing
          : html`<span class=${this.stage === "failed" ? "failed" : "told"} role="status">${this.told}</span>`
      }`;
  }

  press(): void {
    if (this.stage === "running") return;
    if (this.confirm === undefined) void this.#run();
    else this.stage = "asking";
  }

  #rest(): void {
    this.stage = "rest";
    void this.updateComplete.then(() => this.querySelector("button")?.focus());
  }

  async #run(): Promise<void> {
    this.stage = "running";
    this.told = undefined;
    try {
      this.told = await this.run();
      this.stage = "rest";
    } catch (error) {
      this.stage = "failed";
      const isUnknown = error instanceof RequestFailure && error.wasSent;
      this.told = t.act[isUnknown ? "unknown" : "failed"](wordsOf(error));
    }
  }
}

export function act(parts: {
  readonly label: string;
  readonly look?: "" | "quiet" | "danger";
  readonly confirm?: string;
  readonly hint?: string;
  readonly run: () => Promise<string | undefined>;
}): TemplateResult {
  const { label, look = "", confirm, hint, run } = parts;
  return html`<parley-act
    .label=${label}
    .look=${look}
    .confirm=${confirm}
    .hint=${hint}
    .run=${run}
    data-hint=${hint ?? nothing}
  ></parley-act>`;
}
