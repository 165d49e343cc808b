// What a person is handed: every record of theirs under its kind, in the order in which it was stored, what
// they said among others alone, and files as they are.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoredRecord } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { exportPerson } from "../../src/people/export-person.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "parley-export-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  mkdirSync(join(home, "media"));
  for (const name of ["b.png", "a.ogg"]) writeFileSync(join(home, "media", name), `bytes of ${name}`);
});

const own = "agent:main:telegram:dm:7";
const group = "agent:main:telegram:group:-5";
const record = (
  kind: StoredRecord["kind"],
  id: string,
  texts: object = {},
  more: Partial<StoredRecord> = {},
) =>
  ({ kind, id, lane: own, conversation: "c", turn: `t-${id}`, open: false, texts, ...more }) as StoredRecord;
const user = (text: string, atMs: number, by?: readonly string[]): object => ({
  body: JSON.stringify({
    type: "user",
    content: [{ type: "text", text }],
    rows: [],
    atMs,
    ...(by === undefined ? {} : { by }),
  }),
});

const records: readonly StoredRecord[] = [
  record("session", own, { fields: '{"model":"m"}' }),
  record("entry", "e2", user("second", 2)),
  record("entry", "e1", user("first", 1)),
  record("row", "r2", { payload: '{"text":"b"}' }),
  record("row", "r1", { payload: "no json" }),
  record("row", "kept"),
  record("part", "p2", { content: '{"n":2}' }, { turn: "cause" }),
  record("part", "p1", { content: '{"n":1}' }),
  record("cell", "prompt:1", { value: '{"secret":"words of the operator"}' }),
  record("cell", "z", { value: "plain" }),
  record("cell", "a", { value: "5" }),
  record("entry", "g2", user("I said this", 20, ["telegram:7"]), { lane: group }),
  record("entry", "g1", user("not mine", 10, ["telegram:8"]), { lane: group }),
  record("entry", "g3", user("both of us", 30, ["telegram:7", "telegram:8"]), { lane: group }),
  record("entry", "g4", { body: '{"type":"assistant","content":[]}' }, { lane: group }),
];

const found = (more: object = {}): never =>
  ({
    person: {
      name: "zed",
      ids: [
        { channel: "telegram", id: "7" },
        { channel: "discord", id: "9" },
      ],
      link: null,
    },
    survey: { sessions: new Set([own]), spokeIn: new Set([group]), names: new Set(["Zed", "Z"]) },
    marks: { names: (text: string) => text === "telegram:7", isId: () => false },
    files: {
      notes: [
        { path: "b.md", lines: ["2", "1"], rest: "x" },
        { path: "a.md", lines: ["3"] },
      ],
    },
    media: ["b.png", "a.ogg"],
    judge: ({ id }: StoredRecord) => (id === "kept" ? "keep" : "remove"),
    scrub: async (judge: (record: StoredRecord) => string, write: boolean) => {
      expect(write).toBe(false);
      expect(new Set(records.map(judge))).toEqual(new Set(["keep"]));
    },
    ...more,
  }) as never;

test("the document holds each record under its kind, in the order of the store", async () => {
  const to = join(home, "deep/out");
  const clock = virtualClock({ startMs: 1_234 });
  const told = await exportPerson(found(), to, { home, clock });
  const document = JSON.parse(readFileSync(join(to, "person.json"), "utf8")) as object;
  const entry = (text: string, atMs: number) => ({
    type: "user",
    content: [{ type: "text", text }],
    rows: [],
    atMs,
  });
  expect(document).toEqual({
    v: 1,
    person: "zed",
    ids: ["telegram:7", "discord:9"],
    names: ["Zed", "Z"],
    exportedAtMs: 1_234,
    sessions: [{ key: own, fields: { model: "m" } }],
    transcripts: [
      { session: own, turn: "t-e2", body: entry("second", 2) },
      { session: own, turn: "t-e1", body: entry("first", 1) },
    ],
    saidInSharedPlaces: [{ session: group, turn: "t-g2", atMs: 20, said: ["I said this"] }],
    messages: [
      { id: "r2", session: own, conversation: "c", turn: "t-r2", payload: { text: "b" } },
      { id: "r1", session: own, conversation: "c", turn: "t-r1", payload: "no json" },
    ],
    answers: [
      { id: "p2", conversation: own, cause: "cause", content: { n: 2 } },
      { id: "p1", conversation: own, cause: "t-p1", content: { n: 1 } },
    ],
    records: [
      { key: "z", value: "plain" },
      { key: "a", value: 5 },
    ],
    notes: [
      { path: "b.md", lines: ["2", "1"] },
      { path: "a.md", lines: ["3"] },
    ],
    media: ["media/b.png", "media/a.ogg"],
  });
  expect(Object.keys(document).slice(0, 5)).toEqual(["v", "person", "ids", "names", "exportedAtMs"]);
  expect(told).toEqual({
    person: "zed",
    ids: ["telegram:7", "discord:9"],
    sessions: [own],
    shared: [group],
    path: to,
    counts: {
      sessions: 1,
      transcripts: 2,
      saidInSharedPlaces: 1,
      messages: 2,
      answers: 2,
      records: 2,
      notes: 2,
      media: 2,
    },
    bytes: statSync(join(to, "person.json")).size + 2 * "bytes of b.png".length,
  });
  expect(readFileSync(join(to, "media/a.ogg"), "utf8")).toBe("bytes of a.ogg");
  expect(statSync(join(to, "person.json")).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(home, "deep"))).toEqual(["out"]);
});

test("of what several said in one message of a shared place, theirs is handed out by its label there, of their channel's ids alone", async () => {
  const to = join(home, "out");
  const said = [
    record("entry", "m1", user('[from "Zed" id 7]\nmine\n[from "Al" id 8]\nhis\n[from "Z" id 7]\nmore', 1), {
      lane: group,
    }),
    record("entry", "m2", user('[from "Al" id 8]\nhis', 2), { lane: group }),
    record("entry", "m3", user('[from "Zed" id 7]\non discord', 3), { lane: "agent:main:discord:channel:9" }),
    record("entry", "m4", user('[from "Zed" id 7]\nnowhere', 4), { lane: "agent:main:main" }),
  ];
  const asked: unknown[] = [];
  await exportPerson(
    found({
      marks: {
        names: () => false,
        isId: (channel: string, id: string) => (asked.push(channel), channel === "telegram" && id === "7"),
      },
      scrub: async (judge: (record: StoredRecord) => string) => void said.map(judge),
      files: { notes: [] },
      media: [],
    }),
    to,
    { home, clock: virtualClock() },
  );
  const document = JSON.parse(readFileSync(join(to, "person.json"), "utf8")) as object;
  expect(document).toMatchObject({
    saidInSharedPlaces: [{ session: group, turn: "t-m1", atMs: 1, said: ["mine", "more"] }],
    transcripts: [],
    records: [],
  });
  expect(new Set(asked)).toEqual(new Set(["telegram", "discord"]));
});

test("what an earlier export left of itself when it was killed is in no later one", async () => {
  mkdirSync(join(home, ".out.parley-draft"));
  writeFileSync(join(home, ".out.parley-draft", "half.json"), "{");
  await exportPerson(found(), join(home, "out"), { home, clock: virtualClock() });
  expect([readdirSync(join(home, "out")).toSorted(), readdirSync(home).toSorted()]).toEqual([
    ["media", "person.json"],
    ["media", "out"],
  ]);
});

test("an export that cannot be written leaves nothing, and never takes the place of something", async () => {
  const clock = virtualClock();
  writeFileSync(join(home, "file"), "mine");
  await expect(exportPerson(found(), join(home, "file"), { home, clock })).rejects.toMatchObject({
    code: "conflict",
  });
  await expect(exportPerson(found(), join(home, "file/out"), { home, clock })).rejects.toMatchObject({
    code: "unavailable",
  });
  expect(readFileSync(join(home, "file"), "utf8")).toBe("mine");
  await expect(exportPerson(found({ media: ["gone"] }), join(home, "out"), { home, clock })).rejects.toThrow(
    "ENOENT",
  );
  expect(existsSync(join(home, "out"))).toBe(false);
  const none = await exportPerson(
    found({ scrub: async () => {}, media: [], files: { notes: [] } }),
    join(home, "x.tar"),
    {
      home,
      clock,
    },
  );
  expect([none.counts, readdirSync(home).toSorted()]).toEqual([{}, ["file", "media", "x.tar"]]);
});
