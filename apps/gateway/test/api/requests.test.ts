// What programs may ask: which agent, session and place they reach, what of a request is said, how often, and
// how a refusal is told. After a wanted change: `vitest run --project @parley/gateway api/requests -u`.
import { Fault, silentLog } from "@parley/protocol";
import { answerTable, laterAnswerTable, seededIds, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { callPace } from "../../src/api/call-pace.ts";
import { errorBody } from "../../src/api/completion-error.ts";
import { agentNamed, completionRequest, saidIn } from "../../src/api/completion-request.ts";
import { jsonDepth, jsonOf, valueAt } from "../../src/api/hook-body.ts";
import { agentOf, ownSession, placeOf, sessionOf } from "../../src/api/hook-place.ts";

const world = {
  hooks: { allowedSessionKeyPrefixes: ["hook:", "agent:main:web"], allowedAgentIds: ["main", "second"] },
  agents: ["second", "main", "third"],
  homeOf: async (agent: string) => ({
    session: `agent:${agent}:main`,
    place: agent === "main" ? { channel: "telegram", account: "default", kind: "dm", peer: "1" } : null,
  }),
  unreachable: async (_agent: string, { peer }: { readonly peer: string }, fixed: boolean) =>
    peer === "666" && !fixed ? "nobody there" : null,
} as never;

test("a webhook reaches the agent, session and place that it names and may", async () => {
  const { hooks } = world as { hooks: object };
  const table = [
    answerTable([undefined, "main", "second", "third", "none"], (named) => agentOf(world, named)),
    answerTable([["a", "b"], []], (agents) => agentOf({ hooks: {}, agents } as never, undefined)),
    answerTable(
      [undefined, "", "CI", "ci", "  Two Words! ", "--", "é", "x".repeat(41), `${"x".repeat(39)} y`],
      (name) => ownSession({ door: "ci", agent: "main", asked: { name } }),
    ),
    answerTable(
      [true, false].flatMap((byConfig) =>
        [
          "hook:ci",
          "agent:main:hook:ci",
          "hook:",
          "hook: ",
          "main",
          "agent:main:web:dm:w",
          "web:dm:w",
          "subagent:x",
          "cron:j",
          "api:c:u",
          "agent:other:hook:x",
        ].map((key) => [key, byConfig] as const),
      ),
      ([key, byConfig]) => sessionOf(world, "main", key, byConfig),
    ),
    answerTable(["hook:x"], (key) =>
      sessionOf({ hooks: { ...hooks, allowedSessionKeyPrefixes: [] } } as never, "main", key, false),
    ),
    await laterAnswerTable(
      [
        {},
        { deliver: true },
        { deliver: true, channel: "last" },
        { deliver: true, channel: "telegram" },
        { deliver: false, to: "telegram:5" },
        { to: "telegram:5" },
        { to: "5", channel: "telegram" },
        { to: "-5:topic:7", channel: "telegram" },
        { to: "telegram:-5:7" },
        { to: "telegram:5", channel: "telegram" },
        { to: "telegram:5", channel: "last" },
        { to: "discord:5" },
        { to: "user:5", channel: "discord" },
        { to: "discord:channel:5" },
        { to: "discord:thread:5" },
        { to: "web:default:dm:w" },
        { to: "telegram:work:group:-5" },
        { to: "telegram:x" },
        { to: "5" },
        { to: "telegram:5:topic:7" },
        { to: "telegram:5:7" },
        { to: "telegram:5:topic:" },
        { to: "telegram:5x" },
        { to: "x telegram:5" },
        { to: "discord:guild:5" },
        { to: "discord:user:5" },
        { to: "discord:5x" },
        { to: "discord:channel:" },
        { to: "telegram:5", channel: "discord" },
        { to: "telegram:work:dm:5", channel: "telegram" },
        { deliver: true, to: "telegram:5", channel: "last" },
        { deliver: false },
        { to: "666", channel: "telegram" },
      ],
      (asked) => placeOf(world, { agent: "main", asked, fixed: false }),
    ),
    await laterAnswerTable([{ deliver: true }, { to: "telegram:666" }], (asked) =>
      placeOf(world, { agent: "second", asked, fixed: true }),
    ),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("../tables/hook-places.txt");
});

const says = (role: string, content?: unknown) => ({ role, ...(content === undefined ? {} : { content }) });
test("of a chat request the new words are said, with the rules at the beginning, and the rest where nothing is kept", async () => {
  const talks = [
    [says("user", "hi")],
    [says("system", "Be brief."), says("user", "hi")],
    [says("system", " "), says("developer", "Rhyme."), says("user", "one"), says("user", "two")],
    [
      says("system", "Be brief."),
      says("user", "one"),
      says("assistant", "1"),
      says("user", "two"),
      says("tool", "x"),
      says("user", "three"),
    ],
    [says("user", "one"), says("assistant", "1")],
    [says("user", " ")],
    [says("user")],
    [says("user", null)],
    [says("user", [{ type: "text", text: "a" }, { type: "text" }, { type: "text", text: "b" }])],
    [says("user", [{ type: "text", text: "a" }, { type: "image_url" }])],
    [says("tool", "x")],
    [
      says("developer", "First."),
      says("user", "one"),
      says("assistant", "1"),
      says("system", "Later."),
      says("function", "f"),
      says("user", "two"),
    ],
    [says("assistant", "Welcome."), says("user", "one")],
    [says("user", "one"), says("assistant"), says("user", "two"), says("user", " ")],
    [says("user", [])],
  ].map((messages) => ({ messages }));
  const more = [
    { ...talks[0], n: 2 },
    { ...talks[0], n: 1, tools: [] },
    { ...talks[0], tools: [{}] },
    { ...talks[0], functions: [{}] },
  ];
  const table = [
    ...[true, false].map((isKept) =>
      answerTable([...talks, ...more], (request) => saidIn(completionRequest.parse(request), isKept)),
    ),
    answerTable(
      [undefined, "parley", "default", "main", "parley/second", "parley/parley", "second", "gpt", "parley/x"],
      (model) => [agentNamed(model, ["second", "main"])],
    ),
    answerTable([undefined, "default", "x"], (model) => [agentNamed(model, ["only"])]),
    answerTable([undefined, "a"], (model) => [agentNamed(model, ["a", "b"])]),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("../tables/completions.txt");
});

test.each([
  ["model", "m".repeat(256), "m".repeat(257)],
  ["user", "u".repeat(256), "u".repeat(257)],
  ["messages", Array(2_000).fill(says("user", "a")), Array(2_001).fill(says("user", "a"))],
  ["messages", [says("function", "a")], []],
  ["messages", [says("user", "a")], [says("nobody", "a")]],
])("the longest %s is taken, and no longer one", (key, most, tooMuch) => {
  const read = (value: unknown) =>
    completionRequest.safeParse({ messages: [says("user", "a")], [key]: value }).success;
  expect([read(most), read(tooMuch)]).toEqual([true, false]);
});

test("each kind of trouble has its status, and a bug is not told", () => {
  const codes = [
    "invalid",
    "unsupported",
    "denied",
    "missing",
    "conflict",
    "rate_limited",
    "unavailable",
    "ambiguous",
    "aborted",
  ] as const;
  const needs = { ids: seededIds(1), log: silentLog };
  const told = codes.map((code) => {
    const { status, body, retryAfterMs } = errorBody(new Fault(code, "words", { retryAfterMs: 7 }), needs);
    const { error } = body as { readonly error: { readonly type: string; readonly code: string } };
    return `${code} ${status} ${error.type} ${error.code} ${retryAfterMs}`;
  });
  expect(told).toEqual([
    "invalid 400 invalid_request_error invalid 7",
    "unsupported 400 invalid_request_error unsupported 7",
    "denied 403 permission_error denied 7",
    "missing 404 invalid_request_error missing 7",
    "conflict 409 invalid_request_error conflict 7",
    "rate_limited 429 rate_limit_error rate_limited 7",
    "unavailable 503 server_error unavailable 7",
    "ambiguous 503 server_error ambiguous 7",
    "aborted 503 server_error aborted 7",
  ]);
  const logged: unknown[] = [];
  const error = new Error("secret");
  const log = { ...silentLog, error: (...what: readonly unknown[]) => void logged.push(what) };
  const bug = errorBody(error, { ids: { uuid: () => "12345678-9abc" } as never, log });
  expect(bug).toEqual({
    status: 500,
    body: {
      error: {
        message: "something went wrong inside the gateway; its log has more under 12345678",
        type: "server_error",
        param: null,
        code: "internal",
      },
    },
  });
  expect(logged).toEqual([[{ error, reference: "12345678" }, "a chat completion failed"]]);
});

test("a program has its calls at once, then one as each is due; others have theirs", async () => {
  const clock = virtualClock();
  const pace = callPace(6, clock);
  const take = (peer = "a") => {
    try {
      pace.take(peer);
      return 0;
    } catch (error) {
      return (error as Fault).retryAfterMs;
    }
  };
  expect([1, 2, 3, 4, 5, 6, 7].map(() => take())).toEqual([0, 0, 0, 0, 0, 0, 10_000]);
  expect(take("b")).toBe(0);
  await clock.advance(9_999);
  expect(take()).toBe(1);
  await clock.advance(1);
  expect([take(), take()]).toEqual([0, 10_000]);
  await clock.advance(3_600_000);
  expect([1, 2, 3, 4, 5, 6, 7].map(() => take()).at(-1)).toBe(10_000);
  // Who called longest ago is forgotten, and has all calls again.
  for (let n = 0; n < 999; n += 1) take(`n${n}`);
  expect(take()).toBe(10_000);
  take("one more");
  expect(take()).toBe(0);
});

test("how deep a body is nested counts brackets outside of strings, and a value is found by its path alone", () => {
  const depths = [
    "1",
    "{}",
    "[[]]",
    "[{}]",
    "[] []",
    '{"a":{"b":[1]}}',
    '["[[[["]',
    '["\\"[["]',
    '["\\\\",[]]',
    '["\\\\\\"[["]',
    '{"[":1}',
    "]][[",
    '["[',
  ];
  const json = {
    a: { b: ["zero", { c: 5 }], "": "empty" },
    n: null,
    t: "",
    f: false,
    list: [[1, [2]], "x"],
    "a.b": "dotted",
  };
  const paths = [
    "a.b.0",
    "a.b[0]",
    "a.b[1].c",
    "a.b.1",
    "a.b[2]",
    "a.b.length",
    "a.",
    "n",
    "n.x",
    "t",
    "f",
    "list[0][1][0]",
    "list[0]",
    "list[1][0]",
    "a.b[x]",
    "",
  ];
  expect(depths.map((text) => `${text} ${jsonDepth(text)}`)).toEqual([
    "1 0",
    "{} 1",
    "[[]] 2",
    "[{}] 2",
    "[] [] 1",
    '{"a":{"b":[1]}} 3',
    '["[[[["] 1',
    '["\\"[["] 1',
    '["\\\\",[]] 2',
    '["\\\\\\"[["] 1',
    '{"[":1} 1',
    "]][[ 0",
    '["[ 1',
  ]);
  expect(Object.fromEntries(paths.map((path) => [path, valueAt(json, path) ?? null]))).toEqual({
    "a.b.0": "zero",
    "a.b[0]": "zero",
    "a.b[1].c": "5",
    "a.b.1": '{"c":5}',
    "a.b[2]": null,
    "a.b.length": "2",
    "a.": "empty",
    n: "null",
    "n.x": null,
    t: "",
    f: "false",
    "list[0][1][0]": "2",
    "list[0]": "[1,[2]]",
    "list[1][0]": null,
    "a.b[x]": null,
    "": null,
  });
  expect([valueAt("text", "length"), valueAt([7], "0"), valueAt(undefined, "a"), jsonOf("{")]).toEqual([
    undefined,
    "7",
    undefined,
    undefined,
  ]);
});
