// Which files of the state folder others may not read, how bad that is, and what mends it.
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { LoadedConfig, Places } from "@parley/config";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fileFindings } from "../src/doctor/files.ts";

let home: string;
let places: Places;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "parley-files-"));
  places = {
    home,
    configPath: join(home, "parley.json5"),
    tokenPath: join(home, "gateway-token"),
    portPath: join(home, "gateway-port"),
  };
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const put = (path: string, mode: number): void => {
  writeFileSync(path, "");
  chmodSync(path, mode);
};
const folder = (path: string, mode: number): void => {
  mkdirSync(path);
  chmodSync(path, mode);
};
const found = (loaded: object | null = null) => fileFindings(places, loaded as LoadedConfig | null);
const told = async (id: string, loaded: object | null = null): Promise<readonly string[]> =>
  (await found(loaded))
    .filter((each) => each.id === id)
    .map(({ level, message }) => `${level} ${basename(/use (\S+)/.exec(message)?.[1] ?? "")}`)
    .toSorted();

const secret = [
  "daemon.pid",
  "env",
  "gateway-port",
  "gateway-token",
  "notes.db",
  "notes.db-shm",
  "notes.db-wal",
  "parley.json5",
  "parley.json5.before",
  "state.db",
  "state.db.replaced-1",
];
const other = ["README", "env.example", "mydaemon.pid", "my-gateway-token", "notes.db-x", "old-state.dbs"];

test("what holds secrets or chats is for its user alone, and nothing else is", async () => {
  for (const name of [...secret, ...other]) put(join(home, name), 0o644);
  for (const name of ["secrets", "media", "logs", "workspace"]) folder(join(home, name), 0o755);
  put(join(home, "secrets", "bot"), 0o640);
  put(join(home, "media", "picture"), 0o644);
  const expected = [...secret, "secrets", "media", "logs", "bot"];
  chmodSync(home, 0o700);
  expect(await told("files.mode")).toEqual(expected.map((name) => `warn ${name}`).toSorted());
  // Where others get into the folder, it is worse.
  chmodSync(home, 0o701);
  expect(await told("files.mode")).toEqual(
    [...expected, basename(home)].map((name) => `error ${name}`).toSorted(),
  );
});

test("what mends it takes from others alone, and never gives", async () => {
  put(join(home, "env"), 0o464);
  folder(join(home, "logs"), 0o577);
  chmodSync(home, 0o755);
  const findings = (await found()).filter(({ id }) => id === "files.mode");
  expect(findings.map(({ fix }) => fix)).toEqual([
    `chmod 700 ${home}`,
    `chmod 400 ${join(home, "env")}`,
    `chmod 500 ${join(home, "logs")}`,
  ]);
  for (const { mend } of findings) await mend?.();
  const modes = ["", "env", "logs"].map((name) => statSync(join(home, name)).mode & 0o777);
  expect(modes).toEqual([0o700, 0o400, 0o500]);
  expect(await told("files.mode")).toEqual([]);
});

test.runIf(process.platform === "linux")(
  "a device that a link leads to is everybody's, and nothing closes it",
  async () => {
    chmodSync(home, 0o700);
    places = { ...places, configPath: "/dev/null" };
    const workspace = join(home, "workspace");
    mkdirSync(workspace);
    symlinkSync("/dev/null", join(workspace, "AGENTS.md"));
    symlinkSync("/dev/null", join(home, "env"));
    // The orders are looked at only where others get to them.
    chmodSync(home, 0o701);
    const loaded = { reads: ["/dev/null"], config: { store: {}, agents: { list: [{ workspace }] } } };
    const findings = await found(loaded);
    expect(findings.map(({ fix }) => fix).filter((fix) => fix.includes("/dev/null"))).toEqual([]);
    expect(findings.map(({ message }) => message).join("\n")).not.toMatch(/AGENTS\.md|\/env/);
  },
);

test("a state folder that is none, or is not there, is told alone", async () => {
  rmSync(home, { recursive: true });
  expect((await found()).map(({ id, level }) => [id, level])).toEqual([["home.missing", "warn"]]);
  put(home, 0o644);
  expect((await found()).map(({ id, level }) => [id, level])).toEqual([["home.no-folder", "error"]]);
});

test("keys that the config takes from elsewhere are looked at, those of the folder's own secrets once", async () => {
  const elsewhere = join(home, "elsewhere");
  folder(elsewhere, 0o755);
  for (const name of ["bot", "redis-key", "near"]) put(join(elsewhere, name), 0o604);
  folder(join(home, "secrets"), 0o700);
  put(join(home, "secrets", "own"), 0o644);
  put(places.configPath, 0o644);
  chmodSync(home, 0o700);
  const loaded = (driver: object) => ({
    reads: [
      places.configPath,
      join(elsewhere, "bot"),
      join(elsewhere, "bot"),
      join(elsewhere, "missing"),
      join(home, "secrets", "own"),
    ],
    config: { store: driver, agents: { list: [] } },
  });
  const key = { redis: { tls: { keyFile: join(elsewhere, "redis-key") } } };
  expect(await told("files.mode", loaded(key))).toEqual([
    "error bot",
    "error redis-key",
    "warn own",
    "warn parley.json5",
  ]);
  expect(await told("files.mode", loaded({}))).toHaveLength(3);
});

test.skipIf(process.getuid?.() !== 0)(
  "what belongs to another user is told, and is that user's to close",
  async () => {
    for (const name of ["state.db", "parley.json5", "gateway-token", "env"]) put(join(home, name), 0o600);
    put(join(home, "key"), 0o644);
    const owners = async (): Promise<readonly string[]> =>
      (await found())
        .filter(({ id }) => id === "home.owner")
        .map(({ message }) => message.split(" in ")[0] ?? "");
    expect(await owners()).toEqual([]);
    chownSync(join(home, "env"), 12_345, 12_345);
    expect(await owners()).toEqual([]);
    for (const name of ["state.db", "gateway-token"]) chownSync(join(home, name), 12_345, 12_345);
    expect(await owners()).toEqual(["state.db, gateway-token"]);
    chownSync(join(home, "parley.json5"), 12_345, 12_345);
    expect(await owners()).toEqual(["state.db, parley.json5, gateway-token"]);
    chownSync(join(home, "key"), 12_345, 12_345);
    const loaded = { reads: [join(home, "key")], config: { store: {}, agents: { list: [] } } };
    const [key] = (await found(loaded)).filter(({ message }) => message.includes(join(home, "key")));
    expect(key).toMatchObject({ level: "warn" });
    expect(key).not.toHaveProperty("mend");
  },
);

test("orders that anybody may write are told where anybody gets to them, each workspace once", async () => {
  const workspace = join(home, "open", "ws");
  mkdirSync(workspace, { recursive: true });
  for (const path of [home, join(home, "open")]) chmodSync(path, 0o711);
  for (const name of ["SOUL.md", "notes.MD", "script.sh", "closed.md"])
    put(join(workspace, name), name === "closed.md" ? 0o664 : 0o666);
  folder(join(workspace, "memory"), 0o777);
  folder(join(workspace, "skills"), 0o775);
  folder(join(workspace, "src"), 0o777);
  chmodSync(workspace, 0o777);
  const list = [{ workspace }, { workspace }, { workspace: join(home, "none") }];
  const open = async () =>
    (await found({ reads: [], config: { store: {}, agents: { list } } })).filter(
      ({ id }) => id === "workspace.open",
    );
  const findings = await open();
  expect(findings.map(({ fix }) => fix).toSorted()).toEqual(
    [workspace, ...["SOUL.md", "memory", "notes.MD"].map((name) => join(workspace, name))].map(
      (path) => `chmod o-w ${path}`,
    ),
  );
  chmodSync(join(home, "open"), 0o710);
  expect(await open()).toEqual([]);
  chmodSync(join(home, "open"), 0o711);
  for (const { mend } of findings) await mend?.();
  expect(await open()).toEqual([]);
  expect(statSync(workspace).mode & 0o777).toBe(0o775);
});

test("all that is found stands in an order: the folder, its mode and owner, its files, keys elsewhere, workspaces", async () => {
  const at = (...names: readonly string[]): string => join(home, ...names);
  const mode = (path: string, now: string, then: string): string =>
    `files.mode: Others on this machine may use ${path} (mode ${now}) -> chmod ${then} ${path}`;
  chmodSync(home, 0o751);
  put(places.configPath, 0o640);
  for (const name of ["secrets", "keys", "ws"]) folder(at(name), name === "ws" ? 0o1777 : 0o700);
  put(at("secrets", "bot"), 0o604);
  put(at("keys", "model"), 0o620);
  const lists = [{ workspace: at("ws") }, { workspace: at("none") }];
  const loaded = { reads: [at("keys", "model")], config: { store: {}, agents: { list: lists } } };
  const words = async (): Promise<readonly string[]> =>
    (await found(loaded)).map(
      ({ id, level, message, fix }) => `${level} ${id}: ${message}${fix === "" ? "" : ` -> ${fix}`}`,
    );
  expect(await words()).toEqual([
    `ok home: The state folder is ${home}`,
    `error ${mode(home, "751", "700")}`,
    `error ${mode(places.configPath, "640", "600")}`,
    `error ${mode(at("secrets", "bot"), "604", "600")}`,
    `error ${mode(at("keys", "model"), "620", "600")}`,
    `error workspace.open: Anybody on this machine may write ${at("ws")}, which gives the agent its orders (mode 777) -> chmod o-w ${at("ws")}`,
  ]);
  for (const { mend } of await found(loaded)) await mend?.();
  // What else is said of the workspace, as that everybody may remove only their own, stays.
  expect([statSync(at("ws")).mode & 0o7777, await words()]).toEqual([
    0o1775,
    [`ok home: The state folder is ${home}`],
  ]);
  rmSync(home, { recursive: true });
  expect(await words()).toEqual([
    `warn home.missing: There is no state folder at ${home} -> Run \`parley setup\`, or \`parley start\``,
  ]);
  put(home, 0o600);
  expect(await words()).toEqual([
    `error home.no-folder: ${home} is not a folder -> Move it away, or set PARLEY_HOME to another folder`,
  ]);
});

test.runIf(process.platform === "linux")(
  "a place that can be read and not written is told, for the state folder and for a workspace",
  async () => {
    // The kernel lets nobody write there, root neither.
    const sealed = "/proc/sys";
    const all = await fileFindings({ ...places, home: sealed }, null);
    expect(all[0]).toMatchObject({
      id: "home.not-writable",
      level: "error",
      message: expect.stringMatching(/^The state folder \/proc\/sys cannot be written: E[A-Z]+: /) as string,
      fix: "Run this as the user of the daemon, or give the folder to it with chown",
    });
    expect(all.map(({ id }) => id)).not.toContain("home");
    const loaded = {
      reads: [],
      config: { store: {}, agents: { list: [{ workspace: sealed }, { workspace: home }] } },
    };
    expect((await found(loaded)).filter(({ id }) => id.startsWith("workspace"))).toEqual([
      {
        id: "workspace.not-writable",
        level: "error",
        message: expect.stringMatching(/^The workspace \/proc\/sys cannot be written: E[A-Z]+: /) as string,
        fix: "Give it to the user of the daemon with chown",
      },
    ]);
  },
);
