// The daemon's commands, for an agent that may touch the daemon. A test runs each of them through the command
// line itself.
import { type StableFacts, runsOnHost } from "../facts.ts";
import { plainLine } from "../../plain-line.ts";
import type { StableSection } from "../section.ts";

const pathChars = 400;

/** Words of the command line, and what they do. */
const cliCommands: readonly (readonly [command: string, does: string])[] = [
  ["start", "run it in the foreground"],
  ["stop", "end it: it finishes what it can, the rest goes on at the next start"],
  ["restart", "the same, and start it again in its place"],
  ["reload", "read the config and its secrets again"],
  ["status", "is it well, and why not"],
  ["doctor", "what is wrong or unsafe, and how to mend it"],
  ["logs", "what it logged"],
  ["why", "what became of a message, by its id or its text"],
  ["lanes", "what waits"],
  ["outbox list", "answers that did not arrive"],
  ["dead list", "messages that failed for good"],
  ["config get", "the configuration"],
  ["prompt explain", "what this prompt is made of"],
];

export const cliReference: StableSection = {
  id: "cli_reference",
  title: "Parley CLI Quick Reference",
  level: 2,
  zone: "stable",
  modes: ["full", "minimal"],
  priority: 30,
  render: (facts) => (facts.tools.has("gateway") ? text(facts) : null),
  why: ({ tools }) => (tools.has("gateway") ? "the gateway tool is available" : "no gateway tool"),
};

function text(facts: StableFacts): string {
  return [
    "Parley is run by its own commands; do not invent others.",
    ...cliCommands.map(([command, does]) => `- \`parley ${command}\`: ${does}`),
    facts.cli !== undefined && runsOnHost(facts)
      ? `Unsure of a command or flag: run \`${plainLine(facts.cli, pathChars)} --help\` before you answer.`
      : "You cannot run them from here: name them to the person.",
  ].join("\n");
}
