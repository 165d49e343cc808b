// The daemon's commands, for an agent that may touch the daemon.
import type { StableSection } from "../section.ts";

const text = [
  "Parley is run by its own commands; do not invent others.",
  "- `parley status`: is the daemon well, and why not",
  "- `parley start`: run it in the foreground; SIGTERM stops it, and its supervisor starts it again",
  "- `parley why <id|text>`: what became of a message",
  "- `parley lanes`, `parley outbox list`, `parley dead list`: what waits, what did not arrive, what failed",
  "- `parley prompt explain`: what this prompt is made of",
  "Unsure of a command or flag: run `parley --help` before you answer.",
].join("\n");

export const cliReference: StableSection = {
  id: "cli_reference",
  title: "Parley CLI Quick Reference",
  level: 2,
  zone: "stable",
  modes: ["full", "minimal"],
  priority: 30,
  render: ({ tools }) => (tools.has("gateway") ? text : null),
  why: ({ tools }) => (tools.has("gateway") ? "the gateway tool is available" : "no gateway tool"),
};
