// A file that only the platform knew to be too large: words take its place, under the same key, and once.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { discord, type Channel } from "@parley/channels";
import { Fault, formatContent, silentLog, type RenderedPart } from "@parley/protocol";
import type { PartView } from "@parley/store";
import { defaultDiscordToken, fakeDiscord, seededIds, virtualClock, type FakeDiscord } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { partSender } from "../src/send-part.ts";

const tenMebibytes = 10 * 2 ** 20;
let fake: FakeDiscord;
let folder: string;
let channel: Channel;
let room: string;
beforeEach(async () => {
  fake = await fakeDiscord({ uploadBytes: tenMebibytes });
  fake.bot();
  room = fake.channel({ guild: fake.guild() });
  folder = await mkdtemp(join(tmpdir(), "parley-large-"));
  channel = await discord({
    account: "default",
    token: defaultDiscordToken,
    apiRoot: fake.apiRoot,
    mediaFolder: folder,
    memory: { load: async () => null, save: async () => {} },
    clock: virtualClock({ startMs: Date.now() }),
    ids: seededIds(1),
    log: silentLog,
  });
});
afterEach(async () => {
  await channel.stop();
  await fake.close();
  await rm(folder, { recursive: true });
});

const send = (part: RenderedPart) => {
  const view: PartView = {
    content: formatContent({ v: 1, kind: "rendered", part }),
    state: "sending",
    token: 1,
    startedAtMs: 0,
    attempts: 1,
    resends: 0,
    receipt: null,
    intoReceipt: null,
    reason: null,
    flagged: false,
  };
  return partSender().send(
    channel,
    { channel: "discord", account: "default", kind: "channel", peer: room },
    view,
    {
      lateMs: 0,
      beforeAnew: async () => {},
      idempotencyKey: "turn/0",
      signal: new AbortController().signal,
    },
  );
};
const media = async (name: string, bytes: number): Promise<Extract<RenderedPart, { kind: "media" }>> => {
  await writeFile(join(folder, name), new Uint8Array(bytes));
  const file = { path: name, name, bytes, mediaType: "application/zip" };
  const caption = { text: "see **this**\nand that", entities: [], plain: "see this\nand that" };
  return { kind: "media", media: "file", files: [file], caption };
};

test("it is named with its size, and its caption is kept", async () => {
  const receipt = await send(await media("a.zip", tenMebibytes + 1));
  expect(fake.visible(room)).toMatchObject([
    {
      id: receipt.messageId,
      files: [],
      text: "📎 a.zip (10 MB) is too large to be sent here.\n\nsee this\nand that",
    },
  ]);
  expect(await send(await media("b.zip", 26 * 2 ** 20))).toEqual(receipt);
});

test("a file that goes is sent as it is, and another refusal stays one", async () => {
  await send(await media("a.zip", tenMebibytes));
  expect(fake.visible(room)).toMatchObject([{ files: ["a.zip"] }]);
  const { files, ...rest } = await media("c.zip", 1);
  const gone = send({ ...rest, files: files.map((file) => ({ ...file, path: "gone" })) });
  await expect(gone).rejects.toThrow(Fault);
});
