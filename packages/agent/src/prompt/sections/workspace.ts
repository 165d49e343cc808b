// Says where the agent works, as its tools find it. A sandbox shows the workspace under another path, or a
// folder of its own in its place.
import type { SandboxFacts, StableFacts } from "../facts.ts";
import { plainLine } from "../../plain-line.ts";
import { neverDropped, type StableSection } from "../section.ts";

const pathChars = 1024;
const fileTools = ["read", "write", "edit", "apply_patch"];

export const workspace: StableSection = {
  id: "workspace",
  title: "Workspace",
  level: 2,
  zone: "stable",
  modes: ["full", "minimal"],
  priority: neverDropped,
  render: (facts) =>
    [`Your working directory is: ${plainLine(directory(facts), pathChars)}`, ...paths(facts)].join("\n"),
  why: ({ sandbox }) => (sandbox === undefined ? "always" : "always; with sandbox paths"),
};

function directory({ sandbox, workspace: dir }: StableFacts): string {
  return sandbox?.access === "none" ? sandbox.containerWorkspace : dir;
}

function paths(facts: StableFacts): string[] {
  const { sandbox, tools } = facts;
  if (!tools.any(...fileTools, "exec")) return [];
  if (sandbox === undefined)
    return [
      "Relative paths resolve against it. Treat it as your only workspace for file work unless told otherwise.",
    ];
  if (sandbox.access !== "none") return shared(facts, sandbox);
  const shown =
    facts.mode === "full" && facts.skills.length > 0 && tools.has("read")
      ? " But skills can be read at their locations."
      : "";
  return [
    "Relative paths resolve against it. It is a folder of the sandbox's own, kept between turns; all file work happens there.",
    `The agent's workspace, with the files of Project Context, cannot be reached from it.${shown}`,
  ];
}

function shared({ tools, workspace: dir }: StableFacts, { containerWorkspace }: SandboxFacts): string[] {
  const inside = plainLine(containerWorkspace, pathChars);
  const forFiles = tools.any(...fileTools)
    ? [`File tools use host paths under ${plainLine(dir, pathChars)}.`]
    : [];
  const forExec = tools.has("exec")
    ? [`\`${tools.name("exec")}\` sees the same files under ${inside}; prefer relative paths.`]
    : [];
  return [[...forFiles, ...forExec].join(" ")];
}
