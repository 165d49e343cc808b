// Speaks control frames over a wire: requests with answers, events.
import {
  protocolRange,
  type ConnectParams,
  type ConnectResult,
  type EventName,
  type EventPayloads,
  type Frame,
  type MethodName,
  type MethodParams,
  type MethodResult,
} from "@parley/protocol";
import { CommandFailure } from "./exit.ts";
import type { Wire } from "./wire.ts";

export interface ControlClient {
  readonly welcome: ConnectResult;
  /** Throws CommandFailure with the gateway's words. */
  request<M extends MethodName>(method: M, params: MethodParams<M>): Promise<MethodResult<M>>;
  on<E extends EventName>(event: E, listener: (payload: EventPayloads[E]) => void): void;
  /** Resolves when the connection is gone, with why. */
  readonly closed: Promise<CommandFailure>;
  close(): void;
}

interface Pending {
  resolve(payload: unknown): void;
  reject(error: Error): void;
}

export interface ConnectOptions {
  readonly wire: Wire;
  /** Not asked for by a gateway that was started for this command. */
  readonly token?: string;
  /** In place of a token. */
  readonly auth?: NonNullable<ConnectParams["auth"]>;
  /** What the client calls itself. */
  readonly name?: string;
  /** The conversation whose events are told; absent: none is followed. */
  readonly follows?: Conversation;
}

export interface Conversation {
  readonly thread?: string;
}

export async function connectControl({
  wire,
  token,
  auth = token === undefined ? undefined : { token },
  name = "parley-cli",
  follows,
}: ConnectOptions): Promise<ControlClient> {
  const pending = new Map<string, Pending>();
  const listeners = new Map<string, ((payload: never) => void)[]>();
  let requests = 0;

  void wire.closed.then((failure) => {
    for (const { reject } of pending.values()) reject(failure);
    pending.clear();
  });

  wire.listen((text) => {
    const frame = JSON.parse(text) as Frame;
    if (frame.type === "event")
      for (const listener of listeners.get(frame.event) ?? []) listener(frame.payload as never);
    if (frame.type !== "res") return;
    const waiting = pending.get(frame.id);
    pending.delete(frame.id);
    if (frame.ok) waiting?.resolve(frame.payload);
    else
      waiting?.reject(
        new CommandFailure(
          frame.error?.code ?? "internal",
          frame.error?.message ?? "The gateway gave no reason.",
        ),
      );
  });

  function ask(method: string, params: unknown): Promise<unknown> {
    const id = String((requests += 1));
    return new Promise((resolve, reject) => {
      wire.send(JSON.stringify({ type: "req", id, method, params }));
      pending.set(id, { resolve, reject });
    });
  }

  const welcome = (await ask("connect", {
    protocol: protocolRange,
    client: { name, version: "1" },
    ...(auth === undefined ? {} : { auth }),
    ...(follows ?? { follows: false }),
  })) as ConnectResult;

  return {
    welcome,
    closed: wire.closed,
    close: wire.close,
    request: async (method, params) => (await ask(method, params)) as never,
    on(event, listener) {
      listeners.set(event, [...(listeners.get(event) ?? []), listener as (payload: never) => void]);
    },
  };
}
