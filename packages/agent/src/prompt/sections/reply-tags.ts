// Says how to quote a message, on surfaces that can.
import type { VolatileSection } from "../section.ts";

export const replyTags: VolatileSection = {
  id: "reply_tags",
  title: "Reply Tags",
  level: 2,
  zone: "volatile",
  modes: ["full"],
  priority: 30,
  render: ({ surface }) =>
    surface.channel?.capabilities.replyTags === true
      ? [
          "To request a native reply/quote, include one tag in your reply, first:",
          "- [[reply_to_current]] replies to the triggering message; prefer it.",
          "- [[reply_to:<id>]] only when an id was explicitly given.",
          "Tags are stripped before sending.",
        ].join("\n")
      : null,
  why: ({ surface }) =>
    surface.channel === undefined
      ? "no conversation"
      : surface.channel.capabilities.replyTags
        ? `${surface.channel.name} can quote`
        : `${surface.channel.name} cannot quote`,
};
