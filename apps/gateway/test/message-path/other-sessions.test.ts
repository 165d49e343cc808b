// Sessions write to one another: each message once, each answer told once, seen by no chat, and never in a
// loop.
import type { JsonObject } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import type { Answer, Asked } from "./scripted-model.ts";
import { stage, type Person, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const caller = "agent:main:telegram:dm:olga";
const target = "agent:main:telegram:dm:ben";

const isTarget = ({ text }: Asked): boolean => text.includes("Message from session");
const results = ({ messages }: Asked): readonly string[] =>
  messages.flatMap((message) => (message.role === "tool" ? [JSON.stringify(message.content)] : []));

/**
 * The owner's session makes the calls, one after the other; the target answers; anything else is repeated.
 */
function script(answers: (asked: Asked) => Answer, calls: readonly (readonly [string, JsonObject])[]) {
  const seen: string[] = [];
  s.model.answers((asked) => {
    if (isTarget(asked)) return answers(asked);
    if (asked.text.includes("[System Message]")) return `told: ${asked.text}`;
    if (!asked.users.some((text) => text.includes("go"))) return `re: ${asked.text}`;
    const said = results(asked);
    seen.splice(0, seen.length, ...said);
    const next = calls[said.length];
    return next === undefined ? `done after ${said.length}` : { calls: { name: next[0], args: next[1] } };
  });
  return seen;
}

async function begin(config: object = {}): Promise<{ readonly olga: Person; readonly ben: Person }> {
  s = await stage({
    catalogue: true,
    config: {
      commands: { ownerAllowFrom: ["telegram:olga"] },
      tools: { sessions: { visibility: "agent" } },
      ...config,
    },
  });
  const [olga, ben] = [s.person("olga"), s.person("ben")];
  await ben.says("hello").gets(/^re: /);
  return { olga, ben };
}

const send = (more: JsonObject = {}): readonly [string, JsonObject] => [
  "sessions_send",
  { sessionKey: target, message: "the word?", ...more },
];
const told = (who: Person): readonly string[] => who.sees().filter((text) => text.startsWith("told: "));
const sentRows = async () =>
  (await s.rows({ lane: target as never })).filter(({ id }) => id.startsWith("message:"));
const answerRows = async () =>
  (await s.rows({ lane: caller as never })).filter(({ id }) => id.startsWith("answer:"));

describe("sessions_send", () => {
  test("waits without a slot and has the answer as its result; no chat sees the other session's turn", async () => {
    const { olga, ben } = await begin();
    const seen = script(() => ({ afterMs: 5_000, says: ["the word is moon"] }), [send()]);
    await olga.says("go").gets("done after 1");
    expect(seen[0]).toContain("the word is moon");
    expect(seen[0]).toContain(`Session ${target} finished`);
    await s.pass(120_000);
    // Neither told a second time, nor seen in the other session's chat.
    expect(olga.sees()).toEqual(["done after 1"]);
    expect(ben.sees()).toHaveLength(1);
    expect(JSON.stringify(await s.transcript(caller))).not.toContain("[System Message]");
    expect(JSON.stringify(await s.transcript(target))).toContain("the word is moon");
    expect(await sentRows()).toHaveLength(1);
    await expect(await s.trace()).toMatchFileSnapshot("traces/sessions-send.txt");
  });

  test("an answer after the time is told by itself, once", async () => {
    const { olga } = await begin();
    const seen = script(
      () => ({ afterMs: 60_000, says: ["the word is moon"] }),
      [send({ timeoutSeconds: 10 })],
    );
    await olga.says("go").gets("done after 1", /told: .*the word is moon/s);
    expect(seen[0]).toContain("has not answered yet");
    await s.pass(120_000);
    expect(told(olga)).toHaveLength(1);
    await expect(await s.trace()).toMatchFileSnapshot("traces/sessions-send-late.txt");
  });

  test("a person who writes meanwhile is read at once, and the answer is told by itself", async () => {
    const { olga } = await begin();
    const seen = script(() => ({ afterMs: 20_000, says: ["the word is moon"] }), [send()]);
    olga.says("go");
    await s.until(async () => (await sentRows()).length === 1, "the message");
    olga.says("are you there?");
    await olga.gets("done after 1", /told: .*the word is moon/s);
    expect(seen[0]).toContain("has not answered yet");
    await s.pass(120_000);
    expect(told(olga)).toHaveLength(1);
  });

  test("pushes the answer, or tells none", async () => {
    const { olga } = await begin();
    script(() => "the word is moon", [send({ reply: "push" }), send({ reply: "none", message: "no word" })]);
    olga.says("go");
    await s.until(() => told(olga).length === 1, "the answer");
    await s.pass(120_000);
    expect(told(olga)[0]).toContain("the word is moon");
    expect(told(olga)).toHaveLength(1);
    expect(await sentRows()).toHaveLength(2);
    expect(await answerRows()).toHaveLength(1);
  });

  test("/stop while it waits: the answer is told afterwards", async () => {
    const { olga } = await begin();
    script(() => ({ afterMs: 20_000, says: ["the word is moon"] }), [send()]);
    olga.says("go");
    await s.until(async () => (await sentRows()).length === 1, "the message");
    await s.pass(1_000);
    olga.says("/stop");
    await s.until(() => told(olga).some((text) => text.includes("the word is moon")), "the answer");
    await s.pass(60_000);
    expect(told(olga)).toHaveLength(1);
  });

  test.each(["wait", "push"])(
    "killed at any moment, it is sent once and answered once (%s)",
    async (reply) => {
      const { olga } = await begin();
      script(() => ({ afterMs: 3_000, says: ["the word is moon"] }), [send({ reply, timeoutSeconds: 300 })]);
      olga.says("go");
      for (let life = 0; life < 10; life += 1) {
        await s.pass(400 + life * 173);
        await s.kill();
        await s.start();
      }
      await s.until(async () => (await answerRows()).some(({ state }) => state === "ended"), "the answer");
      await s.pass(60_000);
      expect(await sentRows()).toHaveLength(1);
      expect(await answerRows()).toHaveLength(1);
      const transcript = await s.transcript(caller);
      const heard = transcript.filter(
        (entry) =>
          (entry.type === "user" || entry.type === "toolResult") &&
          JSON.stringify(entry.content).includes("the word is moon"),
      );
      expect(heard).toHaveLength(1);
    },
  );

  test("the other session's turn has the people and the rights of the one that asked", async () => {
    const { olga } = await begin();
    script(
      (asked) => {
        if (results(asked).length === 0) return { calls: { name: "sessions_list", args: {} } };
        return results(asked).at(-1) ?? "";
      },
      [send()],
    );
    await olga.says("go").gets("done after 1");
    const [row] = await sentRows();
    const own = (await s.rows({ lane: caller as never })).at(-1);
    expect(row?.authority).toBe(own?.authority);
    expect(row?.conversation).toBe(own?.conversation);
  });

  test("two sessions that keep answering each other are stopped, and the person is told", async () => {
    const { olga, ben } = await begin();
    s.model.answers((asked) => {
      if (asked.messages.at(-1)?.role === "tool") return `sent: ${results(asked).at(-1)?.slice(0, 200)}`;
      if (isTarget(asked)) return "and you?";
      return {
        calls: { name: "sessions_send", args: { sessionKey: target, message: "and you?", reply: "push" } },
      };
    });
    olga.says("go");
    await s.pass(600_000);
    expect(await sentRows()).toHaveLength(5);
    expect(olga.sees().filter((text) => text.includes("kept writing to each other"))).toHaveLength(1);
    expect(olga.sees().at(-1)).toContain("5 messages between sessions have followed from one another");
    expect(ben.sees()).toHaveLength(1);
    // A person's word begins anew.
    olga.says("again");
    await s.until(async () => (await sentRows()).length > 5, "one more");
  });

  test("a session that another one asked speaks in no chat, whatever comes of it", async () => {
    const { olga, ben } = await begin();
    await s.person("cleo").says("hello").gets(/^re: /);
    const third = "agent:main:telegram:dm:cleo";
    s.model.answers((asked) => {
      if (asked.text.includes("to the third")) return { afterMs: 60_000, says: ["third's words"] };
      if (asked.text.includes(`Session ${third}`)) return "words for nobody";
      if (isTarget(asked))
        return asked.messages.at(-1)?.role === "tool"
          ? "asked the third"
          : {
              calls: {
                name: "sessions_send",
                args: { sessionKey: third, message: "to the third", reply: "push" },
              },
            };
      if (asked.messages.at(-1)?.role === "tool") return "done";
      return {
        calls: { name: "sessions_send", args: { sessionKey: target, message: "ask", reply: "wait" } },
      };
    });
    await olga.says("go").gets("done");
    await s.until(
      async () => JSON.stringify(await s.transcript(target)).includes("words for nobody"),
      "the second session's second turn",
    );
    await s.pass(60_000);
    expect(olga.sees()).toEqual(["done"]);
    expect(ben.sees()).toHaveLength(1);
  });

  test("a call that cannot be: itself, nobody, kinds that take no messages", async () => {
    const { olga } = await begin();
    const seen = script(
      () => "hi",
      [
        send({ sessionKey: caller }),
        send({ sessionKey: "agent:main:telegram:dm:nobody" }),
        send({ sessionKey: "agent:none:main" }),
        send({ sessionKey: "agent:main:hook:ci" }),
      ],
    );
    await s.store().sessions.open("agent:main:hook:ci" as never);
    await olga.says("go").gets("done after 4");
    expect(seen[0]).toContain("this is the session itself");
    expect(seen[1]).toContain("no session that may be seen from here");
    expect(seen[2]).toContain("no session that may be seen from here");
    expect(seen[3]).toContain("sessions of kind hook take no messages");
  });
});

describe("sessions_list and sessions_history", () => {
  test("an owner's turn lists the agent's sessions with who, when and what was said last", async () => {
    const { olga } = await begin();
    const seen = script(
      () => "",
      [
        ["sessions_list", { messageLimit: 2 }],
        ["sessions_list", { kinds: ["group"] }],
        ["sessions_list", { limit: 1 }],
      ],
    );
    await s.store().sessions.open("agent:main:main" as never);
    await olga.says("go").gets("done after 3");
    expect(seen[0]).toMatch(
      /agent:main:telegram:dm:ben: dm, telegram, \\"ben\\", last used 0 min ago, 2 tokens, idle/,
    );
    expect(seen[0]).toContain("assistant: re: ");
    expect(seen[0]).toMatch(/agent:main:telegram:dm:olga: dm, telegram, \\"olga\\".*working, this session/);
    expect(seen[1]).toContain("No session that may be seen from here fits");
    expect(seen[2]).toContain("2 more are not shown");
  });

  test("with visibility tree an owner's turn sees itself and its sub-agents", async () => {
    const { olga } = await begin({ tools: {} });
    const seen = script(
      () => "",
      [["sessions_list", {}], ["sessions_history", { sessionKey: target }], send()],
    );
    await olga.says("go").gets("done after 3");
    expect(seen[0]).toContain(caller);
    expect(seen[0]).not.toContain("ben");
    expect(seen[1]).toContain("no session that may be seen from here");
    expect(seen[2]).toContain("no session that may be seen from here");
  });

  test("history is told in pages from the newest, with calls only when asked", async () => {
    const { olga, ben } = await begin();
    s.model.answers((asked) =>
      asked.messages.at(-1)?.role === "tool"
        ? `answer ${asked.nth} ${"x".repeat(1_500)}`
        : { calls: { name: "update_plan", args: { plan: [{ step: "look", status: "in_progress" }] } } },
    );
    for (const word of ["one", "two", "three", "four", "five", "six"]) {
      ben.says(`${word}, my word`);
      await s.until(() => ben.sees().at(-1)?.startsWith("answer ") === true, "the answer");
      await s.pass(1_000);
    }
    const pages: string[] = [];
    s.model.answers((asked) => {
      if (!asked.users.some((text) => text.includes("go"))) return "re";
      const said = results(asked);
      pages.splice(0, pages.length, ...said);
      const before = /before=(\d+)/.exec(said.at(-1) ?? "")?.[1];
      if (said.length > 0 && before === undefined) return "read";
      return {
        calls: {
          name: "sessions_history",
          args: { sessionKey: target, ...(before === undefined ? {} : { before: Number(before) }) },
        },
      };
    });
    await olga.says("go").gets("read");
    expect(pages.length).toBeGreaterThan(1);
    const all = pages.toReversed().join("\n");
    const words = ["one", "two", "three", "four", "five", "six"];
    const told = [...all.matchAll(/(one|two|three|four|five|six), my/g)].map(([, word]) => word);
    expect(told).toEqual(words);
    expect(all).not.toContain("update_plan");
    for (const page of pages) expect(page.length).toBeLessThan(9_000);
  });
});

describe("a sub-agent", () => {
  test("is written to by its label while it runs, and by no one after its end", async () => {
    const { olga } = await begin();
    const seen: string[] = [];
    s.model.answers((asked) => {
      if (asked.users.some((text) => text.includes("Task from session"))) {
        if (isTarget(asked)) return "it is dug";
        return asked.messages.at(-1)?.role === "tool"
          ? "digging went on"
          : { afterMs: 8_000, calls: { name: "subagents", args: { action: "list" } } };
      }
      const said = results(asked);
      seen.splice(0, seen.length, ...said);
      if (asked.text.includes("[System Message]")) return `told: ${asked.text}`;
      const next = [
        { name: "sessions_spawn", args: { task: "dig", label: "digger" } },
        { name: "sessions_send", args: { sessionKey: "digger", message: "well?" } },
      ][said.length];
      return next === undefined ? "done" : { calls: next as never };
    });
    olga.says("go");
    await s.until(() => told(olga).length === 1, "its end");
    expect(seen[1]).toContain("it is dug");
    expect(seen[1]).toMatch(/Session agent:main:subagent:\w{12}-1 finished/);
    s.model.answers((asked) =>
      asked.messages.at(-1)?.role === "tool"
        ? (results(asked).at(-1) ?? "")
        : { calls: { name: "sessions_send", args: { sessionKey: "digger", message: "well?" } } },
    );
    olga.says("again");
    await s.until(() => olga.sees().some((text) => text.includes("has ended")), "the refusal");
  });
});
