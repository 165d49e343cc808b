// Lists the sessions that a turn may see, the most recently used first: what each is, where, when it was last
// used, what it used, whether it works now, and its last words when they are asked for.
import {
  isFault,
  noUsage,
  parseRowPayload,
  parseSessionKey,
  type SessionKey,
  type Usage,
} from "@parley/protocol";
import type { Session, Turns } from "@parley/store";
import type { SessionsRequest, Told, ToolScope } from "@parley/tools";
import type { Services } from "../turn-scope.ts";
import type { Child } from "./child-registry.ts";
import { readThere, told } from "./read-there.ts";
import { transcriptLines } from "./transcript-lines.ts";
import { mayReach } from "./visibility.ts";

type ListServices = Pick<
  Services,
  "config" | "sessions" | "children" | "inbox" | "turns" | "redaction" | "clock"
>;

/** Sessions that are looked through for those that may be seen. */
const lookedThrough = 1_000;
const lanesLookedAt = 1_000;
const wordsChars = 500;

export async function listSessions(
  services: ListServices,
  scope: ToolScope,
  { kinds, activeMinutes, limit, messages, maxBytes }: SessionsRequest,
): Promise<Told> {
  const { config, sessions, children, turns, clock } = services;
  const below = await children.below(scope.session);
  const reach = mayReach(scope, below, config.tools);
  const nowMs = clock.now();
  const [known, lanes] = await Promise.all([
    sessions.list({
      ...(activeMinutes === undefined ? {} : { sinceMs: nowMs - activeMinutes * 60_000 }),
      limit: lookedThrough,
    }),
    busyLanes(turns),
  ]);
  const seen = known.filter(
    ({ key }) => reach(key).allowed && (kinds === undefined || kinds.includes(parseSessionKey(key).kind)),
  );
  if (seen.length === 0) return told("No session that may be seen from here fits.", undefined);
  const blocks: string[] = [];
  let source: string | undefined;
  let bytes = 0;
  for (const session of seen.slice(0, limit)) {
    const child = below.find((each) => each.session === session.key);
    const words = await lastWords(services, session, messages);
    const block = [
      await sessionLine(services, session, child, lanes.has(session.key), scope.session),
      ...words,
    ].join("\n");
    bytes += Buffer.byteLength(block) + 1;
    if (bytes > maxBytes) break;
    blocks.push(block);
    if (words.length > 0) source ??= await readThere(sessions, session);
  }
  const left = seen.length - blocks.length;
  return told([...blocks, ...(left === 0 ? [] : [`${left} more are not shown.`])].join("\n"), source);
}

async function sessionLine(
  { inbox, clock }: ListServices,
  { key, updatedAtMs, fields }: Session,
  child: Child | undefined,
  works: boolean,
  self: SessionKey,
): Promise<string> {
  const parts = parseSessionKey(key);
  const usage = { ...noUsage, ...(fields["usage"] as Partial<Usage> | undefined) };
  const [newest] = child === undefined ? await inbox.find({ lane: key, limit: 1 }) : [];
  const name = child?.label ?? (newest === undefined ? "" : senderOf(newest.payload));
  const channel = "channel" in parts ? parts.channel : undefined;
  const facts = [
    parts.kind,
    ...(channel === undefined ? [] : [channel]),
    ...(name === "" ? [] : [JSON.stringify(name)]),
    `last used ${since(clock.now() - updatedAtMs)} ago`,
    `${usage.inputTokens + usage.outputTokens} tokens`,
    works ? "working" : "idle",
    ...(child === undefined || child.end === null ? [] : [child.end.state]),
    ...(key === self ? ["this session"] : []),
  ];
  return `${key}: ${facts.join(", ")}`;
}

/** Empty for a row that Parley wrote, or that this version cannot read. */
function senderOf(payload: string): string {
  try {
    const { inbound, internal } = parseRowPayload(payload);
    return internal === undefined ? inbound.sender.name : "";
  } catch (error) {
    if (isFault(error, "invalid")) return "";
    throw error;
  }
}

async function lastWords(
  { sessions, redaction }: ListServices,
  { key }: Session,
  limit: number,
): Promise<readonly string[]> {
  if (limit === 0) return [];
  // Calls and their results stand between the words.
  const stored = await sessions.transcript(key, { newest: true, limit: limit * 5 });
  return transcriptLines(stored, redaction, { calls: false })
    .slice(-limit)
    .map((line) => `  ${line.length <= wordsChars ? line : `${line.slice(0, wordsChars)}…`}`);
}

/** Lanes in which a turn runs, waits or is parked: one stays listed after it became idle. */
export async function busyLanes(turns: Pick<Turns, "list">): Promise<ReadonlySet<string>> {
  const lanes = await turns.list(undefined, lanesLookedAt);
  return new Set(
    lanes.filter(({ atMs, holder }) => atMs !== null || holder !== null).map(({ lane }) => lane),
  );
}

function since(ms: number): string {
  const minutes = Math.max(0, Math.round(ms / 60_000));
  if (minutes < 120) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1_440)} days`;
}
