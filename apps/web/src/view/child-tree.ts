// Shows the sub-agents of a session as the tree that they are: what each was told to do, how it stands, for
// how long. What somebody opened or closed stays so, and what is seen does not fold by itself when it ends.
import { html, LitElement, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { sessionWords, unhidden } from "../parts/text.ts";
import { duration } from "../parts/time.ts";
import { t } from "../texts/texts.ts";
import {
  branchesOf,
  opensFirst,
  rowsOf,
  treeStep,
  type Child,
  type ChildRow,
  type Children,
} from "./child-rows.ts";

const words = t.children;
const looks: { readonly [state in Child["state"]]: string } = {
  idle: "ok",
  working: "warn",
  running: "warn",
  answered: "ok",
  silent: "ok",
  failed: "danger",
  stopped: "off",
  lost: "danger",
};
/** Of the first level; the older ones come when somebody asks for them. */
const mostRoots = 100;

export class ChildTree extends LitElement {
  static override properties = {
    tree: {},
    nowMs: {},
    hrefOf: {},
    at: { state: true },
    isWhole: { state: true },
  };
  /** As `sessions.tree` gives them. */
  declare tree: Children;
  declare nowMs: number;
  /** Where a session is shown; null: nowhere that the token may see. */
  declare hrefOf: (key: string) => string | null;
  /** The key of the row that Tab leads to. */
  declare at: string | null;
  /** The older ones are there too. */
  declare isWhole: boolean;
  readonly #open = new Map<string, boolean>();

  constructor() {
    super();
    this.tree = [];
    this.nowMs = 0;
    this.hrefOf = () => null;
    this.at = null;
    this.isWhole = false;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override render(): TemplateResult {
    const rows = this.#rows();
    const at = rows.some(({ child }) => child.key === this.at) ? this.at : rows[0]?.child.key;
    const left = this.isWhole ? 0 : branchesOf(this.tree).length - mostRoots;
    return html`${
        left <= 0
          ? nothing
          : html`<button class="quiet" @click=${() => (this.isWhole = true)}>${words.earlier(left)}</button>`
      }
      <div role="tree" class="child-tree" aria-label=${words.tree} @keydown=${this.#key}>
        ${repeat(
          rows,
          ({ child }) => child.key,
          (row) => this.#row(row, row.child.key === at),
        )}
      </div>`;
  }

  #rows(): readonly ChildRow[] {
    const branches = branchesOf(this.tree);
    const shown = this.isWhole ? branches : branches.slice(-mostRoots);
    return rowsOf(shown, (branch) => {
      const known = this.#open.get(branch.child.key) ?? opensFirst(branch, this.tree.length);
      this.#open.set(branch.child.key, known);
      return known;
    });
  }

  #row({ child, level, place, of, isOpen }: ChildRow, isHere: boolean): TemplateResult {
    const { key, label, task, state, reason, startedAtMs, endedAtMs } = child;
    return html`<a
      role="treeitem"
      class="child-row"
      href=${this.hrefOf(key) ?? nothing}
      data-key=${key}
      tabindex=${isHere ? 0 : -1}
      aria-level=${level}
      aria-posinset=${place}
      aria-setsize=${of}
      aria-expanded=${isOpen ?? nothing}
      @focus=${() => (this.at = key)}
      @click=${(event: MouseEvent) => this.#click(event, key, isOpen)}
    >
      <span class="twist" aria-hidden="true">${isOpen === null ? nothing : "›"}</span>
      <span class="child-words">
        <b class="ellipsis"><bdi>${unhidden(label ?? sessionWords(key))}</bdi></b>
        ${(task ?? "") === "" ? nothing : html`<span class="ellipsis quiet-text"><bdi>${unhidden(task ?? "")}</bdi></span>`}
        ${reason === null ? nothing : html`<span class="ellipsis failed"><bdi>${unhidden(reason)}</bdi></span>`}
      </span>
      <span class="badge ${looks[state]}">${words.states[state]}</span>
      <span class="quiet-text number">${duration((endedAtMs ?? this.nowMs) - startedAtMs)}</span>
    </a>`;
  }

  #click(event: MouseEvent, key: string, isOpen: boolean | null): void {
    const isOnTwist = event.target instanceof Element && event.target.closest(".twist") !== null;
    if (isOpen === null || (this.hrefOf(key) !== null && !isOnTwist)) return;
    event.preventDefault();
    this.#set([key], !isOpen);
  }

  #set(keys: readonly string[], isOpen: boolean): void {
    for (const key of keys) this.#open.set(key, isOpen);
    this.requestUpdate();
  }

  #key(event: KeyboardEvent): void {
    const key = event.target instanceof HTMLElement ? event.target.dataset["key"] : undefined;
    if (key === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = treeStep(this.#rows(), key, event.key);
    if (step === null) return;
    event.preventDefault();
    if ("open" in step) return this.#set(step.open, true);
    if ("close" in step) return this.#set([step.close], false);
    this.at = step.to;
    void this.updateComplete.then(() => {
      const row = this.querySelector<HTMLElement>(`[data-key="${CSS.escape(step.to)}"]`);
      row?.focus();
    });
  }
}

export function childTree(parts: {
  readonly children: Children;
  readonly nowMs: number;
  readonly hrefOf: (key: string) => string | null;
}): TemplateResult {
  const { children, nowMs, hrefOf } = parts;
  return html`<parley-child-tree .tree=${children} .nowMs=${nowMs} .hrefOf=${hrefOf}></parley-child-tree>`;
}

customElements.define("parley-child-tree", ChildTree);
