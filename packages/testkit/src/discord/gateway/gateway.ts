// The gateway's protocol, version 10: hello, identify, resume, heartbeats, and every reason to close. A client that breaks the
// rules is closed with the code that Discord's documentation names; what only a bug can cause is also put on record.
import type { Server } from "node:http";
import { systemClock } from "@parley/protocol";
import {
  ApplicationFlags,
  GatewayCloseCodes as Code,
  GatewayDispatchEvents as Event,
  GatewayIntentBits as Intent,
  type GatewayIdentifyData,
  GatewayOpcodes as Op,
  type GatewayResumeData,
  type GatewaySendPayload,
} from "discord-api-types/v10";
import { type WebSocket, WebSocketServer } from "ws";
import { guildEvent } from "../payloads.ts";
import type { Bot, Notice, World } from "../world.ts";
import { type Connection, connection } from "./connection.ts";
import {
  type GatewayControls,
  gatewayControls,
  type GatewayState,
  type GatewayStep,
  noTrouble,
  type StartLimit,
  startWindowMs,
} from "./controls.ts";
import type { Packing } from "./packing.ts";
import { dispatch, type Session } from "./session.ts";

export interface GatewayOptions {
  readonly state: World;
  readonly server: Server;
  readonly violations: string[];
  readonly botFor: (token: string) => Bot | null;
  /** Discord asks for about 41 seconds. */
  readonly heartbeatMs: number;
  /** How long a session waits for its client. Discord names no figure; a few minutes are usual. */
  readonly sessionLifeMs: number;
  /** Discord takes one identify in 5 seconds (max_concurrency 1); 0 takes all. */
  readonly identifyEveryMs: number;
}

export interface Gateway {
  readonly controls: GatewayControls;
  startLimit(bot: Bot): StartLimit;
  close(): void;
}

const paths = ["/gateway", "/gateway/resume"];
const knownIntents = Object.values(Intent).reduce<number>((all, bit) => (typeof bit === "number" ? all | bit : all), 0);

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
    if (!paths.includes(url.pathname.replace(/(?<=.)\/$/, ""))) return void socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
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
    // A copy: the world's objects live on, an event is what was true then.
    dispatch(session, event, structuredClone(body(session.bot, session.intents)));
  }
}

function startLimit(held: GatewayState, bot: Bot): StartLimit {
  const now = held.clock.now();
  const known = held.limits.get(bot);
  if (known !== undefined && known.resetAtMs > now) return known;
  const fresh = {
    ...(known === undefined ? held.startLimit : { total: known.total, remaining: known.total }),
    resetAtMs: now + startWindowMs,
  };
  held.limits.set(bot, fresh);
  return fresh;
}

function serve(options: GatewayOptions, held: GatewayState, socket: WebSocket, url: URL, number: number): void {
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
    packing: compress === "zlib-stream" || compress === "zstd-stream" ? (compress satisfies Packing) : "plain",
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

/** Closes a connection whose client stopped to beat. Real time when the clock is virtual: a socket is always real. */
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

/** The client is gone. 1000 and 1001 end its session; anything else leaves it to be resumed for a while. */
function leave(options: GatewayOptions, held: GatewayState, line: Connection, code: number): void {
  const { session } = line;
  if (session === null || session.connection !== line) return;
  session.connection = null;
  session.goneAtMono = options.state.clock.mono();
  if (code === 1000 || code === 1001) held.sessions.delete(session.id);
}

type Note = (step: Omit<GatewayStep, "connection" | "atMs">) => void;

function receive(options: GatewayOptions, held: GatewayState, line: Connection, payload: GatewaySendPayload, note: Note): void {
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
      options.violations.push(`gateway: opcode ${String((payload as { op?: unknown } | null)?.op)} is none that a client sends`);
      return line.close(Code.UnknownOpcode, "Unknown opcode.");
  }
}

function identify(options: GatewayOptions, held: GatewayState, line: Connection, sent: GatewayIdentifyData): void {
  const { state, violations } = options;
  const { trouble } = held;
  if (line.session !== null) return line.close(Code.AlreadyAuthenticated, "Already authenticated.");
  const refuse = (code: number, reason: string): void => line.close(code, reason);
  if (typeof sent?.token !== "string" || typeof sent.intents !== "number" || typeof sent.properties?.os !== "string") {
    violations.push("gateway: identify needs token, intents and properties {os, browser, device}");
    return refuse(Code.DecodeError, "Error while decoding payload.");
  }
  const bot = options.botFor(sent.token.replace(/^Bot /, ""));
  if (bot === null) return refuse(Code.AuthenticationFailed, "Authentication failed.");
  const [shard = 0, shards = 1] = sent.shard ?? [];
  if (shard < 0 || shard >= shards) return refuse(Code.InvalidShard, "Invalid shard.");
  if ((sent.intents & ~knownIntents) !== 0 || sent.intents < 0) return refuse(Code.InvalidIntents, "Invalid intent(s).");
  if ((sent.intents & ~allowedIntents(bot)) !== 0) return refuse(Code.DisallowedIntents, "Disallowed intent(s).");
  if (trouble.refusedIdentifies > 0) {
    trouble.refusedIdentifies--;
    if (trouble.identifyCloseCode !== undefined) return refuse(trouble.identifyCloseCode, "");
    return line.send({ op: Op.InvalidSession, d: false } as never);
  }
  const limit = startLimit(held, bot);
  const now = state.clock.now();
  const isMine = (step: GatewayStep): boolean => (step.sent as GatewayIdentifyData | undefined)?.token === sent.token;
  const recent = held.steps.filter((step) => step.what === "identify" && now - step.atMs < options.identifyEveryMs && isMine(step));
  if (recent.length > 1) return line.send({ op: Op.InvalidSession, d: false } as never);
  if (limit.remaining === 0) {
    violations.push("gateway: identified beyond session_start_limit: Discord would have reset the token");
    return refuse(Code.AuthenticationFailed, "Authentication failed.");
  }
  limit.remaining--;
  if (sent.compress === true) line.packEach();
  const session: Session = {
    id: state.nextId().padStart(32, "0"),
    bot,
    intents: sent.intents,
    seq: 0,
    events: [],
    connection: null,
    goneAtMono: 0,
    presence: sent.presence ?? null,
  };
  held.sessions.set(session.id, session);
  line.session = session;
  if (trouble.withheldReadies > 0) {
    trouble.withheldReadies--;
    return;
  }
  session.connection = line;
  greet(options, session, sent.shard);
}

/** READY, and then each guild as it becomes available. */
function greet({ state }: GatewayOptions, session: Session, shard: GatewayIdentifyData["shard"]): void {
  const { bot } = session;
  const guilds = [...state.guilds.values()].filter((guild) => guild.members.has(bot.user.id));
  dispatch(session, Event.Ready, {
    v: 10,
    user: bot.user,
    session_id: session.id,
    resume_gateway_url: `${state.origin.replace("http", "ws")}/gateway/resume`,
    guilds: guilds.map((guild) => ({ id: guild.id, unavailable: true })),
    application: { id: bot.user.id, flags: applicationFlags(bot) },
    ...(shard === undefined ? {} : { shard }),
  });
  if ((session.intents & Intent.Guilds) === 0) return;
  for (const guild of guilds) dispatch(session, Event.GuildCreate, guildEvent(state, guild, bot));
}

function resume(options: GatewayOptions, held: GatewayState, line: Connection, sent: GatewayResumeData): void {
  const { state } = options;
  const { trouble } = held;
  if (line.session !== null) return line.close(Code.AlreadyAuthenticated, "Already authenticated.");
  const bot = options.botFor(String(sent?.token).replace(/^Bot /, ""));
  if (bot === null) return line.close(Code.AuthenticationFailed, "Authentication failed.");
  if (trouble.refusedResumes > 0) {
    trouble.refusedResumes--;
    return line.send({ op: Op.InvalidSession, d: trouble.areRefusalsResumable } as never);
  }
  const session = held.sessions.get(sent.session_id);
  const isLate = session?.connection === null && state.clock.mono() - session.goneAtMono > options.sessionLifeMs;
  if (session === undefined || session.bot !== bot || isLate) {
    held.sessions.delete(sent.session_id);
    return line.send({ op: Op.InvalidSession, d: false } as never);
  }
  if (!Number.isInteger(sent.seq) || sent.seq > session.seq || sent.seq < 0) return line.close(Code.InvalidSeq, "Invalid seq.");
  // A second client with the same session takes it from the first.
  session.connection?.close(Code.UnknownError, "Session resumed elsewhere.");
  line.session = session;
  const missed = session.events.filter((event) => event.s > sent.seq - trouble.repeats);
  trouble.repeats = 0;
  for (const event of missed) line.send(event);
  session.connection = line;
  dispatch(session, Event.Resumed, {});
}

function allowedIntents(bot: Bot): number {
  const off = [
    bot.privileged.has("guildMembers") ? 0 : Intent.GuildMembers,
    bot.privileged.has("presence") ? 0 : Intent.GuildPresences,
    bot.privileged.has("messageContent") ? 0 : Intent.MessageContent,
  ];
  return off.reduce((left, bit) => left & ~bit, knownIntents);
}

/** The switches of the portal as an application shows them; "limited" is what bots in few guilds have. */
export function applicationFlags({ privileged }: Bot): number {
  return (
    (privileged.has("messageContent") ? ApplicationFlags.GatewayMessageContentLimited : 0) |
    (privileged.has("guildMembers") ? ApplicationFlags.GatewayGuildMembersLimited : 0) |
    (privileged.has("presence") ? ApplicationFlags.GatewayPresenceLimited : 0)
  );
}
