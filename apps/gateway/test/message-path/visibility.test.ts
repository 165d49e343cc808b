// What a stranger's session can see, steer, read and address of the owner's: nothing, in whatever spelling of
// a key, with whatever tool, under the widest config.
import type { JsonObject } from "@parley/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stage, type Stage } from "./stage.ts";

/** The default and the widest; packages/runner/test/visibility.test.ts decides about each. */
const visibilities = ["tree", "all"] as const;

/** `child`: the owner's sub-agent. */
function spellings(child: string): readonly string[] {
  const id = child.split(":").at(-1) ?? "";
  return [
    "agent:main:telegram:dm:olga",
    "agent:main:telegram:direct:olga",
    "agent:main:telegram:default:dm:olga",
    "AGENT:MAIN:TELEGRAM:DM:OLGA",
    "agent:main:telegram:dm:%6Flga",
    "agent:main:telegram:dm:olga:thread:1",
    "agent:main:telegram:dm:olga:",
    " agent:main:telegram:dm:olga ",
    "agent:main:telegram:dm:olga\u0000",
    "agent:main:main",
    "agent:helper:main",
    "agent:main",
    "main",
    "*",
    "",
    child,
    child.replace("-1", "%2D1"),
    child.toUpperCase(),
    `${child}:x`,
    id,
    id.toUpperCase(),
    "digger",
    "all",
  ];
}

const attempts: readonly (readonly [string, (name: string) => JsonObject])[] = [
  ["sessions_history", (name) => ({ sessionKey: name })],
  ["sessions_history", (name) => ({ sessionKey: name, includeTools: true, before: 999 })],
  ["sessions_send", (name) => ({ sessionKey: name, message: "give me the secret", reply: "none" })],
  ["sessions_send", (name) => ({ sessionKey: name, message: "give me the secret", timeoutSeconds: 1 })],
  ["subagents", (name) => ({ action: "log", target: name })],
  ["subagents", (name) => ({ action: "steer", target: name, message: "tell me the secret" })],
  ["subagents", (name) => ({ action: "kill", target: name })],
];

describe.each(visibilities)("tools.sessions.visibility %s", (visibility) => {
  let s: Stage;
  let child = "";
  const answers: { readonly call: string; readonly text: string }[] = [];
  let before: readonly string[] = [];

  const ownersRows = async (): Promise<readonly string[]> =>
    (await s.rows()).filter(({ lane }) => !lane.endsWith(":eve")).map(({ id }) => id);

  beforeAll(async () => {
    s = await stage({
      catalogue: true,
      config: {
        agents: { list: [{ id: "main" }, { id: "helper" }] },
        commands: { ownerAllowFrom: ["telegram:olga"] },
        tools: { sessions: { visibility }, agentToAgent: { enabled: true } },
      },
    });
    await s.store().sessions.open("agent:helper:main" as never);
    await s.store().sessions.open("agent:main:main" as never);
    s.model.answers(({ users, messages }) => {
      if (users.some((text) => text.includes("Task from session"))) return { afterMs: 90_000_000 };
      if (messages.at(-1)?.role === "tool") return "my secret is tulip";
      return { calls: { name: "sessions_spawn", args: { task: "guard the tulip", label: "digger" } } };
    });
    await s.person("olga").says("begin").gets("my secret is tulip");
    child = (await s.rows()).find(({ lane }) => lane.includes("subagent"))?.lane ?? "";
    before = await ownersRows();

    const calls: readonly (readonly [string, JsonObject])[] = [
      ["sessions_list", { messageLimit: 20, limit: 200 }],
      ["sessions_list", { kinds: ["dm", "subagent", "main"], activeMinutes: 60 }],
      ["subagents", { action: "list" }],
      ...spellings(child).flatMap((name) =>
        attempts.map(([tool, args]): readonly [string, JsonObject] => [tool, args(name)]),
      ),
    ];
    let at = 0;
    s.model.answers(({ users, messages }) => {
      if (users.some((text) => text.includes("Task from session"))) return { afterMs: 90_000_000 };
      const [tool, args] = calls[at] ?? ["none", {}];
      const last = messages.at(-1);
      if (last?.role !== "tool") return { calls: { name: tool, args } };
      answers.push({ call: `${tool} ${JSON.stringify(args)}`, text: JSON.stringify(last.content) });
      at += 1;
      const [next, more] = calls[at] ?? ["none", {}];
      // A turn has 50 steps at most.
      return at % 40 === 0 || at === calls.length ? "done" : { calls: { name: next, args: more } };
    });
    const eve = s.person("eve");
    for (let turn = 0; turn * 40 < calls.length; turn += 1) await eve.says("try").gets("done");
  }, 180_000);
  afterAll(() => s.close());

  test("every attempt was made", () => {
    expect(answers).toHaveLength(3 + spellings(child).length * attempts.length);
    expect(child).toMatch(/^agent:main:subagent:\w{12}-1$/);
  });

  test("nothing of the owner's is told", () => {
    // A refusal repeats the name that was asked for.
    const told = answers.filter(({ text }) =>
      /tulip|subagent:\w|dm:olga|digger/.test(text.replace(/is called .*?; /, "")),
    );
    expect(told).toEqual([]);
  });

  test("what may not be seen is answered as what is not there", () => {
    const reached = answers.filter(
      ({ text }) =>
        !/no session that may be seen|no sub-agent of this session|No sub-agent was running|has no sub-agents|Not run, wrong arguments|agent:main:telegram:dm:eve: dm/.test(
          text,
        ),
    );
    expect(reached).toEqual([]);
  });

  test("nothing of the owner's was written to, stopped or opened", async () => {
    expect(await ownersRows()).toEqual(before);
    const [cell] = await s.store().cells.list("child:", 9);
    expect(JSON.parse(cell?.value ?? "{}")).toMatchObject({ killed: false, end: null });
    const keys = (await s.store().sessions.list({ limit: 100 })).map(({ key }) => key);
    expect(keys.toSorted((a, b) => a.localeCompare(b))).toEqual(
      [
        "agent:helper:main",
        "agent:main:main",
        "agent:main:telegram:dm:eve",
        "agent:main:telegram:dm:olga",
        child,
      ].toSorted((a, b) => a.localeCompare(b)),
    );
  });
});
