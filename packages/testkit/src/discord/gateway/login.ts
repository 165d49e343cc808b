// Starts and resumes sessions: identify with every reason to refuse it, the greeting, and resume with the
// missed events.
import type { Server } from "node:http";
import {
  GatewayCloseCodes as Code,
  GatewayDispatchEvents as Event,
  type GatewayIdentifyData,
  GatewayIntentBits as Intent,
  GatewayOpcodes as Op,
  type GatewayResumeData,
} from "discord-api-types/v10";
import type { Bot } from "../model.ts";
import { applicationFlags, guildEvent } from "../payloads.ts";
import type { World } from "../world.ts";
import type { Connection } from "./connection.ts";
import { type GatewayState, type GatewayStep, type StartLimit, startWindowMs } from "./controls.ts";
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

const knownIntents = Object.values(Intent).reduce<number>(
  (all, bit) => (typeof bit === "number" ? all | bit : all),
  0,
);

export function startLimit(held: GatewayState, bot: Bot): StartLimit {
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

export function identify(
  options: GatewayOptions,
  held: GatewayState,
  line: Connection,
  sent: GatewayIdentifyData,
): void {
  const { state, violations } = options;
  const { trouble } = held;
  if (line.session !== null) return line.close(Code.AlreadyAuthenticated, "Already authenticated.");
  const refuse = (code: number, reason: string): void => line.close(code, reason);
  if (
    typeof sent?.token !== "string" ||
    typeof sent.intents !== "number" ||
    typeof sent.properties?.os !== "string"
  ) {
    violations.push("gateway: identify needs token, intents and properties {os, browser, device}");
    return refuse(Code.DecodeError, "Error while decoding payload.");
  }
  const bot = options.botFor(sent.token.replace(/^Bot /, ""));
  if (bot === null) return refuse(Code.AuthenticationFailed, "Authentication failed.");
  const [shard = 0, shards = 1] = sent.shard ?? [];
  if (shard < 0 || shard >= shards) return refuse(Code.InvalidShard, "Invalid shard.");
  if ((sent.intents & ~knownIntents) !== 0 || sent.intents < 0)
    return refuse(Code.InvalidIntents, "Invalid intent(s).");
  if ((sent.intents & ~allowedIntents(bot)) !== 0)
    return refuse(Code.DisallowedIntents, "Disallowed intent(s).");
  if (trouble.refusedIdentifies > 0) {
    trouble.refusedIdentifies--;
    if (trouble.identifyCloseCode !== undefined) return refuse(trouble.identifyCloseCode, "");
    return line.send({ op: Op.InvalidSession, d: false } as never);
  }
  const limit = startLimit(held, bot);
  const now = state.clock.now();
  const isMine = (step: GatewayStep): boolean =>
    (step.sent as GatewayIdentifyData | undefined)?.token === sent.token;
  const recent = held.steps.filter(
    (step) => step.what === "identify" && now - step.atMs < options.identifyEveryMs && isMine(step),
  );
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

export function resume(
  options: GatewayOptions,
  held: GatewayState,
  line: Connection,
  sent: GatewayResumeData,
): void {
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
  const isLate =
    session?.connection === null && state.clock.mono() - session.goneAtMono > options.sessionLifeMs;
  const isForgotten = (session?.events[0]?.s ?? 1) > sent.seq + 1;
  if (session === undefined || session.bot !== bot || isLate || isForgotten) {
    held.sessions.delete(sent.session_id);
    return line.send({ op: Op.InvalidSession, d: false } as never);
  }
  if (!Number.isInteger(sent.seq) || sent.seq > session.seq || sent.seq < 0)
    return line.close(Code.InvalidSeq, "Invalid seq.");
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
