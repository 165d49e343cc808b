// Simulated tools that count what they did: `look` may be repeated, `write` and `send` may not (I7).
import type { Tool } from "@parley/tools";
import { isFault } from "@parley/protocol";
import type { Life } from "./life.ts";

/** How often each call had its effect: `<turn> <call id>`. */
export type Effects = Map<string, number>;

export function simulatedTools(life: Life, effects: Effects): readonly Tool[] {
  return (["look", "write", "send"] as const).map((name) => ({
    name,
    summary: name,
    description: name,
    parameters: { type: "object" },
    effect: ({ look: "reads", write: "writes", send: "sends" } as const)[name],
    parse: (args) => ({ ok: true, args }),
    async run(_args, { turn, callId, signal }) {
      const act = (): number => {
        const count = (effects.get(`${turn} ${callId}`) ?? 0) + 1;
        if (name !== "look") effects.set(`${turn} ${callId}`, count);
        return count;
      };
      try {
        await life.request(`tool.${name}`, `${turn} ${callId}`, act, { signal });
      } catch (error) {
        return {
          content: [{ type: "text", text: isFault(error) ? error.message : "failed" }],
          isError: true,
        };
      }
      return { content: [{ type: "text", text: "done" }] };
    },
  }));
}
