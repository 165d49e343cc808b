// The last words of the prompt: where this turn runs, and who sees the reasoning.
import { runtimeLine } from "../runtime-line.ts";
import { neverDropped, type VolatileSection } from "../section.ts";

const seen = {
  off: "hidden unless on or stream",
  on: "shown as a message of its own",
  stream: "shown while it happens, where the channel can",
} as const;

export const runtime: VolatileSection = {
  id: "runtime",
  title: "Runtime",
  level: 2,
  zone: "volatile",
  modes: ["full", "minimal"],
  priority: neverDropped,
  render: (facts) => {
    const { reasoning: level, channel } = facts.surface;
    const toggle = channel === undefined || channel.unheard ? "" : " Toggle with /reasoning.";
    return `${runtimeLine(facts)}\nReasoning: ${level} (${seen[level]}).${toggle}`;
  },
  why: () => "always",
};
