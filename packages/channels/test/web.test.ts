// The web keeps the channel contract over an event log, and shows a repeated send once.
import { conversationKey, wordsOf, type Address, type ConversationKey } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { webChannel, type WebMessage } from "@parley/channels";
import { channelContract, text } from "./contract.ts";

const person: Address = { channel: "web", account: "default", kind: "dm", peer: "web-person" };

function open() {
  const clock = virtualClock();
  const log = new Map<string, { readonly stream: ConversationKey; readonly message: WebMessage }>();
  let accepted = 0;
  let said = 0;
  const channel = webChannel({
    account: "default",
    clock,
    async publish(stream, id, message) {
      if (!log.has(id)) log.set(id, { stream, message });
      return [...log.keys()].indexOf(id) + 1;
    },
  });
  const says = (words: string): void => {
    const id = `m${(said += 1)}`;
    // A client repeats its request until it is answered, as the page does from its outbox.
    const submit = async (): Promise<void> => {
      try {
        await channel.submit({ id, address: person, senderName: "Person", text: words });
        accepted += 1;
      } catch {
        clock.after(1_000, () => void submit());
      }
    };
    void submit();
  };
  const shown = (): readonly string[] =>
    [...log.values()]
      .filter(({ stream, message }) => stream === conversationKey(person) && message.role === "assistant")
      .map(({ message }) => message.text);
  return { clock, channel, says, shown, accepted: () => accepted, log };
}

channelContract({
  name: "web",
  async open() {
    const { clock, channel, says, shown, accepted } = open();
    return {
      channel,
      says: (how, words) => {
        if (how === "dm") says(words);
      },
      acknowledged: accepted,
      shown,
      advance: (byMs) => clock.advance(byMs),
      close: async () => {},
    };
  },
  skip: [
    { case: "an exact mention is addressed", reason: "the web chat has no groups" },
    { case: "a bystander's message in a group is not addressed", reason: "the web chat has no groups" },
    {
      case: "a rate limit is Fault rate_limited with the wait, and nothing is sent",
      reason: "the event log is ours and has no limit",
    },
    {
      case: "a token that is refused rejects start with Fault denied",
      reason: "the control plane has checked every client before",
    },
    {
      case: "an answer that was lost after the request went out is Fault ambiguous",
      reason: "an append either resolved or did not happen",
    },
    {
      case: "an edit changes the message, and the same edit again succeeds",
      reason: "a page shows growing answers by deltas, not by edits",
    },
    {
      case: "a removed message is gone, and removing it again succeeds",
      reason: "an event that was shown is not taken back",
    },
    {
      case: "a pin is set and taken back, and the same again succeeds",
      reason: "a page has no pins",
    },
    {
      case: "a reaction is set and taken back, and the same again succeeds",
      reason: "a page has no reactions",
    },
    { case: "an action on what is gone is Fault missing", reason: "a page has no actions" },
    {
      case: "a poll at its limits is sent, and one beyond them is Fault invalid and not sent",
      reason: "a page is shown polls as text",
    },
    {
      case: "an attachment is downloaded whole, and not beyond the limit",
      reason: "the web chat takes no files yet",
    },
  ],
});

test("a send under the same key is one event", async () => {
  const { channel, shown } = open();
  const options = { idempotencyKey: "delivery-1", signal: new AbortController().signal };
  expect(await channel.send(person, text("once"), options)).toEqual(
    await channel.send(person, text("once"), options),
  );
  expect(shown()).toEqual(["once"]);
});

test("a channel that does not receive refuses what is said, so that the client keeps it", async () => {
  const { channel } = open();
  await expect(
    channel.submit({ id: "m1", address: person, senderName: "Person", text: "hi" }),
  ).rejects.toMatchObject({
    code: "unavailable",
  });
});

/** The page's channel with files, everything that it did in order, and what its receiver does. */
function whole(receives: () => Promise<void> = async () => {}) {
  const clock = virtualClock({ startMs: 1_000 });
  const did: unknown[] = [];
  const channel = webChannel({
    account: "home",
    clock,
    async publish(stream, id, message) {
      did.push(["shows", stream, id, message]);
      return 1;
    },
    files: {
      keep: async (bytes, name) => (did.push(["keeps", name, bytes.length]), `ref-${name}`),
      read: async (ref) => new TextEncoder().encode(ref),
    },
  });
  const receive = async (events: unknown): Promise<void> => {
    await receives();
    did.push(["hears", events]);
  };
  return { clock, did, channel, receive };
}

const at: Address = { channel: "web", account: "home", kind: "dm", peer: "web-7", thread: "t" };
const words = { id: "k1", address: at, senderName: "Eve", text: "hi" };

test("what is said is heard whole, its files are kept before, and every page of its person is shown it after", async () => {
  const { clock, did, channel, receive } = whole();
  await channel.start(receive);
  await clock.advance(5);
  await channel.submit({
    ...words,
    files: [
      { name: "a.png", mediaType: "image/png", bytes: new Uint8Array(3) },
      { name: "b.ogg", mediaType: "audio/ogg", voice: true, bytes: new Uint8Array(4) },
      { name: "c", mediaType: "", bytes: new Uint8Array(5) },
      { name: "d.txt", bytes: new Uint8Array(6) },
    ],
    guest: true,
    approver: true,
  });
  const inbound = {
    id: "web:home:k1",
    channel: "web",
    account: "home",
    address: at,
    sender: { id: "web-7", name: "Eve", isBot: false, roles: ["guest", "approver"] },
    messageId: "k1",
    kind: "message",
    text: "hi",
    attachments: [
      { kind: "image", ref: "ref-a.png", name: "a.png", mediaType: "image/png", bytes: 3 },
      { kind: "voice", ref: "ref-b.ogg", name: "b.ogg", mediaType: "audio/ogg", bytes: 4 },
      { kind: "file", ref: "ref-c", name: "c", bytes: 5 },
      { kind: "file", ref: "ref-d.txt", name: "d.txt", bytes: 6 },
    ],
    mentions: [],
    addressed: true,
    atMs: 1_005,
  };
  expect(did).toEqual([
    ["keeps", "a.png", 3],
    ["keeps", "b.ogg", 4],
    ["keeps", "c", 5],
    ["keeps", "d.txt", 6],
    ["hears", [inbound]],
    [
      "shows",
      conversationKey(at),
      "web:home:k1",
      {
        id: "web:home:k1",
        role: "user",
        text: "hi",
        html: "",
        files: [
          { name: "a.png", bytes: 3 },
          { name: "b.ogg", bytes: 4 },
          { name: "c", bytes: 5 },
          { name: "d.txt", bytes: 6 },
        ],
        atMs: 1_005,
      },
    ],
  ]);
  did.length = 0;
  // An edit is heard under its own id and its message's, and shown by whoever asked for it.
  await channel.submit({ ...words, id: "k2", edits: "k1", approver: true });
  const { roles: _, ...sender } = inbound.sender;
  expect(did).toEqual([
    ["hears", [{ ...inbound, id: "web:home:k2", sender, kind: "edit", attachments: [], editedAtMs: 1_005 }]],
  ]);
  did.length = 0;
  await channel.submit({ ...words, id: "k3", guest: true });
  expect(did[0]).toMatchObject(["hears", [{ sender: { roles: ["guest"] } }]]);
  did.length = 0;
  // What is shared is nobody's own words, and shown beside them.
  const enclosed = [{ kind: "forward", from: "Bo", words: ["news"] }] as const;
  await channel.submit({
    ...words,
    id: "k4",
    enclosed: enclosed.map((each) => ({ ...each, words: [...each.words] })),
  });
  expect(did).toEqual([
    ["hears", [{ ...inbound, id: "web:home:k4", messageId: "k4", sender, attachments: [], enclosed }]],
    [
      "shows",
      conversationKey(at),
      "web:home:k4",
      {
        id: "web:home:k4",
        role: "user",
        text: wordsOf({ text: "hi", enclosed: [...enclosed] as never }),
        html: "",
        atMs: 1_005,
      },
    ],
  ]);
  expect(wordsOf({ text: "hi", enclosed: [...enclosed] as never })).toContain("news");
});

test("a message that could not be stored is said for a minute, or until the next one is; a stop waits for what is on its way", async () => {
  let refuses = true;
  const { clock, did, channel, receive } = whole(async () => {
    if (refuses) throw new Error("the disk is full");
  });
  expect(channel.health()).toEqual({ state: "stopped" });
  await channel.start(receive);
  expect(channel.health()).toEqual({ state: "ok" });
  await expect(channel.submit(words)).rejects.toThrow("the disk is full");
  expect(did).toEqual([]);
  const trouble = { state: "degraded", reason: "the disk is full" };
  await clock.advance(59_999);
  expect(channel.health()).toEqual(trouble);
  await clock.advance(1);
  expect(channel.health()).toEqual({ state: "ok" });
  await expect(channel.submit(words)).rejects.toThrow("the disk is full");
  refuses = false;
  await channel.submit(words);
  expect(channel.health()).toEqual({ state: "ok", lastInboundAtMs: 61_000 });
  const onItsWay = channel.submit({ ...words, id: "k9" });
  await channel.stop();
  expect(did).toHaveLength(4);
  await onItsWay;
  expect(channel.health()).toEqual({ state: "stopped", lastInboundAtMs: 61_000 });
  await expect(channel.submit(words)).rejects.toMatchObject({ code: "unavailable", retryAfterMs: 1_000 });
});

test("an answer is shown under its key, with the buttons that a person can say; what a page cannot show is refused", async () => {
  const { did, channel } = whole();
  const options = { idempotencyKey: "d1/0", replaces: "d0/0", signal: new AbortController().signal };
  const rows = [
    [
      { label: "yes", value: "/yes", style: "primary" },
      { label: "kept", value: "~abc" },
      { label: "page", url: "https://x.org", style: "danger" },
    ],
    [{ label: "mail", url: "mailto:a@b.org" }, { label: "none" }],
    [{ label: "no", value: "no" }],
  ];
  const part = { kind: "text", text: "<p>hi</p>", entities: [], plain: "hi", buttons: rows } as never;
  expect(await channel.send(at, part, options)).toEqual({ messageId: "d1/0" });
  expect(did.splice(0)).toEqual([
    [
      "shows",
      conversationKey(at),
      "d1/0",
      {
        id: "d1/0",
        replaces: "d0/0",
        role: "assistant",
        text: "hi",
        html: "<p>hi</p>",
        buttons: [
          [
            { label: "yes", value: "/yes", style: "primary" },
            { label: "page", url: "https://x.org", style: "danger" },
          ],
          [{ label: "no", value: "no" }],
        ],
        atMs: 1_000,
      },
    ],
  ]);
  const plain = { idempotencyKey: "d2/0", signal: options.signal };
  await channel.send(at, { kind: "text", text: "x".repeat(1_000_000), entities: [], plain: "x" }, plain);
  expect(Object.keys((did[0] as [0, 0, 0, object])[3])).toEqual(["id", "role", "text", "html", "atMs"]);
  await expect(
    channel.send(at, { kind: "text", text: "x".repeat(1_000_001), entities: [], plain: "x" }, plain),
  ).rejects.toThrow("a text of 1000001 characters is longer than the 1000000 that a page takes");
  await expect(channel.send(at, { kind: "media", files: [] } as never, plain)).rejects.toMatchObject({
    code: "unsupported",
    message: "the web chat cannot show a media",
  });
  await expect(channel.send(at, part, { ...plain, signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: "aborted",
  });
  expect(did.splice(0)).toHaveLength(1);
  const note = { id: "n1", role: "assistant", text: "a", html: "", atMs: 7 } as const;
  await channel.announce(at, note);
  await channel.announce(at, note, "once");
  expect(did).toEqual([
    ["shows", conversationKey(at), "n1", note],
    ["shows", conversationKey(at), "once", note],
  ]);
});

test("a file is read up to the limit, and without a place for files none comes and none is read", async () => {
  const { channel } = whole();
  const { signal } = new AbortController();
  expect((await channel.download?.("abcd", 4, signal))?.bytes).toHaveLength(4);
  await expect(channel.download?.("abcde", 4, signal)).rejects.toMatchObject({
    code: "invalid",
    message: "the file has more than 4 bytes",
  });
  const { channel: bare } = open();
  await bare.start(async () => {});
  const file = { name: "a", bytes: new Uint8Array(1) };
  for (const work of [bare.download?.("a", 4, signal), bare.submit({ ...words, files: [file] })])
    await expect(work).rejects.toMatchObject({ code: "unsupported", message: "files cannot be sent here" });
});
