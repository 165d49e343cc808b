// Stop and restart against a gateway that answers as the test says: what is asked, what is waited for, what is said. The real one is driven by
// the newcomer's test.
import { spawn } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { isAlive } from "../src/is-alive.ts";
import { fakeGateway, parley, Refusal, stateFolder } from "./fake-gateway.ts";

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
