// One line of machine-readable facts: the end of every prompt, and what /status prints.
import type { Capabilities } from "@parley/protocol";
import type { PromptFacts } from "./facts.ts";
import { plainLine } from "./plain-line.ts";

const valueChars = 200;
const named = ["media", "voice", "polls", "threads", "typing", "reactions", "edits", "removals", "replyTags"] as const;

/** `Runtime: agent=main | session=… | host=… | os=linux (x64) | … | thinking=off`; a field without a value is left out, and so is `leaveOut`. */
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
      surface.channel === undefined ? undefined : capabilityNames(surface.channel.capabilities, surface.channel.buttons === "on"),
    ],
    ["thinking", surface.thinking],
  ];
  const shown = fields.flatMap(([name, value]) =>
    value === undefined || leaveOut.includes(name) ? [] : [`${name}=${plainLine(value, valueChars).replaceAll("|", "/")}`],
  );
  return `Runtime: ${shown.join(" | ")}`;
}

function capabilityNames(capabilities: Capabilities, buttons: boolean): string {
  const names: string[] = named.filter((name) => capabilities[name]);
  return [...(buttons ? ["inlineButtons"] : []), ...names].join(",") || "none";
}
