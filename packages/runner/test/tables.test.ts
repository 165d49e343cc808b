// Whole tables of what is read from words and told in words: places, what a surface makes of a message, the
// parts of what a tool sends, notes beside an answer. After a wanted change:
// `vitest run --project @parley/runner tables -u`.
import type { MessageRequest } from "@parley/tools";
import { answerTable, laterAnswerTable } from "@parley/testkit";
import { formatContent, type Part } from "@parley/protocol";
import { expect, test } from "vitest";
import { fileType } from "../src/messages/file-type.ts";
import { editOf, partsOf } from "../src/messages/parts.ts";
import { checkAction, degradations, withPollOf, type SurfaceFacts } from "../src/messages/surface.ts";
import { addressIn } from "../src/schedules/address-in.ts";
import { buriedNotice, troubleNotes } from "../src/turn-notes.ts";

const here = { channel: "web", account: "default", kind: "dm", peer: "p1" } as const;

test("places as people and models write them", async () => {
  const places: readonly unknown[] = [
    "here",
    " Current ",
    "telegram:123",
    "telegram:-100123",
    "TELEGRAM:-5:topic:7",
    "telegram:5:topic:7",
    "telegram:5:topic:",
    "telegram:+5",
    "discord:user:7",
    "discord:channel:8",
    "discord:thread:9",
    "discord:9",
    "telegram:default:dm:123",
    "telegram:work:group:-5",
    "discord:default:channel:5",
    "nonsense",
    "",
    7,
    null,
    undefined,
    { channel: "telegram", to: "123" },
    { channel: "telegram", peer: "-123" },
    { channel: "telegram", to: "telegram:123" },
    { channel: "discord", to: "user:7" },
    { channel: "discord", to: "7" },
    { channel: "telegram", account: "work", kind: "dm", peer: "7" },
    { channel: "telegram", kind: "group", to: "-7", peer: "-8", thread: "9" },
    { channel: "telegram", kind: "channel", peer: "7", thread: 9 },
    { channel: "telegram", kind: "other", peer: "7" },
    { channel: "telegram", account: "work", to: "7", thread: "9" },
    { channel: "telegram", account: "work", to: "telegram:other:dm:7" },
    { channel: "telegram", account: 5, peer: "7" },
    { channel: 5, peer: "7" },
    { channel: "telegram", peer: 7 },
    { peer: "7" },
  ];
  const table = [
    answerTable(places, (to) => addressIn(to, { conversation: here })),
    answerTable(["here", "current"], (to) => addressIn(to, { conversation: null })),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("tables/places.txt");
});

const can = {
  inlineButtons: true,
  menus: true,
  forms: true,
  polls: true,
  pollLimits: { fewestOptions: 2, mostOptions: 4, mostHours: 24, anonymous: false },
  media: true,
  voice: true,
  uploadBytes: 10,
};
const surface = (more: object = {}, capabilities: object = {}): SurfaceFacts =>
  ({
    name: "Chat",
    actions: ["edit", "remove", "react", "pin", "createThread"],
    buttons: "on",
    reactions: "minimal",
    ...more,
    capabilities: { ...can, ...capabilities },
  }) as unknown as SurfaceFacts;

const actions = ["send", "reply", "poll", "edit", "delete", "react", "pin", "unpin", "thread"] as const;

test("what a surface can do, and what it shows in another form", async () => {
  const lists = [["edit"], ["remove"], ["react"], ["pin"], ["createThread"], []];
  const able = answerTable(lists, (list) =>
    answerTable(actions, (action) => checkAction({ action }, surface({ actions: list }))),
  );
  const muted = answerTable(actions, (action) => checkAction({ action }, surface({ reactions: "off" })));
  const unknown = answerTable(actions, (action) => checkAction({ action }, null));
  const polls = [
    undefined,
    { anonymous: true },
    { anonymous: false, hours: 24 },
    { hours: 25 },
    { hours: 1 },
    {},
  ] as const;
  const asked = [surface(), surface({}, { pollLimits: undefined }), null].map((each) =>
    answerTable(polls, (poll) => withPollOf({ action: "poll", poll } as unknown as MessageRequest, each)),
  );
  const button = { label: "a" };
  const text = (...buttons: readonly object[]): object => ({
    kind: "text",
    markdown: "x",
    buttons: [buttons],
  });
  const file = (bytes: number): object => ({ name: `f${bytes}`, bytes });
  const parts: readonly (readonly object[])[] = [
    [],
    [{ kind: "text", markdown: "x" }],
    [text(button)],
    [text(button), text({ ...button, choices: [] })],
    [text({ ...button, form: [] })],
    [{ kind: "poll", options: ["a"] }],
    [{ kind: "poll", options: ["a", "b"], hours: 1 }],
    [{ kind: "poll", options: ["a", "b", "c", "d"] }],
    [{ kind: "poll", options: ["a", "b", "c", "d", "e"], hours: 1 }],
    [{ kind: "media", files: [file(10), file(11), file(0)] }],
    [{ kind: "voice", file: file(10) }],
    [{ kind: "voice", file: file(11) }],
    [
      { kind: "media", files: [file(12)] },
      { kind: "media", files: [file(13)] },
    ],
  ];
  const surfaces: readonly SurfaceFacts[] = [
    surface(),
    surface({}, { inlineButtons: false, menus: false, forms: false }),
    surface({}, { menus: false, forms: false }),
    surface({ buttons: { enableWith: "set inlineButtons" } }),
    surface({}, { polls: false, media: false, voice: false }),
    surface({}, { voice: false, uploadBytesAtMost: 11, pollLimits: { ...can.pollLimits, anonymous: true } }),
    surface({}, { pollLimits: undefined }),
    null,
  ];
  const shown = surfaces.map((each) =>
    answerTable(parts, (these) => degradations(these as readonly Part[], each)),
  );
  await expect([able, muted, unknown, ...asked, ...shown].join("\n")).toMatchFileSnapshot(
    "tables/surfaces.txt",
  );
});

test("the parts of what a tool sends", async () => {
  const redaction = { secrets: ["hunter2-secret"], stateDirs: [], workspaces: [] } as unknown as Parameters<
    typeof partsOf
  >[1];
  const of = (more: object): MessageRequest =>
    ({ action: "send", files: [], voice: false, ...more }) as unknown as MessageRequest;
  const file = (mediaType: string, name = "f"): object => ({ name, mediaType, bytes: 1, path: "/p" });
  const poll = { question: "q?", options: ["a", "b"], multiple: false };
  const requests = [
    {},
    { text: "  hello  " },
    { text: "the key is hunter2-secret" },
    { files: [file("image/png")] },
    {
      text: "t",
      files: [file("image/png", "a"), file("image/jpeg", "b"), file("video/mp4"), file("image/gif")],
    },
    { text: "t", files: [file("audio/ogg"), file("application/pdf"), file("text/plain")] },
    { files: [file("image/png", " "), file("image/png", "hunter2-secret.png")] },
    { text: "t", voice: true, files: [file("audio/ogg")] },
    { voice: true, files: [file("image/png")] },
    { voice: true, files: [] },
    { text: "t", as: "file", files: [file("image/png"), file("video/mp4")] },
    { text: "t", as: "file", files: [] },
    { text: "t", as: "sticker", files: [file("image/webp", "hunter2-secret.webp")] },
    { as: "sticker", files: [file("video/webm")] },
    { as: "sticker", files: [file("audio/ogg")] },
    { as: "sticker", files: [] },
    { as: "video_note", files: [file("video/mp4")] },
    { as: "video_note", files: [file("image/png")] },
    { as: "video_note", files: [file("video/mp4"), file("video/mp4")] },
    { voice: true, files: [file("audio/ogg"), file("audio/ogg")] },
    { poll },
    { text: "t", poll: { ...poll, anonymous: false, hours: 3, multiple: true } },
    { poll: { ...poll, options: ["a", " a"] } },
    { poll: { ...poll, options: ["a", " "] } },
    { buttons: [[{ label: "yes" }]] },
    { text: "t", buttons: [] },
    { text: "t", buttons: [[{ label: "yes", value: "y" }], [{ label: " ", value: " " }]] },
    { text: "t", files: [file("image/png")], buttons: [[{ label: "yes" }]] },
    { text: "t", buttons: [[{ label: "a" }, { label: "b", value: "a" }]] },
    {
      text: "t",
      buttons: [
        [
          { label: "a", url: "https://x" },
          { label: "b", url: "https://x" },
        ],
      ],
    },
    { text: "t", buttons: [[{ label: "a", url: "https://x/hunter2-secret" }]] },
    { text: "t", buttons: [[{ label: "a", choices: [{ label: " l ", value: " v " }] }]] },
    { text: "t", buttons: [[{ label: "a", form: [{ label: " l ", name: "n" }] }]] },
  ];
  const table = [
    answerTable(requests, (more) => partsOf(of(more), redaction)),
    answerTable(requests, (more) => editOf(of(more), redaction)),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("tables/parts.txt");
});

test("what the agent is told of answers that did not arrive, and a person of a message that failed", async () => {
  const text = formatContent({ v: 1, kind: "reply", parts: [{ kind: "text", markdown: "x" }] });
  const act = (kind: string): string =>
    formatContent({ v: 1, kind: "act", action: { kind } } as unknown as Parameters<typeof formatContent>[0]);
  const part = (state: string, reason: string | null, content = text): object => ({ state, reason, content });
  const delivery = (createdAtMs: number, ...parts: readonly object[]): object => ({ createdAtMs, parts });
  const founds: readonly (readonly object[])[] = [
    [],
    [delivery(5, part("failed", "gone"))],
    [delivery(6, part("failed", "gone"))],
    [delivery(9, part("sent", "late"), part("failed", null), part("failed", "second"))],
    [delivery(9, part("ambiguous", "torn"))],
    [delivery(9, part("failed", null))],
    [delivery(8, part("failed", "newest")), delivery(7, part("failed", "oldest"))],
    ...["edit", "remove", "react", "pin", "createThread", "other"].map((kind) => [
      delivery(9, part("failed", "no right", act(kind))),
    ]),
    [delivery(9, part("ambiguous", "torn", act("edit")))],
    [delivery(9, part("sent", null, act("edit")), part("failed", "no", act("edit")))],
  ];
  const asked: unknown[] = [];
  const table = await laterAnswerTable(founds, async (found) => {
    const outbox = { find: async (filter: unknown) => (asked.push(filter), found) };
    return troubleNotes(
      { outbox } as unknown as Parameters<typeof troubleNotes>[0],
      {
        session: { fields: { troubleToldAtMs: 5 } },
        turn: { conversation: "web:default:dm:p1" },
      } as unknown as Parameters<typeof troubleNotes>[1],
    );
  });
  const turn = (rows: readonly object[], log: readonly object[] = []): Parameters<typeof buriedNotice>[0] =>
    ({ id: "t#1", conversation: "telegram:default:dm:7", rows, log }) as unknown as Parameters<
      typeof buriedNotice
    >[0];
  const row = { id: "telegram:default:9", payload: "{", channelMessageId: "9" };
  const buried = answerTable([[], [row], [row, row]], (rows) => buriedNotice(turn(rows)));
  await expect([table, JSON.stringify(asked[0]), buried].join("\n")).toMatchFileSnapshot("tables/notes.txt");
});

test("the type of a file is a picture's by its bytes, whatever it is called, and else by its name", () => {
  const [png, words] = [Buffer.from("89504e470d0a1a0a0000", "hex"), Buffer.from("words")];
  const types = (bytes: Uint8Array, ...names: readonly string[]): string[] =>
    names.map((name) => {
      const { mediaType, extension } = fileType(bytes, name);
      return `${mediaType} ${extension}`;
    });
  expect(types(png, "a.pdf", "a.jpg", "a")).toEqual(["image/png png", "image/png png", "image/png png"]);
  expect(
    types(words, "a.pdf", "A.HTML", "b.oga", "b.opus", "c.md", "d.tar.mp4", "e.png", "f.exe", "g"),
  ).toEqual([
    "application/pdf pdf",
    "text/html html",
    "audio/ogg oga",
    "audio/ogg opus",
    "text/markdown md",
    "video/mp4 mp4",
    "application/octet-stream png",
    "application/octet-stream exe",
    "application/octet-stream bin",
  ]);
});

test("a reaction or a message that the surface cannot have is refused at once; what may be there is not", () => {
  const able = surface({}, { reactionEmoji: ["👍", "❤"], numberedMessages: true });
  const said = (request: Parameters<typeof checkAction>[0], on = able): string => {
    try {
      checkAction(request, on);
      return "ok";
    } catch (error) {
      const { code, message } = error as Error & { readonly code: string };
      return `${code}: ${message}`;
    }
  };
  const noEmoji = "unsupported: Chat does not take 🦊 as a reaction: use one of 👍 ❤ ...";
  expect(
    ["🦊", "❤\uFE0F", "👍", ""].map((emoji) => said({ action: "react", emoji, messageId: "7" })),
  ).toEqual([noEmoji, "ok", "ok", "ok"]);
  expect(said({ action: "react", emoji: "🦊" }, surface())).toBe("ok");
  expect(said({ action: "react", emoji: "🦊" }, null)).toBe("ok");
  const noId = (id: string): string =>
    `invalid: ${JSON.stringify(id)} is no message of Chat: its ids are numbers; take one that you were shown, or a handle`;
  for (const id of ["last", "0", "-5", "1.5", " 7", ""])
    for (const action of ["edit", "delete", "pin", "unpin", "react"] as const)
      expect(said({ action, messageId: id })).toBe(noId(id));
  expect(said({ action: "delete", messageId: "1300000000000000123" })).toBe("ok");
  expect([said({ action: "delete" }), said({ action: "delete", messageId: "last" }, surface())]).toEqual([
    "ok",
    "ok",
  ]);
});
