// How long a conversation waits for the files of a message, over a channel whose files never come.
import type { Channel } from "@parley/channels";
import { Fault, type Attachment, silentLog, formatRowPayload } from "@parley/protocol";
import type { Row } from "@parley/store";
import { virtualClock, directMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { mediaFolder } from "../src/media/media-store.ts";
import { mediaReader } from "../src/media/read-attachment.ts";
import { turnMedia } from "../src/media/attachments.ts";
import { memoryStore } from "./store.ts";

const clock = virtualClock();
const files: readonly Attachment[] = Array.from({ length: 9 }, (_, n) => ({
  kind: "file",
  ref: `f${n}`,
  name: `n${n}.txt`,
}));

async function reading() {
  const store = await memoryStore(clock);
  let asked = 0;
  const download: NonNullable<Channel["download"]> = (_ref, _limit, signal) => {
    asked += 1;
    return new Promise((_resolve, reject) => {
      const give = (): void => reject(new Fault("aborted", "given up"));
      if (signal.aborted) give();
      else signal.addEventListener("abort", give);
    });
  };
  const channel = {
    name: "telegram",
    account: "default",
    capabilities: { downloadBytes: 1_000 },
    download,
  } as unknown as Channel;
  const readMedia = mediaReader({ folder: mediaFolder("/nowhere") }, store.cells, clock, silentLog);
  const inbound = directMessage({ text: "see these", attachments: [...files] });
  const row = { id: "r", payload: formatRowPayload({ v: 1, inbound, owner: false }) } as Row;
  const stop = new AbortController();
  const anew = () =>
    turnMedia({ readMedia, clock }, { account: "telegram:default", channel, signal: stop.signal });
  return { media: anew(), anew, row, stop, asked: () => asked };
}

test("files that do not come hold their conversation for half a minute in all, and the message goes on without them", async () => {
  const { media, row } = await reading();
  let isOver = false;
  const prepared = media.prepare([row]).then(() => (isOver = true));
  await clock.advance(27_000);
  expect(isOver).toBe(false);
  await clock.advance(3_000);
  await prepared;
  const { inbound } = media.read(row);
  expect(inbound.text).toBe("see these");
  expect(inbound.unavailable).toHaveLength(9);
  expect(inbound.unavailable?.[0]).toBe(
    'file "n0.txt", it did not come in time; it may work when it is sent again',
  );
});

test("the same file is asked for again when it is sent later", async () => {
  const { anew, row, asked } = await reading();
  const prepare = async (): Promise<void> => {
    const prepared = anew().prepare([row]);
    await clock.advance(30_000);
    await prepared;
  };
  await prepare();
  const first = asked();
  expect(first).toBeGreaterThan(0);
  await prepare();
  expect(asked()).toBe(first);
  await clock.advance(10 * 60_000);
  await prepare();
  expect(asked()).toBe(2 * first);
});

test("a stop ends the waiting at once", async () => {
  const { media, row, stop } = await reading();
  const prepared = media.prepare([row]);
  stop.abort();
  await expect(prepared).rejects.toThrow("given up");
});
