// Which conversations of a home go on here, under which key and in which place, why each other one does not,
// and what of one is written into the store.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import { parseRowPayload } from "@parley/protocol";
import { answerTable, virtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { importOnce } from "../../src/import/import-once.ts";
import { readSessions } from "../../src/import/sessions.ts";
import { writeSession } from "../../src/import/write-session.ts";
import { readSource } from "../../src/import/source.ts";
import { memoryStore } from "../receive/store.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-sessions-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});
function write(files: { readonly [path: string]: unknown }): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof text === "string" ? text : JSON.stringify(text));
  }
}
const line = (role: string, content: unknown) =>
  JSON.stringify({ type: "message", message: { role, content, timestamp: 5 } });
const words = line("user", "hello");

function read(entries: object, config: object = {}, files: { readonly [name: string]: unknown } = {}) {
  const source = readSource(folder);
  rmSync(join(folder, "agents"), { recursive: true, force: true });
  const transcripts = Object.fromEntries(
    Object.entries({ "a.jsonl": words, ...files }).map(([name, text]) => [
      `agents/Main/sessions/${name}`,
      text,
    ]),
  );
  write({ "agents/Main/sessions/sessions.json": entries, ...transcripts });
  const { sessions, met } = readSessions({ ...source, config: { ...source.config, ...config } as never });
  const short = (text: string): string => text.replaceAll(folder, "F");
  return {
    sessions: sessions.map(
      ({ key, place, entries: said }) => `${key} in ${JSON.stringify(place)}: ${said().length}`,
    ),
    met: met.map(({ what, name, fate, to, why }) =>
      short(
        `${what} ${name}: ${fate}${to === undefined ? "" : ` to ${to}`}${why === undefined ? "" : `, ${why}`}`,
      ),
    ),
  };
}

test("each kind of conversation has its key and its place, or a reason", async () => {
  write({ "openclaw.json": "{}" });
  const to = (channel: string | undefined, peer: unknown, accountId?: string) => ({
    deliveryContext: { channel, to: peer, accountId },
  });
  const a = { sessionId: "a" };
  const asked: readonly (readonly [object, object?, object?])[] = [
    [{ "agent:main:main": { ...a, ...to("telegram", "42", "work") } }],
    [{ "agent:main:main": { ...a, lastChannel: "telegram", lastTo: "-5:topic:7", lastAccountId: "home" } }],
    [{ main: { ...a, ...to("telegram", "@name") } }],
    [{ mine: a }, { session: { mainKey: "mine" } }],
    [{ "AGENT:Other:main": a }],
    [{ "telegram:dm:42": a }],
    [{ "agent:main:dm:42": { ...a, ...to("telegram", "42") } }],
    [{ "agent:main:dm:42": { ...a, ...to("slack", "42") } }],
    [{ "agent:main:telegram:dm:42": { ...a, ...to("telegram", "42", "work") } }],
    [{ "agent:main:telegram:work:dm:42": { ...a, ...to("telegram", "42", "other") } }],
    [{ "agent:main:telegram:dm:42:thread:8": a }],
    [{ "agent:main:telegram:group:-5": { ...a, lastAccountId: "work" } }],
    [{ "agent:main:telegram:home:group:-5:topic:7": { ...a, lastAccountId: "work" } }],
    [{ "agent:main:discord:channel:9": { ...a, ...to("discord", "channel:9", "work") } }],
    [{ "agent:main:discord:channel:9:thread:7": a }],
    [
      {
        "agent:main:cron:tea": a,
        "agent:main:hook:x": a,
        "agent:main:subagent:1": a,
        "agent:main:nonsense:x": a,
      },
    ],
    [{ "agent:main:main": { sessionId: "gone" }, "agent:main:telegram:dm:1": {}, "telegram:dm:2": 5 }],
    [
      {
        "telegram:dm:1": { sessionId: "b" },
        "telegram:dm:2": { sessionId: "c" },
        "telegram:dm:3": { sessionId: "d" },
      },
      {},
      { "b.jsonl": "", "c.jsonl": line("user", [{ type: "image" }]), "d.jsonl": `{\n${words}` },
    ],
    [
      { main: { ...a, updatedAt: 5 }, "agent:main:main": { sessionId: "b", updatedAt: 4 } },
      {},
      { "b.jsonl": `${words}\n${words}` },
    ],
    [
      { main: { ...a, updatedAt: 4 }, "agent:main:main": { sessionId: "b", updatedAt: 5 } },
      {},
      { "b.jsonl": `${words}\n${words}` },
    ],
    [{ main: a, "agent:main:main": { sessionId: "b" } }, {}, { "b.jsonl": `${words}\n${words}` }],
    [
      { "telegram:group:-5:topic:7": { sessionId: "/was/there/a" } },
      {},
      { "a-topic-7.jsonl": `${words}\n${words}` },
    ],
    [
      { main: { sessionId: "a", sessionFile: "/was/there/b.jsonl" } },
      {},
      { "b.jsonl": `${words}\n${words}`, "c.jsonl.deleted": "" },
    ],
  ];
  const table = answerTable(asked, ([entries, config = {}, files = {}]) =>
    read(entries, config, files as never),
  );
  await expect(table).toMatchFileSnapshot("../tables/import-sessions.txt");
  expect(read({}, {}, { "sessions.json": "{ broken" }).met).toEqual([
    "file F/agents/Main/sessions/a.jsonl: refused, sessions.json beside it, which says whose conversation this is, cannot be read",
  ]);
});

test("a transcript behind a link out of the home, or that is no file, is told, and a folder without config still has its conversations", () => {
  write({
    "elsewhere.jsonl": words,
    "home/agents/main/sessions/sessions.json": {
      main: { sessionId: "a" },
      "telegram:dm:1": { sessionId: "b" },
    },
  });
  const sessions = join(folder, "home/agents/main/sessions");
  symlinkSync(join(folder, "elsewhere.jsonl"), join(sessions, "a.jsonl"));
  mkdirSync(join(sessions, "b.jsonl"));
  const { met } = readSessions(readSource(join(folder, "home")));
  expect(met).toEqual([
    {
      what: "session",
      name: "main",
      fate: "refused",
      why: `its transcript ${join(sessions, "a.jsonl")}: a link leads out of the source, which is not followed: put what it leads to in its place`,
    },
    {
      what: "session",
      name: "telegram:dm:1",
      fate: "refused",
      why: `its transcript ${join(sessions, "b.jsonl")}: it is no file`,
    },
  ]);
});

test("a conversation is one row that is done, and its words behind it; one that is spoken in here stays, and a killed import is begun anew", async () => {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  onTestFinished(() => store.close());
  const place = { channel: "telegram", account: "work", kind: "dm", peer: "42" } as const;
  const session = (key: string, text: string) => ({
    key: key as never,
    place,
    entries: () => [{ type: "user", content: [{ type: "text", text }], rows: [], atMs: 1 }] as never,
  });
  const one = session("agent:main:main", "one");
  // An import was killed between the row of another conversation and its words.
  const killed = session("agent:main:telegram:dm:9", "killed");
  const dying = {
    ...store,
    turns: {
      ...store.turns,
      take: async () => {
        throw new Error("killed");
      },
    },
  };
  await expect(writeSession(dying, killed, "first", 5)).rejects.toThrow("killed");
  await clock.advance(10);
  expect(await writeSession(store, one, "second", 7)).toBe(true);
  expect(await writeSession(store, session("agent:main:main", "again"), "second", 8)).toBe(false);
  const rows = await store.inbox.find({ limit: 9 });
  expect(
    rows.map(({ id, lane, state, outcome, reason, pool, conversation }) => [
      id,
      lane,
      pool,
      conversation,
      state,
      outcome,
      reason,
    ]),
  ).toEqual([
    [
      "import:openclaw:agent:main:main",
      "agent:main:main",
      "import",
      "telegram:work:dm:42",
      "ended",
      "commanded",
      "its conversation was carried over from OpenClaw",
    ],
    [
      "import:openclaw:agent:main:telegram:dm:9",
      "agent:main:telegram:dm:9",
      "import",
      "telegram:work:dm:42",
      "ended",
      "stopped",
      "its import began anew",
    ],
  ]);
  const id = "import:openclaw:agent:main:main";
  expect(parseRowPayload(rows[0]?.payload ?? "")).toEqual({
    v: 1,
    inbound: {
      id,
      channel: "telegram",
      account: "work",
      address: place,
      sender: { id: "42", name: "", isBot: false },
      messageId: id,
      kind: "message",
      text: "parley import openclaw",
      attachments: [],
      mentions: [],
      addressed: true,
      atMs: 7,
    },
    owner: false,
  });
  const said = async ({ key }: typeof one) => {
    const found = await store.sessions.transcript(key, { limit: 9 });
    return found.map(({ body }) => JSON.parse(body) as unknown);
  };
  expect([await said(one), await said(killed)]).toEqual([one.entries(), []]);
  // The killed one is carried as any other when it is its turn, also when that is killed once more; no row of
  // it is left.
  await expect(writeSession(dying, killed, "third", 9)).rejects.toThrow("killed");
  await clock.advance(10);
  expect(await writeSession(store, killed, "fourth", 10)).toBe(true);
  expect(await said(killed)).toEqual(killed.entries());
  expect((await store.inbox.find({ limit: 9 })).map(({ state }) => state)).toEqual([
    "ended",
    "ended",
    "ended",
  ]);
});

test("`parley import` answers with one document: the report, or why nothing was done", async () => {
  const home = join(folder, "state");
  const ran = async (...args: readonly string[]) => {
    let text = "";
    const output = new Writable({ write: (chunk, _encoding, done) => ((text += String(chunk)), done()) });
    const code = await importOnce(args, output, { PARLEY_HOME: home });
    expect(text.endsWith("\n")).toBe(true);
    return [code, JSON.parse(text)];
  };
  expect(await ran(join(folder, "gone"))).toEqual([
    1,
    {
      error: {
        code: "missing",
        message: `there is no folder ${join(folder, "gone")}: name the one to import, parley import openclaw <folder>`,
      },
    },
  ]);
  write({ "notes/SOUL.md": "kind" });
  const looked = { from: join(folder, "notes"), home, applied: false, changes: true };
  expect(await ran(join(folder, "notes"))).toMatchObject([0, looked]);
  expect(await ran(join(folder, "notes"), "--apply")).toMatchObject([0, { ...looked, applied: true }]);
  expect(await ran(join(folder, "notes"), "--even-if-running", "--apply")).toMatchObject([
    0,
    { applied: true, changes: false },
  ]);
});
