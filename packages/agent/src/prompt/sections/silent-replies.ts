// Says how to stay silent where nothing need be said: whoever writes in private is owed words, and is never
// shown the token. Repetitive on purpose: models append it to real answers unless shown that it is wrong.
import { silentToken } from "../control-tokens.ts";
import type { SurfaceFacts } from "../facts.ts";
import type { VolatileSection } from "../section.ts";

const when = {
  free: `When you have nothing to say, respond with ONLY: ${silentToken}`,
  unasked: `When nobody asked you and you have nothing to add, respond with ONLY: ${silentToken}`,
} as const;
const rules = [
  "Rules:",
  "- It must be your ENTIRE message: nothing else.",
  "- Never append it to an actual response.",
  "- Never wrap it in markdown or code blocks.",
  `Wrong: "Here's the answer... ${silentToken}"`,
  `Wrong: "**${silentToken}**"`,
  `Right: ${silentToken}`,
];
const asked = "- Never to a message that calls you by name or answers yours: that one gets words.";

function text(silence: Exclude<SurfaceFacts["silence"], "none">): string {
  return [when[silence], ...rules, ...(silence === "unasked" ? [asked] : [])].join("\n");
}

export const silentReplies: VolatileSection = {
  id: "silent_replies",
  title: "Silent Replies",
  level: 2,
  zone: "volatile",
  modes: ["full"],
  priority: 50,
  render: ({ surface: { silence, contextTellsSilence } }) =>
    silence === "none" || contextTellsSilence ? null : text(silence),
  why: ({ surface: { silence, contextTellsSilence } }) =>
    silence === "none"
      ? "whoever writes here is owed an answer"
      : contextTellsSilence
        ? "the conversation's context already tells it"
        : "where nothing need be said",
};
