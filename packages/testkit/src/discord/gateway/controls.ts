// Gives a test control over the gateway: it ends connections in every way, refuses resumes and identifies,
// stops answering, and observes.
import type { Clock } from "@parley/protocol";
import { GatewayOpcodes as Op } from "discord-api-types/v10";
import type { Bot } from "../model.ts";
import type { Connection } from "./connection.ts";
import { dispatch, type Session } from "./session.ts";

/** A step of a client, in order. */
export interface GatewayStep {
  readonly what: "connect" | "heartbeat" | "identify" | "resume" | "presence" | "close";
  readonly connection: number;
  readonly atMs: number;
  /** Of close: the client's code (1006: it vanished). */
  readonly code?: number;
  /** Of resume. */
  readonly sessionId?: string;
  readonly seq?: number;
  /** Of connect: true when it came to resume_gateway_url. */
  readonly isAtResumeUrl?: boolean;
  /** Of identify and presence: the client's payload. */
  readonly sent?: unknown;
}

interface SessionView {
  readonly id: string;
  readonly bot: string;
  readonly intents: number;
  readonly seq: number;
  readonly isConnected: boolean;
  readonly presence: unknown;
}

export interface GatewayControls {
  /** Everything that clients did. */
  steps(what?: GatewayStep["what"]): readonly GatewayStep[];
  sessions(): readonly SessionView[];
  /** Connections that are open now. */
  connections(): number;
  /** Ends all connections: with this close code, or without a word (1006). */
  drop(code?: number): void;
  /** Op 7 on all connections. */
  reconnect(): void;
  /** Op 9 on all connections. */
  invalidate(isResumable: boolean): void;
  /** Answers the next resumes with op 9; `null` for ever. */
  refuseResume(times: number | null, isResumable?: boolean): void;
  /** Answers the next identifies with op 9, or closes with a code. */
  refuseIdentify(times: number | null, closeCode?: number): void;
  /** Stops or resumes the acks of heartbeats: a zombie connection. */
  acks(areOn: boolean): void;
  /** The next connections get no HELLO. */
  withholdHello(times: number | null): void;
  /** The next identifies get no READY. */
  withholdReady(times: number | null): void;
  /** Open connections fall silent: nothing goes out any more, nothing closes. */
  freeze(): void;
  /** After the next resume, repeats this many events that the client already had. */
  repeatAfterResume(events: number): void;
  /** Forgets all sessions: the next resume is refused as unknown. */
  forgetSessions(): void;
  /** An event as it is, to every session of the bot (of all bots): unknown kinds, missing fields. */
  push(event: string, body: unknown, token?: string): void;
  /** A frame that is no payload at all. */
  pushText(text: string): void;
  /** Sets the session starts that /gateway/bot reports. */
  setStartLimit(remaining: number, total?: number): void;
  heal(): void;
}

/** Faults that the protocol checks at each step. */
export interface GatewayTrouble {
  acks: boolean;
  refusedResumes: number;
  areRefusalsResumable: boolean;
  refusedIdentifies: number;
  identifyCloseCode: number | undefined;
  withheldHellos: number;
  withheldReadies: number;
  repeats: number;
}

export function noTrouble(): GatewayTrouble {
  return {
    acks: true,
    refusedResumes: 0,
    areRefusalsResumable: false,
    refusedIdentifies: 0,
    identifyCloseCode: undefined,
    withheldHellos: 0,
    withheldReadies: 0,
    repeats: 0,
  };
}

/** Session starts of one bot within a day, as /gateway/bot reports them. */
export interface StartLimit {
  total: number;
  remaining: number;
  resetAtMs: number;
}

/** Starts are counted per day; the real allowance is 1000. */
export const startWindowMs = 86_400_000;

export interface GatewayState {
  readonly clock: Clock;
  readonly steps: GatewayStep[];
  readonly sessions: Map<string, Session>;
  readonly open: Set<Connection>;
  readonly limits: Map<Bot, StartLimit>;
  readonly trouble: GatewayTrouble;
  /** What new limits begin with. */
  startLimit: { readonly total: number; readonly remaining: number };
}

export function gatewayControls(state: GatewayState): GatewayControls {
  const { trouble, open, sessions } = state;
  const times = (count: number | null): number => count ?? Number.POSITIVE_INFINITY;
  return {
    steps: (what) => (what === undefined ? state.steps : state.steps.filter((step) => step.what === what)),
    sessions: () =>
      [...sessions.values()].map(({ id, bot, intents, seq, connection, presence }) => ({
        id,
        bot: bot.user.id,
        intents,
        seq,
        isConnected: connection !== null,
        presence,
      })),
    connections: () => open.size,
    drop(code) {
      for (const connection of open) {
        if (code === undefined) connection.cut();
        else connection.close(code, "");
      }
    },
    reconnect() {
      for (const connection of open) connection.send({ op: Op.Reconnect, d: null } as never);
    },
    invalidate(isResumable) {
      for (const connection of open) {
        if (!isResumable && connection.session !== null) sessions.delete(connection.session.id);
        connection.send({ op: Op.InvalidSession, d: isResumable } as never);
      }
    },
    refuseResume(count, isResumable = false) {
      trouble.refusedResumes = times(count);
      trouble.areRefusalsResumable = isResumable;
    },
    refuseIdentify(count, closeCode) {
      trouble.refusedIdentifies = times(count);
      trouble.identifyCloseCode = closeCode;
    },
    acks(areOn) {
      trouble.acks = areOn;
    },
    withholdHello(count) {
      trouble.withheldHellos = times(count);
    },
    withholdReady(count) {
      trouble.withheldReadies = times(count);
    },
    freeze() {
      for (const connection of open) connection.isSilent = true;
    },
    repeatAfterResume(events) {
      trouble.repeats = events;
    },
    forgetSessions: () => sessions.clear(),
    push(event, body, token) {
      for (const session of sessions.values()) {
        if (token === undefined || session.bot.token === token) dispatch(session, event, body);
      }
    },
    pushText(text) {
      for (const connection of open) connection.sendText(text);
    },
    setStartLimit(remaining, total = 1000) {
      state.startLimit = { remaining, total };
      state.limits.clear();
    },
    heal() {
      Object.assign(trouble, noTrouble());
      for (const connection of open) connection.isSilent = false;
    },
  };
}
