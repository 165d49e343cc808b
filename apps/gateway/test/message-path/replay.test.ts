// A past turn run again: the prompt anew, tools from the record, nothing sent, nothing stored; and what
// moved.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { loadConfig } from "@parley/config";
import { silentLog, type SavedTurn } from "@parley/protocol";
import { replayMethods } from "../../src/operator/replay.ts";
import type { Answer, Asked } from "./scripted-model.ts";
import { stage, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const key = "agent:main:telegram:dm:olga";
const config = { commands: { ownerAllowFrom: ["telegram:olga"] } };

/** Writes down what it is asked to, and says so. */
function script(said: string, content = "milk"): (asked: Asked) => Answer {
  return ({ messages, text }) => {
    const lastUser = messages.findLastIndex(({ role }) => role === "user");
    const called = messages.slice(lastUser).some(({ role }) => role === "tool");
    if (text.includes("note it") && !called)
      return { calls: { name: "write", args: { path: "list.md", content } } };
    return called ? said : `re: ${text}`;
  };
}

async function begin() {
  s = await stage({ catalogue: true, config });
  await mkdir(join(s.home, "workspace"), { recursive: true });
  await writeFile(join(s.home, "workspace", "AGENTS.md"), "Be brief.\n");
  s.model.answers(script("noted"));
  const olga = s.person("olga");
  await olga.says("hello").gets("re: hello");
  await olga.says("we need milk, note it").gets("noted");
  const loaded = await loadConfig({
    env: {},
    home: s.home,
    readFile: async () => JSON.stringify(config),
  });
  const { prompts, turnPreparer, models: modelCatalog } = s.core();
  return replayMethods({
    config: loaded.config,
    store: s.store(),
    prompts,
    turnPreparer,
    modelCatalog,
    worldOf: async () => ({ config: loaded.config, turnPreparer, modelCatalog }),
    clock: s.clock,
    log: silentLog,
  });
}

async function everything(): Promise<string> {
  const records: string[] = [];
  await s.store().scrub?.((record) => {
    records.push(JSON.stringify(record));
    return "keep";
  }, false);
  return records.join("\n");
}

test("nothing moves where nothing changed, and nothing is sent, stored or done", async () => {
  const methods = await begin();
  await writeFile(join(s.home, "workspace", "list.md"), "bread");
  const [stored, seen, asked] = [await everything(), s.person("olga").sees().length, s.model.asked.length];
  const told = await methods["turns.replay"]({ id: key });
  expect(told).toMatchObject({
    session: key,
    failures: [],
    unanswered: [],
    before: { answer: "noted", calls: [{ name: "write" }], steps: 2 },
    after: { answer: "noted", calls: [{ name: "write", args: { path: "list.md", content: "milk" } }] },
  });
  expect(told.moved.filter((each) => /^(?:calls|answer|end|model)/.test(each))).toEqual([]);
  expect(s.model.asked.length).toBe(asked + 2);
  // The model read what it had read before: the conversation until then, and the recorded result.
  expect(s.model.asked.at(-1)?.users).toEqual(s.model.asked[asked - 1]?.users);
  const results = (nth: number) =>
    s.model.asked
      .at(nth)
      ?.messages.filter(({ role }) => role === "tool")
      .map(({ content }) => content);
  expect(results(-1)).toEqual(results(asked - 1));
  expect(await readFile(join(s.home, "workspace", "list.md"), "utf8")).toBe("bread");
  expect(await everything()).toBe(stored);
  expect(s.person("olga").sees().length).toBe(seen);
});

test("says what moved in prompt, calls and answer", async () => {
  const methods = await begin();
  await writeFile(join(s.home, "workspace", "AGENTS.md"), "Be long and kind.\n");
  s.model.answers(script("I wrote it down for you", "milk and more"));
  const told = await methods["turns.replay"]({ id: key });
  expect(told.prompt?.files).toEqual(["AGENTS.md"]);
  expect(told.unanswered).toEqual([
    { name: "write", args: { path: "list.md", content: "milk and more" }, given: "another" },
  ]);
  expect(told.moved).toEqual(
    expect.arrayContaining([
      "files: AGENTS.md",
      "calls: write to write",
      "write was called with other arguments: it was given the recorded result of another call",
      "answer: other words",
    ]),
  );
  const quiet = s.model.asked.length;
  expect((await methods["turns.replay"]({ id: key, ask: false })).after).toBeNull();
  expect(s.model.asked.length).toBe(quiet);
});

test("a saved turn is held to what it expects, after the records are gone too", async () => {
  const methods = await begin();
  const { saved } = await methods["turns.replay"]({ id: key, save: true });
  if (saved === undefined) throw new Error("nothing was saved");
  await s.store().sessions.forget(key as never, "forgotten");
  const held = (expect_: SavedTurn["expect"]) =>
    methods["turns.replay"]({ saved: structuredClone({ ...saved, expect: expect_ }) });
  expect((await held({ calls: "same", answer: { same: true, includes: ["noted"] } })).failures).toEqual([]);
  s.model.answers(() => "I would rather not");
  expect((await held({ calls: "names", answer: { excludes: ["rather"] }, tokens: 0.1 })).failures).toEqual([
    "other tools: write to none",
    'the answer says "rather"',
    expect.stringMatching(/tokens, of at most/),
  ]);
  expect((await held({ calls: "any", answer: {} })).failures).toEqual([]);
  s.model.answers(() => ({ fails: "refused" }));
  expect((await held({ calls: "any", answer: {} })).failures[0]).toMatch(/it ended as "error": refused/);
  await expect(methods["turns.replay"]({ id: key })).rejects.toThrow(/no turn since it began/);
  await expect(methods["turns.replay"]({ id: "agent:main:nobody" })).rejects.toThrow(/malformed|no session/);
  await expect(methods["turns.replay"]({ id: "nobody" })).rejects.toThrow(
    /no turn, message or session is known by "nobody"/,
  );
});
