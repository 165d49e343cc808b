// What Discord's servers are sent, whole: for each kind of part and each action one that has everything and
// one that has nothing, where an answer goes instead, and what is sent again after a refusal. A diff in
// test/tables/discord-requests.txt is a diff in behaviour.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Action, type Address, Fault, type RenderedPart, silentLog } from "@parley/protocol";
import { oggOpusFile, virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SendOptions } from "@parley/channels";
import { performAction } from "../../src/discord/act.ts";
import { forms } from "../../src/discord/interactions/forms.ts";
import { interactions } from "../../src/discord/interactions/interactions.ts";
import { places } from "../../src/discord/places.ts";
import { discordRest } from "../../src/discord/rest.ts";
import { sendPart, type SendContext } from "../../src/discord/send.ts";
import { showsNothing } from "../../src/shows-nothing.ts";
import { type AskedServer, askedServer } from "../asked-server.ts";

const room: Address = { channel: "discord", account: "tea", kind: "channel", peer: "100" };
const thread: Address = { ...room, thread: "300" };
const forum: Address = { ...room, peer: "200" };
const dm: Address = { channel: "discord", account: "tea", kind: "dm", peer: "42" };
const rich = { replyTo: "31", silent: true } as const;

let server: AskedServer;
let folder: string;
let context: SendContext;
let stop: () => void;
let kept: Map<string, string>;

beforeEach(async () => {
  let made = 900;
  server = await askedServer((path) => {
    if (path.endsWith("/users/@me/channels")) return { id: "555" };
    if (path.endsWith("/emojis")) return [{ id: "8", name: "Tea_Cup" }];
    if (path.endsWith("/applications/@me")) return { id: "79" };
    if (path.endsWith("/guilds/7")) return { premium_tier: 2 };
    if (path.endsWith("/channels/200"))
      return { id: "200", type: 15, available_tags: [{ id: "5", name: "Green" }] };
    if (path.endsWith("/threads")) return { id: "400", type: 11, parent_id: "200", message: { id: "401" } };
    if (path.endsWith("/messages/32"))
      return {
        id: "32",
        reactions: [
          { me: true, emoji: { id: null, name: "👍" } },
          { me: false, emoji: { id: null, name: "👎" } },
          { me: true, emoji: { id: "8", name: "Tea_Cup" } },
          { me: true, emoji: { id: "9", name: null } },
          { emoji: { id: null, name: "🔥" } },
        ],
      };
    return { id: String((made += 1)) };
  });
  folder = await mkdtemp(join(tmpdir(), "parley-discord-"));
  for (const name of ["a.png", "b.txt"]) await writeFile(join(folder, name), `<${name}>`);
  await writeFile(join(folder, "v.ogg"), oggOpusFile(Array.from({ length: 20 }, (_, n) => n * 10)));
  const clock = virtualClock({ startMs: 1_000_000 });
  const rest = await discordRest({
    token: "T",
    apiRoot: `${server.url}/api`,
    onToken: { accepted: () => {}, refused: () => {} },
    clock,
  });
  const open = (event: string, more: object = {}): object => ({
    event,
    application: "78",
    token: `token-${event}`,
    atMs: 1_000_000,
    ...more,
  });
  kept = new Map([["interactions", JSON.stringify([open("i1"), open("i2", { quiet: true }), open("i3")])]]);
  const memory = {
    load: async (name: string) => kept.get(name) ?? null,
    save: async (name: string, text: string) => void kept.set(name, text),
  };
  const all = places(rest, () => clock.mono());
  all.learn([
    { id: "100", type: 0, guild_id: "7" },
    { id: "200", type: 15, guild_id: "7" },
    { id: "300", type: 11, parent_id: "100", guild_id: "7" },
  ]);
  const own = forms(memory, silentLog);
  const pending = interactions({
    rest,
    memory,
    forms: own,
    quietCommands: [],
    suggestions: async () => [],
    clock,
    log: silentLog,
  });
  await pending.load();
  context = {
    rest,
    places: all,
    interactions: pending,
    forms: own,
    mediaFolder: folder,
    suppressEmbeds: true,
    self: () => ({ user: "77", application: "78" }),
  };
  stop = () => {
    pending.stop();
    rest.close();
  };
});
afterEach(async () => {
  stop();
  await server.close();
  await rm(folder, { recursive: true });
});

const file = (path: string, mediaType: string, bytes = 7) => ({ path, mediaType, bytes, name: `My ${path}` });
const png = file("a.png", "image/png");
const said = { text: "**Tea** now", entities: [], plain: "Tea now" };
const bare = { kind: "text", text: "hi", entities: [], plain: "hi" };
const buttons = [
  [
    { label: "Yes", value: "y:1", style: "success" },
    { label: "No", value: "n:1", style: "danger" },
    { label: "Go", value: "g:1", style: "primary" },
    { label: "Later" },
    { label: "Site", url: "https://tea.test/", style: "primary" },
    { label: "Sixth", value: "s" },
    {
      label: "Which",
      value: "which",
      choices: [
        { label: "Green", value: "g" },
        { label: "Black", value: "b" },
      ],
    },
  ],
  [{ label: "Order", value: "order", form: [{ name: "tea", label: "Which tea?", long: true }] }],
];
const refused = (status: number, code: number, message = "no") => ({ status, body: { code, message } });

async function told(
  title: string,
  work: () => Promise<unknown>,
  answers: readonly { readonly status: number; readonly body: unknown }[] = [],
): Promise<string> {
  server.asked.length = 0;
  server.next.splice(0, Infinity, ...answers);
  const outcome = await work().then(
    (value) => JSON.stringify(value) ?? "nothing",
    (error: unknown) => (error instanceof Fault ? `${error.code}: ${error.message}` : String(error)),
  );
  const asked = server.asked.map((request) =>
    request
      .replaceAll("/api/v10", "")
      .replaceAll(" Bot T", "")
      .replaceAll(/OggS[^]*$/g, "OggS…"),
  );
  return `# ${title}\n${asked.map((line) => `${line}\n`).join("")}= ${outcome}\n`;
}
const send =
  (part: object, to: Address = room, more: Partial<SendOptions> = {}) =>
  (): Promise<unknown> =>
    sendPart(context, to, part as RenderedPart, {
      idempotencyKey: "turn-1/1",
      signal: new AbortController().signal,
      ...more,
    });
const act =
  (action: object, to: Address = room) =>
  (): Promise<unknown> =>
    performAction(context, to, action as Action, new AbortController().signal);

test("each kind of part goes out like this", async () => {
  const media = (...files: readonly object[]) => ({ kind: "media", media: "file", files });
  const poll = { kind: "poll", question: "Tea?", options: ["yes", "no"], anonymous: false };
  const lines = [
    await told("a text with everything", send({ ...said, kind: "text", buttons, ...rich }, thread)),
    await told("a text with nothing, to a person", send(bare, dm)),
    await told(
      "another to the same person, in reply to what is no message",
      send({ ...bare, replyTo: "poll-3" }, dm),
    ),
    await told(
      "files with everything",
      send({ ...media(png, file("b.txt", "text/plain")), caption: said, ...rich }),
    ),
    await told("a file with nothing, to a person", send(media(png), dm)),
    await told("a file said to be large", send(media({ ...png, bytes: 26 * 1_048_576 }))),
    await told(
      "a recording with everything",
      send({ kind: "voice", file: file("v.ogg", "audio/ogg"), ...rich }),
    ),
    await told("a recording of another kind", send({ kind: "voice", file: png })),
    await told("a recording that is gone", send({ kind: "voice", file: file("gone.ogg", "audio/ogg") })),
    await told("a poll with everything", send({ ...poll, multiple: true, hours: 48, ...rich }, thread)),
    await told("a poll with nothing", send({ ...poll, multiple: false }, dm)),
    await told(
      "a text to a forum",
      send({ ...said, kind: "text", buttons: [[{ label: "Yes" }]], ...rich }, forum),
    ),
    await told("a file to a forum", send({ ...media(png), caption: said }, forum)),
    await told("a file without words to a forum", send(media(png, file("b.txt", "text/plain")), forum)),
    await told("a recording to a forum", send({ kind: "voice", file: file("v.ogg", "audio/ogg") }, forum)),
    await told("a poll to a forum", send({ ...poll, multiple: false }, forum)),
    await told("a blank text to a forum", send({ ...bare, plain: " \n" }, forum)),
    await told(
      "the rest of a post",
      send(bare, forum, { follows: { messageId: "401", extra: { thread: "400" } } }),
    ),
    await told(
      "a text of a thread that follows one elsewhere",
      send(bare, thread, { follows: { messageId: "401", extra: { thread: "400" } } }),
    ),
    await told("an address that is none", send(bare, { ...room, peer: "general" })),
    await told("a call that was given up before", send(bare, room, { signal: AbortSignal.abort() })),
  ];
  context = { ...context, suppressEmbeds: false };
  lines.push(
    await told("a text whose links may be shown", send(bare)),
    await told("the same, silent", send({ ...bare, silent: true })),
  );
  await expect(lines.join("\n")).toMatchFileSnapshot("../tables/discord-requests.txt");
});

test("an answer stands in its command's place, and what is refused goes out again", async () => {
  const text = { ...said, kind: "text", ...rich };
  const voice = { kind: "voice", file: file("v.ogg", "audio/ogg"), ...rich };
  const quoted = refused(400, 50035, "message_reference: Unknown");
  const lines = [
    await told("an answer to a command", send(text, room, { answers: ["i1"] })),
    await told("the same send again", send(text, room, { answers: ["i1"] })),
    await told("another answer to it", send(text, room, { answers: ["i1"], idempotencyKey: "turn-1/2" })),
    await told("an answer to a quiet command", send(bare, room, { answers: ["i2/text"] })),
    await told(
      "the rest of it",
      send(bare, room, { idempotencyKey: "turn-1/3", follows: { messageId: "9", extra: { quiet: "i2" } } }),
    ),
    await told(
      "the rest of it with a file, silent",
      send({ kind: "media", media: "image", files: [png], silent: true }, room, {
        follows: { messageId: "9", extra: { quiet: "i2" } },
      }),
    ),
    await told(
      "the rest of one whose time is over",
      send(bare, room, { follows: { messageId: "9", extra: { quiet: "i9" } } }),
    ),
    await told(
      "the rest of one that Discord has forgotten",
      send(bare, room, { follows: { messageId: "9", extra: { quiet: "i2" } } }),
      [refused(401, 50027)],
    ),
    await told("an answer to a command that Discord has forgotten", send(bare, room, { answers: ["i3"] }), [
      refused(404, 10015),
    ]),
    await told("a text whose quote is refused", send(text), [refused(403, 160002)]),
    await told("a text whose quoted message is gone", send(text), [refused(404, 10008)]),
    await told("a text whose quote is refused for good", send(text), [quoted, refused(403, 50013)]),
    await told("a text that is refused for something else", send(text), [
      refused(400, 50035, "content: too long"),
    ]),
    await told("a recording that is refused as a voice message", send(voice), [refused(403, 50173)]),
    await told("one whose quote is refused first", send(voice), [refused(403, 160002), refused(400, 50161)]),
    await told("one that is refused for something else", send(voice), [refused(403, 50013)]),
    await told("a text that is taken without being named", send(bare), [{ status: 200, body: { id: 9 } }]),
  ];
  await expect(lines.join("\n")).toMatchFileSnapshot("../tables/discord-second-tries.txt");
});

test("each action goes out like this", async () => {
  const edit = { kind: "edit", messageId: "31", text: said };
  const commands = [
    { name: "Status", description: "", suggests: true },
    { name: "new", description: "Begin anew" },
  ];
  const lines = [
    await told("an edit with everything", act({ ...edit, buttons }, thread)),
    await told("an edit that takes the buttons away", act({ ...edit, buttons: [] }, dm)),
    await told("an edit with nothing", act(edit)),
    await told("a removal", act({ kind: "remove", messageId: "31" }, thread)),
    await told("a removal of what is gone", act({ kind: "remove", messageId: "31" }), [refused(404, 10008)]),
    await told("a removal where the channel is gone", act({ kind: "remove", messageId: "31" }), [
      refused(404, 10003),
    ]),
    await told("a reaction", act({ kind: "react", messageId: "31", emoji: "👍" })),
    await told(
      "a reaction of the server's own",
      act({ kind: "react", messageId: "31", emoji: "tea_cup" }, thread),
    ),
    await told("reactions taken back", act({ kind: "react", messageId: "32", emoji: null })),
    await told(
      "reactions taken back where there are none",
      act({ kind: "react", messageId: "33", emoji: null }),
    ),
    await told("a pin", act({ kind: "pin", messageId: "31", pinned: true })),
    await told("a pin of what is gone", act({ kind: "pin", messageId: "31", pinned: true }), [
      refused(404, 10008),
    ]),
    await told("a pin taken back", act({ kind: "pin", messageId: "31", pinned: false })),
    await told("a pin taken back of what is gone", act({ kind: "pin", messageId: "31", pinned: false }), [
      refused(404, 10008),
    ]),
    await told("a thread", act({ kind: "createThread", title: "Tea" })),
    await told("a thread on a message", act({ kind: "createThread", title: "Tea", messageId: "31" })),
    await told(
      "a forum's post",
      act({ kind: "createThread", title: "Tea", tags: ["green"], first: { ...bare, silent: true } }, forum),
    ),
    await told("the commands", act({ kind: "setCommands", commands })),
    await told("an answer to a press of another process", act({ kind: "answerCallback", callbackId: "1" })),
    await told("an id that is none", act({ ...edit, messageId: "callback-1" })),
  ];
  context = { ...context, suppressEmbeds: false, self: () => null };
  lines.push(
    await told("an edit whose links may be shown", act(edit)),
    await told("the commands of a bot that does not know itself", act({ kind: "setCommands", commands: [] })),
    await told("and is not told", act({ kind: "setCommands", commands: [] }), [refused(404, 0)]),
  );
  context = { ...context, self: () => ({ user: "77", application: "" }) };
  lines.push(
    await told(
      "the commands where nobody tells the application",
      act({ kind: "setCommands", commands: [] }),
      [refused(404, 0)],
    ),
    await told("and where it is told wrongly", act({ kind: "setCommands", commands: [] }), [
      { status: 200, body: { id: "" } },
    ]),
  );
  await expect(lines.join("\n")).toMatchFileSnapshot("../tables/discord-actions.txt");
  expect(JSON.parse(kept.get("forms") ?? "")).toEqual([
    { id: "order", title: "Order", fields: [{ name: "tea", label: "Which tea?", long: true }] },
  ]);
});

test("what a server tells of reactions and tags in no form that we know is left alone", async () => {
  const takenBack = act({ kind: "react", messageId: "32", emoji: null });
  const reactions = [
    null,
    { me: true },
    { me: true, emoji: null },
    { me: true, emoji: { id: {}, name: "👍" } },
  ];
  const answered = (body: unknown) => [{ status: 200, body }];
  expect(await told("a list", takenBack, answered({ reactions }))).toContain("/reactions/%F0%9F%91%8D/@me");
  for (const body of [null, { reactions: {} }, { reactions: 7 }])
    expect(await told("none", takenBack, answered(body))).toMatch(/\n= null\n$/);
  const post = act({ kind: "createThread", title: "Tea", tags: ["green"], first: bare }, forum);
  for (const available_tags of [{}, 7, [null, { id: 5, name: "Green" }, { id: "5" }]])
    expect(await told("a post", post, answered({ id: "200", type: 15, available_tags }))).toContain(
      'invalid: this forum has no tag "green"; it has none',
    );
});

test("what Discord sees nothing in is left out, but not in a command's place: the rest would be shown to all", async () => {
  const blank = (more: Partial<SendOptions>) => {
    server.next.push(refused(400, 50006));
    return send(bare, room, more)().then(() => "sent", showsNothing);
  };
  const follows = { messageId: "9", extra: { quiet: "i2" } };
  expect([await blank({ answers: ["i2/text"] }), await blank({ follows }), await blank({})]).toEqual([
    false,
    true,
    true,
  ]);
});
