// One line of machine-readable facts: the end of every prompt, and what /status prints.
import type { ChannelFacts, PromptFacts } from "./facts.ts";
import { plainLine } from "../plain-line.ts";

const valueChars = 200;
/** What the channel can do, as far as a tool does it. */
const byTool = ["media", "voice", "polls", "threads", "reactions", "edits", "removals"] as const;

/**
 * `Runtime: agent=main | session=… | host=… | os=linux (x64) | … | thinking=off`; a field without a value is
 * left out, and so is `leaveOut`.
 */
export function runtimeLine({ stable, surface }: PromptFacts, leaveOut: readonly string[] = []): string {
  const fields: readonly (readonly [string, string | undefined])[] = [
    ["agent", stable.agent],
    ["session", surface.session],
    ["host", surface.host],
    ["repo", surface.repo],
    ["os", `${surface.os} (${surface.arch})`],
    ["node", surface.node],
    ["model", surface.model],
    ["default_model", surface.defaultModel],
    ["shell", surface.shell],
    ["channel", surface.channel?.name],
    [
      "capabilities",
      surface.channel === undefined
        ? undefined
        : capabilityNames(surface.channel, stable.tools.has("message")),
    ],
    ["thinking", surface.thinking],
  ];
  const shown = fields.flatMap(([name, value]) =>
    value === undefined || leaveOut.includes(name)
      ? []
      : [`${name}=${plainLine(value, valueChars).replaceAll("|", "/")}`],
  );
  return `Runtime: ${shown.join(" | ")}`;
}

function capabilityNames({ capabilities, buttons }: ChannelFacts, hasTool: boolean): string {
  const names = [
    ...(hasTool && buttons === "on" ? ["inlineButtons"] : []),
    ...(hasTool ? byTool.filter((name) => capabilities[name]) : []),
    ...(capabilities.replyTags ? ["replyTags"] : []),
  ];
  return names.join(",") || "none";
}
