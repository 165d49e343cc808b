// I8 on streams: every cut gives the same outcome, previews only grow, and none shows a byte that the outcome
// would not.
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { type Redaction, type ReplyOptions, replyParser, sanitizeOutbound } from "../../src/index.ts";

// Thousands of runs on a busy machine; nothing here waits.
vi.setConfig({ testTimeout: 60_000 });

const redaction: Redaction = {
  secrets: ["sk-canary-1234", "sk-canary-1234-long"],
  stateDirs: ["/home/u/.parley"],
  workspaces: ["/home/u/.parley/workspace"],
};

const pieces = [
  ..."NO_REPLY %%NO_REPLY%% **NO_REPLY** HEARTBEAT_OK NO_ NO REPLY HEARTBEAT HEART H N %% _ * ** no_reply".split(
    " ",
  ),
  ..."<think> </think> <thinking a=1> </THINKING> <think/> <final> </final> <answer> <thi nk> < > </ / <tool_call> </tool_call> <function_calls>".split(
    " ",
  ),
  ..."[[reply_to_current]] [[reply_to:42]] [[ [[reply_to ]] [ ] : _current]] [INST] <|im_start|> <| |> <<SYS>> <system-reminder>".split(
    " ",
  ),
  ..."<<<BEGIN_PARLEY_QUOTE x>>> <<<END_PARLEY_QUOTE x>>> <<<BEGIN_PARLEY sk-canary-1234 sk-canary-1234-long sk-can".split(
    " ",
  ),
  ..."/home/u/.parley/state.db /home/u/.parley/workspace/a.md /home/u/.par ` `` ``` ~~~ ```js hello world 😀 é x".split(
    " ",
  ),
  ...'{ } "reply": "reply" {reply: [ ] : = " \' Answer Answer: final answer <b> </b> <b <a href=1> <thinking ( ) json'.split(
    " ",
  ),
  " ",
  "\n",
  "\n```\n",
  "> ",
  "<inner monologue>",
  "</inner monologue>",
  "<invoke=x>",
  "</invoke>",
];
const codeless = pieces.filter((piece) => !/[`~]/u.test(piece));
const textOf = (from: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    fc.array(fc.constantFrom(...from), { maxLength: 14 }).map((parts) => parts.join("")),
    fc
      .array(
        fc.oneof(
          fc.constantFrom(...from),
          fc.string({ maxLength: 6 }).filter((text) => !/[`~]/u.test(text)),
        ),
        { maxLength: 10 },
      )
      .map((parts) => parts.join("")),
  );
const options: fc.Arbitrary<ReplyOptions> = fc.record({
  heartbeat: fc.boolean(),
  finalOnly: fc.boolean(),
  currentMessageId: fc.constant("7"),
  redaction: fc.constant(redaction),
});

function cut(text: string, at: readonly number[]): string[] {
  const marks = [...new Set(at.map((each) => each % (text.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...marks].map((from, index) => text.slice(from, marks[index] ?? text.length));
}

function stream(
  parts: readonly string[],
  given: ReplyOptions,
): { previews: string[]; outcome: string; text: string } {
  const parser = replyParser(given);
  const previews = parts.map((part) => parser.push(part).visible);
  const outcome = parser.end();
  const part = outcome.kind === "reply" ? outcome.parts[0] : undefined;
  return { previews, outcome: JSON.stringify(outcome), text: part?.kind === "text" ? part.markdown : "" };
}

/**
 * What no reader may ever see, outside code. Tags may be mentioned: what they hold is the corpus's matter.
 */
const forbidden =
  /(?<![A-Za-z0-9_])(?:NO_REPLY|HEARTBEAT_OK)(?![A-Za-z0-9_])|\[\[\s*reply_to[^[\]\n]*\]\]|<<\/?SYS>>|<<<(?:BEGIN|END)_PARLEY_[^<>\n]*>>>|sk-canary-1234|\/home\/u\/\.parley(?![\w-])(?!\/workspace)/iu;
/** Case decides for tokens in running text. */
const shownForbidden = (text: string): boolean => {
  const match = forbidden.exec(text)?.[0];
  return (
    match !== undefined &&
    !/^(?:no_reply|heartbeat_ok)$/u.test(match) &&
    !(/^(?:NO_REPLY|HEARTBEAT_OK)$/iu.test(match) && match !== match.toUpperCase())
  );
};

describe("a cut stream", () => {
  test("gives the outcome of the whole text", () => {
    fc.assert(
      fc.property(textOf(pieces), fc.array(fc.nat(), { maxLength: 30 }), options, (text, at, given) => {
        expect(stream(cut(text, at), given).outcome).toBe(stream([text], given).outcome);
      }),
      { numRuns: 3_000 },
    );
  });

  // One stream a text, judged by three laws: what costs is to parse each text once more with every letter.
  test("letter by letter gives the outcome of the whole text; previews only grow towards it, and show no forbidden byte", () => {
    fc.assert(
      fc.property(fc.oneof(textOf(pieces), textOf(codeless)), options, (text, given) => {
        const { previews, outcome, text: final } = stream(text.split(""), given);
        expect(outcome).toBe(stream([text], given).outcome);
        const shrinks = previews.some((preview, n) => !preview.startsWith(previews[n - 1] ?? ""));
        expect(shrinks ? previews : null).toBeNull();
        const last = previews.at(-1) ?? "";
        // The outcome is trimmed; a preview may end in a space that something was still to follow.
        expect(final.startsWith(last.trimEnd())).toBe(true);
        if (/[`~]/u.test(text)) return;
        for (const shown of [last, final]) expect(shownForbidden(shown) ? shown : null).toBeNull();
      }),
      {
        numRuns: 3_000,
        // Each was shown in part, and then it turned out that it says nothing.
        examples: [
          "<thinking**NO_REPLY**> ",
          "NO_REPLY{reply:{",
          '{reply: "NO_REPLY"}',
          "Answer : NO_REPLY",
          "Answer*NO_REPLY*: ",
          "final message: NO_REPLY",
          'json\n{"reply": "NO_REPLY"}',
          "{<b>NO_REPLY</b>}",
        ].map((text): [string, ReplyOptions] => [text, { redaction }]),
      },
    );
  });
});

describe("while it could still become a token or a tag", () => {
  const items = [
    "NO_REPLY",
    "%%NO_REPLY%%",
    "**NO_REPLY**",
    "HEARTBEAT_OK",
    "<think>",
    "[[reply_to_current]]",
    "[[reply_to:42]]",
    "<tool_call>",
    "<|im_start|>",
  ];
  test.each(items)("no beginning of %s is shown", (item) => {
    for (const before of ["", "Hello. "]) {
      const parser = replyParser();
      for (const letter of before + item) {
        const { visible } = parser.push(letter);
        expect((before + item).startsWith(visible) && visible.length > before.length).toBe(false);
      }
    }
  });

  test("secrets and state paths are held back and replaced, also in code", () => {
    const parser = replyParser({ redaction });
    const text =
      "Key `sk-canary-1234` in ```/home/u/.parley/state.db``` and /home/u/.parley/workspace/a.md, or /home/u/.parley/workspace/../state.db";
    const previews = text.split("").map((letter) => parser.push(letter).visible);
    expect(previews.some((visible) => visible.includes("sk-c") || visible.includes("state.db"))).toBe(false);
    expect(parser.end()).toEqual({
      kind: "reply",
      parts: [
        {
          kind: "text",
          markdown: "Key `[secret]` in ```[path]``` and /home/u/.parley/workspace/a.md, or [path]",
        },
      ],
    });
  });
});

test("long pathological streams stay cheap", { timeout: 60_000 }, () => {
  // Each takes a minute where a hold-back is unbounded or a pattern backtracks over its own run.
  for (const unit of ["`", "[", "<", "*", "_", "~", "` ", "[[ ", "<think ", "NO_", "%", "/home/u/.parley"]) {
    const parser = replyParser({ redaction });
    for (let at = 0; at < 5_000; at += 1) parser.push(unit);
    expect(["reply", "silent"]).toContain(parser.end().kind);
    expect(sanitizeOutbound(unit.repeat(50_000), redaction).length).toBeLessThanOrEqual(unit.length * 50_000);
  }
});
