// Manners of a shared conversation, and the configured text of this one. Its name and its members' names are
// not here: they come from strangers and belong into the user message, fenced.
import type { PromptFacts } from "../facts.ts";
import { neverDropped, type VolatileSection } from "../section.ts";

const manners = [
  "Several people write here; each message begins with a label naming its sender, set by Parley.",
  "You are a participant, not the voice of any of them. Do not share what you know from private conversations.",
  "Answer when addressed or when you add something; otherwise let people talk.",
].join("\n");

export const groupContext: VolatileSection = {
  id: "group_context",
  title: "Group Chat Context",
  level: 2,
  zone: "volatile",
  modes: ["full"],
  priority: neverDropped,
  render: (facts) => {
    const lines = [
      ...(shared(facts) ? [manners] : []),
      ...(facts.surface.context === undefined ? [] : [facts.surface.context]),
    ];
    return lines.length === 0 ? null : lines.join("\n\n");
  },
  why: (facts) =>
    shared(facts)
      ? "others read along"
      : facts.surface.context === undefined
        ? "a private conversation without text of its own"
        : "the conversation has text of its own",
};

function shared({ surface }: PromptFacts): boolean {
  return surface.channel !== undefined && surface.channel.kind !== "dm";
}
