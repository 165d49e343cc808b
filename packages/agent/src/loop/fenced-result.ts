// Fences a result whose text is of strangers before it is cut or kept, so that neither the transcript nor a
// spilled file has it bare. The fence's mark is made from turn and text: no page knows the turn, and the same
// answer stays the same, by which the breaker of repeats knows it.
import { createHash } from "node:crypto";
import { label } from "@parley/protocol";
import type { ToolResult, UntrustedOrigin } from "@parley/tools";
import { fence } from "../untrusted.ts";

const sourceChars = 200;

export const sourceOf = ({ source }: UntrustedOrigin): string => label(source, sourceChars);

export function fencedResult(result: ToolResult, turn: string): ToolResult {
  const { untrusted, content } = result;
  if (untrusted === undefined) return result;
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const mark = createHash("sha256")
    .update(JSON.stringify([turn, text]))
    .digest("hex")
    .slice(0, 16);
  const pictures = content.filter((part) => part.type === "image");
  const fenced = fence("RESULT", mark, `text from ${sourceOf(untrusted)}.`, text);
  const { note } = untrusted;
  const told = note === undefined ? fenced : `${fenced}\n${note}`;
  return { ...result, content: [{ type: "text", text: told }, ...pictures] };
}
