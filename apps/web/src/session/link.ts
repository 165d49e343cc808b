// One WebSocket to the gateway: the handshake, requests with their answers, events. It lives once;
// reconnecting is the session's matter. A line may be dead long before the browser says so (a laptop that
// slept, another network): what is asked is answered in time or it ends.
import {
  controlPath,
  protocolRange,
  type Clock,
  type ConnectParams,
  type ConnectResult,
  type EventFrame,
  type Frame,
  type MethodName,
  type MethodParams,
  type MethodResult,
  type Timer,
  type WireError,
} from "@parley/protocol";

/** What the gateway answered instead of a result, or `closed` when the line went dead first. */
export class RequestFailure extends Error {
  readonly code: WireError["code"] | "closed";
  readonly retryAfterMs: number | undefined;
  /** The line went dead after the request left: nobody knows whether it was done. */
  readonly wasSent: boolean;

  constructor({
    code,
    message,
    retryAfterMs,
    wasSent = false,
  }: Omit<WireError, "code"> & { readonly code: WireError["code"] | "closed"; readonly wasSent?: boolean }) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.wasSent = wasSent;
  }
}

export interface Link {
  request<M extends MethodName>(method: M, params: MethodParams<M>): Promise<MethodResult<M>>;
  /** Asks whether the other side is still there; ends the link if nothing comes back. */
  probe(): void;
  close(): void;
}

export interface LinkOptions {
  /** The page's own address without its last slash, `http://127.0.0.1:7275`, or with a proxy's path. */
  readonly base: string;
  readonly hello: Pick<ConnectParams, "auth" | "lastSeq" | "thread" | "follows">;
  readonly clock: Clock;
  readonly onEvent: (event: EventFrame) => void;
  /** Once, whatever ends the link after it was made. */
  readonly onClose: () => void;
}

/** Without any frame for this long while an answer is awaited, the line is dead. */
const answerWithinMs = 10_000;
/** After this much silence the other side is asked whether it is there. */
const quietMs = 30_000;

/** Rejects with RequestFailure when the gateway cannot be reached or refuses. */
export async function openLink({
  base,
  hello,
  clock,
  onEvent,
  onClose,
}: LinkOptions): Promise<{ readonly link: Link; readonly welcome: ConnectResult }> {
  const socket = new WebSocket(`${base.replace(/^http/, "ws")}${controlPath}`);
  const pending = new Map<
    string,
    { resolve(payload: unknown): void; reject(failure: RequestFailure): void }
  >();
  let requests = 0;
  let made = false;
  let isOver = false;
  let watch: Timer = clock.after(answerWithinMs, over);

  function over(): void {
    if (isOver) return;
    isOver = true;
    watch.cancel();
    for (const { reject } of pending.values()) reject(lostLine(true));
    pending.clear();
    // A dead line answers no goodbye: nothing waits for it.
    socket.close();
    if (made) onClose();
  }

  function watchOn(): void {
    watch.cancel();
    if (!isOver) watch = pending.size > 0 ? clock.after(answerWithinMs, over) : clock.after(quietMs, probe);
  }

  socket.addEventListener("message", ({ data }) => {
    if (isOver) return;
    const frame = JSON.parse(String(data)) as Frame;
    const waiting = frame.type === "res" ? pending.get(frame.id) : undefined;
    if (frame.type === "res") pending.delete(frame.id);
    watchOn();
    if (frame.type === "event") onEvent(frame);
    if (frame.type !== "res") return;
    if (frame.ok) waiting?.resolve(frame.payload);
    else
      waiting?.reject(
        new RequestFailure(frame.error ?? { code: "internal", message: "The gateway gave no reason." }),
      );
  });
  socket.addEventListener("close", over);

  function ask(method: string, params: unknown): Promise<unknown> {
    const id = String((requests += 1));
    return new Promise((resolve, reject) => {
      if (isOver || socket.readyState !== WebSocket.OPEN) return reject(lostLine());
      pending.set(id, { resolve, reject });
      if (pending.size === 1) watchOn();
      return socket.send(JSON.stringify({ type: "req", id, method, params }));
    });
  }

  function probe(): void {
    // What is awaited already tells as much.
    if (pending.size === 0) ask("health", {}).catch(() => {});
  }

  try {
    await new Promise<void>((resolve, reject) => {
      pending.set("open", { resolve: () => resolve(), reject });
      socket.addEventListener("open", () => {
        pending.delete("open");
        resolve();
      });
    });
    const welcome = (await ask("connect", {
      protocol: protocolRange,
      client: { name: "web", version: "1" },
      ...hello,
    })) as ConnectResult;
    made = true;
    return {
      welcome,
      link: { request: async (method, params) => (await ask(method, params)) as never, probe, close: over },
    };
  } catch (error) {
    over();
    throw error;
  }
}

export function lostLine(wasSent = false): RequestFailure {
  return new RequestFailure({ code: "closed", message: "The connection was lost.", wasSent });
}
