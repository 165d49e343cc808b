// Runs commands, one after another, in a sandbox that may write the workspace, as whoever runs this: `node
// sandboxed-command.ts WORKSPACE COMMAND...`. What each said ends with a NUL.
import { silentLog, systemClock, systemIds } from "@parley/protocol";
import { openCommands, rooted, workspaceFiles } from "../src/index.ts";
import { exec } from "../src/tools/exec.ts";
import { full, hostPath, inMap, said, sessionPorts, writingSandbox } from "./stage.ts";

const [workspace = "", ...asked] = process.argv.slice(2);
const clock = systemClock();
const sandbox = await writingSandbox(workspace);
const commands = await openCommands(
  { records: inMap(new Map()), onEnd: async () => undefined, clock, ids: systemIds(), log: silentLog },
  (root) => rooted({ root }),
);
const tool = exec({
  ...sessionPorts,
  owner: true,
  vision: false,
  timeZone: "UTC",
  files: workspaceFiles({ root: workspace, inside: sandbox.inside }),
  sandbox,
  clock,
  exec: { commands, policy: full, host: { PATH: hostPath }, timeoutSeconds: 60 },
});
for (const command of asked) process.stdout.write(`${await said(tool, { command, yieldMs: 60_000 })}\0`);
process.exit(0);
