// The prompt along the message path: I12 over any sequence of turns, chats, days and restarts; what is kept
// of it; what an answer that shows nothing leads to.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Inbound } from "@parley/protocol";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { Asked } from "./scripted-model.ts";
import { stage, type Person, type Stage } from "./stage.ts";
import { waitTool } from "./wait-tool.ts";

let s: Stage;
afterEach(() => s.close());

const dayMs = 86_400_000;

/** A person who writes into a group. */
function inGroup(of: Stage, name: string, group: string, fields: Partial<Inbound> = {}): Person {
  const person = of.person(name, { chat: group });
  const address = { channel: "telegram", account: "default", kind: "group", peer: group } as const;
  return { ...person, says: (text, more) => person.says(text, { address, ...fields, ...more }) };
}

/** Nothing runs meanwhile: a day of a gateway's timers would take seconds. */
async function days(of: Stage, many: number): Promise<void> {
  await of.kill();
  await of.pass(many * dayMs);
  await of.start();
}

const groups = { groupPolicy: "open", groups: { "*": { requireMention: true } } };

type Deed = { readonly kind: "say"; readonly who: number } | { readonly kind: "day" | "kill" | "restart" };
const deeds: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 5, arbitrary: fc.nat({ max: 4 }).map((who) => ({ kind: "say" as const, who })) },
  { weight: 2, arbitrary: fc.constantFrom<Deed>({ kind: "day" }, { kind: "kill" }, { kind: "restart" }) },
);

const sessionIn = ({ request: { system } }: Asked): string =>
  /session=(\S+)/.exec(system.volatile)?.[1] ?? "";

describe("equal stable facts, equal bytes", () => {
  test("over any sequence of turns, chats, channels, days and restarts", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(deeds, { minLength: 4, maxLength: 14 }), async (sequence) => {
        s = await stage({ telegram: groups, tools: [waitTool(() => s.clock, 1).tool] });
        try {
          const people: readonly Person[] = [
            s.person("ann"),
            s.person("bob"),
            s.person("lou", { on: s.loopback }),
            inGroup(s, "ann", "-1"),
            inGroup(s, "cat", "-2"),
          ];
          for (const deed of sequence) {
            if (deed.kind === "say") await people[deed.who]?.says(`words ${deed.who}`).gets(/words/);
            else if (deed.kind === "day") await days(s, 1);
            else {
              await (deed.kind === "kill" ? s.kill() : s.terminate());
              await s.start();
            }
          }
          holdsI12(s.model.asked);
        } finally {
          await s.close();
        }
      }),
      { numRuns: 6 },
    );
  });

  function holdsI12(asked: readonly Asked[]): void {
    const isShared = (one: Asked): boolean => sessionIn(one).includes(":group:");
    for (const audience of [asked.filter(isShared), asked.filter((one) => !isShared(one))]) {
      expect(new Set(audience.map(({ request }) => request.system.stable)).size).toBeLessThanOrEqual(1);
      expect(new Set(audience.map(({ request }) => JSON.stringify(request.tools))).size).toBeLessThanOrEqual(
        1,
      );
    }
    for (const session of new Set(asked.map(sessionIn))) {
      const own = asked.filter((one) => sessionIn(one) === session);
      expect(new Set(own.map(({ request }) => request.system.volatile)).size).toBe(1);
      for (const [at, one] of own.slice(1).entries()) {
        const before = own[at]?.messages ?? [];
        expect(one.messages.slice(0, before.length)).toEqual(before);
      }
    }
  }
});

describe("what is kept of a prompt", () => {
  test("each text once, however many turns use it; each turn by its hashes", async () => {
    s = await stage();
    const [ann, bob] = [s.person("ann"), s.person("bob")];
    for (const text of ["one", "two", "three"]) await ann.says(text).gets(/re:/);
    await bob.says("hi").gets(/re:/);
    const texts = await s.store().cells.list("prompt:text:", 100);
    // The stable zone is shared; each session has a volatile zone and a report of its own.
    expect(texts).toHaveLength(5);
    expect(texts.every(({ expiresAtMs }) => expiresAtMs !== null)).toBe(true);
    const turns = await s.core().prompts.turns("agent:main:telegram:dm:ann");
    expect(turns.map(({ n }) => n)).toEqual([1, 2, 3]);
    expect(new Set(turns.map(({ stable, volatile, report }) => [stable, volatile, report].join())).size).toBe(
      1,
    );
    const [first] = turns;
    if (first === undefined) throw new Error("no turn");
    const text = await s.core().prompts.text(first);
    expect(text?.stable).toBe(s.model.asked[0]?.request.system.stable);
    expect(text?.volatile.trimStart()).toBe(s.model.asked[0]?.request.system.volatile);
  });

  test("a text that is used outlives the turns that first used it, and leaves when nobody does", async () => {
    s = await stage();
    const ann = s.person("ann");
    for (let day = 0; day < 20; day += 1) {
      await ann.says("hi").gets(/re:/);
      await days(s, 1);
    }
    const session = "agent:main:telegram:dm:ann";
    const turns = await s.core().prompts.turns(session);
    expect(turns.length).toBeLessThan(7);
    for (const turn of turns) expect(await s.core().prompts.text(turn)).not.toBeNull();
    await days(s, 20);
    expect(await s.store().cells.list("prompt:", 10)).toEqual([]);
  });

  test("looking changes nothing", async () => {
    s = await stage();
    const ann = s.person("ann");
    await ann.says("hi").gets(/re:/);
    const before = await s.store().cells.list("prompt:", 100);
    await ann.says("/context").gets(/^Prompt: full/);
    expect(await s.store().cells.list("prompt:", 100)).toEqual(before);
    expect(s.core().turnPreparer.stableMoves().size).toBe(0);
  });
});

describe("an answer that shows nothing", () => {
  const thoughts = "<think>I wonder.</think>";

  test("is asked for once more, without tools, and the second answer counts", async () => {
    s = await stage();
    s.model.answers(({ nth }) => (nth === 1 ? thoughts : "Here."));
    await s.person("ann").says("well?").gets("Here.");
    expect(s.model.asked).toHaveLength(2);
    expect(s.model.asked[1]?.text).toContain("nothing of your last message can be shown");
  });

  test("twice is told in private, and is never silence", async () => {
    s = await stage();
    s.model.answers(() => thoughts);
    await s
      .person("ann")
      .says("well?")
      .gets(/no answer/);
    expect(s.model.asked).toHaveLength(2);
  });

  test("of invisible characters is told too; markup alone is shown as it is written", async () => {
    s = await stage();
    s.model.answers(({ text }) => (text === "well?" ? "\u200b\u2060" : "```"));
    await s
      .person("ann")
      .says("well?")
      .gets(/no answer/);
    await s.person("bob").says("code!").gets("```");
  });

  test("is told in a group to who asked", async () => {
    s = await stage({ telegram: groups });
    s.model.answers(() => "");
    await inGroup(s, "ann", "-1")
      .says("well?")
      .gets(/no answer/);
    await expect(await s.trace()).toMatchFileSnapshot("traces/silence-in-group.txt");
  });

  test("stays silent in a group where that is allowed, and where nobody asked", async () => {
    for (const [config, addressed] of [
      [{ agents: { defaults: { silentReply: { group: "allow" } } } }, true],
      [{}, false],
    ] as const) {
      s = await stage({
        config,
        telegram: { groupPolicy: "open", groups: { "*": { requireMention: false } } },
      });
      s.model.answers(() => "");
      const ann = inGroup(s, "ann", "-1", { addressed });
      ann.says("well?");
      await s.until(async () => (await s.rows()).some((row) => row.state === "ended"), "the end of the row");
      expect((await s.rows()).map(({ outcome }) => outcome)).toEqual(["silent"]);
      expect(ann.sees()).toEqual([]);
      expect(s.model.asked).toHaveLength(1);
      if (addressed) await s.close();
    }
  });

  test("the silent token in private is asked about once and is the answer if it is not repeated", async () => {
    s = await stage();
    s.model.answers(({ text }) => (text.includes("cannot stay silent") ? "You are welcome." : "NO_REPLY"));
    await s.person("ann").says("thanks").gets("You are welcome.");
    expect(s.model.asked).toHaveLength(2);
  });

  test.each(["NO_REPLY", '{"reply":"NO_REPLY"}', "<b>ΝО_RЕРLY</b>"])(
    "%j for ever becomes a plain line",
    async (token) => {
      s = await stage();
      s.model.answers(() => token);
      await s
        .person("ann")
        .says("well?")
        .gets(/no answer/);
      expect(s.model.asked).toHaveLength(2);
    },
  );

  test("the silent token to a group that called is none, and is a choice where silence is allowed or nobody called", async () => {
    s = await stage({ telegram: groups });
    s.model.answers(() => "NO_REPLY");
    await inGroup(s, "ann", "-1")
      .says("well?")
      .gets(/no answer/);
    await s.close();
    for (const [config, addressed] of [
      [{ agents: { defaults: { silentReply: { group: "allow" } } } }, true],
      [{}, false],
    ] as const) {
      s = await stage({
        config,
        telegram: { groupPolicy: "open", groups: { "*": { requireMention: false } } },
      });
      s.model.answers(() => "NO_REPLY");
      const ann = inGroup(s, "ann", "-1", { addressed });
      ann.says("well?");
      await s.until(async () => (await s.rows()).some((row) => row.state === "ended"), "the end of the row");
      expect((await s.rows()).map(({ outcome }) => outcome)).toEqual(["silent"]);
      expect(s.model.asked).toHaveLength(1);
      if (addressed) await s.close();
    }
  });

  test("a private prompt does not teach the token, a group's does", async () => {
    s = await stage({ telegram: groups });
    await s.person("ann").says("hello").gets(/re:/);
    await inGroup(s, "ann", "-1").says("hello").gets(/re:/);
    expect(s.model.asked.map(({ request }) => JSON.stringify(request.system).includes("NO_REPLY"))).toEqual([
      false,
      true,
    ]);
  });
});

describe("a truncation", () => {
  const config = (bootstrapPromptTruncationWarning: string) => ({
    agents: {
      defaults: { bootstrapMaxChars: 1_000, bootstrapTotalMaxChars: 3_000, bootstrapPromptTruncationWarning },
    },
  });
  const isTold = ({ text }: Asked): boolean => text.includes("Bootstrap truncation warning");
  const longSoul = async (of: Stage): Promise<void> => {
    await mkdir(join(of.home, "workspace"), { recursive: true });
    await writeFile(join(of.home, "workspace", "SOUL.md"), "words ".repeat(1_000));
  };

  test("is told once per conversation, and again after /new", async () => {
    s = await stage({ config: config("once") });
    await longSoul(s);
    const ann = s.person("ann");
    await ann.says("one").gets(/re:/);
    await ann.says("two").gets(/re:/);
    await ann.says("/new").gets(/./);
    await ann.says("three").gets(/re:/);
    expect(s.model.asked.map(isTold)).toEqual([true, false, true]);
    expect(s.model.asked[0]?.request.system.stable).not.toContain("Bootstrap truncation warning");
  });

  test("is told in the prompt itself, or not at all", async () => {
    for (const [warning, inPrompt] of [
      ["always", true],
      ["off", false],
    ] as const) {
      s = await stage({ config: config(warning) });
      await longSoul(s);
      await s.person("ann").says("one").gets(/re:/);
      expect(s.model.asked.map(isTold)).toEqual([false]);
      expect(s.model.asked[0]?.request.system.stable.includes("Bootstrap truncation warning")).toBe(inPrompt);
      if (inPrompt) await s.close();
    }
  });
});
