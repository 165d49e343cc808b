// Elements become Markdown: tables stay tables, code keeps its language, links are absolute. Turndown knows
// none of the three by itself.
import type TurndownService from "turndown";

/** What is used of an element; linkedom's and turndown's types are a browser's. */
export interface PageElement {
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly parentNode: PageElement | null;
  readonly children: Iterable<PageElement> & { readonly length: number };
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement> & { readonly length: number };
}

export function markdownOf(Turndown: typeof TurndownService, root: PageElement): string {
  const service = new Turndown({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" });
  const add = (
    name: string,
    tags: string[],
    replacement: (content: string, node: PageElement) => string,
  ): void =>
    void service.addRule(name, {
      filter: tags as TurndownService.Filter,
      replacement: (content, node) => replacement(content, node as unknown as PageElement),
    });
  add("code block", ["pre"], (_content, node) => codeBlock(node));
  add("cell", ["td", "th"], (content, node) =>
    isGrid(tableOf(node)) ? cell(content, node) : `\n\n${content}\n\n`,
  );
  add("row", ["tr"], (content, node) => (isGrid(tableOf(node)) ? row(content, node) : content));
  add("table", ["table"], (content) => `\n\n${content}\n\n`);
  add("part of a table", ["thead", "tbody", "tfoot", "caption", "colgroup"], (content, node) =>
    node.nodeName.toLowerCase() === "caption" ? `\n\n${content}\n\n` : content,
  );
  add("picture", ["img"], (_content, node) => {
    const [alt, src] = [oneLine(node.getAttribute("alt") ?? ""), node.getAttribute("src") ?? ""];
    return alt === "" || src === "" ? alt : `![${alt.replaceAll(/[[\]]/g, "")}](${src})`;
  });
  add("strike", ["del", "s"], (content) => (content.trim() === "" ? "" : `~~${content}~~`));
  return service.turndown(root as unknown as TurndownService.Node);
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** Sites name the language of code in the class of the block, of the code inside it or of what is around. */
function codeBlock(node: PageElement): string {
  const text = (node.textContent ?? "").replace(/^\n/, "").trimEnd();
  const places = [node.querySelector("code"), node, node.parentNode, node.parentNode?.parentNode ?? null];
  const language =
    places.map((place) => (place === null ? "" : languageOf(place))).find((name) => name !== "") ?? "";
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `\n\n${fence}${language}\n${text}\n${fence}\n\n`;
}

function languageOf(place: PageElement): string {
  const named = place.getAttribute("data-lang") ?? place.getAttribute("data-language") ?? "";
  const inClass = /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-|brush:\s*)([\w+#-]{1,20})/.exec(
    place.getAttribute("class") ?? "",
  )?.[1];
  return (/^[\w+#-]{1,20}$/.test(named) ? named : inClass) ?? "";
}

function tableOf(node: PageElement): PageElement | null {
  for (let at = node.parentNode; at !== null; at = at.parentNode)
    if (at.nodeName.toLowerCase() === "table") return at;
  return null;
}

const grids = new WeakMap<PageElement, boolean>();
/** A table of data: not one that only arranges a page. */
function isGrid(table: PageElement | null): boolean {
  if (table === null) return false;
  const known = grids.get(table);
  if (known !== undefined) return known;
  const role = table.getAttribute("role");
  const grid =
    role !== "presentation" &&
    role !== "none" &&
    table.querySelector("table") === null &&
    [...table.querySelectorAll("tr")].some((each) => each.children.length > 1);
  grids.set(table, grid);
  return grid;
}

function cell(content: string, node: PageElement): string {
  const text = oneLine(content).replaceAll(/(?<!\\)\|/g, "\\|");
  return ` ${text} |${"  |".repeat(spanOf(node) - 1)}`;
}

const spanOf = (node: PageElement): number =>
  Math.min(20, Math.max(1, Math.trunc(Number(node.getAttribute("colspan") ?? 1)) || 1));

function row(content: string, node: PageElement): string {
  const table = tableOf(node);
  const isFirst = table?.querySelector("tr") === node;
  const cells = [...node.children].reduce((sum, each) => sum + spanOf(each), 0);
  return `\n|${content}${isFirst ? `\n|${" --- |".repeat(cells)}` : ""}`;
}
