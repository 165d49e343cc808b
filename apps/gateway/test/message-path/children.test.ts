// Sub-agents on the message path: spawned once, told once, never wider than their parents, ended with them.
import { afterEach, describe, expect, test } from "vitest";
import type { Answer, Asked } from "./scripted-model.ts";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const parent = "agent:main:telegram:dm:olga";

/** What a child answers to its task; anything else is a parent's. */
type Child = (task: string, asked: Asked) => Answer;

const isChild = ({ users }: Asked): boolean => users[0]?.includes("Task from session") === true;

/** "spawn a, b" spawns one child for each word; announcements are repeated to the person. */
function script(child: Child): (asked: Asked) => Answer {
  return (asked) => {
    const { messages, text, users } = asked;
    const task = /Task from session \S+: (\S+)/.exec(users[0] ?? "")?.[1];
    if (isChild(asked) && task !== undefined && messages.at(-1)?.role !== "tool") return child(task, asked);
    const wanted =
      /spawn (.*)$/.exec(users.findLast((each) => /spawn /.test(each)) ?? "")?.[1]?.split(", ") ?? [];
    const begun = messages.filter((message) => message.role === "tool").length;
    const next = wanted[begun];
    if (next !== undefined) return { calls: { name: "sessions_spawn", args: { task: next, label: next } } };
    if (text.includes("[System Message]")) return `told: ${text}`;
    return begun > 0 ? `spawned ${wanted.join(" and ")}` : `re: ${text}`;
  };
}

async function begin(child: Child, config: object = {}): Promise<Person> {
  s = await stage({
    catalogue: true,
    config: { commands: { ownerAllowFrom: ["telegram:olga"] }, ...config },
  });
  s.model.answers(script(child));
  return s.person("olga");
}

const childSessions = async (): Promise<readonly string[]> =>
  (await s.store().sessions.list({ limit: 100 }))
    .map(({ key }) => key)
    .filter((key) => key.includes(":subagent:"));
const told = (who: Person): readonly string[] => who.sees().filter((text) => text.startsWith("told: "));
const ends = async (): Promise<readonly (string | undefined)[]> =>
  (await s.store().cells.list("child:", 100)).map(
    ({ value }) => (JSON.parse(value) as { end?: { state?: string } }).end?.state,
  );

test("a child works in a session of its own, and its result comes to the person by its parent", async () => {
  const olga = await begin((task) => ({ afterMs: 5_000, says: [`the ${task} is 42`] }));
  await olga
    .says("spawn answer")
    .gets("spawned answer", /told: .*Sub-agent "answer" \(\w+-1\) finished.*the answer is 42/s);
  expect(await childSessions()).toEqual([expect.stringMatching(/^agent:main:subagent:\w{12}-1$/)]);
  // The chat saw the parent's words only, and the child no conversation.
  expect(olga.sees().filter((text) => text.startsWith("the answer"))).toEqual([]);
  expect(await ends()).toEqual(["answered"]);
});

test("its prompt is the minimal one and says what it is", async () => {
  const olga = await begin((task) => task);
  await olga.says("spawn look").gets("spawned look", /told/);
  const asked = s.model.asked.find(isChild);
  expect(asked?.request.system.volatile).toContain("You are a sub-agent, 1 deep");
  expect(asked?.request.system.volatile).not.toContain("Current channel");
  expect(asked?.request.tools.map(({ name }) => name)).not.toContain("session_status");
});

test("children that end together are told together, each once", async () => {
  const olga = await begin(() => ({ afterMs: 5_000, says: ["done"] }));
  olga.says("spawn a, b, c");
  await s.until(
    async () => (await ends()).every((state) => state === "answered") && (await ends()).length === 3,
    "three ends",
  );
  await s.pass(60_000);
  const words = told(olga).join("\n");
  for (const label of ["a", "b", "c"]) expect(words.split(`Sub-agent "${label}"`)).toHaveLength(2);
});

test("a child that fails, one that has nothing to say and one that wants nothing told", async () => {
  const olga = await begin((task) =>
    task === "fail" ? { fails: "refused" } : task === "skip" ? "ANNOUNCE_SKIP" : "",
  );
  olga.says("spawn fail, skip, empty");
  await s.until(
    async () => (await ends()).every((state) => state !== undefined) && (await ends()).length === 3,
    "three ends",
  );
  await s.pass(60_000);
  const words = told(olga).join("\n");
  expect(words).toMatch(/"fail" \(\w+-1\) failed: refused/);
  expect(words).toMatch(/"empty" \(\w+-1\) failed: the model gave no answer/);
  expect(words).not.toContain('"skip"');
  expect(words).not.toContain("ANNOUNCE_SKIP");
});

test("killed at any moment, each child is spawned once and told once", async () => {
  const olga = await begin(() => ({ afterMs: 3_000, says: ["done"] }));
  olga.says("spawn a, b");
  for (let life = 0; life < 12; life += 1) {
    await s.pass(700 + life * 137);
    await s.kill();
    await s.start();
  }
  await s.until(async () => (await ends()).filter((state) => state === "answered").length === 2, "two ends");
  await s.pass(120_000);
  expect(await childSessions()).toHaveLength(2);
  const rows = await s.rows({ lane: parent as never });
  expect(rows.filter(({ id }) => id.startsWith("child:"))).toHaveLength(2);
  const words = told(olga).join("\n");
  for (const label of ["a", "b"]) expect(words.split(`Sub-agent "${label}"`)).toHaveLength(2);
});

describe("/stop", () => {
  test("ends the children of the session and theirs, and each end is told", async () => {
    const olga = await begin((task) => (task === "deep" ? { afterMs: 600_000 } : task));
    s.model.answers((asked) => {
      const { users, messages } = asked;
      const task = /Task from session \S+: (\S+)/.exec(users[0] ?? "")?.[1];
      if (task === "outer" && messages.at(-1)?.role !== "tool")
        return { calls: { name: "sessions_spawn", args: { task: "inner", label: "inner" } } };
      if (task !== undefined) return { afterMs: 500_000, says: ["late"] };
      return script(() => "")(asked);
    });
    olga.says("spawn outer");
    await s.until(async () => (await childSessions()).length === 2, "two levels");
    expect(
      (await childSessions()).map((key) => key.at(-1)).toSorted((a = "", b = "") => a.localeCompare(b)),
    ).toEqual(["1", "2"]);
    olga.says("/stop");
    await s.until(
      async () => (await ends()).every((state) => state === "stopped") && (await ends()).length === 2,
      "both ends",
      60_000,
    );
  });
});

test("limits are told as the call's error: depth, number, other agents, unknown models", async () => {
  const olga = await begin(() => ({ afterMs: 900_000 }), {
    agents: { defaults: { subagents: { maxChildrenPerAgent: 1 } } },
  });
  const answers: string[] = [];
  const calls = [
    { task: "one" },
    { task: "two" },
    { task: "x", agentId: "other" },
    { task: "x", model: "none/such" },
  ];
  s.model.answers((asked) => {
    const { messages } = asked;
    if (isChild(asked)) return { afterMs: 900_000 };
    const results = messages.filter((message) => message.role === "tool");
    answers.splice(0, answers.length, ...results.map((message) => JSON.stringify(message.content)));
    const next = calls[results.length];
    return next === undefined ? "ok" : { calls: { name: "sessions_spawn", args: next } };
  });
  await olga.says("go").gets("ok");
  expect(answers[0]).toContain("has the task");
  expect(answers[1]).toContain("1 sub-agents of this session run already");
  expect(answers[2]).toContain("allowAgents");
  expect(answers[3]).toContain("none/such");
  expect(await childSessions()).toHaveLength(1);
});
