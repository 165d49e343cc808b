// Says how often to react, on surfaces that have reactions, for agents with a tool to react with.
import type { PromptFacts } from "../facts.ts";
import type { VolatileSection } from "../section.ts";

const guidance = {
  minimal: [
    "Reactions are enabled in MINIMAL mode. React ONLY when truly relevant:",
    "- Acknowledge important user requests or confirmations.",
    "- Express genuine sentiment (humor, appreciation) sparingly.",
    "- Avoid reacting to routine messages or your own replies.",
    "Guideline: at most 1 reaction per 5-10 exchanges.",
  ],
  extensive: [
    "Reactions are enabled in EXTENSIVE mode. Feel free to react liberally:",
    "- Acknowledge messages with appropriate emojis.",
    "- Express sentiment and personality through reactions.",
    "- React to interesting content, humor, or notable events.",
    "Guideline: react whenever it feels natural.",
  ],
} as const;

export const reactions: VolatileSection = {
  id: "reactions",
  title: "Reactions",
  level: 2,
  zone: "volatile",
  modes: ["full"],
  priority: 20,
  render: (facts) => {
    const { reactions: level } = facts.surface;
    return level === "off" || !able(facts) ? null : guidance[level].join("\n");
  },
  why: (facts) =>
    facts.surface.reactions === "off"
      ? "reaction guidance is off"
      : able(facts)
        ? `guidance: ${facts.surface.reactions}`
        : facts.stable.tools.has("message")
          ? "the channel has no reactions"
          : "no tool to react with",
};

function able({ stable, surface }: PromptFacts): boolean {
  return stable.tools.has("message") && surface.channel?.capabilities.reactions === true;
}
