// The surface of this conversation: how text is written for it, what a tool can do on it, how approvals are
// given.
import type { Capabilities, Dialect } from "@parley/protocol";
import type { ChannelFacts, PromptFacts } from "../facts.ts";
import type { VolatileSection } from "../section.ts";

const dialects: { readonly [D in Dialect]: string } = {
  telegram: "Write Markdown; Parley turns it into Telegram formatting. Tables do not show there: use lists.",
  discord:
    "Write Discord Markdown. Tables do not show there: use lists. Wrap several links in <> to keep previews off.",
  html: "Write Markdown; tables and code blocks show well.",
  markdown: "Write Markdown; a program reads it as you write it.",
  plain: "Write plain text: Markdown is shown as it stands.",
};

export const channel: VolatileSection = {
  id: "channel",
  title: "Channel",
  level: 2,
  zone: "volatile",
  modes: ["full"],
  priority: 60,
  render: (facts) => (facts.surface.channel === undefined ? null : text(facts, facts.surface.channel)),
  why: ({ surface }) =>
    surface.channel === undefined ? "no conversation" : `the turn answers on ${surface.channel.name}`,
};

function text(facts: PromptFacts, surface: ChannelFacts): string {
  const { name, kind, threaded, capabilities } = surface;
  return [
    `Current channel: ${name} (${kind}${threaded ? ", in a thread" : ""}). ${dialects[capabilities.dialect]}`,
    `Longer replies are split at ${capabilities.textChars} characters.`,
    ...(facts.stable.tools.has("message")
      ? [`Current channel supports: ${supported(surface).join(", ")}.`]
      : []),
    ...(threaded ? ["You are in a thread or topic; replies stay in it."] : []),
    ...approvals(facts),
  ].join("\n");
}

function supported({ capabilities }: ChannelFacts): string[] {
  const flags: readonly (readonly [keyof Capabilities, string])[] = [
    ["media", "media"],
    ["voice", "voice notes"],
    ["polls", "polls"],
    ["threads", "threads"],
    ["reactions", "reactions"],
    ["edits", "edits"],
    ["removals", "deletes"],
    ["pins", "pins"],
  ];
  const able = flags.filter(([flag]) => capabilities[flag] === true).map(([, word]) => word);
  return ["send", ...able];
}

function approvals({ stable: { tools }, surface }: PromptFacts): string[] {
  if (!surface.approvals || !tools.has("exec")) return [];
  return [
    "A command that needs approval is shown to a person by Parley itself, with native buttons, here or in private: rely on them. Do not write /approve commands.",
  ];
}
