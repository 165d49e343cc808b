// Deliveries: order, patience and honesty when the platform is slow, away, full or gone.
import { Fault } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import { stage, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const minutesMs = 60_000;
const hoursMs = 60 * minutesMs;
const away = new Fault("unavailable", "connection refused");

describe("a platform that is away", () => {
  test("for 30 minutes gets every answer then, in order, marked late", async () => {
    s = await stage();
    const alice = s.person("alice");
    s.telegram.harm(() => ({ refuse: away }));
    for (const text of ["one", "two", "three"]) {
      alice.says(text);
      await s.pass(1_000);
    }
    await s.pass(30 * minutesMs);
    expect(alice.sees()).toEqual([]);
    s.telegram.harm(() => null);
    await alice.gets(
      /^\(delayed by 3\d min\)\n+re: one$/,
      /^\(delayed by 3\d min\)\n+re: two$/,
      /^\(delayed by 3\d min\)\n+re: three$/,
    );
    expect(new Set((await s.rows()).map((row) => row.outcome))).toEqual(new Set(["answered"]));
    await alice.says("thanks").gets("re: thanks");
    await expect(await s.trace()).toMatchFileSnapshot("traces/platform-away.txt");
  });

  test("keeps nobody else waiting, on its own account or another", async () => {
    s = await stage();
    const [alice, bob, lou] = [s.person("alice"), s.person("bob"), s.person("lou", { on: s.loopback })];
    s.telegram.harm(({ to }) => (to === "alice" ? { refuse: away } : null));
    alice.says("one");
    await bob.says("hi").gets("re: hi");
    await lou.says("hey").gets("re: hey");
    expect(s.clock.mono()).toBeLessThan(5_000);
  });

  test("for more than a day: the answer fails, the operator sees it, and the agent is told in its next turn, once", async () => {
    s = await stage();
    const alice = s.person("alice");
    s.telegram.harm(() => ({ refuse: away }));
    alice.says("one");
    await s.pass(minutesMs);
    s.clock.jumpWall(25 * hoursMs);
    s.telegram.harm(() => null);
    await s.until(
      async () => (await s.deliveries({ troubled: true })).length === 1,
      "the failure",
      2 * hoursMs,
    );
    expect((await s.deliveries({ troubled: true }))[0]?.parts[0]).toMatchObject({
      state: "failed",
      reason: "older than a day",
    });
    expect((await s.store().troubled()).deliveries).toBe(1);
    await alice.gets(/^⚠️ I had an answer here that could not be delivered\./);
    s.model.answers(({ text }) => `heard: ${text}`);
    await alice
      .says("hello?")
      .gets(/^heard: \[Parley: an earlier answer of yours did not arrive: older than a day\]\n\nhello\?$/);
    await alice.says("and now?").gets("heard: and now?");
  });
});

describe("the answer of a command", () => {
  test("waits for the reply at the head, and for no other that waits behind it", async () => {
    s = await stage();
    const alice = s.person("alice");
    s.telegram.harm(({ nth }) =>
      nth === 1 ? { refuse: new Fault("rate_limited", "slow down", { retryAfterMs: 7_000 }) } : null,
    );
    for (const text of ["one", "two", "three"]) {
      alice.says(text);
      await s.pass(500);
    }
    alice.says("/whoami");
    await alice.gets("re: one", /alice/, "re: two", "re: three");
  });

  test("given while what waits is being sent goes between two replies", async () => {
    s = await stage();
    const alice = s.person("alice");
    let sends = 0;
    let isAway = true;
    s.telegram.harm(() => {
      if (isAway) return { refuse: away };
      // The holder of the lane has all three replies in its hands when this is said.
      sends += 1;
      if (sends === 1) alice.says("/whoami");
      return null;
    });
    for (const text of ["one", "two", "three"]) {
      alice.says(text);
      await s.pass(500);
    }
    isAway = false;
    await s.until(() => alice.sees().length === 4, "all four", minutesMs);
    const seen = alice.sees();
    expect(seen.filter((text) => text.startsWith("re: "))).toEqual(["re: one", "re: two", "re: three"]);
    expect(seen.at(-1)).toBe("re: three");
    expect(new Set((await s.rows()).map(({ outcome }) => outcome))).toEqual(
      new Set(["answered", "commanded"]),
    );
  });
});

describe("a chat that is gone", () => {
  test("fails its deliveries at once and for good; others go on", async () => {
    s = await stage();
    const [alice, bob] = [s.person("alice"), s.person("bob")];
    s.telegram.harm(({ to }) =>
      to === "alice" ? { refuse: new Fault("denied", "Forbidden: bot was blocked by the user") } : null,
    );
    alice.says("one");
    await bob.says("hi").gets("re: hi");
    await s.until(async () => (await s.deliveries({ troubled: true })).length === 1, "the failure", 1_000);
    const [failed] = await s.deliveries({ troubled: true });
    expect(failed?.parts.map((part) => [part.state, part.attempts])).toEqual([["failed", 1]]);
    s.telegram.harm(() => null);
    await alice.says("I am back").gets(/re: [\s\S]*did not arrive: Forbidden[\s\S]*I am back$/);
  });
});

describe("a platform that asks for a pause", () => {
  test("is obeyed per chat and to the millisecond, and the order stays", async () => {
    s = await stage();
    const [alice, bob] = [s.person("alice"), s.person("bob")];
    s.telegram.harm(({ to, nth }) =>
      to === "alice" && nth === 1
        ? { refuse: new Fault("rate_limited", "Too Many Requests", { retryAfterMs: 7_000 }) }
        : null,
    );
    alice.says("one");
    await s.pass(1_000);
    alice.says("two");
    await bob.says("hi").gets("re: hi");
    expect(s.clock.mono()).toBeLessThan(2_000);
    await alice.gets("re: one", "re: two");
    expect(s.telegram.sends.filter((sent) => sent.to === "alice")[0]?.nth).toBe(2);
    expect(s.clock.mono()).toBeGreaterThanOrEqual(7_000);
    expect(s.clock.mono()).toBeLessThan(9_000);
  });
});

describe("a send whose answer was lost", () => {
  const lost = new Fault("ambiguous", "the connection broke after the request was written");

  test("is repeated once within 15 minutes, and the repeat is flagged", async () => {
    s = await stage();
    const alice = s.person("alice");
    s.telegram.harm(({ nth }) => (nth === 1 ? { lose: lost } : null));
    alice.says("one");
    await alice.gets("re: one", "re: one");
    const [delivery] = await s.deliveries();
    expect(delivery?.parts[0]).toMatchObject({ state: "sent", flagged: true, attempts: 2 });
    await alice.says("two").gets("re: two");
    await expect(await s.trace()).toMatchFileSnapshot("traces/ambiguous-send.txt");
  });

  test("twice in a row stays ambiguous: it is not sent a third time, and the agent is told that nobody knows", async () => {
    s = await stage();
    const alice = s.person("alice");
    s.telegram.harm(({ nth }) => (nth <= 2 ? { lose: lost } : null));
    alice.says("one");
    await alice.gets("re: one", "re: one");
    await s.until(async () => (await s.deliveries({ troubled: true })).length === 1, "the trouble");
    await alice.says("two").gets(/not known whether an earlier answer of yours arrived/);
    expect(s.telegram.sends.map((sent) => sent.text).filter((text) => text === "re: one")).toHaveLength(2);
  });

  test("is not repeated when the process comes back later than 15 minutes", async () => {
    s = await stage();
    const alice = s.person("alice");
    s.telegram.harm(() => "hang");
    alice.says("one");
    await s.until(async () => (await s.deliveries({ state: "sending" })).length === 1, "the send");
    await s.kill();
    s.clock.jumpWall(16 * minutesMs);
    s.telegram.harm(() => null);
    await s.start();
    await s.until(async () => (await s.deliveries({ troubled: true })).length === 1, "the trouble");
    await s.pass(minutesMs);
    expect(alice.sees()).toEqual([]);
    expect((await s.deliveries())[0]?.parts[0]).toMatchObject({ state: "ambiguous" });
  });

  test("is repeated when the process died in it and comes back in time", async () => {
    s = await stage();
    const alice = s.person("alice");
    s.telegram.harm(() => "hang");
    alice.says("one");
    await s.until(async () => (await s.deliveries({ state: "sending" })).length === 1, "the send");
    await s.kill();
    s.telegram.harm(() => null);
    await s.start();
    await alice.gets("re: one");
    expect((await s.deliveries())[0]?.parts[0]).toMatchObject({ state: "sent", flagged: true });
  });
});

describe("a delivery that meets a bug", () => {
  test("in its second message fails at once with what is left of it; the first stays sent, and the chat goes on", async () => {
    s = await stage();
    s.telegram.can({ textChars: 100 });
    await s.kill();
    await s.start();
    s.model.answers(({ text }) =>
      text === "long" ? Array.from({ length: 40 }, (_, n) => `word${n}`).join(" ") : `re: ${text}`,
    );
    const alice = s.person("alice");
    s.telegram.harm(({ nth }) => (nth === 2 ? { refuse: new TypeError("a bug") as unknown as Fault } : null));
    alice.says("long");
    await s.until(async () => (await s.deliveries({ troubled: true })).length === 1, "the failure", 5_000);
    const states = (await s.deliveries())[0]?.parts.map((part) => part.state) ?? [];
    expect(states.length).toBeGreaterThan(2);
    expect(states).toEqual(["sent", ...states.slice(1).map(() => "failed")]);
    s.model.answers(({ text }) => (text.endsWith("hello") ? "here" : "?"));
    alice.says("hello");
    await s.until(() => alice.sees().length === 2, "the next answer", 5_000);
    expect(alice.sees()[1]).toBe("here");
    await expect(await s.trace()).toMatchFileSnapshot("traces/half-sent.txt");
  });
});

describe("an upgrade with a half-sent reply", () => {
  test("goes on as the older version had split it, although the limits are others now", async () => {
    s = await stage();
    s.telegram.can({ textChars: 100 });
    await s.kill();
    await s.start();
    const words = Array.from({ length: 40 }, (_, n) => `word${n}`).join(" ");
    s.model.answers(() => words);
    const alice = s.person("alice");
    s.telegram.harm(({ nth }) => (nth >= 2 ? { refuse: away } : null));
    alice.says("tell me");
    await s.until(() => s.telegram.sends.length === 1, "the first message");
    await s.pass(2_000);
    await s.kill();
    s.telegram.can({ textChars: 4_096 });
    s.telegram.harm(() => null);
    await s.start();
    await s.until(async () => (await s.deliveries()).every((delivery) => delivery.done), "the rest");
    const shown = alice.sees();
    expect(shown.join(" ")).toBe(words);
    expect(shown.length).toBeGreaterThan(2);
    for (const text of shown) expect(text.length).toBeLessThanOrEqual(100);
    expect((await s.deliveries())[0]?.parts.map((part) => [part.state, part.flagged])).toEqual(
      shown.map(() => ["sent", false]),
    );
  });
});
