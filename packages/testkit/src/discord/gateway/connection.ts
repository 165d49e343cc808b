// Handles one WebSocket of the gateway: it sends frames in order, limits what comes in, and closes.
import type { Clock } from "@parley/protocol";
import {
  GatewayCloseCodes as Code,
  type GatewayReceivePayload,
  type GatewaySendPayload,
} from "discord-api-types/v10";
import type { WebSocket } from "ws";
import { type Pack, packer, type Packing } from "./packing.ts";
import type { Session } from "./session.ts";

/** Discord's documentation, "Sending Events" and "Rate Limiting". */
const maxPayloadBytes = 4_096;
const maxSent = 120;
const sentWindowMs = 60_000;

export interface Connection {
  readonly number: number;
  /** True when the client came to the resume address. */
  readonly isAtResumeUrl: boolean;
  session: Session | null;
  /** Drops every outgoing frame: to the client the connection fell silent. */
  isSilent: boolean;
  lastBeatMono: number;
  send(payload: GatewayReceivePayload): void;
  /** Sends text as it is, for frames that no real server sends. */
  sendText(text: string): void;
  /** Compresses each payload on its own from now on. */
  packEach(): void;
  close(code: number, reason: string): void;
  /** Resets the TCP connection: the client sees 1006. */
  cut(): void;
}

export interface ConnectionOptions {
  readonly socket: WebSocket;
  readonly number: number;
  readonly isAtResumeUrl: boolean;
  readonly packing: Packing;
  readonly clock: Clock;
  readonly onPayload: (payload: GatewaySendPayload) => void;
  /** The code that the client closed with; 1006 when it did not say, 1005 when it said nothing. */
  readonly onGone: (code: number) => void;
}

export function connection(options: ConnectionOptions): Connection {
  const { socket, clock } = options;
  let pack: Pack = packer(options.packing);
  let sent: number[] = [];
  let last: Promise<unknown> = Promise.resolve();
  const queue = (text: string): void => {
    if (self.isSilent) return;
    const frame = pack(text);
    last = last.then(async () => {
      const bytes = await frame;
      if (socket.readyState === socket.OPEN) socket.send(bytes);
    });
  };
  const self: Connection = {
    number: options.number,
    isAtResumeUrl: options.isAtResumeUrl,
    session: null,
    isSilent: false,
    lastBeatMono: performance.now(),
    send: (payload) => queue(JSON.stringify(payload)),
    sendText: queue,
    packEach() {
      pack = packer("each");
    },
    close(code, reason) {
      // After the frames that were sent before it.
      last = last.then(() => socket.close(code, reason));
    },
    cut: () => socket.terminate(),
  };
  socket.on("message", (data: Buffer) => {
    const now = clock.mono();
    sent = [...sent.filter((atMono) => now - atMono < sentWindowMs), now];
    if (sent.length > maxSent) return self.close(Code.RateLimited, "Rate limited.");
    if (data.length > maxPayloadBytes) return self.close(Code.DecodeError, "Error while decoding payload.");
    let payload: GatewaySendPayload;
    try {
      payload = JSON.parse(data.toString()) as GatewaySendPayload;
    } catch {
      // The client's mistake, answered as the real gateway does.
      return self.close(Code.DecodeError, "Error while decoding payload.");
    }
    options.onPayload(payload);
  });
  socket.on("close", (code) => options.onGone(code));
  // A torn frame or a reset: "close" follows.
  socket.on("error", () => {});
  return self;
}
