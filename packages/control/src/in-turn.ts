// Answers the requests of one connection one after another, so that a client which sends a thousand at once
// and reads nothing has one answer waiting in memory; reads no further from one that has many waiting; and
// ends a connection whose client takes no byte of its answer for a minute. Nobody has to log in for any of it
// (I9).
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "@parley/protocol";

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

const stalledMs = 60_000;
/** No browser or proxy sends its next request before the answer. What one read brought waits in any case. */
const mostWaiting = 16;

export function inTurn(answer: Listener, clock: Pick<Clock, "after">): Listener {
  const newest = new WeakMap<Socket, ServerResponse>();
  const waiting = new WeakMap<Socket, number>();

  function wait(socket: Socket, more: 1 | -1): void {
    const now = (waiting.get(socket) ?? 0) + more;
    waiting.set(socket, now);
    if (now === mostWaiting && more === 1) process.nextTick(stopReading, socket);
    if (now === mostWaiting - 1 && more === -1) socket.resume();
  }

  /** Once all of a read is parsed: Node reads on after each request that it has whole. */
  function stopReading(socket: Socket): void {
    if ((waiting.get(socket) ?? 0) >= mostWaiting) socket.pause();
  }

  return (request, response) => {
    const { socket } = request;
    const before = newest.get(socket);
    newest.set(socket, response);
    response.once("prefinish", () => {
      // Most answers are on their way in whole at once.
      if (socket.writableLength > 0) endStalled(socket, response, clock);
    });
    if (before === undefined || before.closed) return answer(request, response);
    wait(socket, 1);
    return before.once("close", () => {
      wait(socket, -1);
      if (!socket.destroyed) answer(request, response);
    });
  };
}

function endStalled(socket: Socket, response: ServerResponse, clock: Pick<Clock, "after">): void {
  let left = bytesLeft(socket);
  const look = (): void => {
    const now = bytesLeft(socket);
    if (now >= left) {
      socket.destroy();
      return;
    }
    left = now;
    timer = clock.after(stalledMs, look);
  };
  let timer = clock.after(stalledMs, look);
  response.once("close", () => timer.cancel());
}

/** Node counts a write until all of it is out; what the system took of it, it asks as its own timeouts do. */
function bytesLeft(socket: Socket): number {
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null };
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}
