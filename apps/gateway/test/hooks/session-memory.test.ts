// What session-memory keeps of a conversation that ended: once, also when the process died before it could,
// and where its people may read it.
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { noRedaction } from "@parley/agent";
import { silentLog, type HookEvent, type SessionKey } from "@parley/protocol";
import { afterEach, expect, test } from "vitest";
import { sessionMemory, type SessionMemory } from "../../src/hooks/session-memory.ts";
import { configIn, stage, type Stage } from "../message-path/stage.ts";

let s: Stage;
afterEach(() => s.close());

const options = { config: { commands: { ownerAllowFrom: ["telegram:olga"] } } };
const olgas = "agent:main:telegram:dm:olga" as SessionKey;

async function memoryOf(hears = true, more: object = {}): Promise<SessionMemory> {
  const config = await configIn(s.home, options);
  await mkdir(join(s.home, "workspace"), { recursive: true });
  return sessionMemory({
    ...s.store(),
    config,
    registry: {
      hearing: async () => (hears ? [{ name: "session-memory", source: "bundled" } as never] : []),
    },
    redaction: { ...noRedaction, secrets: ["hunter2-hunter2"] },
    origins: undefined,
    clock: s.clock,
    log: silentLog,
    ...more,
  });
}

const event = (type: HookEvent["type"], sessionKey: string): HookEvent => ({
  type,
  action: "x",
  sessionKey,
  context: {},
});

test("a conversation that was to be saved when the process died is saved at the next start, once, without secrets", async () => {
  s = await stage(options);
  s.model.answers(() => "noted");
  const olga = s.person("olga");
  olga.says("The boiler: the man comes on Friday, his code is hunter2-hunter2");
  await olga.gets("noted");
  const key = (await s.store().sessions.list({ limit: 1 }))[0]?.key ?? olgas;
  await (await memoryOf()).ending(key, 1, "/new");
  await s.store().sessions.reset(key);
  await s.kill();
  await s.start();
  const { hook } = await memoryOf();
  await hook(event("gateway", ""), {});
  await hook(event("gateway", ""), {});
  const folder = join(s.home, "workspace", "memory");
  const [name = "", ...more] = (await readdir(folder)).filter((each) => each.endsWith(".md"));
  expect([name, more]).toEqual([
    expect.stringMatching(/^\d{4}-\d\d-\d\d-the-boiler-the-man-comes-on\.md$/),
    [],
  ]);
  const text = await readFile(join(folder, name), "utf8");
  expect(text).toContain("- olga: The boiler: the man comes on Friday, his code is");
  expect(text).toContain("- assistant: noted");
  expect(text).not.toContain("hunter2");
  expect(text.match(/conversation 1\n/g)).toHaveLength(1);
});

test("what somebody else said goes to the notes of that session, and of a conversation without words nothing is kept", async () => {
  s = await stage(options);
  s.model.answers(() => "hello");
  const person = s.person("77");
  person.says("Remember me");
  await person.gets("hello");
  const memory = await memoryOf();
  const key = (await s.store().sessions.list({ limit: 1 }))[0]?.key ?? olgas;
  await memory.ending(key, 1, "daily");
  await memory.ending(olgas, 1, "/new");
  await memory.hook(event("command", key), {});
  const folder = join(s.home, "workspace", "memory");
  expect((await readdir(folder)).filter((each) => each.endsWith(".md"))).toEqual([]);
  const [mark = ""] = await readdir(join(folder, "sessions"));
  expect(await readdir(join(folder, "sessions", mark))).toEqual([expect.stringContaining("remember-me.md")]);
  expect(existsSync(join(folder, "people"))).toBe(false);
});

test("a command saves its own conversation, as many of its last messages as the settings say; others wait, and no program's is kept", async () => {
  s = await stage(options);
  s.model.answers(() => "noted");
  const olga = s.person("olga");
  for (const nth of [1, 2, 3]) {
    olga.says(`words ${nth}`);
    await olga.gets("noted");
  }
  const key = (await s.store().sessions.list({ limit: 1 }))[0]?.key ?? olgas;
  const due = async () => (await s.store().cells.list("session-memory:", 9)).map((cell) => cell.key);
  await (await memoryOf(false)).ending(key, 1, "/new");
  const memory = await memoryOf();
  await memory.ending("agent:main:hook:ci" as SessionKey, 1, "/new");
  expect(await due()).toEqual([]);
  await memory.ending(key, 1, "/new");
  const [kept] = await s.store().cells.list("session-memory:", 9);
  expect([kept?.key, (kept?.expiresAtMs ?? 0) - s.clock.now()]).toEqual([
    `session-memory:${key}:1`,
    7 * 86_400_000,
  ]);
  await memory.hook(event("command", "agent:main:telegram:dm:other"), {});
  await memory.hook(event("command", key.slice(0, -1)), {});
  expect(await due()).toHaveLength(1);
  await memory.hook(event("command", key), { messages: 2.9 });
  expect(await due()).toEqual([]);
  const folder = join(s.home, "workspace", "memory");
  const [name = ""] = (await readdir(folder)).filter((each) => each.endsWith(".md"));
  const text = await readFile(join(folder, name), "utf8");
  expect(text.match(/^- (?:olga|assistant): .*$/gm)).toEqual(["- olga: words 3", "- assistant: noted"]);
});

test("another hook of its name, or Parley's of another name, keeps nothing; of an agent that is gone nothing is left to do", async () => {
  s = await stage(options);
  const body = JSON.stringify({ type: "user", rows: [], content: [{ type: "text", text: "hi" }], atMs: 1 });
  const sessions = { transcript: async () => [{ body }] };
  const due = async () => (await s.store().cells.list("session-memory:", 9)).map((cell) => cell.key);
  const heard: unknown[] = [];
  for (const hook of [
    { name: "session-memory", source: "managed" },
    { name: "boot-md", source: "bundled" },
  ]) {
    const registry = { hearing: async (of: object) => (heard.push(of), [hook]) };
    await (await memoryOf(true, { sessions, registry })).ending(olgas, 1, "/new");
  }
  expect([heard, await due()]).toEqual([
    Array.from({ length: 2 }, () => ({ type: "command", action: "new", sessionKey: olgas })),
    [],
  ]);
  const memory = await memoryOf(true, { sessions });
  for (const kind of ["main:main", "main:telegram:group:-5", "main:discord:channel:7", "gone:main"])
    await memory.ending(`agent:${kind}` as SessionKey, 2, "daily");
  for (const kind of ["main:cron:j1", "main:subagent:0123456789ab-1", "main:api:c:u"])
    await memory.ending(`agent:${kind}` as SessionKey, 2, "daily");
  expect((await due()).toSorted()).toEqual(
    ["gone:main", "main:discord:channel:7", "main:main", "main:telegram:group:-5"].map(
      (kind) => `session-memory:agent:${kind}:2`,
    ),
  );
  await memory.hook(event("command", "agent:gone:main"), {});
  expect(await due()).toHaveLength(3);
  await memory.hook(event("gateway", ""), {});
  expect(await due()).toEqual([]);
});

test("fifteen messages are kept where no number is set, a hundred at most, and the log says where they are", async () => {
  s = await stage(options);
  const logged: unknown[][] = [];
  const said = (text: string) => ({
    body: JSON.stringify({ type: "user", rows: [], content: [{ type: "text", text }], atMs: 1 }),
  });
  const memory = await memoryOf(true, {
    sessions: {
      transcript: async (_key: string, { epoch }: { readonly epoch: number }) =>
        Array.from({ length: 120 }, (_, nth) => said(`talk ${epoch} word ${nth}`)),
    },
    log: { ...silentLog, info: (...line: unknown[]) => void logged.push(line) },
  });
  const kept = async (epoch: number, settings: object) => {
    await memory.ending(olgas, epoch, "/new");
    await memory.hook(event("command", olgas), settings as never);
    const [fields, words] = logged.splice(0)[0] ?? [];
    const { session, path } = fields as { readonly session: string; readonly path: string };
    expect([session, words]).toEqual([olgas, "a conversation that ended was saved"]);
    const lines = (await readFile(join(s.home, "workspace", path), "utf8")).match(/^- user: .*$/gm) ?? [];
    expect(lines.at(-1)).toBe(`- user: talk ${epoch} word 119`);
    return lines.length;
  };
  const settings = [
    {},
    { messages: 0 },
    { messages: "40" },
    { messages: 1 },
    { messages: 100 },
    { messages: 101 },
  ];
  const counts: number[] = [];
  for (const [at, each] of settings.entries()) counts.push(await kept(at + 1, each));
  expect(counts).toEqual([15, 15, 15, 1, 100, 100]);
});
