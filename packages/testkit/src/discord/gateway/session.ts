// Keeps a gateway session: the events of one identified client, stored for a while after it left, so that it
// can resume.
import {
  type GatewayDispatchPayload,
  GatewayOpcodes,
  type GatewayReceivePayload,
} from "discord-api-types/v10";
import type { Bot } from "../model.ts";

/** The part of a connection that the session uses. */
interface SessionLine {
  send(payload: GatewayReceivePayload): void;
  close(code: number, reason: string): void;
}

export interface Session {
  readonly id: string;
  readonly bot: Bot;
  readonly intents: number;
  /** Sequence of the last event. */
  seq: number;
  /** The last events, for replays. */
  readonly events: GatewayDispatchPayload[];
  connection: SessionLine | null;
  /** When the client went away. */
  goneAtMono: number;
  presence: unknown;
}

/** A client that missed more cannot resume. Discord names no figure. */
const keptEvents = 5_000;

/** Appends an event and sends it when the client is there. */
export function dispatch(session: Session, event: string, body: unknown): void {
  const payload = {
    op: GatewayOpcodes.Dispatch,
    t: event,
    s: ++session.seq,
    d: body,
  } as GatewayDispatchPayload;
  session.events.push(payload);
  if (session.events.length > keptEvents) session.events.shift();
  session.connection?.send(payload);
}
