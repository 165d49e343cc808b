// What goes out, against the strict fake: each message in the form that Discord takes, once, and every
// refusal as the Fault that decides right.
import { fileIsTooLarge, limitReach } from "@parley/channels";
import { oggOpusFile } from "@parley/testkit";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Button, Inbound, MediaFile, RenderedPart } from "@parley/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { expectFault, text } from "../contract.ts";
import { alice, discordRig, dm, type Rig } from "./rig.ts";

const create = "POST /channels/:channel/messages";
let rig: Rig;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-discord-"));
  rig = await discordRig({ mediaFolder: folder });
});
afterEach(async () => {
  await rig.close();
  await rm(folder, { recursive: true, force: true });
});

let sends = 0;
const how = (idempotencyKey = `turn-1/${++sends}`) => ({
  idempotencyKey,
  signal: new AbortController().signal,
});
const room = () => ({ channel: "discord", account: "default", kind: "channel", peer: rig.room }) as const;
const shown = (channel = rig.room) => rig.fake.visible(channel).filter((message) => message.byBot);
const receive = async (): Promise<void> => {};
const refuses = (status: number, code: number, message: string): void =>
  rig.fake.inject({ method: create, trouble: { kind: "answer", status, body: { code, message } } });

async function file(name: string, mediaType: string, bytes: Uint8Array): Promise<MediaFile> {
  const path = createHash("sha256").update(bytes).digest("hex");
  await writeFile(join(folder, path), bytes);
  return { path, mediaType, bytes: bytes.length, name };
}

test("a message rings nobody and shows no preview", async () => {
  rig.fake.as(alice).joins(rig.guild);
  await rig.channel.send(room(), text(`<@${alice.id}> @everyone see https://example.org`), how());
  expect(shown()[0]).toMatchObject({ pings: [], hasPreview: false });
  expect(rig.fake.violations()).toEqual([]);
});

test("previews are shown where the config wants them", async () => {
  const channel = await rig.open({ suppressEmbeds: false });
  await channel.send(room(), text("https://example.org"), how());
  expect(shown()[0]?.hasPreview).toBe(true);
});

test("a private chat is opened for its person", async () => {
  rig.fake.as(alice);
  await rig.channel.send(dm, text("hello"), how());
  expect(shown(rig.fake.as(alice).dm())[0]?.text).toBe("hello");
  expect(rig.fake.calls("POST /users/@me/channels")).toHaveLength(1);
  await rig.channel.send(dm, text("again"), how());
  expect(rig.fake.calls("POST /users/@me/channels")).toHaveLength(1);
});

test("every create has a nonce from its key, which Discord enforces: a repeat is shown once", async () => {
  const [first, again] = [
    await rig.channel.send(room(), text("once"), how("k/0")),
    await rig.channel.send(room(), text("once"), how("k/0")),
  ];
  expect(again).toEqual(first);
  expect(shown()).toHaveLength(1);
  await rig.channel.send(room(), text("once"), how("k/1"));
  expect(shown()).toHaveLength(2);
  expect(rig.fake.violations()).toEqual([]);
});

test("a reply quotes; what is gone, not a message, or cannot be quoted is left unquoted", async () => {
  const { id } = rig.fake.as(alice).says("question", { channel: rig.room });
  await rig.channel.send(room(), { ...text("answer"), replyTo: id } as RenderedPart, how());
  expect(shown()[0]?.replyTo).toBe(id);
  for (const replyTo of ["callback-7", "1000000000000000777"])
    await rig.channel.send(room(), { ...text("still"), replyTo } as RenderedPart, how());
  expect(shown().map(({ replyTo }) => replyTo)).toEqual([id, undefined, undefined]);
});

describe("buttons", () => {
  const withButtons = (...rows: readonly (readonly Button[])[]): RenderedPart =>
    ({ ...text("which?"), buttons: rows }) as RenderedPart;

  test("stand in rows of five, menus in rows of their own", async () => {
    const six = Array.from({ length: 6 }, (_, n) => ({ label: `b${n}`, value: `v${n}` }));
    const menu = {
      label: "Tea",
      value: "tea",
      choices: [
        { label: "Green", value: "g" },
        { label: "Black", value: "b" },
      ],
    };
    await rig.channel.send(
      room(),
      withButtons([...six, menu], [{ label: "Site", url: "https://example.org" }]),
      how(),
    );
    expect(shown()[0]?.buttons).toEqual([
      ["b0", "b1", "b2", "b3", "b4"],
      ["b5"],
      ["Green", "Black"],
      ["Site"],
    ]);
    expect(rig.fake.violations()).toEqual([]);
  });

  test("and menus have labels of at most a hundred characters", async () => {
    const [most, more] = ["x".repeat(100), "y".repeat(101)];
    const choices = [most, more].map((label) => ({ label, value: label.slice(0, 9) }));
    await rig.channel.send(room(), withButtons([{ label: "z".repeat(101), value: "m", choices }]), how());
    expect(rig.fake.violations()).toEqual([]);
    expect(shown()[0]?.buttons).toEqual([[most, `${"y".repeat(99)}…`]]);
  });

  test.each<[string, readonly (readonly Button[])[]]>([
    ["six rows", Array.from({ length: 6 }, (_, n) => [{ label: `${n}` }])],
    ["a value of 101 characters", [[{ label: "x", value: "x".repeat(101) }]]],
    [
      "the same value twice",
      [
        [
          { label: "a", value: "v" },
          { label: "b", value: "v" },
        ],
      ],
    ],
    [
      "a menu of 26",
      [[{ label: "m", choices: Array.from({ length: 26 }, (_, n) => ({ label: `${n}`, value: `${n}` })) }]],
    ],
  ])("%s are Fault invalid, and nothing is sent", async (_what, rows) => {
    await expectFault("invalid", rig.channel.send(room(), withButtons(...rows), how()));
    expect(rig.fake.calls(create)).toEqual([]);
  });
});

describe("files", () => {
  test("travel with their caption, byte for byte", async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, n) => n % 251);
    const files = [
      await file("a.bin", "application/octet-stream", bytes),
      await file("b.txt", "text/plain", new Uint8Array([1, 2])),
    ];
    await rig.channel.send(
      room(),
      { kind: "media", media: "file", files, caption: { text: "two", entities: [], plain: "two" } },
      how(),
    );
    expect(shown()[0]).toMatchObject({ text: "two", files: ["a.bin", "b.txt"] });
    expect(rig.fake.violations()).toEqual([]);
    const events: Inbound[] = [];
    await rig.channel.start(
      async (batch) => void events.push(...batch.filter((event) => "address" in event)),
    );
    rig.fake
      .as(alice)
      .says("", { channel: rig.room, files: [{ name: "c.bin", mediaType: "image/png", bytes }] });
    await expect.poll(() => events.length).toBe(1);
    const ref = events[0]?.attachments[0]?.ref ?? "";
    const got = await rig.channel.download?.(ref, bytes.length, new AbortController().signal);
    expect(Buffer.from(got?.bytes ?? []).equals(Buffer.from(bytes))).toBe(true);
  });

  describe("a recording", () => {
    const spoken = () =>
      file("v.ogg", "audio/ogg", oggOpusFile(Array.from({ length: 150 }, (_, n) => 20 + n)));

    test("of Ogg Opus is a voice message with its length and its waveform, also as an answer", async () => {
      const { id: replyTo } = rig.fake.as(alice).says("speak", { channel: rig.room });
      await rig.channel.send(room(), { kind: "voice", file: await spoken(), replyTo }, how());
      expect(shown()[0]).toMatchObject({ files: ["v.ogg"], voiceSeconds: 3, replyTo });
      expect(rig.fake.violations()).toEqual([]);
    });

    test("of another kind, and where no voice messages may be sent, is a sound file", async () => {
      const plain = await file("v.mp3", "audio/mpeg", new Uint8Array([1]));
      await rig.channel.send(room(), { kind: "voice", file: plain }, how());
      rig.fake.at(rig.room).deny("voice");
      const receipt = await rig.channel.send(room(), { kind: "voice", file: await spoken() }, how());
      expect(shown().map(({ files }) => files)).toEqual([["v.mp3"], ["v.ogg"]]);
      expect(shown().map(({ voiceSeconds }) => voiceSeconds)).toEqual([undefined, undefined]);
      expect(shown()[1]?.id).toBe(receipt.messageId);
    });
  });

  test("one that cannot be read is Fault missing; eleven, or too many bytes, Fault invalid; Discord's own limit too", async () => {
    const gone = { path: "nowhere", mediaType: "text/plain", bytes: 1, name: "gone.txt" };
    await expectFault(
      "missing",
      rig.channel.send(room(), { kind: "media", media: "file", files: [gone] }, how()),
    );
    const small = await file("s.txt", "text/plain", new Uint8Array([1]));
    await expectFault(
      "invalid",
      rig.channel.send(
        room(),
        { kind: "media", media: "file", files: Array.from({ length: 11 }, () => small) },
        how(),
      ),
    );
    const large = await file("l.bin", "application/zip", new Uint8Array(11 * 2 ** 20));
    const refused = await expectFault(
      "invalid",
      rig.channel.send(room(), { kind: "media", media: "file", files: [large] }, how()),
    );
    expect([refused, new Error("another")].map(fileIsTooLarge)).toEqual([true, false]);
    const huge = await file("h.bin", "application/zip", new Uint8Array(26 * 2 ** 20));
    const fault = await expectFault(
      "invalid",
      rig.channel.send(room(), { kind: "media", media: "file", files: [huge] }, how()),
    );
    expect(fileIsTooLarge(fault)).toBe(true);
    expect(fault.message).toMatch(/h\.bin: \d+ bytes; Discord takes at most \d+ here/);
    expect(shown()).toEqual([]);
  });
});

test("a poll is Discord's own; an anonymous one is unsupported", async () => {
  const poll = {
    kind: "poll",
    question: "Tea?",
    options: ["yes", "no"],
    multiple: false,
    anonymous: false,
  } as const;
  await rig.channel.send(room(), poll, how());
  expect(rig.fake.violations()).toEqual([]);
  expect(shown()[0]?.poll).toEqual({ question: "Tea?", answers: ["yes", "no"] });
  await expectFault("unsupported", rig.channel.send(room(), { ...poll, anonymous: true }, how()));
  const eleven = Array.from({ length: 11 }, (_, n) => `option ${n}`);
  await expectFault("invalid", rig.channel.send(room(), { ...poll, options: eleven }, how()));
  await expectFault("invalid", rig.channel.send(room(), { ...poll, options: ["x".repeat(56)] }, how()));
  expect(shown()).toHaveLength(1);
});

test("what is silent rings nobody, and a poll is open as long as it is told to", async () => {
  const poll = {
    kind: "poll",
    question: "Tea?",
    options: ["yes"],
    multiple: false,
    anonymous: false,
  } as const;
  await rig.channel.send(room(), { ...poll, hours: 768, silent: true }, how());
  await expectFault("invalid", rig.channel.send(room(), { ...poll, hours: 769 }, how()));
  const bodies = rig.fake.calls("POST /channels/:channel/messages").map(({ body }) => body);
  expect(bodies).toEqual([
    expect.objectContaining({ flags: 4_100, poll: expect.objectContaining({ duration: 768 }) }),
  ]);
});

test("a text to a forum opens a post with its first line as title, and what follows goes into it", async () => {
  const forum = rig.fake.channel({ guild: rig.guild, kind: "forum" });
  const to = { ...room(), peer: forum };
  const first = await rig.channel.send(to, text("Which tea?\nI ask for a friend."), how());
  expect(rig.fake.visible(forum)[0]).toMatchObject({
    kind: "post",
    thread: { title: "Which tea?" },
    text: "Which tea?\nI ask for a friend.",
  });
  await rig.channel.send(to, text("And more."), { ...how(), follows: first });
  const post = first.messageId;
  expect(shown(post).map((message) => message.text)).toEqual([
    "Which tea?\nI ask for a friend.",
    "And more.",
  ]);
  expect(rig.fake.visible(forum)).toHaveLength(1);
  expect(rig.fake.violations()).toEqual([]);
});

test.each([
  ["t".repeat(100), "t".repeat(100)],
  ["t".repeat(101), `${"t".repeat(99)}…`],
  [" \n  The third line  \nmore", "The third line"],
])("the post of %j has the title %j", async (words, title) => {
  const forum = rig.fake.channel({ guild: rig.guild, kind: "forum" });
  await rig.channel.send({ ...room(), peer: forum }, text(words), how());
  expect(rig.fake.visible(forum)[0]).toMatchObject({ thread: { title } });
  expect(rig.fake.violations()).toEqual([]);
});

test("a thread is its own place", async () => {
  const thread = rig.fake.as(alice).opensThread("Tea", { channel: rig.room });
  await rig.channel.send({ ...room(), thread }, text("in the thread"), how());
  expect(shown(thread).map((message) => message.text)).toEqual(["in the thread"]);
});

describe("refusals", () => {
  test.each<[number, number, Parameters<typeof expectFault>[0]]>([
    [404, 10003, "missing"],
    [403, 50001, "denied"],
    [403, 50007, "denied"],
    [403, 50013, "denied"],
    [403, 160005, "denied"],
    [400, 50083, "denied"],
    [400, 50035, "invalid"],
    [413, 40005, "invalid"],
    [401, 0, "unavailable"],
    [500, 0, "ambiguous"],
    [502, 0, "ambiguous"],
    [503, 0, "ambiguous"],
  ])("%i with code %i is Fault %s", async (status, code, fault) => {
    refuses(status, code, "Refused");
    const { message } = await expectFault(fault, rig.channel.send(room(), text("no"), how()));
    expect(message).not.toContain("fake00");
    expect(rig.fake.calls(create)).toHaveLength(1);
  });

  test("an answer of 401 does not make the next call forget the token", async () => {
    refuses(401, 0, "401: Unauthorized");
    await expectFault("unavailable", rig.channel.send(room(), text("no"), how()));
    await rig.channel.send(room(), text("yes"), how());
    expect(shown()).toHaveLength(1);
  });

  test("an answer of 401 takes the account down until a call is taken again; it is asked by itself", async () => {
    await rig.channel.start(async () => {});
    expect(rig.channel.health().state).toBe("ok");
    refuses(401, 0, "401: Unauthorized");
    await expectFault("unavailable", rig.channel.send(room(), text("no"), how()));
    expect(rig.channel.health()).toMatchObject({ state: "down", reason: expect.stringContaining("401") });
    const asked = () => rig.fake.calls("GET /users/@me").length;
    const before = asked();
    await rig.clock.advance(60_000);
    await expect.poll(asked).toBe(before + 1);
    await expect.poll(() => rig.channel.health().state).toBe("ok");
  });

  test("a bucket's limit is of the chat, a global one of the account", async () => {
    const limited = (body: object, headers: Readonly<Record<string, string>>) =>
      rig.fake.inject({ method: create, trouble: { kind: "answer", status: 429, body, headers } });
    limited(
      { message: "You are being rate limited.", retry_after: 0.5, global: false },
      { "x-ratelimit-scope": "user", "retry-after": "1" },
    );
    const bucket = await expectFault("rate_limited", rig.channel.send(room(), text("no"), how()));
    expect(limitReach(bucket)).toBe("chat");
    const other = await rig.open();
    limited(
      { message: "You are being rate limited.", retry_after: 0.5, global: true },
      { "x-ratelimit-global": "true", "retry-after": "1" },
    );
    expect(limitReach(await expectFault("rate_limited", other.send(room(), text("no"), how())))).toBe(
      "account",
    );
  });

  test.each([
    ["a proxy's page instead of an answer", { kind: "answer", status: 200, body: "<html>" }],
    ["half an answer", { kind: "truncate" }],
    ["a reset", { kind: "reset" }],
  ] as const)("%s is Fault ambiguous, and nothing is retried", async (_what, trouble) => {
    rig.fake.inject({ method: create, trouble });
    await expectFault("ambiguous", rig.channel.send(room(), text("perhaps"), how()));
    expect(rig.fake.calls(create).length).toBeLessThanOrEqual(1);
  });

  test("nobody there is Fault unavailable: it was certainly not sent", async () => {
    const nobody = await rig.open({ apiRoot: "http://127.0.0.1:9" });
    await expectFault("unavailable", nobody.send(room(), text("no"), how()));
  });

  test.each(["user", "shared", "global"])(
    "a limit of scope %s is Fault rate_limited with Discord's exact wait",
    async (scope) => {
      const body = { message: "You are being rate limited.", retry_after: 1.25, global: scope === "global" };
      const headers = {
        "Retry-After": "2",
        "X-RateLimit-Scope": scope,
        ...(scope === "global" ? { "X-RateLimit-Global": "true" } : {}),
      };
      rig.fake.inject({ method: create, trouble: { kind: "answer", status: 429, body, headers } });
      const { retryAfterMs = 0 } = await expectFault(
        "rate_limited",
        rig.channel.send(room(), text("soon"), how()),
      );
      expect(retryAfterMs).toBeGreaterThan(1_150);
      expect(retryAfterMs).toBeLessThanOrEqual(1_250);
    },
  );

  test("a bucket that is used up is waited for without asking", async () => {
    await rig.close();
    rig = await discordRig({}, { rateLimits: true });
    for (let n = 0; n < 5; n++) await rig.channel.send(room(), text(`${n}`), how());
    const guess = await expectFault("rate_limited", rig.channel.send(room(), text("6"), how()));
    expect(guess.retryAfterMs).toBeGreaterThan(0);
    // A guess of ours: nobody else waits for it.
    expect(limitReach(guess)).toBe("chat");
    expect(rig.fake.calls(create)).toHaveLength(5);
  });

  test("an id that is none is Fault invalid before anything is asked", async () => {
    for (const peer of ["", "alice", "../1", "1e3"])
      await expectFault("invalid", rig.channel.send({ ...room(), peer }, text("x"), how()));
    expect(rig.fake.calls(create)).toEqual([]);
  });
});

describe("our own messages are read back", () => {
  const since = (part: RenderedPart) =>
    rig.channel.sentSince?.(room(), part, Date.now() - 60_000, new AbortController().signal);

  test("by what they say, ours alone, the oldest first", async () => {
    await rig.channel.start(receive);
    rig.fake.as(alice).says("same", { channel: rig.room });
    const first = await rig.channel.send(room(), text("same"), how());
    await rig.channel.send(room(), text("other"), how());
    const second = await rig.channel.send(room(), text("same"), how());
    expect(await since(text("same"))).toEqual([first, second]);
    expect(await since(text("nothing"))).toEqual([]);
  });

  test("with their files", async () => {
    await rig.channel.start(receive);
    const media = {
      kind: "media",
      media: "file",
      files: [await file("a.txt", "text/plain", new Uint8Array([1, 2, 3]))],
    } as const;
    const sent = await rig.channel.send(room(), media, how());
    expect(await since(media)).toEqual([sent]);
    expect(
      await since({ ...media, files: [await file("b.txt", "text/plain", new Uint8Array([1]))] }),
    ).toEqual([]);
  });

  test("as a forum's posts", async () => {
    await rig.channel.start(receive);
    const to = { ...room(), peer: rig.fake.channel({ guild: rig.guild, kind: "forum" }) };
    const sent = await rig.channel.send(to, text("A post"), how());
    expect(
      await rig.channel.sentSince?.(to, text("A post"), Date.now() - 60_000, new AbortController().signal),
    ).toEqual([sent]);
  });

  test("not where the history is closed to us: that is said, not guessed", async () => {
    await rig.channel.start(receive);
    rig.fake.at(rig.room).deny("view");
    expect(await since(text("same"))).toBeNull();
  });
});

describe("a file's address", () => {
  const ref = (url: string) => JSON.stringify([rig.room, "1", "2", url]);
  const fetch = (url: string) =>
    rig.channel.download?.(ref(url), 100, new AbortController().signal) ??
    Promise.reject(new Error("no download"));

  test.each([
    "https://evil.example/a",
    "http://169.254.169.254/latest",
    "http://cdn.discordapp.com/a",
    "file:///etc/passwd",
    "no address",
  ])("%s is not fetched", async (url) => {
    await expectFault("denied", fetch(url));
  });

  test("that has expired is asked for again", async () => {
    const events: Inbound[] = [];
    await rig.channel.start(
      async (batch) => void events.push(...batch.filter((event) => "address" in event)),
    );
    rig.fake
      .as(alice)
      .says("", { files: [{ name: "a.txt", mediaType: "text/plain", bytes: new Uint8Array([1, 2, 3]) }] });
    await expect.poll(() => events.length).toBe(1);
    rig.fake.inject({ method: "download", trouble: { kind: "answer", status: 404, body: "expired" } });
    const [channel, message, id, url = ""] = JSON.parse(events[0]?.attachments[0]?.ref ?? "[]") as string[];
    const old = JSON.stringify([channel, message, id, `${url}${url.includes("?") ? "&" : "?"}ex=old`]);
    expect([...((await rig.channel.download?.(old, 10, new AbortController().signal))?.bytes ?? [])]).toEqual(
      [1, 2, 3],
    );
  });
});
