// A gateway session: what one identified client was told, kept for a while after it went, so that it can resume where it was.
import { type GatewayDispatchPayload, GatewayOpcodes } from "discord-api-types/v10";
import type { Bot } from "../world.ts";
import type { Connection } from "./connection.ts";

export interface Session {
  readonly id: string;
  readonly bot: Bot;
  readonly intents: number;
  /** Sequence of the last event. */
  seq: number;
  /** Every event, for replays. */
  readonly events: GatewayDispatchPayload[];
  connection: Connection | null;
  /** When the client went away. */
  goneAtMono: number;
  presence: unknown;
}

/** Appends an event and sends it when the client is there. */
export function dispatch(session: Session, event: string, body: unknown): void {
  const payload = { op: GatewayOpcodes.Dispatch, t: event, s: ++session.seq, d: body } as GatewayDispatchPayload;
  session.events.push(payload);
  session.connection?.send(payload);
}
