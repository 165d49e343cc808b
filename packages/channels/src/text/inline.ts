// Writes the running text of one paragraph, heading or cell from markdown-it's inline tokens.
import type { MarkKind } from "./document.ts";
import type { Token } from "./grammar.ts";
import { planLink, type LinkPlan } from "./links.ts";
import { spoilerEdges } from "./spoilers.ts";
import type { Writer } from "./writer.ts";

const styles: { readonly [type: string]: "bold" | "italic" | "strike" } = {
  strong_open: "bold",
  em_open: "italic",
  s_open: "strike",
};

/** `breaks: "space"` keeps the text on one line. In chat the line ends of a paragraph stay as written. */
export function writeInline(writer: Writer, tokens: readonly Token[], breaks: "line" | "space"): void {
  const edges = spoilerEdges(tokens);
  const links: LinkPlan[] = [];
  const open: MarkKind[] = [];
  let inSpoiler = false;
  const endLink = (plan: LinkPlan | undefined): void => {
    if (plan?.mark !== undefined) writer.close();
    if (plan?.spelled !== undefined) writer.ornament(` (${plan.spelled})`);
  };
  tokens.forEach((token, index) => {
    const style = styles[token.type];
    if (style !== undefined) {
      // Bold inside bold says nothing more, and thousands of them would nest without end.
      if (!open.includes(style)) writer.open({ kind: style });
      open.push(style);
      return;
    }
    switch (token.type) {
      case "text": {
        let from = 0;
        for (const offset of edges.get(index) ?? []) {
          writer.write(token.content.slice(from, offset));
          if (inSpoiler) writer.close();
          else writer.open({ kind: "spoiler" });
          inSpoiler = !inSpoiler;
          from = offset + 2;
        }
        return writer.write(token.content.slice(from));
      }
      case "code_inline":
        writer.open({ kind: "code" });
        writer.write(token.content);
        return writer.close();
      case "math_inline":
        writer.open({ kind: "math" });
        writer.write(token.content);
        return writer.close();
      case "link_open": {
        const plan = planLink(String(token.attrGet("href") ?? ""), labelOf(tokens, index));
        links.push(plan);
        if (plan.mark !== undefined) writer.open(plan.mark);
        return;
      }
      case "link_close":
        return endLink(links.pop());
      case "image": {
        const label = token.content.trim() === "" ? "image" : flatten(token.children ?? []);
        const plan = planLink(String(token.attrGet("src") ?? ""), label);
        // Links do not nest; inside a link only the picture's name is kept.
        const mark = links.some((outer) => outer.mark !== undefined) ? undefined : plan.mark;
        if (mark !== undefined) writer.open(mark);
        writer.write(label);
        return endLink(mark === undefined ? undefined : plan);
      }
      case "softbreak":
      case "hardbreak":
        return breaks === "line" ? writer.breakLine(1) : writer.write(" ");
      case "strong_close":
      case "em_close":
      case "s_close": {
        const closed = open.pop();
        if (closed !== undefined && !open.includes(closed)) writer.close();
        return;
      }
      default:
        return writer.write(token.content);
    }
  });
}

/** The text between a link's opening token and its end. */
function labelOf(tokens: readonly Token[], opening: number): string {
  let end = opening + 1;
  while (end < tokens.length && tokens[end]?.type !== "link_close") end += 1;
  return flatten(tokens.slice(opening + 1, end));
}

function flatten(tokens: readonly Token[]): string {
  return tokens.map((token) => (token.type.endsWith("break") ? " " : token.content)).join("");
}
