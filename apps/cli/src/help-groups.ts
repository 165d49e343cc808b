// Under which heading of the help each command stands.
import { Command, Help } from "commander";

const atShell = "At the shell:";

const groups: { readonly [heading: string]: readonly string[] } = {
  "Set up and run:": ["setup", "start", "stop", "restart", "reload", "service", "update", "config"],
  "See how it is:": ["status", "channels", "doctor", "logs", "nodes", "usage", "audit", "resume"],
  "Talk, and let people in:": [
    "chat",
    "send",
    "threads",
    "pair",
    "devices",
    "node",
    "approvals",
    "questions",
  ],
  "What became of a message:": ["why", "sessions", "lanes", "outbox", "dead", "replay", "eval"],
  "What the agent has:": ["models", "tools", "mcp", "skills", "hooks", "memory", "cron", "canvas", "prompt"],
  "Keep and move its data:": [
    "import",
    "backup",
    "backups",
    "restore",
    "migrate",
    "export",
    "forget",
    "retention",
  ],
  [atShell]: ["completion", "help"],
};

/** In the order of the headings. */
export function groupHelp(program: Command): void {
  const named = Object.entries(groups).flatMap(([heading, names]) =>
    names.map((name) => [name, heading] as const),
  );
  for (const [name, heading] of named)
    program.commands.find((each) => each.name() === name)?.helpGroup(heading);
  program.addHelpCommand(
    new Command("help").argument("[command]").description("show the help of a command").helpGroup(atShell),
  );
  const places = named.map(([name]) => name);
  const placeOf = (command: Command): number => {
    const found = places.indexOf(command.name());
    return found < 0 ? places.length : found;
  };
  const plain = new Help();
  program.configureHelp({
    visibleCommands: (parent) => plain.visibleCommands(parent).toSorted((a, b) => placeOf(a) - placeOf(b)),
  });
}
