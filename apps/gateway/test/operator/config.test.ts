// The config over the control plane: what reaches the editor, what comes back of it, and how often it may
// change.
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { configMethods } from "../../src/operator/config.ts";

const problem = (path: string) => ({
  path,
  line: 1,
  column: 2,
  message: `wrong ${path}`,
  fix: "mend it",
  kept: 1,
});
const shown = (path: string) => ({ path, line: 1, column: 2, message: `wrong ${path}`, fix: "mend it" });
const written = {
  path: "/h/parley.json5",
  hash: "h2",
  changed: ["tools.a", "gateway.port"],
  backup: "/h/b",
  warnings: [problem("w")],
  problems: [problem("p")],
};

function setUp(refuses = false) {
  const clock = virtualClock();
  const asked: unknown[] = [];
  const write =
    (name: string) =>
    async (...given: readonly unknown[]) => {
      asked.push([name, ...given]);
      if (refuses) throw new Error("the disk is full");
      return written;
    };
  const methods = configMethods({
    clock,
    restartNeeded: (changed: readonly string[]) => changed.filter((path) => path.startsWith("gateway")),
    editor: {
      read: async () => ({
        path: "/h/parley.json5",
        hash: "h1",
        file: { a: 1 },
        config: { a: 1, b: 2 },
        problems: [problem("p")],
        warnings: [problem("w")],
      }),
      text: async (given: object) => (
        asked.push(["text", given]),
        { text: "{a:1}", hash: "h1", file: { a: 1 } }
      ),
      validate: async (text: string) => (
        asked.push(["validate", text]),
        { problems: [problem("v")], warnings: [], changed: ["gateway.port", "tools.b"] }
      ),
      patch: write("patch"),
      change: write("change"),
      apply: write("apply"),
    } as never,
  });
  return { clock, asked, methods };
}

test("what is read has its file, what is in force, and its trouble in the words of people alone", async () => {
  const { methods, asked } = setUp();
  expect(await methods["config.get"]({})).toEqual({
    path: "/h/parley.json5",
    hash: "h1",
    file: { a: 1 },
    config: { a: 1, b: 2 },
    problems: [shown("p")],
    warnings: [shown("w")],
  });
  expect(await methods["config.validate"]({})).toEqual({
    problems: [shown("p")],
    warnings: [shown("w")],
    changed: [],
    restartNeeded: [],
  });
  // An empty text is a text.
  expect(await methods["config.validate"]({ text: "" })).toEqual({
    problems: [shown("v")],
    warnings: [],
    changed: ["gateway.port", "tools.b"],
    restartNeeded: ["gateway.port"],
  });
  expect(await methods["config.text"]({ text: "" })).toEqual({ text: "{a:1}", hash: "h1", file: { a: 1 } });
  await methods["config.text"]({ config: {} });
  expect(asked).toEqual([
    ["validate", ""],
    ["text", { text: "" }],
    ["text", { config: {} }],
  ]);
  expect((await methods["config.schema"]({})).schema).toMatchObject({ type: "object" });
});

test("what is written reaches the editor whole, and tells what changed and what needs a restart", async () => {
  const { methods, asked } = setUp();
  expect(await methods["config.patch"]({ patch: { a: null }, baseHash: "h1", replacePaths: ["a"] })).toEqual({
    ...written,
    warnings: [shown("w")],
    problems: [shown("p")],
    restartNeeded: ["gateway.port"],
  });
  await methods["config.set"]({
    changes: [{ path: ["a"] }, { path: ["b", "c"], value: null }, { path: ["d"], value: false }],
    baseHash: "h1",
  });
  await methods["config.apply"]({ text: "", baseHash: "h1" });
  await methods["config.apply"]({ config: { a: 1 }, baseHash: "h1" });
  expect(asked).toEqual([
    ["patch", { a: null }, "h1", ["a"]],
    ["change", [{ remove: ["a"] }, { set: ["b", "c"], to: null }, { set: ["d"], to: false }], "h1"],
    ["apply", "", "h1"],
    ["apply", { a: 1 }, "h1"],
  ]);
});

test("thirty changes go through within a minute, also those that fail; the next one hears when there is room", async () => {
  const { methods, clock } = setUp(true);
  const set = (): Promise<readonly unknown[]> =>
    methods["config.set"]({ changes: [] }).then(
      () => ["went through"],
      ({ code, message, retryAfterMs }: { code?: string; message: string; retryAfterMs?: number }) => [
        code ?? message,
        retryAfterMs,
      ],
    );
  expect(await set()).toEqual(["the disk is full", undefined]);
  await clock.advance(10_000);
  for (let nth = 2; nth <= 30; nth += 1) expect((await set())[0]).toBe("the disk is full");
  await clock.advance(20_000);
  expect(await set()).toEqual(["rate_limited", 30_000]);
  await clock.advance(29_999);
  expect(await set()).toEqual(["rate_limited", 1]);
  // What was refused did not count, and one has left the minute.
  await clock.advance(1);
  expect((await set())[0]).toBe("the disk is full");
  expect(await set()).toEqual(["rate_limited", 10_000]);
  clock.jumpWall(-3_600_000);
  await clock.advance(10_000);
  expect((await set())[0]).toBe("the disk is full");
});
