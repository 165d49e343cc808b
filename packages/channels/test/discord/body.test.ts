// Both sides of each limit on what a message of Discord's holds, and the words with which more is refused.
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Button, Fault, type RenderedPart } from "@parley/protocol";
import { fileIsTooLarge } from "@parley/channels";
import { expect, onTestFinished, test } from "vitest";
import { actionRows, content, payloadOf, reference, said } from "../../src/discord/body.ts";

const tried = (work: () => unknown): string => {
  try {
    work();
    return "taken";
  } catch (error) {
    return error instanceof Fault ? `${error.code}: ${error.message}` : String(error);
  }
};
const options = { mediaFolder: "", suppressEmbeds: false };
const part = (fields: object): string => tried(() => said(fields as RenderedPart, options));

test("texts, albums and polls", () => {
  const file = { path: "a", mediaType: "image/png", bytes: 1, name: "a" };
  const media = (count: number): object => ({
    kind: "media",
    media: "file",
    files: Array.from({ length: count }, () => file),
  });
  const poll = (more: object): object => ({
    kind: "poll",
    question: "?",
    options: ["a"],
    multiple: false,
    anonymous: false,
    ...more,
  });
  const answers = (count: number, chars = 1): readonly string[] =>
    Array.from({ length: count }, () => "x".repeat(chars));
  const limits =
    "invalid: a poll on Discord has at most 300 characters of question and 1 to 10 options of 55";
  const hours = (count: number): string =>
    `invalid: a poll on Discord is open for 1 to 768 hours, not ${count}`;
  expect([
    tried(() => content({ text: "x".repeat(2_000), entities: [], plain: "" })),
    tried(() => content({ text: "x".repeat(2_001), entities: [], plain: "" })),
    part({ ...media(1), caption: { text: "x".repeat(2_001), entities: [], plain: "" } }),
    part(media(10)),
    part(media(11)),
    part(media(0)),
    part(poll({ question: "x".repeat(300), options: answers(10, 55), hours: 768 })),
    part(poll({ question: "x".repeat(301) })),
    part(poll({ options: answers(11) })),
    part(poll({ options: [] })),
    part(poll({ options: answers(1, 56) })),
    part(poll({ options: ["a", ""] })),
    part(poll({ hours: 1 })),
    part(poll({ hours: 0 })),
    part(poll({ hours: 769 })),
    part(poll({ anonymous: true })),
  ]).toEqual([
    "taken",
    "invalid: 2001 UTF-16 units of text are over Discord's 2000",
    "invalid: 2001 UTF-16 units of text are over Discord's 2000",
    "taken",
    "invalid: a message on Discord has 1 to 10 files, not 11",
    "invalid: a message on Discord has 1 to 10 files, not 0",
    "taken",
    limits,
    limits,
    limits,
    limits,
    limits,
    "taken",
    hours(0),
    hours(769),
    "unsupported: polls on Discord show who voted: set anonymous to false",
  ]);
});

test("buttons and menus", () => {
  const rows = (...given: readonly (readonly Button[])[]): string => tried(() => actionRows(given));
  const buttons = (count: number): readonly Button[] =>
    Array.from({ length: count }, (_, n) => ({ label: `b${n}` }));
  const menu = (count: number, more: object = {}): Button => ({
    label: "Tea",
    choices: Array.from({ length: count }, (_, n) => ({ label: `c${n}`, value: `${n}`, ...more })),
  });
  const value = (chars: number): Button => ({ label: "Yes", value: "v".repeat(chars) });
  const tooMany = "invalid: Discord shows at most 5 rows of 5 buttons, or of one menu";
  const chars = (label: string, count: number): string =>
    `invalid: the value of button "${label}" has ${count} characters; Discord takes 1 to 100`;
  expect([
    rows(buttons(25)),
    rows(buttons(26)),
    rows(buttons(20), [menu(1)]),
    rows(buttons(21), [menu(1)]),
    rows([]),
    rows([menu(25)]),
    rows([menu(26)]),
    rows([menu(0)]),
    rows([value(100)]),
    rows([value(101)]),
    rows([value(0)]),
    rows([menu(1, { value: "v".repeat(101) })]),
    rows([{ label: "a" }, { label: "b", value: "a" }]),
    rows([{ label: "a" }], [{ ...menu(1), value: "a" }]),
    // A link has no value, so it may be named like another.
    rows([{ label: "a" }, { label: "a", url: "https://tea.test/" }]),
  ]).toEqual([
    "taken",
    tooMany,
    "taken",
    tooMany,
    "taken",
    "taken",
    'invalid: menu "Tea" has 26 choices; Discord takes 1 to 25',
    'invalid: menu "Tea" has 0 choices; Discord takes 1 to 25',
    "taken",
    chars("Yes", 101),
    chars("Yes", 0),
    chars("c0", 101),
    'invalid: two buttons have the value "a": give each its own',
    'invalid: two buttons have the value "a": give each its own',
    "taken",
  ]);
  const labels = (chars_: number): unknown =>
    actionRows([
      [
        { label: "l".repeat(chars_), value: "1" },
        { label: "l".repeat(chars_), url: "u" },
        { label: "l".repeat(chars_), value: "2", choices: [{ label: "c".repeat(chars_), value: "3" }] },
      ],
    ]).flatMap(({ components }) =>
      components.flatMap((each) => [
        "label" in each ? each.label?.length : "",
        "placeholder" in each ? each.placeholder?.length : "",
        "options" in each ? each.options[0]?.label.length : "",
      ]),
    );
  expect([labels(80), labels(81), labels(101)]).toEqual([
    [80, "", "", 80, "", "", "", 80, 80],
    [80, "", "", 80, "", "", "", 81, 81],
    [80, "", "", 80, "", "", "", 100, 100],
  ]);
  expect(JSON.stringify(actionRows([[{ label: "l".repeat(81) }]]))).toContain(`"${"l".repeat(79)}…"`);
});

test("files are as large as they are on the disk, all of them together", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parley-discord-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, bytes] of [
    ["a", 60],
    ["b", 40],
  ] as const) {
    await writeFile(join(folder, name), "");
    await truncate(join(folder, name), bytes);
  }
  const files = ["a", "b"].map((path) => ({ path, mediaType: "text/plain", bytes: 1, name: `My ${path}` }));
  const asked = (limit: number, json: object = { content: "hi" }) =>
    payloadOf(json as never, files, folder, limit);
  expect(await asked(100)).toHaveProperty("form");
  const refused = await asked(99).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: "invalid",
    message: "My a, My b: 100 bytes; Discord takes at most 99 here",
  });
  expect(fileIsTooLarge(refused)).toBe(true);
  expect(await payloadOf({ content: "hi" }, [], folder, 0)).toEqual({ body: { content: "hi" } });
  const own = await asked(100, { attachments: [{ id: 0, filename: "own" }] });
  expect(JSON.parse(("form" in own ? own.form.get("payload_json") : "null") as string)).toEqual({
    attachments: [{ id: 0, filename: "own" }],
  });
  expect([
    reference("12"),
    reference("12345678901234567890"),
    reference("callback-1"),
    reference(undefined),
  ]).toEqual([
    { message_reference: { message_id: "12", fail_if_not_exists: false } },
    { message_reference: { message_id: "12345678901234567890", fail_if_not_exists: false } },
    {},
    {},
  ]);
});
