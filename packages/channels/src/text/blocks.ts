// Writes the blocks of a reply from markdown-it's token stream, and keeps the writer's blank lines between
// blocks.
import type { Mark } from "./document.ts";
import type { Token } from "./grammar.ts";
import { writeInline } from "./inline.ts";
import { writeTable } from "./table.ts";
import type { LinePrefix, Writer } from "./writer.ts";

interface OpenList {
  readonly ordered: boolean;
  nextNumber: number;
}

const ruleText = "─".repeat(10);
const bullet = "• ";
const taskBox = /^\[([ xX])\](?=\s)\s+/;

export function writeBlocks(writer: Writer, tokens: readonly Token[]): void {
  const lists: OpenList[] = [];
  let quotes = 0;
  let lastLine: number | null = null;
  let inHeading = false;
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token === undefined) break;
    if (token.map !== null && token.block && token.nesting !== -1 && token.type !== "inline") {
      if (lastLine !== null) writer.breakLine(token.map[0] > lastLine ? 2 : 1);
      if (!isContainer(token.type)) lastLine = token.map[1];
    }
    switch (token.type) {
      case "paragraph_open":
        writer.open({ kind: "paragraph", tight: token.hidden });
        break;
      case "heading_open":
        inHeading = true;
        writer.open({ kind: "heading", level: Number(token.tag.slice(1)) });
        break;
      case "heading_close":
        inHeading = false;
        writer.close();
        break;
      case "inline":
        writeInline(writer, token.children ?? [], inHeading ? "space" : "line");
        break;
      case "fence":
      case "code_block":
        writeCode(writer, token);
        break;
      case "math_block":
        writer.startFresh();
        writer.open({ kind: "formula" });
        writer.writeLines(token.content);
        writer.close();
        break;
      case "hr":
        writer.startFresh();
        writer.open({ kind: "rule" });
        writer.writeLines(ruleText);
        writer.close();
        break;
      case "table_open": {
        const opening = index;
        while (index < tokens.length && tokens[index]?.type !== "table_close") index += 1;
        writer.startFresh();
        writeTable(writer, tokens.slice(opening + 1, index));
        break;
      }
      case "blockquote_open": {
        const nested = quotes > 0 || lists.length > 0;
        quotes += 1;
        writer.open({ kind: "quote", nested });
        writer.pushPrefix({ rest: nested ? { text: "> ", discord: "> " } : { text: "", discord: "" } });
        break;
      }
      case "blockquote_close":
        quotes -= 1;
        writer.popPrefix();
        writer.close();
        break;
      case "bullet_list_open":
      case "ordered_list_open":
        lists.push({
          ordered: token.type === "ordered_list_open",
          nextNumber: Number(token.attrGet("start") ?? 1),
        });
        writer.open({ kind: "list", ordered: token.type === "ordered_list_open" });
        break;
      case "bullet_list_close":
      case "ordered_list_close":
        lists.pop();
        writer.close();
        break;
      case "list_item_open":
        openItem(writer, lists.at(-1), takeTaskBox(tokens, index));
        break;
      case "list_item_close":
        if (writer.popPrefix()) lastLine = (lastLine ?? 0) + 1;
        writer.close();
        break;
      case "paragraph_close":
        writer.close();
        break;
      default:
        break;
    }
  }
}

function isContainer(type: string): boolean {
  return (
    type === "blockquote_open" ||
    type === "bullet_list_open" ||
    type === "ordered_list_open" ||
    type === "list_item_open"
  );
}

function openItem(writer: Writer, list: OpenList | undefined, checked: boolean | null): void {
  const number = list?.ordered === true ? list.nextNumber : null;
  if (list !== undefined) list.nextNumber += 1;
  const mark: Mark = { kind: "item", number, checked };
  writer.open(mark);
  writer.pushPrefix(itemPrefix(number, checked));
}

/** The indentation is as wide as the bullet, because CommonMark and Discord both nest by it. */
function itemPrefix(number: number | null, checked: boolean | null): LinePrefix {
  const box = checked === null ? "" : checked ? "☑ " : "☐ ";
  const discordBullet = number === null ? "- " : `${number}. `;
  const shownBullet = number !== null ? discordBullet : checked === null ? bullet : "";
  const indent = " ".repeat(discordBullet.length);
  return {
    first: { text: shownBullet + box, discord: discordBullet + box },
    rest: { text: indent, discord: indent },
  };
}

/** Removes `[ ] ` or `[x] ` from the head of the item that opens at `index`; null when it is no task. */
function takeTaskBox(tokens: readonly Token[], index: number): boolean | null {
  const first = tokens[index + 2]?.type === "inline" ? tokens[index + 2]?.children?.[0] : undefined;
  const box = first?.type === "text" ? taskBox.exec(first.content) : null;
  if (first === undefined || box === null) return null;
  first.content = first.content.slice(box[0].length);
  return box[1] !== " ";
}

/** A language name is used only when every platform accepts it. */
function writeCode(writer: Writer, token: Token): void {
  const code = token.content.trimEnd();
  if (code === "") return;
  const language = /^\s*([\w.+#-]{1,40})/.exec(token.info)?.[1] ?? "";
  writer.startFresh();
  writer.open({ kind: "pre", language });
  writer.writeLines(code);
  writer.close();
}
