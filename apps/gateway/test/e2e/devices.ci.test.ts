// Paired devices as people meet them: a real daemon, `parley node run` as a process beside it, a model that
// asks for things, and both killed in the middle.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { createServer as tcpServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { controlClient } from "./control-client.ts";
import { cleanUp, eventually, freshHome, processEnv, programOf, testToken, type Daemon } from "./daemon.ts";
import { world, type World } from "./world.ts";

const owner = 4242;
const run = promisify(execFile);
const nodes = new Set<ChildProcess>();
let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  for (const node of nodes) node.kill("SIGKILL");
  nodes.clear();
  await cleanUp();
  await w.close();
});

async function freePort(): Promise<number> {
  const probe = tcpServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const at = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof at === "object" ? (at?.port ?? 0) : 0;
}

async function parley(home: string, ...words: string[]) {
  const { stdout } = await run(process.execPath, [programOf("cli"), "--json", ...words], {
    env: { ...processEnv(home) },
  });
  return JSON.parse(stdout);
}

/** As `parley devices` does, without a process. */
async function asked(daemon: Daemon, method: string, params: object = {}) {
  const client = await controlClient(daemon);
  try {
    return (await client.call(method, params)) as {
      readonly devices: readonly Listed[];
      readonly code: string;
    };
  } finally {
    client.close();
  }
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly connections: number;
}

interface Node {
  readonly events: readonly { readonly event: string; readonly [key: string]: unknown }[];
  readonly err: () => string;
  readonly exited: Promise<number | null>;
  readonly child: ChildProcess;
}

function node(home: string, ...words: string[]): Node {
  const child = spawn(process.execPath, [programOf("cli"), "--json", "node", "run", ...words], {
    env: { ...processEnv(home) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  nodes.add(child);
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  return {
    get events() {
      const lines = out.split("\n").slice(0, -1);
      return lines.map((each) => JSON.parse(each) as Node["events"][number]).filter(({ event }) => event);
    },
    err: () => err,
    exited: new Promise((resolve) => child.once("close", resolve)),
    child,
  };
}

const connected = (device: Node) =>
  eventually(
    () => device.events.some(({ event }) => event === "connected"),
    20_000,
    `a connection ${device.err()}`,
  );

test("a device is paired, used within its grants, killed, and put out; no call runs twice", async () => {
  const port = await freePort();
  const config = {
    gateway: { port, auth: { token: testToken } },
    commands: { ownerAllowFrom: [`telegram:${owner}`] },
    // Who is asked about commands is another test's; here the device's own list decides.
    tools: { exec: { mode: "full" } },
  };
  let daemon: Daemon = await w.start({ config });
  const { home } = daemon;
  const device = await freshHome();
  const folder = join(device, "shared");
  await mkdir(folder);
  await writeFile(join(folder, "a.txt"), "words of the device");
  await symlink("/etc/passwd", join(folder, "link"));
  await writeFile(join(device, "slow.sh"), `echo once >> ${join(device, "ran")}; sleep 60`);

  const { code, url, grants } = await parley(
    home,
    "devices",
    "pair",
    "--name",
    "laptop",
    "--grant",
    "notify,run,files",
  );
  expect(grants).toEqual(["notify", "run", "files"]);
  const words = ["--allow", "echo *", "--allow", "sh *", "--folder", folder];
  const paired = ["--url", url as string, "--code", code as string, ...words];
  let laptop = node(device, ...paired);
  await connected(laptop);
  expect((await stat(join(device, "device/device.json"))).mode & 0o777).toBe(0o600);

  let answered = 0;
  /** Says it, and returns what the tool told. */
  async function invoke(args: object): Promise<string> {
    let [asked, told] = [false, ""];
    w.models.reply(({ lastToolResult }) => {
      if (asked && lastToolResult !== null) {
        told = lastToolResult;
        return { text: "done" };
      }
      asked = true;
      return { toolCalls: [{ name: "nodes", args: { action: "invoke", node: "laptop", ...args } }] };
    });
    w.telegram.as(owner).says(`do ${JSON.stringify(args)}`);
    await eventually(() => w.answers(owner).length > answered, 30_000, "an answer");
    answered = w.answers(owner).length;
    return told;
  }

  expect(await invoke({ command: "notify", text: "tea is ready" })).toMatch(/Printed where the device runs/);
  expect(laptop.events).toContainEqual({ event: "notify", title: "", text: "tea is ready" });
  expect(await invoke({ command: "run", argv: ["echo", "hi; $HOME"] })).toMatch(/exit 0[^]*hi; \$HOME/);
  expect(await invoke({ command: "run", argv: ["cat", "/etc/passwd"] })).toMatch(/does not let run/);
  expect(await invoke({ command: "file_read", path: "a.txt" })).toMatch(/words of the device/);
  for (const path of ["../slow.sh", "link", "/etc/passwd"])
    expect(await invoke({ command: "file_read", path })).not.toMatch(/root:|echo once/);
  expect(await invoke({ command: "screenshot" })).toMatch(/without the grant "screenshot"/);

  // Killed while it runs something: it is not run again, and the model is told so.
  const slow = invoke({ command: "run", argv: ["sh", join(device, "slow.sh")], timeoutSeconds: 300 });
  await eventually(() => readFile(join(device, "ran"), "utf8").catch(() => false), 20_000, "the command");
  laptop.child.kill("SIGKILL");
  await laptop.exited;
  daemon.kill("SIGKILL");
  await daemon.exited;
  daemon = await w.start({ home, config });
  laptop = node(device, ...paired);
  expect(await slow).toMatch(/killed after it had begun/);
  expect(await readFile(join(device, "ran"), "utf8")).toBe("once\n");

  // Its token made anew: over its connection it takes a new one by itself.
  const known = await asked(daemon, "devices.list");
  const own = known.devices.find(({ name }) => name === "laptop")?.id ?? "";
  const tokenNow = async () =>
    (JSON.parse(await readFile(join(device, "device/device.json"), "utf8")) as { token: string }).token;
  const first = await tokenNow();
  const times = () => laptop.events.filter(({ event }) => event === "connected").length;
  expect(await asked(daemon, "devices.rotate", { id: own })).toMatchObject({ handed: true, closed: 1 });
  await eventually(() => times() === 2, 20_000, "the new token");
  expect(await tokenNow()).not.toBe(first);
  expect(await invoke({ command: "run", argv: ["echo", "renewed"] })).toMatch(/exit 0[^]*renewed/);

  // Asleep, a call waits for it; its old token is worthless once another was made, and a code gives it one.
  laptop.child.kill("SIGTERM");
  await laptop.exited;
  const later = invoke({ command: "run", argv: ["echo", "awake"], timeoutSeconds: 300 });
  await eventually(
    async () => !(await asked(daemon, "devices.list")).devices.some(({ connections }) => connections > 0),
  );
  const given = await asked(daemon, "devices.rotate", { id: own });
  expect(given).toMatchObject({ id: own, handed: false });
  const refused = node(device, ...words);
  expect(await refused.exited).not.toBe(0);
  laptop = node(device, "--code", given.code, ...words);
  expect(await later).toMatch(/exit 0[^]*awake/);
  expect(laptop.events).toContainEqual({ event: "connected", name: "laptop", grants });

  // Put out: its connection ends at once, it cannot come back, and its open call is told.
  await writeFile(join(device, "ran"), "");
  const last = invoke({ command: "run", argv: ["sh", join(device, "slow.sh")], timeoutSeconds: 300 });
  await eventually(async () => (await readFile(join(device, "ran"), "utf8")) !== "", 20_000, "the command");
  await asked(daemon, "devices.revoke", { id: own });
  expect(await last).toMatch(/was put out before it answered/);
  expect(await laptop.exited).not.toBe(0);
  const again = node(device, ...paired);
  expect(await again.exited).not.toBe(0);
  expect(again.events).toEqual([]);
  expect(await daemon.stop()).toBe(0);
});
