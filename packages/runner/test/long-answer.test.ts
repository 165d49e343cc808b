// An answer that is too long for messages: a file where the platform takes one, else a cut that says so.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault, silentLog, type Outcome } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { longAnswerParts } from "./long-answer-parts.ts";
import { withinLimit, type AnswerLimit } from "../src/streaming/long-answer.ts";
import { mediaFolder } from "../src/media/media-store.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-long-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const reply = (markdown: string): Outcome => ({
  kind: "reply",
  parts: [{ kind: "text", markdown }],
  replyTo: "7",
});
const options = (more: Partial<AnswerLimit> = {}): AnswerLimit => ({
  maxChars: 2_000,
  session: "agent:main:main",
  capabilities: { media: true, uploadBytes: 1_000_000, textChars: 1_000 },
  folder: mediaFolder(home),
  log: silentLog,
  ...more,
});
const paragraphs = "Some words of it.\n\n".repeat(200).trim();

test("one within the limit is left as it is", async () => {
  expect(await withinLimit(reply("x".repeat(2_000)), options())).toEqual(reply("x".repeat(2_000)));
});

test("a longer one is a beginning of whole paragraphs and a file with all of it", async () => {
  const { head, file, replyTo } = longAnswerParts(await withinLimit(reply(paragraphs), options()));
  expect(head).toMatch(
    /Some words of it\. …\n\n📄 .*it has 3,798 characters, and messages take 2,000\. .*in the file\.$/,
  );
  expect(head.length).toBeLessThan(1_300);
  expect(file).toMatchObject({ name: "answer.md", mediaType: "text/markdown", bytes: 3_798 });
  expect(await readFile(join(home, file?.path ?? ""), "utf8")).toBe(paragraphs);
  expect(replyTo).toBe("7");
});

test.each([
  ["has no files", { capabilities: { media: false, uploadBytes: 0, textChars: 1_000 } }],
  ["takes no file of that size", { capabilities: { media: true, uploadBytes: 3_000, textChars: 1_000 } }],
  ["is not there", { capabilities: null }],
])("is cut where the platform %s, and the cut says where the whole stands", async (_why, more) => {
  const { head, file } = longAnswerParts(await withinLimit(reply(paragraphs), options(more)));
  expect(file).toBeNull();
  expect(head).toMatch(/✂️ .*was cut here.*`parley sessions show agent:main:main`/);
  expect(head.startsWith(paragraphs.slice(0, 1_900))).toBe(true);
});

test("a disk that takes no file costs only the file", async () => {
  const { head, file } = longAnswerParts(
    await withinLimit(reply(paragraphs), options({ folder: mediaFolder("/dev/null/media") })),
  );
  expect([file, head.includes("was cut here")]).toEqual([null, true]);
});

test("a cut leaves no code open and halves no character", async () => {
  const fenced = longAnswerParts(
    await withinLimit(reply(`\`\`\`js\n${"let x;\n".repeat(1_000)}\`\`\``), options({ capabilities: null })),
  );
  expect(fenced.head.match(/```/g)).toHaveLength(2);
  const faces = longAnswerParts(
    await withinLimit(reply(`x${"😀".repeat(2_000)}`), options({ capabilities: null })),
  );
  expect(faces.head.isWellFormed()).toBe(true);
});

test("a page shows as much as is formatted at once", async () => {
  const page = { media: false, uploadBytes: 0, textChars: 1_000_000 };
  expect(await withinLimit(reply("x ".repeat(90_000)), options({ capabilities: page }))).toEqual(
    reply("x ".repeat(90_000)),
  );
  expect(
    longAnswerParts(await withinLimit(reply("x ".repeat(120_000)), options({ capabilities: page }))).head,
  ).toContain("cut here");
});

test("buttons stay below what is shown of it, and pictures behind the file; the log says why there is no file", async () => {
  const text = (markdown: string, more: object = {}) => ({ kind: "text", markdown, ...more });
  const picture = { kind: "media", media: "image", files: [{ path: "/p" }] };
  const buttons = (label: string) => ({ buttons: [[{ label, value: label }]] });
  const one = "1".repeat(1_500);
  const two = "2".repeat(600);
  const long = {
    kind: "reply",
    parts: [text(one, buttons("first")), picture, text(two, buttons("last"))],
    replyTo: "7",
  } as unknown as Outcome;
  const whole = `${one}\n\n${two}`;
  const path = expect.stringMatching(/^[0-9a-f]{64}\.md$/) as string;
  const file = { path, mediaType: "text/markdown", bytes: 2_102, name: "answer.md" };
  const size = "it has 2,102 characters, and messages take 2,000";
  expect(await withinLimit(long, options())).toEqual({
    kind: "reply",
    parts: [
      text(
        `${"1".repeat(1_000)} …\n\n📄 My answer is too long for messages: ${size}. The whole of it is in the file.`,
        buttons("last"),
      ),
      { kind: "media", media: "file", files: [file] },
      picture,
    ],
    replyTo: "7",
  });
  const lines: unknown[] = [];
  const fault = new Fault("unavailable", "the disk is full");
  const full = options({
    folder: { keep: () => Promise.reject(fault) },
    log: { ...silentLog, warn: (fields, words) => void lines.push([words, fields]) },
  });
  const cut = `${whole.slice(0, 1_500)}\n\n✂️ My answer was cut here: ${size}. The whole of it stands in the session: \`parley sessions show agent:main:main\`.`;
  expect([await withinLimit(long, full), lines]).toEqual([
    { kind: "reply", parts: [text(cut, buttons("last")), picture], replyTo: "7" },
    [["a long answer could not become a file", { error: fault }]],
  ]);
  const flaw = options({ folder: { keep: () => Promise.reject(new TypeError("flaw")) } });
  await expect(withinLimit(long, flaw)).rejects.toThrow("flaw");
  const fits = options({ capabilities: { media: true, uploadBytes: 2_102, textChars: 1_000 } });
  expect(longAnswerParts(await withinLimit(long, fits)).file?.bytes).toBe(2_102);
  const less = options({ capabilities: { media: true, uploadBytes: 2_101, textChars: 1_000 } });
  expect(longAnswerParts(await withinLimit(long, less)).file).toEqual({ path: "/p" });
  const silent: Outcome = { kind: "silent", reason: "asked" };
  expect(await withinLimit(silent, options())).toBe(silent);
});

test("a cut comes after the last paragraph, line or word in its second half, else where there is no more room", async () => {
  const head = async (text: string) => {
    const shown = await withinLimit(reply(text + "z".repeat(2_000)), options({ capabilities: null }));
    return longAnswerParts(shown).head.split("\n\n✂️")[0]?.length;
  };
  const at = (before: number, gap: string, more = "") =>
    `${"a".repeat(before)}${gap}${"b".repeat(300)}${more}`;
  expect([
    await head(at(1_200, "\n\n", " c\nd")),
    await head(at(1_200, "\n", " c")),
    await head(at(1_200, " ")),
    await head(at(1_001, "\n\n", " ")),
    await head(at(1_000, " ")),
    await head("a".repeat(500)),
  ]).toEqual([1_200, 1_200, 1_200, 1_001, 2_000, 2_000]);
});
