// A gateway for the page's session: codes, tokens, an event log, messages stored once per key; and a line
// that breaks when the test says.
import type { AddressInfo } from "node:net";
import type { ChatMessage, RequestFrame } from "@parley/protocol";
import { onTestFinished } from "vitest";
import { WebSocketServer, type WebSocket } from "ws";

export interface FakeGateway {
  readonly origin: string;
  readonly log: ChatMessage[];
  readonly codes: Set<string>;
  readonly tokens: Set<string>;
  readonly requests: RequestFrame[];
  /** Stores a message and tells it. */
  say(role: ChatMessage["role"], text: string): void;
  tell(event: string, payload: unknown, seq?: number): void;
  /** Cuts every line. */
  cut(): void;
  /**
   * Called before each answer; `"cut"` breaks the line in its place, after `"silence"` nothing comes, an
   * object refuses.
   */
  beforeAnswer: (
    request: RequestFrame,
  ) => undefined | "cut" | "silence" | { readonly code: string; readonly message: string };
}

export async function fakeGateway(): Promise<FakeGateway> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, path: "/ws" });
  await new Promise((resolve) => server.once("listening", resolve));
  const ready = new Set<WebSocket>();
  const keys = new Set<string>();
  onTestFinished(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });

  const gateway: FakeGateway = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log: [],
    codes: new Set(),
    tokens: new Set(["device-token"]),
    requests: [],
    beforeAnswer: () => undefined,
    say(role, text) {
      const message: ChatMessage = { seq: gateway.log.length + 1, role, text, html: "", atMs: 0 };
      gateway.log.push(message);
      gateway.tell("chat.message", message, message.seq);
    },
    tell(event, payload, seq) {
      for (const socket of ready)
        socket.send(JSON.stringify({ type: "event", event, payload, ...(seq === undefined ? {} : { seq }) }));
    },
    cut() {
      for (const socket of server.clients) socket.terminate();
    },
  };

  function payloadOf({ method, params }: RequestFrame, socket: WebSocket): unknown {
    if (method === "connect") return connect(params as Hello, socket);
    if (method === "chat.history") {
      const { limit, beforeSeq = Infinity } = params as {
        readonly limit: number;
        readonly beforeSeq?: number;
      };
      const found = gateway.log.filter(({ seq }) => seq < beforeSeq);
      return {
        sessionKey: "s",
        messages: found.slice(-limit),
        working: false,
        hasEarlier: found.length > limit,
      };
    }
    if (method !== "chat.send") return { stopped: true, cancelled: 0 };
    const { text, idempotencyKey } = params as { text: string; idempotencyKey: string };
    if (!keys.has(idempotencyKey)) gateway.say("user", text);
    keys.add(idempotencyKey);
    return { id: idempotencyKey, sessionKey: "s", duplicate: false };
  }

  interface Hello {
    readonly auth: {
      readonly token?: string;
      readonly code?: string;
      readonly deviceToken?: string;
      readonly remember?: boolean;
    };
    readonly lastSeq?: number;
  }

  function connect({ auth, lastSeq }: Hello, socket: WebSocket): unknown {
    const isRepeat = auth.deviceToken !== undefined && gateway.tokens.has(auth.deviceToken);
    const fresh = auth.code !== undefined && (isRepeat || gateway.codes.delete(auth.code));
    if (fresh && auth.deviceToken !== undefined) gateway.tokens.add(auth.deviceToken);
    const typed = auth.remember === true && auth.token === "gateway-token";
    if (!fresh && !typed && !gateway.tokens.has(auth.token ?? ""))
      throw Object.assign(new Error("the token is wrong"), { code: "unauthorized" });
    setImmediate(() => {
      for (const message of gateway.log.slice(lastSeq ?? gateway.log.length)) {
        socket.send(
          JSON.stringify({ type: "event", event: "chat.message", seq: message.seq, payload: message }),
        );
      }
      ready.add(socket);
    });
    return {
      seq: gateway.log.length,
      resync: false,
      peer: "web-x",
      scopes: ["read", "write"],
      protocol: 1,
      ...(fresh || typed ? { deviceToken: "device-token" } : {}),
    };
  }

  server.on("connection", (socket) => {
    socket.on("close", () => ready.delete(socket));
    socket.on("message", (message: Buffer) => {
      const request = JSON.parse(message.toString("utf8")) as RequestFrame;
      gateway.requests.push(request);
      const refusal = gateway.beforeAnswer(request);
      if (refusal === "silence") return undefined;
      if (typeof refusal === "object")
        return socket.send(JSON.stringify({ type: "res", id: request.id, ok: false, error: refusal }));
      try {
        const payload = payloadOf(request, socket);
        if (refusal === "cut") return socket.terminate();
        return socket.send(JSON.stringify({ type: "res", id: request.id, ok: true, payload }));
      } catch (error) {
        const { code, message: text } = error as Error & { code: string };
        return socket.send(
          JSON.stringify({ type: "res", id: request.id, ok: false, error: { code, message: text } }),
        );
      }
    });
  });
  return gateway;
}

/** What a browser keeps over a reload. */
export function memoryStorage(): Storage {
  const entries = new Map<string, string>();
  return {
    get length() {
      return entries.size;
    },
    key: (index) => [...entries.keys()][index] ?? null,
    getItem: (name) => entries.get(name) ?? null,
    setItem: (name, value) => void entries.set(name, value),
    removeItem: (name) => void entries.delete(name),
    clear: () => entries.clear(),
  };
}
