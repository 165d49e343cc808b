// Starts daemons for the benches of the console, and reads from Chromium what a page costs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import type { CDPSession } from "playwright-core";
import { percentile } from "./converse.ts";

export interface Gateway {
  readonly url: string;
  readonly code: string;
  /** Milliseconds of processor time of the daemon so far; the kernel counts in tens. */
  cpuMs(): number;
  stop(): Promise<void>;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

export async function startGateway(checkout: string, home: string): Promise<Gateway> {
  const child = spawn(process.execPath, [join(checkout, "apps/gateway/src/main.ts")], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env["PATH"], HOME: home, PARLEY_HOME: home },
  });
  const exited = once(child, "exit");
  let out = "";
  for (;;) {
    const found = /(http:\/\/\S+?)\/?#code=(\S+)/.exec(out);
    if (found?.[1] !== undefined && found[2] !== undefined)
      return {
        url: found[1],
        code: found[2],
        cpuMs: () => cpuMsOf(child.pid ?? 0),
        stop: async () => void (child.kill("SIGTERM"), await exited),
      };
    const chunk = await Promise.race([once(child.stdout, "data"), exited.then(() => null)]);
    if (chunk === null) throw new Error(`the daemon ended before it was ready: ${out}`);
    out += String(chunk[0]);
  }
}

function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return (user + system) * 10;
}

/** Milliseconds of processor time of the page's main thread so far. */
async function busyOf(cdp: CDPSession): Promise<{ readonly [what: string]: number }> {
  const { metrics } = await cdp.send("Performance.getMetrics");
  const ms = (name: string): number => 1_000 * (metrics.find((each) => each.name === name)?.value ?? 0);
  return {
    task: ms("TaskDuration"),
    script: ms("ScriptDuration"),
    layout: ms("LayoutDuration"),
    style: ms("RecalcStyleDuration"),
  };
}

export async function spent(
  cdp: CDPSession,
  work: () => Promise<unknown>,
): Promise<{ readonly [what: string]: number }> {
  const before = await busyOf(cdp);
  await work();
  const after = await busyOf(cdp);
  return Object.fromEntries(Object.entries(after).map(([what, ms]) => [what, ms - (before[what] ?? 0)]));
}

/** Times between frames while a script runs in each of them. */
export const frames = (count: number, each: string): string => `new Promise((resolve) => {
  const times = [];
  let before = performance.now();
  const frame = (now) => {
    times.push(now - before);
    before = now;
    if (times.length > ${count}) return resolve(times.slice(1));
    ${each};
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})`;

/** Of each measure. */
export const median = (
  of: readonly { readonly [what: string]: number }[],
): { readonly [what: string]: number } =>
  Object.fromEntries(
    Object.keys(of[0] ?? {}).map((what) => [
      what,
      Math.round(
        10 *
          percentile(
            of.map((each) => each[what] ?? 0),
            0.5,
          ),
      ) / 10,
    ]),
  );
