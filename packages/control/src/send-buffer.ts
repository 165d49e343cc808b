// Sends frames on one socket within bounds (I9). Beyond a soft limit shown events are dropped and durable
// ones wait in the log; a client that reads nothing for half a minute is closed and may resume later.
import type { WebSocket } from "ws";
import type { Clock } from "@parley/protocol";

/** Close code for a client that cannot keep up: "try again later" (RFC 6455 registry). */
const slowClose = 1013;

export interface SendBufferLimits {
  /** Buffered bytes beyond which shown events are dropped and durable ones wait. */
  readonly softBytes: number;
  /** Buffered bytes at which the next send closes the client; a single answer may be larger. */
  readonly hardBytes: number;
  /** Longest time in which the client may take no byte. */
  readonly stalledMs: number;
}

const sendBufferLimits: SendBufferLimits = {
  softBytes: 1_048_576,
  hardBytes: 8_388_608,
  stalledMs: 30_000,
};

export interface SendBuffer {
  /** Queues the frame; beyond the hard limit closes the client instead. */
  send(frame: string): void;
  /** Sends the frame, or drops it when the client lags. */
  offer(frame: string): void;
  /** True below the soft limit, and when the socket is gone. */
  hasRoom(): boolean;
  /** Resolves once there is room. */
  room(): Promise<void>;
  /** Call it now and then: it closes a client that takes nothing. */
  checkProgress(): void;
  close(code: number, reason: string): void;
}

/** Time for the client to answer a close before the socket is cut. */
const closeGraceMs = 2_000;

export function socketSendBuffer(
  socket: WebSocket,
  clock: Clock,
  limits: SendBufferLimits = sendBufferLimits,
): SendBuffer {
  let waiting: (() => void)[] = [];
  let progressAtMs = clock.mono();
  let closing = false;

  const wakeWaiting = (): void => {
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  };
  socket.once("close", wakeWaiting);

  const hasRoom = (): boolean =>
    socket.readyState !== socket.OPEN || socket.bufferedAmount < limits.softBytes;

  function close(code: number, reason: string): void {
    // Only the first close counts: a client that keeps sending what closes it must not pile up timers.
    if (socket.readyState === socket.CLOSED || closing) return;
    closing = true;
    socket.close(code, reason);
    const timer = clock.after(closeGraceMs, () => socket.terminate());
    socket.once("close", () => timer.cancel());
  }

  function send(frame: string): void {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount === 0) progressAtMs = clock.mono();
    if (socket.bufferedAmount > limits.hardBytes) return close(slowClose, "the client does not read");
    socket.send(frame, () => {
      progressAtMs = clock.mono();
      if (socket.bufferedAmount < limits.softBytes) wakeWaiting();
    });
  }

  return {
    send,
    close,
    offer(frame) {
      if (socket.bufferedAmount < limits.softBytes) send(frame);
    },
    hasRoom,
    room: () => (hasRoom() ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    checkProgress() {
      if (socket.bufferedAmount > 0 && clock.mono() - progressAtMs >= limits.stalledMs)
        close(slowClose, "the client does not read");
    },
  };
}
