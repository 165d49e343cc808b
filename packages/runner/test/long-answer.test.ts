// An answer that is too long for messages: a file where the platform takes one, else a cut that says so.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog, type Outcome } from "@parley/protocol";
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
