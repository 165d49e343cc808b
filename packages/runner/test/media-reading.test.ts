// What becomes of each kind of attachment, and what the model is told of it: a channel as a test says, a
// real store and folder.
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault, formatRowPayload, silentLog, type Attachment } from "@parley/protocol";
import { directMessage, virtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { looksLikePicture, pictureKind } from "../src/media/media-type.ts";
import { turnMedia } from "../src/media/attachments.ts";
import { extensionOf, mediaFolder } from "../src/media/media-store.ts";
import { knownReading, mediaReader } from "../src/media/read-attachment.ts";
import { memoryStore } from "./store.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-media-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
});
const png = Buffer.from("89504e470d0a1a0a00000000", "hex");
const bytesOf = (text: string): Uint8Array => Buffer.from(text);
const file = (ref: string, more: object = {}): Attachment => ({
  kind: "file",
  ref,
  name: `${ref}.txt`,
  ...more,
});

interface Around {
  readonly given?: (ref: string, limit: number) => Uint8Array;
  readonly downloads?: false;
  readonly pictures?: (bytes: Uint8Array) => object;
  readonly hears?: (speech: { readonly mediaType: string }) => string;
}

async function setUp({ given = () => bytesOf("text"), downloads, pictures, hears }: Around = {}) {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  const asked: string[] = [];
  const channel = {
    name: "telegram",
    capabilities: { downloadBytes: 1_000_000 },
    ...(downloads === false
      ? {}
      : {
          download: async (ref: string, limit: number) => {
            asked.push(ref);
            return { bytes: given(ref, limit) };
          },
        }),
  };
  const reader = mediaReader(
    {
      folder: mediaFolder(home),
      ...(pictures === undefined
        ? {}
        : { pictures: { keep: async (bytes: Uint8Array) => pictures(bytes) } as never }),
      ...(hears === undefined ? {} : { transcribe: async (speech) => hears(speech as never) }),
    },
    store.cells,
    clock,
    silentLog,
  );
  const stop = new AbortController();
  const late = new AbortController();
  const read = (attachment: Attachment, account = "telegram:default") =>
    reader(account, channel as never, attachment, stop.signal, late.signal);
  return { clock, store, asked, read, reader, channel, stop, late };
}

test("each kind is read as what its bytes are: text, a picture, a file that is kept, or words alone", async () => {
  const { read, asked } = await setUp({
    given: (ref) =>
      ref.startsWith("png")
        ? png
        : ref === "zip"
          ? Buffer.from([80, 75, 0, 1])
          : ref === "latin"
            ? Buffer.from([0x67, 0xfc, 0x6e])
            : bytesOf("words"),
    pictures: (bytes) =>
      bytes.length === png.length ? { path: "kept.png", mediaType: "image/png" } : { refused: "it is none" },
    hears: ({ mediaType }) => `  heard ${mediaType} `,
  });
  expect(await read(file("a"))).toEqual({
    kind: "text",
    path: expect.stringMatching(/\.txt$/),
    text: "words",
  });
  expect(await read(file("zip"))).toEqual({ kind: "file", path: expect.any(String) });
  expect(await read(file("latin"))).toEqual({ kind: "file", path: expect.any(String) });
  // A picture that was sent as a file is seen, and a picture that is none is kept.
  expect(await read(file("png1"))).toEqual({ kind: "picture", path: "kept.png", mediaType: "image/png" });
  expect(await read({ kind: "image", ref: "png2" })).toMatchObject({ kind: "picture" });
  expect(await read({ kind: "image", ref: "none" })).toEqual({
    kind: "file",
    path: expect.any(String),
    note: "it is none",
  });
  expect(await read({ kind: "sticker", ref: "png3", mediaType: "image/webp" })).toMatchObject({
    kind: "picture",
  });
  expect(await read({ kind: "voice", ref: "v1" })).toEqual({ kind: "spoken", text: "heard audio/ogg" });
  expect(await read({ kind: "voice", ref: "v2", mediaType: "audio/mp4" })).toEqual({
    kind: "spoken",
    text: "heard audio/mp4",
  });
  const before = asked.length;
  for (const kind of ["video", "audio"] as const)
    expect(await read({ kind, ref: kind })).toEqual({ kind: "described" });
  expect(await read({ kind: "sticker", ref: "s", mediaType: "video/webm" })).toEqual({ kind: "described" });
  expect(asked).toHaveLength(before);
  const deaf = await setUp();
  expect([await deaf.read({ kind: "voice", ref: "v" }), deaf.asked]).toEqual([{ kind: "described" }, []]);
  expect(await deaf.read({ kind: "image", ref: "i" })).toMatchObject({ note: "pictures are not shown here" });
});

test("a long document is cut at 16,000 characters, also within a character of several bytes, and says so", async () => {
  const texts: { readonly [ref: string]: string } = {
    whole: "x".repeat(16_000),
    long: "x".repeat(16_001),
    wide: "😀".repeat(20_000),
    odd: `x${"😀".repeat(8_000)}`,
    split: `x${"ä".repeat(40_000)}`,
    null: `${"x".repeat(70_000)}\0`,
  };
  const { read } = await setUp({ given: (ref) => bytesOf(texts[ref] ?? "") });
  const text = async (ref: string) => {
    const reading = await read(file(ref));
    return reading.kind === "text" ? reading.text : reading.kind;
  };
  expect(await text("whole")).toBe(texts["whole"]);
  expect(await text("long")).toBe(`${"x".repeat(16_000)}\n[cut here; the file has 16001 bytes]`);
  expect(await text("wide")).toBe(`${"😀".repeat(8_000)}\n[cut here; the file has 80000 bytes]`);
  expect(await text("odd")).toBe(`x${"😀".repeat(7_999)}\u{fffd}\n[cut here; the file has 32001 bytes]`);
  // The last character that is looked at is half of one.
  expect(await text("split")).toBe(`x${"ä".repeat(15_999)}\n[cut here; the file has 80001 bytes]`);
  expect(await text("null")).toMatch(/^x{16000}\n\[cut here/);
  expect(await text("empty")).toBe("");
});

test("what is found is remembered for a day, by account; what may pass for ten minutes", async () => {
  let fails: Fault | null = null;
  const { clock, read, store, asked } = await setUp({
    given: () => {
      if (fails !== null) throw fails;
      return bytesOf("text");
    },
  });
  await read(file("a"));
  await clock.advance(86_399_999);
  await read(file("a"));
  expect(asked).toEqual(["a"]);
  expect(await knownReading(store.cells, "telegram:default", file("a"))).toMatchObject({ kind: "text" });
  expect(await knownReading(store.cells, "telegram:work", file("a"))).toBeNull();
  await clock.advance(1);
  await read(file("a"));
  await read(file("a"), "telegram:work");
  expect(asked).toEqual(["a", "a", "a"]);
  fails = new Fault("denied", "not now");
  const passing = {
    kind: "unavailable",
    reason: 'file "b.txt", it could not be fetched; it may work when it is sent again',
    mayPass: true,
  };
  expect(await read(file("b"))).toEqual(passing);
  fails = null;
  await clock.advance(599_999);
  expect(await read(file("b"))).toEqual(passing);
  await clock.advance(1);
  expect(await read(file("b"))).toMatchObject({ kind: "text" });
});

test("a file that is gone, too large or not handed out is told in plain words, and asked for no more", async () => {
  let code: Fault["code"] = "missing";
  const { clock, read, asked } = await setUp({
    given: () => {
      throw new Fault(code, "secret words of a platform");
    },
  });
  const why = async (attachment: Attachment) => {
    const reading = await read(attachment);
    return reading.kind === "unavailable" ? [reading.reason, reading.mayPass ?? false] : reading.kind;
  };
  expect(await why(file("a"))).toEqual(['file "a.txt", the platform no longer has it', false]);
  await clock.advance(3_600_000);
  expect(await why(file("a"))).toEqual(['file "a.txt", the platform no longer has it', false]);
  expect(asked).toEqual(["a"]);
  code = "invalid";
  expect(await why({ kind: "image", ref: "b" })).toEqual(["image, too large to be fetched", false]);
  const before = asked.length;
  expect(await why(file("c", { bytes: 1_000_001 }))).toEqual([
    'file "c.txt", 1.0 MB, and bots on telegram get at most 1.0 MB',
    false,
  ]);
  expect(asked).toHaveLength(before);
  expect(await why(file("d", { bytes: 1_000_000 }))).toEqual([
    'file "d.txt", too large to be fetched',
    false,
  ]);
  const none = await setUp({ downloads: false });
  expect(await none.read(file("e"))).toMatchObject({
    reason: 'file "e.txt", this channel hands out no files',
  });
});

test("a connection that is lost once is tried again, after as long as the platform asks, at most ten seconds", async () => {
  const after = async (fault: Fault, waitMs: number) => {
    let tries = 0;
    const { clock, read } = await setUp({
      given: () => {
        tries += 1;
        if (tries === 1) throw fault;
        return bytesOf("text");
      },
    });
    const reading = read(file("a"));
    await clock.advance(waitMs - 1);
    const before = tries;
    await clock.advance(1);
    return [before, tries, (await reading).kind];
  };
  expect(await after(new Fault("unavailable", "lost"), 1_000)).toEqual([1, 2, "text"]);
  expect(await after(new Fault("rate_limited", "slow", { retryAfterMs: 4_000 }), 4_000)).toEqual([
    1,
    2,
    "text",
  ]);
  expect(await after(new Fault("rate_limited", "slow", { retryAfterMs: 60_000 }), 10_000)).toEqual([
    1,
    2,
    "text",
  ]);
});

test("speech that cannot be understood is told; a stop and a flaw of ours are not taken for one", async () => {
  let fails: Error = new Fault("unavailable", "the service is away");
  const { read, store, stop } = await setUp({
    hears: () => {
      throw fails;
    },
  });
  expect(await read({ kind: "voice", ref: "a" })).toEqual({
    kind: "unavailable",
    reason: "voice message, it could not be transcribed",
  });
  fails = new TypeError("flaw");
  await expect(read({ kind: "voice", ref: "b" })).rejects.toThrow("flaw");
  fails = new Fault("aborted", "stopped");
  stop.abort(fails);
  await expect(read({ kind: "voice", ref: "c" })).rejects.toThrow("stopped");
  expect(await knownReading(store.cells, "telegram:default", { kind: "voice", ref: "c" })).toBeNull();
});

async function told(attachments: readonly Attachment[], around: Around = {}, more: object = {}) {
  const { reader, channel, clock, stop, asked } = await setUp(around);
  const media = turnMedia(
    { readMedia: reader, clock },
    { account: "telegram:default", channel: channel as never, signal: stop.signal },
  );
  const inbound = directMessage({ text: "see", attachments: [...attachments], ...more } as never);
  const row = { id: "r", payload: formatRowPayload({ v: 1, inbound, owner: false }) } as never;
  const words = media.read(row);
  await media.prepare([row]);
  await media.prepare([row]);
  return { words, asked, ...media.read(row) };
}

test("three long documents stand in the message, and what has no room is kept; short ones after it still stand", async () => {
  const { inbound, documents, asked, words } = await told(
    [file("a"), file("b"), file("c"), file("d"), file("e")],
    {
      given: (ref) => bytesOf(ref === "e" ? "short" : "x".repeat(20_000)),
    },
  );
  expect(documents?.map(({ name, text }) => `${name} ${text.length > 16_000}`)).toEqual([
    "a.txt true",
    "b.txt true",
    "c.txt true",
    "e.txt false",
  ]);
  expect(inbound.attachments.map(({ description }) => description?.replace(/kept as .*/, "kept"))).toEqual([
    "its text stands below",
    "its text stands below",
    "its text stands below",
    "kept",
    "its text stands below",
  ]);
  expect([asked.length, await readdir(home).then((names) => names.length)]).toEqual([5, 2]);
  // Before its files were looked at a message is its words alone.
  expect([words.documents, words.images, words.inbound.attachments[0]?.description]).toEqual([
    [],
    [],
    undefined,
  ]);
});

test("what was said in a recording joins the words of its sender, or those of the message that was passed on", async () => {
  const hears = () => "hello there";
  const voice: Attachment = { kind: "voice", ref: "v", description: "3 s" };
  const own = await told([voice], { hears });
  expect([own.inbound.text, own.inbound.attachments[0]?.description]).toEqual([
    "see\nhello there",
    "3 s; the words above are its transcript",
  ]);
  expect((await told([voice], { hears }, { text: "" })).inbound.text).toBe("hello there");
  const silent = await told([voice], { hears: () => " " });
  expect([silent.inbound.text, silent.inbound.attachments[0]?.description]).toEqual([
    "see",
    "3 s; nothing was said in it",
  ]);
  const enclosed = [
    { kind: "embed", words: ["a link"] },
    { kind: "forward", from: "Bob", words: ["hi"] },
  ];
  const quiet = await told([voice], { hears: () => "" }, { enclosed });
  expect(quiet.inbound.enclosed?.map(({ words }) => words)).toEqual([["a link"], ["hi"]]);
  const passedOn = await told([voice], { hears }, { enclosed });
  expect([passedOn.inbound.text, passedOn.inbound.enclosed?.map(({ words }) => words)]).toEqual([
    "see",
    [["a link"], ["hi", "hello there"]],
  ]);
});

test("pictures go along in their order, and what is missing is told once each", async () => {
  const { images, inbound } = await told(
    [
      { kind: "image", ref: "1" },
      { kind: "image", ref: "gone" },
      { kind: "image", ref: "2" },
    ],
    {
      given: (ref) => {
        if (ref === "gone") throw new Fault("missing", "gone");
        return bytesOf(ref);
      },
      pictures: (bytes) => ({ path: `${Buffer.from(bytes).toString()}.png`, mediaType: "image/png" }),
    },
  );
  expect(images.map(({ path }) => path)).toEqual(["1.png", "2.png"]);
  expect(inbound.unavailable).toEqual(["image, the platform no longer has it"]);
});

test("a picture is known by its first bytes: four kinds that models take, and those that can be made one", () => {
  const padded = (head: string): Buffer => Buffer.concat([Buffer.from(head, "latin1"), Buffer.alloc(16)]);
  const heads = {
    jpeg: "\u00ff\u00d8\u00ff\u00e0",
    png: "\u0089PNG\r\n\u001a\n",
    "half png": "\u0089PNG",
    "gif 87": "GIF87a",
    "gif 89": "GIF89a",
    "no gif": "GIF88a",
    webp: "RIFF\n\0\r\0WEBPVP8 ",
    wave: "RIFF\n\0\r\0WAVEfmt ",
    avif: "\0\0\n\u001cftypavif",
    "moving avif": "\0\0\0\u001cftypavis",
    heic: "\0\0\0\u0018ftypheic",
    heix: "\0\0\0\u0018ftypheix",
    mif1: "\0\0\0\u0018ftypmif1",
    mp4: "\0\0\0\u0018ftypisom",
    "tiff of Intel": "II*\0",
    "tiff of Motorola": "MM\0*",
    "no tiff": "MM*\0",
    "tiff later": " II*\0",
    text: "hello",
  };
  const found = Object.entries(heads).map(([name, head]) => {
    const kind = pictureKind(padded(head));
    return `${name}: ${kind === null ? "none" : `${kind.mediaType} .${kind.extension}`}, ${looksLikePicture(padded(head))}`;
  });
  expect(found).toEqual([
    "jpeg: image/jpeg .jpg, true",
    "png: image/png .png, true",
    "half png: none, false",
    "gif 87: image/gif .gif, true",
    "gif 89: image/gif .gif, true",
    "no gif: none, false",
    "webp: image/webp .webp, true",
    "wave: none, false",
    "avif: none, true",
    "moving avif: none, true",
    "heic: none, true",
    "heix: none, true",
    "mif1: none, true",
    "mp4: none, false",
    "tiff of Intel: none, true",
    "tiff of Motorola: none, true",
    "no tiff: none, false",
    "tiff later: none, false",
    "text: none, false",
  ]);
});

test("a file is kept once by its content, for its owner alone, by an extension that no name can bend", async () => {
  expect(
    [
      "a.PDF",
      "b.tar.gz",
      "c.",
      "d",
      undefined,
      "e.123456789",
      "f.12345678",
      "g.a/b",
      "h.p df",
      ".md",
      "i.ä",
    ].map(extensionOf),
  ).toEqual(["pdf", "gz", "bin", "bin", "bin", "bin", "12345678", "bin", "bin", "md", "bin"]);
  const folder = join(home, "new", "media");
  const files = mediaFolder(folder);
  const hash = createHash("sha256").update("words").digest("hex");
  const kept = await Promise.all([files.keep(bytesOf("words"), "txt"), files.keep(bytesOf("words"), "txt")]);
  expect(kept).toEqual([`${hash}.txt`, `${hash}.txt`]);
  expect([await readdir(folder), await readFile(join(folder, `${hash}.txt`), "utf8")]).toEqual([
    [`${hash}.txt`],
    "words",
  ]);
  const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
  expect([await mode(folder), await mode(join(folder, `${hash}.txt`))]).toEqual([0o700, 0o600]);
  // Each arrival makes it new, or the sweep of old files would take what somebody just sent.
  await utimes(join(folder, `${hash}.txt`), 1, 1);
  await files.keep(bytesOf("words"), "txt");
  expect((await stat(join(folder, `${hash}.txt`))).mtimeMs).toBeGreaterThan(1_000_000);
  await expect(mediaFolder(join(folder, `${hash}.txt`)).keep(bytesOf("x"), "txt")).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/^a file cannot be kept in .*\.txt: .*EEXIST|ENOTDIR/) as string,
  });
});

test("the log says what a file was and why it was not fetched or shown", async () => {
  const lines: unknown[] = [];
  const { store, clock } = await setUp();
  const reader = mediaReader(
    {
      folder: mediaFolder(home),
      pictures: { keep: async () => ({ refused: "too many pixels" }) } as never,
      transcribe: async () => Promise.reject(new Fault("rate_limited", "slow down")),
    },
    store.cells,
    clock,
    { ...silentLog, warn: (fields: unknown, words: string) => void lines.push([words, fields]) },
  );
  const channel = {
    name: "telegram",
    capabilities: { downloadBytes: 9 },
    download: async (ref: string) =>
      ref === "gone" ? Promise.reject(new Fault("missing", "no such file")) : { bytes: png },
  } as never;
  const { signal } = new AbortController();
  for (const each of [file("gone"), { kind: "image", ref: "p" }, { kind: "voice", ref: "v" }] as const)
    await reader("telegram:default", channel, each, signal, signal);
  expect(lines).toEqual([
    ["a file could not be fetched", { kind: "file", code: "missing", reason: "no such file" }],
    ["a picture is not shown", { kind: "image", reason: "too many pixels" }],
    ["a voice message could not be transcribed", { code: "rate_limited", reason: "slow down" }],
  ]);
});
