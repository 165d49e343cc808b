// Which hooks there are, and why one does not run: where its folder lies, what it requires, what the config
// says, and what was enabled.
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hookRegistry, type HookRegistry } from "../../src/hooks/hook-registry.ts";
import { hooksFolder } from "../../src/installation.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-hooks-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function hook(root: string, name: string, metadata: object, module = "handler.ts"): Promise<string> {
  const folder = join(home, root, name);
  await mkdir(folder, { recursive: true });
  const openclaw = { events: ["message:received"], ...metadata };
  await writeFile(
    join(folder, "HOOK.md"),
    `---\nname: ${name}\ndescription: The hook.\nmetadata: ${JSON.stringify({ openclaw })}\n---\n`,
  );
  if (module !== "") await writeFile(join(folder, module), "export default () => {};\n");
  return folder;
}

const clock = virtualClock();

async function registry(
  internal: object = {},
  env: { readonly [name: string]: string } = {},
): Promise<HookRegistry> {
  const file = JSON.stringify({ hooks: { internal } });
  const { config } = await loadConfig({ env: {}, home, readFile: async () => file });
  return hookRegistry({
    config,
    configPath: join(home, "parley.json5"),
    home,
    bundled: hooksFolder,
    env: { PATH: "/usr/bin:/bin", ...env },
    platform: "linux",
    clock,
  });
}

async function states(of: HookRegistry): Promise<{ readonly [name: string]: string }> {
  const { hooks, refused } = await of.survey();
  return Object.fromEntries([
    ...hooks.map(({ name, source, state }) => [
      name,
      `${source} ${state.status}${state.status === "ready" ? "" : `: ${state.reason}`}`,
    ]),
    ...refused.map(({ file, reason }) => [file.slice(home.length + 1), reason]),
  ]);
}

const received = { type: "message", action: "received", sessionKey: "agent:main:telegram:dm:1" } as const;

test("the state folder's run, those that Parley brings and a workspace's once enabled; a workspace takes nobody's place", async () => {
  await hook("hooks", "mine", {});
  await hook("hooks", "both", {});
  await hook("workspace/hooks", "both", {});
  await hook("workspace/hooks", "local", {});
  const plain = await states(await registry());
  expect(plain).toMatchObject({
    mine: "managed ready",
    both: "managed ready",
    local: "workspace disabled: it is off until `parley hooks enable local`",
    "boot-md": "bundled disabled: it is off until `parley hooks enable boot-md`",
    "command-logger": expect.stringContaining("disabled"),
    "session-memory": expect.stringContaining("disabled"),
  });
  const on = await registry({ entries: { local: { enabled: true }, mine: { enabled: false } } });
  expect((await on.hearing(received)).map(({ name }) => name)).toEqual(["both", "local"]);
  const none = await registry({ enabled: false, entries: { local: { enabled: true } } });
  expect(await none.hearing(received)).toEqual([]);
});

test("a workspace's hook runs in the form that was enabled, for its own agent, and is given what was written down for it alone", async () => {
  const folder = await hook("workspace/hooks", "local", { requires: { env: ["GIVEN"] } });
  const first = await registry(
    { entries: { local: { enabled: true, env: { GIVEN: "yes" } } } },
    { GIVEN: "the daemon's", OTHER: "x" },
  );
  const [found] = await first.hearing(received);
  if (found === undefined) throw new Error("it is not heard");
  const pin = await first.pinOf(found);
  expect(first.envOf(found)).toMatchObject({ GIVEN: "yes" });
  expect(first.envOf(found)).not.toHaveProperty("OTHER");
  expect(await first.hearing({ ...received, sessionKey: "agent:other:main" })).toEqual([]);
  const entries = { local: { enabled: true, sha256: pin, env: { GIVEN: "yes" } } };
  expect(await (await registry({ entries })).hearing(received)).toHaveLength(1);
  await writeFile(join(folder, "more.ts"), "// Somebody added this.\n");
  expect((await states(await registry({ entries })))["local"]).toContain(
    "changed: it is not what was enabled",
  );
});

test("what is missing is named, and what an operator's hook names is handed over", async () => {
  await hook("hooks", "needs", {
    requires: { bins: ["no-such-program"], env: ["BOARD_URL"], config: ["browser.enabled"] },
    os: ["darwin"],
  });
  await hook("hooks", "has", { requires: { bins: ["sh"], env: ["BOARD_URL"] } });
  const reason = (await states(await registry()))["needs"];
  for (const what of ["no-such-program", "BOARD_URL", "darwin"]) expect(reason).toContain(what);
  const on = await registry({}, { BOARD_URL: "http://board", SECRET: "s" });
  const [has] = await on.hearing(received);
  expect(has?.name).toBe("has");
  expect(has === undefined ? {} : on.envOf(has)).toMatchObject({ BOARD_URL: "http://board" });
  expect(has === undefined ? {} : on.envOf(has)).not.toHaveProperty("SECRET");
});

test("a folder that is no hook is refused with its reason", async () => {
  await hook("hooks", "no-module", {}, "");
  await hook("hooks", "no-event", { events: ["message:never"] });
  await hook("workspace/hooks", "index-only", {}, "index.ts");
  const out = await hook("elsewhere", "linked", {});
  await symlink(out, join(home, "workspace", "hooks", "linked"));
  const found = await states(await registry());
  expect(found["hooks/no-module/HOOK.md"]).toContain("it has no module");
  expect(found["hooks/no-event/HOOK.md"]).toContain("no event that is known");
  expect(found["workspace/hooks/index-only/HOOK.md"]).toContain("it has no module");
  expect(found["workspace/hooks/linked/HOOK.md"]).toBe("its folder is a link");
});

test("hooks of one more folder alone, or of one entry alone, are heard without a folder of the state's own", async () => {
  await hook("more", "extra", {});
  await hook("workspace/hooks", "local", {});
  const names = async (internal: object) =>
    (await (await registry(internal)).hearing(received)).map(({ name }) => name);
  const load = { extraDirs: [join(home, "more")] };
  expect([
    await names({}),
    await names({ load }),
    await names({ entries: { local: { enabled: true } } }),
    await names({ entries: { local: { enabled: false } } }),
  ]).toEqual([[], ["extra"], ["local"], []]);
});

test("hooks of the family come before those of the event", async () => {
  await hook("hooks", "b-exact", {});
  await hook("hooks", "c-family", { events: ["message"] });
  expect((await (await registry()).hearing(received)).map(({ name }) => name)).toEqual([
    "c-family",
    "b-exact",
  ]);
});

test("a hook is given what every process needs, what it names and what the config says for it, and no other variable", async () => {
  await hook("hooks", "needs", { requires: { env: ["BOARD_URL", "NODE_OPTIONS"] } });
  const env = {
    HOME: "/home/me",
    LC_ALL: "C",
    TZ: "UTC",
    PARLEY_HOME: home,
    BOARD_URL: "http://board",
    NODE_OPTIONS: "--inspect",
    SECRET: "s",
    PATHS: "no",
  };
  const on = await registry(
    { entries: { needs: { enabled: true, timeoutMs: 900, env: { OWN: "mine", TZ: "CET" }, colour: "red" } } },
    env,
  );
  const [found] = await on.hearing(received);
  if (found === undefined) throw new Error("it is not heard");
  expect(on.envOf(found)).toEqual({
    PATH: "/usr/bin:/bin",
    HOME: "/home/me",
    LC_ALL: "C",
    TZ: "CET",
    PARLEY_HOME: home,
    BOARD_URL: "http://board",
    OWN: "mine",
  });
  // What is left of its entry is its own, and only a workspace's is pinned.
  expect([on.settingsOf(found), found.timeoutMs, await on.pinOf(found)]).toEqual([
    { colour: "red" },
    900,
    null,
  ]);
});

test("a hook that is put in or taken away counts after two seconds, or as soon as somebody asks which there are", async () => {
  await hook("hooks", "first", {});
  const on = await registry();
  const names = async () => (await on.hearing(received)).map(({ name }) => name);
  expect(await names()).toEqual(["first"]);
  await hook("hooks", "second", {});
  await clock.advance(1_999);
  expect(await names()).toEqual(["first"]);
  await clock.advance(1);
  expect(await names()).toEqual(["first", "second"]);
  await rm(join(home, "hooks", "first"), { recursive: true });
  expect(await names()).toEqual(["first", "second"]);
  await on.survey();
  expect(await names()).toEqual(["second"]);
});

test("a module of the config hears its event, unless that is asked in this process; of folders the first of a name counts", async () => {
  await writeFile(join(home, "one.ts"), "export default () => {};\n");
  await hook("more", "same", {});
  await hook("hooks", "same", {});
  const handlers = [
    { event: "message:received", module: "one.ts", export: "run" },
    { event: "agent:bootstrap", module: "one.ts" },
    { event: "tool:before", module: "one.ts" },
  ];
  const on = await registry({ handlers, load: { extraDirs: [join(home, "more")] } });
  const heard = async (type: "message" | "agent" | "tool", action: string) =>
    (await on.hearing({ type, action, sessionKey: "" } as never)).map(({ name }) => name);
  expect([
    await heard("message", "received"),
    await heard("agent", "bootstrap"),
    await heard("tool", "before"),
  ]).toEqual([["handlers[0]", "same"], [], []]);
  const { hooks, shadowed, enabled, roots } = await on.survey();
  expect(hooks[0]).toMatchObject({
    name: "handlers[0]",
    description: "one.ts",
    source: "config",
    agent: null,
    events: ["message:received"],
    file: join(home, "one.ts"),
    handler: join(home, "one.ts"),
    exportName: "run",
    eligible: true,
    timeoutMs: null,
    state: { status: "ready" },
  });
  expect(shadowed).toEqual([
    {
      name: "same",
      source: "extra",
      file: join(home, "more", "same", "HOOK.md"),
      by: join(home, "hooks", "same", "HOOK.md"),
    },
  ]);
  expect([enabled, roots.map(({ source }) => source)]).toEqual([
    true,
    ["managed", "extra", "bundled", "workspace"],
  ]);
  const off = await registry({ enabled: false, handlers });
  expect((await off.survey()).hooks[0]?.state).toEqual({
    status: "disabled",
    reason: "hooks.internal.enabled is false",
  });
});

test("what a hook is and needs is told whole, each need for itself; the words for its name come before those for its key", async () => {
  const folder = await hook("hooks", "My Hook", {
    hookKey: "the-key",
    emoji: "🪝",
    homepage: "https://hook.test",
    events: ["message:received", "session"],
    export: "run",
    os: ["linux", "darwin"],
    requires: {
      bins: ["sh", "no-such-program"],
      anyBins: ["no-such-a", "no-such-b"],
      env: ["GIVEN", "EMPTY", "OWN"],
      config: ["gateway.port", "gateway.publicUrl"],
    },
  });
  const told = async (entries: object, env: { readonly [name: string]: string } = {}) => {
    const on = await registry({ entries }, { GIVEN: "g", EMPTY: "", ...env });
    const found = (await on.survey()).hooks.find(({ source }) => source === "managed");
    if (found === undefined) throw new Error("there is one");
    return { found, settings: on.settingsOf(found) };
  };
  const byName = await told({
    "the-key": { enabled: true, timeoutMs: 1_000, colour: "key" },
    "MY HOOK": { enabled: true, timeoutMs: 2_000, colour: "name", env: { OWN: "o" } },
  });
  const file = join(folder, "HOOK.md");
  expect(byName).toEqual({
    found: {
      name: "My Hook",
      key: "the-key",
      description: "The hook.",
      emoji: "🪝",
      homepage: "https://hook.test",
      source: "managed",
      agent: null,
      events: ["message:received", "session"],
      file,
      handler: join(folder, "handler.ts"),
      exportName: "run",
      requires: [
        { kind: "os", what: "linux or darwin", satisfied: true },
        { kind: "bin", what: "sh", satisfied: true },
        { kind: "bin", what: "no-such-program", satisfied: false },
        { kind: "anyBins", what: "no-such-a or no-such-b", satisfied: false },
        { kind: "env", what: "GIVEN", satisfied: true },
        { kind: "env", what: "EMPTY", satisfied: false },
        { kind: "env", what: "OWN", satisfied: true },
        { kind: "config", what: "gateway.port", satisfied: true },
        { kind: "config", what: "gateway.publicUrl", satisfied: false },
      ],
      always: false,
      eligible: false,
      timeoutMs: 2_000,
      state: { status: "unmet", reason: expect.stringContaining("no-such-program") },
      notes: [],
    },
    settings: { colour: "name" },
  });
  // What the config says by its key counts where nothing is said by its name; a wish to have it off comes
  // first.
  const byKey = await told({ "the-key": { enabled: false, colour: "key" } });
  expect([byKey.settings, byKey.found.state]).toEqual([
    { colour: "key" },
    { status: "disabled", reason: "hooks.internal.entries.My Hook.enabled is false" },
  ]);
});

test("a workspace's hook has of the environment what was written down for it alone, in what it needs, too", async () => {
  const folder = await hook("workspace/hooks", "local", { requires: { env: ["GIVEN"] } });
  const state = async (entry: object, change: object = {}) =>
    (
      await states(
        await registry({ entries: { local: { enabled: true, ...entry } } }, { GIVEN: "yes", ...change }),
      )
    )["local"];
  expect(await state({})).toMatch(/^workspace unmet: .*GIVEN/);
  expect(await state({ env: { GIVEN: "mine" } })).toBe("workspace ready");
  expect(await state({ sha256: "0".repeat(64) })).toBe(
    `workspace changed: it is not what was enabled: look at ${folder}, then \`parley hooks enable local\``,
  );
});
