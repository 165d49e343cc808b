// What the command line costs: the time from the shell to its exit, beside bare Node, with a gateway that
// runs, with one that does not. `node bench/cli.ts [--json <file>]`
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { json: { type: "string" } } });
const runs = 11;
const parley = fileURLToPath(new URL("../bin/parley", import.meta.url));

const home = await mkdtemp(join(tmpdir(), "parley-bench-cli-"));
const env = { ...process.env, PARLEY_HOME: home };
const free = createServer().listen(0, "127.0.0.1");
await once(free, "listening");
const { port } = free.address() as AddressInfo;
free.close();
await writeFile(join(home, "parley.json5"), JSON.stringify({ gateway: { port } }));

interface Row {
  readonly command: string;
  readonly medianMs: number;
  readonly worstMs: number;
}

function measure(command: string, program: string, ...args: readonly string[]): Row {
  const found = Array.from({ length: runs }, () => {
    const begun = performance.now();
    const { error } = spawnSync(program, args, { env, stdio: "ignore" });
    if (error !== undefined) throw error;
    return performance.now() - begun;
  }).toSorted((a, b) => a - b);
  return { command, medianMs: found[runs >> 1] ?? Number.NaN, worstMs: found.at(-1) ?? Number.NaN };
}

const rows = [
  measure("node -e 0", process.execPath, "-e", "0"),
  measure("parley --help", parley, "--help"),
  measure("parley doctor, stopped", parley, "doctor"),
];
const begun = performance.now();
const gateway = spawn(parley, ["start"], { env, stdio: ["ignore", "pipe", "ignore"] });
try {
  await once(gateway.stdout, "data");
  const startMs = performance.now() - begun;
  rows.push({ command: "parley start, to ready", medianMs: startMs, worstMs: startMs });
  for (const command of ["status", "doctor", "config get gateway.port", "sessions list"])
    rows.push(measure(`parley ${command}`, parley, ...command.split(" ")));
  const restart = performance.now();
  spawnSync(parley, ["restart"], { env, stdio: "ignore" });
  const restartMs = performance.now() - restart;
  rows.push({ command: "parley restart, idle", medianMs: restartMs, worstMs: restartMs });
} finally {
  gateway.kill("SIGTERM");
  await once(gateway, "exit");
  await rm(home, { recursive: true });
}
console.log("| command | median ms | worst ms |\n| --- | --- | --- |");
for (const { command, medianMs, worstMs } of rows)
  console.log(`| ${command} | ${medianMs.toFixed(0)} | ${worstMs.toFixed(0)} |`);
if (values.json !== undefined) await writeFile(values.json, JSON.stringify(rows, null, 2));
