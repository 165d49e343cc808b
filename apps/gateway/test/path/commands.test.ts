// Commands in a chat: those that act at once while a turn runs, and those that keep their place among the messages.
import { Fault } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import { stage, type Stage } from "./stage.ts";
import { waitTool } from "./wait-tool.ts";

let s: Stage;
afterEach(() => s.close());

describe("/stop", () => {
  test("ends the running turn and what waits, in less than two seconds, and pairs what was begun", async () => {
    const tool = waitTool(() => s.clock, 60_000);
    s = await stage({ config: { messages: { queue: { mode: "followup" } } }, tools: [tool.tool] });
    s.model.answers(({ text }) => (text === "work" ? { calls: { name: "wait", args: {} } } : `re: ${text}`));
    const alice = s.person("alice");
    alice.says("work");
    await s.until(() => tool.starts() === 1, "the tool's start");
    alice.says("and this");
    await s.pass(100);
    const from = s.clock.mono();
    await alice.says("/stop").gets("Stopped. 1 waiting message was dropped.");
    await s.until(() => s.pools().turnsRunning() === 0, "the end of the turn");
    expect(s.clock.mono() - from).toBeLessThan(2_000);
    expect((await s.rows()).map((row) => row.outcome)).toEqual(["commanded", "stopped", "stopped"]);
    const entries = await s.transcript("agent:main:telegram:dm:alice");
    expect(entries.map((entry) => entry.type)).toEqual(["user", "assistant", "toolResult"]);
    // No process died: the model is told what happened.
    expect(JSON.stringify(entries[2])).toContain("stopped while this ran");
    expect(JSON.stringify(entries[2])).not.toContain("process");
    await alice.says("go on").gets("re: go on");
  });

  test("says so when there is nothing to stop, and acts once however often it is delivered", async () => {
    s = await stage();
    s.model.answers(({ text }) => ({ afterMs: 1_000, says: [`re: ${text}`] }));
    const alice = s.person("alice");
    const { event } = alice.says("/stop");
    await alice.gets("Nothing to stop.");
    alice.says("hello");
    await s.pass(100);
    await s.core().receive([event]);
    await alice.gets("re: hello");
    expect(alice.sees()).toHaveLength(2);
  });
});

describe("a command that fails", () => {
  test("says so once, and does not hold up what comes after it", async () => {
    const refuses = async (): Promise<never> => {
      throw new Fault("invalid", "the model needs an API key");
    };
    s = await stage({ commands: [{ name: "status", summary: "how I am", run: refuses }] });
    const alice = s.person("alice");
    alice.says("/status");
    alice.says("hello");
    await alice.gets("/status failed. The operator can see why in the log.", "re: hello");
    expect((await s.rows()).map((row) => row.outcome)).toEqual(["answered", "commanded"]);
  });
});

describe("/new", () => {
  test("keeps its place: what came before belongs to the old conversation, what comes after sees none of it", async () => {
    s = await stage();
    s.model.answers(({ text }) => ({ afterMs: 1_000, says: [`re: ${text}`] }));
    const alice = s.person("alice");
    alice.says("my name is Alice");
    await s.pass(100);
    alice.says("and I like tea");
    alice.says("/new");
    alice.says("who am I?");
    await alice.gets("re: my name is Alice", "re: and I like tea", /^A new conversation/, "re: who am I?");
    expect(s.model.asked.at(-1)?.users).toEqual(["who am I?"]);
    expect(s.model.asked[1]?.users).toEqual(["my name is Alice", "and I like tea"]);
    const old = await s.transcript("agent:main:telegram:dm:alice", 1);
    expect(old.filter((entry) => entry.type === "user")).toHaveLength(2);
  });

  test("text after it is the first message of the new conversation", async () => {
    s = await stage();
    const alice = s.person("alice");
    await alice.says("before").gets("re: before");
    await alice.says("/new hello there").gets("re: hello there");
    await alice.says("and?").gets("re: and?");
    expect(s.model.asked.map((asked) => asked.users)).toEqual([["before"], ["hello there"], ["hello there", "and?"]]);
  });
});

describe("/queue", () => {
  test("shows, sets word by word, refuses by name what it does not know, and forgets on default", async () => {
    s = await stage();
    const alice = s.person("alice");
    await alice.says("/queue").gets(/^Queue: steer \(debounce 0\.5 s, cap 20, drop summarize\)\.\s+Usage: /);
    await alice.says("/queue collect cap:5").gets("Queue: collect (debounce 0.5 s, cap 5, drop summarize).");
    await alice.says("/queue drop:old").gets("Queue: collect (debounce 0.5 s, cap 5, drop old).");
    await alice.says("/queue sometimes").gets(/^"sometimes" is not a queue mode\./);
    await s.kill();
    await s.start();
    await alice.says("/queue").gets(/^Queue: collect \(debounce 0\.5 s, cap 5, drop old\)/);
    await s
      .person("bob")
      .says("/queue")
      .gets(/^Queue: steer/);
    await alice.says("/queue default").gets(/^Queue: steer \(debounce 0\.5 s, cap 20, drop summarize\)/);
    expect(s.model.asked).toHaveLength(0);
  });
});

describe("other commands", () => {
  test("/whoami and /help answer at once, also while a turn runs", async () => {
    s = await stage();
    s.model.answers(({ text }) => ({ afterMs: 5_000, says: [`re: ${text}`] }));
    const alice = s.person("alice");
    alice.says("work");
    await s.pass(500);
    await alice.says("/whoami").gets(/telegram:alice[\s\S]*agent:main:telegram:dm:alice/);
    // By the names that they have elsewhere, too.
    await alice.says("/id").gets(/telegram:alice/);
    await alice.says("/commands").gets(/\/whoami/);
    alice.says("/models");
    await alice.says("/help").gets(/\/stop[\s\S]*\/queue[\s\S]*\/new/);
    expect(s.clock.mono()).toBeLessThan(1_500);
    await alice.gets("re: work", /^1\. .*in use/);
  });

  test("unknown ones are talk for the agent", async () => {
    s = await stage();
    await s.person("alice").says("/dance now").gets("re: /dance now");
  });
});
