// Commands in a chat: those that act at once while a turn runs, and those that keep their place among the
// messages.
import { Fault, silentLog } from "@parley/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chatRestart, type ChatRestart } from "../../src/commands/decide/restart.ts";
import { askingTool } from "./asking-tool.ts";
import { noDaemon } from "../no-daemon.ts";
import { stage, type Person, type Stage } from "./stage.ts";
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
    expect(entries.map((entry) => entry.type)).toEqual(["user", "assistant", "toolResult", "assistant"]);
    expect(JSON.stringify(entries[3])).toContain("[stopped by the user]");
    // No process died: the model is told what happened.
    expect(JSON.stringify(entries[2])).toContain("stopped while this ran");
    expect(JSON.stringify(entries[2])).not.toContain("process");
    await alice.says("go on").gets("re: go on");
    await expect(await s.trace()).toMatchFileSnapshot("traces/stop.txt");
  });

  test("keeps what was said so far and that it was stopped: the next message is answered alone", async () => {
    s = await stage({ telegram: { streaming: "edit" } });
    s.model.answers(({ text }) =>
      text === "tell me much"
        ? { says: ["Once upon ", "a time <think>s3cret", " plan"], pauseMs: 5_000 }
        : `re: ${text}`,
    );
    const alice = s.person("alice");
    alice.says("tell me much");
    await s.pass(7_000);
    alice.says("/stop");
    await s.until(async () => (await s.rows()).every((row) => row.state === "ended"), "the end");
    alice.says("and now?");
    await s.until(() => alice.sees().includes("re: and now?"), "the next answer");
    const [said, answer] = (s.model.asked.at(-1)?.messages ?? []).slice(0, 2);
    expect(said).toMatchObject({ role: "user", content: [{ type: "text", text: "tell me much" }] });
    expect(answer).toMatchObject({
      role: "assistant",
      content: [{ type: "text", text: "Once upon a time\n\n[stopped by the user]" }],
    });
    expect(s.model.asked.at(-1)?.text).toBe("and now?");
    expect(s.model.asked).toHaveLength(2);
  });

  test.each(["before the first word", "in a pause of the answer"])(
    "%s and then a death: what people saw is kept, nothing is asked anew",
    async (when) => {
      s = await stage({ telegram: { streaming: "edit" } });
      const slow = {
        says: ["Once upon ", "a time", " there was"],
        pauseMs: 5_000,
        ...(when === "before the first word" ? { afterMs: 60_000 } : {}),
      };
      s.model.answers(({ text }) => (text === "tell me much" ? slow : `re: ${text}`));
      const alice = s.person("alice");
      alice.says("tell me much");
      await s.pass(7_000);
      alice.says("/stop");
      await s.until(
        async () => (await s.rows({ id: "telegram:default:alice-alice-2" })).length > 0,
        "the stop",
      );
      await s.kill();
      await s.start();
      await s.until(async () => (await s.rows()).every((row) => row.state === "ended"), "the end");
      alice.says("and now?");
      await s.until(() => alice.sees().includes("re: and now?"), "the next answer");
      expect(s.model.asked).toHaveLength(2);
      const [, answer] = s.model.asked.at(-1)?.messages ?? [];
      const text =
        when === "before the first word"
          ? /^\[stopped by the user\]$/
          : /^Once upon[^[]*\n\n\[stopped by the user\]$/;
      expect(answer).toMatchObject({
        role: "assistant",
        content: [{ type: "text", text: expect.stringMatching(text) as string }],
      });
    },
  );

  test("drops what is not sent yet of an answer, says how much that was, and the chat goes on", async () => {
    s = await stage({ telegram: { pacing: "on" } });
    s.telegram.can({ textChars: 1_000 });
    await s.terminate();
    await s.start();
    const long = Array.from({ length: 20_000 }, (_, at) => `${at}`)
      .join(" ")
      .slice(0, 29_000);
    s.model.answers(({ text }) => (text === "tell me much" ? long : `re: ${text}`));
    const alice = s.person("alice");
    alice.says("tell me much");
    await s.until(() => alice.sees().length >= 3, "the first messages");
    alice.says("/stop");
    await s.until(() => alice.sees().some((text) => text.startsWith("Stopped.")), "the answer to /stop");
    const seen = alice.sees();
    expect(seen.at(-1)).toMatch(/^Stopped\. \d+ messages? of my answer (?:is|are) not sent\.$/);
    expect(seen.length).toBeLessThan(8);
    // What was sent is a beginning without a gap.
    expect(long.startsWith(seen.slice(0, -1).join(" "))).toBe(true);
    alice.says("and now?");
    await s.until(() => alice.sees().includes("re: and now?"), "the next answer");
    expect(alice.sees()).toHaveLength(seen.length + 1);
    await expect(await s.trace()).toMatchFileSnapshot("traces/stop-unsent.txt");
  });

  test("drops an answer that waits whole behind a pause, also when the process dies right after", async () => {
    s = await stage();
    s.telegram.harm(({ text }) =>
      text === "re: hello"
        ? { refuse: new Fault("rate_limited", "slow down", { retryAfterMs: 60_000 }) }
        : null,
    );
    const alice = s.person("alice");
    alice.says("hello");
    await s.until(async () => (await s.rows()).some((row) => row.outcome === "answered"), "the commit");
    await s.pass(1_000);
    alice.says("/stop");
    await s.until(async () => (await s.rows()).some((row) => row.outcome === "commanded"), "the stop");
    await s.kill();
    s.telegram.harm(() => null);
    await s.start();
    await s.pass(120_000);
    expect(alice.sees()).toEqual(["Stopped. 1 message of my answer is not sent."]);
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
    s = await stage({ daemon: { ...noDaemon, report: refuses } });
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
    await expect(await s.trace()).toMatchFileSnapshot("traces/new.txt");
  });

  test("text after it is the first message of the new conversation", async () => {
    s = await stage();
    const alice = s.person("alice");
    await alice.says("before").gets("re: before");
    await alice.says("/new hello there").gets("re: hello there");
    await alice.says("and?").gets("re: and?");
    expect(s.model.asked.map((asked) => asked.users)).toEqual([
      ["before"],
      ["hello there"],
      ["hello there", "and?"],
    ]);
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

describe("/tools", () => {
  const rules = { deny: ["exec"], toolsBySender: { "telegram:bob": { deny: ["wait"] } } };

  test("lists what the person who asks may use, with a name why or why not, and that all are held", async () => {
    s = await stage({
      config: { tools: rules, commands: { ownerAllowFrom: ["telegram:olga"] } },
      tools: [waitTool(() => s.clock, 1_000).tool, askingTool().tool],
    });
    const [alice, bob, olga] = ["alice", "bob", "olga"].map((name) => s.person(name)) as [
      Person,
      Person,
      Person,
    ];
    await alice
      .says("/tools")
      .gets(
        /^Tools that I may use here: 1 of \d+\.\s+\**rehearsal\**\s+\S `?wait`?: Wait\s+Why, or why not: \/tools NAME$/,
      );
    await alice.says("/tools WAIT").gets(/^I may use `?wait`? here/);
    await alice.says("/tools exec").gets(/^I may not use `?exec`? here: tools denies "exec"\.$/);
    await alice
      .says("/tools web_serch")
      .gets(/^There is no tool "web_serch"\. Did you mean `?web_search`?\?/);
    await alice.says("/tools read").gets(/^`?read`? cannot be had here\. The operator sees why with/);
    await bob
      .says("/tools")
      .gets(
        /^I may use no tool here: no tool is left: the last, wait, was taken away by tools\.toolsBySender denies "wait"\.$/,
      );
    await olga.says("/estop").gets(/held/);
    await alice.says("/tools wait").gets(/All tools are held by \/estop/);
    expect(s.model.asked).toHaveLength(0);
  });
});

describe("/restart", () => {
  const config = { commands: { ownerAllowFrom: ["telegram:olga"] } };
  let restarts = 0;
  let trouble: string | null = null;
  const desk = (): ChatRestart =>
    chatRestart({
      restarting: { trouble: async () => trouble, begin: () => void (restarts += 1) },
      cells: s.store().cells,
      outbox: s.store().outbox,
      node: "local",
      clock: s.clock,
      log: silentLog,
    });
  const daemon = { ...noDaemon, restart: (by: Parameters<ChatRestart["ask"]>[0]) => desk().ask(by) };
  beforeEach(() => {
    restarts = 0;
    trouble = null;
  });

  test("is told where it was asked for, before and once after, however often it comes", async () => {
    s = await stage({ config, daemon });
    const olga = s.person("olga");
    const { event } = olga.says("/restart");
    await olga.gets(/^I restart/);
    await s.pass(1_000);
    expect(restarts).toBe(1);
    // As if its row had not been written.
    await desk().ask(event);
    for (const _boot of [1, 2]) {
      await s.terminate();
      await s.start();
      await desk().restarted();
      expect(await desk().ask(event)).toBeNull();
    }
    await s.core().receive([event]);
    await olga.gets(/^I am back: Parley /);
    await s.pass(60_000);
    expect(olga.sees()).toHaveLength(2);
    expect(restarts).toBe(1);
  });

  test("is for owners, and refused while the config would keep the daemon from coming up", async () => {
    s = await stage({ config, daemon });
    trouble = "gateway.prot: no such key";
    const [alice, olga] = [s.person("alice"), s.person("olga")];
    await alice.says("/restart").gets(/^\/restart is for owners/);
    await olga.says("/restart").gets(/^I do not restart: .*gateway\.prot: no such key/);
    await alice.says("/help").gets(/^(?![\s\S]*\/restart)[\s\S]*\/tools/);
    await olga.says("/help").gets(/\/restart/);
    await s.pass(1_000);
    expect(restarts).toBe(0);
    expect(alice.sees()).toHaveLength(2);
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
    await alice.says("/help /tell").gets(/^\/steer - /);
    await alice
      .says("/help stauts")
      .gets("There is no command /stauts. Did you mean /status? /help lists them.");
    // What is for owners is no command of hers.
    await alice.says("/help estop").gets(/^There is no command \/estop\./);
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
