// What tools get of this machine: by which name this process knows its own, what ends with it, and that
// looking without a daemon starts nothing.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { request } from "node:http";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import { silentLog } from "@parley/protocol";
import { directMessage, seededIds, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test, vi } from "vitest";
import { idleMachinePorts, wireMachinePorts } from "../../src/wiring/machine-ports.ts";
import { memoryStore } from "../receive/store.ts";

async function world(
  file: object = {},
  env: { readonly [name: string]: string | undefined } = { PATH: "/bin" },
  shared = false,
) {
  const home = mkdtempSync(join(tmpdir(), "parley-ports-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const clock = virtualClock();
  const store = await memoryStore(clock);
  onTestFinished(store.close);
  const { config } = await loadConfig({ env: {}, home, readFile: async () => JSON.stringify(file) });
  const did: unknown[] = [];
  const heard = new Map<string, (body: string) => void>();
  const wiring = {
    config,
    configNow: () => config,
    sounds: () => ({ folder: home, transcribe: undefined }),
    metrics: { egressRefused: (reason: string) => void did.push(reason) },
    home,
    place: { name: "n1" },
    placeOf: () => null,
    bus: {
      shared,
      tell: (...what: readonly unknown[]) => void did.push(["tell", ...what]),
      hear: (topic: string, listen: (body: string) => void) => (heard.set(topic, listen), () => {}),
      close: async () => {},
    },
    hub: { isFollowed: () => false },
    mediaPath: join(home, "media"),
    env,
    clock,
    ids: seededIds(1),
    log: silentLog,
    editor: {},
    restartNeeded: () => [],
    restarting: { trouble: async () => null, begin: () => void did.push("restart") },
    memory: { close: () => void did.push("memory closed") },
  } as never;
  return { home, clock, store, did, heard, wiring };
}

test("a database file has one process, whatever its machine is called; among nodes of one store each has its name and home", async () => {
  const redis = { store: { driver: "redis", redis: { url: "redis://127.0.0.1:1" } } };
  for (const [file, nodeOf] of [
    [{}, () => "local"],
    [redis, (home: string) => `n1:${home}`],
  ] as const) {
    const { home, store, clock, did, wiring } = await world(file);
    const ports = await wireMachinePorts(wiring, store);
    await ports.chatRestart.ask(directMessage({ id: "u1" }));
    const [asked] = await store.cells.list("chat-restart:", 9);
    expect(asked?.key).toBe(`chat-restart:${nodeOf(home)}:u1`);
    await clock.advance(200);
    expect(did).toEqual(["restart"]);
    await ports.end();
    expect(did).toEqual(["restart", "memory closed"]);
  }
});

test("a command has the gateway's variables that are set, and a path anyway; a pairing here is told to the other nodes", async () => {
  const { home, store, did, heard, wiring } = await world({}, { HOME: "/h", NONE: undefined });
  const ports = await wireMachinePorts(wiring, store);
  expect(ports).toMatchObject({
    home,
    userHome: homedir(),
    exec: { host: { PATH: "/usr/bin:/bin", HOME: "/h" } },
  });
  expect(ports.exec.host).not.toHaveProperty("NONE");
  expect([...heard.keys()]).toEqual(["devices"]);
  ports.deviceCalls.pairing();
  expect(did).toEqual([["tell", "devices", ""]]);
  expect(ports.devices?.some()).toBe(true);
  await ports.end();
  const other = await world({}, { PATH: "/own" });
  const named = await wireMachinePorts(other.wiring, other.store);
  expect(named.exec.host).toEqual({ PATH: "/own" });
  expect(named.devices?.some()).toBe(false);
  // One that was paired at another node is seen here, too.
  other.heard.get("devices")?.("");
  expect(named.devices?.some()).toBe(true);
  await named.end();
});

test("without a daemon nothing is started, written or pushed", async () => {
  const { store, wiring } = await world();
  const ports = idleMachinePorts(wiring, store);
  const words = "commands run and the config is changed in the daemon only";
  const commands = ports.exec?.commands;
  const refused = [
    commands?.start,
    commands?.forget,
    ports.pictures?.keep,
    ...Object.values(ports.settings ?? {}),
    ports.devices?.list,
    ports.devices?.invoke,
  ] as readonly (() => Promise<unknown>)[];
  expect(refused).toHaveLength(11);
  for (const each of refused) await expect(each()).rejects.toThrow(words);
  expect([
    await commands?.list({} as never),
    await commands?.get("x" as never, {} as never),
    commands?.boundTo("x", "y"),
    ports.devices?.some(),
    await ports.wayOut?.(),
  ]).toEqual([[], null, null, false, { socket: "/dev/null", node: process.execPath }]);
  expect(await store.cells.list("", 9)).toEqual([]);
});

test("a process among others answers for its commands; the way out of sandboxes is gone when it ends", async () => {
  const alone = await world();
  const among = await world({}, { PATH: "/bin" }, true);
  vi.stubEnv("TMPDIR", alone.home);
  onTestFinished(() => void vi.unstubAllEnvs());
  const own = await wireMachinePorts(alone.wiring, alone.store);
  const other = await wireMachinePorts(among.wiring, among.store);
  expect([...alone.heard.keys()]).toEqual(["devices"]);
  expect([...among.heard.keys()].filter((topic) => topic !== "devices")).not.toEqual([]);
  await other.end();
  const out = await own.wayOut?.();
  expect(out).toEqual({
    socket: expect.stringContaining(`${alone.home}/parley-egress-${process.pid}-`) as string,
    node: process.execPath,
  });
  expect(existsSync(out?.socket ?? "")).toBe(true);
  // What is closed to agents is closed to a sandbox, and counted by its reason.
  const asking = request({ socketPath: out?.socket, method: "CONNECT", path: "10.0.0.1:80" });
  asking.on("error", () => undefined).end();
  await expect.poll(() => alone.did).toEqual([expect.stringMatching(/\S/)]);
  asking.destroy();
  // The same one for the next sandbox.
  expect(await own.wayOut?.()).toEqual(out);
  await own.end();
  expect(readdirSync(alone.home).filter((name) => name.startsWith("parley-egress-"))).toEqual([]);
});

test("what gateways left that were killed is removed by the next sandbox; what one that lives has, and what is another's, stays", async () => {
  const { home, wiring, store } = await world();
  vi.stubEnv("TMPDIR", home);
  onTestFinished(() => void vi.unstubAllEnvs());
  // No process has this number: it is beyond the largest that the system gives.
  const names = [
    "parley-egress-4194305-dead",
    `parley-egress-${process.ppid}-alive`,
    "parley-egress-x-dead",
    "parley-egress-0-dead",
    "other-4194305-dead",
  ];
  for (const name of names) mkdirSync(join(home, name));
  const ports = await wireMachinePorts(wiring, store);
  const out = await ports.wayOut?.();
  expect(
    readdirSync(home)
      .filter((name) => names.includes(name))
      .toSorted(),
  ).toEqual(names.slice(1).toSorted());
  expect(existsSync(out?.socket ?? "")).toBe(true);
  await ports.end();
});

test("what a tool is told of this machine is the same words with a daemon and without, by each thing's own settings", async () => {
  const told = async (file: object, env = { PATH: "/none" }) => {
    const { wiring, store } = await world(file, env);
    const ports = await wireMachinePorts(wiring, store);
    onTestFinished(ports.end);
    const words = (each: typeof ports | ReturnType<typeof idleMachinePorts>): readonly unknown[] =>
      [
        each.browser?.port(),
        each.renderer?.port(),
        each.web?.pages(),
        each.web?.files(),
        each.web?.search(),
        each.speech?.voice(),
        each.drawing?.model(),
      ].map((port) => {
        const { unavailable, ...facts } = (port ?? {}) as { readonly unavailable?: string };
        const plain = Object.entries(facts).filter(([, fact]) => typeof fact !== "function");
        return unavailable ?? (plain.length === 0 ? "there" : Object.fromEntries(plain));
      });
    const found = words(ports);
    expect(words(idleMachinePorts(wiring, store))).toEqual(found);
    return found;
  };
  const noProgram = "there is no Chromium on this machine (browser.executablePath)";
  expect(
    await told({
      browser: { enabled: true },
      tools: { web: { fetch: { maxChars: 900 }, search: { provider: "brave", apiKey: "k", maxResults: 3 } } },
      models: { providers: { openai: { apiKey: "sk-x" } } },
    }),
  ).toEqual([
    noProgram,
    noProgram,
    { maxChars: 900 },
    "there",
    { provider: "brave", maxResults: 3 },
    { name: "openai" },
    { model: expect.stringMatching(/^openai\//) as string },
  ]);
  expect(
    await told({
      browser: { enabled: false, executablePath: "/opt/chrome" },
      tools: { web: { fetch: { enabled: false } } },
    }),
  ).toEqual([
    "browser.enabled is false",
    "there",
    "tools.web.fetch.enabled is false",
    "tools.web.fetch.enabled is false",
    { provider: "duckduckgo", maxResults: 5 },
    "nothing speaks: set messages.tts.providers, or install espeak-ng",
    "no provider that makes images has a key (models.providers.openai, google; agents.defaults.imageGenerationModel)",
  ]);
});
