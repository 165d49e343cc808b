// Sub-agents on the message path: spawned once, told once, never wider than their parents, ended with them.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { childrenNow } from "../../src/operator/status.ts";
import { storyTeller } from "../../src/trace/story.ts";
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

test("a task without words and files that are not there are refused; a label is one line", async () => {
  const bad = [
    { task: "\u200b \n" },
    { task: "dig", attachments: ["gone.txt"] },
    { task: "dig", attachments: ["/etc/hostname"] },
    { task: "dig", label: "a\nb\u202ec" },
  ];
  s = await stage({ catalogue: true, config: { commands: { ownerAllowFrom: ["telegram:olga"] } } });
  await mkdir(join(s.home, "workspace"), { recursive: true });
  s.model.answers((asked) => {
    if (isChild(asked)) return { afterMs: 60_000, says: ["dug"] };
    const results = asked.messages.flatMap((message) => (message.role === "tool" ? message.content : []));
    const args = bad[results.length];
    return args === undefined
      ? results.map((part) => ("text" in part ? part.text : "")).join("\n")
      : { calls: { name: "sessions_spawn", args } };
  });
  await s
    .person("olga")
    .says("go")
    .gets(/^the task says nothing.*\nthere is no file gone\.txt\n.*outside the workspace\n.* \(a b c\) has/);
  expect(await ends()).toHaveLength(1);
});

test("a child works in a session of its own, and its result comes to the person by its parent", async () => {
  const olga = await begin((task) => ({ afterMs: 5_000, says: [`the ${task} is 42`] }));
  await olga
    .says("spawn answer")
    .gets("spawned answer", /told: .*Sub-agent "answer" \(\w+-1\) finished.*the answer is 42/s);
  expect(await childSessions()).toEqual([expect.stringMatching(/^agent:main:subagent:\w{12}-1$/)]);
  // The chat saw the parent's words only, and the child no conversation.
  expect(olga.sees().filter((text) => text.startsWith("the answer"))).toEqual([]);
  expect(await ends()).toEqual(["answered"]);

  // Its story leads to its parent's turn, and to the row that told its end.
  const { inbox, turns, outbox } = s.store();
  const tell = storyTeller({ inbox, turns, outbox, clock: s.clock });
  const [task] = (await s.rows()).filter(({ id }) => id.startsWith("task:"));
  const [spawning] = (await s.rows({ lane: parent as never })).toReversed();
  const [announced] = (await s.rows()).filter(({ id }) => id.startsWith("child:"));
  const words = await Promise.all(
    [task, announced].map(async (row) => (row === undefined ? [] : (await tell(row)).words)),
  );
  expect(words[0]).toContain(`Caused     by turn ${spawning?.turn}`);
  expect(words[0]).toContain(`Told       to ${parent} as ${announced?.id}`);
  expect(words[1]).toContain(`Caused     by turn ${spawning?.turn}`);
  await expect(await s.trace()).toMatchFileSnapshot("traces/child.txt");
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

test("/stop: the ends of the children begin no turn, and the next message reads them", async () => {
  const olga = await begin(() => ({ afterMs: 600_000, says: ["late"] }));
  await olga.says("spawn a, b").gets("spawned a and b");
  await olga.says("/stop").gets("Stopped.");
  await s.until(async () => (await ends()).every((state) => state === "stopped"), "both ends", 60_000);
  const before = s.model.asked.length;
  await s.pass(600_000);
  expect(s.model.asked).toHaveLength(before);
  expect(olga.sees()).toHaveLength(2);
  await s.kill();
  await s.start();
  await olga.says("hello").gets(/hello/);
  const read = s.model.asked.at(-1)?.text ?? "";
  for (const label of ["a", "b"])
    expect(
      read.split(`[System Message] Sub-agent "${label}"`),
      "each end is read once, as Parley's words",
    ).toHaveLength(2);
  expect(read).toContain("was stopped before it finished: stopped with its parent");
  expect(read).not.toContain("HISTORY");
  const told = (await s.rows({ lane: parent as never })).filter(({ id }) => id.startsWith("child:"));
  expect(told.map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ["context", "read by the turn"],
    ["context", "read by the turn"],
  ]);
  await expect(await s.trace()).toMatchFileSnapshot("traces/children-stopped.txt");
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

describe("the tool subagents", () => {
  /** The parent makes these calls, one after the other; returns their results. */
  async function calling(child: Child, calls: readonly { readonly name: string; readonly args: object }[]) {
    const olga = await begin(child);
    const results: string[] = [];
    s.model.answers((asked) => {
      if (isChild(asked)) return child(asked.text, asked);
      const said = asked.messages.flatMap((message) =>
        message.role === "tool" ? [JSON.stringify(message.content)] : [],
      );
      results.splice(0, results.length, ...said);
      if (asked.text.includes("[System Message]")) return `told: ${asked.text}`;
      const next = calls[said.length];
      return next === undefined ? "ok" : { calls: { name: next.name, args: next.args as never } };
    });
    olga.says("go");
    await s.until(() => results.length === calls.length && olga.sees().length > 0, "all calls");
    return { olga, results };
  }
  const spawn = { name: "sessions_spawn", args: { task: "dig", label: "digger" } };
  const act = (action: string, more: object = {}) => ({ name: "subagents", args: { action, ...more } });

  test("lists what runs, shows what one did, and kills it: its end is told once", async () => {
    const { olga, results } = await calling(
      () => ({ afterMs: 900_000 }),
      [spawn, act("list"), act("log", { target: "digger" }), act("kill", { target: "digger" }), act("list")],
    );
    expect(results[1]).toMatch(/\w{12}-1 digger: running, agent main/);
    expect(results[2]).toContain("Nothing is logged yet");
    expect(results[3]).toMatch(/Killed: \w{12}-1 \(digger\)/);
    await s.until(async () => (await ends())[0] === "stopped", "the end", 60_000);
    await s.pass(60_000);
    expect(told(olga)).toHaveLength(1);
    expect(told(olga)[0]).toContain("was stopped before it finished: killed by its parent");
    await expect(await s.trace()).toMatchFileSnapshot("traces/child-killed.txt");
  });

  test("steers a child that runs: it reads the words before its next step", async () => {
    const read: string[] = [];
    const { olga } = await calling(
      (_task, asked) => {
        read.push(asked.users.join("\n"));
        if (asked.messages.at(-1)?.role === "tool") return "dug deeper";
        return { afterMs: 5_000, calls: { name: "subagents", args: { action: "list" } } };
      },
      [spawn, act("steer", { target: "digger", message: "dig deeper" })],
    );
    await s.until(() => told(olga).some((text) => text.includes("dug deeper")), "the result");
    expect(read[0]).not.toContain("dig deeper");
    expect(read.at(-1)).toMatch(/\[System Message\] From session agent:main:telegram:dm:olga: dig deeper/);
  });

  test("gives a child of mode session more work, and one of mode run none", async () => {
    const { olga, results } = await calling(
      () => "dug",
      [{ name: "sessions_spawn", args: { task: "dig", label: "stays", mode: "session" } }, spawn],
    );
    await s.until(
      async () => (await ends()).filter((state) => state === "answered").length === 2,
      "two ends",
    );
    await s.pass(60_000);
    const before = told(olga).length;
    const more: string[] = [];
    s.model.answers((asked) => {
      if (isChild(asked)) return `dug again: ${asked.text}`;
      const last = asked.messages.at(-1);
      if (last?.role === "tool") more.push(JSON.stringify(last.content));
      if (asked.text.includes("[System Message]")) return `told: ${asked.text}`;
      const target = ["digger", "stays"][more.length];
      return target === undefined ? "ok" : { calls: act("steer", { target, message: "dig on" }) as never };
    });
    olga.says("more");
    await s.until(() => more.length >= 2, "both calls");
    expect(more[0]).toContain("spawned for one run");
    expect(more[1]).toContain("has more work");
    await s.until(() => told(olga).length > before, "the second end");
    expect(told(olga).at(-1)).toMatch(/Sub-agent "stays".*dug again/s);
    expect(results).toHaveLength(2);
  });

  test("gives an ended child no more work where as many run as may", async () => {
    const olga = await begin(() => "", {
      agents: { defaults: { subagents: { maxChildrenPerAgent: 1 } } },
    });
    const results: string[] = [];
    s.model.answers((asked) => {
      const { messages, text, users } = asked;
      if (isChild(asked)) return users[0]?.includes("quick") === true ? "done" : { afterMs: 900_000 };
      const last = messages.at(-1);
      if (last?.role === "tool") {
        results.push(JSON.stringify(last.content));
        return "ok";
      }
      if (text.includes("[System Message]")) return "told";
      const label = text.split(" ").at(-1) ?? "";
      return text.startsWith("again")
        ? { calls: act("steer", { target: "quick", message: "more" }) as never }
        : { calls: { name: "sessions_spawn", args: { task: label, label, mode: "session" } } };
    });
    await olga.says("begin quick").gets("ok", "told");
    await olga.says("begin slow").gets("ok");
    await olga.says("again quick").gets("ok");
    expect(results.at(-1)).toContain("1 sub-agents of this session run already, and 1 may");
    expect(new Set(await ends())).toEqual(new Set(["answered", undefined]));
  });

  test("reaches no other session's children", async () => {
    await calling(() => ({ afterMs: 900_000 }), [spawn]);
    const eve = s.person("eve");
    const results: string[] = [];
    s.model.answers((asked) => {
      if (isChild(asked)) return { afterMs: 900_000 };
      const answers = asked.messages.flatMap((message) =>
        message.role === "tool" ? [JSON.stringify(message.content)] : [],
      );
      results.splice(0, results.length, ...answers);
      const [id = ""] = spawned;
      const next = [
        act("list"),
        act("log", { target: "digger" }),
        act("kill", { target: id }),
        act("kill", { target: "all" }),
      ][answers.length];
      return next === undefined ? "ok" : { calls: { name: next.name, args: next.args as never } };
    });
    const spawned = (await childSessions()).map((key) => key.split(":").at(-1) ?? "");
    await eve.says("go").gets("ok");
    expect(results[0]).toContain("This session has no sub-agents");
    expect(results[1]).toContain("no sub-agent of this session is called");
    expect(results[2]).toContain("no sub-agent of this session is called");
    expect(results[3]).toContain("No sub-agent was running");
    expect(await ends()).toEqual([undefined]);
  });
});

test("a run is over when what it spawned is over: the child hears first, then the person", async () => {
  const olga = await begin(() => "");
  s.model.answers((asked) => {
    const { users, messages, text } = asked;
    const task = /Task from session \S+: (\S+)/.exec(users[0] ?? "")?.[1];
    if (task === "outer") {
      if (text.includes("Sub-agent")) return "outer and inner are done";
      return messages.at(-1)?.role === "tool"
        ? "I wait for inner"
        : { calls: { name: "sessions_spawn", args: { task: "inner", label: "inner" } } };
    }
    if (task === "inner") return { afterMs: 30_000, says: ["inner is done"] };
    return script(() => "")(asked);
  });
  await olga.says("spawn outer").gets("spawned outer", /told: .*"outer".*outer and inner are done/s);
  await s.pass(60_000);
  expect(told(olga)).toHaveLength(1);
  expect(await ends()).toEqual(["answered", "answered"]);
  await expect(await s.trace()).toMatchFileSnapshot("traces/grandchildren.txt");
});

test("what another session asks a child is answered there, and is no part of what the parent is told", async () => {
  const olga = await begin(() => "", {
    commands: { ownerAllowFrom: ["telegram:olga", "telegram:ben"] },
    tools: { sessions: { visibility: "agent" } },
  });
  const ben = s.person("ben");
  s.model.answers((asked) => {
    if (asked.text.includes("Message from session"))
      return { afterMs: 5_000, says: ["that is none of olga's"] };
    if (isChild(asked)) return { afterMs: 30_000, says: ["the task is done"] };
    if (!asked.users.some((text) => text.includes("ask it"))) return script(() => "")(asked);
    if (asked.text.includes("[System Message]")) return `told: ${asked.text}`;
    if (asked.messages.at(-1)?.role === "tool") return "asked";
    const sessionKey = /agent:main:subagent:\S+/.exec(asked.users.join(" "))?.[0] ?? "";
    const args = { sessionKey, message: "how far?", reply: "push" };
    return { calls: { name: "sessions_send", args } };
  });
  await olga.says("spawn dig").gets("spawned dig");
  const [child] = await childSessions();
  await ben.says(`ask it: ${child}`).gets("asked", /told: .*that is none of olga's/s);
  await s.pass(120_000);
  expect(told(olga)).toHaveLength(1);
  expect(told(olga)[0]).toContain("the task is done");
  expect(told(olga)[0]).not.toContain("none of olga's");
  expect(told(ben)).toHaveLength(1);
  expect(await ends()).toEqual(["answered"]);
});

test.each([{ mode: "interrupt" }, { mode: "collect", cap: 1, drop: "old" }])(
  "what a child found is told also where messages push others out of the queue: %o",
  async (queue) => {
    const olga = await begin(() => ({ afterMs: 3_000, says: ["dug 42"] }), { messages: { queue } });
    const others = script(() => ({ afterMs: 3_000, says: ["dug 42"] }));
    s.model.answers((asked) => {
      const said = others(asked);
      return asked.text.endsWith("busy") ? { afterMs: 20_000, says: ["was busy"] } : said;
    });
    await olga.says("spawn dig").gets("spawned dig");
    olga.says("busy");
    await s.until(async () => (await ends())[0] === "answered", "the child's end");
    olga.says("hello");
    await s.pass(1_000);
    olga.says("again");
    await s.until(async () => (await s.rows()).every(({ state }) => state === "ended"), "the end of all");
    const [row] = (await s.rows()).filter(({ id }) => id.startsWith("child:"));
    expect(row?.outcome).toBe("answered");
    expect(olga.sees().filter((text) => text.includes("dug 42"))).toHaveLength(1);
  },
);

test("a child whose process dies for good between its rows is told as lost at the next start", async () => {
  const olga = await begin(() => ({ afterMs: 3_000, says: ["done"] }));
  olga.says("spawn a");
  await s.until(async () => (await ends()).length === 1, "the spawn");
  const [cell] = await s.store().cells.list("child:", 9);
  const child = JSON.parse(cell?.value ?? "{}") as { readonly session: string };
  // What no commit of this version writes: the rows end, and the child's cell does not.
  await s.store().inbox.stop(child.session as never, { turn: "open", rows: "all", reason: "gone" });
  await s.until(
    async () => (await s.rows({ lane: child.session as never })).every(({ state }) => state === "ended"),
    "the rows' end",
  );
  await s.store().cells.put(cell?.key ?? "", cell?.value ?? "", {});
  await s.kill();
  await s.start();
  await s.until(async () => (await ends())[0] !== undefined, "the end");
});

test("they are counted by what they do and how they ended", async () => {
  const olga = await begin(
    (task) =>
      task === "fail"
        ? { afterMs: 1_000, fails: "refused" }
        : { afterMs: task === "a" ? 1_000 : 90_000, says: ["done"] },
    { agents: { defaults: { subagents: { maxConcurrent: 2 } } } },
  );
  olga.says("spawn a, fail, slow, slower, slowest");
  await s.until(async () => (await ends()).filter((state) => state !== undefined).length === 2, "two ends");
  await s.pass(1_000);
  expect(await childrenNow(s.store())).toEqual({ running: 2, waiting: 1, ended: { answered: 1, failed: 1 } });
});

test("a parent that began anew is told that it asked before", async () => {
  const olga = await begin(() => ({ afterMs: 20_000, says: ["done"] }));
  await olga.says("spawn a").gets("spawned a");
  olga.says("/new");
  await olga.gets(/.+/, /told: .*This was asked for before the present conversation began/s);
});

test("what a child of another agent spends counts for the agent that spawned it", async () => {
  const olga = await begin(() => "done", {
    agents: {
      defaults: { subagents: { allowAgents: ["helper"] } },
      list: [
        { id: "main", spend: { dayTokens: 10_000 } },
        { id: "helper", spend: { dayTokens: 5 } },
      ],
    },
  });
  s.model.answers((asked) => {
    if (isChild(asked)) return { says: ["done"], promptTokens: 20_000 };
    if (asked.text.includes("[System Message]")) return "told: it is done";
    if (asked.messages.at(-1)?.role === "tool") return "spawned";
    return { calls: { name: "sessions_spawn", args: { task: "dig", agentId: "helper" } } };
  });
  await olga.says("dig").gets("spawned");
  // Its own agent could spend five tokens, its payer ten thousand; now the payer has none left.
  await olga.gets(/spending limit/);
  expect(await childSessions()).toEqual([expect.stringMatching(/^agent:helper:subagent:\w{12}-1-main$/)]);
  expect(await ends()).toEqual(["answered"]);
});

describe("/subagents", () => {
  test("lists, shows what one did, guides it and ends it; its end is told", async () => {
    const olga = await begin((_task, asked) => {
      if (asked.users.some((text) => text.includes("dig deeper"))) return { afterMs: 900_000 };
      return { afterMs: 20_000, calls: { name: "subagents", args: { action: "list" } } };
    });
    await olga.says("/subagents").gets("I have no sub-agents here.");
    await olga.says("spawn dig").gets("spawned dig");
    await olga.says("/subagents").gets(/^1\. \w{12}-1 dig: running/);
    await olga.says("/subagents log 1").gets(/dig: running.*\nNothing is logged yet\./s);
    await olga.says("/subagents log 7").gets(/no sub-agent "7" here/);
    await olga.says("/subagents dance 1").gets(/^Usage: /);
    await olga.says("/subagents steer 1 dig deeper").gets(/reads this before its next step/);
    await s.until(
      () =>
        s.model.asked.some(({ users }) => users.some((text) => text.includes("From a person: dig deeper"))),
      "the guidance",
    );
    await olga.says("/subagents kill all").gets(/^Killed: \w{12}-1 \(dig\)\.$/);
    await s.until(() => told(olga).some((text) => text.includes("killed by /subagents")), "its end");
    await s.until(() => olga.sees().length > 0, "nothing more");
    olga.says("/subagents kill all");
    await s.until(() => olga.sees().at(-1) === "No sub-agent is running.", "the answer");
  });

  test("in a group, who has other rights than its task may list it, and no more", async () => {
    await begin(() => ({ afterMs: 900_000 }), {
      channels: {
        telegram: {
          botToken: "1:x",
          dmPolicy: "open",
          allowFrom: ["*"],
          groupPolicy: "open",
          groups: { "*": { requireMention: false } },
          pacing: "off",
          streaming: "off",
        },
      },
    });
    const address = { channel: "telegram", account: "default", kind: "group", peer: "-5" } as const;
    const says = (who: string, text: string): void =>
      void s.person(who, { chat: "-5" }).says(text, { address, id: `telegram:default:${who}${text}` });
    says("olga", "spawn dig");
    await s.until(async () => (await childSessions()).length === 1, "the child");
    const seen = (): readonly string[] => s.telegram.shown("-5");
    for (const [text, answer] of [
      ["/subagents", /dig: running/],
      ["/subagents log 1", /Only an owner may do that/],
      ["/subagents steer 1 tell me", /Only an owner may do that/],
      ["/subagents kill all", /Only an owner may do that/],
    ] as const) {
      const before = seen().length;
      says("eve", text);
      await s.until(
        () =>
          seen()
            .slice(before)
            .some((each) => answer.test(each)),
        text,
      );
    }
    expect(await ends()).toEqual([undefined]);
  });
});
