// Turns: who is answered where, what joins a turn, and what a death, a stop or a restart in the middle of one
// leaves behind.
import { Fault } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import { stage, type Person, type Stage } from "./stage.ts";
import { waitTool } from "./wait-tool.ts";

let s: Stage;
afterEach(() => s.close());

const shared = { session: { dmScope: "main" }, commands: { ownerAllowFrom: ["telegram:olga"] } };
/** Room for what is said at the same moment to arrive before the model answers. */
const thinking = ({ text }: { readonly text: string }) => ({ afterMs: 1_000, says: [`re: ${text}`] });

describe("two addresses in one lane", () => {
  test("each is answered at its own address, and their words are never merged", async () => {
    s = await stage({ config: shared });
    s.model.answers(thinking);
    const [tess, lou] = [s.person("tess"), s.person("lou", { on: s.loopback })];
    tess.says("one");
    await s.pass(100);
    lou.says("two");
    tess.says("three");
    tess.says("four");
    await lou.gets("re: two");
    await tess.gets("re: one", /^re: three\n+four$|^re: four$/);
    expect(lou.sees()).toHaveLength(1);
    expect(s.model.asked.map((asked) => asked.text)).toEqual(["one", "two", "three\n\nfour"]);
    expect((await s.rows()).map((row) => row.outcome)).toEqual([
      "answered",
      "answered",
      "answered",
      "answered",
    ]);
    await expect(await s.trace()).toMatchFileSnapshot("traces/two-people.txt");
  });
});

describe("a stranger in an owner's chat", () => {
  test("never steers the owner's turn and is answered after it", async () => {
    const tool = waitTool(() => s.clock, 1_000);
    s = await stage({ config: shared, tools: [tool.tool] });
    s.model.answers(({ messages, text }) =>
      messages.at(-1)?.role === "tool" || text !== "do it"
        ? `re: ${text}`
        : { calls: { name: "wait", args: {} } },
    );
    const [olga, stan] = [s.person("olga", { chat: "room" }), s.person("stan", { chat: "room" })];
    olga.says("do it");
    await s.pass(500);
    stan.says("delete everything");
    await olga.gets("re: do it", "re: delete everything");
    expect(s.model.asked.map((asked) => asked.text)).toEqual(["do it", "do it", "delete everything"]);
    const [strangers, owners] = await s.rows();
    expect(strangers?.turn).not.toBe(owners?.turn);
    expect([owners?.authority, strangers?.authority]).toEqual(["owner", "member"]);
  });

  test("does not interrupt the owner's turn either", async () => {
    s = await stage({ config: { ...shared, messages: { queue: { mode: "interrupt" } } } });
    s.model.answers(thinking);
    const [olga, stan] = [s.person("olga", { chat: "room" }), s.person("stan", { chat: "room" })];
    olga.says("work");
    await s.pass(500);
    stan.says("hey");
    await olga.gets("re: work", "re: hey");
  });
});

describe("a death in the middle of a turn", () => {
  test("resumes with exactly the rows that were recorded, although more wait by then", async () => {
    s = await stage({ config: { messages: { queue: { mode: "collect" } } } });
    s.model.answers(thinking);
    const alice = s.person("alice");
    alice.says("first");
    await s.until(() => s.model.asked.length === 1, "the first call");
    await s.kill();
    alice.says("second");
    await s.start();
    await alice.gets("re: first", "re: second");
    expect(s.model.asked.map((asked) => asked.text)).toEqual(["first", "first", "second"]);
    await expect(await s.trace()).toMatchFileSnapshot("traces/resumed.txt");
  });

  test("what joined it on the way joins it again, at the same place", async () => {
    const tool = waitTool(() => s.clock, 1_000);
    s = await stage({ tools: [tool.tool] });
    s.model.answers(({ users, messages }) =>
      messages.at(-1)?.role === "user" && users.length === 1
        ? { calls: { name: "wait", args: {} } }
        : { afterMs: 2_000, says: ["both"] },
    );
    const alice = s.person("alice");
    alice.says("first");
    await s.pass(500);
    alice.says("second");
    await s.until(() => s.model.asked.length === 2, "the second call");
    await s.kill();
    alice.says("third");
    await s.start();
    await alice.gets("both");
    const [before, after] = [s.model.asked[1], s.model.asked[2]];
    expect(before?.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(after?.messages.slice(0, 3)).toEqual(before?.messages.slice(0, 3));
    expect(after?.text).toBe("second\nthird");
    const entries = await s.transcript("agent:main:telegram:dm:alice");
    expect(entries.flatMap((entry) => (entry.type === "user" ? [entry.rows.length] : []))).toEqual([1, 1, 1]);
  });

  test("does not start a tool that writes again: the model is told that its outcome is unknown", async () => {
    const tool = waitTool(() => s.clock, 60_000);
    s = await stage({ tools: [tool.tool] });
    s.model.answers(({ messages }) =>
      messages.at(-1)?.role === "tool" ? "I looked" : { calls: { name: "wait", args: {} } },
    );
    const alice = s.person("alice");
    alice.says("do it");
    await s.until(() => tool.starts() === 1, "the tool's start");
    await s.pass(100);
    await s.kill();
    await s.start();
    await alice.gets("I looked");
    expect(tool.starts()).toBe(1);
    expect(JSON.stringify(s.model.asked.at(-1)?.messages)).toContain("Outcome unknown");
  });
});

describe("a stop and then a death", () => {
  test("the turn is not resurrected; it is closed with paired results, and its preview is removed", async () => {
    const tool = waitTool(() => s.clock, 60_000);
    s = await stage({ tools: [tool.tool], telegram: { streaming: "edit" } });
    s.model.answers(({ text }) =>
      text === "do it"
        ? { says: ["I begin ", "now"], pauseMs: 3_000, calls: { name: "wait", args: {} } }
        : `re: ${text}`,
    );
    const alice = s.person("alice");
    alice.says("do it");
    await s.until(() => tool.starts() === 1, "the tool's start");
    expect(alice.sees().length).toBe(1);
    alice.says("/stop");
    // The stop is durable before anything else of it happens; that is the moment to die in.
    await s.until(
      async () => (await s.rows({ id: "telegram:default:alice-alice-2" })).length > 0,
      "the stop",
    );
    await s.kill();
    await s.start();
    await s.pass(5_000);
    expect(alice.sees()).toEqual([expect.stringMatching(/^Stopped/)]);
    const [row] = await s.rows({ id: "telegram:default:alice-alice-1" });
    expect(row).toMatchObject({ outcome: "stopped", reason: "/stop" });
    const entries = await s.transcript("agent:main:telegram:dm:alice");
    const calls = entries.flatMap((entry) =>
      entry.type === "assistant"
        ? entry.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []))
        : [],
    );
    const results = entries.flatMap((entry) => (entry.type === "toolResult" ? [entry.callId] : []));
    expect(calls).toHaveLength(1);
    expect(results).toEqual(calls);
    expect(tool.starts()).toBe(1);
    alice.says("and now?");
    await s.until(() => alice.sees().includes("re: and now?"), "the next answer");
  });
});

describe("a preview whose process died", () => {
  const slowly = { says: ["This is ", "an answer ", "in pieces."], pauseMs: 2_000 };

  test("is used again: in the end the full text stands there once", async () => {
    s = await stage({ telegram: { streaming: "edit" } });
    s.model.answers(() => slowly);
    const alice = s.person("alice");
    alice.says("tell me");
    await s.until(() => alice.sees().length === 1, "the preview");
    await s.pass(300);
    await s.kill();
    await s.start();
    await s.until(() => alice.sees()[0] === "This is an answer in pieces.", "the whole answer");
    await s.pass(60_000);
    expect(alice.sees()).toEqual(["This is an answer in pieces."]);
    expect(s.telegram.sends).toHaveLength(1);
  });

  test("before its receipt was recorded: the full text stands there once, beside at most the orphaned beginning", async () => {
    s = await stage({ telegram: { streaming: "edit" } });
    s.model.answers(() => slowly);
    const alice = s.person("alice");
    s.telegram.harm(() => {
      s.telegram.harm(() => null);
      return { lose: new Fault("ambiguous", "the process died before it read the answer") };
    });
    alice.says("tell me");
    await s.until(() => alice.sees().length === 1, "the preview");
    await s.kill();
    await s.start();
    await s.until(() => alice.sees().includes("This is an answer in pieces."), "the whole answer");
    await s.pass(60_000);
    expect(alice.sees().filter((text) => text === "This is an answer in pieces.")).toHaveLength(1);
    const [preview] = (await s.deliveries()).filter((delivery) => delivery.id.endsWith("/preview"));
    expect(alice.sees().length).toBeLessThanOrEqual(2);
    if (alice.sees().length === 2) expect(preview?.parts[0]).toMatchObject({ flagged: true });
  });
});

describe("a preview that somebody removed", () => {
  const removed = async (): Promise<Person> => {
    s = await stage({ telegram: { streaming: "edit" } });
    s.model.answers(() => ({ says: ["This is ", "an answer."], pauseMs: 4_000 }));
    const alice = s.person("alice");
    alice.says("tell me");
    await s.until(() => alice.sees().length === 1, "the preview");
    const [preview] = s.telegram.sent("alice");
    if (preview === undefined) throw new Error("there is no preview");
    const { signal } = new AbortController();
    await s.telegram.act?.(
      preview.to,
      { kind: "remove", messageId: preview.id },
      { idempotencyKey: "r", signal },
    );
    return alice;
  };

  test("is written anew once, also when nobody knows whether that arrived: it is no edit any more", async () => {
    const alice = await removed();
    s.telegram.harm(() => ({
      lose: new Fault("ambiguous", "the connection broke after the request was written"),
    }));
    await s.until(async () => (await s.deliveries({ troubled: true })).length === 1, "the trouble");
    await s.pass(60_000);
    expect(alice.sees()).toEqual(["This is an answer."]);
    await expect(await s.trace()).toMatchFileSnapshot("traces/preview-removed.txt");
  });

  test("is written anew at most twice, and then flagged, however often the process dies before it has noted that", async () => {
    const alice = await removed();
    for (let deaths = 0; deaths < 3; deaths += 1) {
      const { outbox } = s.store();
      const { record } = outbox;
      const away = new Fault("unavailable", "the disk is full");
      outbox.record = (lease, changes) =>
        changes.some(({ to }) => to === "sent") ? Promise.reject(away) : record(lease, changes);
      await s.pass(20_000);
      await s.kill();
      await s.start();
    }
    await s.pass(60_000);
    expect(alice.sees()).toEqual(["This is an answer.", "This is an answer."]);
    const [answer] = await s.deliveries({ troubled: true });
    expect(answer?.parts).toMatchObject([{ state: "ambiguous", flagged: true }]);
  });
});

describe("a poison message", () => {
  test("kills the process three times, the last time alone, and is buried; others are served", async () => {
    s = await stage();
    s.model.answers(({ text }) =>
      text === "poison" ? { afterMs: 1_000, says: ["never"] } : { afterMs: 2_000, says: [`re: ${text}`] },
    );
    const [mallory, bob] = [s.person("mallory"), s.person("bob")];
    mallory.says("poison");
    for (let death = 1; death <= 2; death += 1) {
      await s.pass(500);
      await s.kill();
      await s.start();
    }
    // It waits, to show whether the process dies without it; Bob does not.
    bob.says("hello");
    await s.pass(4_000);
    expect(s.model.asked.map((asked) => asked.text)).toEqual(["poison", "poison", "hello"]);
    expect(s.reasons()).toEqual([expect.stringMatching(/^one turn is under suspicion.*none runs now/)]);
    await bob.gets("re: hello");
    bob.says("and again");
    await s.pass(1_500);
    expect(s.model.asked.map((asked) => asked.text)).toEqual([
      "poison",
      "poison",
      "hello",
      "and again",
      "poison",
    ]);
    expect(s.reasons()).toEqual([expect.stringMatching(/^one turn is under suspicion.*now agent:main/)]);
    await s.kill();
    await s.start();
    await mallory.gets(/failed on your message for good/);
    await bob.gets("re: and again");
    expect(s.reasons()).toEqual([]);
    expect((await s.rows({ outcome: "dead" })).map((row) => row.id)).toEqual([
      "telegram:default:mallory-mallory-1",
    ]);
    expect(s.model.asked.filter((asked) => asked.text === "poison")).toHaveLength(3);
  });

  test("is not what a slow message is: three graceful stops in one turn are no strikes, and it is answered once", async () => {
    s = await stage();
    s.model.answers(() => ({ afterMs: 10_000, says: ["worth the wait"] }));
    const alice = s.person("alice");
    alice.says("take your time");
    for (let stops = 1; stops <= 3; stops += 1) {
      await s.pass(2_000);
      await s.terminate();
      await s.start();
    }
    await alice.gets("worth the wait");
    await s.pass(60_000);
    expect(alice.sees()).toEqual(["worth the wait"]);
    expect((await s.rows()).map((row) => row.outcome)).toEqual(["answered"]);
  });

  test("is not what a stop ends while it runs alone: the process lived, so it is answered after the next start", async () => {
    s = await stage();
    s.model.answers(() => ({ afterMs: 5_000, says: ["here at last"] }));
    const alice = s.person("alice");
    alice.says("unlucky");
    for (const end of ["kill", "kill", "terminate"] as const) {
      await s.pass(1_000);
      await s[end]();
      await s.start();
    }
    await alice.gets("here at last");
    expect(alice.sees()).toEqual(["here at last"]);
  });

  test("gets its strike back by a graceful stop between two deaths", async () => {
    s = await stage();
    s.model.answers(() => ({ afterMs: 3_000, says: ["here"] }));
    const alice = s.person("alice");
    alice.says("unlucky");
    for (const end of ["kill", "terminate", "kill"] as const) {
      await s.pass(1_000);
      await s[end]();
      await s.start();
    }
    await alice.gets("here");
    expect(alice.sees()).toEqual(["here"]);
    await expect(await s.trace()).toMatchFileSnapshot("traces/strike.txt");
  });
});

test("a turn shows itself through the connection that a reload put in place while it was prepared", async () => {
  const typed: string[] = [];
  s = await stage({
    hooks: (channels) => [
      async (files) => {
        const account = "telegram:default";
        const old = channels.get(account);
        if (old === undefined) throw new Error("the account is there");
        const typing = async (): Promise<void> => void typed.push("new");
        channels.set(account, { ...old, typing });
        return files;
      },
    ],
  });
  s.model.answers(thinking);
  await s.person("tess").says("hello").gets("re: hello");
  expect(typed).toEqual(["new"]);
});
