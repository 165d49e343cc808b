// The gateway as an update sees it, asks it and starts it again.
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { systemClock, type Clock } from "@parley/protocol";
import { expect, onTestFinished, test } from "vitest";
import { watchedGateway } from "../src/update/watched-gateway.ts";
import { fakeGateway, stateFolder } from "./fake-gateway.ts";

/** The launcher writes down how it was called; `systemctl`, if there is one, what it was asked. */
function watched(home: string, options: { readonly systemctl?: string; readonly clock?: Clock } = {}) {
  const bin = join(home, "bin");
  mkdirSync(bin, { recursive: true });
  const programs = {
    launcher: `echo "$PWD $*" > "$PARLEY_HOME/launched"; echo said`,
    systemctl: options.systemctl,
  };
  for (const [name, body] of Object.entries(programs)) {
    if (body === undefined) continue;
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const [input, out, err] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const env = { PARLEY_HOME: home, HOME: home, PATH: `${bin}:/usr/bin:/bin` };
  const terminal = { env, input, out, err, json: false };
  const gateway = watchedGateway(terminal, join(bin, "launcher"), options.clock);
  return { gateway, said: () => String(out.read() ?? "") + String(err.read() ?? "") };
}

/** Time that passes as soon as somebody waits for it; `at` is told how much has. */
function racingClock(at: (sinceMs: number) => void): Clock {
  let sinceMs = 0;
  return {
    ...systemClock(),
    after(afterMs, run) {
      const timer = setImmediate(() => {
        sinceMs += afterMs;
        at(sinceMs);
        run();
      });
      return { cancel: () => clearImmediate(timer) };
    },
  };
}

/** A process that passes for a gateway, and ends when it is told to. */
async function gatewayProcess(home: string, ...args: readonly string[]): Promise<number> {
  const script =
    "process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000); console.log('up')";
  const child = spawn(process.execPath, ["-e", script, "gateway", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  writeFileSync(join(home, "daemon.pid"), `${child.pid}\n`);
  return child.pid ?? 0;
}

const status = {
  bootId: "b",
  version: "1.2.3",
  state: "degraded",
  reasons: ["x", "y"],
  turnsRunning: 0,
  deliveriesWaiting: 0,
  channels: [
    { channel: "telegram", account: "a", state: "ok" },
    { channel: "discord", account: "b", state: "degraded" },
    { channel: "telegram", account: "c", state: "down" },
    { channel: "discord", account: "d", state: "ok" },
    { channel: "telegram", account: "e", state: "elsewhere", reason: "node edge-2 leads it" },
    { channel: "telegram", account: "f", state: "elsewhere", reason: "no node leads it yet" },
  ],
};

test("it is how it says, with the accounts that hear; none is there where nothing listens or nobody is let in", async () => {
  const { home } = await fakeGateway(() => status);
  expect(await watched(home).gateway.now()).toEqual({
    bootId: "b",
    version: "1.2.3",
    state: "degraded",
    reasons: ["x", "y"],
    up: ["telegram:a", "discord:d", "telegram:e"],
  });
  expect(await watched(stateFolder("{ gateway: { port: 1 } }")).gateway.now()).toBeNull();
  const closing = await fakeGateway(() => status, "it closes");
  expect(await watched(closing.home).gateway.now()).toBeNull();
});

test("a process that does not listen yet is there; none is without its number", async () => {
  const home = stateFolder("{ gateway: { port: 1 } }");
  const { gateway } = watched(home);
  expect(await gateway.isThere()).toBe(false);
  await gatewayProcess(home);
  expect(await gateway.isThere()).toBe(true);
});

test("a node with a name is there as well, but not one of another machine, and none of two", async () => {
  const home = stateFolder("{ gateway: { port: 1 } }");
  const { gateway } = watched(home);
  const nodeAt = async (name: string, host: string): Promise<void> => {
    mkdirSync(join(home, "nodes", name), { recursive: true });
    await gatewayProcess(join(home, "nodes", name));
    writeFileSync(join(home, "nodes", name, "daemon.boot"), JSON.stringify({ boot: "b", host }));
  };
  await nodeAt("far", `not-${hostname()}`);
  expect(await gateway.isThere()).toBe(false);
  await nodeAt("one", hostname());
  expect(await gateway.isThere()).toBe(true);
  await nodeAt("two", hostname());
  expect(await gateway.isThere()).toBe(false);
});

test("a node that the launcher starts again keeps its role, its name and its port, also beside another node", async () => {
  const words = ["--role", "worker", "--other", "x", "--node=w-1", "--port", "0"];
  const answers = { ...status, pid: 0 };
  const { home } = await fakeGateway(() => answers);
  for (const name of ["w-2", "w-1"]) {
    mkdirSync(join(home, "nodes", name), { recursive: true });
    answers.pid = await gatewayProcess(join(home, "nodes", name), ...(name === "w-1" ? words : []));
  }
  const ran = await watched(home).gateway.ranAs();
  expect(ran).toEqual({ args: ["--role", "worker", "--node", "w-1", "--port", "0"], service: null });
});

test("restarted it is told why, and nothing is started", async () => {
  const told: unknown[] = [];
  const fake = await fakeGateway(({ method, params }) => {
    told.push([method, params]);
    return { ...status, pid: 4_711 };
  });
  const { gateway, said } = watched(fake.home);
  await gateway.restart();
  expect(told).toEqual([["restart", { reason: "parley update" }]]);
  expect([existsSync(join(fake.home, "launched")), said()]).toEqual([false, ""]);
});

test("another process than the one that stopped it starts it with the words of before", async () => {
  const home = stateFolder("{ gateway: { port: 1 } }");
  await gatewayProcess(home, "--role", "worker", "--port", "0");
  const before = watched(home).gateway;
  const ran = await before.ranAs();
  expect(ran).toEqual({ args: ["--role", "worker", "--port", "0"], service: null });
  await before.stop();
  expect(await before.ranAs()).toBeNull();
  await watched(home, { clock: racingClock(() => undefined) }).gateway.start(ran ?? undefined);
  await expect
    .poll(() => existsSync(join(home, "launched")) && readFileSync(join(home, "launched"), "utf8"))
    .toBe(`${home} start --role worker --port 0\n`);
});

test.each([
  ["user", "--user start parley.service\n"],
  ["system", "start parley.service\n"],
] as const)(
  "the %s service that ran it starts it, asked by another process, and the launcher does not",
  async (scope, asked) => {
    const home = stateFolder("{ gateway: { port: 1 } }");
    const pid = await gatewayProcess(home);
    const [own, other] = scope === "user" ? [pid, 9] : [9, pid];
    const systemctl = `case "$*" in *show*) case "$1" in --user) echo MainPID=${own};; *) echo MainPID=${other};; esac;; *) echo "$@" >> "$HOME/asked";; esac`;
    const ran = await watched(home, { systemctl }).gateway.ranAs();
    expect(ran).toEqual({ args: [], service: { manager: "systemd", scope, name: "parley" } });
    await watched(home, { systemctl }).gateway.start(ran ?? undefined);
    expect(readFileSync(join(home, "asked"), "utf8")).toBe(asked);
    expect(existsSync(join(home, "launched"))).toBe(false);
  },
);

test("stopped it ends without a word to the terminal; where none runs there is nothing to stop", async () => {
  const home = stateFolder("{ gateway: { port: 1 } }");
  const { gateway, said } = watched(home);
  await gateway.stop();
  await gatewayProcess(home);
  await gateway.stop();
  expect([await gateway.isThere(), said()]).toEqual([false, ""]);
});

test("started by nobody within three seconds, the launcher starts it on its state folder, with a log of its own", async () => {
  const home = stateFolder("{ gateway: { port: 1 } }");
  let passedMs = 0;
  const { gateway } = watched(home, { clock: racingClock((sinceMs) => (passedMs = sinceMs)) });
  await gateway.start();
  expect(passedMs).toBe(3_000);
  const log = join(home, "logs/start.log");
  await expect.poll(() => readFileSync(log, "utf8")).toBe("said\n");
  expect(readFileSync(join(home, "launched"), "utf8")).toBe(`${home} start\n`);
  expect(statSync(log).mode & 0o777).toBe(0o600);
});

test("started by others meanwhile, it is left to them", async () => {
  const home = stateFolder("{ gateway: { port: 1 } }");
  const pid = await gatewayProcess(home);
  writeFileSync(join(home, "daemon.pid"), "");
  let passedMs = 0;
  const clock = racingClock((sinceMs) => {
    passedMs = sinceMs;
    if (sinceMs === 2_800) writeFileSync(join(home, "daemon.pid"), `${pid}\n`);
  });
  await watched(home, { clock }).gateway.start();
  expect([passedMs, existsSync(join(home, "logs"))]).toEqual([2_800, false]);
});

test.each([
  [200, null],
  [404, null],
  [499, null],
  [500, "it answers 500"],
  [503, "it answers 503"],
])("a page that answers %i: %s", async (code, trouble) => {
  const server = createServer((request, response) =>
    response.writeHead(request.url === "/" ? code : 418).end("x"),
  );
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  expect(await watched(stateFolder(`{ gateway: { port: ${port} } }`)).gateway.pageTrouble()).toBe(trouble);
});

test("a page that cannot be reached, or says nothing for ten seconds, is told", async () => {
  const { gateway } = watched(stateFolder("{ gateway: { port: 1 } }"));
  expect(await gateway.pageTrouble()).toMatch(/./);
  const server = createServer(() => undefined);
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  let passedMs = 0;
  const silent = watched(stateFolder(`{ gateway: { port: ${port} } }`), {
    clock: racingClock((sinceMs) => (passedMs = sinceMs)),
  });
  expect([await silent.gateway.pageTrouble(), passedMs]).toEqual([
    expect.stringContaining("the page"),
    10_000,
  ]);
});
