// Turns in which the process died: who waits for whom, what is buried, and what a killer from outside proves
// against nobody.
import { afterEach, describe, expect, test } from "vitest";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

/** Kills the process this often, each time this long after its start. */
async function killed(times: number, afterMs: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    await s.pass(afterMs);
    await s.kill();
    await s.start();
  }
}

const dead = async (): Promise<readonly string[]> => (await s.rows({ outcome: "dead" })).map(({ id }) => id);
const answers = async (people: readonly Person[]): Promise<void> => {
  await s.until(() => people.every((person) => person.sees().length > 0), "an answer to everybody");
};

describe("two deaths with eight people in flight", () => {
  test("keep nobody else waiting; the eight are answered one after the other, and none is buried", async () => {
    s = await stage();
    s.model.answers(({ text }) => ({ afterMs: 8_000, says: [`re: ${text}`] }));
    const eight = Array.from({ length: 8 }, (_, n) => s.person(`p${n}`));
    for (const person of eight) person.says("hello");
    await killed(2, 3_000);
    await s.pass(8_500);
    const late = s.person("late");
    late.says("me too");
    const at = s.model.asked.length;
    await s.pass(100);
    expect(s.model.asked.slice(at).map(({ text }) => text)).toEqual(["me too"]);
    await late.gets("re: me too");
    await answers(eight);
    expect(eight.map((person) => person.sees())).toEqual(eight.map(() => ["re: hello"]));
    expect(await dead()).toEqual([]);
    expect(s.reasons()).toEqual([]);
  });

  test("clear whoever the process outlives by a minute: the next one need not wait for its end", async () => {
    s = await stage();
    s.model.answers(({ text }) => ({ afterMs: text === "slow" ? 150_000 : 1_000, says: [`re: ${text}`] }));
    const [slow, quick] = [s.person("slow"), s.person("quick")];
    slow.says("slow");
    quick.says("quick");
    await killed(2, 500);
    await quick.gets("re: quick");
    expect(slow.sees()).toEqual([]);
    await s.pass(75_000);
    // Cleared: two more deaths make it a suspect again, and no more than that.
    await s.kill();
    await s.start();
    await slow.gets("re: slow");
    expect(await dead()).toEqual([]);
  });
});

describe("a killer from outside", () => {
  test.each([
    ["every second, twenty times", 20, 1_000],
    ["every four seconds, ten times", 10, 4_000],
    ["every eight seconds, ten times", 10, 8_000],
    ["every fifty seconds, six times", 6, 50_000],
  ])(
    "that strikes %s, while no answer is ready, buries nobody, and then all are answered at once",
    async (_, times, everyMs) => {
      s = await stage();
      s.model.answers(({ text }) => ({ afterMs: everyMs + 3_000, says: [`re: ${text}`] }));
      const people = Array.from({ length: 4 }, (__, n) => s.person(`p${n}`));
      for (const person of people) person.says("hello");
      await killed(times, everyMs);
      await s.until(
        () => people.every((person) => person.sees().length > 0),
        "all answers",
        everyMs + 3_000 + 10_000,
      );
      expect(people.map((person) => person.sees())).toEqual(people.map(() => ["re: hello"]));
      expect(await dead()).toEqual([]);
    },
  );
});

test("a message that kills the process only when its answer is ready is buried too, one death later", async () => {
  s = await stage();
  s.model.answers(() => ({ afterMs: 9_000, says: ["deadly"] }));
  const mallory = s.person("mallory");
  mallory.says("poison");
  let deaths = 0;
  while (mallory.sees().length === 0) {
    const at = s.model.asked.length;
    await s.until(() => s.model.asked.length > at || mallory.sees().length > 0, "the next call of the model");
    if (s.model.asked.length === at) continue;
    await s.pass(8_900);
    deaths += 1;
    await s.kill();
    // Whoever starts it again takes a while.
    await s.pass(12_000);
    await s.start();
  }
  expect(mallory.sees()).toEqual([expect.stringMatching(/failed on your message for good/)]);
  expect(deaths).toBe(4);
});

describe("of several messages in one turn", () => {
  test("the one that kills the process is buried, quoted to who wrote it; its neighbours are answered", async () => {
    s = await stage();
    s.model.answers(({ text }) => ({ afterMs: 1_000, says: [`re: ${text.split("\n").join("+")}`] }));
    const mallory = s.person("mallory");
    const poisons = (): boolean => s.model.asked.at(-1)?.text.includes("poison") ?? false;
    for (const text of ["first", "poison", "last"]) mallory.says(text);
    let deaths = 0;
    while (mallory.sees().length < 3) {
      const at = s.model.asked.length;
      await s.until(
        () => s.model.asked.length > at || mallory.sees().length >= 3,
        "the next call of the model",
      );
      if (s.model.asked.length === at || !poisons()) continue;
      deaths += 1;
      expect(deaths).toBeLessThanOrEqual(3);
      await s.kill();
      await s.start();
    }
    expect(deaths).toBe(3);
    expect(mallory.sees()).toEqual([
      "re: first",
      expect.stringMatching(/failed on your message for good/),
      "re: last",
    ]);
    expect(await dead()).toEqual(["telegram:default:mallory-mallory-2"]);
    const [notice] = await s
      .deliveries({ troubled: false })
      .then((all) => all.filter(({ id }) => id.endsWith("/buried")));
    expect(notice?.parts[0]?.content).toContain("mallory-mallory-2".split("-").at(-1));
    const rows = await s.rows();
    expect(rows.map(({ outcome }) => outcome)).toEqual(["answered", "dead", "answered"]);
    expect(new Set(rows.map(({ turn }) => turn)).size).toBe(3);
    await expect(await s.trace()).toMatchFileSnapshot("traces/buried.txt");
  });

  test("the one that no build can read is buried; its neighbours are answered", async () => {
    s = await stage();
    s.model.answers(({ text }) => ({ afterMs: 500, says: [`re: ${text}`] }));
    const alice = s.person("alice");
    alice.says("hold the lane");
    await s.pass(100);
    alice.says("first");
    alice.says("broken");
    alice.says("last");
    await s.pass(100);
    const [broken] = await s.rows({ text: "broken" });
    if (broken === undefined) throw new Error("there is no such row");
    await s.kill();
    await s.spoil(broken.id);
    await s.start();
    await s.until(() => alice.sees().length === 4, "all answers");
    expect(await dead()).toEqual([broken.id]);
    const outcomes = new Map((await s.rows()).map(({ id, outcome }) => [id, outcome]));
    expect([...outcomes].filter(([id]) => id !== broken.id).map(([, outcome]) => outcome)).toEqual([
      "answered",
      "answered",
      "answered",
    ]);
    await expect(await s.trace()).toMatchFileSnapshot("traces/unreadable.txt");
  });
});
