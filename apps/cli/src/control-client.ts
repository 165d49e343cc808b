// Speaks control frames to the running gateway: one WebSocket, requests with answers, events. No reconnecting: a command is short.
import {
  controlPath,
  protocolRange,
  type ConnectResult,
  type EventName,
  type EventPayloads,
  type Frame,
  type MethodName,
  type MethodParams,
  type MethodResult,
} from "@parley/protocol";
import { CommandFailure } from "./exit.ts";
import { notRunning, type GatewayAddress } from "./gateway-address.ts";

export interface ControlClient {
  readonly welcome: ConnectResult;
  /** Throws CommandFailure with the gateway's words. */
  request<M extends MethodName>(method: M, params: MethodParams<M>): Promise<MethodResult<M>>;
  on<E extends EventName>(event: E, listener: (payload: EventPayloads[E]) => void): void;
  /** Resolves when the connection is gone, with why. */
  readonly closed: Promise<string>;
  close(): void;
}

interface Pending {
  resolve(payload: unknown): void;
  reject(error: Error): void;
}

export interface ConnectOptions {
  readonly address: GatewayAddress;
  readonly thread?: string;
}

export async function connectControl({ address, thread }: ConnectOptions): Promise<ControlClient> {
  const socket = new WebSocket(`${address.url.replace(/^http/, "ws")}${controlPath}`);
  const pending = new Map<string, Pending>();
  const listeners = new Map<string, ((payload: never) => void)[]>();
  let requests = 0;

  const closed = new Promise<string>((resolve) => {
    socket.addEventListener("close", ({ code, reason }) => {
      const why = reason === "" ? `code ${code}` : reason;
      for (const { reject } of pending.values()) reject(new CommandFailure("unavailable", `The gateway closed the connection: ${why}.`));
      pending.clear();
      resolve(why);
    });
  });

  socket.addEventListener("message", ({ data }) => {
    const frame = JSON.parse(String(data)) as Frame;
    if (frame.type === "event") for (const listener of listeners.get(frame.event) ?? []) listener(frame.payload as never);
    if (frame.type !== "res") return;
    const waiting = pending.get(frame.id);
    pending.delete(frame.id);
    if (frame.ok) waiting?.resolve(frame.payload);
    else waiting?.reject(new CommandFailure(frame.error?.code ?? "internal", frame.error?.message ?? "The gateway gave no reason."));
  });

  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(notRunning(address.url, address.configTrouble, "nothing answers there")));
  });

  function ask(method: string, params: unknown): Promise<unknown> {
    const id = String((requests += 1));
    return new Promise((resolve, reject) => {
      if (socket.readyState !== WebSocket.OPEN)
        return reject(new CommandFailure("unavailable", "The connection to the gateway is closed."));
      pending.set(id, { resolve, reject });
      return socket.send(JSON.stringify({ type: "req", id, method, params }));
    });
  }

  const welcome = (await ask("connect", {
    protocol: protocolRange,
    client: { name: "parley-cli", version: "1" },
    auth: { token: address.token },
    ...(thread === undefined ? {} : { thread }),
  })) as ConnectResult;

  return {
    welcome,
    closed,
    close: () => socket.close(),
    request: async (method, params) => (await ask(method, params)) as never,
    on(event, listener) {
      listeners.set(event, [...(listeners.get(event) ?? []), listener as (payload: never) => void]);
    },
  };
}
