// How vectors come to be there: in which requests, how long after a failure, by which model, and what is left
// of a request that ended.
import { Fault } from "@parley/protocol";
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Embedder } from "../src/vectors/embed.ts";
import { vectorsOf, type Vectors } from "../src/vectors/vectors.ts";
import { indexed, type Indexed } from "./indexed.ts";

let index: Indexed;
let clock: VirtualClock;
let held: Vectors;
beforeEach(() => {
  index = indexed();
  clock = virtualClock();
});
afterEach(() => {
  held.close();
  index.close();
});

interface Fake extends Embedder {
  readonly asked: {
    readonly texts: readonly string[];
    readonly kind: string;
    readonly signal: AbortSignal;
  }[];
  /** What comes in place of an answer. */
  answer: ((texts: readonly string[]) => Promise<readonly Float32Array[]>) | null;
}

/**
 * A text is as near to another as their first characters say: `a` has the one axis, `b` the other, `ab` both.
 */
function fake(id: string, axes = "abcd"): Fake {
  const vectorOf = (text: string): Float32Array => {
    const values = axes.split("").map((axis) => (text.includes(axis) ? 1 : 0));
    const length = Math.hypot(...values) || 1;
    return Float32Array.from(values, (value) => value / length);
  };
  const self: Fake = {
    id,
    batch: 2,
    asked: [],
    answer: null,
    async embed(texts, kind, signal) {
      self.asked.push({ texts, kind, signal });
      return self.answer === null ? texts.map(vectorOf) : self.answer(texts);
    },
  };
  return self;
}

function open(current: Fake, others: readonly Fake[] = []): Vectors {
  held = vectorsOf(
    index.db,
    { current, byId: (id) => others.find((other) => other.id === id) ?? null },
    clock,
  );
  return held;
}
const kept = (): readonly string[] =>
  (index.db.prepare("SELECT DISTINCT model FROM vectors ORDER BY model").all() as { model: string }[]).map(
    ({ model }) => model,
  );
const near = async (query: string, most = 9, scopes: readonly string[] = ["daily"]) => {
  const found = await held.near(query, scopes, most);
  return found === null ? null : [...found.scores.keys()].map((id) => index.textOf(id));
};

test("passages go in requests of the service's size, under their heading, each content once", async () => {
  index.put("one", "daily", ["a", "b", "a"], "H");
  index.put("two", "shared", ["a"], "H");
  index.put("three", "daily", ["c", "a"]);
  const service = fake("m");
  open(service);
  expect(held.pending()).toBe(4);
  await held.filled();
  expect(held.pending()).toBe(0);
  expect(service.asked.map(({ texts }) => texts.length)).toEqual([2, 2]);
  expect(service.asked.flatMap(({ texts }) => texts).toSorted()).toEqual(["H\na", "H\nb", "a", "c"]);
  expect(service.asked.every(({ kind }) => kind === "document")).toBe(true);
  expect([clock.armed(), held.isBusy(), held.trouble()]).toEqual([0, false, null]);
  await held.filled();
  expect(service.asked).toHaveLength(2);
});

test("after a failure it is tried again after 5 seconds, then twice as long each time, at most five minutes", async () => {
  index.put("one", "daily", ["a"]);
  const service = fake("m");
  service.answer = () => Promise.reject(new Fault("unavailable", "away"));
  open(service);
  await held.filled();
  expect(held.trouble()).toBe("away");
  for (const [at, seconds] of [5, 10, 20, 40, 80, 160, 300, 300].entries()) {
    await held.filled();
    await clock.advance(seconds * 1_000 - 1);
    await held.filled();
    expect(service.asked).toHaveLength(at + 1);
    await clock.advance(1);
    expect(service.asked).toHaveLength(at + 2);
  }
  // A success makes the next failure the first one again.
  const { answer } = service;
  service.answer = null;
  await clock.advance(300_000);
  expect([held.trouble(), held.pending(), clock.armed()]).toEqual([null, 0, 0]);
  service.answer = answer;
  index.put("two", "daily", ["b"]);
  await held.filled();
  const before = service.asked.length;
  await clock.advance(5_000);
  expect(service.asked).toHaveLength(before + 1);
});

test("a service that names its wait is asked after it, for questions too", async () => {
  index.put("one", "daily", ["a"]);
  const service = fake("m");
  service.answer = () => Promise.reject(new Fault("rate_limited", "too often", { retryAfterMs: 70 }));
  open(service);
  await held.filled();
  expect(await near("a")).toBeNull();
  await clock.advance(69);
  expect(await near("a")).toBeNull();
  expect(service.asked).toHaveLength(1);
  service.answer = null;
  await clock.advance(1);
  expect(service.asked).toHaveLength(2);
  expect(await near("a")).toEqual(["a"]);
});

test("a question that fails is told, and rests as long as is asked or 5 seconds", async () => {
  index.put("one", "daily", ["a"]);
  const service = fake("m");
  open(service);
  await held.filled();
  for (const [fault, waitMs] of [
    [new Fault("unavailable", "away"), 5_000],
    [new Fault("rate_limited", "often", { retryAfterMs: 9_000 }), 9_000],
  ] as const) {
    service.answer = () => Promise.reject(fault);
    expect(await near(`a ${waitMs}`)).toBeNull();
    expect(held.trouble()).toBe(fault.message);
    service.answer = null;
    const before = service.asked.length;
    await clock.advance(waitMs - 1);
    expect(await near(`a ${waitMs}`)).toBeNull();
    expect(service.asked).toHaveLength(before);
    await clock.advance(1);
    expect(await near(`a ${waitMs}`)).toEqual(["a"]);
  }
  service.answer = () => Promise.reject(new TypeError("a flaw"));
  await expect(near("a flaw")).rejects.toThrow("a flaw");
});

test("a request ends after a minute, a question after 8 seconds, and nothing of one that ended stays", async () => {
  index.put("one", "daily", ["a"]);
  const service = fake("m");
  const never = (texts: readonly string[]): Promise<readonly Float32Array[]> =>
    new Promise((_, reject) => {
      const { signal } = service.asked.at(-1) ?? {};
      signal?.addEventListener("abort", () => reject(new Fault("aborted", `late ${texts.join()}`)));
    });
  service.answer = never;
  open(service);
  const filled = held.filled();
  await clock.advance(59_999);
  expect(service.asked[0]?.signal.aborted).toBe(false);
  expect(held.isBusy()).toBe(true);
  await clock.advance(1);
  await filled;
  expect([held.trouble(), held.isBusy(), clock.armed()]).toEqual(["late a", false, 1]);
  service.answer = null;
  await clock.advance(5_000);
  expect([held.pending(), clock.armed()]).toEqual([0, 0]);
  service.answer = never;
  const asked = near("b");
  await clock.advance(7_999);
  expect(service.asked.at(-1)?.signal.aborted).toBe(false);
  await clock.advance(1);
  expect([await asked, held.trouble(), clock.armed()]).toEqual([null, "late b", 0]);
});

test("what comes after the index was closed is not kept, and nothing goes on", async () => {
  index.put("one", "daily", ["a", "b", "c"]);
  const service = fake("m");
  let come: (vectors: readonly Float32Array[]) => void = () => {};
  service.answer = () => new Promise((resolve) => (come = resolve));
  open(service);
  const filled = held.filled();
  held.close();
  expect(service.asked[0]?.signal.aborted).toBe(true);
  come([Float32Array.of(1), Float32Array.of(1)]);
  await filled;
  expect([kept(), service.asked.length, clock.armed()]).toEqual([[], 1, 0]);
  await held.filled();
  expect(service.asked).toHaveLength(1);
});

test("what is being embedded is not asked for again, and a closed index is not looked into", async () => {
  index.put("one", "daily", ["a"]);
  const service = fake("m");
  let come: (vectors: readonly Float32Array[]) => void = () => {};
  service.answer = () => new Promise((resolve) => (come = resolve));
  open(service);
  held.fill();
  held.fill();
  const filled = held.filled();
  expect(service.asked).toHaveLength(1);
  come([Float32Array.of(1)]);
  await filled;
  expect(kept()).toEqual(["m"]);
  held.close();
  index.db.close();
  held.fill();
  expect(held.isBusy()).toBe(false);
});

test("a failure after the index was closed is nobody's trouble", async () => {
  index.put("one", "daily", ["a"]);
  const service = fake("m");
  service.answer = async () => {
    held.close();
    throw new Fault("aborted", "closed");
  };
  open(service);
  await held.filled();
  expect([held.trouble(), clock.armed()]).toEqual([null, 0]);
});

test("the last hundred questions are not asked again", async () => {
  index.put("one", "daily", ["a"]);
  const service = fake("m");
  open(service);
  await held.filled();
  service.asked.length = 0;
  for (let at = 0; at < 100; at += 1) await near(`a${at}`);
  await near("a0");
  expect(service.asked).toHaveLength(100);
  await near("a100");
  await near("a1");
  expect(service.asked).toHaveLength(101);
  await near("a0");
  expect(service.asked).toHaveLength(102);
});

test("the vectors of the model before serve until all are there, then they go", async () => {
  index.put("one", "daily", ["a", "b", "c"]);
  const [old, fresh] = [fake("old"), fake("new", "ab")];
  open(old);
  await held.filled();
  held.close();
  open(fresh, [old]);
  expect(await near("a")).toEqual(["a", "b", "c"]);
  expect(old.asked.at(-1)).toMatchObject({ texts: ["a"], kind: "query" });
  fresh.answer = () => Promise.reject(new Fault("invalid", "no"));
  await held.filled();
  expect(kept()).toEqual(["old"]);
  fresh.answer = null;
  await clock.advance(5_000);
  expect(kept()).toEqual(["new"]);
  const before = old.asked.length;
  expect((await near("b"))?.[0]).toBe("b");
  expect(fresh.asked.at(-1)).toMatchObject({ texts: ["b"], kind: "query" });
  expect(old.asked).toHaveLength(before);
});

test("where the model before cannot be asked any more, the new one serves with what it has", async () => {
  index.put("one", "daily", ["a", "b", "c"]);
  open(fake("old"));
  await held.filled();
  held.close();
  const fresh = fake("new", "ab");
  open(fresh);
  expect(await near("a")).toEqual([]);
  expect(fresh.asked.at(-1)).toMatchObject({ kind: "query" });
});

test("a new model that has nothing to embed serves at once", async () => {
  const [old, fresh] = [fake("old"), fake("new")];
  index.put("one", "daily", ["a"]);
  open(old);
  await held.filled();
  index.remove("one");
  held.close();
  open(fresh, [old]);
  held.fill();
  expect([kept(), fresh.asked.length]).toEqual([[], 0]);
  index.put("two", "daily", ["b"]);
  await held.filled();
  expect(kept()).toEqual(["new"]);
});

test("a question that is under way while the model changes is asked of the new one", async () => {
  index.put("one", "daily", ["a", "b"]);
  const [old, fresh] = [fake("old"), fake("new", "ba")];
  open(old);
  await held.filled();
  held.close();
  open(fresh, [old]);
  let come: () => void = () => {};
  old.answer = async () => {
    await new Promise<void>((resolve) => (come = resolve));
    return [Float32Array.of(1, 0, 0, 0)];
  };
  const asked = near("a", 1);
  await held.filled();
  come();
  expect(await asked).toEqual(["a"]);
  expect(fresh.asked.at(-1)).toMatchObject({ texts: ["a"], kind: "query" });
});

test("vectors of passages that went are not kept", async () => {
  index.put("one", "daily", ["a"]);
  index.put("two", "daily", ["b"]);
  open(fake("m"));
  await held.filled();
  const count = (): unknown => index.db.prepare("SELECT count(*) AS n FROM vectors").get();
  index.remove("two");
  index.put("three", "daily", ["c"]);
  await held.filled();
  expect(count()).toEqual({ n: 2 });
});

test("the best are kept, the best first, of all scopes that are asked and of no other", async () => {
  index.put("one", "daily", ["a", "abcd", "ab", "d"]);
  index.put("two", "shared", ["abc"]);
  index.put("three", "curated", ["a other"]);
  open(fake("m"));
  await held.filled();
  const scopes = ["daily", "shared"];
  expect(await near("a", 9, scopes)).toEqual(["a", "ab", "abc", "abcd", "d"]);
  expect(await near("a", 3, scopes)).toEqual(["a", "ab", "abc"]);
  expect(await near("a", 1, scopes)).toEqual(["a"]);
  expect(await near("a", 9, ["person:none"])).toEqual([]);
  const found = await held.near("a", ["daily"], 1);
  const idOf = (text: string): number =>
    (index.db.prepare("SELECT id FROM chunks WHERE text = ?").get(text) as { id: number }).id;
  expect(found?.scoreOf(idOf("a"))).toBeCloseTo(1, 2);
  expect(found?.scoreOf(idOf("ab"))).toBeCloseTo(Math.SQRT1_2, 2);
  expect(found?.scoreOf(999)).toBeNull();
});

test("what is held to be compared follows passages that come, go, and get their vectors later", async () => {
  index.put("one", "daily", ["a"]);
  const service = fake("m");
  open(service);
  await held.filled();
  expect(await near("a")).toEqual(["a"]);
  expect(await near("a", 9, ["shared"])).toEqual([]);
  // Known by its content, a passage has its vector at once, in whichever scope it comes.
  index.put("two", "shared", ["a"], "", held);
  expect(await near("a", 9, ["shared"])).toEqual(["a"]);
  index.put("three", "daily", ["ab"], "", held);
  expect(await near("a")).toEqual(["a"]);
  await held.filled();
  expect(await near("a")).toEqual(["a", "ab"]);
  index.remove("one", held);
  expect(await near("a")).toEqual(["ab"]);
  held.added(7, "daily", new Uint8Array(16));
  held.dropped(7, "none");
  expect(await near("a")).toEqual(["ab"]);
});

test("vectors of another length than the question's are not compared", async () => {
  index.put("one", "daily", ["a", "b"]);
  const service = fake("m");
  service.answer = async () => [Float32Array.of(1, 0), Float32Array.of(1, 0, 0, 0)];
  open(service);
  await held.filled();
  service.answer = async () => [Float32Array.of(1, 0)];
  const [first] = (await near("as long as the one")) ?? [];
  expect(await near("as long as the one")).toEqual([first]);
  // One that comes later is no more compared than one that was there.
  index.put("two", "daily", ["c"]);
  service.answer = async () => [Float32Array.of(1, 0, 0)];
  await held.filled();
  expect(await near("as long as the one")).toEqual([first]);
  expect(await near("a")).toEqual([]);
  const found = await held.near("a", [], 1);
  const rows = index.db.prepare("SELECT id FROM chunks").all() as { id: number }[];
  expect(rows.map(({ id }) => found?.scoreOf(id) ?? null)).toEqual([null, null, expect.closeTo(1)]);
});

test("a passage that goes while others are embedded is not sent, and the ones behind it are", async () => {
  index.put("one", "daily", ["a", "b"]);
  index.put("two", "daily", ["c", "d"]);
  index.put("three", "daily", ["ab", "cd"]);
  const service = fake("m");
  let come: () => void = () => {};
  service.answer = async (texts) => {
    service.answer = null;
    await new Promise<void>((resolve) => (come = resolve));
    return texts.map(() => Float32Array.of(1, 0, 0, 0));
  };
  open(service);
  const filled = held.filled();
  const [first] = service.asked;
  const batches = [
    ["a", "b"],
    ["c", "d"],
    ["ab", "cd"],
  ];
  const paths = ["one", "two", "three"];
  // They go in the order of their hashes; what matters is that a whole request of gone ones is none.
  const left = paths.filter((_, at) => !batches[at]?.some((text) => first?.texts.includes(text)));
  const [gone = ""] = left;
  index.remove(gone);
  come();
  await filled;
  const sent = service.asked.flatMap(({ texts }) => texts);
  const goneTexts = batches[paths.indexOf(gone)] ?? [];
  expect(sent.filter((text) => goneTexts.includes(text))).toEqual([]);
  expect([held.pending(), service.asked.every(({ texts }) => texts.length > 0)]).toEqual([0, true]);
  const rows = index.db.prepare("SELECT count(*) AS n FROM vectors").get() as { n: number };
  expect(rows.n).toBe(4);
});
