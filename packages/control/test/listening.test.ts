// Where the port listens and how a browser reaches it, and a client's socket until it is a WebSocket: what it
// may ask for, what it is told instead, and how much it may send before anybody knows it.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { listen, urlHost } from "../src/listen.ts";
import { limitBytes, refuse, wantsWebSocket } from "../src/upgrade.ts";

test("a browser of this machine reaches every address that is listened on", () => {
  const hosts = ["0.0.0.0", "::", "127.0.0.1", "192.0.2.7", "::1", "2001:db8::7", "localhost"];
  expect(hosts.map(urlHost)).toEqual([
    "127.0.0.1",
    "127.0.0.1",
    "127.0.0.1",
    "192.0.2.7",
    "[::1]",
    "[2001:db8::7]",
    "localhost",
  ]);
});

test("a port is given where any will do; one that is taken, and an address that is not here, are told with the way out", async () => {
  const [first, second, third] = [createServer(), createServer(), createServer()];
  onTestFinished(() => void first.close());
  const port = await listen(first, "127.0.0.1", 0);
  expect(port).toBe((first.address() as AddressInfo).port);
  await expect(listen(second, "127.0.0.1", port)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(
      new RegExp(
        `^cannot listen on 127\\.0\\.0\\.1 port ${port}: .* listens there\\. Stop it, or set gateway\\.port$`,
      ),
    ) as string,
    cause: { code: "EADDRINUSE" },
  });
  // An address of documentation (RFC 5737).
  await expect(listen(third, "192.0.2.7", 7)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(
      /^cannot listen on 192\.0\.2\.7 port 7: listen E[A-Z]+: .*192\.0\.2\.7.*\. Stop it, or set gateway\.port$/,
    ) as string,
  });
});

test("only whoever asks for a WebSocket is upgraded; other offers are answered as plain HTTP", () => {
  const asked = (upgrade: string | undefined): boolean =>
    wantsWebSocket({ headers: { upgrade } } as unknown as IncomingMessage);
  expect(["websocket", "WebSocket", "h2c", "websocket, h2c", "", undefined].map(asked)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});

test("who is refused hears why in plain HTTP, its bytes counted, and loses the socket also with its half open", async () => {
  const stream = new PassThrough();
  const closed = once(stream, "close");
  refuse(stream, { status: "503 Service Unavailable", reason: null, text: "später" });
  expect(String(stream.read())).toBe(
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\nspäter",
  );
  await closed;
  expect(stream.destroyed).toBe(true);
});

test("a stranger may send a first frame and no byte more, what came along with its request too; whoever is known may", () => {
  const most = 16_384 + 256;
  const sent = (already: number, ...chunks: readonly number[]) => {
    const stream = new PassThrough();
    const release = limitBytes(stream, already);
    for (const bytes of chunks) stream.emit("data", Buffer.alloc(bytes));
    return { stream, release };
  };
  expect([
    sent(0, most).stream.destroyed,
    sent(0, most, 1).stream.destroyed,
    sent(0, most - 1, 1, 1).stream.destroyed,
    sent(100, most - 100).stream.destroyed,
    sent(100, most - 99).stream.destroyed,
  ]).toEqual([false, true, true, false, true]);
  const { stream, release } = sent(0, most);
  release();
  stream.emit("data", Buffer.alloc(most));
  expect([stream.destroyed, stream.listenerCount("data")]).toEqual([false, 0]);
});
