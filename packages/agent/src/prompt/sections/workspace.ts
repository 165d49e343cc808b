// Where the agent works. In a sandbox exec sees another path than the file tools do.
import type { StableFacts } from "../facts.ts";
import { plainLine } from "../plain-line.ts";
import { neverDropped, type StableSection } from "../section.ts";

const pathChars = 1024;

export const workspace: StableSection = {
  id: "workspace",
  title: "Workspace",
  level: 2,
  zone: "stable",
  modes: ["full", "minimal"],
  priority: neverDropped,
  render: (facts) => `Your working directory is: ${plainLine(facts.workspace, pathChars)}\n${paths(facts)}`,
  why: ({ sandbox }) => (sandbox === undefined ? "always" : "always; with sandbox paths"),
};

function paths({ sandbox, tools, workspace: dir }: StableFacts): string {
  if (sandbox === undefined)
    return "Relative paths resolve against it. Treat it as your only workspace for file work unless told otherwise.";
  const container = plainLine(sandbox.containerWorkspace, pathChars);
  const exec = `\`${tools.name("exec")}\``;
  return sandbox.access === "none"
    ? `File tools use host paths under ${plainLine(dir, pathChars)}. ${exec} runs in ${container}, where the workspace is not mounted.`
    : `File tools use host paths under ${plainLine(dir, pathChars)}. ${exec} sees the same files under ${container}; prefer relative paths, which work in both.`;
}
