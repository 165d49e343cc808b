// A client of the control plane, as small as one can be.
import type { EventFrame, ResponseFrame } from "@parley/protocol";
import type { Daemon } from "./daemon.ts";

export interface ControlClient {
  readonly peer: string;
  /** Rejects with the frame's error. */
  call(method: string, params?: object): Promise<unknown>;
  events(): readonly EventFrame[];
  /** Resolves when the connection is gone, whoever ended it. */
  readonly closed: Promise<void>;
  close(): void;
}

export interface ConnectOptions {
  readonly auth?: object;
  readonly lastSeq?: number;
  readonly peer?: string;
}

export async function controlClient(
  daemon: Pick<Daemon, "url" | "token">,
  options: ConnectOptions = {},
): Promise<ControlClient> {
  const socket = new WebSocket(`${daemon.url.replace(/^http/, "ws")}/ws`);
  const waiting = new Map<string, { resolve(value: unknown): void; reject(error: unknown): void }>();
  const events: EventFrame[] = [];
  let nth = 0;
  socket.addEventListener("message", ({ data }) => {
    const frame = JSON.parse(String(data)) as ResponseFrame | EventFrame;
    if (frame.type === "event") return void events.push(frame);
    const call = waiting.get(frame.id);
    waiting.delete(frame.id);
    if (frame.ok) call?.resolve(frame.payload);
    else call?.reject(frame.error);
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error("the control plane cannot be reached")));
  });
  const closed = new Promise<void>((resolve) => {
    socket.addEventListener("close", () => {
      for (const call of waiting.values()) call.reject(new Error("the connection was closed"));
      resolve();
    });
  });
  const call = (method: string, params: object = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = String((nth += 1));
      waiting.set(id, { resolve, reject });
      socket.send(JSON.stringify({ type: "req", id, method, params }));
    });
  const { auth = { token: daemon.token }, ...rest } = options;
  const connected = (await call("connect", {
    protocol: { min: 1, max: 1 },
    client: { name: "test", version: "0" },
    auth,
    ...rest,
  })) as {
    peer: string;
  };
  return { peer: connected.peer, call, events: () => events, closed, close: () => socket.close() };
}
