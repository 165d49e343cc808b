// The message tool's calls, each with all that it queues and says: to whom, as what, under which handle, and
// why it is refused.
import { formatRowPayload, parseContent } from "@parley/protocol";
import type { NewDelivery } from "@parley/store";
import { answerTable, directMessage, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { messagesPort } from "../src/messages/post.ts";

const session = "agent:main:telegram:dm:5";
const conversation = "telegram:default:dm:5";
const turn = `${session}#1`;
const mine = `${turn}/0`;
const elsewhere = "telegram:default:group:-7";

const rowOf = (id: string, more: object = {}, payload: object = {}, of = session, to = conversation) => ({
  id,
  lane: of,
  conversation: to,
  outcome: null,
  acceptedAtMs: 1,
  payload: formatRowPayload({
    v: 1,
    inbound: directMessage({ messageId: id, ...more }),
    owner: true,
    ...payload,
  } as never),
});

interface Odds {
  readonly rows?: readonly object[];
  readonly sent?: readonly object[];
  readonly scope?: object;
  readonly capabilities?: object;
}

async function call(request: object, { rows, sent = [], scope = {}, capabilities = {} }: Odds = {}) {
  const own = rows ?? [rowOf("press", { kind: "callback" }), rowOf("m1"), rowOf("m2")];
  const groups = [rowOf("g1", { title: "Tea room" }, {}, "agent:main:telegram:group:-7", elsewhere)];
  const port = messagesPort({
    config: {
      tools: { message: { crossContext: "owner" } },
      channels: {
        telegram: { default: { capabilities: { inlineButtons: "all" }, reactionLevel: "extensive" } },
        discord: { default: { reactionLevel: "extensive" } },
      },
      messages: {},
    },
    sessions: { list: async () => [{ key: "agent:main:telegram:group:-7" }] },
    inbox: {
      find: async ({ turn: of }: { readonly turn?: string }) => (of === undefined ? groups : own),
    },
    outbox: {
      find: async ({
        id,
        lane,
        receipt,
        limit,
      }: {
        id?: string;
        lane?: string;
        receipt?: string;
        limit?: number;
      }) =>
        sent
          .filter((each) =>
            id === undefined
              ? (each as { lane: string }).lane === lane &&
                JSON.stringify(each).includes(receipt?.slice(1, -1) ?? "?")
              : (each as { id: string }).id === id,
          )
          .slice(0, limit),
    },
    channel: () => ({
      name: "Chat",
      actions: ["edit", "remove", "react", "pin", "createThread"],
      capabilities: {
        inlineButtons: true,
        menus: true,
        forms: true,
        polls: true,
        pollLimits: { fewestOptions: 2, mostOptions: 4, mostHours: 24, anonymous: true },
        media: true,
        voice: true,
        silent: true,
        reactions: true,
        uploadBytes: 100,
        ...capabilities,
      },
    }),
    reach: async () => null,
    redaction: { secrets: ["hunter2-secret"], stateDirs: [], workspaces: [] },
    mediaFolder: {
      keep: async (bytes: Uint8Array, extension: string) => `/kept/${bytes.length}${extension}`,
    },
    clock: virtualClock({ startMs: 10_000 }),
  } as never);
  const { text, effects, waitsFor } = await port.act(
    {
      turn,
      callId: "c1",
      agent: "main",
      session,
      conversation,
      by: { owner: true, senders: ["telegram:5"] },
      ...scope,
    } as never,
    { action: "send", files: [], voice: false, tags: [], ...request } as never,
  );
  return {
    said: text.split("\n"),
    queued: (effects?.deliveries ?? []).map(({ parts, ...delivery }: NewDelivery) => [
      Object.values(delivery).join(" "),
      ...parts.map(({ content }) => parseContent(content)),
    ]),
    cells: (effects?.cells ?? []).length,
    ...(waitsFor === undefined ? {} : { waitsFor }),
  };
}
const table = async (requests: readonly object[], odds: Odds = {}): Promise<string> => {
  const answers = await Promise.all(
    requests.map((request) =>
      call(request, odds).then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      ),
    ),
  );
  let nth = 0;
  return answerTable(requests, () => {
    const answer = answers[nth++];
    if (answer === undefined || "error" in answer) throw answer?.error;
    return answer.value;
  });
};

test("each action is one delivery of its call, told with its handle", async () => {
  expect(
    await table(
      [
        { text: "hi", silent: true },
        { action: "reply", text: "hi" },
        { action: "reply", text: "hi", messageId: "9" },
        { action: "reply", text: "hi", handle: mine, messageId: "9" },
        { text: "hi", to: "Tea room" },
        { action: "reply", text: "hi", to: "Tea room" },
        { action: "poll" },
        {
          action: "poll",
          poll: { question: "Tea?", options: ["yes", "no"], multiple: false },
          messageId: "9",
        },
        { text: "hi", handle: mine },
        { action: "react", emoji: " 👍 " },
        { action: "react", emoji: "" },
        { action: "react" },
        { action: "react", emoji: "ok", messageId: "9" },
        { action: "react", emoji: "👍", messageId: "9" },
        { action: "delete", handle: mine },
        { action: "delete", messageId: "9" },
        { action: "delete" },
        { action: "pin", messageId: "9" },
        { action: "unpin", messageId: "9" },
        { action: "edit", handle: mine, text: "the key is hunter2-secret" },
        { action: "edit", messageId: "9", text: "x" },
        { action: "edit", handle: "agent:other:main#1/0", text: "x" },
        { action: "thread", title: " " },
        { action: "thread", title: "Plans of hunter2-secret", text: "first", tags: ["a"], silent: true },
        { action: "thread", title: "Plans", messageId: "9" },
      ],
      {
        sent: [
          { id: mine, cause: turn, lane: conversation, parts: [] },
          { id: "agent:other:main#1/0", cause: "agent:other:main#1", lane: conversation, parts: [] },
        ],
      },
    ),
  ).toMatchInlineSnapshot(`
    "{"text":"hi","silent":true}
      {"said":["send: queued here; it goes out by itself, in order. Do not repeat it.","Handle: agent:main:telegram:dm:5#1/c1/message"],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"hi"}],"silent":true}]],"cells":0}
    {"action":"reply","text":"hi"}
      {"said":["reply: queued here; it goes out by itself, in order. Do not repeat it.","Handle: agent:main:telegram:dm:5#1/c1/message"],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"hi"}],"replyTo":"m1"}]],"cells":0}
    {"action":"reply","text":"hi","messageId":"9"}
      {"said":["reply: queued here; it goes out by itself, in order. Do not repeat it.","Handle: agent:main:telegram:dm:5#1/c1/message"],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"hi"}],"replyTo":"9"}]],"cells":0}
    {"action":"reply","text":"hi","handle":"agent:main:telegram:dm:5#1/0","messageId":"9"}
      {"said":["reply: queued here; it goes out by itself, in order. Do not repeat it.","Handle: agent:main:telegram:dm:5#1/c1/message"],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"hi"}],"replyTo":{"delivery":"agent:main:telegram:dm:5#1/0"}}]],"cells":0}
    {"text":"hi","to":"Tea room"}
      {"said":["send: queued to telegram:-7; it goes out by itself, in order. Do not repeat it.","Handle: message:agent:main:telegram:dm:5#1/c1"],"queued":[["message:agent:main:telegram:dm:5#1/c1 telegram:default telegram:default:group:-7 agent:main:telegram:dm:5#1",{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"hi"}]}]],"cells":0}
    {"action":"reply","text":"hi","to":"Tea room"}
      throws invalid: say which message is answered: give its handle or messageId
    {"action":"poll"}
      throws invalid: a poll needs poll: {question, options}
    {"action":"poll","poll":{"question":"Tea?","options":["yes","no"],"multiple":false},"messageId":"9"}
      {"said":["poll: queued here; it goes out by itself, in order. Do not repeat it.","Handle: agent:main:telegram:dm:5#1/c1/message"],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"reply","parts":[{"kind":"poll","multiple":false,"anonymous":true,"question":"Tea?","options":["yes","no"]}],"replyTo":"9"}]],"cells":0}
    {"text":"hi","handle":"agent:main:telegram:dm:5#1/0"}
      {"said":["send: queued here; it goes out by itself, in order. Do not repeat it.","Handle: agent:main:telegram:dm:5#1/c1/message"],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"hi"}],"replyTo":{"delivery":"agent:main:telegram:dm:5#1/0"}}]],"cells":0}
    {"action":"react","emoji":" 👍 "}
      {"said":["react: queued here; it goes out by itself, in order. Do not repeat it."],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"action","action":{"kind":"react","target":{"messageId":"m1"},"emoji":"👍"}}]],"cells":0}
    {"action":"react","emoji":""}
      {"said":["react: queued here; it goes out by itself, in order. Do not repeat it."],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"action","action":{"kind":"react","target":{"messageId":"m1"},"emoji":null}}]],"cells":0}
    {"action":"react"}
      throws invalid: a reaction needs emoji; an empty one takes yours back
    {"action":"react","emoji":"ok","messageId":"9"}
      throws invalid: "ok" is no emoji: give one character, as 👍
    {"action":"react","emoji":"👍","messageId":"9"}
      {"said":["react: queued here; it goes out by itself, in order. Do not repeat it."],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"action","action":{"kind":"react","target":{"messageId":"9"},"emoji":"👍"}}]],"cells":0}
    {"action":"delete","handle":"agent:main:telegram:dm:5#1/0"}
      {"said":["delete: queued here; it goes out by itself, in order. Do not repeat it."],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"action","action":{"kind":"remove","target":{"delivery":"agent:main:telegram:dm:5#1/0"}}}]],"cells":0}
    {"action":"delete","messageId":"9"}
      {"said":["delete: queued here; it goes out by itself, in order. Do not repeat it."],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"action","action":{"kind":"remove","target":{"messageId":"9"}}}]],"cells":0}
    {"action":"delete"}
      throws invalid: say which message: give its handle or messageId
    {"action":"pin","messageId":"9"}
      {"said":["pin: queued here; it goes out by itself, in order. Do not repeat it.","Handle: agent:main:telegram:dm:5#1/c1/message"],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"action","action":{"kind":"pin","target":{"messageId":"9"},"pinned":true}}]],"cells":0}
    {"action":"unpin","messageId":"9"}
      {"said":["unpin: queued here; it goes out by itself, in order. Do not repeat it.","Handle: agent:main:telegram:dm:5#1/c1/message"],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"action","action":{"kind":"pin","target":{"messageId":"9"},"pinned":false}}]],"cells":0}
    {"action":"edit","handle":"agent:main:telegram:dm:5#1/0","text":"the key is hunter2-secret"}
      {"said":["edit: queued here; it goes out by itself, in order. Do not repeat it.","Handle: agent:main:telegram:dm:5#1/c1/message"],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"action","action":{"kind":"edit","target":{"delivery":"agent:main:telegram:dm:5#1/0"},"markdown":"the key is [secret]","buttons":[]}}]],"cells":0}
    {"action":"edit","messageId":"9","text":"x"}
      throws denied: only your own messages can be edited, and that is none of them
    {"action":"edit","handle":"agent:other:main#1/0","text":"x"}
      throws missing: you sent no message with this handle
    {"action":"thread","title":" "}
      throws invalid: a thread needs title
    {"action":"thread","title":"Plans of hunter2-secret","text":"first","tags":["a"],"silent":true}
      {"said":["thread: queued here; it goes out by itself, in order. Do not repeat it.","Handle: agent:main:telegram:dm:5#1/c1/message","To write in the thread later, give this handle as \`to\`."],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"action","action":{"kind":"createThread","title":"Plans of [secret]","parts":[{"kind":"text","markdown":"first"}],"tags":["a"],"silent":true}}]],"cells":0,"waitsFor":{"ticket":"thread:agent:main:telegram:dm:5#1/c1/message","untilMs":10300}}
    {"action":"thread","title":"Plans","messageId":"9"}
      {"said":["thread: queued here; it goes out by itself, in order. Do not repeat it.","Handle: agent:main:telegram:dm:5#1/c1/message","To write in the thread later, give this handle as \`to\`."],"queued":[["agent:main:telegram:dm:5#1/c1/message telegram:default telegram:default:dm:5 agent:main:telegram:dm:5#1",{"v":1,"kind":"action","action":{"kind":"createThread","title":"Plans","target":{"messageId":"9"}}}]],"cells":0,"waitsFor":{"ticket":"thread:agent:main:telegram:dm:5#1/c1/message","untilMs":10300}}
    "
  `);
});

test("a message of another conversation is changed there and not here", async () => {
  const cause = "agent:main:telegram:group:-7#1";
  const sent = [{ id: `${cause}/0`, cause, lane: elsewhere, parts: [] }];
  const edit = { action: "edit", handle: `${cause}/0`, text: "x" };
  expect((await call(edit, { sent })).queued).toEqual([
    [
      `message:${turn}/c1 telegram:default ${elsewhere} ${turn}`,
      {
        v: 1,
        kind: "action",
        action: { kind: "edit", target: { delivery: `${cause}/0` }, markdown: "x", buttons: [] },
      },
    ],
  ]);
  // A turn that may not speak elsewhere is not told that there is such a message.
  const member = { by: { owner: false, senders: ["telegram:5"] } };
  await expect(call(edit, { sent, scope: member })).rejects.toMatchObject({
    code: "missing",
    message: "you sent no message with this handle",
  });
  await expect(call({ ...edit, to: conversation }, { sent })).rejects.toMatchObject({
    code: "invalid",
    message: "that message is in telegram:-7",
  });
});

test("a poll may answer a message as words do, and a thread may begin with files or a poll alone", async () => {
  const poll = { question: "Tea?", options: ["yes", "no"], multiple: false };
  const file = { path: "/kept/a.png", mediaType: "image/png", bytes: 9, name: "a.png" };
  const asked = { kind: "poll", multiple: false, anonymous: true, question: "Tea?", options: ["yes", "no"] };
  const sent = [{ id: mine, cause: turn, lane: conversation, parts: [] }];
  const of = async (request: object) => (await call(request, { sent })).queued[0]?.[1];
  expect([
    await of({ action: "reply", text: "hi", poll }),
    await of({ action: "poll", text: "hi", poll, handle: mine }),
    await of({ action: "poll", poll }),
    await of({ action: "reply", poll, messageId: "9", silent: true }),
    await of({ action: "thread", title: "T", poll }),
    await of({ action: "thread", title: "T", files: [file] }),
    await of({ action: "thread", title: "T", text: "" }),
  ]).toEqual([
    { v: 1, kind: "reply", parts: [{ kind: "text", markdown: "hi" }, asked], replyTo: "m1" },
    { v: 1, kind: "reply", parts: [{ kind: "text", markdown: "hi" }, asked], replyTo: { delivery: mine } },
    { v: 1, kind: "reply", parts: [asked] },
    { v: 1, kind: "reply", parts: [asked], replyTo: "9", silent: true },
    { v: 1, kind: "action", action: { kind: "createThread", title: "T", parts: [asked] } },
    {
      v: 1,
      kind: "action",
      action: { kind: "createThread", title: "T", parts: [{ kind: "media", media: "image", files: [file] }] },
    },
    { v: 1, kind: "action", action: { kind: "createThread", title: "T" } },
  ]);
});

test("what the surface cannot do is said, and where nobody reads nothing is sent without a place", async () => {
  const loud = await call({ text: "hi", silent: true }, { capabilities: { silent: false } });
  expect(loud.said).toContain("Note: Chat has no silent messages.");
  const unseen = {
    rows: [rowOf("m1", {}, { internal: { kind: "schedule", id: "j", turn: "", unseen: true } })],
  };
  const nobody = { code: "invalid", message: "nobody reads this session: say with `to` where it goes" };
  await expect(call({ text: "hi" }, unseen)).rejects.toMatchObject(nobody);
  expect((await call({ text: "hi", to: "Tea room" }, unseen)).queued).toHaveLength(1);
  await expect(
    call({ text: "hi" }, { scope: { conversation: "hook:default:dm:main%2Fci" } }),
  ).rejects.toMatchObject(nobody);
});

const said = (work: Promise<{ readonly said: readonly string[] }>): Promise<string> =>
  work.then(
    (value) => value.said[0] ?? "",
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  );

test("a thread is written in by the handle of the call that opened it, and in no other way", async () => {
  const opened = (state: string, more: object = {}, content: object = {}) => ({
    id: `${turn}/t/message`,
    cause: turn,
    lane: conversation,
    createdAtMs: 9_000,
    parts: [
      {
        state,
        receipt: null,
        reason: null,
        content: JSON.stringify({
          v: 1,
          kind: "act",
          action: { kind: "createThread", title: "T" },
          ...content,
        }),
        ...more,
      },
    ],
  });
  const to = ` ${turn}/t/message `;
  const inside = { text: "hi", to };
  const asAction = { kind: "action" };
  expect([
    (await call(inside, { sent: [opened("queued", {}, asAction)] })).queued,
    (await call({ ...inside, action: "reply", messageId: "9" }, { sent: [opened("sent")] })).queued,
    await said(call(inside, { sent: [opened("failed", { reason: "no right" })] })),
    await said(call(inside, { sent: [opened("ambiguous")] })),
    await said(call(inside, { sent: [opened("sent", {}, { action: { kind: "pin" } })] })),
    await said(call(inside, { sent: [opened("sent", {}, { kind: "reply", parts: [] })] })),
    await said(call({ ...inside, action: "pin", messageId: "9" }, { sent: [opened("sent")] })),
    await said(call(inside)),
    await said(call({ ...inside, to: `${session}#1` }, { sent: [opened("sent")] })),
  ]).toEqual([
    [
      [
        `message:${turn}/c1 telegram:default ${conversation} ${turn}`,
        {
          v: 1,
          kind: "reply",
          parts: [{ kind: "text", markdown: "hi" }],
          inThreadOf: `${turn}/t/message`,
        },
      ],
    ],
    [
      [
        `message:${turn}/c1 telegram:default ${conversation} ${turn}`,
        {
          v: 1,
          kind: "reply",
          parts: [{ kind: "text", markdown: "hi" }],
          replyTo: "9",
          inThreadOf: `${turn}/t/message`,
        },
      ],
    ],
    "missing: its thread could not be opened: no right",
    "missing: its thread could not be opened: the outcome is unknown",
    "invalid: that call opened no thread: give the handle of one that did",
    "invalid: that call opened no thread: give the handle of one that did",
    "invalid: by its handle a thread can only be written in: send, reply or poll",
    "missing: you sent no message with this handle",
    expect.stringContaining("is no place that this agent knows"),
  ]);
  // The call that opens it, run again, looks at what became of it and queues nothing.
  const again = { ...opened("queued"), id: `${turn}/c1/message` };
  expect(await call({ action: "thread", title: "T" }, { sent: [again] })).toEqual({
    said: [
      "thread: it is still on its way and opens by itself. Do not repeat it.",
      `Handle: ${turn}/c1/message`,
      "To write in it, give this handle as `to`.",
    ],
    queued: [],
    cells: 0,
    waitsFor: { ticket: `thread:${turn}/c1/message`, untilMs: 11_500 },
  });
});

test("what may be a reaction is an emoji, and on Discord also one of its servers", async () => {
  const of = async (emoji: string, channel: string) => {
    const place = `${channel}:default:dm:5`;
    const scope = { session: `agent:main:${channel}:dm:5`, conversation: place };
    return (await said(call({ action: "react", emoji, messageId: "9" }, { scope }))).startsWith("react:");
  };
  const taken = ["👍", "❤️", "🇩🇪", "3️⃣", "ℹ️", "👩‍💻", "👍🏽", ""];
  const never = ["ok", "👍 👍", "ja👍", "yes!", "ä"];
  const named = ["party", ":party:", "<:party:123>", "<a:party:123>", "party:123", "ab"];
  const tooOdd = ["p", `:${"x".repeat(33)}:`, "<:party:x>", "par ty"];
  const table = async (channel: string) => {
    const answers = await Promise.all(
      [taken, never, named, tooOdd].map((list) => Promise.all(list.map((emoji) => of(emoji, channel)))),
    );
    return answers.map((list) => list.map(Number).join(""));
  };
  expect(await table("telegram")).toEqual(["11111111", "00000", "000000", "0000"]);
  expect(await table("discord")).toEqual(["11111111", "10000", "111111", "0000"]);
});

test("of what was sent the agent changes its own, an owner's turn what others wrote, and nobody what Parley said", async () => {
  const receipt = (messageId: string, more: object = {}) => ({
    receipt: JSON.stringify({ messageId, ...more }),
  });
  const sent = [
    // It names another message, and is no answer to whose that is.
    { id: "notice:q", cause: "u", lane: conversation, parts: [receipt("71", { extra: { quotes: "22" } })] },
    { id: mine, cause: turn, lane: conversation, parts: [receipt("21"), receipt("22")] },
    {
      id: `message:${turn}/c0`,
      cause: turn,
      lane: conversation,
      parts: [{ receipt: null }, receipt("31", { extra: { messageIds: [31, 32] } })],
    },
    { id: "approval:x", cause: turn, lane: conversation, parts: [receipt("41")] },
    { id: "agent:other:main#1/0", cause: "agent:other:main#1", lane: conversation, parts: [receipt("51")] },
    { id: "notice:u", cause: "u", lane: conversation, parts: [receipt("61")] },
  ];
  const of = async (action: string, messageId: string, owner = true) => {
    const scope = { by: { owner, senders: ["telegram:5"] } };
    return (await said(call({ action, messageId, text: "x" }, { sent, scope }))).replace(/: queued.*/, "");
  };
  const parleys = "denied: that message is Parley's own, and stays as it is";
  const answers: string[] = [];
  for (const [action, messageId, owner] of [
    ["edit", "22", false],
    ["edit", "32", false],
    ["delete", "31", false],
    ["pin", "21", false],
    ["edit", "41", true],
    ["delete", "51", true],
    ["unpin", "61", true],
    ["edit", "2", true],
    ["delete", "2", true],
    ["pin", "2", false],
    ["unpin", "2", false],
    ["delete", "2", false],
  ] as const)
    answers.push(await of(action, messageId, owner));
  expect(answers).toEqual([
    "edit",
    "edit",
    "delete",
    "pin",
    parleys,
    parleys,
    parleys,
    "denied: only your own messages can be edited, and that is none of them",
    "delete",
    "denied: only an owner may have others' messages changed (pin)",
    "denied: only an owner may have others' messages changed (unpin)",
    "denied: only an owner may have others' messages changed (delete)",
  ]);
});

test("buttons are kept as cells with their message, also those of an edit and inside a thread", async () => {
  const buttons = [
    [
      { label: "Yes", value: "y" },
      { label: "Site", url: "https://x.example" },
    ],
    [{ label: "No" }],
  ];
  const short = expect.stringMatching(/^~[\w-]{22}$/);
  const shown = [
    [
      { label: "Yes", value: short },
      { label: "Site", url: "https://x.example" },
    ],
    [{ label: "No", value: short }],
  ];
  const sent = [{ id: mine, cause: turn, lane: conversation, parts: [] }];
  const of = async (request: object) => {
    const { queued, cells } = await call(
      { text: "t", buttons, ...request },
      { sent, capabilities: { silent: false } },
    );
    return [queued[0]?.[1], cells];
  };
  const text = { kind: "text", markdown: "t", buttons: shown };
  expect([
    await of({}),
    await of({ action: "edit", handle: mine }),
    await of({ action: "thread", title: "T", handle: mine }),
  ]).toEqual([
    [{ v: 1, kind: "reply", parts: [text] }, 2],
    [
      {
        v: 1,
        kind: "action",
        action: { kind: "edit", target: { delivery: mine }, markdown: "t", buttons: shown },
      },
      2,
    ],
    [
      {
        v: 1,
        kind: "action",
        action: { kind: "createThread", title: "T", target: { delivery: mine }, parts: [text] },
      },
      2,
    ],
  ]);
  const loud = await call(
    { action: "thread", title: "T", silent: true },
    { capabilities: { silent: false } },
  );
  expect(loud.said.slice(2)).toEqual([
    "To write in the thread later, give this handle as `to`.",
    "Note: Chat has no silent messages.",
  ]);
  const noRows = await said(call({ action: "react", emoji: "👍" }, { rows: [] }));
  expect(noRows).toBe("invalid: say which message: give its handle or messageId");
});
