// Describes a tool apart from what it does: stated once, in the tool's own file. The catalogue, the prompt's
// list and the tool that the model gets take it from there.
import type { ToolEffect } from "./tool.ts";

const toolProfiles = ["minimal", "coding", "messaging", "full"] as const;
export type ToolProfile = (typeof toolProfiles)[number];

type ToolSection =
  | "fs"
  | "runtime"
  | "web"
  | "memory"
  | "sessions"
  | "ui"
  | "messaging"
  | "automation"
  | "nodes"
  | "agents"
  | "media";

export interface ToolListing {
  /** snake_case: the model's spelling. */
  readonly name: string;
  /** For people. */
  readonly label: string;
  /** Its tools are also the group of that name: "group:fs". */
  readonly section: ToolSection;
  /** `full` has every tool, so no tool names it. */
  readonly profiles: readonly Exclude<ToolProfile, "full">[];
  readonly effect: ToolEffect;
  /** One line for the prompt's tool list. */
  readonly summary: string;
}
