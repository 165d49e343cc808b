// Answers the requests of one connection one after another, so that a client which sends a thousand at once
// and reads nothing has one answer waiting in memory; and ends a connection whose client takes no byte of its
// answer for a minute. Nobody has to log in for either (I9).
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "@parley/protocol";

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

const stalledMs = 60_000;

export function inTurn(answer: Listener, clock: Pick<Clock, "after">): Listener {
  const newest = new WeakMap<Socket, ServerResponse>();

  return (request, response) => {
    const { socket } = request;
    const before = newest.get(socket);
    newest.set(socket, response);
    response.once("prefinish", () => {
      // Most answers are on their way in whole at once.
      if (socket.writableLength > 0) endStalled(socket, response, clock);
    });
    if (before === undefined || before.closed) return answer(request, response);
    return before.once("close", () => {
      if (!socket.destroyed) answer(request, response);
    });
  };
}

function endStalled(socket: Socket, response: ServerResponse, clock: Pick<Clock, "after">): void {
  let left = socket.writableLength;
  const look = (): void => {
    if (socket.writableLength >= left) {
      socket.destroy();
      return;
    }
    left = socket.writableLength;
    timer = clock.after(stalledMs, look);
  };
  let timer = clock.after(stalledMs, look);
  response.once("close", () => timer.cancel());
}
