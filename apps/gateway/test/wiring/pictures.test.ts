// Pictures that models are shown: kept by their content, and recognised without decoding them again while
// their file is there. Its age says when it was last needed.
import { mkdtempSync, rmSync, statSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { wirePictures } from "../../src/wiring/pictures.ts";

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32BE(data.length, 0);
  numbers.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([numbers.subarray(0, 4), named, numbers.subarray(4)]);
}

/** A PNG of one grey. */
function png(width: number, height: number, grey: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 8;
  const row = Buffer.concat([Buffer.of(0), Buffer.alloc(width, grey)]);
  const rows = Buffer.concat(Array.from({ length: height }, () => row));
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

test("the same bytes are the same file, needed now; where it went it is made anew; what is no picture is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-pictures-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const clock = virtualClock({ startMs: Date.UTC(2030, 0, 1) });
  const { port, close } = wirePictures(folder, clock);
  onTestFinished(close);
  const { signal } = new AbortController();
  const keep = async (bytes: Buffer) => {
    const kept = await port.keep(bytes, signal);
    if ("refused" in kept) throw new Error(kept.refused);
    return kept;
  };
  const first = await keep(png(20, 10, 100));
  expect(first).toMatchObject({ width: 20, height: 10, mediaType: expect.stringMatching(/^image\//) });
  const other = await keep(png(10, 20, 100));
  expect([other.width, other.path === first.path]).toEqual([10, false]);
  expect(await keep(png(20, 10, 100))).toBe(first);
  expect(statSync(join(folder, first.path)).mtimeMs).toBe(clock.now());
  unlinkSync(join(folder, first.path));
  const again = await keep(png(20, 10, 100));
  expect([again, again === first]).toEqual([first, false]);
  expect(statSync(join(folder, again.path)).size).toBeGreaterThan(0);
  for (let n = 0; n < 2; n += 1)
    expect(await port.keep(Buffer.from("no picture"), signal)).toMatchObject({ refused: expect.any(String) });
});

test("nothing is started, and nothing to end, where no picture came", async () => {
  const { close } = wirePictures("/nowhere", virtualClock());
  expect(await close()).toBeUndefined();
});
