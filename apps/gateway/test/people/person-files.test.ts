// What files hold of a person, and what is left of them: notes by who wrote each line, kept results, what
// commands said, and lines of the log; of others' files not a byte.
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { loadConfig } from "@parley/config";
import { personFolder } from "@parley/memory";
import { directMessage, seededIds, virtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { peopleStored } from "../../src/people/forget-person.ts";
import { cutFiles, cutLogs, filesOf, leftovers } from "../../src/people/person-files.ts";
import { marksOf, personIn } from "../../src/people/person.ts";
import type { Survey } from "../../src/people/survey.ts";
import { memoryStore } from "../receive/store.ts";

const zed = "777000123";
const own = `agent:main:telegram:dm:${zed}`;
const person = personIn("zebedee", { zebedee: [`telegram:${zed}`, "discord:55"] });
const marks = marksOf(person);
const long = "the mauve submarine sleeps";
const survey: Survey = {
  sessions: new Set([own]),
  turns: new Set(["t-own"]),
  rows: new Set(),
  jobs: new Set(),
  spokeIn: new Set(),
  spokeAt: new Set(),
  names: new Set(["Zed"]),
  words: [long, "x".repeat(24), "y".repeat(23)],
  attachments: [],
  busy: new Set(),
  unknownEntries: 0,
};

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "parley-person-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
});
const at = (...names: readonly string[]): string => join(home, ...names);
function write(name: string, text: string | Buffer): void {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text);
}
const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

async function found(outputs: readonly string[] = [], notes: { readonly [line: string]: object } = {}) {
  const store = await memoryStore(virtualClock());
  onTestFinished(store.close);
  for (const [line, stamp] of Object.entries(notes))
    await store.cells.put(
      `memory-note:main:${sha(line).slice(0, 32)}`,
      JSON.stringify({ session: "s", turn: "t", by: [], atMs: 1, tool: "write", ...stamp }),
      {},
    );
  const agents = [{ id: "main", workspace: at("work") }] as never;
  const files = await filesOf(person, marks, survey, {
    home,
    agents,
    outputs: new Set(outputs),
    cells: store.cells,
  });
  const short = <T extends { readonly path: string }>(cut: T): T => ({
    ...cut,
    path: cut.path.slice(home.length + 1),
  });
  return {
    files,
    notes: files.notes.map(short),
    results: files.results.map(short),
    logs: files.logs.map(short),
  };
}

test("lines of notes go by who had them written; folders that are theirs go whole, however large", async () => {
  write(
    "work/MEMORY.md",
    ["# Notes", "- by zed", "- by both", "- of the turn", "- of the session", "- by none", ""].join("\n"),
  );
  write("work/memory/day.md", "- by zed\n- kept");
  write("work/memory/list.txt", "- by zed");
  write("work/notes/other.md", "- by zed");
  const theirs = `work/memory/people/${personFolder(`telegram:${zed}`)}/a.md`;
  const linked = `work/memory/people/${personFolder("zebedee")}/a.md`;
  const another = `work/memory/people/${personFolder("telegram:1")}/a.md`;
  const session = `work/memory/sessions/${sha(own).slice(0, 16)}/b.txt`;
  for (const name of [theirs, linked, another]) write(name, "one\ntwo");
  write(session, "z".repeat(4_000_001));
  const { files, notes } = await found([], {
    "by zed": { by: [`telegram:${zed}`, "discord:55"] },
    "by both": { by: [`telegram:${zed}`, "telegram:1"] },
    "of the turn": { turn: "t-own", by: ["telegram:1"] },
    "of the session": { session: own, by: ["telegram:1"] },
    "by none": {},
  });
  const whole = (path: string, lines: readonly string[]) => ({ path, text: null, lines });
  const byPath = <T extends { readonly path: string }>(cuts: readonly T[]) =>
    cuts.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  expect(byPath(notes)).toEqual(
    byPath([
      {
        path: "work/MEMORY.md",
        text: "# Notes\n- by both\n- by none\n",
        lines: ["- by zed", "- of the turn", "- of the session"],
      },
      { path: "work/memory/day.md", text: "- kept", lines: ["- by zed"] },
      whole(theirs, ["one", "two"]),
      whole(linked, ["one", "two"]),
      whole(session, [""]),
    ]),
  );
  cutFiles(files.notes);
  expect(readFileSync(at("work/MEMORY.md"), "utf8")).toBe("# Notes\n- by both\n- by none\n");
  expect([theirs, linked, session, another].map((name) => existsSync(at(name)))).toEqual([
    false,
    false,
    false,
    true,
  ]);
});

test("each file of notes is looked into, up to four million bytes; what is left keeps its rights", async () => {
  for (const name of ["MEMORY.md", "USER.md"]) write(`work/${name}`, "- by zed\n- kept");
  write("work/memory/full.md", `- by zed\n${"x".repeat(4_000_000 - 9)}`);
  write("work/memory/more.md", `- by zed\n${"x".repeat(4_000_000 - 8)}`);
  write("work/AGENTS.md", "- by zed");
  chmodSync(at("work/USER.md"), 0o640);
  const { files, notes } = await found([], { "by zed": { by: [`telegram:${zed}`] } });
  expect(notes.map(({ path, lines }) => [path, lines])).toEqual(
    ["MEMORY.md", "USER.md", "memory/full.md"].map((name) => [`work/${name}`, ["- by zed"]]),
  );
  cutFiles(files.notes);
  expect([readFileSync(at("work/USER.md"), "utf8"), statSync(at("work/USER.md")).mode & 0o777]).toEqual([
    "- kept",
    0o640,
  ]);
});

test("results of their turns go, in others their words and accounts; what a command says keeps its length", async () => {
  const mark = sha("t-own").slice(0, 12);
  write(`work/.parley/results/${mark}-call.txt`, "anything");
  write("work/.parley/results/000000000000-call.txt", `a ${long} b ${"y".repeat(23)} telegram:${zed}`);
  write("work/.parley/results/000000000000-other.txt", "of others");
  write("work/.parley/exec/a-theirs22.log", "anything");
  write("work/.parley/exec/b-grows222.log", `say ${long}, telegram:${zed}!`);
  const binary = Buffer.concat([
    Buffer.from([0xff, 0xfe]),
    Buffer.from(`${"x".repeat(24)}`),
    Buffer.from([0xff]),
  ]);
  write("work/.parley/exec/c-binary22.log", binary);
  write("work/.parley/exec/d-other222.log", "of others");
  const { files, results } = await found([".parley/exec/a-theirs22.log"]);
  const blotted = Buffer.from(`say ${"*".repeat(long.length)}, telegram:${"*".repeat(zed.length)}!`);
  expect(results.map(({ path }) => path.split("/").at(-1))).toEqual([
    "000000000000-call.txt",
    `${mark}-call.txt`,
    "a-theirs22.log",
    "b-grows222.log",
    "c-binary22.log",
  ]);
  cutFiles(files.results);
  expect(readFileSync(at("work/.parley/results/000000000000-call.txt"), "utf8")).toBe(
    `a [removed] b ${"y".repeat(23)} ${marks.without(`telegram:${zed}`)}`,
  );
  expect([
    existsSync(at(`work/.parley/results/${mark}-call.txt`)),
    existsSync(at("work/.parley/exec/a-theirs22.log")),
  ]).toEqual([false, false]);
  const grown = readFileSync(at("work/.parley/exec/b-grows222.log"), "utf8");
  expect(grown).toHaveLength(blotted.length);
  expect(grown).not.toMatch(new RegExp(`${long}|${zed}`));
  expect(readFileSync(at("work/.parley/exec/c-binary22.log"))).toEqual(
    Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("*".repeat(24)), Buffer.from([0xff])]),
  );
  expect(readFileSync(at("work/.parley/results/000000000000-other.txt"), "utf8")).toBe("of others");
});

test("lines of the log and of the audit go that name them, their sessions or their account as the sender", async () => {
  const kept = [
    JSON.stringify({ msg: "of others", sender: "8" }),
    JSON.stringify({ msg: "a number", count: 55 }),
    "{cut",
    "",
  ];
  const gone = [
    `{"msg":"named telegram:${zed}"}`,
    JSON.stringify({ msg: "their session", key: own }),
    JSON.stringify({ msg: "sent", sender: "55" }),
    JSON.stringify({ msg: "sent", senderId: 55, sender: "8" }),
  ];
  write(
    "logs/parley.log",
    [gone[0], kept[0], gone[1], kept[1], gone[2], gone[3], kept[2], kept[3]].join("\n"),
  );
  write("audit/audit.log", `${kept[0]}\n`);
  const { files, logs } = await found();
  expect(logs).toEqual([{ path: "logs/parley.log", text: kept.join("\n"), lines: gone }]);
  // What the daemon wrote since the look is there still.
  write("logs/parley.log", [...gone, ...kept.slice(0, -1), "written since", ""].join("\n"));
  cutLogs(files.logs, marks, survey);
  expect(readFileSync(at("logs/parley.log"), "utf8")).toBe(
    [...kept.slice(0, -1), "written since", ""].join("\n"),
  );
});

test("what still names them is told once, without files that are kept by themselves, links, and what is too large", () => {
  const names = `telegram:${zed}`;
  for (const name of [
    "parley.json5",
    "media/a.txt",
    "logs/a.log",
    "audit/a.log",
    "memory/x.sqlite",
    "browser/p",
  ])
    write(name, names);
  for (const name of ["work/USER.md", "work/media/a.txt", "work/deep/b.txt"]) write(name, names);
  write("work/none.md", "nobody");
  write("work/large.md", names + " ".repeat(4_000_000));
  symlinkSync(at("parley.json5"), at("work/link.md"));
  expect(leftovers(home, [at("work"), at("work")], marks).toSorted()).toEqual(
    ["parley.json5", "work/USER.md", "work/deep/b.txt", "work/media/a.txt"].map((name) => at(name)),
  );
  for (let n = 0; n < 60; n += 1) write(`more/${n}`, names);
  expect(leftovers(home, [], marks)).toHaveLength(50);
});

test("a person is shown and then forgotten by the same counts, with what is left for the operator to do", async () => {
  const clock = virtualClock({ startMs: 1_000 });
  const store = await memoryStore(clock);
  onTestFinished(store.close);
  const { config } = await loadConfig({
    env: {},
    home,
    readFile: async () =>
      JSON.stringify({
        session: { identityLinks: { zebedee: [`telegram:${zed}`, "discord:55"] } },
        agents: { list: [{ id: "main", workspace: at("work") }] },
        backup: { folder: "kept" },
      }),
  });
  await store.sessions.open(own as never);
  await store.sessions.open("agent:main:telegram:dm:8" as never);
  const pairing = (senderId: string, senderName: string) =>
    store.cells.put(
      `paired:telegram:default:${senderId}`,
      JSON.stringify({ channel: "telegram", senderId, senderName }),
      {},
    );
  await pairing(zed, "Zebedee");
  await pairing("8", "Olga");
  const picture = `${"ab".repeat(32)}.png`;
  const shared = `${"cd".repeat(32)}.png`;
  await store.cells.put(`some:${own}`, JSON.stringify({ session: own, file: picture, other: shared }), {});
  await store.cells.put("other", JSON.stringify({ file: shared }), {});
  for (const name of [picture, shared]) write(`media/${name}`, name);
  write("logs/parley.log", `{"sender":"${zed}"}\nkept\n`);
  write("parley.json5", `telegram:${zed}`);
  write("state.db", "");
  write("state.db.old", "");
  write("kept/parley-2026-01-01T00-00-00Z.db", "");
  const logged: unknown[] = [];
  const people = peopleStored({
    config,
    store,
    memory: { reindex: () => Promise.reject(new Error("no note changed")) },
    home,
    clock,
    ids: seededIds(1),
    log: { info: (...what: readonly unknown[]) => void logged.push(what) } as never,
  });
  const shown = await people.forget("discord:55", false);
  const counts = {
    sessions: 1,
    pairings: 1,
    records: 1,
    "files of messages": 1,
    "lines of the log": 1,
  };
  const copies = [
    `${at("state.db.old")} is a copy of the database of an earlier time: it keeps what it has`,
    `${at("kept")} has 1 backup of before now, with what was stored then: new ones take their place (backup.keep), or remove them`,
    "copies outside stay: backups, a git history of the workspace, messages on the platforms, what was sent to models",
  ];
  expect(shown).toEqual({
    person: "discord:55",
    ids: [`telegram:${zed}`, "discord:55"],
    done: false,
    counts,
    rewritten: 0,
    sessions: [own],
    shared: [],
    names: ["Zebedee"],
    busy: [],
    notes: [`${at("parley.json5")} would still name them: it is yours to change`, ...copies],
  });
  expect(existsSync(at("media", picture))).toBe(true);
  const done = await people.forget("zebedee", true);
  expect(done).toEqual({
    ...shown,
    person: "zebedee",
    done: true,
    notes: [`${at("parley.json5")} names them: it is yours to change`, ...copies],
  });
  expect([existsSync(at("media", picture)), existsSync(at("media", shared))]).toEqual([false, true]);
  expect(readFileSync(at("logs/parley.log"), "utf8")).toBe("kept\n");
  const record = { atMs: 1_000, counts, rewritten: 0 };
  expect((await store.cells.list("", 99)).map(({ key, value }) => [key, value])).toEqual([
    ["other", JSON.stringify({ file: shared })],
    ["paired:telegram:default:8", expect.any(String)],
    ["person-forgotten:1000", JSON.stringify(record)],
  ]);
  expect(logged).toEqual([[record, "a person was forgotten"]]);
  expect((await people.forget("zebedee", false)).counts).toEqual({});
  await expect(people.forget("nobody", true)).rejects.toMatchObject({ code: "invalid" });
});

test("nothing is forgotten while something of theirs is at work; notes that change are read anew for each agent that searches them", async () => {
  const clock = virtualClock({ startMs: 5_000 });
  const store = await memoryStore(clock);
  onTestFinished(store.close);
  const { config } = await loadConfig({
    env: {},
    home,
    readFile: async () =>
      JSON.stringify({
        agents: {
          list: [
            { id: "main", workspace: at("work") },
            { id: "quiet", workspace: at("quiet"), memorySearch: { enabled: false } },
            { id: "second", workspace: at("second") },
          ],
        },
      }),
  });
  const reindexed: unknown[] = [];
  const people = peopleStored({
    config,
    store,
    memory: { reindex: async (target: unknown) => void reindexed.push(target) } as never,
    home,
    clock,
    ids: seededIds(1),
    log: { info: () => undefined } as never,
  });
  const line = "- likes tea";
  await store.cells.put(
    `memory-note:main:${sha("likes tea").slice(0, 32)}`,
    JSON.stringify({ session: "s", turn: "t", by: [`telegram:${zed}`], atMs: 1, tool: "write" }),
    {},
  );
  write("work/MEMORY.md", `${line}\nkept`);
  write(
    "imported.json",
    JSON.stringify({
      v: 1,
      carried: [`person telegram:default:${zed}`, "person telegram:default:8", `session ${own}`],
    }),
  );
  write("kept/nothing", "");
  write("backups/parley-2026-01-01T00-00-00Z.db", "");
  write("backups/parley-2026-01-02T00-00-00Z.db.sealed", "");
  write("backups/other.txt", "");
  const threads = ["", ":thread:a", ":thread:b", ":thread:c"].map((ending) => `${own}${ending}`);
  const row = (lane: string) => ({
    id: `r ${lane}`,
    pool: "main",
    lane,
    conversation: `telegram:default:dm:${zed}`,
    authority: "owner",
    as: { kind: "work" },
    payload: JSON.stringify({
      v: 1,
      inbound: directMessage({ sender: { id: zed, name: "Zed" } }),
      owner: false,
    }),
  });
  await store.inbox.accept(threads.map(row) as never);
  const who = `telegram:${zed}`;
  const shown = await people.forget(who, false);
  expect([shown.busy, shown.counts]).toEqual([
    threads,
    { messages: 4, queues: 4, "origins of notes": 1, "lines of notes": 1, "records of imports": 2 },
  ]);
  expect(shown.notes.slice(-2)[0]).toBe(
    `${at("backups")} has 2 backups of before now, with what was stored then: new ones take their place (backup.keep), or remove them`,
  );
  await expect(people.forget(who, true)).rejects.toMatchObject({
    code: "conflict",
    message: `something of ${who} is still at work (${threads.slice(0, 3).join(", ")}): /stop there, or wait until it has ended; \`parley lanes\` shows it`,
  });
  expect([readFileSync(at("work/MEMORY.md"), "utf8"), reindexed]).toEqual([`${line}\nkept`, []]);
  for (let nth = 0; nth < threads.length; nth += 1) {
    const turn = await store.turns.take({ pool: "main", holder: "boot", leaseMs: 60_000, maxRows: 1 });
    if ("idle" in turn) throw new Error("there is one");
    await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
  }
  expect(await people.forget(who, true)).toMatchObject({ busy: [], done: true });
  expect(readFileSync(at("work/MEMORY.md"), "utf8")).toBe("kept");
  expect(reindexed).toEqual([
    expect.objectContaining({ workspace: at("work") }),
    expect.objectContaining({ workspace: at("second") }),
  ]);
  expect((await store.cells.list("", 99)).map(({ key, value }) => [key, value])).toEqual([
    ["memory-last-forgotten:main", "5000"],
    ["memory-last-forgotten:second", "5000"],
    ["person-forgotten:5000", expect.any(String)],
  ]);
  expect(JSON.parse(readFileSync(at("imported.json"), "utf8"))).toMatchObject({
    carried: ["person telegram:default:8"],
    forgotten: { marks: { length: 2 } },
  });
});

test("what their messages brought goes with them, and each kind of record is counted under its own name", async () => {
  const clock = virtualClock({ startMs: 9_000 });
  const store = await memoryStore(clock);
  onTestFinished(store.close);
  const { config } = await loadConfig({
    env: {},
    home,
    readFile: async () =>
      JSON.stringify({
        agents: { list: [{ id: "main", workspace: at("work"), memorySearch: { enabled: false } }] },
      }),
  });
  const people = (from: Partial<typeof store> = store) =>
    peopleStored({
      config,
      store: { cells: store.cells, ...from } as never,
      memory: { reindex: () => Promise.reject(new Error("no agent searches")) },
      home,
      clock,
      ids: seededIds(1),
      log: { info: () => undefined } as never,
    });
  const who = `telegram:${zed}`;
  const media = (account: string, ref: string) => `media:telegram:${account}:${sha(ref).slice(0, 32)}`;
  const [theirs, others] = [`${"ef".repeat(32)}.png`, `${"01".repeat(32)}.png`];
  const put = (key: string, value: unknown) => store.cells.put(key, JSON.stringify(value), {});
  await store.inbox.accept([
    {
      id: "r1",
      pool: "main",
      lane: own,
      conversation: `telegram:default:dm:${zed}`,
      authority: "owner",
      as: { kind: "closed", outcome: "refused", reason: "x" },
      payload: JSON.stringify({
        v: 1,
        inbound: directMessage({
          sender: { id: zed, name: "Zed" },
          attachments: [{ kind: "image", ref: "ref-1" }] as never,
        }),
        owner: false,
      }),
    } as never,
  ]);
  await put(media("default", "ref-1"), { file: theirs });
  // The same reference of another account is another file.
  await put(media("work", "ref-1"), { file: others });
  for (const name of [theirs, others]) write(`media/${name}`, name);
  await put(`pairing:telegram:default:${zed}`, { channel: "telegram", senderId: zed, senderName: "Zed" });
  await put("approval:a", { session: own });
  await put("question:a", { session: own });
  await put("prompt:turn:r1", { turn: "r1" });
  await put("prompt:text:h", `mentions ${who}`);
  await put("job:j1", { owner: { sender: who } });
  await put("cronrun:j1:1", {});
  await put("memory-note:main:x", { by: [who] });
  await put(`usage/2026-01-01/${own}`, { lines: [] });
  await put("other:x", { note: `for ${who}` });
  const counts = {
    messages: 1,
    approvals: 1,
    "origins of notes": 1,
    "pairing requests": 1,
    "prompt records": 1,
    "prompt texts": 1,
    questions: 1,
    "runs of schedules": 1,
    schedules: 1,
    "usage records": 1,
    records: 1,
    "files of messages": 1,
  };
  const shown = await people().forget(who, false);
  expect([shown.counts, shown.rewritten]).toEqual([counts, 1]);
  await people().forget(who, true);
  expect([existsSync(at("media", theirs)), existsSync(at("media", others))]).toEqual([false, true]);
  expect((await store.cells.list("", 99)).map(({ key }) => key)).toEqual([
    media("work", "ref-1"),
    "other:x",
    "person-forgotten:9000",
  ]);
  await expect(people({ scrub: undefined } as never).forget(who, false)).rejects.toMatchObject({
    code: "unsupported",
    message: "this store cannot be looked through for a person",
  });
});
