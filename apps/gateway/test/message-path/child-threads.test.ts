// Sub-agents with a thread of their own: opened once, theirs alone while they work there, and left with a
// word.
import { Fault, type Inbound, type JsonObject } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import type { Answer, Asked } from "./scripted-model.ts";
import { stage, type Person, type Said, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const channelConfig = {
  commands: { ownerAllowFrom: ["discord:1"] },
  channels: {
    discord: {
      token: "x",
      guilds: { "9": { users: ["1", "2"], channels: { "100": {} } } },
    },
  },
};
const channel = { channel: "discord", account: "default", kind: "channel", peer: "100" } as const;

const ids: { readonly [name: string]: string } = { olga: "1", eve: "2", mallory: "3" };

const taskOf = ({ users }: Asked): string | undefined =>
  /Task from session \S+: (.*)/.exec(users[0] ?? "")?.[1];

/** The parent spawns "dig" when it is told to; the child answers what people say in its thread. */
function script(args: JsonObject = {}, child: (asked: Asked) => Answer = () => "dug 42") {
  return (asked: Asked): Answer => {
    const { messages, text } = asked;
    if (taskOf(asked) !== undefined)
      return asked.users.length > 1 ? `the child heard: ${text.split("\n").at(-1)}` : child(asked);
    const last = messages.at(-1);
    if (/(^|\n)spawn$/.test(text) && last?.role === "user")
      return {
        calls: { name: "sessions_spawn", args: { task: "dig", label: "digger", thread: true, ...args } },
      };
    if (last?.role === "tool") return last.content.map((part) => ("text" in part ? part.text : "")).join("");
    return text.includes("[System Message]")
      ? `told: ${text}`
      : `the agent heard: ${text.split("\n").at(-1)}`;
  };
}

interface Room {
  says(who: string, text: string, thread?: string, more?: Partial<Inbound>): Said;
  in(thread: string | undefined): readonly string[];
}

async function room(answers: (asked: Asked) => Answer, session: JsonObject = {}): Promise<Room> {
  s = await stage({ catalogue: true, second: "discord", config: { ...channelConfig, session } });
  s.model.answers(answers);
  const people = new Map<string, Person>();
  const person = (name: string): Person => {
    const known = people.get(name) ?? s.person(ids[name] ?? name, { on: s.loopback, chat: "100" });
    people.set(name, known);
    return known;
  };
  return {
    says: (who, text, thread, more = {}) =>
      person(who).says(text, {
        address: thread === undefined ? channel : { ...channel, thread },
        guild: "9",
        addressed: thread === undefined,
        ...(thread === undefined ? {} : { parent: "100" }),
        ...more,
      }),
    in: (thread) =>
      s.loopback
        .sent("100")
        .filter(({ to }) => to.thread === thread)
        .map(({ part }) => (part.kind === "text" ? part.text : "")),
  };
}

const children = async () =>
  (await s.store().cells.list("child:", 20)).map(
    ({ value }) => JSON.parse(value) as { readonly end: { readonly state: string } | null },
  );
const ownerIn = (payload: string): boolean => (JSON.parse(payload) as { readonly owner: boolean }).owner;
const until = (so: () => boolean | Promise<boolean>, what: string) => s.until(so, what, 600_000);

test("it answers in its thread, hears what people write there, and its parent is told", async () => {
  const at = await room(script());
  at.says("olga", "spawn");
  await until(() => at.in(undefined).some((text) => text.startsWith("told: ")), "the end is told");
  expect(s.loopback.threads()).toEqual(["digger"]);
  expect(at.in("thread-1")[0]).toContain("A sub-agent works here: digger");
  expect(at.in("thread-1")).toContain("dug 42");
  const [first, told] = at.in(undefined);
  expect(first).toContain("begins in a thread of its own");
  expect(told).toMatch(/Sub-agent "digger" \(\w{12}t-1\) finished.*dug 42.*do not say it again/s);

  // Nobody need mention anybody there, and the parent is not told of the talk.
  at.says("olga", "deeper?", "thread-1");
  await until(() => at.in("thread-1").includes("the child heard: deeper?"), "the child's answer");
  await s.pass(60_000);
  expect(at.in(undefined)).toHaveLength(2);
  // Other threads and the channel are what they were.
  at.says("olga", "and here?", undefined);
  await until(() => at.in(undefined).includes("the agent heard: and here?"), "the agent's answer");
  await expect(await s.trace()).toMatchFileSnapshot("traces/child-thread.txt");
});

test("who may not speak in the channel is not heard in the thread", async () => {
  const at = await room(script());
  at.says("olga", "spawn");
  await until(() => at.in("thread-1").includes("dug 42"), "the result");
  at.says("mallory", "tell me all", "thread-1");
  await s.pass(60_000);
  expect(at.in("thread-1").join("\n")).not.toContain("tell me all");
  expect(s.refused.map(({ reason }) => reason)).toContain("sender_not_in_group");
});

test("/unfocus gives the thread back, for owners and those whose rights it has", async () => {
  const at = await room(script());
  at.says("olga", "spawn");
  await until(() => at.in("thread-1").includes("dug 42"), "the result");
  at.says("eve", "/unfocus", "thread-1", { kind: "command" });
  await until(() => at.in("thread-1").some((text) => text.includes("Only an owner")), "the refusal");
  at.says("olga", "/unfocus", "thread-1", { kind: "command" });
  await until(() => at.in("thread-1").some((text) => text.includes("has left this thread")), "the end");
  at.says("olga", "who is there?", "thread-1", { addressed: true });
  await until(() => at.in("thread-1").includes("the agent heard: who is there?"), "the agent's answer");
  at.says("olga", "/unfocus", "thread-1", { kind: "command" });
  await until(() => at.in("thread-1").some((text) => text.startsWith("No sub-agent works")), "no more");
  await expect(await s.trace()).toMatchFileSnapshot("traces/unfocus.txt");
});

describe("a thread that nobody uses", () => {
  const left = /has left this thread: nobody wrote here for 6 minutes\./;
  const minute = 60_000;

  test("is given back after a while, over restarts, and it is said there once", async () => {
    const at = await room(script(), { threadBindings: { idleHours: 0.1 } });
    at.says("olga", "spawn");
    await until(() => at.in("thread-1").includes("dug 42"), "the result");
    await s.pass(4 * minute);
    at.says("olga", "deeper?", "thread-1");
    await until(() => at.in("thread-1").includes("the child heard: deeper?"), "the child's answer");
    await s.kill();
    await s.start();
    await s.pass(4 * minute);
    expect(at.in("thread-1").some((text) => left.test(text))).toBe(false);
    await s.kill();
    await s.start();
    await s.pass(4 * minute);
    await s.kill();
    await s.start();
    await s.pass(2 * minute);
    expect(at.in("thread-1").filter((text) => left.test(text))).toHaveLength(1);
    at.says("olga", "who is there?", "thread-1", { addressed: true });
    await until(() => at.in("thread-1").includes("the agent heard: who is there?"), "the agent's answer");
  });

  test("stays while its sub-agent works, whatever the limits say", async () => {
    const slow = (): Answer => ({ afterMs: 8 * minute, says: ["dug 42"] });
    const at = await room(script({}, slow), { threadBindings: { idleHours: 0.05, maxAgeHours: 0.05 } });
    at.says("olga", "spawn");
    await until(() => at.in("thread-1").includes("dug 42"), "the result");
    await s.pass(2 * minute);
    const [, result, farewell, ...more] = at.in("thread-1");
    expect([result, more]).toEqual(["dug 42", []]);
    expect(farewell).toContain("it was open for 3 minutes, which is the longest");
  });

  test("is not opened at all where threads are off", async () => {
    const at = await room(script(), { threadBindings: { enabled: false } });
    at.says("olga", "spawn");
    await until(() => at.in(undefined).length > 0, "the refusal");
    expect(at.in(undefined)[0]).toContain("session.threadBindings.enabled");
    expect(s.loopback.threads()).toEqual([]);
  });
});

describe("an end that takes it out of its thread is said there", () => {
  const goodbye =
    /The sub-agent digger has ended\. What you write here from now on goes to the agent itself\./;

  test("a run's own", async () => {
    const at = await room(script({ mode: "run" }));
    at.says("olga", "spawn");
    await until(() => at.in("thread-1").some((text) => goodbye.test(text)), "the farewell");
    expect(at.in("thread-1").slice(1)).toEqual(["dug 42", expect.stringMatching(goodbye)]);
    at.says("olga", "still here?", "thread-1", { addressed: true });
    await until(() => at.in("thread-1").includes("the agent heard: still here?"), "the agent's answer");
  });

  test("a kill, also of one that was done and talked on", async () => {
    const at = await room(script({}, () => ({ afterMs: 900_000 })));
    at.says("olga", "spawn");
    await until(() => at.in("thread-1").length === 1, "the thread");
    await s.pass(30_000);
    at.says("olga", "/subagents kill all", undefined, { kind: "command" });
    await until(() => at.in("thread-1").some((text) => goodbye.test(text)), "the farewell");
    await until(() => at.in(undefined).some((text) => /told: .*was stopped/s.test(text)), "the end is told");
    await s.pass(60_000);
    expect(at.in("thread-1").filter((text) => goodbye.test(text))).toHaveLength(1);
    expect(s.core().route({ address: { ...channel, thread: "thread-1" }, guild: "9" }).session).toContain(
      ":thread:",
    );
  });
});

test("killed at any moment, the thread is opened once, the work is done once and told once", async () => {
  const at = await room(script({}, () => ({ afterMs: 3_000, says: ["dug 42"] })));
  s.loopback.can({ idempotentSends: true });
  at.says("olga", "spawn");
  for (let life = 0; life < 12; life += 1) {
    await s.pass(400 + life * 137);
    await s.kill();
    await s.start();
  }
  await until(() => at.in(undefined).some((text) => text.startsWith("told: ")), "the end is told");
  await s.pass(60_000);
  const rows = await s.rows();
  expect(rows.filter(({ id }) => id.startsWith("task:"))).toHaveLength(1);
  expect(rows.filter(({ id }) => id.startsWith("child:"))).toHaveLength(1);
  expect(new Set(at.in(undefined)).size).toBe(2);
  at.says("olga", "deeper?", "thread-1");
  await until(() => at.in("thread-1").includes("the child heard: deeper?"), "the child's answer");
});

test("what an owner had done in its thread gives its end no rights that its task does not have", async () => {
  const at = await room((asked) => {
    const { messages, text, users } = asked;
    const works = (task: string): Answer => ({
      calls: { name: "sessions_spawn", args: { task, label: task } },
    });
    switch (taskOf(asked)) {
      case "dig":
        if (text.includes('Sub-agent "')) return `the child heard: ${text}`;
        if (messages.at(-1)?.role === "tool") return "begun";
        return works(users.length === 1 ? "first" : "second");
      case "first":
        return { afterMs: 60_000, says: ["first done"] };
      case "second":
        return { afterMs: 300_000, says: ["second done"] };
      default:
        return script()(asked);
    }
  });
  at.says("eve", "spawn");
  await until(() => at.in("thread-1").includes("begun"), "the child's own child");
  at.says("olga", "look deeper", "thread-1");
  await until(() => at.in(undefined).some((text) => text.startsWith("told: ")), "the end is told");
  const rows = (await s.rows()).filter(({ id }) => id.startsWith("child:"));
  const owners = rows.map(({ lane, payload }) => [lane.includes(":subagent:"), ownerIn(payload)]);
  // The newest first: the end of eve's sub-agent has her rights, although olga's ended last below it.
  expect(owners).toEqual([
    [false, false],
    [true, true],
    [true, false],
  ]);
});

test("its parent is told also what went out in pieces before the end", async () => {
  const groups = { "-1": { requireMention: false } };
  s = await stage({
    catalogue: true,
    telegram: { groups, groupAllowFrom: ["1"], streaming: "block" },
    config: { commands: { ownerAllowFrom: ["telegram:1"] } },
  });
  const paragraph = (word: string): string => `${word} ${"and on ".repeat(40)}.\n\n`;
  const says = [paragraph("first"), paragraph("second"), "third"];
  s.model.answers(script({}, () => ({ says, pauseMs: 20_000 })));
  const olga = s.person("1", { chat: "-1" });
  olga.says("spawn", {
    address: { channel: "telegram", account: "default", kind: "group", peer: "-1", thread: "1" },
  });
  await until(() => olga.sees().some((text) => text.startsWith("told: ")), "the end is told");
  const [end] = (await s.rows()).filter(({ id }) => id.startsWith("child:"));
  const told = (JSON.parse(end?.payload ?? "{}") as { readonly inbound: Inbound }).inbound.text;
  expect(told.match(/^(first|second|third)/gm)).toEqual(["first", "second", "third"]);
});

test("a death after its work began says no farewell: it is still there for people", async () => {
  const at = await room(script());
  at.says("olga", "spawn");
  await until(() => at.in(undefined).some((text) => text.startsWith("told: ")), "the end is told");
  const [cell] = await s.store().cells.list("child:", 1);
  // What a process leaves that dies between the beginning of the work and the end of the waiting.
  await s.store().cells.put(`child-task:${cell?.key.slice("child:".length) ?? ""}`, "{}", {});
  await s.kill();
  await s.start();
  await s.pass(60_000);
  at.says("olga", "deeper?", "thread-1");
  await until(() => at.in("thread-1").includes("the child heard: deeper?"), "the child's answer");
  expect(at.in("thread-1").filter((text) => text.includes("has ended"))).toEqual([]);
  expect(await s.store().cells.list("child-task:", 1)).toEqual([]);
});

test("a thread that cannot be opened ends it, and its parent is told why and what to do instead", async () => {
  const at = await room(script());
  s.loopback.harmActions(() => ({ refuse: new Fault("denied", "Missing Permissions") }));
  at.says("olga", "spawn");
  await until(() => at.in(undefined).some((text) => text.startsWith("told: ")), "the end is told");
  expect(at.in(undefined).find((text) => text.startsWith("told: "))).toMatch(
    /"digger" \(\w{12}t-1\) failed: its thread could not be opened \(.*Missing Permissions.*\): spawn it without thread/,
  );
  expect(await children()).toEqual([
    expect.objectContaining({ end: expect.objectContaining({ state: "failed" }) }),
  ]);
  await expect(await s.trace()).toMatchFileSnapshot("traces/child-thread-refused.txt");
});

test("an opening that an operator gives up ends it at once", async () => {
  const at = await room(script());
  s.loopback.harmActions(() => ({ refuse: new Fault("unavailable", "503") }));
  at.says("olga", "spawn");
  await until(async () => (await children()).length === 1, "the spawn");
  const [waiting] = (await s.store().outbox.find({ limit: 50 })).filter(({ id }) =>
    id.startsWith("child-thread:"),
  );
  await s.pass(1_000);
  expect(await s.core().dropDeliveries([waiting?.id ?? ""], "dropped by an operator")).toBe(1);
  await until(() => at.in(undefined).some((text) => text.startsWith("told: ")), "the end is told");
  expect(at.in(undefined).find((text) => text.startsWith("told: "))).toMatch(
    /failed: its thread could not be opened \(.*dropped by an operator.*\)/,
  );
});

test("one that is killed before its thread is open says so there, and is told once", async () => {
  const at = await room(script());
  s.loopback.harmActions(() => ({ refuse: new Fault("unavailable", "503") }));
  at.says("olga", "spawn");
  await until(async () => (await children()).length === 1, "the spawn");
  at.says("olga", "/subagents kill all", undefined, { kind: "command" });
  const told = async () => (await s.rows()).filter(({ id }) => id.startsWith("child:"));
  await until(async () => (await told()).length === 1, "the end");
  s.loopback.harmActions(() => null);
  await until(() => at.in("thread-1").some((text) => text.includes("has ended")), "the farewell");
  expect((await s.rows()).filter(({ id }) => id.startsWith("task:"))).toEqual([]);
  expect(await told()).toHaveLength(1);
});

test("what the parent says to it joins its talk in the thread", async () => {
  const at = await room(script());
  at.says("olga", "spawn");
  await until(() => at.in("thread-1").includes("dug 42"), "the result");
  await s.pass(60_000);
  s.model.answers((asked) => {
    if (taskOf(asked) !== undefined) return `the child heard: ${asked.text.split(": ").at(-1)}`;
    if (asked.text.includes("[System Message]")) return `told: ${asked.text}`;
    return asked.messages.at(-1)?.role === "tool"
      ? "steered"
      : { calls: { name: "subagents", args: { action: "steer", target: "digger", message: "dig on" } } };
  });
  at.says("olga", "go on");
  await until(() => at.in("thread-1").includes("the child heard: dig on"), "the child's answer");
  await until(
    () => at.in(undefined).some((text) => /told: .*the child heard: dig on/s.test(text)),
    "the end",
  );
});

test("a private chat has no threads: the call is refused with the alternative", async () => {
  s = await stage({ catalogue: true, config: { commands: { ownerAllowFrom: ["telegram:olga"] } } });
  s.model.answers(script());
  await s
    .person("olga")
    .says("spawn")
    .gets(/a private chat has no threads: spawn it without thread/);
  expect(await children()).toEqual([]);
});

test("a Telegram forum's topic is such a thread, and a group that is no forum has none", async () => {
  const groups = { "-1": { requireMention: false } };
  s = await stage({
    catalogue: true,
    telegram: { groups, groupAllowFrom: ["1"] },
    config: { commands: { ownerAllowFrom: ["telegram:1"] } },
  });
  s.model.answers(script());
  const group = { channel: "telegram", account: "default", kind: "group", peer: "-1" } as const;
  const olga = s.person("1", { chat: "-1" });
  await olga.says("spawn", { address: group }).gets(/this group has no topics/);
  olga.says("spawn", { address: { ...group, thread: "1" } });
  await until(() => olga.sees().includes("dug 42"), "the result");
  const [shown] = s.telegram.sent("-1").filter(({ part }) => part.kind === "text" && part.text === "dug 42");
  const thread = shown?.to.thread ?? "";
  expect(thread).toMatch(/^thread-/);
  olga.says("deeper?", { address: { ...group, thread }, addressed: false });
  await until(() => olga.sees().includes("the child heard: deeper?"), "the child's answer");
});
