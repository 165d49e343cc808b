// Reads the sessions of an OpenClaw home, each with its whole transcript. A session keeps its key, so that
// the next message goes on where the last one ended.
import { basename, join } from "node:path";
import {
  formatSessionKey,
  isFault,
  parseSessionKey,
  type Address,
  type Entry,
  type JsonObject,
  type SessionKey,
  type SessionKeyParts,
} from "@parley/protocol";
import { placeOf } from "./jobs.ts";
import type { Met } from "./report.ts";
import { agentDatabase, isOfUnknownForm, storedSessions, storedTranscript } from "./source-databases.ts";
import type { Source } from "./source.ts";
import { readTranscript, type ReadTranscript } from "./transcript.ts";
import { at, isBlock, textIn } from "./tree.ts";

export interface OldSession {
  readonly key: SessionKey;
  /** Where its people are; the web where that is not known. */
  readonly place: Address;
  /** Read anew, because the conversations of a whole home may be more than fits into memory. */
  readonly entries: () => readonly Entry[];
}

export interface OldSessions {
  readonly sessions: readonly OldSession[];
  readonly met: readonly Met[];
}

/** Where the words of a session stand. */
interface Transcript {
  readonly path: string;
  /** For what is told of its lines. */
  readonly name: string;
  readonly trouble: string | null;
  readonly text: () => string;
}

interface Found {
  readonly session: OldSession;
  readonly met: Met;
  readonly updatedAt: number;
}

export function readSessions(source: Source): OldSessions {
  const byKey = new Map<SessionKey, Found>();
  const met: Met[] = [];
  const take = (name: string, found: Found | { readonly why: string }): void => {
    if ("why" in found) {
      met.push({ what: "session", name, fate: "refused", why: found.why });
      return;
    }
    const { key } = found.session;
    const other = byKey.get(key);
    const [older, newer] =
      other === undefined || other.updatedAt < found.updatedAt ? [other, found] : [found, other];
    byKey.set(key, newer);
    const why = `a newer conversation, ${newer.met.name}, has the key ${key} here`;
    if (older !== undefined) met.push({ what: "session", name: older.met.name, fate: "refused", why });
  };
  for (const { agent, folder } of sessionFolders(source)) {
    const listPath = join(folder, "sessions.json");
    const listed = source.files.value(listPath);
    const isBroken = source.files.told(listPath).length > 0;
    const there = new Set(source.files.names(folder));
    const used = new Set<string>();
    for (const [name, written] of Object.entries(isBlock(listed) ? listed : {})) {
      const entry = isBlock(written) ? written : {};
      const parts = partsOf(source, agent, name, entry);
      const file = fileOf(folder, there, entry, parts);
      if (file !== null) used.add(basename(file));
      take(name, sessionOf(parts, name, entry, file === null ? null : inFile(source, file)));
    }
    for (const name of there)
      if (name.includes(".jsonl") && !used.has(name))
        met.push({
          what: "file",
          name: join(folder, name),
          fate: "refused",
          why: isBroken
            ? "sessions.json beside it, which says whose conversation this is, cannot be read"
            : "no session goes on with this transcript",
        });
  }
  if (source.isHome)
    for (const agent of source.files.names(join(source.folder, "agents"))) {
      const path = agentDatabase(source.folder, agent);
      if (isOfUnknownForm(source.databases, path))
        met.push({
          what: "other",
          name: path,
          fate: "refused",
          why: "its conversations are in a form that Parley does not know: update OpenClaw to 2026.7.2 or later, start it once, stop it, and import again",
        });
      for (const { name, entry: written, sessionId } of storedSessions(source.databases, path)) {
        const entry = isBlock(written) ? written : {};
        const transcript = inDatabase(source, path, sessionId);
        take(name, sessionOf(partsOf(source, agent, name, entry), name, entry, transcript));
      }
    }
  const found = [...byKey.values()];
  return {
    sessions: found.map(({ session }) => session),
    met: [...found.map((each) => each.met), ...met],
  };
}

/** Older homes kept the one agent's conversations beside the config. */
function sessionFolders({ folder, files, isHome, agents }: Source): readonly {
  readonly agent: string;
  readonly folder: string;
}[] {
  if (!isHome) return [];
  const below = join(folder, "agents");
  return [
    ...files.names(below).map((agent) => ({ agent, folder: join(below, agent, "sessions") })),
    { agent: agents[0]?.id ?? "main", folder: join(folder, "sessions") },
  ];
}

/** Null: it is nowhere. */
function fileOf(
  folder: string,
  there: ReadonlySet<string>,
  { sessionFile, sessionId }: JsonObject,
  parts: SessionKeyParts | null,
): string | null {
  const id = typeof sessionId === "string" ? basename(sessionId) : null;
  const topic = parts?.kind === "group" ? parts.topic : undefined;
  const names = [
    // By its name alone: a home that was copied from elsewhere still names the folder that it lay in.
    ...(typeof sessionFile === "string" ? [basename(sessionFile)] : []),
    ...(id === null || topic === undefined ? [] : [`${id}-topic-${topic}.jsonl`]),
    ...(id === null ? [] : [`${id}.jsonl`]),
  ];
  const found = names.find((name) => there.has(name));
  return found === undefined ? null : join(folder, found);
}

function inFile({ files }: Source, path: string): Transcript {
  const text = (): string => files.text(path) ?? "";
  return { path, name: basename(path), trouble: files.trouble(path), text };
}

function inDatabase({ databases }: Source, path: string, sessionId: string): Transcript {
  const text = (): string => storedTranscript(databases, path, sessionId);
  return { path, name: `${basename(path)} ${sessionId}`, trouble: null, text };
}

function sessionOf(
  parts: SessionKeyParts | null,
  name: string,
  entry: JsonObject,
  transcript: Transcript | null,
): Found | { readonly why: string } {
  if (parts === null) return { why: "Parley has no session of this kind" };
  if (!["main", "dm", "group", "channel"].includes(parts.kind))
    return { why: "what a schedule, a sub-agent or a program said is not gone on with" };
  if (transcript === null) return { why: "its transcript is not there" };
  const { path, trouble } = transcript;
  if (trouble !== null) return { why: `its transcript ${path}: ${trouble}` };
  const read = (): ReadTranscript => readTranscript(transcript.text(), transcript.name);
  const { entries, left } = read();
  if (entries.length === 0)
    return {
      why: left.length === 0 ? "its transcript is empty" : `its transcript has only ${left.join(", ")}`,
    };
  const key = formatSessionKey(parts);
  const session = { key, place: placeIn(parts, entry), entries: () => read().entries };
  const { updatedAt } = entry;
  return {
    session,
    updatedAt: typeof updatedAt === "number" ? updatedAt : 0,
    met: {
      what: "session",
      name,
      fate: left.length === 0 ? "carried" : "changed",
      to: key,
      ...(left.length === 0 ? {} : { why: `without ${left.join(", ")}` }),
    },
  };
}

/** Null: Parley has no such session. */
function partsOf(source: Source, agent: string, name: string, entry: JsonObject): SessionKeyParts | null {
  const whole = /^agent:/i.test(name) ? name : `agent:${agent}:${name}`;
  const [, owner = agent, ...tail] = whole.split(":");
  const main = textIn(at(source.config, ["session", "mainKey"]));
  const rest = tail.length === 1 && tail[0] === main ? ["main"] : tail;
  try {
    const parts = parseSessionKey(["agent", owner.toLowerCase(), ...rest].join(":"));
    if (parts.kind !== "group" && parts.kind !== "channel") return parts;
    // Keys of groups name no account there; here each account that is not the usual one has its own.
    return parts.account === usualAccount ? { ...parts, account: accountOf(entry) } : parts;
  } catch (error) {
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}

const usualAccount = "default";

function accountOf(entry: JsonObject): string {
  const context = isBlock(entry["deliveryContext"]) ? entry["deliveryContext"] : {};
  return textIn(context["accountId"] ?? entry["lastAccountId"]) ?? usualAccount;
}

function placeIn(parts: SessionKeyParts, entry: JsonObject): Address {
  const account = accountOf(entry);
  switch (parts.kind) {
    case "group": {
      const { channel, account: own, id: peer, topic: thread } = parts;
      return { channel, account: own, kind: "group", peer, thread };
    }
    case "channel": {
      const { channel, account: own, id: peer, thread } = parts;
      return { channel, account: own, kind: "channel", peer, thread };
    }
    case "dm":
      if (parts.channel !== undefined) {
        const { channel, account: own = account, peer, thread } = parts;
        return { channel, account: own, kind: "dm", peer, thread };
      }
      break;
    default:
  }
  const context = isBlock(entry["deliveryContext"]) ? entry["deliveryContext"] : {};
  const to = textIn(context["to"] ?? entry["lastTo"]);
  const known = to === null ? null : placeOf(context["channel"] ?? entry["lastChannel"], to, account);
  return known ?? { channel: "web", account: usualAccount, kind: "dm", peer: "web-operator" };
}
