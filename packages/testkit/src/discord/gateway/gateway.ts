// Speaks the gateway's protocol, version 10: hello, identify, resume, heartbeats, and every reason to close.
// It closes a client that breaks the rules with the code that Discord's documentation names, and records
// mistakes that only a bug can cause.
import { systemClock } from "@parley/protocol";
import {
  GatewayCloseCodes as Code,
  GatewayOpcodes as Op,
  type GatewaySendPayload,
} from "discord-api-types/v10";
import { type WebSocket, WebSocketServer } from "ws";
import type { Bot } from "../model.ts";
import type { Notice } from "../world.ts";
import { type Connection, connection } from "./connection.ts";
import {
  type GatewayControls,
  gatewayControls,
  type GatewayState,
  type GatewayStep,
  noTrouble,
  type StartLimit,
} from "./controls.ts";
import { type GatewayOptions, identify, resume, startLimit } from "./login.ts";
import type { Packing } from "./packing.ts";
import { dispatch } from "./session.ts";

export interface Gateway {
  readonly controls: GatewayControls;
  startLimit(bot: Bot): StartLimit;
  close(): void;
}

const paths = ["/gateway", "/gateway/resume"];

export function gateway(options: GatewayOptions): Gateway {
  const { clock } = options.state;
  const held: GatewayState = {
    clock,
    steps: [],
    sessions: new Map(),
    open: new Set(),
    limits: new Map(),
    trouble: noTrouble(),
    startLimit: { total: 1000, remaining: 1000 },
  };
  const server = new WebSocketServer({ noServer: true });
  let connections = 0;
  options.server.on("upgrade", (request, socket, head) => {
    const url = new URL(request.url ?? "/", "ws://127.0.0.1");
    if (!paths.includes(url.pathname.replace(/(?<=.)\/$/, "")))
      return void socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
    server.handleUpgrade(request, socket, head, (client) => serve(options, held, client, url, ++connections));
  });
  options.state.onNotice((notice) => tell(held, notice));
  return {
    controls: gatewayControls(held),
    startLimit: (bot) => startLimit(held, bot),
    close() {
      for (const client of server.clients) client.terminate();
      server.close();
    },
  };
}

function tell({ sessions }: GatewayState, { event, to, intents, body }: Notice): void {
  for (const session of sessions.values()) {
    if (!to.includes(session.bot) || (intents !== 0 && (intents & session.intents) === 0)) continue;
    // A copy, because the world's objects change later and an event must not.
    dispatch(session, event, structuredClone(body(session.bot, session.intents)));
  }
}

function serve(
  options: GatewayOptions,
  held: GatewayState,
  socket: WebSocket,
  url: URL,
  number: number,
): void {
  const { clock } = options.state;
  const { trouble } = held;
  const compress = url.searchParams.get("compress");
  const isAtResumeUrl = url.pathname.startsWith("/gateway/resume");
  const note = (step: Omit<GatewayStep, "connection" | "atMs">): void => {
    held.steps.push({ connection: number, atMs: clock.now(), ...step });
  };
  const line: Connection = connection({
    socket,
    number,
    isAtResumeUrl,
    packing:
      compress === "zlib-stream" || compress === "zstd-stream" ? (compress satisfies Packing) : "plain",
    clock,
    onPayload: (payload) => receive(options, held, line, payload, note),
    onGone(code) {
      held.open.delete(line);
      watch.cancel();
      note({ what: "close", code });
      leave(options, held, line, code);
    },
  });
  held.open.add(line);
  note({ what: "connect", isAtResumeUrl });
  const watch = watchBeats(options, line);
  if (url.searchParams.get("v") !== "10") return line.close(Code.InvalidAPIVersion, "Invalid API version.");
  if (url.searchParams.get("encoding") !== "json") {
    options.violations.push(`gateway: encoding ${url.searchParams.get("encoding")} is not part of this fake`);
    return line.close(Code.DecodeError, "Error while decoding payload.");
  }
  if (trouble.withheldHellos > 0) {
    trouble.withheldHellos--;
    return;
  }
  line.send({ op: Op.Hello, d: { heartbeat_interval: options.heartbeatMs } } as never);
}

/**
 * Closes a connection whose client stopped its heartbeats. It uses real time even under a virtual clock,
 * because sockets are real.
 */
function watchBeats(options: GatewayOptions, line: Connection): { cancel(): void } {
  const clock = systemClock();
  let timer = clock.after(options.heartbeatMs * 1.5, look);
  function look(): void {
    const leftMs = line.lastBeatMono + options.heartbeatMs * 1.5 - clock.mono();
    if (leftMs <= 0) line.close(Code.SessionTimedOut, "Session timed out.");
    else timer = clock.after(leftMs, look);
  }
  return { cancel: () => timer.cancel() };
}

/** Handles a lost client. 1000 and 1001 end its session; after anything else it can resume for a while. */
function leave(options: GatewayOptions, held: GatewayState, line: Connection, code: number): void {
  const { session } = line;
  if (session === null || session.connection !== line) return;
  session.connection = null;
  session.goneAtMono = options.state.clock.mono();
  if (code === 1000 || code === 1001) held.sessions.delete(session.id);
}

/** Puts a step of the client on record. */
type Note = (step: Omit<GatewayStep, "connection" | "atMs">) => void;

function receive(
  options: GatewayOptions,
  held: GatewayState,
  line: Connection,
  payload: GatewaySendPayload,
  note: Note,
): void {
  const { trouble } = held;
  switch (payload?.op) {
    case Op.Heartbeat:
      note({ what: "heartbeat" });
      line.lastBeatMono = performance.now();
      if (trouble.acks) line.send({ op: Op.HeartbeatAck } as never);
      return;
    case Op.Identify:
      note({ what: "identify", sent: payload.d });
      return identify(options, held, line, payload.d);
    case Op.Resume:
      note({ what: "resume", sessionId: payload.d?.session_id, seq: payload.d?.seq });
      return resume(options, held, line, payload.d);
    case Op.PresenceUpdate:
      if (line.session === null) return line.close(Code.NotAuthenticated, "Not authenticated.");
      note({ what: "presence", sent: payload.d });
      line.session.presence = payload.d;
      return;
    case Op.RequestGuildMembers:
    case Op.VoiceStateUpdate:
      if (line.session === null) line.close(Code.NotAuthenticated, "Not authenticated.");
      return;
    default:
      options.violations.push(
        `gateway: opcode ${String((payload as { op?: unknown } | null)?.op)} is none that a client sends`,
      );
      return line.close(Code.UnknownOpcode, "Unknown opcode.");
  }
}
