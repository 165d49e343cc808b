// One WebSocket to the gateway: the handshake, requests with their answers, events. It lives once; reconnecting is the session's matter.
import {
  controlPath,
  protocolRange,
  type ConnectParams,
  type ConnectResult,
  type EventFrame,
  type Frame,
  type MethodName,
  type MethodParams,
  type MethodResult,
  type WireError,
} from "@parley/protocol";

/** What the gateway answered instead of a result, or `closed` when the line went dead first. */
export class RequestFailure extends Error {
  readonly code: WireError["code"] | "closed";
  readonly retryAfterMs: number | undefined;

  constructor({ code, message, retryAfterMs }: Omit<WireError, "code"> & { readonly code: WireError["code"] | "closed" }) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface Link {
  request<M extends MethodName>(method: M, params: MethodParams<M>): Promise<MethodResult<M>>;
  close(): void;
}

export interface LinkOptions {
  /** The page's own origin, `http://127.0.0.1:7275`. */
  readonly origin: string;
  readonly hello: Pick<ConnectParams, "auth" | "lastSeq">;
  readonly onEvent: (event: EventFrame) => void;
  /** Once, whatever ends the link after it was made. */
  readonly onClose: () => void;
}

/** Rejects with RequestFailure when the gateway cannot be reached or refuses. */
export async function openLink({
  origin,
  hello,
  onEvent,
  onClose,
}: LinkOptions): Promise<{ readonly link: Link; readonly welcome: ConnectResult }> {
  const socket = new WebSocket(`${origin.replace(/^http/, "ws")}${controlPath}`);
  const pending = new Map<string, { resolve(payload: unknown): void; reject(failure: RequestFailure): void }>();
  let requests = 0;
  let made = false;

  socket.addEventListener("message", ({ data }) => {
    const frame = JSON.parse(String(data)) as Frame;
    if (frame.type === "event") onEvent(frame);
    if (frame.type !== "res") return;
    const waiting = pending.get(frame.id);
    pending.delete(frame.id);
    if (frame.ok) waiting?.resolve(frame.payload);
    else waiting?.reject(new RequestFailure(frame.error ?? { code: "internal", message: "The gateway gave no reason." }));
  });
  socket.addEventListener("close", () => {
    for (const { reject } of pending.values()) reject(lost());
    pending.clear();
    if (made) onClose();
  });
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("close", () => reject(lost()));
  });

  function ask(method: string, params: unknown): Promise<unknown> {
    const id = String((requests += 1));
    return new Promise((resolve, reject) => {
      if (socket.readyState !== WebSocket.OPEN) return reject(lost());
      pending.set(id, { resolve, reject });
      return socket.send(JSON.stringify({ type: "req", id, method, params }));
    });
  }

  const welcome = (await ask("connect", { protocol: protocolRange, client: { name: "web", version: "1" }, ...hello })) as ConnectResult;
  made = true;
  return { welcome, link: { request: async (method, params) => (await ask(method, params)) as never, close: () => socket.close() } };
}

function lost(): RequestFailure {
  return new RequestFailure({ code: "closed", message: "The connection was lost." });
}
