// What a surface cannot show becomes what it can, and nothing of it is lost.
import { describe, expect, test } from "vitest";
import type { Button, Capabilities, MediaFile, Part } from "@parley/protocol";
import { answerTable } from "@parley/testkit";
import { degraded } from "../src/degrade.ts";

const able: Capabilities = {
  dialect: "markdown",
  textChars: 4_096,
  captionChars: 1_024,
  uploadBytes: 50_000_000,
  downloadBytes: 0,
  media: true,
  albumFiles: 10,
  polls: true,
  pollLimits: {
    questionChars: 20,
    fewestOptions: 2,
    mostOptions: 4,
    optionChars: 10,
    anonymous: true,
    mostHours: 24,
  },
  voice: true,
  silent: true,
  threads: true,
  pins: true,
  typing: true,
  reactions: true,
  edits: true,
  removals: true,
  replyTags: true,
  inlineButtons: true,
  menus: true,
  forms: true,
  idempotentSends: false,
};
const file = (name: string, bytes: number): MediaFile => ({
  path: name,
  name,
  bytes,
  mediaType: "application/pdf",
});
const asked = (...buttons: Button[]): Part => ({ kind: "text", markdown: "Which?", buttons: [buttons] });
const poll = (question: string, ...options: string[]): Part => ({
  kind: "poll",
  question,
  options,
  multiple: false,
  anonymous: false,
});
const on = (part: Part, less: Partial<Capabilities> = {}): readonly Part[] =>
  degraded([part], { ...able, ...less });
const textOf = (part: Part | undefined): string =>
  part?.kind === "text" ? part.markdown : `<${part?.kind}>`;

test("what a surface can show stays as it is", () => {
  const parts: Part[] = [
    asked(
      { label: "Tea", value: "~tea", choices: [{ label: "Green", value: "~g" }] },
      { label: "Form", value: "~f", form: [{ name: "a", label: "A?" }] },
    ),
    { kind: "media", media: "file", files: [file("a.pdf", 50_000_000)], caption: "here" },
    { kind: "voice", file: file("v.ogg", 10) },
    poll("Tea?", "yes", "no"),
    { kind: "card", title: "T", markdown: "m", buttons: [] },
  ];
  expect(degraded(parts, able)).toEqual(parts);
});

describe("buttons", () => {
  const none = { inlineButtons: false };

  test("become numbered lines where none can be pressed; links and words stay buttons", () => {
    const [part] = on(
      asked(
        { label: "Yes *now*", value: "~short" },
        { label: "Docs", url: "https://example.com" },
        { label: "No", value: "~other" },
        { label: "Say it", value: "/approve 1" },
      ),
      none,
    );
    expect(textOf(part)).toBe("Which?\n\nReply with one of these:\n\n1. Yes \\*now\\*\n2. No");
    expect(part).toMatchObject({ buttons: [[{ label: "Docs" }, { label: "Say it" }]] });
  });

  test("of a menu are one for each choice, under the menu's conditions, or a line for each", () => {
    const menu: Button = {
      label: "Tea",
      value: "~tea",
      allowed: ["1"],
      untilMs: 5,
      choices: [
        { label: "Green", value: "~g" },
        { label: "Black", value: "~b" },
      ],
    };
    expect(on(asked({ label: "No", value: "~n" }, menu), { menus: false })[0]).toMatchObject({
      markdown: "Which?",
      buttons: [
        [{ label: "No", value: "~n" }],
        [{ label: "Green", value: "~g", allowed: ["1"], untilMs: 5 }],
        [{ label: "Black", value: "~b", allowed: ["1"], untilMs: 5 }],
      ],
    });
    expect(textOf(on(asked(menu), { menus: false, ...none })[0])).toContain("1. Green\n2. Black");
  });

  test("with a form name its fields in words where there are no forms", () => {
    const form = [
      { name: "tea", label: "Which tea?" },
      { name: "note", label: "Anything *else*?" },
    ];
    const [part] = on(asked({ label: "_Order_", value: "~o", form }), { forms: false });
    expect(textOf(part)).toBe(
      String.raw`Which?${"\n\n"}\_Order\_: please write Which tea?, Anything \*else\*?.`,
    );
    expect(part).toMatchObject({ buttons: [[{ label: "_Order_", value: "~o" }]] });
  });
});

describe("a poll", () => {
  const lines = "📊 **Tea?**\n\n1. yes\n2. no";

  test("is numbered text where there are no polls, or none of so few or so many options", () => {
    expect(on(poll("Tea?", "yes", "no"), { polls: false }).map(textOf)).toEqual([
      `${lines}\n\nReply with the number of your choice.`,
    ]);
    expect(on(poll("Tea?", "yes")).map(textOf)).toEqual([expect.stringContaining("1. yes")]);
    expect(on(poll("Tea?", "a", "b", "c", "d", "e")).map(textOf)).toEqual([expect.stringContaining("5. e")]);
    for (const some of [poll("Tea?", "a", "b"), poll("Tea?", "a", "b", "c", "d")])
      expect(on(some)).toEqual([some]);
  });

  test("that is too long stands in full above the poll that is cut to fit", () => {
    const [whole, cut] = on(poll("Which tea shall we drink?", "oolong from Taiwan", "none"));
    expect(textOf(whole)).toBe("📊 **Which tea shall we drink?**\n\n1. oolong from Taiwan\n2. none");
    expect(cut).toMatchObject({ question: "Which tea shall we …", options: ["oolong fr…", "none"] });
  });

  test("whose options would look alike when cut is numbered text", () => {
    expect(on(poll("Tea?", "oolong from Taiwan", "oolong from China")).map(textOf)).toEqual([
      expect.stringContaining("2. oolong from China"),
    ]);
  });
});

describe("files", () => {
  const album = (...files: MediaFile[]): Part => ({ kind: "media", media: "image", files, caption: "Here:" });

  test("that are too large are named in a line behind those that go", () => {
    const parts = on(album(file("a.png", 10), file("big.png", 52_400_000), file("b.png", 20)));
    expect(parts).toEqual([
      { ...album(file("a.png", 10), file("b.png", 20)) },
      { kind: "text", markdown: "📎 big.png (52 MB) is too large to be sent here: at most 50 MB." },
    ]);
    expect(on(album(file("big.png", 52_400_000)), { uploadBytesAtMost: 100_000_000 })).toHaveLength(1);
  });

  test("of which none goes leave the caption and a line each", () => {
    expect(on(album(file("b_1.png", 51_000_000), file("zero.png", 0))).map(textOf)).toEqual([
      "Here:",
      "📎 b\\_1.png (51 MB) is too large to be sent here: at most 50 MB.\n\n📎 zero.png is empty and cannot be sent.",
    ]);
    expect(on(album(file("a.png", 1_500)), { media: false }).map(textOf)).toEqual([
      "Here:",
      "📎 a.png (1.5 kB)",
    ]);
  });

  test("spoken are audio where there are no voice notes, and a line where there are no files", () => {
    const voice: Part = { kind: "voice", file: file("v.ogg", 10) };
    expect(on(voice, { voice: false })).toEqual([
      { kind: "media", media: "audio", files: [file("v.ogg", 10)] },
    ]);
    expect(on(voice, { voice: false, media: false }).map(textOf)).toEqual(["📎 v.ogg (10 bytes)"]);
    expect(on({ kind: "voice", file: file("v.ogg", 60_000_000) }).map(textOf)).toEqual([
      "📎 v.ogg (60 MB) is too large to be sent here: at most 50 MB.",
    ]);
  });
});

test("each part on each surface is what the table says", async () => {
  const buttons: readonly (readonly Button[])[] = [
    [
      { label: "Say", value: "tea please" },
      {
        label: "Tea",
        choices: [
          { label: "Green", value: "~g" },
          { label: "Black", value: "black" },
        ],
      },
      { label: "Press #1", value: "~p" },
    ],
    [],
    [{ label: "Menu", allowed: ["1"], choices: [{ label: "One", value: "~1" }] }],
    [{ label: "Late", untilMs: 9, choices: [{ label: "Two", value: "~2" }] }],
    [
      {
        label: "Order",
        value: "~o",
        form: [
          { name: "a", label: "A?" },
          { name: "b", label: "B_?" },
        ],
      },
      { label: "Rate", value: "~r", form: [{ name: "c", label: "C?" }] },
      { label: "Empty", value: "~e", form: [] },
      { label: "Site", url: "https://example.com" },
      { label: "Bare" },
    ],
  ];
  const files = (...sizes: number[]) => sizes.map((bytes) => file(`${bytes}.bin`, bytes));
  const media = (...sizes: number[]): Part => ({ kind: "media", media: "file", files: files(...sizes) });
  const edges = [
    1, 999, 1_000, 1_049, 1_050, 9_949, 9_950, 10_499, 10_500, 999_499, 999_999, 1_000_000, 12_345_678,
  ];
  const long = `${"a".repeat(8)}😀b`;
  const cases: readonly (readonly [Part, Partial<Capabilities>])[] = [
    [
      { kind: "text", markdown: "All", buttons },
      { inlineButtons: false, menus: false, forms: false },
    ],
    [
      { kind: "text", markdown: "Menus", buttons },
      { inlineButtons: false, forms: false },
    ],
    [{ kind: "card", title: "T", markdown: "Forms", buttons }, { menus: false }],
    [{ kind: "card", title: "T", markdown: "Presses", buttons }, { forms: false }],
    [{ kind: "text", markdown: "None", buttons: [] }, { inlineButtons: false }],
    [media(...edges), { media: false }],
    [media(50_000_000, 50_000_001), {}],
    [media(50_000_001, 60_000_000, 60_000_001), { uploadBytesAtMost: 60_000_000 }],
    [{ kind: "voice", file: file("v.ogg", 50_000_000) }, {}],
    [{ kind: "voice", file: file("v.ogg", 50_000_001) }, {}],
    [{ kind: "voice", file: file("v.ogg", 0) }, { voice: false }],
    [
      { kind: "poll", question: "Tea\nor_not?", options: ["a*b", "c|d"], multiple: true, anonymous: true },
      { polls: false },
    ],
    [poll("x".repeat(20), "y".repeat(10), "n"), {}],
    [poll("x".repeat(21), "y", "n"), {}],
    [
      {
        kind: "poll",
        question: "?",
        options: [long, "n", "y".repeat(11)],
        multiple: true,
        anonymous: true,
        hours: 3,
      },
      {},
    ],
    [poll("Same?", "yes", "yes", "y".repeat(11)), {}],
    [{ kind: "text", markdown: "\\`*_[]<>|~#&$ stays" }, { inlineButtons: false }],
    [asked({ label: "\\`*_[]<>|~#&$  a\n\tb !()-+.", value: "~x" }), { inlineButtons: false }],
  ];
  const table = answerTable(cases, ([part, less]) => on(part, less));
  await expect(table).toMatchFileSnapshot("tables/degraded.txt");
  const { pollLimits: _limits, ...unlimited } = able;
  const many = poll("x".repeat(500), "only one");
  expect(degraded([many], unlimited)).toEqual([many]);
});
