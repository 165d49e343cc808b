// Modules of the operator between the workspace and the prompt: what they may do, and how each way of being
// broken is told.
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BootstrapHook, HookFile } from "@parley/agent";
import { loadConfig } from "@parley/config";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bootstrapHooks, heardBootstrap } from "../src/prompt/bootstrap-hooks.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-hooks-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const clock = virtualClock();
const files: readonly HookFile[] = [
  { name: "SOUL.md", path: "/w/SOUL.md", text: "Dry." },
  { name: "USER.md", path: "/w/USER.md", text: null },
];
const request = {
  workspace: "/w",
  mode: "full",
  audience: "private",
  heartbeats: false,
  agent: "main",
  session: "agent:main:main",
} as const;

/** The hook that the config makes of a module of this text. */
async function hookOf(text: string, handler: object = {}): Promise<BootstrapHook> {
  await writeFile(join(dir, "hook.ts"), text);
  const file = {
    hooks: { internal: { handlers: [{ event: "agent:bootstrap", module: "hook.ts", ...handler }] } },
  };
  const { config } = await loadConfig({ env: {}, home: dir, readFile: async () => JSON.stringify(file) });
  const [hook] = bootstrapHooks(config, join(dir, "parley.json5"), clock);
  if (hook === undefined) throw new Error("no hook");
  return hook;
}

test.each([
  [
    "changing a file in place",
    `export default ({ context }) => { context.bootstrapFiles[0].content = "Warm."; };`,
  ],
  [
    "replacing the list",
    `export default ({ context }) => { context.bootstrapFiles = [{ name: "SOUL.md", path: "/w/SOUL.md", content: "Warm." }]; };`,
  ],
  [
    "returning the files",
    `export default async ({ context }) => context.bootstrapFiles.map((file) => ({ ...file, content: "Warm.", missing: false }));`,
  ],
])("%s counts", async (_how, text) => {
  const hook = await hookOf(text);
  expect((await hook(files, request)).find(({ name }) => name === "SOUL.md")?.text).toBe("Warm.");
});

test("what a hook is given, under another export's name", async () => {
  const hook = await hookOf(
    `export function persona(event) {
      const { bootstrapFiles, cfg, ...context } = event.context;
      bootstrapFiles[0].content = JSON.stringify({ type: event.type, action: event.action, ...context, files: bootstrapFiles.map((f) => [f.name, f.missing]), tz: typeof cfg.agents });
    }`,
    { export: "persona" },
  );
  expect(JSON.parse((await hook(files, request))[0]?.text ?? "")).toEqual({
    type: "agent",
    action: "bootstrap",
    workspaceDir: "/w",
    sessionKey: "agent:main:main",
    sessionId: "agent:main:main",
    agentId: "main",
    files: [
      ["SOUL.md", false],
      ["USER.md", true],
    ],
    tz: "object",
  });
});

test("files of other names are left out, and one may be taken away", async () => {
  const hook = await hookOf(
    `export default ({ context }) => { context.bootstrapFiles = [{ name: "../passwd", content: "x" }, { name: "SOUL.md", missing: true }]; };`,
  );
  expect(await hook(files, request)).toEqual([{ name: "SOUL.md", path: "/w/SOUL.md", text: null }]);
});

test.each([
  ["throws", `export default () => { throw new Error("on purpose"); };`, "on purpose"],
  ["does not parse", `export default (`, "hook.ts"],
  ["exports no function", `export const persona = 1;`, 'exports no function "default"'],
  [
    "leaves nonsense",
    `export default ({ context }) => { context.bootstrapFiles = ["SOUL.md"]; };`,
    "no file",
  ],
  [
    "leaves content that is no text",
    `export default ({ context }) => { context.bootstrapFiles[0].content = 7; };`,
    "is no text",
  ],
])("a module that %s is an error that names its path", async (_how, text, reason) => {
  const failed = await (await hookOf(text))(files, request).catch((error: Error) => error.message);
  expect(failed).toContain(join(dir, "hook.ts"));
  expect(failed).toContain(reason);
});

test("a module that does not end is given up after five seconds", async () => {
  const running = (await hookOf(`export default () => new Promise(() => {});`))(files, request);
  const ended = expect(running).rejects.toThrow("longer than 5000 ms");
  for (let tries = 0; tries < 50; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(200);
  }
  await ended;
});

test("a module that was edited counts from the next turn on, and one for another event never does", async () => {
  const says = (text: string): string => `export default () => [{ name: "SOUL.md", content: "${text}" }];`;
  const hook = await hookOf(says("first"));
  expect((await hook(files, request))[0]?.text).toBe("first");
  await writeFile(join(dir, "hook.ts"), says("second"));
  // One millisecond later: an editor may write twice within a second.
  await utimes(join(dir, "hook.ts"), 1_700_000_000, 1_700_000_000.001);
  expect((await hook(files, request))[0]?.text).toBe("second");
  await writeFile(join(dir, "hook.ts"), says("third"));
  await utimes(join(dir, "hook.ts"), 1_700_000_000, 1_700_000_000.002);
  expect((await hook(files, request))[0]?.text).toBe("third");
  await expect(hookOf(says("x"), { event: "message:received" })).rejects.toThrow("no hook");
});

test("hooks that run elsewhere are asked the same, and what they leave is checked as a module's is", async () => {
  const asked: unknown[] = [];
  const heard = (context: object | null): BootstrapHook =>
    heardBootstrap({
      ask: async (event: unknown) => (asked.push(event), context === null ? null : { context, messages: [] }),
    } as never);
  const warm = { name: "SOUL.md", path: "/x/SOUL.md", content: "Warm." };
  const left = { ...request, session: "agent:b:main", agent: "b" } as never;
  expect(await heard(null)(files, left)).toBe(files);
  expect(asked).toEqual([
    {
      type: "agent",
      action: "bootstrap",
      sessionKey: "agent:b:main",
      context: {
        workspaceDir: "/w",
        bootstrapFiles: [
          { name: "SOUL.md", path: "/w/SOUL.md", missing: false, content: "Dry." },
          { name: "USER.md", path: "/w/USER.md", missing: true },
        ],
        sessionKey: "agent:b:main",
        sessionId: "agent:b:main",
        agentId: "b",
      },
    },
  ]);
  const wanted = [{ name: "SOUL.md", path: "/x/SOUL.md", text: "Warm." }];
  expect(await heard({ bootstrapFiles: [warm, { name: "other.md", content: "x" }] })(files, left)).toEqual(
    wanted,
  );
  // What a hook returned counts, before what it left in the event.
  expect(await heard({ returned: [warm], bootstrapFiles: [] })(files, left)).toEqual(wanted);
  expect(await heard({ returned: "nonsense", bootstrapFiles: [warm] })(files, left)).toEqual(wanted);
  for (const context of [{}, { bootstrapFiles: "SOUL.md" }])
    await expect(heard(context)(files, left)).rejects.toMatchObject({
      code: "invalid",
      message: "an agent:bootstrap hook left no list of files",
    });
  // Without a path it stays where it was; what was refused before stays refused, unless it was written.
  const before = [{ name: "SOUL.md", path: "/w/SOUL.md", text: null, refused: "a link" }] as never;
  expect([
    await heard({ bootstrapFiles: [{ name: "SOUL.md", missing: true }, { name: "USER.md" }] })(before, left),
    await heard({ bootstrapFiles: [{ name: "SOUL.md", content: "New." }] })(before, left),
    await heard({ bootstrapFiles: [{ name: "SOUL.md", content: "x", missing: true }] })(before, left),
  ]).toEqual([
    [
      { name: "SOUL.md", path: "/w/SOUL.md", text: null, refused: "a link" },
      { name: "USER.md", path: "USER.md", text: null },
    ],
    [{ name: "SOUL.md", path: "/w/SOUL.md", text: "New." }],
    [{ name: "SOUL.md", path: "/w/SOUL.md", text: null, refused: "a link" }],
  ]);
});

test("hooks that are switched off are none, and several of them run in the config's order", async () => {
  const off = {
    hooks: { internal: { enabled: false, handlers: [{ event: "agent:bootstrap", module: "a.ts" }] } },
  };
  const configOf = async (file: object) =>
    (await loadConfig({ env: {}, home: dir, readFile: async () => JSON.stringify(file) })).config;
  expect(bootstrapHooks(await configOf(off), join(dir, "parley.json5"), clock)).toEqual([]);
  for (const name of ["one", "two"])
    await writeFile(
      join(dir, `${name}.ts`),
      `export default ({ context }) => { context.bootstrapFiles[0].content += " ${name}"; };`,
    );
  const handlers = ["one", "two"].map((name) => ({ event: "agent:bootstrap", module: `${name}.ts` }));
  const hooks = bootstrapHooks(
    await configOf({ hooks: { internal: { handlers } } }),
    join(dir, "parley.json5"),
    clock,
  );
  let now: readonly HookFile[] = files;
  for (const hook of hooks) now = await hook(now, request as never);
  expect([hooks.length, now[0]?.text]).toEqual([2, "Dry. one two"]);
  // Nothing waits any more for a hook that has ended.
  expect(clock.armed()).toBe(0);
});
