// A gateway that answers frames as the test says, and a state folder that leads to it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { RequestFrame } from "@parley/protocol";
import { onTestFinished } from "vitest";
import { WebSocketServer, type WebSocket } from "ws";
import { runCommandLine } from "../src/index.ts";

export interface FakeGateway {
  readonly home: string;
  readonly port: number;
  readonly requests: RequestFrame[];
  /** Where it says at a login that the conversation stands. */
  seq: number;
  /** Sends an event to whoever is connected. */
  tell(event: string, payload: unknown): void;
  hangUp(reason: string): void;
  /** Hangs up, and is not there any more. */
  goAway(): void;
}

/** What to answer: a payload, or an error to throw. */
export type Answer = (request: RequestFrame) => unknown;

export const token = "token-of-the-fake-gateway";

export class Refusal extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export function stateFolder(config: string | null, tokenFile: string | null = token): string {
  const home = mkdtempSync(join(tmpdir(), "parley-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  mkdirSync(home, { recursive: true });
  if (config !== null) writeFileSync(join(home, "parley.json5"), config);
  if (tokenFile !== null) writeFileSync(join(home, "gateway-token"), `${tokenFile}\n`);
  return home;
}

/** Why a login is refused; absent: it is not. */
type Refuses = string | ((login: RequestFrame) => string | undefined);

/** `refuses`: lets nobody in, with these words, or decides for each login. */
export async function fakeGateway(answer: Answer, refuses?: Refuses): Promise<FakeGateway> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, path: "/ws" });
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  const requests: RequestFrame[] = [];
  const sockets = new Set<WebSocket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("message", (message: Buffer) => {
      const request = JSON.parse(message.toString("utf8")) as RequestFrame;
      requests.push(request);
      socket.send(JSON.stringify(answerFrame(request, answer, refuses, gateway.seq)));
    });
  });
  const { port } = server.address() as AddressInfo;
  const home = stateFolder(`{ gateway: { port: ${port} } }`);
  const gateway: FakeGateway = {
    home,
    port,
    requests,
    seq: 10,
    hangUp(reason) {
      for (const socket of sockets) socket.close(1012, reason);
    },
    goAway() {
      server.close();
      for (const socket of server.clients) socket.terminate();
    },
    tell(event, payload) {
      for (const socket of sockets) socket.send(JSON.stringify({ type: "event", event, payload }));
    },
  };
  return gateway;
}

function answerFrame(
  request: RequestFrame,
  answer: Answer,
  refuses: Refuses | undefined,
  seq: number,
): unknown {
  try {
    const isLogin = request.method === "connect";
    const why = typeof refuses === "function" ? (isLogin ? refuses(request) : undefined) : refuses;
    if (why !== undefined) throw new Refusal("unauthorized", why);
    const welcome = {
      protocol: 1,
      server: { version: "0", bootId: "b" },
      scopes: ["read"],
      peer: "web-x",
      seq,
      resync: false,
    };
    return {
      type: "res",
      id: request.id,
      ok: true,
      payload: isLogin ? welcome : answer(request),
    };
  } catch (error) {
    const { code, message } = error as Refusal;
    return { type: "res", id: request.id, ok: false, error: { code, message } };
  }
}

export interface Run {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly input?: PassThrough & { isTTY?: boolean };
  readonly env?: { readonly [name: string]: string };
  /** Both outputs are a terminal. */
  readonly isTTY?: boolean;
  readonly onOut?: (soFar: string) => void;
  readonly onErr?: (soFar: string) => void;
}

/** Runs `parley <argv>` in this process. */
export async function parley(home: string, argv: readonly string[], options: RunOptions = {}): Promise<Run> {
  const more = options.isTTY === true ? { isTTY: true, columns: 200 } : {};
  const [out, err] = [Object.assign(new PassThrough(), more), Object.assign(new PassThrough(), more)];
  let [outText, errText] = ["", ""];
  out.setEncoding("utf8").on("data", (chunk: string) => {
    outText += chunk;
    options.onOut?.(outText);
  });
  err.setEncoding("utf8").on("data", (chunk: string) => {
    errText += chunk;
    options.onErr?.(errText);
  });
  const input = options.input ?? new PassThrough().end();
  const exitCode = await runCommandLine(argv, {
    env: { PARLEY_HOME: home, ...options.env },
    input,
    out,
    err,
  });
  return { exitCode, out: outText, err: errText };
}
