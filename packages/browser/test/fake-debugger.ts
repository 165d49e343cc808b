// A browser as its debugging address shows it: it takes connections, makes contexts, and answers a wish for a
// page as the test says. No process, and no page is ever made.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";

interface Asked {
  readonly id: number;
  readonly method: string;
  readonly params?: { readonly [name: string]: unknown };
  readonly sessionId?: string;
}

export interface FakeDebugger {
  readonly url: string;
  /** What was asked for, in order, with its parameters. */
  readonly asked: Asked[];
  /** What a wish for a page is refused with; null leaves it without an answer. */
  refusal: string | null;
  connections(): number;
  /** Resolves once so many pages were wished for in all. */
  wished(pages: number): Promise<void>;
  /** The browser is gone. */
  die(): void;
  close(): void;
}

/** A text as a server sends it: one frame, not masked (RFC 6455, 5.2). */
function frameOf(text: string): Buffer {
  const body = Buffer.from(text);
  const head = body.length < 126 ? Buffer.from([0x81, body.length]) : Buffer.from([0x81, 126, 0, 0]);
  if (head.length === 4) head.writeUInt16BE(body.length, 2);
  return Buffer.concat([head, body]);
}

/** Texts of a client's frames, which are masked, and its good-bye. */
function reader(told: (text: string) => void, ended: () => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const short = (rest[1] ?? 0) & 0x7f;
      const from = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (rest.length < from + 4) return;
      const length = from === 2 ? short : from === 4 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
      if (rest.length < from + 4 + length) return;
      const mask = rest.subarray(from, from + 4);
      const text = Buffer.from(rest.subarray(from + 4, from + 4 + length)).map(
        (byte, at) => byte ^ (mask[at % 4] ?? 0),
      );
      const kind = (rest[0] ?? 0) & 0x0f;
      if (kind === 1) told(Buffer.from(text).toString());
      if (kind === 8) ended();
      rest = rest.subarray(from + 4 + length);
    }
  };
}

export async function fakeDebugger(): Promise<FakeDebugger> {
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  let waiting: { readonly pages: number; readonly resolve: () => void } | null = null;
  let pages = 0;
  const server = createServer((_request, response) => void response.writeHead(404).end());
  server.on("upgrade", (request, stream) => {
    const socket = stream as Socket;
    const key = `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${createHash("sha1").update(key).digest("base64")}\r\n\r\n`,
    );
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    socket.on("end", () => socket.end());
    socket.on(
      "data",
      reader(
        (text) => {
          const message = JSON.parse(text) as Asked;
          asked.push(message);
          const { id, method, sessionId } = message;
          const answer = (more: object): void =>
            void socket.write(frameOf(JSON.stringify({ id, ...(sessionId && { sessionId }), ...more })));
          if (method !== "Target.createTarget") return answer({ result: answers[method] ?? {} });
          pages += 1;
          if (made.refusal !== null) answer({ error: { code: -1, message: made.refusal } });
          if (waiting !== null && pages >= waiting.pages) waiting.resolve();
        },
        () => socket.end(Buffer.from([0x88, 0])),
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const made: FakeDebugger = {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    asked,
    refusal: null,
    connections: () => sockets.size,
    wished: (count) =>
      new Promise((resolve) => {
        waiting = { pages: count, resolve };
        if (pages >= count) resolve();
      }),
    die: () => sockets.forEach((socket) => socket.destroy()),
    close() {
      made.die();
      server.close();
    },
  };
  return made;
}

const answers: { readonly [method: string]: object } = {
  "Browser.getVersion": { product: "Chrome/140.0.0.0", userAgent: "a browser", protocolVersion: "1.3" },
  "Target.createBrowserContext": { browserContextId: "context" },
};
