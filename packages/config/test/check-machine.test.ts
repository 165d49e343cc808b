// What a start needs of the machine: asked where somebody starts or changes something, and nowhere else.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { ConfigFault, listenTrouble, loadConfig, type ConfigProblem } from "../src/index.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "parley-machine-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  writeFileSync(join(home, "file"), "");
  mkdirSync(join(home, "there"));
  symlinkSync(join(home, "nowhere"), join(home, "dangling"));
  symlinkSync(join(home, "circle"), join(home, "circle"));
});

const strong = "b7Qe2xKf9sVh4TnWz8Lc1RmYp6Dg3Ju0";

interface Verdict {
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

async function verdictOn(text: string, wouldStart?: "start" | "again" | "change"): Promise<Verdict> {
  writeFileSync(join(home, "parley.json5"), text);
  try {
    const { warnings } = await loadConfig({
      env: {},
      home,
      ...(wouldStart === undefined ? {} : { wouldStart }),
    });
    return { problems: [], warnings };
  } catch (error) {
    if (error instanceof ConfigFault) return { problems: error.problems, warnings: [] };
    throw error;
  }
}

function fixAt(path: string): string {
  if (path.endsWith("workspace")) return "Name a folder that the user of the daemon may write to";
  if (path === "store.redis.tls") return "Name PEM files; certFile and keyFile belong together";
  return path.startsWith("store.redis")
    ? "Name a PEM file that the user of the daemon may read"
    : "Write another path";
}

test.for([
  [
    '{ agents: { defaults: { workspace: "file" } } }',
    "agents.defaults.workspace",
    /file is a file, not a folder/,
  ],
  [
    '{ agents: { defaults: { workspace: "file/below/it" } } }',
    "agents.defaults.workspace",
    /cannot be made: .*file is a file/,
  ],
  ['{ agents: { defaults: { workspace: "/dev/null" } } }', "agents.defaults.workspace", /is a file/],
  [
    '{ agents: { defaults: { workspace: "/proc/not/there" } } }',
    "agents.defaults.workspace",
    /cannot be made in \/proc/,
  ],
  ['{ agents: { defaults: { workspace: "dangling" } } }', "agents.defaults.workspace", /leads nowhere/],
  ['{ agents: { defaults: { workspace: "circle" } } }', "agents.defaults.workspace", /cannot be used: ELOOP/],
  ['{ agents: { defaults: { workspace: "a\\u0000b" } } }', "agents.defaults.workspace", /NUL/],
  [
    `{ agents: { defaults: { workspace: "new/${"x".repeat(300)}" } } }`,
    "agents.defaults.workspace",
    /longer/,
  ],
  [`{ agents: { defaults: { workspace: "${"x/".repeat(3_000)}" } } }`, "agents.defaults.workspace", /longer/],
  ['{ tools: { fs: { readRoots: ["there", "a\\u0000b"] } } }', "tools.fs.readRoots[1]", /NUL/],
  ['{ skills: { load: { extraDirs: ["a\\u0000b"] } } }', "skills.load.extraDirs[0]", /NUL/],
  ['{ agents: { defaults: { repoRoot: "a\\u0000b" } } }', "agents.defaults.repoRoot", /NUL/],
  [
    '{ hooks: { internal: { load: { extraDirs: ["there", "a\\u0000b"] } } } }',
    "hooks.internal.load.extraDirs[1]",
    /NUL/,
  ],
  [
    '{ store: { driver: "redis", redis: { url: "rediss://h", tls: { keyFile: "none.pem" } } } }',
    "store.redis.tls.keyFile",
    /none\.pem cannot be read/,
  ],
  [
    '{ hooks: { internal: { handlers: [{ event: "tool:before", module: "a\\u0000b" }] } } }',
    "hooks.internal.handlers[0].module",
    /NUL/,
  ],
  [
    '{ store: { driver: "redis", redis: { url: "rediss://h", tls: { caFile: "none.pem" } } } }',
    "store.redis.tls.caFile",
    /none\.pem cannot be read/,
  ],
  [
    '{ store: { driver: "redis", redis: { url: "rediss://h", tls: { certFile: "file", keyFile: "parley.json5" } } } }',
    "store.redis.tls",
    /cannot be used/,
  ],
] as const)("%s is refused for a start", async ([text, path, message]) => {
  for (const wouldStart of ["start", "again", "change"] as const) {
    const { problems } = await verdictOn(text, wouldStart);
    expect(problems).toMatchObject([
      { path, line: 1, message: expect.stringMatching(message), fix: fixAt(path) },
    ]);
  }
  // Who only wants to know where the gateway listens is not kept from it.
  expect((await verdictOn(text)).problems).toEqual([]);
  expect(readdirSync(home).toSorted()).toEqual(["circle", "dangling", "file", "parley.json5", "there"]);
});

test("a folder that is there, one that can be made, and a link to one are right", async () => {
  symlinkSync(join(home, "there"), join(home, "link"));
  for (const workspace of ["there", "deep/new/one", "link", "link/new", "deep/../beside"]) {
    expect(await verdictOn(`{ agents: { defaults: { workspace: "${workspace}" } } }`, "change")).toEqual({
      problems: [],
      warnings: [],
    });
  }
});

test("an address that this machine does not have is refused for a change, and waited for at a start", async () => {
  const text = `{ gateway: { bind: "192.0.2.1", auth: { token: "${strong}" } } }`;
  expect((await verdictOn(text, "change")).problems).toMatchObject([
    {
      path: "gateway.bind",
      message: "this machine has no address 192.0.2.1 to listen on (EADDRNOTAVAIL)",
      fix: 'Use "lan" or an address of it',
    },
  ]);
  expect((await verdictOn(text, "again")).problems).toHaveLength(1);
  expect((await verdictOn(text, "start")).problems).toEqual([]);
  expect(
    (await verdictOn(`{ gateway: { bind: "127.0.0.1", auth: { token: "x" } } }`, "change")).problems,
  ).toEqual([]);
});

test("whether an address can be listened on is tried, and let go of", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  expect(await listenTrouble("127.0.0.1", port)).toBe("EADDRINUSE");
  await new Promise((resolve) => server.close(resolve));
  expect(await listenTrouble("127.0.0.1", port)).toBeNull();
  expect(await listenTrouble("127.0.0.1", port)).toBeNull();
});

test("a key that the gateway keeps and that is too short to be safe keeps it from starting", async () => {
  writeFileSync(join(home, "gateway-token"), "short\n");
  writeFileSync(join(home, "owner-display-key"), "short\n");
  expect((await verdictOn("{}", "start")).problems).toMatchObject([
    { path: "gateway.auth.token", message: expect.stringContaining("too short") },
  ]);
  const hashed = `{ gateway: { auth: { token: "${strong}" } }, commands: { ownerDisplay: "hash" } }`;
  expect((await verdictOn(hashed, "start")).problems).toMatchObject([
    {
      path: "commands.ownerDisplaySecret",
      message: `is not set, and what ${home}/owner-display-key holds is too short to be safe`,
      fix: "Delete the file: it is made anew",
    },
  ]);
  writeFileSync(join(home, "owner-display-key"), `${"x".repeat(16)}\n`);
  expect((await verdictOn(hashed, "start")).problems).toEqual([]);
  writeFileSync(join(home, "owner-display-key"), `${"x".repeat(15)} \n`);
  expect((await verdictOn(hashed, "start")).problems).toHaveLength(1);
  const own = hashed.replace('"hash"', '"hash", ownerDisplaySecret: "k"');
  expect((await verdictOn(own, "start")).problems).toEqual([]);
  expect((await verdictOn(hashed.replace('"hash"', '"raw"'), "start")).problems).toEqual([]);
});

test("a key that cannot be read for good keeps a start back; one that is not there yet is made", async () => {
  mkdirSync(join(home, "gateway-token"));
  expect((await verdictOn("{}", "start")).problems).toEqual([
    {
      path: "gateway.auth.token",
      line: 1,
      column: 1,
      message: expect.stringMatching(
        new RegExp(`^is not set, and ${home}/gateway-token cannot be read: EISDIR`),
      ) as string,
      fix: "Give the file to the user of the daemon",
    },
  ]);
  rmSync(join(home, "gateway-token"), { recursive: true });
  expect((await verdictOn("{}", "start")).problems).toEqual([]);
});

test("a name of 255 bytes is one that file systems take, one of 256 is not", async () => {
  const of = async (name: string) =>
    (await verdictOn(`{ tools: { fs: { readRoots: ["${name}"] } } }`, "start")).problems.length;
  expect([await of("x".repeat(255)), await of("x".repeat(256)), await of("ä".repeat(128))]).toEqual([
    0, 1, 1,
  ]);
  const path = (chars: number) => "x/".repeat(chars / 2) + "x".repeat(chars % 2);
  expect([await of(path(4_095)), await of(`${path(4_095)}x`)]).toEqual([0, 1]);
});

test("each agent's own folder is named where it is written, that of all where all have it", async () => {
  const own = await verdictOn('{ agents: { list: [{ id: "main", workspace: "file" }] } }', "change");
  expect(own.problems.map(({ path }) => path)).toEqual(["agents.list[0].workspace"]);
  writeFileSync(join(home, "workspace-b"), "");
  const made = await verdictOn('{ agents: { list: [{ id: "main" }, { id: "b" }] } }', "change");
  expect(made.problems).toMatchObject([
    { path: "agents.list[1].workspace", message: `${home}/workspace-b is a file, not a folder` },
  ]);
});

test("a hook that is not there is told and refuses nothing", async () => {
  const hook = (module: string) =>
    `{ hooks: { internal: { handlers: [{ event: "tool:before", module: "${module}" }] } } }`;
  expect((await verdictOn(hook("./none.ts"), "change")).warnings).toMatchObject([
    {
      path: "hooks.internal.handlers[0].module",
      message: `there is no file ${home}/none.ts`,
      fix: "A tool:before hook that is missing blocks every call",
    },
  ]);
  expect((await verdictOn(hook("./there"), "change")).warnings).toHaveLength(1);
  const off = hook("./none.ts").replace("handlers", "enabled: false, handlers");
  expect((await verdictOn(off, "change")).warnings).toEqual([]);
  expect((await verdictOn(hook("./file"), "change")).warnings).toEqual([]);
});

test.skipIf(process.getuid?.() === 0)("a folder that this user may not use is refused", async () => {
  chmodSync(join(home, "there"), 0o000);
  onTestFinished(() => chmodSync(join(home, "there"), 0o700));
  for (const workspace of ["there", "there/new"]) {
    const { problems } = await verdictOn(`{ agents: { defaults: { workspace: "${workspace}" } } }`, "start");
    expect(problems.map(({ path }) => path)).toEqual(["agents.defaults.workspace"]);
  }
});

test("one agent that cannot work keeps a start from nothing while another one can; a change that would lead there is refused", async () => {
  const text = '{ agents: { list: [{ id: "main" }, { id: "b", workspace: "file" }] } }';
  const trouble = {
    path: "agents.list[1].workspace",
    message: expect.stringMatching(/not a folder/) as string,
  };
  for (const wouldStart of ["start", "again"] as const)
    expect(await verdictOn(text, wouldStart)).toMatchObject({ problems: [], warnings: [trouble] });
  expect((await verdictOn(text, "change")).problems).toMatchObject([trouble]);
  const none = text.replace('"main"', '"main", workspace: "file"');
  expect((await verdictOn(none, "start")).problems).toHaveLength(2);
});
