// Runs one command in a sandbox that may write the workspace, as whoever runs this: `node sandboxed-command.ts WORKSPACE COMMAND`.
import { silentLog, systemClock, systemIds, type SessionKey } from "@parley/protocol";
import { openCommands, openSandbox, rooted, workspaceFiles } from "../src/index.ts";
import { exec } from "../src/tools/exec.ts";
import { full, hostPath, inMap, said } from "./stage.ts";

const [workspace = "", command = ""] = process.argv.slice(2);
const clock = systemClock();
const sandbox = await openSandbox(
  {
    backend: "bubblewrap",
    scope: "agent",
    workspaceAccess: "rw",
    network: false,
    limits: { memoryMb: 256, processes: 64, cpuSeconds: 20 },
    docker: { image: "none" },
  },
  {
    agent: "main",
    session: "agent:main:main" as SessionKey,
    workspace,
    folder: "/nowhere",
    readRoots: [],
    hidden: [],
    host: { PATH: hostPath },
    mark: () => "m",
  },
);
const commands = await openCommands(
  { records: inMap(new Map()), onEnd: async () => undefined, clock, ids: systemIds(), log: silentLog },
  (root) => rooted({ root }),
);
const tool = exec({
  owner: true,
  vision: false,
  timeZone: "UTC",
  files: workspaceFiles({ root: workspace, inside: sandbox.inside }),
  sandbox,
  clock,
  exec: { commands, policy: full, host: { PATH: hostPath }, timeoutSeconds: 60 },
});
process.stdout.write(await said(tool, { command, yieldMs: 60_000 }));
process.exit(0);
