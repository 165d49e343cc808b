// How to say nothing. Repetitive on purpose: models append the token to real answers unless shown that it is wrong.
import { silentToken } from "../control-tokens.ts";
import type { VolatileSection } from "../section.ts";

const text = [
  `When you have nothing to say, respond with ONLY: ${silentToken}`,
  "Rules:",
  "- It must be your ENTIRE message: nothing else.",
  "- Never append it to an actual response.",
  "- Never wrap it in markdown or code blocks.",
  `Wrong: "Here's the answer... ${silentToken}"`,
  `Wrong: "**${silentToken}**"`,
  `Right: ${silentToken}`,
].join("\n");

export const silentReplies: VolatileSection = {
  id: "silent_replies",
  title: "Silent Replies",
  level: 2,
  zone: "volatile",
  modes: ["full"],
  priority: 50,
  render: ({ surface }) => (surface.contextTellsSilence ? null : text),
  why: ({ surface }) => (surface.contextTellsSilence ? "the conversation's context already tells it" : "always in full mode"),
};
