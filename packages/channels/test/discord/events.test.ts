// What each event of Discord's gateway means, whole: for each kind one that says everything, and one that
// says as little as it may, with what was asked beside it and what was left out. A diff in
// test/tables/discord-events.txt is a diff in behaviour.
import { laterAnswerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { places } from "../../src/discord/places.ts";
import { readDispatch, type Reading } from "../../src/discord/reader.ts";
import { fakeRest } from "./fake-rest.ts";

const me = { id: "900" };
const ann = { id: "5", username: "ann", global_name: "Ann" };
const bo = { id: "6", username: "bo", global_name: null, bot: true };
const hook = { id: "8", username: "Alarm" };
const told = {
  id: "50",
  channel_id: "1",
  guild_id: "7",
  author: ann,
  type: 0,
  timestamp: "2026-11-21T12:00:00.000Z",
  member: { nick: "Annie", roles: ["31"] },
};
const direct = { ...told, channel_id: "2", guild_id: null, member: null };
const edited = { edited_timestamp: "2026-11-21T12:00:05.000Z" };
const file = {
  id: "70",
  filename: "a.png",
  url: "https://cdn.test/a",
  size: 9,
  content_type: "image/png; x=1",
};
const frame = { type: "rich", title: "Disk", description: "full", fields: [{ name: "free", value: "0" }] };
const poll = { question: { text: "Tea?" }, answers: [{ poll_media: { text: "yes" } }, { poll_media: {} }] };
const quoted = { id: "49", author: { ...ann, id: "900" }, content: "see <#1>", member: {} };
const given = {
  user_id: "5",
  channel_id: "1",
  guild_id: "7",
  message_id: "49",
  emoji: { id: null, name: "🍵" },
};
const press = {
  id: "60",
  member: { user: ann, nick: "Annie", roles: ["31"] },
  guild_id: "7",
  channel_id: "1",
};
const command = (options: unknown) => ({ ...press, type: 2, data: { name: "ask", options } });

const events: readonly (readonly [event: string, body: object, sequence?: number | null])[] = [
  [
    "MESSAGE_CREATE",
    {
      ...told,
      content: " <@900>, ask <@5>, <@!6>, <@7>, <#1>, <@&31>, <a:tea:12>: /why",
      mentions: [ann, bo, { id: "900" }],
      mention_roles: ["31", "41"],
      attachments: [
        file,
        { ...file, id: "71", content_type: "video/mp4", duration_secs: 2.5, description: "film" },
      ],
      embeds: [frame],
      sticker_items: [{ name: "wave" }],
      poll,
      message_reference: { message_id: "49" },
      referenced_message: quoted,
    },
  ],
  ["MESSAGE_CREATE", { ...direct, content: "hi" }],
  ["MESSAGE_CREATE", { ...direct, author: { id: "5", username: "ann" }, content: "/new", timestamp: "soon" }],
  ["MESSAGE_CREATE", { ...told, channel_id: "3", content: "/New: now", member: undefined }],
  ["MESSAGE_CREATE", { ...told, id: "4", channel_id: "4", content: "Which tea?" }],
  [
    "MESSAGE_CREATE",
    { ...told, author: bo, content: "beep", embeds: [frame, { type: "link", title: "x" }, {}] },
  ],
  [
    "MESSAGE_CREATE",
    { ...told, author: hook, webhook_id: "8", member: undefined, embeds: [{ title: "Up" }] },
  ],
  [
    "MESSAGE_CREATE",
    {
      ...told,
      flags: 8192,
      attachments: [{ ...file, content_type: "audio/ogg", duration_secs: 1 }],
      content: "",
    },
  ],
  [
    "MESSAGE_CREATE",
    { ...told, attachments: [{ id: "70", filename: "a", url: "u", content_type: "text/plain" }] },
  ],
  ["MESSAGE_CREATE", { ...told, attachments: [{ id: "70", filename: "a", url: "u", size: 0 }] }],
  [
    "MESSAGE_CREATE",
    {
      ...told,
      content: "look",
      message_reference: { message_id: "49", type: 1 },
      message_snapshots: [
        {
          message: {
            content: "old",
            attachments: [file],
            embeds: [frame],
            sticker_items: [{ name: "wave" }],
            poll,
          },
        },
        { message: { flags: 8192, attachments: [{ ...file, id: "72" }] } },
      ],
    },
  ],
  [
    "MESSAGE_CREATE",
    { ...told, content: "yes", message_reference: { message_id: "49" }, referenced_message: null },
  ],
  [
    "MESSAGE_CREATE",
    {
      ...told,
      content: "yes",
      type: 19,
      message_reference: { message_id: "49" },
      referenced_message: { id: "48", author: bo, embeds: [frame], poll },
    },
  ],
  ["MESSAGE_CREATE", { ...told, content: "yes", type: 19, referenced_message: quoted }],
  ["MESSAGE_CREATE", { ...told, content: "<@900>", mentions: [{ id: "900" }] }],
  ["MESSAGE_CREATE", { ...told, content: "see <@!900>", mentions: [{ id: "900", username: "parley" }] }],
  ["MESSAGE_CREATE", { ...told, content: "cooks!", mention_roles: ["40"] }],
  ["MESSAGE_CREATE", { ...told, content: "" }],
  ["MESSAGE_CREATE", { ...told, components: [{ type: 1 }] }],
  ["MESSAGE_CREATE", { ...told, type: 7, content: "joined" }],
  ["MESSAGE_CREATE", { ...told, author: { ...ann, id: "900" }, content: "mine" }],
  [
    "MESSAGE_CREATE",
    {
      ...told,
      content: "hi",
      flags: -1,
      mentions: [ann, { id: "x" }],
      mention_roles: ["31", 7],
      attachments: [file, { ...file, id: "71", size: -1, duration_secs: "2" }, { id: "72" }],
      embeds: 7,
      timestamp: 7,
      member: 7,
    },
  ],
  ["MESSAGE_UPDATE", { ...told, ...edited, content: "/stop" }],
  ["MESSAGE_UPDATE", { ...direct, ...edited, content: "better" }],
  ["MESSAGE_UPDATE", { ...told, content: "a preview" }],
  ["MESSAGE_DELETE_BULK", { ids: ["52", "51"], channel_id: "1" }],
  [
    "MESSAGE_REACTION_ADD",
    { ...given, message_author_id: "900", member: { user: ann, nick: "Annie", roles: ["31"] } },
  ],
  ["MESSAGE_REACTION_ADD", { ...given, emoji: { id: "12", name: "tea" }, member: { user: bo, roles: [] } }],
  [
    "MESSAGE_REACTION_REMOVE",
    { ...given, channel_id: "2", guild_id: undefined, emoji: { id: "12", name: null } },
  ],
  ["MESSAGE_REACTION_REMOVE", { ...given, channel_id: "3", emoji: { id: null, name: null } }, null],
  ["MESSAGE_POLL_VOTE_ADD", { ...given, answer_id: 1 }],
  ["MESSAGE_POLL_VOTE_REMOVE", { ...given, channel_id: "2", guild_id: undefined, answer_id: 3 }],
  ["INTERACTION_CREATE", command([{ name: "text", value: "why so?" }])],
  [
    "INTERACTION_CREATE",
    { ...command(undefined), member: undefined, guild_id: undefined, user: ann, channel_id: "2" },
  ],
  [
    "INTERACTION_CREATE",
    { ...command([]), id: "922337203685477580", channel: { id: "3", type: 11, parent_id: "1" } },
  ],
  [
    "INTERACTION_CREATE",
    { ...press, type: 3, data: { custom_id: "yes" }, message: { id: "49", content: "Sure?" } },
  ],
  ["INTERACTION_CREATE", { ...press, type: 3, data: { custom_id: "tea", values: ["g", "b"] } }],
  ["INTERACTION_CREATE", { ...press, type: 3, data: { custom_id: "form" } }],
  [
    "INTERACTION_CREATE",
    {
      ...press,
      type: 5,
      data: { custom_id: "form", components: [{ component: { custom_id: "tea", value: "Oolong" } }] },
      message: { id: "49", content: "Sure?" },
    },
  ],
  ["INTERACTION_CREATE", { ...press, type: 4, data: { name: "ask" } }],
];

test("each kind of event means this", async () => {
  const table = await laterAnswerTable(events, async ([event, body, sequence = 3]) => {
    const rest = fakeRest({
      "GET /guilds/7/members/5": { roles: ["32"] },
      "GET /guilds/7/members/900": { roles: ["40"] },
    });
    const known = places(rest, () => 0);
    known.learn([
      { id: "1", type: 0, guild_id: "7", name: "tea" },
      { id: "3", type: 11, parent_id: "1", guild_id: "7", name: "Kettles" },
      { id: "4", type: 11, parent_id: "10", guild_id: "7", name: "Which?" },
      { id: "10", type: 15, guild_id: "7", name: "Ideas" },
    ]);
    known.learnRoles({ id: "31", name: "cooks" });
    const left: string[] = [];
    const context: Reading = {
      channel: "discord",
      account: "tea",
      me,
      nowMs: 7_000,
      places: known,
      opensForm: (customId) => customId === "form",
      onLeftOut: (paths) => void left.push(...paths),
    };
    const session = { id: "s", resumeUrl: "" };
    const read = await readDispatch({ event, body, sequence, session }, context);
    const asked = rest.asked.length === 0 ? {} : { asked: rest.asked };
    return { ...read, ...asked, ...(left.length === 0 ? {} : { left }) };
  });
  const names = { ann, bo, file, frame, poll };
  const shown = Object.entries(names).reduce(
    (text, [name, whole]) => text.replaceAll(JSON.stringify(whole), name.toUpperCase()),
    table.replaceAll('"channel":"discord","account":"tea"', "HERE"),
  );
  await expect(shown).toMatchFileSnapshot("../tables/discord-events.txt");
});
