// What a text means, case by case.
import type { Outcome } from "@parley/protocol";
import { describe, expect, test } from "vitest";
import { type ReplyOptions, replyParser } from "../../src/index.ts";

function read(text: string, options: ReplyOptions = {}): Outcome {
  const parser = replyParser(options);
  parser.push(text);
  return parser.end();
}
const said = (markdown: string, replyTo?: string): Outcome => ({
  kind: "reply",
  parts: [{ kind: "text", markdown }],
  ...(replyTo === undefined ? {} : { replyTo }),
});
const token: Outcome = { kind: "silent", reason: "token" };
const empty: Outcome = { kind: "silent", reason: "empty" };

test.each(["[[audio_as_voice]]", "[[tts]]", "[[tts:voice=a]]", "[[AUDIO_AS_VOICE]]"])(
  "%s asks to be spoken, and is not shown",
  (tag) => {
    const parser = replyParser();
    parser.push(`Fine. ${tag}`);
    expect([parser.end(), parser.asksVoice()]).toEqual([said("Fine."), true]);
    const plain = replyParser();
    plain.push("[[reply_to:5]] The tag tts, [tts] and [[ttsx]]");
    expect([plain.end(), plain.asksVoice()]).toEqual([said("The tag tts, [tts] and [[ttsx]]", "5"), false]);
  },
);

describe("the silent token", () => {
  test.each([
    "NO_REPLY",
    "%%NO_REPLY%%",
    " \n NO_REPLY \n",
    "no_reply",
    "No_Reply.",
    "**NO_REPLY**",
    "_NO_REPLY_",
    "`NO_REPLY`",
    '"NO_REPLY"',
    "“NO_REPLY”",
    "> NO_REPLY",
    "- NO_REPLY",
    "NO_REPLY!!!",
    "NO_REPLY 👍",
    "(NO_REPLY)",
    String.raw`NO\_REPLY`,
    "NO_REPLY\n\nNO_REPLY",
    "\u200bNO_REPLY",
    "```\nNO_REPLY\n```",
    "```text\nNO_REPLY\n```",
    "<think>Nothing to add.</think>NO_REPLY",
    "<final>NO_REPLY</final>",
    "[[reply_to_current]] NO_REPLY",
    "NO_<think>x</think>REPLY",
    "HEARTBEAT_OK",
    "**HEARTBEAT_OK**",
  ])("%j is silence", (text) => {
    expect(read(text)).toEqual(token);
  });

  test.each([
    ["No reply.", "No reply."],
    ["NO", "NO"],
    ["I HEAR", "I HEAR"],
    ["MY_NO_REPLY_FLAG", "MY_NO_REPLY_FLAG"],
    ["NO_REPLYING", "NO_REPLYING"],
    ["The word `NO_REPLY` is a token.", "The word `NO_REPLY` is a token."],
    ["```\nconst t = 'NO_REPLY'\n```", "```\nconst t = 'NO_REPLY'\n```"],
  ])("%j is text", (text, shown) => {
    expect(read(text)).toEqual(said(shown));
  });

  test.each([
    ["All done. NO_REPLY", "All done."],
    ["All done.\n\n**NO_REPLY**", "All done."],
    ["%%NO_REPLY%% All done.", "All done."],
    ["All HEARTBEAT_OK done.", "All  done."],
  ])("%j is text without its token", (text, shown) => {
    expect(read(text)).toEqual(said(shown));
  });
});

describe("heartbeats", () => {
  const heartbeat = { heartbeat: true };
  test.each([
    "HEARTBEAT_OK",
    "**HEARTBEAT_OK**",
    "HEARTBEAT_OK All quiet.",
    "All quiet. HEARTBEAT_OK.",
    "NO_REPLY",
    `HEARTBEAT_OK ${"x".repeat(300)}`,
  ])("%j acknowledges", (text) => {
    expect(read(text, heartbeat)).toEqual({ kind: "heartbeatOk" });
  });

  test("more than 300 characters beside the token are an alert, without the token", () => {
    expect(read(`HEARTBEAT_OK ${"x".repeat(301)}`, heartbeat)).toEqual(said("x".repeat(301)));
  });

  test("text without the token is an alert", () => {
    expect(read("The disk is full.", heartbeat)).toEqual(said("The disk is full."));
  });

  test("a token in the middle acknowledges nothing", () => {
    expect(read("The disk HEARTBEAT_OK is full.", heartbeat)).toEqual(said("The disk  is full."));
  });

  test("a heartbeat has no preview", () => {
    expect(replyParser(heartbeat).push("The disk is full.").visible).toBe("");
  });
});

describe("thinking", () => {
  test.each([
    ["<think>x</think>Hi", "Hi"],
    ["<THINKING depth=3>x</Thinking>Hi", "Hi"],
    ["<thought>x</thought>Hi", "Hi"],
    ["<antthinking>x</antthinking>Hi", "Hi"],
    ["<reasoning>x</reasoning>Hi", "Hi"],
    ["<think>x</thinking>Hi", "Hi"],
    ["<think>a<think>b</think>c</think>Hi", "Hi"],
    ["<think>a `</think> Hi", "Hi"],
    ["<think/>Hi", "Hi"],
    ["Hi<think>never closed", "Hi"],
    ["Hi</think>", "Hi"],
    ["<final>Hi</final>", "Hi"],
    ["<think>x</think><answer>Hi</answer>", "Hi"],
    ["<think>x <final>Hi</final>", "Hi"],
    ["<think>İİİ I must use <final> <FINAL>Hi</FINAL>\n", "Hi"],
    ["````\n```\n<think>x</think>\n````\n<think>y</think>Hi", "````\n```\n<think>x</think>\n````\nHi"],
    ["~~~\n```\n<think>x</think>\n~~~\nHi", "~~~\n```\n<think>x</think>\n~~~\nHi"],
    ["Write `<think>` first.", "Write `<think>` first."],
    ["```xml\n<think>x</think>\n```", "```xml\n<think>x</think>\n```"],
    ["~~~\n<think>x</think>\n~~~\nDone", "~~~\n<think>x</think>\n~~~\nDone"],
    ["A stray ` tick <think>x</think>Hi", "A stray ` tick Hi"],
    ["a < b and <thanks>", "a < b and <thanks>"],
    ["Hi <thin", "Hi"],
  ])("%j shows %j", (text, shown) => {
    expect(read(text)).toEqual(said(shown));
  });

  test.each(["<think>only thoughts</think>", "<think>never closed", "", "  \n"])("%j is empty", (text) => {
    expect(read(text)).toEqual(empty);
  });

  test("with finalOnly nothing outside final is shown", () => {
    const finalOnly = { finalOnly: true };
    expect(read("Let me see. <final>Hi</final> Done.", finalOnly)).toEqual(said("Hi"));
    expect(read("```\nhalf a fence <final>Hi", finalOnly)).toEqual(said("Hi"));
    expect(read("No tags at all.", finalOnly)).toEqual(empty);
  });

  test("thoughts in tags can be had for people who asked", () => {
    const parser = replyParser();
    parser.push("<think>one</think>Hi<think>two");
    parser.end();
    expect(parser.thinking()).toBe("one\ntwo");
  });
});

describe("reply tags", () => {
  const here = { currentMessageId: "7" };
  test.each([
    ["[[reply_to_current]] Hi", "Hi", "7"],
    ["Hi [[ Reply_To_Current ]]", "Hi", "7"],
    ["[[reply_to: 42]]Hi", "Hi", "42"],
    ["[[reply_to:42]]Hi[[reply_to:43]]", "Hi", "42"],
    ["[[reply_to:]]Hi", "Hi", undefined],
    ["`[[reply_to_current]]`", "`[[reply_to_current]]`", undefined],
    ["[[a]] [[reply]]", "[[a]] [[reply]]", undefined],
  ])("%j shows %j", (text, shown, target) => {
    expect(read(text, here)).toEqual(said(shown, target));
  });

  test("without a triggering message the tag is stripped and means nothing", () => {
    expect(read("[[reply_to_current]]Hi")).toEqual(said("Hi"));
  });
});
