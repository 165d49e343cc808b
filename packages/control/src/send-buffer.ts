// What goes out on one socket, within bounds (I9). The buffer of a client that does not read is watched: what may be dropped is dropped
// beyond a soft limit, durable events wait in the log, and a client that takes nothing for half a minute is closed and may resume later.
import type { WebSocket } from "ws";
import type { Clock } from "@parley/protocol";

/** Sent to a client that cannot keep up: "try again later" (RFC 6455 registry). */
const slowClose = 1013;

export interface SendBufferLimits {
  /** Bytes in the buffer from which on shown events are dropped and durable ones wait. */
  readonly softBytes: number;
  /** Bytes in the buffer at which the client is closed, when more is to be sent: one answer may be larger than that. */
  readonly hardBytes: number;
  /** Longest time without any byte taken. */
  readonly stalledMs: number;
}

const sendBufferLimits: SendBufferLimits = {
  softBytes: 1_048_576,
  hardBytes: 8_388_608,
  stalledMs: 30_000,
};

export interface SendBuffer {
  /** Queued; beyond the hard limit the client is closed in its place. */
  send(frame: string): void;
  /** Dropped when the client lags. */
  offer(frame: string): void;
  /** Resolves when there is room below the soft limit, or the socket is gone. */
  room(): Promise<void>;
  /** Called now and then: closes a client that takes nothing. */
  checkProgress(): void;
  close(code: number, reason: string): void;
}

/** Time in which a client may answer a close before the socket is cut. */
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

  function close(code: number, reason: string): void {
    // Once: a client that goes on sending what closes it must not pile up timers.
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
    room() {
      if (socket.readyState !== socket.OPEN || socket.bufferedAmount < limits.softBytes)
        return Promise.resolve();
      return new Promise((resolve) => waiting.push(resolve));
    },
    checkProgress() {
      if (socket.bufferedAmount > 0 && clock.mono() - progressAtMs >= limits.stalledMs)
        close(slowClose, "the client does not read");
    },
  };
}
