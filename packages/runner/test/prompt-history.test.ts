// The stored prompts of turns: each text once while it is fresh, a number for every turn, the newest five
// hundred, and how long each lasts.
import { createHash } from "node:crypto";
import type { CompiledPrompt, PromptExplanation } from "@parley/agent";
import { hashOf } from "@parley/agent";
import type { SessionKey } from "@parley/protocol";
import type { Session, SqliteStore } from "@parley/store";
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { promptHistory, toolsHash, type PromptHistory } from "../src/prompt/prompt-history.ts";
import { memoryStore } from "./store.ts";

const day = 86_400_000;
const key = "agent:main:telegram:dm:7" as SessionKey;
const address = { channel: "telegram", account: "work", kind: "dm", peer: "7" } as const;

let clock: VirtualClock;
let fromMs: number;
let store: SqliteStore;
let book: PromptHistory;
beforeEach(async () => {
  clock = virtualClock();
  await clock.advance(100 * day);
  fromMs = clock.now();
  store = await memoryStore(clock);
  onTestFinished(() => store.close());
  book = promptHistory(store.cells, clock);
});

const prompt = (stable: string, volatile: string) =>
  ({ stable, volatile, stableHash: hashOf(stable) }) as CompiledPrompt;
const explained = (tokens: number, ...tools: readonly string[]) =>
  ({ tokens, tools: tools.map((name) => ({ name, hash: `h-${name}` })) }) as unknown as PromptExplanation;
const sessionWith = (fields: object, of: string = key) => ({ key: of, fields }) as unknown as Session;

/** Notes and commits, as a turn does; returns the session after it. */
async function noted(
  session: Session,
  turn: string,
  made: CompiledPrompt,
  about = explained(1, "read"),
  place: object = { address },
): Promise<{ readonly session: Session; readonly keys: readonly string[] }> {
  const note = book.note(turn, place as never, session, made, about);
  for (const { key: cell, value, ttlMs } of note.cells)
    if (value === null) await store.cells.remove(cell);
    else await store.cells.put(cell, value, ttlMs === undefined ? {} : { ttlMs });
  note.committed();
  const keys = note.cells.map(({ key: cell, value, ttlMs }) =>
    [cell.replace(/^prompt:text:.*/, `text ${value}`), value === null ? "gone" : (ttlMs ?? 0) / day].join(
      " ",
    ),
  );
  return { session: sessionWith({ ...session.fields, ...note.patch }, session.key), keys };
}

test("a turn's prompt is read back as it was, with its place, its report and its number", async () => {
  const first = await noted(sessionWith({}), "t1", prompt("S", "V"), explained(5, "read", "write"), {
    address,
    guild: "g",
    parent: "p",
  });
  await clock.advance(1_000);
  const second = await noted(first.session, "t2", prompt("S", ""), explained(6));
  const records = await book.turns(key);
  expect(records).toEqual([
    {
      n: 1,
      turn: "t1",
      atMs: fromMs,
      conversation: "telegram:work:dm:7",
      guild: "g",
      parent: "p",
      stable: hashOf("S"),
      volatile: hashOf("V"),
      report: hashOf(JSON.stringify(explained(5, "read", "write"))),
    },
    {
      n: 2,
      turn: "t2",
      atMs: fromMs + 1_000,
      conversation: "telegram:work:dm:7",
      stable: hashOf("S"),
      volatile: "",
      report: hashOf(JSON.stringify(explained(6))),
    },
  ]);
  const [one, two] = records;
  if (one === undefined || two === undefined) throw new Error("no records");
  expect([await book.text(one), await book.text(two)]).toEqual([
    { stable: "S", volatile: "V" },
    { stable: "S", volatile: "" },
  ]);
  expect([await book.explanation(one), await book.explanation(two)]).toEqual([
    explained(5, "read", "write"),
    explained(6),
  ]);
  expect(book.last(second.session)).toMatchObject({
    n: 2,
    stable: hashOf("S"),
    tools: toolsHash(explained(6)),
  });
  expect([book.last(sessionWith({})), book.last(sessionWith({ prompt: { n: 1 } }))]).toEqual([null, null]);
  const gone = createHash("sha256").update("gone").digest("hex");
  expect([
    await book.text({ stable: gone, volatile: "" }),
    await book.text({ stable: "", volatile: gone }),
    await book.explanation({ report: gone }),
    await book.turns("agent:main:telegram:dm:70"),
  ]).toEqual([null, null, null, []]);
});

test("a text is written once for all sessions, and anew when half of its life is over, in this process or the next", async () => {
  const text = (what: string) => `text ${what} 14`;
  const about = text(JSON.stringify(explained(1, "read")));
  const record = (n: number, of: string = key) => `prompt:turn:${of}/00000000${n} 5`;
  const one = await noted(sessionWith({}), "t1", prompt("S", "V1"));
  expect(one.keys).toEqual([text("S"), text("V1"), about, record(1)]);
  const two = await noted(one.session, "t2", prompt("S", "V2"));
  expect(two.keys).toEqual([text("V2"), record(2)]);
  const other = await noted(sessionWith({}, "agent:b:main"), "o1", prompt("S", "V2"));
  expect(other.keys).toEqual([record(1, "agent:b:main")]);
  await clock.advance(7 * day - 1);
  const three = await noted(two.session, "t3", prompt("S", "V2"));
  expect(three.keys).toEqual([record(3)]);
  // A process that just began knows from the session's field when the texts were written.
  book = promptHistory(store.cells, clock);
  expect((await noted(three.session, "t4", prompt("S", "V2"))).keys).toEqual([record(4)]);
  await clock.advance(1);
  book = promptHistory(store.cells, clock);
  expect((await noted(three.session, "t4", prompt("S", "V2"))).keys).toEqual([
    text("S"),
    text("V2"),
    about,
    record(4),
  ]);
});

test("what was not committed counts as not written", async () => {
  const note = () => book.note("t", { address }, sessionWith({}), prompt("S", ""), explained(1)).cells.length;
  expect([note(), note()]).toEqual([3, 3]);
  await noted(sessionWith({}), "t", prompt("S", ""), explained(1));
  expect(note()).toBe(1);
});

test("the newest five hundred turns are kept, by number, over their digits", async () => {
  const at = (n: number) => sessionWith({ prompt: { n, stable: "", volatile: "", report: "", keptAtMs: 0 } });
  const gone = async (n: number) =>
    (await noted(at(n - 1), `t${n}`, prompt("S", ""))).keys.filter((line) => line.endsWith(" gone"));
  expect([await gone(500), await gone(501), await gone(1_500)]).toEqual([
    [],
    [`prompt:turn:${key}/000000001 gone`],
    [`prompt:turn:${key}/000001000 gone`],
  ]);
  await noted(at(8), "t9", prompt("S", ""));
  expect((await book.turns(key)).map(({ n }) => n)).toEqual([9, 500, 501, 1_500]);
});

test("the hash of the tools changes with a name, a schema and the order", () => {
  const of = (...tools: readonly (readonly [string, string])[]) =>
    toolsHash({ tools: tools.map(([name, hash]) => ({ name, hash })) as never });
  const hashes = [
    of(),
    of(["a", "1"]),
    of(["a", "2"]),
    of(["b", "1"]),
    of(["a", "1"], ["b", "1"]),
    of(["b", "1"], ["a", "1"]),
  ];
  expect(new Set(hashes).size).toBe(hashes.length);
});
