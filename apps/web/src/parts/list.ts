// A list of objects as a table: each row is a link to its object, `j` and `k` walk over them, a filter
// searches what is shown. A list that somebody reads does not move: what is new waits at its edge.
import { html, LitElement, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { t } from "../texts/texts.ts";

export interface Column<R> {
  readonly label: string;
  readonly cell: (row: R) => unknown;
  /** Left out on a phone. */
  readonly isWide?: boolean;
  readonly isNumeric?: boolean;
}

export interface ListParts<R> {
  readonly label: string;
  readonly rows: readonly R[];
  readonly columns: readonly Column<R>[];
  readonly keyOf: (row: R) => string;
  /** The address of a row's object. */
  readonly hrefOf: (row: R) => string;
  /** What the filter searches; without it there is none. */
  readonly textOf?: (row: R) => string;
  /** Hears what the filter says, where there is more to be found than is listed. */
  readonly onFilter?: (wanted: string) => void;
  /** The key of the row whose drawer is open. */
  readonly chosen?: string | undefined;
  /** Beside the filter. */
  readonly tools?: unknown;
  readonly empty: TemplateResult;
}

/** A browser draws these at once without being felt. */
const pageRows = 200;

export class List extends LitElement {
  static override properties = { parts: {}, filter: { state: true }, shownRows: { state: true } };
  declare parts: ListParts<unknown>;
  declare filter: string;
  declare shownRows: number;
  /** Keys that are on the page while somebody reads; null when nobody does. */
  #held: ReadonlySet<string> | null = null;

  constructor() {
    super();
    this.filter = "";
    this.shownRows = pageRows;
    this.addEventListener("focusin", () => this.#hold());
    this.addEventListener("focusout", ({ relatedTarget }) => {
      if (!(relatedTarget instanceof Node && this.contains(relatedTarget))) this.#release();
    });
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override render(): TemplateResult {
    const { label, rows, columns, keyOf, hrefOf, textOf, chosen, tools, empty } = this.parts;
    const wanted = this.filter.trim().toLowerCase();
    const known = this.#held === null ? rows : rows.filter((row) => this.#held?.has(keyOf(row)) === true);
    const found =
      wanted === "" ? known : known.filter((row) => textOf?.(row).toLowerCase().includes(wanted) === true);
    const [shown, left] = [found.slice(0, this.shownRows), found.length - this.shownRows];
    const fresh = rows.length - known.length;
    const classOf = ({ isWide, isNumeric }: Column<unknown>): string =>
      `${isWide === true ? "wide-only" : ""} ${isNumeric === true ? "numeric" : ""}`;
    return html`
      ${
        textOf === undefined && tools === undefined
          ? nothing
          : html`<div class="list-tools">
              ${
                textOf === undefined
                  ? nothing
                  : html`<input
                      type="search"
                      aria-label=${t.list.filter}
                      placeholder=${t.list.filter}
                      .value=${this.filter}
                      @input=${this.#search}
                    />`
              }
              ${tools ?? nothing}
            </div>`
      }
      ${
        fresh === 0
          ? nothing
          : html`<button class="quiet list-new" @click=${() => this.#release()}>${t.list.new(fresh)}</button>`
      }
      ${
        rows.length === 0
          ? empty
          : html`<div class="list-scroll">
              <table class="list" aria-label=${label}>
                <thead>
                  <tr>
                    ${columns.map((column) => html`<th scope="col" class=${classOf(column)}>${column.label}</th>`)}
                  </tr>
                </thead>
                <tbody>
                  ${repeat(shown, keyOf, (row) => {
                    const key = keyOf(row);
                    return html`<tr data-key=${key} class=${key === chosen ? "chosen" : ""} @click=${openRow}>
                      ${columns.map(
                        (column, index) =>
                          html`<td class=${classOf(column)}>
                            ${
                              index === 0
                                ? html`<a
                                    class="row-link"
                                    href=${hrefOf(row)}
                                    aria-current=${key === chosen ? "true" : nothing}
                                    >${column.cell(row)}</a
                                  >`
                                : column.cell(row)
                            }
                          </td>`,
                      )}
                    </tr>`;
                  })}
                </tbody>
              </table>
            </div>`
      }
      ${rows.length > 0 && shown.length === 0 ? html`<p class="empty">${t.list.noMatch}</p>` : nothing}
      ${
        left <= 0
          ? nothing
          : html`<button class="quiet list-new" @click=${() => (this.shownRows += pageRows)}>
              ${t.list.more(Math.min(left, pageRows))}
            </button>`
      }
    `;
  }

  #search({ target }: Event): void {
    this.filter = (target as HTMLInputElement).value;
    this.parts.onFilter?.(this.filter);
  }

  #hold(): void {
    this.#held ??= new Set(this.parts.rows.map(this.parts.keyOf));
  }

  #release(): void {
    this.#held = null;
    this.requestUpdate();
  }
}

/** A press anywhere in a row opens it, except on what does something of its own. */
function openRow(event: MouseEvent): void {
  const [target, row] = [event.target, event.currentTarget];
  if (!(target instanceof Element) || !(row instanceof Element)) return;
  if (target.closest("a, button, input") === null && getSelection()?.isCollapsed !== false)
    row.querySelector<HTMLElement>("a.row-link")?.click();
}

export function list<R>(parts: ListParts<R>): TemplateResult {
  return html`<parley-list .parts=${parts}></parley-list>`;
}
