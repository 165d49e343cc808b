import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Entry, JsonObject } from "@parley/protocol";
import { liveHistory, pinnedSectionsOf, tokensOfText, viewOf } from "../../src/index.ts";
import { identifiersIn } from "../../src/context/identifiers.ts";
import { planCut } from "../../src/context/plan.ts";
import { tokensOf, tokensOfAll } from "../../src/context/size.ts";
import { forceFit } from "../../src/context/force-fit.ts";
import { answered, conversation, flaws, placed, result, said } from "./entries.ts";

const cutOf = (
  entries: readonly Entry[],
  keepTokens: number,
  turnFrom: number,
  roomTokens = 1_000_000,
): number | null => planCut({ entries, sizeOf: tokensOf, keepTokens, turnFrom, roomTokens });

describe("the cut", () => {
  const talk = [
    said("a".repeat(400)),
    answered("b".repeat(400)),
    said("c".repeat(400)),
    answered("d".repeat(400)),
    said("now"),
  ];

  it("stands before a message, keeps what was asked for, and never the running turn's message", () => {
    expect(cutOf(talk, 250, 4)).toBe(2);
    expect(cutOf(talk, 0, 4)).toBe(4);
    expect(cutOf(talk, 10_000, 4)).toBeNull();
    expect(cutOf([said("only")], 0, 0)).toBeNull();
  });

  it("goes through a long turn between an answer's results and the next answer", () => {
    const rounds = Array.from({ length: 10 }, (_, n) => [
      answered("", [`c${n}`]),
      result(`c${n}`, "x".repeat(4_000)),
    ]).flat();
    const entries = [said("go"), ...rounds];
    expect(cutOf(entries, 3_100, 0, 5_000)).toBe(15);
    expect(entries[15]?.type).toBe("assistant");
    // The last answer stays with its results, however long they are.
    expect(cutOf(entries, 10, 0, 100)).toBe(19);
  });

  it("never stands between a call and its result, and keeps the running turn where that fits", () => {
    fc.assert(
      fc.property(
        conversation,
        fc.nat(20_000),
        fc.nat(20_000),
        fc.nat(40),
        (entries, keepTokens, roomTokens, from) => {
          const people = entries.flatMap((entry, at) => (entry.type === "user" ? [at] : []));
          const turnFrom = people[from % people.length] ?? 0;
          const cut = cutOf(entries, keepTokens, turnFrom, roomTokens);
          if (cut === null) return;
          expect(["user", "assistant"]).toContain(entries[cut]?.type ?? "user");
          if (tokensOfAll(entries.slice(turnFrom)) <= roomTokens) expect(cut).toBeLessThanOrEqual(turnFrom);
          expect(cut).toBeLessThan(entries.length);
          const summary: Entry = { type: "summary", text: "s", throughSeq: cut, atMs: 0 };
          expect(flaws(viewOf([summary, ...entries.slice(cut)]))).toEqual([]);
        },
      ),
    );
  });
});

it("what stands is the newest summary and what came after what it covers, also what came before the summary itself", () => {
  const log = placed([
    said("one"),
    answered("two"),
    said("three"),
    { type: "summary", text: "one and two", throughSeq: 2, atMs: 0 },
    { type: "notice", text: "for people", atMs: 0 },
    answered("four"),
  ]);
  const { summary, tail } = liveHistory(log);
  expect(summary?.entry.text).toBe("one and two");
  expect(tail.map(({ seq }) => seq)).toEqual([3, 6]);
});

describe("squeezing", () => {
  it("keeps the newest message to the last, says that something is left out, and leaves pairs whole", () => {
    const entries = [
      ...Array.from({ length: 20 }, (_, n) => [
        said(`old ${n}`),
        answered("", [`c${n}`]),
        result(`c${n}`, "x".repeat(8_000)),
      ]).flat(),
      said("the question"),
    ];
    const view = forceFit(entries, 6_000, tokensOf);
    expect(tokensOfAll(view)).toBeLessThanOrEqual(6_000);
    expect(view.at(-1)).toEqual(said("the question"));
    expect(JSON.stringify(view[0])).toContain("left out here");
    expect(flaws(viewOf(view))).toEqual([]);
  });

  it("shortens the texts in a call's arguments, and leaves them out where they are too many", () => {
    const call = (args: JsonObject): Entry => ({
      ...(answered("") as Extract<Entry, { type: "assistant" }>),
      content: [{ type: "toolCall", id: "c", name: "write", args }],
    });
    const argsOf = (args: JsonObject): unknown => {
      const [, answer] = forceFit([said("go"), call(args), result("c", "ok")], 3_000, tokensOf);
      const [part] = answer?.type === "assistant" ? answer.content : [];
      return part?.type === "toolCall" ? part.args : part;
    };
    expect(argsOf({ path: "a.md", lines: 7, text: "x".repeat(20_000) })).toEqual({
      path: "a.md",
      lines: 7,
      text: `${"x".repeat(750)} [... 19000 characters left out ...] ${"x".repeat(250)}`,
    });
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, "x".repeat(1_000)]));
    expect(argsOf(many)).toEqual({});
    const fits = { text: "x".repeat(11_000) };
    expect(argsOf(fits)).toEqual(fits);
  });

  it("shortens even one message that is too long alone", () => {
    const view = forceFit([said(`start ${"x".repeat(400_000)} end`)], 2_000, tokensOf);
    expect(tokensOfAll(view)).toBeLessThan(2_000);
    expect(JSON.stringify(view)).toMatch(/start x.*characters left out.*x end/);
  });

  it("is valid whatever it is given (I11)", () => {
    fc.assert(
      fc.property(conversation, fc.integer({ min: 50, max: 20_000 }), (entries, room) => {
        const view = forceFit(entries, room, tokensOf);
        expect(flaws(viewOf(view))).toEqual([]);
        if (tokensOfAll(entries) <= room) expect(view).toBe(entries);
        else expect(tokensOfAll(view)).toBeLessThan(tokensOfAll(entries) + 50);
      }),
    );
  });
});

describe("identifiers", () => {
  it("are found by their form, newest first when there are too many", () => {
    const text =
      "see https://example.org/a?b=1. ticket PAR-123, commit 3b84424, mail ann@example.org, /etc/hosts.d/x.conf 8f14e45f-ceea-467f-a0e6-123456789abc order 99887766";
    expect(identifiersIn(text, 20)).toEqual([
      "https://example.org/a?b=1",
      "PAR-123",
      "3b84424",
      "ann@example.org",
      "/etc/hosts.d/x.conf",
      "8f14e45f-ceea-467f-a0e6-123456789abc",
      "99887766",
    ]);
    expect(identifiersIn(text, 1)).toEqual(["99887766"]);
    expect(identifiersIn("plain words, a date 2026 and a word like deadbeef", 9)).toEqual([]);
  });
});

describe("essentials of AGENTS.md", () => {
  const file =
    "# Rules\nintro\n## Session Startup\nread SOUL.md\n### Then\nmore\n```\n## Red Lines\n```\n## Other\nno\n## red lines ##\nnever\n";

  it("are the named sections with what is nested in them, bounded", () => {
    expect(pinnedSectionsOf(file, ["Session Startup", "Red Lines"], 1_800)).toBe(
      "## Session Startup\nread SOUL.md\n### Then\nmore\n```\n## Red Lines\n```\n\n## red lines ##\nnever",
    );
    expect(pinnedSectionsOf(file, ["Nothing"], 1_800)).toBe("");
    expect(pinnedSectionsOf(file, ["Other"], 6)).toBe("## Ot…");
  });
});

it("tokens are counted by bytes, so that no script is taken for a quarter of its size", () => {
  expect(tokensOfText("a".repeat(400))).toBe(100);
  expect(tokensOfText("中".repeat(400))).toBe(300);
});
