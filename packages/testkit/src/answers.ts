// Answers HTTP requests for the fake platforms: it listens, sends JSON, and fails on purpose where a rule
// says so.
import type { Server, ServerResponse } from "node:http";
import { type Clock, sleep } from "@parley/protocol";
import type { Trouble } from "./faults.ts";

export function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
}

export function writeJson(outgoing: ServerResponse, status: number, body: unknown): void {
  outgoing.writeHead(status, { "content-type": "application/json" });
  outgoing.end(JSON.stringify(body));
}

/** True when this fault leaves nothing of the true answer, so that the server need not have acted. */
export function replacesAnswer(trouble: Trouble): boolean {
  return trouble.kind === "reset" || trouble.kind === "hang" || trouble.kind === "answer";
}

export async function answerBadly(
  clock: Clock,
  trouble: Trouble,
  outgoing: ServerResponse,
  status: number,
  body: unknown,
): Promise<void> {
  const bytes = Buffer.from(body === undefined ? "" : JSON.stringify(body));
  switch (trouble.kind) {
    case "reset":
      outgoing.socket?.resetAndDestroy();
      return;
    case "hang":
      return;
    case "answer": {
      const text = typeof trouble.body === "string" ? trouble.body : JSON.stringify(trouble.body);
      outgoing.writeHead(trouble.status, {
        "content-type": typeof trouble.body === "string" ? "text/html" : "application/json",
        ...trouble.headers,
      });
      outgoing.end(text);
      return;
    }
    case "truncate":
      outgoing.writeHead(status, { "content-type": "application/json", "content-length": bytes.length });
      outgoing.write(bytes.subarray(0, bytes.length >> 1), () => outgoing.socket?.end());
      return;
    case "slow":
      outgoing.writeHead(status, { "content-type": "application/json", "content-length": bytes.length });
      for (let at = 0; at < bytes.length && !outgoing.destroyed; at++) {
        outgoing.write(bytes.subarray(at, at + 1));
        await sleep(clock, trouble.everyMs);
      }
      outgoing.end();
      return;
    case "flood":
      outgoing.writeHead(status, { "content-type": "application/json" });
      outgoing.write(" ".repeat(trouble.bytes));
      outgoing.end(bytes);
      return;
    case "delay":
      await sleep(clock, trouble.delayMs);
      writeJson(outgoing, status, body);
  }
}
