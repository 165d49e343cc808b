// What becomes of an answer on a channel: what says that it is late, what stands in the first message and
// what in the last, and how files are parted.
import { loopback } from "@parley/channels";
import { formatContent, type Content, type MediaFile, type Part } from "@parley/protocol";
import type { DeliveryView } from "@parley/store";
import { answerTable, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { plannedParts, splitPart, type PlannedParts } from "../src/plan.ts";
import { channelRender, editedText, lateMs, markedLate, previewText, wordsFor } from "../src/render.ts";

const whole = loopback({ account: "default", clock: virtualClock() });
const channel = {
  ...whole,
  capabilities: { ...whole.capabilities, textChars: 40, captionChars: 20, albumFiles: 3 },
};
const reply = (...parts: readonly Part[]) => ({ v: 1, kind: "reply", parts, replyTo: "7" }) as const;
const file = (name: string): MediaFile => ({ path: name, mediaType: "image/png", bytes: 1, name });
const delivery = (content: Content, more: object = {}): DeliveryView =>
  ({
    createdAtMs: 1_000,
    split: false,
    parts: [{ content: formatContent(content), into: "m1", intoReceipt: "r1" }],
    ...more,
  }) as unknown as DeliveryView;

test("an answer is late after a quarter of an hour, and says so before its first words", () => {
  const asked = delivery(reply());
  expect(lateMs(asked, 1_000 + 900_000)).toBe(0);
  expect(lateMs(asked, 1_000 + 900_001)).toBe(900_001);
  const [first] = channelRender(reply({ kind: "text", markdown: "hi" }), channel, 900_001);
  expect(first).toMatchObject({ kind: "text", text: expect.stringMatching(/15 min[\s\S]*\n\nhi$/) });
  const media = reply({ kind: "media", media: "image", files: [file("a")] });
  expect(channelRender(media, channel, 900_001).map(({ kind }) => kind)).toEqual(["text", "media"]);
  expect(channelRender(media, channel, 0).map(({ kind }) => kind)).toEqual(["media"]);
});

test("the first message quotes, the last one has the buttons, whatever stands between", () => {
  const buttons = [[{ label: "Yes" }]];
  const words = "One sentence stands here now. ".repeat(4).trim();
  for (const part of [
    { kind: "text", markdown: words, buttons },
    { kind: "card", title: "Title", markdown: words, buttons },
  ] as const) {
    const rendered = channelRender(reply(part), channel, 0);
    expect(rendered.length).toBeGreaterThan(2);
    expect(rendered.map((each) => "replyTo" in each)).toEqual(rendered.map((_, at) => at === 0));
    expect(rendered.map((each) => "buttons" in each)).toEqual(
      rendered.map((_, at) => at === rendered.length - 1),
    );
  }
});

test("files go in albums of as many as the platform takes, the first with the caption, what is left of it after them", () => {
  const names = "abcdefg".split("");
  const rendered = channelRender(
    reply({
      kind: "media",
      media: "image",
      files: names.map(file),
      caption: "A caption here, and then what is longer than one",
    }),
    channel,
    0,
  );
  const albums = rendered.flatMap((part) => (part.kind === "media" ? [part] : []));
  expect(albums.map(({ files }) => files.map(({ name }) => name).join(""))).toEqual(["abc", "def", "g"]);
  expect(albums.map(({ caption }) => caption !== undefined)).toEqual([true, false, false]);
  expect(rendered.map(({ kind }) => kind).slice(0, 4)).toEqual(["media", "media", "media", "text"]);
});

async function planOf(asked: DeliveryView): Promise<PlannedParts> {
  const planned = await plannedParts(
    { render: channelRender, outbox: { find: async () => [] } },
    channel,
    asked,
    2_000,
  );
  if ("impossible" in planned) throw new Error(planned.impossible);
  return planned;
}

test("a delivery is split once: what is split already, and what is no answer, stays as it is", async () => {
  const content = reply({ kind: "text", markdown: "First words here. ".repeat(6) });
  const planned = await planOf(delivery(content));
  expect(planned.split?.length).toBeGreaterThan(2);
  expect(planned.parts).toHaveLength(planned.split?.length ?? 0);
  expect(planned.parts.map(({ intoReceipt }) => intoReceipt)).toEqual(
    planned.parts.map((_, at) => (at === 0 ? "r1" : null)),
  );
  const split = delivery(content, { split: true });
  expect(await planOf(split)).toEqual({ parts: split.parts, split: null });
  const empty = delivery(content, { parts: [] });
  expect(await planOf(empty)).toEqual({ parts: [], split: null });
  const rendered = planned.split?.[0];
  if (rendered === undefined) throw new Error("nothing was rendered");
  expect(splitPart(delivery(content), rendered, 0).into).toBe("m1");
  expect(splitPart(delivery(content), rendered, 1)).not.toHaveProperty("into");
});

test("a preview is the first message of what there is, without an end that is not there yet", () => {
  expect(previewText("**bol", channel)?.text).toBe("bol");
  expect(previewText("", channel)).toBeNull();
  expect(previewText("word ".repeat(100), channel)?.text.length).toBeLessThanOrEqual(40);
  const preview = { v: 1, kind: "preview", markdown: "hi", replyTo: "7" } as const;
  expect(channelRender(preview, channel, 900_001)).toEqual([
    expect.objectContaining({ text: "hi", replyTo: "7" }),
  ]);
});

test("whole answers, edits and words in a file's place are what the table says", async () => {
  const sized = (name: string, bytes: number): MediaFile => ({ ...file(name), bytes });
  const buttons = [[{ label: "Yes", value: "~y" }], [{ label: "Site", url: "https://x.example" }]];
  const album: Part = {
    kind: "media",
    media: "image",
    files: [sized("a", 60), sized("b", 40), sized("c", 1), sized("d", 100), sized("e", 101)],
    caption: "One *caption* that is longer than thirty characters are",
  };
  const less = { ...channel, capabilities: { ...channel.capabilities, captionChars: 30, albumBytes: 100 } };
  const plain = { ...less, capabilities: { ...less.capabilities, inlineButtons: false } };
  const minute = 60_000;
  const voice: Part = { kind: "voice", file: sized("v_1.ogg", 9) };
  const answers = [
    [reply(album, voice), 0],
    [{ ...reply({ kind: "text", markdown: "Quiet words. ".repeat(5), buttons }), silent: true }, 0],
    [{ v: 1, kind: "reply", parts: [{ kind: "card", title: "T_x", markdown: "m", buttons }] }, 0],
    [reply({ kind: "card", title: "Late", markdown: "m", buttons: [] }), 16 * minute],
    [reply({ kind: "text", markdown: "min" }), 119.49 * minute],
    [reply({ kind: "text", markdown: "hours" }), 119.5 * minute],
    [reply({ kind: "text", markdown: "hours" }), 150 * minute],
    [reply({ kind: "text", markdown: "empty follows" }, { kind: "text", markdown: " " }), 0],
    [reply({ kind: "media", media: "video", files: [file("n")], shape: "video_note" }), 0],
    [reply({ kind: "media", media: "image", files: [file("s"), file("t")], shape: "sticker" }), 0],
    [reply(), 16 * minute],
    [{ v: 1, kind: "preview", markdown: " " }, 0],
    [{ v: 1, kind: "preview", markdown: "so far" }, 0],
  ] as const;
  const rendered = answerTable(answers, ([content, late]) => channelRender(content, less, late));
  const edits = answerTable(
    [
      [{ markdown: "**new**" }, false],
      [{ markdown: "new", buttons }, true],
      [{ markdown: " " }, false],
      [{ markdown: "w ".repeat(20).trim() }, false],
      [{ markdown: "word ".repeat(10) }, false],
      [{ markdown: "word ".repeat(5), buttons }, true],
    ] as const,
    ([given, isCaption]) => [
      editedText({ kind: "edit", ...given } as never, less, isCaption),
      editedText({ kind: "edit", ...given } as never, plain, isCaption),
    ],
  );
  const caption = { text: "a *b*\n_c_", entities: [], plain: "a *b*\n_c_" };
  const taken = [
    { kind: "media", media: "image", files: [sized("a_b", 1_000)], caption, replyTo: "7", silent: true },
    { kind: "media", media: "image", files: [sized("a", 1), sized("b", 2)] },
    { kind: "voice", file: sized("v.ogg", 3), replyTo: "8" },
    { kind: "voice", file: sized("v.ogg", 3), silent: true },
    { kind: "text", text: "t", entities: [], plain: "t" },
    { kind: "poll", question: "?", options: ["a", "b"], multiple: false, anonymous: false },
  ] as const;
  const words = answerTable(taken, (part) => wordsFor(part, whole));
  const entities = [
    { type: "bold", offset: 0, length: 2 },
    { type: "url", offset: 3, length: 1, url: "https://x.example" },
  ];
  const marked = answerTable(
    [
      { kind: "text", text: "hi x", entities, plain: "hi x", buttons, replyTo: "7" },
      { kind: "text", text: "x", entities: [], plain: "(delayed by 16 min)\n\nx" },
    ] as const,
    (part) => markedLate(part, 20 * minute, 25),
  );
  await expect([rendered, edits, words, marked].join("\n")).toMatchFileSnapshot("tables/rendered.txt");
});
