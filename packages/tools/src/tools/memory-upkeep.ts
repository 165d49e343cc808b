// Lets an agent look after its own notes at night: it is shown lines that are alike, and proposes which are
// to become one and which contradict each other. It writes no note; what it proposes, an owner accepts.
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import type { Unavailable } from "../ports/done.ts";
import { defineTool, textResult } from "../define-tool.ts";
import { fencedMemory, notedAfter } from "../memory-fence.ts";
import { resultRoom } from "../result-size.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.object({
  action: z.enum(["look", "propose"]),
  changes: z
    .array(
      z.object({
        kind: z.enum(["merge", "contradiction"]),
        lines: z
          .array(z.string().min(1).max(1_100))
          .min(2)
          .max(6)
          .describe(
            'Lines of one group, as "path#L3". Of a contradiction, the one that holds now comes first.',
          ),
        text: z.string().max(1_000).optional().describe("Of a merge: what stands in place of the lines."),
        why: z.string().max(300).default(""),
      }),
    )
    .max(50)
    .default([])
    .describe("For propose. None: nothing needs a change."),
});

export const memoryUpkeepListing: ToolListing = {
  name: "memory_upkeep",
  label: "Memory upkeep",
  section: "memory",
  profiles: ["coding"],
  effect: "writes",
  summary: "Propose how notes that repeat or contradict each other are to be tidied",
};

/** For the words around the lines. */
const wordBytes = 800;

export function memoryUpkeep(context: ToolContext): Tool | Unavailable {
  const { upkeep } = context;
  if (upkeep === undefined)
    return { unavailable: "only the nightly upkeep has it (agents.defaults.memorySearch.upkeep)" };
  const room = resultRoom(context) - wordBytes;
  return defineTool({
    ...memoryUpkeepListing,
    description:
      "look shows groups of lines of the notes that may say the same, or the opposite. propose asks an owner to change them; nothing is written before that.",
    args,
    keyed: true,
    async run({ action, changes }, scope) {
      if (action === "propose") {
        const { text, effects } = await upkeep.propose(scope, changes, room);
        return { ...textResult(text), ...(effects === undefined ? {} : { effects }) };
      }
      const { groups, more, untrusted } = await upkeep.look(scope, room);
      if (groups.length === 0) return textResult("No lines of the notes are alike. There is nothing to do.");
      const shown = groups.map((lines, at) =>
        [`Group ${at + 1}:`, ...lines.map(({ path, line, text }) => `${path}#L${line}: ${text.trim()}`)].join(
          "\n",
        ),
      );
      const left = more === 0 ? [] : [`${more} more groups wait for another night.`];
      return notedAfter(textResult([fencedMemory(shown.join("\n\n")), ...left].join("\n")), untrusted);
    },
  });
}
