// What one person, one model or one tool can do to the others: nothing.
import { Fault, type SessionKey, type ConversationKey, formatRowPayload } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import { stage, type Person, type Stage } from "./stage.ts";
import { waitTool } from "./wait-tool.ts";

let s: Stage;
afterEach(() => s.close());

/** A message that got no answer stands before the next one. */
const lastLine = (text: string): string => text.split("\n").at(-1) ?? "";

describe("a model that ignores its abort", () => {
  test("after /stop frees its lane at once, and is left behind within five seconds", async () => {
    s = await stage();
    s.model.answers(({ text }) =>
      text === "hang" ? { afterMs: 3_600_000, says: ["too late"], deaf: true } : `re: ${lastLine(text)}`,
    );
    const alice = s.person("alice");
    alice.says("hang");
    await s.pass(1_000);
    await alice.says("/stop").gets("Stopped.");
    await alice.says("still there?").gets("re: still there?");
    expect(s.clock.mono()).toBeLessThan(3_000);
    await s.pass(5_000);
    expect(s.pools().turnsRunning()).toBe(0);
    expect(s.core().running.count()).toBe(0);
  });

  test("at the turn's deadline loses the turn within five seconds; the person is told, the row is dead and listed", async () => {
    s = await stage({ config: { agents: { defaults: { timeoutSeconds: 30 } } } });
    s.model.answers(({ text }) =>
      text === "hang" ? { afterMs: 3_600_000, says: ["too late"], deaf: true } : `re: ${lastLine(text)}`,
    );
    const alice = s.person("alice");
    await alice.says("hang").gets(/took too long/);
    expect(s.clock.mono()).toBeGreaterThanOrEqual(30_000);
    expect(s.clock.mono()).toBeLessThan(36_000);
    expect((await s.rows({ outcome: "dead" })).map((row) => row.reason)).toEqual(["the turn took too long"]);
    await alice.says("next").gets("re: next");
    await expect(await s.trace()).toMatchFileSnapshot("traces/deadline.txt");
  });
});

describe("a tool that ignores its abort", () => {
  test("frees the lane at the turn's deadline within five seconds", async () => {
    const tool = waitTool(() => s.clock, 3_600_000, { deaf: true });
    s = await stage({ config: { agents: { defaults: { timeoutSeconds: 10 } } }, tools: [tool.tool] });
    s.model.answers(({ text }) => (text === "hang" ? { calls: { name: "wait", args: {} } } : `re: ${text}`));
    const alice = s.person("alice");
    await alice.says("hang").gets(/took too long/);
    expect(s.clock.mono()).toBeLessThan(16_000);
    const entries = await s.transcript("agent:main:telegram:dm:alice");
    expect(JSON.stringify(entries.filter((entry) => entry.type === "toolResult"))).toContain(
      "Outcome unknown",
    );
    await alice.says("next").gets("re: next");
  });
});

describe("a model that fails", () => {
  test.each([
    ["unavailable", /cannot reach the language model/],
    ["rate_limited", /asks us to slow down/],
    ["auth", /refuses our key/],
    ["billing", /out of credit/],
    ["refused", /declined to answer/],
    ["context_overflow", /too long for the model/],
  ] as const)("for good (%s) is told in plain words, and its row is listed as dead", async (fails, told) => {
    s = await stage();
    s.model.answers(() => ({ fails }));
    const alice = s.person("alice");
    await alice.says("hello").gets(told);
    expect(alice.sees()[0]).not.toContain("scripted");
    expect((await s.rows({ outcome: "dead" })).map((row) => row.reason)).toEqual([
      `${fails}: scripted: ${fails}`,
    ]);
    expect((await s.store().troubled()).rows).toBe(1);
  });
});

describe("a store that is away for a moment after the model answered", () => {
  const goesAway = (): void => {
    const { cells, turns } = s.store();
    const [{ get }, { commit }] = [cells, turns];
    const refuse = () => Promise.reject(new Fault("unavailable", "the store is away"));
    cells.get = refuse;
    s.clock.after(2_000, () => (cells.get = get));
    turns.commit = refuse;
    s.clock.after(4_000, () => (turns.commit = commit));
  };

  test("costs no second answer: the one there is waits for it", async () => {
    s = await stage();
    s.model.answers(({ nth }) => {
      if (nth === 1) goesAway();
      return `answer ${nth}`;
    });
    await s.person("alice").says("hello").gets("answer 1");
    expect(s.model.asked).toHaveLength(1);
  });

  test("costs no second summary either", async () => {
    s = await stage({ contextWindow: 16_000 });
    const summaries: number[] = [];
    s.model.answers(({ nth, request }) => {
      if (!request.system.stable.startsWith("You keep the memory of a conversation")) return "ok";
      if (summaries.push(nth) === 1) goesAway();
      return "SUMMARY";
    });
    const alice = s.person("alice");
    const words = "w ".repeat(3_000);
    for (const n of [1, 2, 3, 4]) {
      alice.says(`${n} ${words}`);
      await s.pass(1_000);
    }
    await alice.says("/compact").gets("ok", /^Compacted/);
    expect(summaries).toHaveLength(1);
  });
});

describe("one chat that floods", () => {
  test(
    "with 3,000 messages delays no other chat, and is answered in few turns",
    { timeout: 300_000 },
    async () => {
      s = await stage({ config: { agents: { defaults: { maxConcurrent: 2 } } } });
      s.model.answers(({ text }) => ({
        afterMs: 200,
        says: [text.length > 40 ? "re: much" : `re: ${text}`],
      }));
      const flooder = s.person("flooder");
      const others = Array.from({ length: 9 }, (_, n) => s.person(`person${n}`));
      const { event } = flooder.says("m0");
      const updates = Array.from({ length: 3_000 }, (_, n) => ({
        ...event,
        id: `telegram:default:flood-${n}`,
        messageId: `flood-${n}`,
        text: `m${n}`,
      }));
      for (let at = 0; at < updates.length; at += 100) await s.core().receive(updates.slice(at, at + 100));
      for (let round = 0; round < 3; round += 1) {
        const from = s.clock.mono();
        const asked: Promise<void>[] = [];
        for (const person of others) asked.push(answersWithin(person, `q${round}`));
        await Promise.all(asked);
        // Nine chats and the flooder share two places, 200 ms a turn: ten turns are five rounds.
        expect(s.clock.mono() - from).toBeLessThanOrEqual(2_000);
      }
      const open = async (): Promise<number> =>
        (await s.rows({ state: "waiting", limit: 1 })).length +
        (await s.rows({ state: "claimed", limit: 1 })).length;
      await s.until(async () => (await open()) === 0, "the end of the flood");
      expect((await s.rows({ outcome: "answered", limit: 20_000 })).length).toBe(3_028);
      // A flood is answered in few turns, in their order.
      expect(s.model.asked.length).toBeLessThan(27 + 3_000 / 20);
    },
  );

  async function answersWithin(person: Person, text: string): Promise<void> {
    person.says(text);
    const count = person.sees().length;
    await s.until(() => person.sees().length > count, `the answer to ${text}`);
  }
});

describe("background work", () => {
  test("that fills its pools delays no person", async () => {
    s = await stage();
    s.model.answers(({ text }) =>
      text === "slow" ? { afterMs: 300_000, says: ["done"] } : { afterMs: 200, says: [`re: ${text}`] },
    );
    for (const pool of ["cron", "heartbeat", "subagent"]) {
      const { event } = s.person("nobody", { on: s.loopback }).says("warm up");
      for (let n = 0; n < 20; n += 1) {
        const id = `${pool}-${n}`;
        await s.store().inbox.accept([
          {
            id,
            pool,
            lane: `agent:main:cron:${id}` as SessionKey,
            conversation: "loopback:default:dm:nobody" as ConversationKey,
            authority: "owner",
            as: { kind: "work" },
            payload: formatRowPayload({ v: 1, inbound: { ...event, id, text: "slow" }, owner: true }),
          },
        ]);
      }
    }
    // While people are served, and shortly after, one begins each 100 ms.
    await s.pass(5_000);
    expect(s.model.open()).toBeGreaterThanOrEqual(14);
    const from = s.clock.mono();
    await s.person("alice").says("hello").gets("re: hello");
    expect(s.clock.mono() - from).toBeLessThan(1_000);
  });
});

describe("a day of downtime", () => {
  const dayMs = 86_400_000;

  test("becomes one turn per chat, told that it came while the agent was away", async () => {
    s = await stage();
    const people = ["alice", "bob"].map((name) => s.person(name));
    await s.kill();
    for (let n = 1; n <= 5; n += 1) {
      for (const person of people) person.says(`m${n}`);
      await s.pass(60_000);
    }
    await s.pass(dayMs);
    await s.start();
    for (const person of people) await person.gets(/while you were away[\s\S]*m1\n\nm2\n\nm3\n\nm4\n\nm5$/);
    await s.pass(60_000);
    expect(s.model.asked).toHaveLength(2);
    await expect(await s.trace()).toMatchFileSnapshot("traces/long-away.txt");
  });

  test("also in followup mode, and when the updates come in several batches", async () => {
    s = await stage({ config: { messages: { queue: { mode: "followup" } } } });
    const alice = s.person("alice");
    await s.kill();
    const events = [1, 2, 3, 4].map((n) => alice.says(`m${n}`).event);
    await s.pass(dayMs);
    await s.start();
    for (const event of events) await s.core().receive([event]);
    await alice.gets(/while you were away[\s\S]*m1\n\nm2\n\nm3\n\nm4$/);
    await s.pass(60_000);
    expect(s.model.asked).toHaveLength(1);
  });
});

describe("strangers who flood", () => {
  test("are refused, and after the sweeps the database keeps a bounded rest of it", async () => {
    s = await stage({ telegram: { dmPolicy: "allowlist", allowFrom: ["4242"] } });
    const { event } = s.person("stranger").says("let me in");
    const knocks = Array.from({ length: 11_000 }, (_, n) => {
      const id = `${n % 3_000}`;
      return {
        ...event,
        id: `telegram:default:knock-${n}`,
        messageId: `knock-${n}`,
        sender: { ...event.sender, id },
        address: { ...event.address, peer: id },
        text: "x".repeat(2_000),
      };
    });
    for (let at = 0; at < knocks.length; at += 100) await s.core().receive(knocks.slice(at, at + 100));
    while (await s.store().sweep(1_000));
    const kept = await s.rows({ outcome: "refused", limit: 20_000 });
    expect(kept).toHaveLength(10_000);
    expect(kept.every((row) => row.payload === "")).toBe(true);
    expect(s.model.asked).toHaveLength(0);
    expect(s.telegram.sends).toHaveLength(0);
    await s.pass(0);
    s.clock.jumpWall(6 * 86_400_000);
    while (await s.store().sweep(1_000));
    expect(await s.rows({ limit: 10 })).toEqual([]);
  });
});
