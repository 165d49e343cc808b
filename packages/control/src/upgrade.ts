// Handles the socket of a client that asks for the WebSocket, until it is one: says no in plain HTTP, and
// cuts whoever sends too much before it authenticates (I9).
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { RefusalReason } from "@parley/access";
import { preAuthBytes } from "./connection.ts";

/** A masked frame of less than 64 KiB has an eight-byte header; a ping or two may come along. */
const frameHeaderBytes = 256;

/** Some HTTP clients offer HTTP/2 with every first request (`Upgrade: h2c`); it is answered as plain HTTP. */
export function wantsWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

export interface Refusal {
  readonly status: string;
  /** Null when the origin is allowed and something else is wrong. */
  readonly reason: RefusalReason | null;
  readonly text: string;
}

export function refuse(stream: Duplex, { status, text }: Refusal): void {
  // Nobody else ends the socket: a client that keeps its half open would hold the handle, and the gateway's
  // stop, forever.
  stream.once("finish", () => stream.destroy());
  stream.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}

/**
 * Cuts a client that sends more than a first frame before it authenticates; the returned function lifts the
 * limit.
 */
export function limitBytes(stream: Duplex, already: number): () => void {
  let bytes = already;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > preAuthBytes + frameHeaderBytes) stream.destroy();
  };
  stream.on("data", count);
  return () => stream.off("data", count);
}
