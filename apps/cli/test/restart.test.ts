// Stop and restart against a gateway that answers as the test says: what is asked, what is waited for, what
// is said. The real one is driven by the newcomer's test.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Console } from "../src/console.ts";
import { argumentsOf, pidInHome, waitsFor, type Status } from "../src/gateway-process.ts";
import { isAlive, startOf } from "../src/is-alive.ts";
import { fakeGateway, parley, Refusal, stateFolder } from "./fake-gateway.ts";
import { passUntil, stopTime } from "./passing-time.ts";

const status = {
  version: "1.2.3",
  pid: process.pid,
  bootId: "old",
  state: "ok",
  reasons: [],
  configPath: "/c/parley.json5",
  turnsRunning: 0,
  deliveriesWaiting: 0,
};

test("restart says what it waits for and who is back", async () => {
  let looks = 0;
  const gateway = await fakeGateway(({ method }) => {
    if (method === "restart") return { pid: process.pid, turnsRunning: 1, deliveriesRunning: 0 };
    looks += 1;
    if (looks < 3) return { ...status, state: "draining", turnsRunning: 1, deliveriesWaiting: 2 };
    return looks < 5
      ? { ...status, bootId: "new", state: "starting" }
      : { ...status, bootId: "new", version: "2.0.0" };
  });
  const { exitCode, out, err } = await parley(gateway.home, ["restart"]);
  expect([exitCode, err]).toEqual([0, "Waiting for 1 turn to end and 2 answers to go out ...\n"]);
  expect(out).toMatch(/^Parley 2\.0\.0 is back after [\d.]+ s: ok \(process \d+\)\.\n$/);
});

test("restart does not end a gateway that could not start again: exit code 78", async () => {
  const gateway = await fakeGateway(({ method }) => {
    if (method === "restart")
      throw new Refusal(
        "invalid",
        'it would not come up again:\n/c/parley.json5:2:3 gateway.prot: unknown key "prot"',
      );
    return status;
  });
  const { exitCode, err } = await parley(gateway.home, ["restart"]);
  expect([exitCode, err]).toEqual([
    78,
    expect.stringContaining('/c/parley.json5:2:3 gateway.prot: unknown key "prot"'),
  ]);
  expect(gateway.requests.at(-1)?.method).toBe("restart");
});

test("restart gives up after its time and says where to look", async () => {
  const gateway = await fakeGateway(() => status);
  const { exitCode, err } = await parley(gateway.home, ["restart", "--timeout", "0.3"]);
  expect([exitCode, err]).toEqual([
    1,
    expect.stringContaining("is not back after 0.3 s. Look at `parley logs`"),
  ]);
});

test("stop ends the process and says what it waits for", async () => {
  const child = spawn(
    process.execPath,
    [
      "-e",
      "process.on('SIGTERM', () => setTimeout(() => process.exit(0), 700)); setInterval(() => {}, 1000); console.log('up')",
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const gateway = await fakeGateway(() => ({
    ...status,
    pid: child.pid,
    state: "draining",
    turnsRunning: 2,
  }));
  const { exitCode, out, err } = await parley(gateway.home, ["stop"], { env: { PATH: "/nowhere" } });
  expect([exitCode, out, err]).toEqual([
    0,
    `The gateway (process ${child.pid}) has stopped.\n`,
    "Waiting for 2 turns to end ...\n",
  ]);
});

test("without a gateway there is nothing to stop, and nothing to restart", async () => {
  const home = stateFolder("{ gateway: { port: 1 } }");
  expect(await parley(home, ["stop"], { env: { PATH: "/usr/bin:/bin" } })).toMatchObject({
    exitCode: 0,
    out: "The gateway is not running.\n",
  });
  expect((await parley(home, ["stop", "--json"])).out).toBe('{"stopped":false,"pid":null}\n');
  expect(await parley(home, ["restart"])).toMatchObject({
    exitCode: 1,
    err: expect.stringContaining("Start it with `parley start`") as string,
  });
  expect(await parley(home, ["stop", "--timeout", "soon"])).toMatchObject({ exitCode: 2 });
});

test.runIf(process.platform === "linux")(
  "a process that has ended is gone, also when its parent does not look",
  async () => {
    const parent = spawn("sh", ["-c", "true & echo $!; exec sleep 60"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void parent.kill("SIGKILL"));
    const pid = await new Promise<number>((resolve) =>
      parent.stdout.once("data", (text: Buffer) => resolve(Number(text.toString()))),
    );
    await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false);
    expect(isAlive(parent.pid ?? 0)).toBe(true);
  },
);

/** A process that passes for a gateway. */
async function passing(...words: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000); console.log('up')", ...words]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return child.pid ?? 0;
}

test("a gateway that takes no connection is shown as it last wrote itself down, if that was this process", async () => {
  const home = stateFolder("{ gateway: { port: 1 } }");
  const pid = await passing("parley");
  const last = {
    ...status,
    pid,
    state: "ok",
    startedAtMs: 0,
    memoryBytes: 0,
    model: "lab/deep",
    channels: [],
  };
  const more = { rowsWaiting: 4, deadRows: 0, deliveriesTroubled: 0 };
  const write = (atMs: number, of: number): void =>
    writeFileSync(join(home, "status.json"), JSON.stringify({ atMs, status: { ...last, ...more, pid: of } }));
  writeFileSync(join(home, "daemon.pid"), `${pid}\n`);
  write(Date.now() + 60_000, pid);
  const shown = await parley(home, ["status"]);
  expect([shown.exitCode, shown.out]).toEqual([
    1,
    expect.stringMatching(/^Parley 1\.2\.3 {2}ok[^]*\nWork {6}0 running, 4 waiting, 0 to deliver\n/),
  ]);
  expect(shown.err).toMatch(
    new RegExp(
      `^The gateway is not running at http://127\\.0\\.0\\.1:1: [^]*\\nIts process ${pid} runs\\. This is what it wrote down 0 seconds ago:\\n$`,
    ),
  );
  write(Date.now() - 90_400, pid);
  const old = await parley(home, ["status", "--json"]);
  expect([old.exitCode, JSON.parse(old.out)]).toEqual([1, { ...last, ...more }]);
  expect(old.err).toMatch(/ wrote down 9[01] seconds ago:\n$/);
  // Of another process, cut off, or with nobody there: it tells nothing.
  const nothing = async (): Promise<readonly unknown[]> => {
    const { exitCode, out, err } = await parley(home, ["status"]);
    return [exitCode, out, err.includes("wrote down")];
  };
  write(0, pid + 1);
  const answers = [await nothing()];
  writeFileSync(join(home, "status.json"), '{"atMs":');
  answers.push(await nothing());
  write(0, pid);
  writeFileSync(join(home, "daemon.pid"), "1\n");
  answers.push(await nothing());
  expect(answers).toEqual([1, 2, 3].map(() => [1, "", false]));
});

test("of nodes that share a folder the one of this machine is meant, and nobody where there are two", async () => {
  const home = stateFolder("{ gateway: { port: 1 } }");
  const terminal = { env: { PARLEY_HOME: home }, json: false } as unknown as Console;
  const pids = [
    await passing("gateway", "--role", "edge", "--node=n1", "--port", "7"),
    await passing("parley"),
  ];
  const node = (name: string, pid: number, host: string | null): void => {
    mkdirSync(join(home, "nodes", name), { recursive: true });
    writeFileSync(join(home, "nodes", name, "daemon.pid"), `${pid}\n`);
    if (host !== null)
      writeFileSync(join(home, "nodes", name, "daemon.boot"), JSON.stringify({ boot: "b", host }));
  };
  expect(await pidInHome(terminal)).toBeNull();
  node("a", pids[1] ?? 0, "another.machine");
  node("b", pids[0] ?? 0, hostname());
  node("c", process.ppid, "another.machine");
  expect(await pidInHome(terminal)).toBe(pids[0]);
  expect(await argumentsOf(pids[0] ?? 0, {})).toEqual(["--role", "edge", "--node", "n1", "--port", "7"]);
  node("d", pids[1] ?? 0, null);
  expect(await pidInHome(terminal)).toBeNull();
  writeFileSync(join(home, "daemon.pid"), `${pids[1]}\n`);
  expect(await pidInHome(terminal)).toBe(pids[1]);
});

test("restart tells what is wrong with the one that is back, as lines and as a document", async () => {
  const run = async (...more: readonly string[]) => {
    let isAsked = false;
    const gateway = await fakeGateway(({ method }) => {
      if (method !== "restart")
        return isAsked
          ? { ...status, bootId: "new", pid: 43, state: "degraded", reasons: ["disk full", "model down"] }
          : status;
      isAsked = true;
      return {};
    });
    return parley(gateway.home, ["restart", ...more]);
  };
  expect((await run()).out).toMatch(
    /^Parley 1\.2\.3 is back after [\d.]+ s: degraded \(process 43\)\.\n {2}disk full\n {2}model down\n$/,
  );
  expect(JSON.parse((await run("--json")).out)).toEqual({
    pid: 43,
    bootId: "new",
    version: "1.2.3",
    state: "degraded",
    tookMs: expect.any(Number) as number,
  });
});

test("stop says when its time is over, and kills one that neither answers nor ends", async () => {
  const child = spawn(process.execPath, [
    "-e",
    "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')",
    "gateway",
  ]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  const env = { PATH: "/nowhere" };
  const gateway = await fakeGateway(() => ({ ...status, pid: child.pid }));
  expect(await parley(gateway.home, ["stop", "--timeout", "0"], { env })).toEqual({
    exitCode: 1,
    out: "",
    err: `The gateway (process ${child.pid}) still runs after 0 s. A second SIGTERM ends it at once: kill ${child.pid}\n`,
  });
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket)).listen(0, "127.0.0.1");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  await new Promise((resolve) => silent.once("listening", resolve));
  const home = stateFolder(`{ gateway: { port: ${(silent.address() as AddressInfo).port} } }`);
  writeFileSync(join(home, "daemon.pid"), `${child.pid}\n`);
  stopTime();
  expect(await passUntil(parley(home, ["stop", "--timeout", "86400"], { env }))).toEqual({
    exitCode: 0,
    out: `The gateway (process ${child.pid}) hung and was ended.\n`,
    err: "It does not answer. It is killed; the next start goes on where it stood ...\n",
  });
});

test("nobody waits a whole day for a gateway whose process is gone, or stops one that is elsewhere", async () => {
  const { pid } = spawnSync("true");
  let isAsked = false;
  const gateway = await fakeGateway(({ method }) => {
    if (method === "restart") {
      isAsked = true;
      return {};
    }
    if (isAsked) throw new Refusal("unavailable", "not yet");
    return { ...status, pid };
  });
  expect(await parley(gateway.home, ["stop"], { env: { PATH: "/nowhere" } })).toEqual({
    exitCode: 1,
    out: "",
    err: `Process ${pid} of the gateway is not on this machine, or it has just ended.\n`,
  });
  stopTime();
  const running = parley(gateway.home, ["restart", "--timeout", "86400"]);
  await expect.poll(() => isAsked).toBe(true);
  expect(await passUntil(running)).toEqual({
    exitCode: 1,
    out: "",
    err: "Starting ...\nThe gateway is not back and its process is gone. Look at `parley logs`, then run `parley start`.\n",
  });
});

test.each([
  [0, 0, null],
  [1, 0, "1 turn to end"],
  [2, 0, "2 turns to end"],
  [0, 1, "1 answer to go out"],
  [0, 2, "2 answers to go out"],
  [1, 1, "1 turn to end and 1 answer to go out"],
])("with %d turns and %d answers left it waits for: %s", (turnsRunning, deliveriesWaiting, words) => {
  expect(waitsFor({ turnsRunning, deliveriesWaiting } as Status)).toBe(words);
});

test("no process has a number that is none; the start of one is its own", () => {
  expect([0, -1, 1.5, Number.NaN].map(isAlive)).toEqual([false, false, false, false]);
  const own = startOf(process.pid);
  expect([isAlive(process.pid), startOf(process.pid), startOf(2 ** 30)]).toEqual([true, own, null]);
  if (process.platform === "linux") {
    expect(own).toMatch(/^[\da-f-]{36} \d+$/);
    expect(startOf(1)).not.toBe(own);
  }
});
