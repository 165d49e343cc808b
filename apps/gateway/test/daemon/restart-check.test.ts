// What keeps a restart from being begun: a config that is refused, an address or a store that could not be
// had.
import { createServer, type Server } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { restarting, type RestartingOptions } from "../../src/daemon/restart-check.ts";

let home: string;
let taken: Server;
let port: number;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "parley-check-"));
  // A program that is no Parley, and hangs up.
  taken = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  ({ port } = taken.address() as { port: number });
});
afterEach(async () => {
  await new Promise((resolve) => taken.close(resolve));
  rmSync(home, { recursive: true, force: true });
});

interface Told {
  readonly outcome?: "taken" | "unchanged" | "refused";
  readonly problems?: readonly string[];
  readonly gateway?: object;
  readonly store?: object;
  readonly more?: Partial<RestartingOptions>;
}

function check({ outcome = "unchanged", problems = [], gateway = {}, store = {}, more = {} }: Told = {}) {
  const causes: string[] = [];
  const config = (of: object, at: object) =>
    ({ gateway: { port: 0, bind: "loopback", ...at }, store: { driver: "sqlite", ...of } }) as never;
  const { trouble } = restarting({
    reload: async (cause) => (causes.push(cause), { outcome, problems }),
    started: config({}, {}),
    configNow: () => config(store, gateway),
    configPath: join(home, "parley.json5"),
    home,
    role: "all",
    port: undefined,
    ownPort: () => 1,
    begin: () => {},
    bootId: "boot",
    clock: virtualClock(),
    log: silentLog,
    ...more,
  });
  return { trouble, causes };
}

test("a refused config is told without the paths of this machine, each of its problems", async () => {
  const path = join(home, "parley.json5");
  const problems = [`${path}:1:2: a wrong word`, `${path}: ${home}/media and ${home}/logs`];
  const { trouble, causes } = check({ outcome: "refused", problems, gateway: { port } });
  expect(await trouble()).toBe("parley.json5:1:2: a wrong word\nparley.json5: media and logs");
  expect(causes).toEqual(["a restart was asked for"]);
  for (const outcome of ["taken", "unchanged"] as const)
    expect(await check({ outcome, problems }).trouble()).toBeNull();
});

test("a port that another program has is told; this process's own will be free", async () => {
  const words = `gateway.port: the gateway could not listen on loopback, port ${port}: another program`;
  expect(await check({ gateway: { port } }).trouble()).toMatch(words);
  expect(await check({ gateway: { port }, more: { ownPort: () => port } }).trouble()).toBeNull();
  // The port that the process was given counts, not the config's.
  expect(await check({ more: { port } }).trouble()).toMatch(words);
  expect(await check({ gateway: { port }, more: { port: 0 } }).trouble()).toBeNull();
  // An address that this machine has not is told also where the port would be free.
  const gone = (on: number): string =>
    `gateway.port: the gateway could not listen on 192.0.2.1, port ${on}: EADDRNOTAVAIL`;
  expect(await check({ gateway: { bind: "192.0.2.1", port: 0 } }).trouble()).toBe(gone(0));
  expect(await check({ gateway: { bind: "192.0.2.1", port }, more: { ownPort: () => port } }).trouble()).toBe(
    gone(port),
  );
});

test("a store that could not be opened is told, where a restart would open another one", async () => {
  expect(await check({ more: { role: "worker" } }).trouble()).toBe(
    'store.driver: this process runs as --role worker, which needs "redis"',
  );
  writeFileSync(join(home, "store.json"), "{");
  expect(await check().trouble()).toBeNull();
  const trouble = await check({ store: { file: "other" } }).trouble();
  expect(trouble).toMatch(/^store: store\.json cannot be read/);
  rmSync(join(home, "store.json"));
  // It is closed again, so that it can be opened as often as somebody asks.
  for (let nth = 0; nth < 2; nth += 1) expect(await check({ store: { file: "other" } }).trouble()).toBeNull();
  // What comes first keeps it from being tried.
  expect(await check({ store: { driver: "redis" }, gateway: { port } }).trouble()).toMatch("gateway.port");
  expect(await check({ store: { driver: "redis" } }).trouble()).toBe("store: store.redis.url is missing");
});
