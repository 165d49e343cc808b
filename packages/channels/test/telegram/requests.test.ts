// What Telegram's servers are sent, whole: for each kind of part and each action one that has everything and
// one that has nothing, and what is sent again after a refusal. A diff in test/tables/telegram-requests.txt
// is a diff in behaviour.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Action, type Address, Fault, type RenderedPart, silentLog } from "@parley/protocol";
import { oggOpusFile, seededIds, virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { telegram, type TelegramChannel } from "@parley/channels";
import { type AskedServer, askedServer } from "../asked-server.ts";

const topic: Address = { channel: "telegram", account: "tea", kind: "group", peer: "-100123", thread: "7" };
const dm: Address = { channel: "telegram", account: "tea", kind: "dm", peer: "42" };
const rich = { replyTo: "31", silent: true } as const;

let server: AskedServer;
let folder: string;
let channel: TelegramChannel;
let messages: number;

beforeEach(async () => {
  messages = 100;
  const message = (chat: number): object => ({
    message_id: (messages += 1),
    chat: { id: chat },
    poll: { id: `p${messages}` },
    message_thread_id: 55,
  });
  server = await askedServer((path) => {
    if (path.endsWith("/getFile"))
      return { ok: true, result: { file_path: "docs/a b/ü#1?.pdf", file_size: 4 } };
    if (path.startsWith("/root/file/")) return "data";
    return {
      ok: true,
      result: path.endsWith("Group") ? [message(-100_123), message(-100_123)] : message(-100_123),
    };
  });
  folder = await mkdtemp(join(tmpdir(), "parley-telegram-"));
  for (const name of ["a.png", "b.webp", "c.svg", "d.mp4", "e.mp3", "f.pdf", "g.wav"])
    await writeFile(join(folder, name), `<${name}>`);
  await writeFile(join(folder, "v.ogg"), oggOpusFile(Array.from({ length: 120 }, () => 3)));
  channel = await telegram({
    account: "tea",
    token: "7:secret",
    apiRoot: `${server.url}/root//`,
    mediaFolder: folder,
    clock: virtualClock(),
    ids: seededIds(1),
    log: silentLog,
  });
});
afterEach(async () => {
  await channel.stop();
  await server.close();
  await rm(folder, { recursive: true });
});

const how = () => ({ idempotencyKey: "k", signal: new AbortController().signal });
const file = (path: string, mediaType: string, name = `My ${path}`) => ({ path, mediaType, bytes: 7, name });
const png = file("a.png", "image/png");
const bold = { type: "bold", offset: 0, length: 3 };
const link = { type: "text_link", offset: 4, length: 3, url: "https://tea.test/" };
const said = { text: "Tea now", entities: [bold, link], plain: "Tea now (https://tea.test/)" };
const buttons = [
  [
    { label: "Yes", value: "y:1", style: "success" as const },
    { label: "Site", url: "https://tea.test/", style: "primary" as const },
    {
      label: "Which",
      choices: [
        { label: "Green", value: "g" },
        { label: "Black", value: "b" },
      ],
    },
  ],
  [{ label: "No" }],
];
const refused = (description: string, status = 400) => ({
  status,
  body: { ok: false, error_code: status, description },
});

async function told(
  title: string,
  work: (by: TelegramChannel) => Promise<unknown> | undefined,
  answers: readonly { readonly status: number; readonly body: unknown }[] = [],
): Promise<string> {
  server.asked.length = 0;
  server.next.splice(0, Infinity, ...answers);
  const outcome = await (work(channel) ?? Promise.resolve("nothing to call")).then(
    (value) => JSON.stringify(value) ?? "nothing",
    (error: unknown) => (error instanceof Fault ? `${error.code}: ${error.message}` : String(error)),
  );
  const asked = server.asked.map((request) =>
    request.replaceAll("/root/bot7:secret/", "").replaceAll(/OggS[^]*$/g, "OggS…"),
  );
  const names = new Map<string, string>();
  const plain = asked.join("\n").replaceAll(/attach:\/\/(\w+)/g, (_all, name: string) => {
    if (!names.has(name)) names.set(name, `attached-${names.size + 1}`);
    return `attach://${names.get(name)}`;
  });
  const shown = [...names].reduce((text, [name, short]) => text.replaceAll(`"${name}"`, `"${short}"`), plain);
  return `# ${title}\n${shown}\n= ${outcome}\n`;
}

const send =
  (part: object, to: Address = topic) =>
  (by: TelegramChannel) =>
    by.send(to, part as RenderedPart, how());
const act =
  (action: Action, to: Address = topic) =>
  (by: TelegramChannel) =>
    by.act?.(to, action, how());

test("each kind of part goes out like this", async () => {
  const media = (of: string, ...files: readonly object[]) => ({ kind: "media", media: of, files });
  const film = file("d.mp4", "video/mp4");
  const poll = { kind: "poll", question: "Tea?", options: ["yes", "no"] };
  const lines = [
    await told("a text with everything", send({ kind: "text", ...said, buttons, ...rich })),
    await told(
      "a text with nothing, to a person",
      send({ kind: "text", text: "hi", entities: [], plain: "hi" }, dm),
    ),
    await told(
      "a text to a forum's General, in reply to what is no message",
      send(
        { kind: "text", text: "hi", entities: [], plain: "hi", replyTo: "vote-3" },
        { ...topic, thread: "1" },
      ),
    ),
    await told("a picture with everything", send({ ...media("image", png), caption: said, ...rich })),
    await told("a drawing", send({ ...media("image", file("c.svg", "image/svg+xml")), caption: said })),
    await told("a film with everything", send({ ...media("video", film), caption: said, ...rich })),
    await told(
      "a song with everything",
      send({ ...media("audio", file("e.mp3", "audio/mpeg")), caption: said, ...rich }),
    ),
    await told("a file with nothing", send(media("file", file("f.pdf", "application/pdf")), dm)),
    await told(
      "an album with everything",
      send({ ...media("image", png, file("b.webp", "image/webp")), caption: said, ...rich }),
    ),
    await told("an album of films", send(media("video", film, film), dm)),
    await told(
      "a round film",
      send({ ...media("video", film), shape: "video_note", caption: said, ...rich }),
    ),
    await told("a sticker", send({ ...media("image", file("b.webp", "image/webp")), shape: "sticker" }, dm)),
    await told(
      "a sticker that is none to Telegram",
      send({ ...media("image", png), shape: "sticker", caption: said, ...rich }),
      [refused("Bad Request: wrong file type")],
    ),
    await told(
      "a sticker whose quote is refused",
      send({ ...media("image", png), shape: "sticker", caption: said, ...rich }),
      [refused("Bad Request: message to be replied not found")],
    ),
    await told(
      "a recording with everything",
      send({ kind: "voice", file: file("v.ogg", "audio/ogg"), ...rich }),
    ),
    await told("a recording that is a song", send({ kind: "voice", file: file("e.mp3", "audio/mpeg") }, dm)),
    await told(
      "a recording that is neither",
      send({ kind: "voice", file: file("g.wav", "audio/wav"), ...rich }),
    ),
    await told(
      "a poll with everything",
      send({ ...poll, multiple: true, anonymous: false, hours: 48, ...rich }),
    ),
    await told("a poll with nothing", send({ ...poll, multiple: false, anonymous: true }, dm)),
  ];
  await expect(lines.join("\n")).toMatchFileSnapshot("../tables/telegram-requests.txt");
});

test("what is refused goes out again like this", async () => {
  const entities = refused("Bad Request: can't parse entities: x");
  const picture = { kind: "media", media: "image", files: [png], caption: said, ...rich };
  const text = { kind: "text", ...said, buttons, ...rich };
  const lines = [
    await told("a text whose entities are refused", send(text), [entities]),
    await told("a text whose quote is refused", send(text), [
      refused("Bad Request: message to be replied not found"),
    ]),
    await told("a text whose quote is refused for good", send(text), [
      refused("Bad Request: QUOTE_TEXT_INVALID"),
      refused("Bad Request: QUOTE_TEXT_INVALID"),
    ]),
    await told("a text whose quote is refused, and its entities", send(text), [
      refused("Bad Request: message to be replied not found"),
      entities,
    ]),
    await told("a text without a quote whose quote is refused", send({ kind: "text", ...said }), [
      refused("Bad Request: message to be replied not found"),
    ]),
    await told("a text that Telegram counts longer", send({ kind: "text", ...said, buttons, ...rich }), [
      refused("Bad Request: message is too long"),
    ]),
    await told("a caption whose entities are refused", send(picture), [entities]),
    await told("a caption that Telegram counts longer", send(picture), [
      refused("Bad Request: caption is too long"),
    ]),
    await told("an album's caption that Telegram counts longer", send({ ...picture, files: [png, png] }), [
      refused("Bad Request: caption is too long"),
    ]),
    await told(
      "a picture without words that is refused as too long",
      send({ ...picture, caption: undefined }),
      [refused("Bad Request: caption is too long")],
    ),
  ];
  await expect(lines.join("\n")).toMatchFileSnapshot("../tables/telegram-second-tries.txt");
});

test("each action goes out like this", async () => {
  const edit = { kind: "edit", messageId: "31", text: said } as const;
  const noText = refused("Bad Request: there is no text in the message to edit");
  const same = refused("Bad Request: message is not modified");
  const lines = [
    await told("an edit with everything", act({ ...edit, buttons })),
    await told("an edit that takes the buttons away", act({ ...edit, buttons: [] }, dm)),
    await told(
      "an edit with nothing",
      act({ ...edit, messageId: "32", text: { text: "x", entities: [], plain: "x" } }, dm),
    ),
    await told("an edit of a picture's words", act({ ...edit, messageId: "33", buttons }), [noText]),
    await told("the same, unchanged", act({ ...edit, messageId: "34" }), [noText, same]),
    await told("the same, whose entities are refused", act({ ...edit, messageId: "35", buttons }), [
      noText,
      refused("Bad Request: can't parse entities: x"),
    ]),
    await told("an edit that changes nothing", act({ ...edit, messageId: "36" }), [same]),
    await told("an edit that is refused", act({ ...edit, messageId: "37" }), [refused("Forbidden: no", 403)]),
    await told("a removal", act({ kind: "remove", messageId: "31" })),
    await told("a removal of what is gone", act({ kind: "remove", messageId: "31" }), [
      refused("Bad Request: message to delete not found"),
    ]),
    await told("a reaction", act({ kind: "react", messageId: "31", emoji: "👍" })),
    await told("a reaction taken back", act({ kind: "react", messageId: "31", emoji: null })),
    await told("a pin", act({ kind: "pin", messageId: "31", pinned: true })),
    await told("a pin taken back", act({ kind: "pin", messageId: "31", pinned: false })),
    await told("a pin of what is gone", act({ kind: "pin", messageId: "31", pinned: true }), [
      refused("Bad Request: message to pin not found"),
    ]),
    await told("a topic", act({ kind: "createThread", title: "Kettles", messageId: "31", tags: ["tea"] })),
    await told("an answer to a press", act({ kind: "answerCallback", callbackId: "q1", text: "Done." })),
    await told("an answer without words", act({ kind: "answerCallback", callbackId: "q1" })),
    await told(
      "the menu",
      act({
        kind: "setCommands",
        commands: [
          { name: "status", description: "How I am", suggests: true },
          { name: "new", description: "Begin anew" },
        ],
      }),
    ),
    await told("typing in a topic", (by) => by.typing?.(topic)),
    await told("typing to a person", (by) => by.typing?.(dm)),
    await told("a file", async (by) => {
      const { bytes, name } = (await by.download?.("ref-1", 4, how().signal)) ?? { bytes: Buffer.from("") };
      return [Buffer.from(bytes).toString(), name];
    }),
    await told("a file of which Telegram says only where", (by) => by.download?.("ref-2", 3, how().signal)),
  ];
  await expect(lines.join("\n")).toMatchFileSnapshot("../tables/telegram-actions.txt");
});
