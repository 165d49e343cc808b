// A client of the fake Discord that does only what it is told: tests see every frame and may break every
// rule.
import { type Inflate, constants, createInflate, createZstdDecompress, inflateSync } from "node:zlib";
import { expect } from "vitest";
import { WebSocket } from "ws";
import type { FakeDiscord, FakeDiscordBot } from "@parley/testkit";

interface Frame {
  readonly op: number;
  readonly t: string | null;
  readonly s: number | null;
  readonly d: any;
}

export interface RawGateway {
  readonly frames: readonly Frame[];
  events(name: string): readonly any[];
  send(payload: unknown): void;
  sendText(text: string): void;
  /** The next frame of this kind: an event's name or an opcode. */
  next(kind: string | number): Promise<Frame>;
  closed(): Promise<number>;
  close(code: number): void;
  kill(): void;
}

export interface RawOptions {
  readonly url?: string;
  readonly query?: string;
}

export const intents = {
  guilds: 1,
  guildMessages: 1 << 9,
  guildReactions: 1 << 10,
  directMessages: 1 << 12,
  directReactions: 1 << 13,
  content: 1 << 15,
};
export const usualIntents = Object.values(intents).reduce((all, bit) => all | bit, 0);

export function openGateway(
  fake: FakeDiscord,
  { url, query = "v=10&encoding=json" }: RawOptions = {},
): RawGateway {
  const socket = new WebSocket(`${url ?? `${fake.url.replace("http", "ws")}/gateway`}?${query}`);
  const frames: Frame[] = [];
  const seen = new Map<string | number, number>();
  const read = reader(query, (text) => {
    try {
      frames.push(JSON.parse(text) as Frame);
    } catch {
      // A frame that is no payload: tests of that look at nothing else.
    }
  });
  let closeCode: number | undefined;
  socket.on("message", (data: Buffer, isBinary) => read(data, isBinary));
  socket.on("close", (code) => (closeCode = code));
  const of = (kind: string | number): Frame[] =>
    frames.filter((frame) => (typeof kind === "string" ? frame.t === kind : frame.op === kind));
  return {
    frames,
    events: (name) => of(name).map((frame) => frame.d),
    send: (payload) => socket.send(JSON.stringify(payload)),
    sendText: (text) => socket.send(text),
    async next(kind) {
      const index = seen.get(kind) ?? 0;
      await expect.poll(() => of(kind).length, { timeout: 5_000, interval: 5 }).toBeGreaterThan(index);
      seen.set(kind, index + 1);
      return of(kind)[index] as Frame;
    },
    async closed() {
      await expect.poll(() => closeCode, { timeout: 5_000, interval: 5 }).toBeDefined();
      return closeCode as number;
    },
    close: (code) => socket.close(code),
    kill: () => socket.terminate(),
  };
}

/** One decompressor for the whole connection, as a client keeps it. */
function reader(query: string, take: (text: string) => void): (data: Buffer, isBinary: boolean) => void {
  const kind = /compress=(\w+)-stream/.exec(query)?.[1];
  if (kind === undefined) return (data, isBinary) => take((isBinary ? inflateSync(data) : data).toString());
  const stream =
    kind === "zlib" ? (createInflate({ flush: constants.Z_SYNC_FLUSH }) as Inflate) : createZstdDecompress();
  let text = "";
  stream.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    // Frames are whole payloads; chunks of a big one come in pieces.
    try {
      JSON.parse(text);
    } catch {
      return;
    }
    take(text);
    text = "";
  });
  return (data) => void stream.write(data);
}

export function identify(token: string, wanted = usualIntents, more: object = {}): object {
  return {
    op: 2,
    d: { token, intents: wanted, properties: { os: "linux", browser: "raw", device: "raw" }, ...more },
  };
}

/** Opens a gateway connection and waits until it is ready. */
export async function ready(
  fake: FakeDiscord,
  bot: FakeDiscordBot,
  wanted = usualIntents,
): Promise<RawGateway & { readonly session: string; readonly resumeUrl: string }> {
  const line = openGateway(fake);
  await line.next(10);
  line.send(identify(bot.token, wanted));
  const { d } = await line.next("READY");
  return { ...line, session: d.session_id, resumeUrl: d.resume_gateway_url };
}

export interface RestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
}

export async function rest(
  fake: FakeDiscord,
  bot: Pick<FakeDiscordBot, "token"> | null,
  method: string,
  path: string,
  body?: unknown,
): Promise<RestAnswer> {
  const isForm = body instanceof FormData;
  const response = await fetch(`${fake.apiRoot}/v10${path}`, {
    method,
    headers: {
      ...(bot === null ? {} : { authorization: `Bot ${bot.token}` }),
      ...(isForm || body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === "" ? undefined : JSON.parse(text),
  };
}
