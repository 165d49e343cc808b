// Writes a table as aligned columns for a fixed-width font, with a span per cell for surfaces that have real
// tables.
import type { Document, Mark } from "./document.ts";
import type { Token } from "./grammar.ts";
import { writeInline } from "./inline.ts";
import { textColumns } from "./width.ts";
import { documentWriter, type Writer } from "./writer.ts";

type Align = Extract<Mark, { kind: "cell" }>["align"];
interface Cell {
  readonly content: Document;
  readonly columns: number;
  readonly align: Align;
}

/** A longer cell sticks out of its column, because padding every row to it would cost more than it shows. */
const widestColumn = 40;
/** Larger tables are not padded at all, because a hostile one could ask for megabytes of spaces. */
const mostPaddedCells = 4000;

/** `tokens` are those between `table_open` and its `table_close`. */
export function writeTable(writer: Writer, tokens: readonly Token[]): void {
  const rows = readRows(tokens);
  const header = rows[0] ?? [];
  const padded = rows.length * header.length <= mostPaddedCells;
  const widths = header.map((_, column) => (padded ? columnWidth(rows, column) : 1));
  writer.open({ kind: "table" });
  rows.forEach((cells, index) => {
    if (index > 0) writer.writeLines("\n");
    writer.open({ kind: "row", header: index === 0 });
    cells.forEach((cell, column) => {
      if (column > 0) writer.writeLines(" | ");
      writeCell(writer, cell, widths[column] ?? 0, column === cells.length - 1);
    });
    writer.close();
    if (index === 0) writer.writeLines(`\n${widths.map((width) => "-".repeat(width)).join("-+-")}`);
  });
  writer.close();
}

function writeCell(writer: Writer, cell: Cell, width: number, last: boolean): void {
  const gap = Math.max(0, width - cell.columns);
  const left = cell.align === "right" ? gap : cell.align === "center" ? Math.floor(gap / 2) : 0;
  writer.writeLines(" ".repeat(left));
  writer.open({ kind: "cell", align: cell.align });
  writer.append(cell.content);
  writer.close();
  if (!last) writer.writeLines(" ".repeat(gap - left));
}

function columnWidth(rows: readonly (readonly Cell[])[], column: number): number {
  return rows.reduce(
    (width, cells) => Math.max(width, Math.min(cells[column]?.columns ?? 0, widestColumn)),
    1,
  );
}

function readRows(tokens: readonly Token[]): Cell[][] {
  const rows: Cell[][] = [];
  let align: Align = null;
  for (const token of tokens) {
    if (token.type === "tr_open") rows.push([]);
    if (token.type === "th_open" || token.type === "td_open") align = alignOf(token);
    if (token.type === "inline") {
      const cell = documentWriter();
      writeInline(cell, token.children ?? [], "space");
      const content = cell.finish();
      rows.at(-1)?.push({ content, columns: textColumns(content.text), align });
    }
  }
  return rows;
}

function alignOf(token: Token): Align {
  const side = /text-align:(left|right|center)/.exec(String(token.attrGet("style") ?? ""))?.[1];
  return side === "left" || side === "right" || side === "center" ? side : null;
}
