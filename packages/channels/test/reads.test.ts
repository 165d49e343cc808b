// Fetching a file from a server that stalls, trickles or sends too much: a conversation waits for it, so its
// times are bounds to the millisecond.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fetchedFile } from "../src/reads.ts";
import { transport } from "../src/transport.ts";
import { expectFault } from "./contract.ts";

let server: Server;
let answering: ServerResponse;
beforeEach(async () => {
  server = createServer((_, response) => {
    answering = response;
    server.emit("asked");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

const clock = virtualClock();
const line = transport(clock, "Testland");

async function asked(
  limitBytes = 100,
): Promise<{ readonly file: ReturnType<typeof fetchedFile>; over: () => boolean }> {
  let isOver = false;
  const arrived = once(server, "asked");
  const file = fetchedFile(
    line,
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`,
    limitBytes,
    new AbortController().signal,
  );
  const settled = (): void => void (isOver = true);
  file.then(settled, settled);
  await arrived;
  return { file, over: () => isOver };
}
/** One more byte, read by the other side. */
async function sends(bytes: string): Promise<void> {
  await new Promise((written) => answering.write(bytes, written));
  await new Promise((later) => setTimeout(later, 15));
}

test("eight seconds of silence end it, and what is certain is said: it may be asked for again", async () => {
  const { file, over } = await asked();
  await clock.advance(7_999);
  expect(over()).toBe(false);
  await clock.advance(1);
  expect((await expectFault("unavailable", file)).message).toBe("nothing came from Testland for 8000 ms");
});

test("a trickle goes on for twenty-five seconds in all, and no longer", async () => {
  const { file, over } = await asked();
  for (const afterMs of [6_000, 6_000, 6_000, 6_000, 999]) {
    await sends("x");
    await clock.advance(afterMs);
  }
  expect(over()).toBe(false);
  await clock.advance(1);
  expect((await expectFault("unavailable", file)).message).toContain("within 25000 ms");
});

test("a line that is closed ends what is under way in peace, and keeps no connection for later", async () => {
  const { file } = await asked();
  line.close();
  answering.end("whole");
  expect(Buffer.from((await file).bytes).toString()).toBe("whole");
  await expect
    .poll(() => new Promise((counted) => server.getConnections((_, count) => counted(count))))
    .toBe(0);
  const again = await asked();
  answering.end("again");
  expect(Buffer.from((await again.file).bytes).toString()).toBe("again");
});

test("a file of exactly the limit comes whole, and one byte more is refused", async () => {
  const exact = await asked(3);
  answering.end("abc");
  expect(Buffer.from((await exact.file).bytes).toString()).toBe("abc");
  const over = await asked(3);
  answering.end("abcd");
  await expectFault("invalid", over.file);
});
