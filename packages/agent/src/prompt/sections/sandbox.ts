// The truth about the sandbox, so that the agent does not blame the host for what the sandbox forbids.
import type { SandboxFacts, StableFacts } from "../facts.ts";
import { plainLine } from "../../plain-line.ts";
import { neverDropped, type StableSection } from "../section.ts";

const pathChars = 1024;
const readOnlyParts =
  "Commands find files that enter prompts (AGENTS.md, MEMORY.md, memory/, skills/ and the like) and names that begin with a dot (.git, .vscode) read-only; new ones that they make are put aside when they end.";
const access = {
  none: "the workspace is not mounted",
  ro: "the workspace is mounted read-only",
  rw: "the workspace is mounted read-write",
} as const;

export const sandbox: StableSection = {
  id: "sandbox",
  title: "Sandbox",
  level: 2,
  zone: "stable",
  modes: ["full", "minimal"],
  priority: neverDropped,
  render: (facts) => (facts.sandbox === undefined ? null : text(facts, facts.sandbox)),
  why: ({ sandbox: facts }) => (facts === undefined ? "no sandbox" : `sandboxed with ${facts.kind}`),
};

function text({ tools, workspace }: StableFacts, facts: SandboxFacts): string {
  const inside = plainLine(facts.containerWorkspace, pathChars);
  const place =
    facts.access === "none"
      ? `Folder of the sandbox: ${inside}.`
      : `Workspace in the sandbox: ${inside}; on the host: ${plainLine(workspace, pathChars)}.`;
  return [
    `You run in a sandbox (${plainLine(facts.kind, 40)}); tools may be limited by it.`,
    `${place} Access: ${access[facts.access]}.`,
    ...(facts.access === "rw" && tools.has("exec") ? [readOnlyParts] : []),
    facts.network === "egress"
      ? "Network: http and https by the proxy in HTTPS_PROXY; nothing else, no DNS."
      : `Network: ${facts.network}.`,
    ...(facts.browserUrl === undefined ? [] : [`Browser bridge: ${plainLine(facts.browserUrl, pathChars)}`]),
    facts.elevated
      ? "Elevated exec is available: it leaves the sandbox, so use it only when asked, and say so."
      : "Elevated exec is not available.",
    ...(tools.has("sessions_spawn") ? ["Sub-agents stay sandboxed: no elevated or host access."] : []),
    "Need something from outside? Ask first.",
  ].join("\n");
}
