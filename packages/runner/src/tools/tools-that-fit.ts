// Leaves tools out where a model's window is too small for all their descriptions: a conversation with fewer
// tools goes on, one whose prompt fills the window does not. It looks at the tools and the window alone, so a
// model is told the same tools in every turn (I12).
import { schemaSize } from "@parley/agent";
import type { Tool } from "@parley/tools";

/** Of the window: the text of a prompt takes about as much of a small one, and the rest is for talk. */
const mostShare = 0.25;

/** The tools that do not fit, with the reason: the one with the longest description goes first. */
export function toolsThatDoNotFit(
  tools: readonly Pick<Tool, "name" | "description" | "parameters">[],
  contextWindow: number,
): readonly { readonly tool: string; readonly reason: string }[] {
  const sized = tools.map((tool) => ({ name: tool.name, tokens: schemaSize(tool).tokens }));
  const room = Math.floor(contextWindow * mostShare);
  let taken = sized.reduce((sum, { tokens }) => sum + tokens, 0);
  const left: { tool: string; reason: string }[] = [];
  for (const { name, tokens } of sized.toSorted((a, b) => b.tokens - a.tokens)) {
    if (taken <= room) break;
    taken -= tokens;
    left.push({
      tool: name,
      reason: `its description (${tokens} tokens) does not fit: those of all tools may take ${room} tokens, a quarter of the model's window`,
    });
  }
  return left;
}
