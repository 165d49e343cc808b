// Reads the sessions of an OpenClaw home and writes them into the store, each with its whole transcript in
// one commit. A session keeps its key, so that the next message goes on where the last one ended; one that
// has a conversation here already is left as it is.
import { existsSync, statSync } from "node:fs";
import { basename, isAbsolute, join, resolve } from "node:path";
import {
  conversationKey,
  Fault,
  formatRowPayload,
  formatSessionKey,
  isFault,
  parseSessionKey,
  type Address,
  type Entry,
  type Json,
  type JsonObject,
  type SessionKey,
  type SessionKeyParts,
} from "@parley/protocol";
import type { Store } from "@parley/store";
import { placeOf } from "./jobs.ts";
import type { Met } from "./report.ts";
import { fileValue, namesIn, textOf, type Source } from "./source.ts";
import { readTranscript } from "./transcript.ts";
import { isBlock, textIn } from "./tree.ts";

export interface OldSession {
  readonly key: SessionKey;
  /** Where its people are; the web where that is not known. */
  readonly place: Address;
  readonly entries: readonly Entry[];
}

export interface OldSessions {
  readonly sessions: readonly OldSession[];
  readonly met: readonly Met[];
}

const pool = "import";
/** A larger one is no conversation that a model could go on with. */
const mostMegabytes = 256;
/** The home lock keeps others out; a longer lease of a killed import would hide its lane from the next. */
const leaseMs = 1;

export function readSessions(source: Source): OldSessions {
  const sessions: OldSession[] = [];
  const met: Met[] = [];
  const agentsFolder = join(source.folder, "agents");
  for (const agent of !source.isHome ? [] : namesIn(agentsFolder)) {
    const folder = join(agentsFolder, agent, "sessions");
    const listed = fileValue(join(folder, "sessions.json")) as Json;
    const used = new Set<string>();
    for (const [name, entry] of Object.entries(isBlock(listed) ? listed : {})) {
      const file = fileOf(folder, isBlock(entry) ? entry : {});
      if (file !== null) used.add(basename(file));
      const read = sessionOf(agent, name, isBlock(entry) ? entry : {}, file);
      if ("why" in read) met.push({ what: "session", name, fate: "refused", why: read.why });
      else {
        sessions.push(read.session);
        const why = read.left.length === 0 ? {} : { why: `without ${read.left.join(", ")}` };
        met.push({
          what: "session",
          name,
          fate: read.left.length === 0 ? "carried" : "changed",
          to: read.session.key,
          ...why,
        });
      }
    }
    for (const name of namesIn(folder))
      if (name.includes(".jsonl") && !used.has(name))
        met.push({
          what: "file",
          name: join(folder, name),
          fate: "refused",
          why: "no session goes on with this transcript",
        });
  }
  return { sessions, met };
}

/** Null: it is nowhere. */
function fileOf(folder: string, entry: JsonObject): string | null {
  const { sessionFile, sessionId } = entry;
  const named =
    typeof sessionFile === "string"
      ? isAbsolute(sessionFile)
        ? sessionFile
        : resolve(folder, sessionFile)
      : null;
  // A home that was copied from elsewhere still names the folder that it lay in.
  const beside = named === null ? null : join(folder, basename(named));
  const usual = typeof sessionId === "string" ? join(folder, `${basename(sessionId)}.jsonl`) : null;
  return [beside, usual].find((path) => path !== null && existsSync(path)) ?? null;
}

function sessionOf(
  agent: string,
  name: string,
  entry: JsonObject,
  file: string | null,
): { readonly session: OldSession; readonly left: readonly string[] } | { readonly why: string } {
  const parts = partsOf(name === "main" ? `agent:${agent}:main` : name);
  if (parts === null) return { why: "Parley has no session of this kind" };
  if (!["main", "dm", "group", "channel"].includes(parts.kind))
    return { why: "what a schedule, a sub-agent or a program said is not gone on with" };
  if (file === null) return { why: "its transcript is not there" };
  const megabytes = statSync(file).size / 1e6;
  if (megabytes > mostMegabytes)
    return { why: `its transcript has ${Math.round(megabytes)} MB, more than ${mostMegabytes}` };
  const { entries, left } = readTranscript(textOf(file));
  if (entries.length === 0) return { why: "its transcript is empty" };
  return { session: { key: formatSessionKey(parts), place: placeIn(parts, entry), entries }, left };
}

function partsOf(name: string): SessionKeyParts | null {
  try {
    return parseSessionKey(name);
  } catch (error) {
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}

function placeIn(parts: SessionKeyParts, entry: JsonObject): Address {
  const context = isBlock(entry["deliveryContext"]) ? entry["deliveryContext"] : {};
  const account = textIn(context["accountId"] ?? entry["lastAccountId"]) ?? "default";
  if (parts.kind === "group")
    return {
      channel: parts.channel,
      account: parts.account,
      kind: "group",
      peer: parts.id,
      thread: parts.topic,
    };
  if (parts.kind === "channel")
    return {
      channel: parts.channel,
      account: parts.account,
      kind: "channel",
      peer: parts.id,
      thread: parts.thread,
    };
  if (parts.kind === "dm" && parts.channel !== undefined)
    return {
      channel: parts.channel,
      account: parts.account ?? "default",
      kind: "dm",
      peer: parts.peer,
      thread: parts.thread,
    };
  const to = textIn(context["to"] ?? entry["lastTo"]);
  const known = to === null ? null : placeOf(context["channel"] ?? entry["lastChannel"], to, account);
  return known ?? { channel: "web", account: "default", kind: "dm", peer: "web-operator" };
}

/**
 * False when the session has a conversation here already. May be called again after a crash: the row is known
 * by its id, and the turn that it began is taken again.
 */
export async function writeSession(
  store: Store,
  { key, place, entries }: OldSession,
  holder: string,
  nowMs: number,
): Promise<boolean> {
  const session = await store.sessions.open(key);
  if (session.lastSeq > 0) return false;
  const id = `${pool}:openclaw:${key}`;
  await store.inbox.accept([
    {
      id,
      pool,
      lane: key,
      conversation: conversationKey(place),
      authority: pool,
      as: { kind: "work" },
      payload: formatRowPayload({
        v: 1,
        inbound: {
          id,
          channel: place.channel,
          account: place.account,
          address: place,
          sender: { id: place.peer, name: "Parley", isBot: false },
          messageId: id,
          kind: "message",
          text: "parley import openclaw",
          attachments: [],
          mentions: [],
          addressed: true,
          atMs: nowMs,
        },
        owner: false,
      }),
    },
  ]);
  for (;;) {
    const turn = await store.turns.take({ pool, holder, leaseMs, maxRows: 1 });
    if ("idle" in turn) throw new Fault("conflict", `the conversation ${key} is being imported by another`);
    const isOurs = turn.lane === key;
    await store.turns.commit(turn, turn.id, {
      outcome: isOurs ? "commanded" : "stopped",
      reason: isOurs ? "its conversation was carried over from OpenClaw" : "its import began anew",
      entries: isOurs ? entries.map((entry) => JSON.stringify(entry)) : [],
    });
    if (isOurs) return true;
  }
}
